// table.txt of a sensitivity study: which change turns the order of the rows.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "sim/report/layout.hpp"
#include "sim/report/sweep_table.hpp"

namespace skerry {

namespace {

using Words = std::vector<std::string>;
using Groups = std::vector<const SweepGroup*>;  // of one combination

constexpr std::size_t kKeyWidth = 48;

int speed_column() {
  return column_of("tokens_per_s");
}

// Rows of a combination by tokens/s, best first; equal ones in the order of the scenario.
std::vector<const SweepGroup*> order_of(const Groups& groups) {
  std::vector<std::pair<double, const SweepGroup*>> speeds;
  for (const SweepGroup* group : groups) {
    const Interval mean = mean_interval(values_of(*group, speed_column()));
    if (mean.n > 0) speeds.emplace_back(mean.mean, group);
  }
  std::stable_sort(speeds.begin(), speeds.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Groups out;
  for (const auto& [speed, group] : speeds)
    out.push_back(group);
  return out;
}

Words names_of(const Sweep& sweep, const Groups& order) {
  Words out;
  for (const SweepGroup* group : order)
    out.push_back(sweep.protocols[group->row]);
  return out;
}

// "no", "YES" or, when seeds disagree about every two rows that changed places, "unclear".
std::string flip_of(const Groups& base, const Groups& now) {
  const auto rank = [](const Groups& order, std::size_t row) {
    std::size_t at = 0;
    while (at < order.size() && order[at]->row != row)
      ++at;
    return at;
  };
  if (base.size() != now.size()) return "YES";
  std::string out = "no";
  for (std::size_t i = 0; i < now.size(); ++i) {
    for (std::size_t j = i + 1; j < now.size(); ++j) {
      if (rank(base, now[i]->row) < rank(base, now[j]->row)) continue;
      const auto [better, worse] = paired_values(*now[i], *now[j], speed_column());
      const Interval ahead = difference_interval(better, worse);
      if (!ahead.low || *ahead.low > 0) return "YES";
      out = "unclear";
    }
  }
  return out;
}

std::string short_key(const std::string& key) {
  return key.size() <= kKeyWidth ? key : "~" + key.substr(key.size() - kKeyWidth + 1);
}

struct Line {
  std::string head;        // key, factor, flips
  Words cells;             // one a row of the scenario
  std::string order_text;  // when it differs
};

// As many rows beside the heads as 100 columns hold, again until all are there.
std::string blocks_of(const Sweep& sweep, const std::vector<Line>& lines) {
  std::string out;
  for (std::size_t from = 0; from < sweep.protocols.size();) {
    std::size_t to = from, width = lines[0].head.size();
    const auto wide = [&](std::size_t row) {
      return std::max<std::size_t>(sweep.protocols[row].size() + 2, 12);
    };
    do {
      width += wide(to++);
    } while (to < sweep.protocols.size() && width + wide(to) <= kColumns);
    for (const Line& line : lines) {
      out += line.head;
      for (std::size_t row = from; row < to; ++row)
        out += fmt::format("{:>{}}", line.cells[row], wide(row));
      out += "\n";
      if (from == 0) out += line.order_text;
    }
    from = to;
  }
  return out;
}

}  // namespace

std::string sensitivity_text(const SweepResults& results, const std::vector<std::string>& notes) {
  const Sweep& sweep = results.sweep();
  std::map<std::size_t, Groups> by_combination;
  std::size_t seeds = 0;
  for (const SweepGroup& group : results.groups()) {
    by_combination[group.combination].push_back(&group);
    seeds = std::max(seeds, group.seeds.size());
  }
  if (by_combination.count(0) == 0) return "the scenario as it is has no result\n";
  const Groups base = order_of(by_combination[0]);
  std::string out =
      wrapped("verdict (order by tokens/s):", names_of(sweep, base)) + "\ntokens/s of each row:\n";
  std::size_t width = 3;
  for (const Combination& one : sweep.combinations)
    width = std::max(width, short_key(axis_label(one.values[0])).size());
  std::vector<Line> lines{{padded("key", width + 2) + "factor  flips  ", sweep.protocols, {}}};
  int flips = 0, unclear = 0;
  for (const auto& [combination, groups] : by_combination) {
    const Groups order = order_of(groups);
    const Words& values = sweep.combinations[combination].values;
    const std::string flip = flip_of(base, order);
    flips += flip == "YES" ? 1 : 0;
    unclear += flip == "unclear" ? 1 : 0;
    Line line;
    line.head = padded(short_key(axis_label(values[0])), width + 2) +
                fmt::format("{:<8}{:<7}", axis_label(values[1]), flip);
    line.cells.assign(sweep.protocols.size(), "-");
    for (const SweepGroup* group : groups) {
      const std::vector<double> speeds = values_of(*group, speed_column());
      if (!speeds.empty()) line.cells[group->row] = table_number(mean_interval(speeds).mean);
    }
    if (flip != "no") line.order_text = wrapped("  order now:", names_of(sweep, order));
    lines.push_back(std::move(line));
  }
  out += blocks_of(sweep, lines);
  out += flips == 0 ? "\nno calibrated or assumed key flips the verdict at x 0.8 or x 1.2\n"
                    : fmt::format("\n{} changes flip the verdict\n", flips);
  if (unclear > 0) {
    out += wrapped_sentence(fmt::format(
        "{} changes turn the order of the means, but not beyond the 95 % interval (Student t, "
        "paired by seed) of the rows that changed places",
        unclear));
  }
  out += seeds > 1 ? fmt::format("means over seeds, n = {}\n", seeds) : "n = 1, no interval\n";
  for (const std::string& note : notes)
    out += wrapped_sentence("left out: " + note);
  return out;
}

}  // namespace skerry
