#include "sim/report/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

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

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

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
      out.append(",").append(cell == cells.end() ? std::string() : quoted(cell->second));
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

std::string outer_steps_csv(const Tape& tape) {
  struct Collected {
    double waited_s = 0, grace_s = 0;
  };
  std::map<std::int64_t, Collected> closes;
  std::map<std::pair<std::int64_t, int>, fact::Merge> merges;
  std::string out = "clock,fragment,participants,waited_s,grace_s,began_s,merged_s,stepped_s\n";
  for (const Fact& fact : tape.facts) {
    if (const auto* close = std::get_if<fact::Close>(&fact)) {
      closes[close->clock] = {close->waited_s, close->grace_s};
    } else if (const auto* merge = std::get_if<fact::Merge>(&fact)) {
      merges[{merge->clock, merge->fragment}] = *merge;
    } else if (const auto* step = std::get_if<fact::OuterStep>(&fact)) {
      const Collected& collected = closes[step->clock];
      const fact::Merge& merged = merges[{step->clock, step->fragment}];
      out +=
          fmt::format("{},{},{},{},{},{},{},{}\n", step->clock, step->fragment, merged.participants,
                      shortest(collected.waited_s), shortest(collected.grace_s),
                      shortest(merged.began), shortest(merged.t), shortest(step->t));
    }
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
