#include "sim/report/sweep_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include <nlohmann/json.hpp>

#include "sim/report/number_text.hpp"

namespace skerry {

namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

double number_in(const std::string& cell) {
  double value = std::nan("");
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

// Times to loss are known only beside the baseline's run of the same seed.
void set_target(const LossTarget& target, const std::vector<SweepPoint>& base, SweepPoint& point) {
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
    csv_ += "," + axis.name;
  csv_ += ",protocol,seed,status";
  for (const Column& column : point_columns())
    csv_ += "," + column.name;
  csv_ += "\n";
}

void SweepResults::add(std::size_t combination, std::size_t row, std::vector<SweepPoint> points) {
  if (!points.empty()) groups_.push_back({combination, row, std::move(points), {}, {}, 0, -1});
}

void SweepResults::finish(const std::vector<LossTarget>& targets) {
  pair_up();
  static const std::vector<SweepPoint> kNone;
  for (SweepGroup& group : groups_) {
    const auto& base = group.baseline < 0 ? kNone : groups_[std::size_t(group.baseline)].points;
    for (SweepPoint& point : group.points) {
      set_target(targets[group.combination], base, point);
      if (point.cells.status == "failed") {
        group.failed += 1;
        continue;
      }
      std::vector<double> numbers;
      for (std::size_t i = 0; i < point.cells.cells.size(); ++i) {
        numbers.push_back(point_columns()[i].is_number ? number_in(point.cells.cells[i])
                                                       : std::nan(""));
      }
      group.seeds.push_back(point.seed);
      group.numbers.push_back(std::move(numbers));
    }
    write_rows(group);
  }
}

void SweepResults::write_rows(const SweepGroup& group) {
  std::string axes;
  for (const std::string& value : sweep_.combinations[group.combination].values)
    axes += "," + csv_cell(axis_label(value));
  for (const SweepPoint& point : group.points) {
    csv_ += fmt::format("{}{},{},{},{}", point.id, axes, sweep_.protocols[group.row], point.seed,
                        point.cells.status);
    for (const std::string& cell : point.cells.cells)
      csv_ += "," + csv_cell(cell);
    csv_ += "\n";
  }
}

void SweepResults::pair_up() {
  std::vector<std::size_t> base;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (sweep_.protocols[groups_[g].row] == sweep_.baseline) base.push_back(g);
  }
  if (base.empty()) return;
  const auto values = [this](std::size_t g) -> const std::vector<std::string>& {
    return sweep_.combinations[groups_[g].combination].values;
  };
  std::vector<bool> changes(sweep_.axes.size(), false);
  for (const std::size_t g : base) {
    for (std::size_t a = 0; a < changes.size(); ++a)
      changes[a] = changes[a] || values(g)[a] != values(base[0])[a];
  }
  const auto key = [&](std::size_t g) {
    std::vector<std::string> out;
    for (std::size_t a = 0; a < changes.size(); ++a)
      out.push_back(changes[a] ? values(g)[a] : std::string());
    return out;
  };
  std::map<std::size_t, int> by_combination;
  std::map<std::vector<std::string>, int> by_key;  // -2: more than one
  for (const std::size_t g : base) {
    by_combination[groups_[g].combination] = int(g);
    const auto [place, is_new] = by_key.emplace(key(g), int(g));
    if (!is_new) place->second = -2;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto same = by_combination.find(groups_[g].combination);
    if (same != by_combination.end()) {
      groups_[g].baseline = same->second;
      continue;
    }
    const auto like = by_key.find(key(g));
    if (like != by_key.end() && like->second >= 0) groups_[g].baseline = like->second;
  }
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
