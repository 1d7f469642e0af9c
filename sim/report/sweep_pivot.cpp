// table.txt: rows × columns of a sweep, one block a metric, and what must be said beside it.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "sim/report/layout.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/sweep_table.hpp"

namespace skerry {

std::string table_number(double value) {
  return std::abs(value) >= 9999.5 ? thousands(value) : fmt::format("{:.4g}", value);
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

namespace {

using Words = std::vector<std::string>;

// `n` of all cells, or 0 when they differ and each says its own.
std::string cell_of(const SweepGroup& group, const std::string& metric, int n) {
  const int column = column_of(metric);
  const Interval mean = column < 0 ? Interval{} : mean_interval(values_of(group, column));
  if (mean.n == 0) {
    if (group.failed > 0 && group.seeds.empty()) return "failed";
    const bool to_loss =
        metric == "time_to_loss_s" || metric == "tokens_to_loss" || metric == "cost_to_loss_usd";
    return to_loss && !values_of(group, column_of("target_loss")).empty() ? "not reached" : "-";
  }
  const std::string mark = group.capped + group.diverged > 0 ? "^" : "";
  const std::string count = mark + (mean.n == n ? "" : fmt::format(" n={}", mean.n));
  if (!mean.low) return table_number(mean.mean) + count;
  return fmt::format("{} [{} {}]{}", table_number(mean.mean), table_number(*mean.low),
                     table_number(*mean.high), count);
}

// A text of an axis may hold line breaks; a row of the table may not.
std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += static_cast<unsigned char>(c) < 0x20 ? std::string("?") : std::string(1, c);
  return out;
}

// What a group is called on one dimension of the table.
std::string label_of(const Sweep& sweep, const SweepGroup& group, const std::string& dimension) {
  if (dimension == "protocol") return sweep.protocols[group.row];
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].name == dimension)
      return one_line(axis_label(sweep.combinations[group.combination].values[a]));
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

constexpr std::size_t kHeadColumns = 60;  // of the heads of rows together

// Cut to `width` with '~' in the middle, unless two different ones would then look alike.
Words fitted(const Words& column, std::size_t width) {
  width = std::max<std::size_t>(width, 9);
  Words out;
  std::map<std::string, std::string> whole;
  for (const std::string& text : column) {
    const std::size_t tail = width / 2;
    out.push_back(text.size() <= width
                      ? text
                      : text.substr(0, width - 1 - tail) + "~" + text.substr(text.size() - tail));
    const auto [place, fresh] = whole.emplace(out.back(), text);
    if (!fresh && place->second != text) return column;
  }
  return out;
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
    column = fitted(column, kHeadColumns / sweep.table.rows.size());
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i] += padded(column[i], widest(column) + 2);
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

}  // namespace

namespace {

std::string counted(int n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// Warnings of points, each once with the number of points that have it.
std::string warnings_text(const SweepResults& results) {
  constexpr std::size_t kShown = 12;
  std::vector<std::pair<std::string, int>> seen;
  std::map<std::string, std::size_t> place;
  for (const SweepGroup& group : results.groups()) {
    for (const SweepPoint& point : group.points) {
      for (const std::string& warning : point.cells.warnings) {
        const auto [at, fresh] = place.emplace(warning, seen.size());
        if (fresh) seen.emplace_back(warning, 0);
        seen[at->second].second += 1;
      }
    }
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(seen.size(), kShown); ++i) {
    out += wrapped_sentence(
        fmt::format("warning of {}: {}", counted(seen[i].second, "point"), seen[i].first));
  }
  if (seen.size() > kShown) {
    out += fmt::format("... and {} more warnings, in runs*.jsonl\n", seen.size() - kShown);
  }
  return out;
}

// What the numbers above do not say by themselves.
std::string footer(const SweepResults& results, std::size_t claims) {
  const Sweep& sweep = results.sweep();
  int failed = 0, capped = 0, diverged = 0;
  std::vector<std::string> wide;
  for (const SweepGroup& group : results.groups()) {
    failed += group.failed;
    capped += group.capped;
    diverged += group.diverged;
    if (!group.too_wide) continue;
    std::string name;
    for (std::size_t a = 0; a < sweep.axes.size(); ++a)
      name += sweep.axes[a].name + "=" + label_of(sweep, group, sweep.axes[a].name) + " ";
    wide.push_back(name + sweep.protocols[group.row]);
  }
  std::string out;
  if (capped + diverged > 0) {
    out += wrapped_sentence(
        fmt::format("^ among these runs {} ended at the time cap and {} diverged: see status in "
                    "table.csv",
                    capped, diverged));
  }
  if (!wide.empty()) {
    const Until& until = *sweep.until;
    out += wrapped(fmt::format("not within +- {:g} of {} after max_seeds = {}:", until.half_width,
                               until.metric, until.max_seeds),
                   wide);
  }
  if (claims > 0) {
    out +=
        wrapped_sentence(fmt::format("the scenario's {} in `expect` {} not judged by a sweep: "
                                     "`skerry run` and `skerry test` do that",
                                     counted(int(claims), "claim"), claims == 1 ? "is" : "are"));
  }
  out += warnings_text(results);
  if (failed > 0) out += counted(failed, "point") + " failed: failed/*.log\n";
  return out;
}

}  // namespace

std::string pivot_text(const SweepResults& results, std::size_t claims) {
  const Sweep& sweep = results.sweep();
  std::size_t least = 0, most = 0;
  for (const SweepGroup& group : results.groups()) {
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
  return out + footer(results, claims);
}

}  // namespace skerry
