// Parts of `estimate`, shared by its two files alone.
#pragma once

#include <optional>
#include <vector>

#include "sim/cost/estimate.hpp"

namespace skerry {

// What a row sends in one period: for each payload the collective `unit`, scaled.
struct RowTraffic {
  Collective unit;                    // of a payload of one byte; no flows: nothing is sent
  std::vector<double> payload_bytes;  // fragments, or the buckets of a data-parallel step
  int period_steps = 1;               // H; 1 for data-parallel
  double first_s_per_byte = 0.0, second_s_per_byte = 0.0;  // ideal, of the two phases
  double setup_s = 0.0;          // tcp: before each collective moves a byte
  double decision_s = 0.0;       // DiLoCo: report to the coordinating shard and decision back
  double fixed_s = 0.0;          // DiLoCo: of the wire format, once per fragment …
  double beside_s_per_byte = 0.0;  // … and per byte: copies, quantising, merging
  double port_s_per_byte = 0.0;  // busiest port, both phases at once: what conservation allows
  std::vector<int> regions;      // of the learners, distinct, in learner order; none: no regions

  double seconds(double bytes) const {
    return unit.lead_s + decision_s + setup_s + fixed_s +
           bytes * (first_s_per_byte + second_s_per_byte + beside_s_per_byte);
  }
};

RowTraffic traffic_of(const Scenario& scenario, const Protocol& row);

// Fewest seconds that the wire needs for one period: fragments take turns, or share the ports.
double wire_s(const Protocol& row, const RowTraffic& traffic);

std::vector<PortEstimate> ports_of(const Scenario& scenario, const RowTraffic& traffic,
                                   double step_s);

std::string pair_name(const Scenario& scenario, int from_region, int to_region);
double path_rate_Bps(const Scenario& scenario, int from_region, int to_region);
// Of one flow of an exchange: Transport::cap_Bps.
double flow_cap_Bps(const Scenario& scenario, int from_region, int to_region);
double round_trip_s(const Scenario& scenario, int from_region, int to_region);
double path_latency_s(const Scenario& scenario, int from_region, int to_region);

std::optional<RecoveryEstimate> recovery_of(const Scenario& scenario, const Protocol& row,
                                            const RowTraffic& traffic, const RowEstimate& known);
std::optional<CheckpointEstimate> checkpoint_of(const Scenario& scenario, const Protocol& row);

}  // namespace skerry
