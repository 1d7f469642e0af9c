#include "sim/report/sweep_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include <nlohmann/json.hpp>

#include "sim/report/csv.hpp"
#include "sim/report/number_text.hpp"

namespace skerry {

namespace {

double number_in(const std::string& cell) {
  double value = std::nan("");
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

// Times to loss are known only beside the baseline's run of the same seed.
void set_target(const LossTarget& target, std::size_t row, const std::vector<SweepPoint>& base,
                SweepPoint& point) {
  if (point.cells.curve.empty()) return;
  std::optional<double> goal = target.absolute;
  for (const SweepPoint& other : base) {
    if (goal || other.seed != point.seed || other.cells.status == "diverged") continue;
    const double loss = number_in(other.cells.cells[std::size_t(column_of("loss.final"))]);
    if (std::isfinite(loss)) goal = (1 + target.over_baseline) * loss;
  }
  if (!goal) return;
  const auto set = [&point](const char* column, double value) {
    point.cells.cells[std::size_t(column_of(column))] = shortest(value);
  };
  set("target_loss", *goal);
  const std::optional<LossPoint> hit = first_at_or_below(point.cells.curve, *goal);
  if (!hit) return;
  set("time_to_loss_s", hit->simulated_s);
  set("tokens_to_loss", hit->tokens);
  const auto chips = target.chips.find(row);
  if (chips == target.chips.end()) return;
  const auto cell = [&point](const char* column) {
    return number_in(point.cells.cells[std::size_t(column_of(column))]);
  };
  set("cost_to_loss_usd",
      usd_until(chips->second, cell("cost.wan_usd"), cell("simulated_s"), hit->simulated_s));
}

}  // namespace

std::string axis_label(const std::string& value) {
  const auto json = nlohmann::json::parse(value);
  if (json.is_number()) {
    const double number = json.get<double>();
    const bool whole = number == std::floor(number) && std::abs(number) < 1e15;
    return whole ? fmt::format("{:.0f}", number) : shortest(number);
  }
  return json.is_string() ? json.get<std::string>() : value;
}

SweepResults::SweepResults(const Sweep& sweep) : sweep_(sweep) {
  csv_ = "id";
  for (const SweepAxis& axis : sweep.axes)
    csv_ += "," + text_cell(axis.name);
  csv_ += ",protocol,seed,status";
  for (const Column& column : point_columns())
    csv_ += "," + column.name;
  csv_ += "\n";
}

void SweepResults::add(std::size_t combination, std::size_t row, std::vector<SweepPoint> points,
                       std::optional<std::size_t> baseline_combination) {
  if (points.empty()) return;
  SweepGroup group;
  group.combination = combination;
  group.row = row;
  group.points = std::move(points);
  group.baseline_combination = baseline_combination;
  groups_.push_back(std::move(group));
}

void SweepResults::finish(const std::vector<LossTarget>& targets) {
  pair_up();
  static const std::vector<SweepPoint> kNone;
  for (SweepGroup& group : groups_) {
    const auto& base = group.baseline < 0 ? kNone : groups_[std::size_t(group.baseline)].points;
    for (SweepPoint& point : group.points) {
      set_target(targets[group.combination], group.row, base, point);
      if (point.cells.status == "failed") {
        group.failed += 1;
        continue;
      }
      group.capped += point.cells.status == "time_cap" ? 1 : 0;
      group.diverged += point.cells.status == "diverged" ? 1 : 0;
      std::vector<double> numbers;
      for (std::size_t i = 0; i < point.cells.cells.size(); ++i) {
        numbers.push_back(point_columns()[i].is_number ? number_in(point.cells.cells[i])
                                                       : std::nan(""));
      }
      group.seeds.push_back(point.seed);
      group.numbers.push_back(std::move(numbers));
    }
    judge_until(group);
    write_rows(group);
  }
}

void SweepResults::write_rows(const SweepGroup& group) {
  std::string axes;
  for (const std::string& value : sweep_.combinations[group.combination].values)
    axes += "," + (value[0] == '"' ? text_cell(axis_label(value)) : csv_cell(axis_label(value)));
  for (const SweepPoint& point : group.points) {
    csv_ += fmt::format("{}{},{},{},{}", point.id, axes, text_cell(sweep_.protocols[group.row]),
                        point.seed, point.cells.status);
    for (std::size_t i = 0; i < point.cells.cells.size(); ++i) {
      const std::string& cell = point.cells.cells[i];
      csv_ += "," + (point_columns()[i].is_number ? cell : text_cell(cell));
    }
    csv_ += "\n";
  }
}

void SweepResults::pair_up() {
  std::map<std::size_t, int> by_combination;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (sweep_.protocols[groups_[g].row] == sweep_.baseline)
      by_combination[groups_[g].combination] = int(g);
  }
  for (SweepGroup& group : groups_) {
    if (!group.baseline_combination) continue;
    const auto found = by_combination.find(*group.baseline_combination);
    if (found != by_combination.end()) group.baseline = found->second;
  }
}

void SweepResults::judge_until(SweepGroup& group) const {
  if (!sweep_.until || int(group.points.size()) < sweep_.until->max_seeds) return;
  const Until& until = *sweep_.until;
  if (!until.protocol.empty() && sweep_.protocols[group.row] != until.protocol) return;
  const Interval interval = mean_interval(values_of(group, column_of(until.metric)));
  group.too_wide = !interval.high || *interval.high - interval.mean > until.half_width;
}

std::vector<double> values_of(const SweepGroup& group, int column) {
  std::vector<double> out;
  for (const std::vector<double>& numbers : group.numbers) {
    const double value = numbers[std::size_t(column)];
    if (std::isfinite(value)) out.push_back(value);
  }
  return out;
}

std::pair<std::vector<double>, std::vector<double>> paired_values(const SweepGroup& group,
                                                                  const SweepGroup& other,
                                                                  int column) {
  std::pair<std::vector<double>, std::vector<double>> out;
  for (std::size_t i = 0; i < group.seeds.size(); ++i) {
    const auto at = std::find(other.seeds.begin(), other.seeds.end(), group.seeds[i]);
    if (at == other.seeds.end()) continue;
    const double a = group.numbers[i][std::size_t(column)];
    const double b = other.numbers[std::size_t(at - other.seeds.begin())][std::size_t(column)];
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    out.first.push_back(a);
    out.second.push_back(b);
  }
  return out;
}

}  // namespace skerry
