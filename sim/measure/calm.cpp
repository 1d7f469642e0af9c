// When a run was not disturbed by faults.
#include <algorithm>
#include <map>
#include <tuple>

#include "sim/measure/folds.hpp"

namespace skerry::measure {

Calm::Calm(const Tape& tape, double settle_s) {
  using Held = std::tuple<int, int, int, int, int>;    // what a fault holds: source, kind, target
  std::map<Held, std::vector<double>> open;
  std::map<int, double> left;
  std::vector<std::pair<double, double>> found;
  const auto held = [](const auto& f) {
    return Held{f.source, static_cast<int>(f.kind), static_cast<int>(f.target.kind), f.target.index,
                f.target.part};
  };
  for (const Fact& fact : tape.facts) {
    if (const auto* hit = std::get_if<fact::FaultHit>(&fact)) {
      open[held(*hit)].push_back(hit->t);
    } else if (const auto* repaired = std::get_if<fact::Repaired>(&fact)) {
      std::vector<double>& starts = open[held(*repaired)];
      if (starts.empty()) continue;
      found.emplace_back(starts.front(), repaired->t + settle_s);
      starts.erase(starts.begin());
    } else if (const auto* leave = std::get_if<fact::Leave>(&fact)) {
      left.emplace(leave->learner, leave->t);
    } else if (const auto* join = std::get_if<fact::Join>(&fact)) {
      const auto gone = left.find(join->learner);
      if (gone == left.end()) continue;
      found.emplace_back(gone->second, join->t + settle_s);
      left.erase(gone);
    }
  }
  for (const auto& [what, starts] : open) {
    for (double start : starts) found.emplace_back(start, kNever);
  }
  for (const auto& [learner, t] : left) found.emplace_back(t, kNever);
  std::sort(found.begin(), found.end());
  for (const auto& span : found) {
    if (!disturbed_.empty() && span.first <= disturbed_.back().second) {
      disturbed_.back().second = std::max(disturbed_.back().second, span.second);
    } else {
      disturbed_.push_back(span);
    }
  }
}

bool Calm::at(double t) const {
  const auto after = std::upper_bound(disturbed_.begin(), disturbed_.end(), t,
                                      [](double date, const auto& span) { return date < span.first; });
  return after == disturbed_.begin() || t > std::prev(after)->second;
}

}  // namespace skerry::measure
