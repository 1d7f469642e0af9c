#include "sim/report/compare.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "sim/base/error.hpp"
#include "sim/report/diff.hpp"
#include "sim/report/layout.hpp"
#include "sim/report/number_text.hpp"
#include "sim/scenario/metrics.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

using Values = std::map<std::string, std::optional<double>>;

Values values_of(const KeptRun& run) {
  return {run.metrics.begin(), run.metrics.end()};
}

std::string run_text(const KeptRun& run) {
  return fmt::format("{}/seed-{}", run.row, run.seed);
}

std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  std::vector<std::string> words;
  for (const std::uint64_t seed : seeds)
    words.push_back(std::to_string(seed));
  return reader::join(words, 12);
}

using Runs = std::map<std::pair<std::string, std::uint64_t>, const KeptRun*>;

Runs runs_of(const Numbers& numbers) {
  Runs out;
  for (const KeptRun& run : numbers.runs)
    out[{run.row, run.seed}] = &run;
  return out;
}

void check_patterns(const Tolerances& extra, const Numbers& before, const Numbers& now) {
  if (extra.empty()) return;
  std::set<std::string> known(known_metrics().begin(), known_metrics().end());
  for (const Numbers* side : {&before, &now}) {
    for (const KeptRun& run : side->runs) {
      for (const auto& [metric, value] : run.metrics)
        known.insert(metric);
    }
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [pattern, tolerance] : extra) {
    const bool fits = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return reader::matches(pattern, name);
    });
    if (fits) continue;
    throw BadInput("--tolerances", reader::under("", pattern),
                   "fits no metric" + reader::did_you_mean(pattern, names));
  }
}

Tolerance tolerance_of(const std::string& metric, const Tolerances& extra, const Tolerances& own) {
  for (const Tolerances* list : {&extra, &own}) {
    for (const auto& [pattern, tolerance] : *list) {
      if (reader::matches(pattern, metric)) return tolerance;
    }
  }
  return default_tolerance(metric);
}

bool inside(double before, double now, const Tolerance& tolerance) {
  if (tolerance.kind == ToleranceKind::kExact) return before == now;
  const double scale =
      tolerance.kind == ToleranceKind::kAbsolute ? 1.0 : std::max(std::abs(before), std::abs(now));
  return std::abs(now - before) <= tolerance.size * scale;
}

// What a comparison of numbers would not be about.
void compare_inputs(const Numbers& before, const Numbers& now, Compared& out) {
  if (before.scenario != now.scenario) {
    out.differs.push_back("another scenario: " + before.scenario + " against " + now.scenario);
  }
  if (before.seeds != now.seeds) {
    out.differs.push_back("other seeds: " + seeds_text(before.seeds) + " against " +
                          seeds_text(now.seeds));
  }
  if (before.hash == now.hash || !out.differs.empty()) return;
  out.differs.push_back("the inputs changed: hash " + before.hash + " against " + now.hash);
  if (before.inputs.empty() || now.inputs.empty()) return;
  const std::vector<ChangedInput> changed = changed_inputs(before.inputs, now.inputs);
  for (const ChangedInput& input : changed)
    out.differs.push_back(input.pointer + ": " + input.a + " against " + input.b);
}

struct Missing {  // metric → how many runs lack it
  std::map<std::string, int> before, now;
};

void compare_run(const KeptRun& before, const KeptRun& now, const Tolerances& extra,
                 const Tolerances& own, Missing& missing, Compared& out) {
  if (before.status != now.status) {
    out.moved.push_back(
        {before.row, "status", before.seed, {}, {}, before.status, now.status, {}, true});
  }
  ++out.runs;
  if (before.status == "failed" || now.status == "failed") return;
  const Values newer = values_of(now), older = values_of(before);
  for (const auto& [metric, value] : before.metrics) {
    const auto found = newer.find(metric);
    if (found == newer.end()) {
      ++missing.now[metric];
      continue;
    }
    ++out.values;
    if (value == found->second) continue;
    Moved moved{before.row, metric, before.seed, value, found->second, "", "", {}, true};
    moved.tolerance = tolerance_of(metric, extra, own);
    if (value && found->second) moved.outside = !inside(*value, *found->second, moved.tolerance);
    out.moved.push_back(std::move(moved));
  }
  for (const auto& [metric, value] : now.metrics) {
    if (!older.contains(metric)) ++missing.before[metric];
  }
}

void name_missing(const std::map<std::string, int>& missing, const char* side, Compared& out) {
  for (const auto& [metric, runs] : missing) {
    out.differs.push_back(
        fmt::format("{} is only in the {} ({} run{})", metric, side, runs, runs == 1 ? "" : "s"));
  }
}

}  // namespace

