#include <algorithm>
#include <utility>

#include "sim/measure/folds.hpp"

namespace skerry {

using namespace measure;

namespace {

// Chips that did work that counts, over [t0, t1].
struct Work {
  double t0 = 0, t1 = 0, chips = 0;

  double until(double t) const { return chips * (std::clamp(t, t0, t1) - t0); }
};

void add_work(const Timeline& line, std::vector<Work>& out) {
  const Learner& learner = *line.learner_info;
  for (const Span& span : line.spans) {
    if (span.phase != nullptr || span.lost) continue;
    const double present =
        double(learner.chips) * (learner.slices - span.slices_away) / learner.slices;
    if (span.steps == nullptr) {
      out.push_back({span.t0, span.t1, present});
      continue;
    }
    const StepParts parts(*span.steps);
    const double kept_s = (span.t1 - span.t0) * double(span.kept()) / double(span.steps->n);
    out.push_back({span.t0, span.t0 + kept_s, present * parts.compute_s / parts.total_s()});
  }
}

}  // namespace

std::vector<GoodputPoint> goodput_over_time(const Scenario& scenario, const Protocol& protocol,
                                            const Tape& tape, int points) {
  const std::vector<Timeline> lines = timelines(scenario, protocol, tape);
  std::vector<Work> work;
  for (const Timeline& line : lines)
    add_work(line, work);
  std::vector<std::pair<double, double>> losses;  // date, chip-seconds
  for (const Fact& fact : tape.facts) {
    if (const auto* lost = std::get_if<fact::Lost>(&fact)) {
      losses.emplace_back(lost->t, lost->chip_seconds);
    }
  }
  std::vector<GoodputPoint> out;
  for (int i = 1; i <= points; ++i) {
    const double t = i == points ? tape.end.t : tape.end.t * i / points;
    Sum allocated, productive;
    for (const Timeline& line : lines) {
      const Learner& learner = *line.learner_info;
      allocated.add(double(learner.chips) * std::max(0.0, t - learner.start_s));
    }
    for (const Work& done : work)
      productive.add(done.until(t));
    for (const auto& [date, chip_seconds] : losses) {
      if (date <= t) productive.add(-chip_seconds);
    }
    if (allocated.value() > 0) out.push_back({t, productive.value() / allocated.value()});
  }
  return out;
}

}  // namespace skerry
