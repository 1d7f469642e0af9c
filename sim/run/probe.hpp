// Does the simulator react to what a scenario gives, and in the right direction? The scenario as it
// is against itself with one thing changed; means over seeds, row by row.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/record.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

enum class Change { kBandwidthDoubled, kFailuresHalved, kSpeedDoubled, kLatencyHalved };

// Changes the scenario; false when it has no such number (then it is as it was). Bandwidth: every
// port and every link's own capacity. Failures: the mean gap of every random fault × 2; plans stay.
// Speed: every step half as long.
bool apply_change(Scenario& scenario, Change change);

inline constexpr std::array<const char*, 6> kProbed = {"tokens_per_s",        "goodput",
                                                       "hidden_share",        "merged_share",
                                                       "compute_utilization", "wan.busiest_load"};

struct ProbedRow {
  std::string protocol;
  std::array<std::optional<double>, kProbed.size()> values;  // in the order of kProbed
  double wan_bytes = 0.0;
  double chance_hits = 0.0;  // faults hit beyond those that are scripted
};

// `records`: of one scenario, as its protocols and seeds come.
std::vector<ProbedRow> probed_rows(const Scenario& scenario, const std::vector<RunRecord>& records);

// What was missed, a sentence each with row and numbers. No row may lose more than 0.5 % (shares of
// merges: 2 points): tokens_per_s (relative), merged_share and hidden_share (absolute) with the bandwidth doubled,
// goodput (absolute) with failures halved, tokens_per_s with speed doubled or latency halved.
// Bandwidth must move an output of some row that sends bytes, failures one of some row that chance
// has hit, speed one of any row.
std::vector<std::string> misjudged(Change change, const std::vector<ProbedRow>& before,
                                   const std::vector<ProbedRow>& after);

// Differences, at most 100 columns: tokens_per_s in per cent, the others absolute; = is no change.
std::string probe_table(const std::vector<ProbedRow>& before, const std::vector<ProbedRow>& after);

}  // namespace skerry
