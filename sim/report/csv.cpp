#include "sim/report/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/report/number_text.hpp"

namespace skerry {

namespace {

using Scalars = std::vector<std::pair<std::string, std::string>>;

// Columns of all runs: order of the first run, a later run's own columns behind their left
// neighbour.
std::vector<std::string> columns_of(const std::vector<Scalars>& runs) {
  std::vector<std::string> columns;
  std::set<std::string> known;
  for (const Scalars& run : runs) {
    auto at = columns.begin();
    for (const auto& [name, text] : run) {
      at = known.insert(name).second ? columns.insert(at, name)
                                     : std::find(columns.begin(), columns.end(), name);
      ++at;
    }
  }
  return columns;
}

bool is_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(value);
}

}  // namespace

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string text_cell(const std::string& text) {
  const bool formula =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  return csv_cell(formula ? "'" + text : text);
}

std::string table_csv(const std::vector<RunRecord>& records, const std::string& hash) {
  std::vector<Scalars> runs;
  for (const RunRecord& record : records)
    runs.push_back(scalars_of(record));
  const std::vector<std::string> columns = columns_of(runs);
  std::string out = "hash";
  for (const std::string& column : columns)
    out.append(",").append(column);
  out += "\n";
  for (const Scalars& run : runs) {
    const std::map<std::string, std::string> cells(run.begin(), run.end());
    out += hash;
    for (const std::string& column : columns) {
      const auto cell = cells.find(column);
      if (cell == cells.end()) {
        out += ',';
      } else {
        out.append(",").append(is_number(cell->second) ? cell->second : text_cell(cell->second));
      }
    }
    out += "\n";
  }
  return out;
}

std::string loss_csv(const std::vector<LossPoint>& curve) {
  std::string out = "simulated_s,tokens,trained_tokens,loss\n";
  for (const LossPoint& point : curve) {
    out += fmt::format("{},{},{},{}\n", shortest(point.simulated_s), shortest(point.tokens),
                       shortest(point.trained_tokens), shortest(point.loss));
  }
  return out;
}

std::vector<LossPoint> loss_from_csv(const std::string& text, const std::string& label) {
  std::vector<LossPoint> curve;
  std::size_t at = text.find('\n');
  int line = 1;
  while (at != std::string::npos && at + 1 < text.size()) {
    line += 1;
    const char* place = text.data() + at + 1;
    at = text.find('\n', at + 1);
    const char* end = text.data() + (at == std::string::npos ? text.size() : at);
    LossPoint point;
    for (double* cell : {&point.simulated_s, &point.tokens, &point.trained_tokens, &point.loss}) {
      *cell = std::nan("");
      if (place < end && *place != ',') {
        const auto parsed = std::from_chars(place, end, *cell);
        if (parsed.ec != std::errc()) {
          throw BadInput(label, "", "line " + std::to_string(line) + ": not a number");
        }
        place = parsed.ptr;
      }
      if (place < end && *place == ',') place += 1;
    }
    curve.push_back(point);
  }
  return curve;
}

namespace {

using Round = std::pair<std::int64_t, int>;  // clock, fragment

// What the tape says of one round, wherever it says it.
struct RoundOnTape {
  fact::Merge merge;
  std::map<int, double> weights;  // by learner
  bool stale_weights = false;     // it begins again: the next weight replaces all
  double stale_steps = 0, most_stale_steps = std::nan("");
  double overwrites = 0;  // of learners that were there at the pull

  double share(bool smallest) const {
    double total = 0, found = std::nan("");
    for (const auto& [learner, weight] : weights) {
      total += weight;
      found = smallest ? std::fmin(found, weight) : std::fmax(found, weight);
    }
    return total > 0 ? found / total : std::nan("");
  }
};

struct Rounds {
  struct Collected {
    double waited_s = 0, grace_s = 0;
  };
  std::map<std::int64_t, Collected> closes;
  std::map<Round, RoundOnTape> rounds;

  template <class F>
  void read(const F&) {}
  void read(const fact::Close& f) { closes[f.clock] = {f.waited_s, f.grace_s}; }
  void read(const fact::Merge& f) { rounds[{f.clock, f.fragment}].merge = f; }
  void read(const fact::Abandon& f) { rounds[{f.clock, f.fragment}].stale_weights = true; }
  void read(const fact::Weigh& f) {
    RoundOnTape& round = rounds[{f.clock, f.fragment}];
    if (std::exchange(round.stale_weights, false)) round.weights.clear();
    round.weights[f.learner] = f.weight;
  }
  void read(const fact::Overwrite& f) {
    if (f.pulled_step < 0) return;
    RoundOnTape& round = rounds[{f.clock, f.fragment}];
    const auto stale = static_cast<double>(f.step - f.pulled_step);
    round.stale_steps += stale;
    round.most_stale_steps = std::fmax(round.most_stale_steps, stale);
    round.overwrites += 1;
  }
};

}  // namespace

std::string outer_steps_csv(const Tape& tape, const std::vector<RoundFacts>& trained) {
  Rounds known;
  for (const Fact& fact : tape.facts)
    std::visit([&](const auto& f) { known.read(f); }, fact);
  const double nothing = std::nan("");  // an empty cell
  const RoundFacts none{0, 0, nothing, nothing, nothing};
  std::map<Round, RoundFacts> learned;
  for (const RoundFacts& facts : trained)
    learned[{facts.clock, facts.fragment}] = facts;
  std::string out =
      "clock,fragment,participants,waited_s,grace_s,began_s,merged_s,stepped_s,"
      "smallest_weight_share,largest_weight_share,stale_steps,most_stale_steps,"
      "merged_norm,mean_norm,mean_cosine\n";
  for (const Fact& fact : tape.facts) {
    const auto* step = std::get_if<fact::OuterStep>(&fact);
    if (step == nullptr) continue;
    const Rounds::Collected& collected = known.closes[step->clock];
    const RoundOnTape& round = known.rounds[{step->clock, step->fragment}];
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", step->clock, step->fragment,
                       round.merge.participants, shortest(collected.waited_s),
                       shortest(collected.grace_s), shortest(round.merge.began),
                       shortest(round.merge.t), shortest(step->t), shortest(round.share(true)),
                       shortest(round.share(false)), shortest(round.stale_steps / round.overwrites),
                       shortest(round.most_stale_steps));
    const auto facts = learned.find({step->clock, step->fragment});
    const RoundFacts& l = facts == learned.end() ? none : facts->second;
    out += fmt::format(",{},{},{}\n", shortest(l.merged_norm), shortest(l.mean_norm),
                       shortest(l.mean_cosine));
  }
  return out;
}

std::string seeded_plans_csv(const Scenario& scenario, const std::vector<SeededPlan>& plans) {
  std::string out;
  for (const SeededPlan& plan : plans) {
    const std::string text = plan_to_csv(scenario, plan.lines);
    const std::size_t header = text.find('\n') + 1;
    if (out.empty()) out = "seed," + text.substr(0, header);
    for (std::size_t at = header; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      out.append(std::to_string(plan.seed)).append(",").append(text, at, end - at);
      at = end;
    }
  }
  return out;
}

}  // namespace skerry
