// Money: what chips and the wide area cost at the prices of a scenario. Pure arithmetic. Null
// stands for "a chip has no price", never for 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace skerry {

inline constexpr double kSecondsPerHour = 3600.0;
inline constexpr double kJoulesPerKwh = 3.6e6;
inline constexpr double kBytesPerGib = 1073741824.0;

std::optional<double> usd_per_chip_second(const Learner& learner, Pricing pricing);
double wan_usd(const Prices& prices, double bytes);

// What the chips of one learner cost: from joining on, broken ones too, spares not.
struct ChipCost {
  double start_s = 0.0;
  double usd_per_s = 0.0;
};
// Of the row's learners, in their order.
std::optional<std::vector<ChipCost>> chip_costs(const Scenario& scenario, const Protocol& row,
                                                Pricing pricing);
double usd_per_hour(const std::vector<ChipCost>& chips);  // of all together
// Of a run of run_s > 0 with wan_usd in all, up to a date t in it: the chips' costs until then, and
// of the wide area the share t / run_s.
double usd_until(const std::vector<ChipCost>& chips, double wan_usd, double run_s, double t);

// Groups of islands, in the order of the scenario, that a row uses and whose chips have no such
// price, or no power_w or idle_power_share.
std::vector<std::string> islands_without_price(const Scenario& scenario, Pricing pricing);
std::vector<std::string> islands_without_power(const Scenario& scenario);

}  // namespace skerry
