#include "sim/cost/money.hpp"

#include <algorithm>

namespace skerry {

namespace {

template <class Lacks>
std::vector<std::string> islands_that(const Scenario& scenario, const Lacks& lacks) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < scenario.learners.size(); ++i) {
    const Learner& learner = scenario.learners[i];
    if (!lacks(learner) || (!names.empty() && names.back() == learner.group)) continue;
    const bool used =
        std::any_of(scenario.protocols.begin(), scenario.protocols.end(), [i](const Protocol& row) {
          return std::binary_search(row.learners.begin(), row.learners.end(), int(i));
        });
    if (used) names.push_back(learner.group);
  }
  return names;
}

}  // namespace

std::optional<double> usd_per_chip_second(const Learner& learner, Pricing pricing) {
  const std::optional<double>& price =
      pricing == Pricing::kSpot ? learner.usd_per_chip_hour_spot : learner.usd_per_chip_hour;
  if (!price) return std::nullopt;
  return *price / kSecondsPerHour;
}

double wan_usd(const Prices& prices, double bytes) {
  return prices.wan_usd_per_gib * bytes / kBytesPerGib;
}

std::optional<std::vector<ChipCost>> chip_costs(const Scenario& scenario, const Protocol& row,
                                                Pricing pricing) {
  std::vector<ChipCost> chips;
  for (const int index : row.learners) {
    const Learner& learner = scenario.learners[static_cast<std::size_t>(index)];
    const std::optional<double> price = usd_per_chip_second(learner, pricing);
    if (!price) return std::nullopt;
    chips.push_back({learner.start_s, static_cast<double>(learner.chips) * *price});
  }
  return chips;
}

double usd_per_hour(const std::vector<ChipCost>& chips) {
  double usd = 0.0;
  for (const ChipCost& learner : chips)
    usd += learner.usd_per_s * kSecondsPerHour;
  return usd;
}

double usd_until(const std::vector<ChipCost>& chips, double wan_usd, double run_s, double t) {
  double usd = wan_usd * t / run_s;
  for (const ChipCost& learner : chips)
    usd += learner.usd_per_s * std::max(0.0, t - learner.start_s);
  return usd;
}

std::vector<std::string> islands_without_price(const Scenario& scenario, Pricing pricing) {
  return islands_that(scenario, [pricing](const Learner& learner) {
    return !usd_per_chip_second(learner, pricing);
  });
}

std::vector<std::string> islands_without_power(const Scenario& scenario) {
  return islands_that(scenario, [](const Learner& learner) {
    return !learner.power_w || !learner.idle_power_share;
  });
}

}  // namespace skerry
