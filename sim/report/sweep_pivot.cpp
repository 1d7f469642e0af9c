// table.txt: rows × columns of a sweep, one block a metric; and the table of a sensitivity study.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "sim/report/layout.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/sweep_table.hpp"

namespace skerry {

namespace {

using Words = std::vector<std::string>;

std::string number(double value) {
  return std::abs(value) >= 9999.5 ? thousands(value) : fmt::format("{:.4g}", value);
}

// `n` of all cells, or 0 when they differ and each says its own.
std::string cell_of(const SweepGroup& group, const std::string& metric, int n) {
  const int column = column_of(metric);
  const Interval mean = column < 0 ? Interval{} : mean_interval(values_of(group, column));
  if (mean.n == 0) return group.failed > 0 && group.seeds.empty() ? "failed" : "-";
  const std::string count = mean.n == n ? "" : fmt::format(" n={}", mean.n);
  if (!mean.low) return number(mean.mean) + count;
  return fmt::format("{} [{} {}]{}", number(mean.mean), number(*mean.low), number(*mean.high),
                     count);
}

// What a group is called on one dimension of the table.
std::string label_of(const Sweep& sweep, const SweepGroup& group, const std::string& dimension) {
  if (dimension == "protocol") return sweep.protocols[group.row];
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].name == dimension)
      return axis_label(sweep.combinations[group.combination].values[a]);
  }
  return {};
}

struct Pivot {
  std::vector<Words> rows;  // in order of appearance
  Words columns;
  std::map<std::pair<Words, std::string>, const SweepGroup*> groups;
};

