#include "sim/report/diff.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "sim/report/layout.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kShown = 60;  // characters of a value

std::string shown_value(const Json* value) {
  if (value == nullptr) return "-";
  std::string text = value->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown - 3) + "...";
  return text;
}

std::string below(const std::string& pointer, std::string key) {
  for (std::size_t at = 0; (at = key.find_first_of("~/", at)) != std::string::npos; at += 2)
    key.replace(at, 1, key[at] == '~' ? "~0" : "~1");
  return pointer + "/" + key;
}

void walk(const Json* a, const Json* b, const std::string& pointer,
          std::vector<ChangedInput>& out) {
  if (a != nullptr && b != nullptr) {
    if (*a == *b) return;
    if (a->is_object() && b->is_object()) {
      for (const auto& [key, value] : a->items()) {
        const auto other = b->find(key);
        walk(&value, other == b->end() ? nullptr : &*other, below(pointer, key), out);
      }
      for (const auto& [key, value] : b->items()) {
        if (!a->contains(key)) walk(nullptr, &value, below(pointer, key), out);
      }
      return;
    }
    if (a->is_array() && b->is_array() && a->size() == b->size()) {
      for (std::size_t i = 0; i < a->size(); ++i)
        walk(&(*a)[i], &(*b)[i], below(pointer, std::to_string(i)), out);
      return;
    }
  }
  out.push_back({pointer, shown_value(a), shown_value(b)});
}

using Values = std::map<std::string, std::optional<double>>;
struct Pair {
  const KeptRun* a = nullptr;
  const KeptRun* b = nullptr;
  Values values_a, values_b;
};

// What one metric did over the pairs; n = 0 and no nulls when no pair has it on both sides.
ChangedMetric change_of(const std::string& metric, const std::vector<Pair>& pairs) {
  ChangedMetric out;
  out.metric = metric;
  std::vector<double> a, b;
  for (const Pair& pair : pairs) {
    const auto in_a = pair.values_a.find(metric), in_b = pair.values_b.find(metric);
    if (in_a == pair.values_a.end() || in_b == pair.values_b.end()) continue;
    const auto &x = in_a->second, &y = in_b->second;
    if (x && y) {
      a.push_back(*x);
      b.push_back(*y);
    }
    out.null_in_a += !x && y ? 1 : 0;
    out.null_in_b += x && !y ? 1 : 0;
  }
  if (a.empty()) return out;
  out.a = mean_interval(a).mean;
  out.b = mean_interval(b).mean;
  if (a == b) {
    out.relative = 0.0;
    return out;
  }
  out.difference = difference_interval(b, a);
  if (out.a != 0) out.relative = out.difference.mean / std::abs(out.a);
  return out;
}

double size_of(const ChangedMetric& change) {
  return change.relative ? std::abs(*change.relative) : std::numeric_limits<double>::infinity();
}

void note_one_sided(const std::vector<Pair>& pairs, ChangedRow& row) {
  std::map<std::string, int> only_a, only_b;
  for (const Pair& pair : pairs) {
    for (const auto& [metric, value] : pair.values_a)
      if (!pair.values_b.contains(metric)) ++only_a[metric];
    for (const auto& [metric, value] : pair.values_b)
      if (!pair.values_a.contains(metric)) ++only_b[metric];
  }
  for (const auto& [metric, runs] : only_a)
    row.notes.push_back(fmt::format("{} only in a ({} of {} seeds)", metric, runs, pairs.size()));
  for (const auto& [metric, runs] : only_b)
    row.notes.push_back(fmt::format("{} only in b ({} of {} seeds)", metric, runs, pairs.size()));
}

