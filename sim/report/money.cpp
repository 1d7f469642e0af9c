#include "sim/report/money.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "sim/cost/money.hpp"
#include "sim/report/layout.hpp"
#include "sim/report/number_text.hpp"

namespace skerry {

namespace {

constexpr std::array<int, 8> kWidths{10, 8, 14, 9, 9, 10, 9, 10};  // behind 21 of the name
constexpr double kShownShare = 0.005;  // of a cost: a cause below it is not named
constexpr std::size_t kShownCauses = 4;

std::string amount(const std::optional<double>& value) {
  if (!value) return "-";
  return *value == 0 ? "0" : *value < 1e6 ? small_digits(*value) : giga(*value);
}

std::string small(double ratio) {
  return ratio < 0.9995 ? fmt::format("{:.3f}", ratio) : three_digits(ratio);
}

std::string ratio_text(const Row& row) {
  if (row.baseline) return row.cost_usd ? "base" : "-";
  return row.cost_ratio.n > 0 ? small(row.cost_ratio.mean) : "-";
}

std::string interval_text(const Row& row) {
  const Interval& ratio = row.cost_ratio;
  if (row.baseline || ratio.n == 0) return "";
  if (ratio.n == 1) return "n = 1";
  if (!ratio.low || !ratio.high) return "-";
  return fmt::format("[{} {}]", small(*ratio.low), small(*ratio.high));
}

std::string line(const std::string& name, const std::vector<std::string>& cells) {
  std::string out = fmt::format("{:<21}", name.size() > 21 ? name.substr(0, 20) + "~" : name);
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += fmt::format("{:>{}}", cells[i], kWidths.at(i));
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string head(const Scenario& s) {
  return wrapped_sentence(fmt::format(
      "money: {} prices, {:g} USD a GiB that leaves a region; x base at equal tokens; wasted USD "
      "and "
      "chip-h: not productive{}",
      s.prices.pricing == Pricing::kSpot ? "spot" : "on-demand", s.prices.wan_usd_per_gib,
      s.training.on ? "; to loss: USD until the target" : ""));
}

// Where the money of a row went, means over its runs; the largest first.
void add_causes(const Results& results, const Row& row, std::vector<std::string>& items) {
  std::array<double, 12> lost{};
  double usd = 0, wan = 0;
  for (const RunRecord* run : by_seed(results.scenario, results.records, row.protocol)) {
    if (run == nullptr || !run->summary.cost) continue;
    const Summary::Cost& cost = *run->summary.cost;
    for (std::size_t i = 0; i < lost.size(); ++i)
      lost[i] += cost.lost_usd[i];
    usd += cost.usd();
    wan += cost.wan_usd;
  }
  std::vector<std::pair<double, std::string>> parts{{wan, "wide_area"}};
  for (std::size_t i = 0; i < lost.size(); ++i)
    parts.emplace_back(lost[i], kCauseNames[i]);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  parts.resize(kShownCauses);
  std::string prefix = row.protocol + " ";
  for (const auto& [part, name] : parts) {
    if (!(part > kShownShare * usd)) break;
    items.push_back(fmt::format("{}{} {:.1f}", prefix, name, 100 * part / usd));
    prefix.clear();
  }
  if (prefix.empty()) items.back() += ";";
}

std::string by_cause(const Results& results, const std::vector<Row>& rows) {
  std::vector<std::string> items;
  for (const Row& row : rows)
    add_causes(results, row, items);
  if (items.empty()) return "";
  items.back().pop_back();
  return wrapped("% of the cost that no useful step took:", items);
}

std::string lacking(const std::string& what, const std::vector<std::string>& islands,
                    const std::string& then) {
  if (islands.empty()) return "";
  std::string names;
  for (const std::string& name : islands)
    names += (names.empty() ? "" : ", ") + name;
  return wrapped_sentence(
      fmt::format("no {} for island{} {}: {}", what, islands.size() > 1 ? "s" : "", names, then));
}

}  // namespace

std::vector<std::vector<std::string>> money_cells(const Results& results,
                                                  const std::vector<Row>& rows) {
  const Scenario& s = results.scenario;
  const bool any = std::any_of(rows.begin(), rows.end(),
                               [](const Row& row) { return row.cost_usd || row.energy_kwh; });
  if (!any) return {};
  std::vector<std::vector<std::string>> out{
      {"protocol", "USD", "x base", "[95 %]", "wasted", "chip-h", "USD/Gtok", "MWh"}};
  if (s.training.on) out[0].emplace_back("to loss");
  for (const Row& row : rows) {
    if (row.seeds == 0) continue;
    std::optional<double> mwh;
    if (row.energy_kwh) mwh = *row.energy_kwh / 1e3;
    out.push_back({row.protocol, amount(row.cost_usd), ratio_text(row), interval_text(row),
                   amount(row.wasted_cost_usd), amount(row.wasted_chip_hours),
                   amount(row.cost_usd_per_1e9_tokens), amount(mwh)});
    if (s.training.on) out.back().push_back(amount(row.cost_to_loss_usd));
  }
  return out;
}

std::string money_lines(const Results& results, const std::vector<Row>& rows) {
  const Scenario& s = results.scenario;
  const bool spot = s.prices.pricing == Pricing::kSpot;
  const std::string lacks =
      lacking(spot ? "usd_per_chip_hour_spot" : "usd_per_chip_hour",
              islands_without_price(s, s.prices.pricing), "the cost of its rows is not known") +
      lacking("power_w and idle_power_share", islands_without_power(s),
              "the energy of its rows is not known");
  const auto cells = money_cells(results, rows);
  if (cells.empty()) return lacks;
  std::string out = head(s);
  for (const std::vector<std::string>& one : cells)
    out += line(one.front(), {one.begin() + 1, one.end()});
  return out + by_cause(results, rows) + lacks;
}

}  // namespace skerry