// Order of the file: rows of the scenario for "protocol", values for an axis.
Pivot pivot_of(const SweepResults& results) {
  const Sweep& sweep = results.sweep();
  Pivot out;
  std::vector<std::pair<std::vector<std::size_t>, Words>> rows;
  std::vector<std::pair<std::size_t, std::string>> columns;
  const auto rank = [&sweep](const SweepGroup& group, const std::string& dimension) {
    if (dimension == "protocol") return group.row;
    for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
      if (sweep.axes[a].name != dimension) continue;
      const Words& values = sweep.axes[a].values;
      const std::string& own = sweep.combinations[group.combination].values[a];
      return std::size_t(std::find(values.begin(), values.end(), own) - values.begin());
    }
    return std::size_t{0};
  };
  for (const SweepGroup& group : results.groups()) {
    Words row;
    std::vector<std::size_t> place;
    for (const std::string& dimension : sweep.table.rows) {
      row.push_back(label_of(sweep, group, dimension));
      place.push_back(rank(group, dimension));
    }
    const std::string column = label_of(sweep, group, sweep.table.columns);
    rows.emplace_back(place, row);
    columns.emplace_back(rank(group, sweep.table.columns), column);
    out.groups[{row, column}] = &group;
  }
  std::sort(rows.begin(), rows.end());
  std::sort(columns.begin(), columns.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  for (auto& [place, row] : rows)
    out.rows.push_back(row);
  for (auto& [place, column] : columns)
    out.columns.push_back(column);
  return out;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

// One block: the heads of rows, then as many columns as 100 characters hold, again until all are
// there.
std::string block_of(const Sweep& sweep, const Pivot& pivot, const std::string& metric, int n) {
  std::vector<Words> heads{sweep.table.rows};
  heads.insert(heads.end(), pivot.rows.begin(), pivot.rows.end());
  std::vector<Words> cells(pivot.columns.size());
  for (std::size_t c = 0; c < pivot.columns.size(); ++c) {
    cells[c].push_back(pivot.columns[c]);
    for (const Words& row : pivot.rows) {
      const auto group = pivot.groups.find({row, pivot.columns[c]});
      cells[c].push_back(group == pivot.groups.end() ? "" : cell_of(*group->second, metric, n));
    }
  }
  const auto widest = [](const Words& column) {
    std::size_t width = 0;
    for (const std::string& cell : column)
      width = std::max(width, cell.size());
    return width;
  };
  Words left(heads.size());
  for (std::size_t d = 0; d < sweep.table.rows.size(); ++d) {
    Words column;
    for (const Words& head : heads)
      column.push_back(head[d]);
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i] += padded(heads[i][d], widest(column) + 2);
  }
  std::string out;
  for (std::size_t from = 0; from < cells.size();) {
    Words lines = left;
    std::size_t to = from;
    while (to < cells.size() && (to == from || lines[0].size() + widest(cells[to]) <= kColumns)) {
      const std::size_t width = widest(cells[to]) + 2;
      for (std::size_t i = 0; i < lines.size(); ++i)
        lines[i] += padded(cells[to][i], width);
      to += 1;
    }
    if (!sweep.table.columns.empty()) {
      out += padded("", left[0].size()) + sweep.table.columns + "\n";
    }
    for (std::string& line : lines) {
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    from = to;
  }
  return out;
}

// Rows of a combination by tokens/s, best first; equal ones in the order of the scenario.
Words order_of(const Sweep& sweep, const std::vector<const SweepGroup*>& groups) {
  std::vector<std::pair<double, std::string>> speeds;
  for (const SweepGroup* group : groups) {
    const Interval mean = mean_interval(values_of(*group, column_of("tokens_per_s")));
    if (mean.n > 0) speeds.emplace_back(mean.mean, sweep.protocols[group->row]);
  }
  std::stable_sort(speeds.begin(), speeds.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Words out;
  for (const auto& [speed, name] : speeds)
    out.push_back(name);
  return out;
}

}  // namespace

std::string pivot_text(const SweepResults& results) {
  const Sweep& sweep = results.sweep();
  std::size_t least = 0, most = 0;
  int failed = 0;
  for (const SweepGroup& group : results.groups()) {
    failed += group.failed;
    const std::size_t n = group.seeds.size();
    if (n == 0) continue;
    least = least == 0 ? n : std::min(least, n);
    most = std::max(most, n);
  }
  const Pivot pivot = pivot_of(results);
  std::string out;
  for (const std::string& metric : sweep.table.cells) {
    out += metric + "\n" + block_of(sweep, pivot, metric, least == most ? int(most) : 0) + "\n";
  }
  if (most > 1) out += "mean over seeds [95 % interval, Student t]";
  if (most > 1 && least == most) out += fmt::format(", n = {}", most);
  if (most > 1) out += "\n";
  if (least == 1) out += "n = 1, no interval\n";
  if (failed > 0) out += fmt::format("{} points failed: failed/*.log\n", failed);
  return out;
}

std::string sensitivity_text(const SweepResults& results, const std::vector<std::string>& notes) {
  const Sweep& sweep = results.sweep();
  std::map<std::size_t, std::vector<const SweepGroup*>> by_combination;
  for (const SweepGroup& group : results.groups())
    by_combination[group.combination].push_back(&group);
  if (by_combination.count(0) == 0) return "the scenario as it is has no result\n";
  const Words base = order_of(sweep, by_combination[0]);
  std::string out = wrapped("verdict (order by tokens/s):", base) + "\ntokens/s of each row:\n";
  std::size_t width = 3;
  for (const Combination& one : sweep.combinations)
    width = std::max(width, axis_label(one.values[0]).size());
  std::string head = padded("key", width + 2) + "factor  flips  ";
  for (const std::string& row : sweep.protocols)
    head += fmt::format("{:>{}}", row, std::max<std::size_t>(row.size() + 2, 10));
  out += head + "\n";
  int flips = 0;
  for (const auto& [combination, groups] : by_combination) {
    const Words order = order_of(sweep, groups);
    const Words& values = sweep.combinations[combination].values;
    flips += order != base ? 1 : 0;
    out += padded(axis_label(values[0]), width + 2) +
           fmt::format("{:<8}{:<7}", axis_label(values[1]), order != base ? "YES" : "no");
    for (std::size_t row = 0; row < sweep.protocols.size(); ++row) {
      std::string cell = "-";
      for (const SweepGroup* group : groups) {
        const std::vector<double> speeds = values_of(*group, column_of("tokens_per_s"));
        if (group->row == row && !speeds.empty()) cell = number(mean_interval(speeds).mean);
      }
      out +=
          fmt::format("{:>{}}", cell, std::max<std::size_t>(sweep.protocols[row].size() + 2, 10));
    }
    out += "\n";
    if (order != base) out += wrapped("  order now:", order);
  }
  out += flips == 0 ? "\nno calibrated or assumed key flips the verdict at x 0.8 or x 1.2\n"
                    : fmt::format("\n{} changes flip the verdict\n", flips);
  for (const std::string& note : notes)
    out += wrapped_sentence("left out: " + note);
  return out;
}

}  // namespace skerry
