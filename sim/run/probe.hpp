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
// port, every link's own capacity, the caps of the transport's classes and what is reserved for
// control; a TCP window and a loss rate are no bandwidth and stay. Failures: the mean gap of every
// random fault × 2; plans stay. Speed: every step half as long.
bool apply_change(Scenario& scenario, Change change);

inline constexpr std::array<const char*, 6> kProbed = {"tokens_per_s",        "goodput",
                                                       "hidden_share",        "merged_share",
                                                       "compute_utilization", "wan.busiest_load"};

struct ProbedRow {
  std::string protocol;
  std::array<std::optional<double>, kProbed.size()> values;  // in the order of kProbed
  double wan_bytes = 0.0;
  double chance_hits = 0.0;  // faults hit beyond those that are scripted
  bool tcp_capped = false;   // flows have a window or a loss rate, which no bandwidth lifts
};

// `records`: of one scenario, as its protocols and seeds come.
std::vector<ProbedRow> probed_rows(const Scenario& scenario, const std::vector<RunRecord>& records);

// What was missed, a sentence each with row and numbers. No row may lose more than 0.5 % of
// tokens_per_s, 0.005 of goodput or 0.02 of a share of merges: tokens_per_s, merged_share and
// hidden_share with the bandwidth doubled, goodput with failures halved, tokens_per_s with speed
// doubled or latency halved. Bandwidth must move an output (but wan.busiest_load, which has it as
// denominator) of some row that sends bytes, does not hide them all and has no TCP cap, failures
// one of some row that chance has hit, speed one of any row.
std::vector<std::string> misjudged(Change change, const std::vector<ProbedRow>& before,
                                   const std::vector<ProbedRow>& after);

// What else fell though it should not have, a sentence each: of the above what stayed inside its
// tolerance, and what is not judged since a fault that hits at another moment moves it too.
std::vector<std::string> wrong_ways(Change change, const std::vector<ProbedRow>& before,
                                    const std::vector<ProbedRow>& after);

// Differences, at most 100 columns: tokens_per_s in per cent, the others absolute; = is no change.
std::string probe_table(const std::vector<ProbedRow>& before, const std::vector<ProbedRow>& after);

}  // namespace skerry
