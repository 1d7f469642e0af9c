// Means over seeds and ratios to the baseline: what one row of the table says about one protocol.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/record.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

struct Row {
  std::string protocol;
  int index = 0;  // into Scenario::protocols
  bool baseline = false;
  int seeds = 0;  // runs that ended; the means below are over these
  int failed = 0, capped = 0, diverged = 0;
  double simulated_s = 0, tokens = 0, tokens_per_s = 0, goodput = 0;
  double wan_share = 0;    // exposed_communication of all chip-seconds
  double wait_share = 0;   // straggler_wait and waiting_for_quorum
  double fault_share = 0;  // all other causes
  double faults_planned = 0, faults_hit = 0;
  std::optional<double> merged_share, stale_steps;
  Interval ratio;               // tokens/s to the baseline's, paired by seed; n = 0: no pair
  Interval goodput_interval;    // over the seeds
  Interval uptime_interval;
  Interval goodput_difference;  // to the baseline's, paired by seed
  int trained = 0;              // runs with a final loss
  std::optional<double> loss;   // mean final loss over the trained runs
  Interval loss_difference;     // to the baseline's, paired by seed; n = 0: no pair
  // Money: means over the runs that have it; empty: none has.
  std::optional<double> cost_usd, cost_spot_usd, cost_usd_per_1e9_tokens, wan_usd, wasted_cost_usd;
  std::optional<double> energy_kwh, cost_to_loss_usd;
  double wasted_chip_hours = 0;
  Interval cost_ratio;  // at equal tokens to the baseline's, paired by seed; n = 0: no pair
};

// One row per protocol of the scenario, in its order. Records in any order; missing ones are left
// out.
std::vector<Row> rows_of(const Scenario& scenario, const std::vector<RunRecord>& records);

// Records of one protocol in the order of the scenario's seeds; nullptr where there is none or it
// failed.
std::vector<const RunRecord*> by_seed(const Scenario& scenario,
                                      const std::vector<RunRecord>& records,
                                      const std::string& protocol);

// Target loss, time to loss, tokens to loss and cost to loss of every trained record: the date of
// the first point of its own curve at or below the target. Target: Training::target_loss, else (1 +
// target_loss_over_baseline) × the baseline's final loss of the same seed. `curves` has one curve a
// record (empty: not trained).
void set_times_to_loss(const Scenario& scenario, const std::vector<std::vector<LossPoint>>& curves,
                       std::vector<RunRecord>& records);

}  // namespace skerry