// The seeds on both sides that did not fail; the rest goes into the notes of the row.
std::vector<Pair> pairs_of(const std::vector<const KeptRun*>& in_a,
                           const std::vector<const KeptRun*>& in_b, ChangedRow& row) {
  std::map<std::uint64_t, Pair> by_seed;
  for (const KeptRun* run : in_a)
    by_seed[run->seed].a = run;
  for (const KeptRun* run : in_b)
    by_seed[run->seed].b = run;
  std::vector<Pair> pairs;
  for (auto& [seed, pair] : by_seed) {
    if (pair.a == nullptr || pair.b == nullptr) {
      row.notes.push_back(fmt::format("seed {} only in {}", seed, pair.a == nullptr ? "b" : "a"));
      continue;
    }
    row.seeds.push_back(seed);
    if (pair.a->status != pair.b->status) {
      row.notes.push_back(
          fmt::format("seed {}: status {}, {}", seed, pair.a->status, pair.b->status));
    }
    if (pair.a->status == "failed" || pair.b->status == "failed") continue;
    pair.values_a = {pair.a->metrics.begin(), pair.a->metrics.end()};
    pair.values_b = {pair.b->metrics.begin(), pair.b->metrics.end()};
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

ChangedRow compare_row(const std::string& name, const std::vector<const KeptRun*>& in_a,
                       const std::vector<const KeptRun*>& in_b) {
  ChangedRow row;
  row.row = name;
  const std::vector<Pair> pairs = pairs_of(in_a, in_b, row);
  std::vector<std::string> metrics;  // of any pair, in the order of the summary
  std::set<std::string> known;
  for (const Pair& pair : pairs) {
    for (const auto& [metric, value] : pair.a->metrics)
      if (known.insert(metric).second) metrics.push_back(metric);
  }
  for (const std::string& metric : metrics) {
    ChangedMetric change = change_of(metric, pairs);
    if (change.difference.n > 0 || change.null_in_a > 0 || change.null_in_b > 0) {
      row.changed.push_back(std::move(change));
    }
  }
  note_one_sided(pairs, row);
  for (const Pair& pair : pairs) {
    const bool kept = !pair.a->tape.empty() && !pair.b->tape.empty();
    if (!kept || pair.a->tape == pair.b->tape || !row.changed.empty()) continue;
    row.notes.push_back(fmt::format("seed {}: another tape, {} and {}, with the same numbers",
                                    pair.a->seed, pair.a->tape, pair.b->tape));
  }
  std::stable_sort(row.changed.begin(), row.changed.end(),
                   [](const auto& x, const auto& y) { return size_of(x) > size_of(y); });
  return row;
}

}  // namespace

std::vector<ChangedInput> changed_inputs(const std::string& a, const std::string& b) {
  std::vector<ChangedInput> out;
  const Json left = Json::parse(a), right = Json::parse(b);
  walk(&left, &right, "", out);
  return out;
}

std::vector<ChangedRow> changed_rows(const Numbers& a, const Numbers& b) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<const KeptRun*>> in_a, in_b;
  for (const auto& [numbers, rows] : {std::pair{&a, &in_a}, std::pair{&b, &in_b}}) {
    for (const KeptRun& run : numbers->runs) {
      if (!in_a.contains(run.row) && !in_b.contains(run.row)) names.push_back(run.row);
      (*rows)[run.row].push_back(&run);
    }
  }
  std::vector<ChangedRow> out;
  for (const std::string& name : names) {
    ChangedRow row = compare_row(name, in_a[name], in_b[name]);
    if (in_a[name].empty() || in_b[name].empty()) {
      row.notes = {std::string("only in ") + (in_a[name].empty() ? "b" : "a")};
    }
    if (!row.notes.empty() || !row.changed.empty()) out.push_back(std::move(row));
  }
  return out;
}

namespace {

std::string relative_text(const ChangedMetric& change) {
  if (!change.relative) return "from 0";
  const double percent = 100 * *change.relative;
  if (std::abs(percent) >= 9999.5) return percent > 0 ? ">+9999 %" : "<-9999 %";
  if (std::abs(percent) < 0.005) return fmt::format("{:+.0e} %", percent);
  if (std::abs(percent) >= 99.995) return fmt::format("{:+.0f} %", percent);
  return fmt::format("{:+.2f} %", percent);
}

std::string change_line(const ChangedMetric& change) {
  std::string nulls;
  if (change.null_in_a + change.null_in_b > 0) {
    nulls = fmt::format("  {}: null on one side, in a for {} seeds, in b for {}\n", change.metric,
                        change.null_in_a, change.null_in_b);
  }
  const Interval& d = change.difference;
  if (d.n == 0) return nulls;
  const std::string interval =
      d.low && d.high ? fmt::format("[{:.3g} {:.3g}]", *d.low, *d.high) : "";
  return fmt::format(" {:<36} {:>10.5g} {:>10.5g} {:>9.3g} {:<19} {:>8}\n", change.metric,
                     change.a, change.b, d.mean, interval, relative_text(change)) +
         nulls;
}

std::string row_text(const ChangedRow& row) {
  std::string text = wrapped_sentence(row.row);
  for (const std::string& note : row.notes)
    text += wrapped_sentence("- " + note);
  if (row.changed.empty()) return text;
  int n = 0;
  for (const ChangedMetric& change : row.changed)
    n = std::max(n, change.difference.n);
  text.pop_back();
  text += n > 1 ? fmt::format(" (n = {})\n", n) : n == 1 ? " (n = 1, no interval)\n" : "\n";
  for (const ChangedMetric& change : row.changed)
    text += change_line(change);
  return text;
}

}  // namespace

std::string diff_text(const Numbers& a, const Numbers& b) {
  std::string text;
  if (a.scenario != b.scenario)
    text += wrapped_sentence("scenario: " + a.scenario + ", " + b.scenario);
  const bool known = !a.inputs.empty() && !b.inputs.empty();
  const auto inputs = known ? changed_inputs(a.inputs, b.inputs) : std::vector<ChangedInput>{};
  for (const ChangedInput& input : inputs)
    text += wrapped_sentence("input " + input.pointer + ": " + input.a + ", " + input.b);
  if (inputs.empty() && a.hash != b.hash) {
    text += wrapped_sentence(
        "inputs: hash " + a.hash + ", " + b.hash +
        (known ? "; files that the scenario names differ" : "; a baseline does not keep them"));
  }
  const std::vector<ChangedRow> rows = changed_rows(a, b);
  if (text.empty() && rows.empty()) return "nothing differs\n";
  if (text.empty()) text = "inputs: the same\n";
  text = wrapped_sentence("a: " + a.label) + wrapped_sentence("b: " + b.label) + text;
  if (rows.empty()) return text + "no number differs\n";
  text +=
      fmt::format("{:<37} {:>10} {:>10} {:>9} {:<19} {:>8}\n",
                  "means; b - a paired by seed", "a", "b", "b - a", "[95 %]", "of |a|");
  for (const ChangedRow& row : rows)
    text += row_text(row);
  return text;
}

}  // namespace skerry
