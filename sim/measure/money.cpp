#include "sim/cost/money.hpp"

#include <cmath>
#include <string>

#include "sim/base/error.hpp"
#include "sim/measure/folds.hpp"

namespace skerry {

double Summary::Cost::wasted_usd() const {
  measure::Sum sum;
  for (const double usd : lost_usd)
    sum.add(usd);
  return sum.value();
}

namespace measure {

namespace {

std::optional<Summary::Cost> cost_of(const Scenario& scenario, Pricing pricing,
                                     const std::vector<Timeline>& lines,
                                     const std::vector<Books>& books, double wan_bytes) {
  Sum chips, productive;
  std::array<Sum, 12> lost;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<double> price = usd_per_chip_second(*lines[i].learner_info, pricing);
    if (!price) return std::nullopt;
    chips.add(*price * books[i].allocated);
    productive.add(*price * books[i].productive.value());
    for (std::size_t cause = 0; cause < lost.size(); ++cause)
      lost[cause].add(*price * books[i].lost[cause].value());
  }
  Summary::Cost out;
  out.chips_usd = chips.value();
  out.wan_usd = wan_usd(scenario.prices, wan_bytes);
  out.productive_usd = productive.value();
  for (std::size_t cause = 0; cause < lost.size(); ++cause)
    out.lost_usd[cause] = lost[cause].value();
  return out;
}

std::optional<double> energy_kwh(const std::vector<Timeline>& lines,
                                 const std::vector<Books>& books) {
  Sum joules;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Learner& learner = *lines[i].learner_info;
    const double up = books[i].busy.value() + books[i].idle.value();
    const double away = books[i].lost[std::size_t(Cause::kDown)].value() +
                        books[i].lost[std::size_t(Cause::kDegraded)].value();
    SKERRY_CHECK(std::abs(up + away - books[i].allocated) <= 1e-9 * books[i].allocated,
                 "learner " + learner.name + ": " + std::to_string(up) + " chip-seconds up and " +
                     std::to_string(away) + " away of " + std::to_string(books[i].allocated));
    if (!learner.power_w || !learner.idle_power_share) return std::nullopt;
    joules.add(*learner.power_w * books[i].busy.value());
    joules.add(*learner.power_w * *learner.idle_power_share * books[i].idle.value());
  }
  return joules.value() / kJoulesPerKwh;
}

}  // namespace

void fold_money(const Scenario& scenario, const std::vector<Timeline>& lines,
                const std::vector<Books>& books, Summary& out) {
  out.energy_kwh = energy_kwh(lines, books);
  const auto spot = cost_of(scenario, Pricing::kSpot, lines, books, out.wan.bytes);
  if (spot) out.cost_spot_usd = spot->usd();
  out.cost = cost_of(scenario, scenario.prices.pricing, lines, books, out.wan.bytes);
  if (!out.cost) return;
  const double usd = out.cost->usd();
  if (out.tokens > 0) out.cost_usd_per_1e9_tokens = 1e9 * usd / out.tokens;
  const double parts = out.cost->productive_usd + out.cost->wasted_usd() + out.cost->wan_usd;
  out.closure_cost = usd > 0 ? std::abs(parts - usd) / usd : std::abs(parts);
  SKERRY_CHECK(out.closure_cost <= 1e-9, "costs of " + std::to_string(parts) + " USD by cause, " +
                                             std::to_string(usd) + " USD in all");
}

}  // namespace measure

}  // namespace skerry