Compared compare_numbers(const Numbers& before, const Numbers& now, const Tolerances& extra) {
  Compared out;
  out.name = before.scenario;
  out.baseline = before.label;
  out.result = now.label;
  check_patterns(extra, before, now);
  compare_inputs(before, now, out);
  if (!out.differs.empty()) return out;
  Missing missing;
  const Runs older = runs_of(before), newer = runs_of(now);
  for (const KeptRun& run : before.runs) {
    const auto other = newer.find({run.row, run.seed});
    if (other == newer.end()) {
      out.differs.push_back(run_text(run) + " is only in the baseline");
    } else {
      compare_run(run, *other->second, extra, before.tolerances, missing, out);
    }
  }
  for (const KeptRun& run : now.runs) {
    if (!older.contains({run.row, run.seed})) {
      out.differs.push_back(run_text(run) + " is only in the result");
    }
  }
  name_missing(missing.now, "baseline", out);
  name_missing(missing.before, "result", out);
  return out;
}

std::size_t outside_of(const Compared& compared) {
  return static_cast<std::size_t>(std::count_if(compared.moved.begin(), compared.moved.end(),
                                                [](const Moved& m) { return m.outside; }));
}

int exit_code_of(const Compared& compared) {
  if (!compared.differs.empty()) return 2;
  return outside_of(compared) > 0 ? 1 : 0;
}

namespace {

constexpr std::size_t kShownMoves = 400, kShownDifferences = 40;

std::string value_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.9g}", *value) : "null";
}

std::string moved_line(const Moved& m) {
  const char mark = m.outside ? '!' : ' ';
  if (m.metric == "status") {
    return fmt::format("{} {:<38} {:>15} {:>15}\n", mark, m.metric, m.status_before, m.status_now);
  }
  const std::string difference =
      m.before && m.now ? fmt::format("{:+.2e}", *m.now - *m.before) : "";
  return fmt::format("{} {:<38} {:>15} {:>15} {:>10} {:>12}\n", mark, m.metric,
                     value_text(m.before), value_text(m.now), difference,
                     tolerance_text(m.tolerance));
}

std::string moved_table(const Compared& compared) {
  std::string text, run;
  if (!compared.moved.empty()) {
    text = fmt::format("  {:<38} {:>15} {:>15} {:>10} {:>12}\n", "metric", "old", "new",
                       "difference", "tolerance");
  }
  const std::size_t shown = std::min(compared.moved.size(), kShownMoves);
  for (std::size_t i = 0; i < shown; ++i) {
    const Moved& moved = compared.moved[i];
    const std::string head = fmt::format("{}/seed-{}", moved.row, moved.seed);
    if (head != run) text += wrapped_sentence(head);
    run = head;
    text += moved_line(moved);
  }
  if (shown < compared.moved.size())
    text += fmt::format("... and {} more that moved\n", compared.moved.size() - shown);
  return text;
}

std::string verdict_text(const Compared& compared) {
  const std::size_t outside = outside_of(compared);
  if (!compared.differs.empty()) {
    return fmt::format("not comparable, {} difference{}", compared.differs.size(),
                       compared.differs.size() == 1 ? "" : "s");
  }
  const std::string counted =
      fmt::format("{} run{}, {} values", compared.runs, compared.runs == 1 ? "" : "s",
                  thousands(double(compared.values)));
  if (compared.moved.empty()) return counted + ": nothing moved";
  return fmt::format("{}: {} moved, {} outside {} tolerance", counted, compared.moved.size(),
                     outside, outside == 1 ? "its" : "their");
}

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n' || static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

std::string failed_case(const std::string& name, const char* message, const std::string& text) {
  return fmt::format(
      "    <testcase classname=\"skerry.compare\" name=\"{}\">\n"
      "      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
      xml(name), message, xml(text));
}

std::string suite(const Compared& compared) {
  std::map<std::string, std::string> outside;  // run → its lines
  for (const Moved& moved : compared.moved) {
    if (moved.outside)
      outside[fmt::format("{}/seed-{}", moved.row, moved.seed)] += moved_line(moved);
  }
  std::string cases, differs;
  for (const std::string& sentence : compared.differs)
    differs += sentence + "\n";
  if (!differs.empty()) cases += failed_case(compared.name, "not comparable", differs);
  for (const auto& [run, lines] : outside)
    cases += failed_case(compared.name + "/" + run, "outside tolerance", lines);
  const std::size_t failures = outside.size() + (differs.empty() ? 0 : 1);
  if (failures == 0) {
    cases = fmt::format("    <testcase classname=\"skerry.compare\" name=\"{}\"/>\n",
                        xml(compared.name));
  }
  return fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n{}  </testsuite>\n",
                     xml(compared.name), std::max<std::size_t>(failures, 1), failures, cases);
}

}  // namespace

std::string compared_text(const Compared& compared) {
  std::string text;
  const std::size_t shown = std::min(compared.differs.size(), kShownDifferences);
  for (std::size_t i = 0; i < shown; ++i)
    text += wrapped_sentence(compared.differs[i]);
  if (shown < compared.differs.size())
    text += fmt::format("... and {} more that differ\n", compared.differs.size() - shown);
  text += moved_table(compared);
  return text + wrapped_sentence(compared.name + ": " + verdict_text(compared));
}

std::string compared_junit(const std::vector<Compared>& all) {
  std::string suites;
  for (const Compared& compared : all)
    suites += suite(compared);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"skerry compare\">\n" +
         suites + "</testsuites>\n";
}

}  // namespace skerry
