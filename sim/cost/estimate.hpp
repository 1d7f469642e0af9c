// What can be said of a scenario without simulating it: bytes, ideal times, bounds by conservation,
// room for a recovery, checkpoint advice. Pure arithmetic on the scenario; nothing fails here and
// no fault is drawn.
//
// Ideal times are those of idle ports (ideal_seconds), with the caps of the transport; its set-up counts
// too, but not for recoveries. Steps are those of the row's slowest learner, or where nobody waits
// of the K-th fastest, which sets the syncer's clock; without speed spread.
// kNever and kUnlimited stand for "never" and "no limit".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/cost.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

// A port ("us-east5.up"), or a link's own capacity ("us-east5>us-west1"), that a row sends through.
struct PortEstimate {
  std::string name;
  double capacity_Bps = kUnlimited;
  double bytes_per_step = 0.0;  // mean over a period: ρV/H, or ρV for data-parallel
  double needed_Bps = 0.0;      // bytes_per_step / step: nothing can hide with less
  double load = 0.0;            // needed / capacity; above 1 the bytes do not fit
  double headroom_Bps = 0.0;    // capacity − needed, at least 0: what is left for a recovery
  int flows = 0;                // of one collective
};

// One direction of a pair that a row sends over.
struct LinkEstimate {
  std::string name;
  double rate_Bps = kUnlimited;  // least of both ports and the pair's own capacity
  double round_trip_s = 0.0;
  double in_flight_bytes = 0.0;      // rate × round trip: bandwidth-delay product
  double in_flight_packets = 0.0;    // of 1,500 B
  double queue_packets = 0.0;        // 1.5 × that, the usual advice for a queue on the path
  double flow_cap_Bps = kUnlimited;  // of one flow: window, loss, class exchange
};

// Three copies of the model into the region whose port takes longest for one.
struct RecoveryEstimate {
  std::string port;
  double copy_steps = 0.0;              // c, of one copy
  double load = 0.0;                    // regular traffic on that port while it goes on
  double steps_traffic_first = 0.0;     // 3c / (1 − load)
  double steps_fair_share = 0.0;        // 3c / max(1 − load, 1/(1 + flows)): max-min share
  double downtime_steps = 0.0;          // max(0, 4c − H); elastic data-parallel 3c
  double elastic_downtime_steps = 0.0;  // 3c
  double limit_steps = 0.0;             // recovery.limit_steps, or H, the paper's rule
  double needed_for_limit_Bps = 0.0;    // (3V + limit × bytes per step) / (limit × step)
  bool limit_met = true;
};

// Saves of a data-parallel job that starts again from its last one.
struct CheckpointEstimate {
  double mtbf_s = kNever;                // of the row's job, from random faults that stop it
  double save_s = 0.0, restart_s = 0.0;  // restart: detection, restart and restore
  double young_s = 0.0, young_waste = 0.0;
  double daly_s = 0.0, daly_waste = 0.0;
  double period_s = kNever;  // in use; kNever: no saves
  double period_waste = 0.0;
  double efficiency = 0.0;  // stop_restart_efficiency at period_s
};

struct RowEstimate {
  std::string protocol, preset;
  int learners = 0, regions = 0;
  double chips = 0.0;
  double step_s = 0.0;
  double flop_per_step = 0.0;  // of all learners: 6 × parameters × tokens
  double tokens_per_step = 0.0;
  double tokens_per_s_full = 0.0;   // chips alone
  double tokens_per_s_limit = 0.0;  // at most, by the bytes, over whole periods; data-parallel:
                                    // exact without faults
  double compute_utilization_limit = 1.0;
  std::optional<double> syncs_carried_limit;  // learners that never wait: share of due fragments
                                              // that the ports can carry; the rest merges late
  std::optional<double> ratio_limit;  // tokens_per_s_limit over that of the data-parallel row
  // lock_step_port_Bps() for tokens_per_s_limit.
  std::optional<double> data_parallel_port_Bps;

  double sync_bytes_mean = 0.0, sync_bytes_largest = 0.0;  // payload of one collective
  double syncs_per_step = 0.0;
  double wan_bytes_per_step = 0.0;  // over all edges
  double needed_Bps = 0.0;          // of its busiest port, if all ports were equal

  double latency_s = 0.0;  // of one collective
  double sync_s_mean = 0.0, sync_s_largest = 0.0;
  double all_reduce_s = 0.0;   // a whole model through the row's collective
  double first_phase_s = 0.0;  // of it: the way up of a star; else all of it
  double copy_s = 0.0;         // a whole model over the slowest pair in use, one way

  int round_steps = 1;  // one exchange of every fragment
  double round_s = 0.0, round_chip_h = 0.0, round_wan_bytes = 0.0, round_flop = 0.0;

  std::optional<double> chips_usd_per_hour;  // at the scenario's pricing; null: no price
  double wan_usd_per_hour = 0.0;             // at tokens_per_s_limit

  double tokens = 0.0;   // to the stop rule, chips alone
  double ideal_s = 0.0;  // date at which they are done: every chip that has started steps, no loss
  double limit_s = 0.0;  // the same at tokens_per_s_limit
  std::optional<double> scavenged_share;  // later learners: ideal time over that of the first ones

  std::vector<PortEstimate> ports;  // most loaded first
  std::optional<RecoveryEstimate> recovery;
  std::optional<CheckpointEstimate> checkpoint;
};

struct MemoryEstimate {
  std::string island, device;
  std::int64_t chips_per_slice = 0;
  MemoryFit fit;
};

struct Estimate {
  std::string data_parallel_row;  // that ratios refer to; empty: none
  std::vector<RowEstimate> rows;  // in the order of the protocols
  std::vector<LinkEstimate> links;
  std::vector<MemoryEstimate> memory;  // per island group
};

Estimate estimate(const Scenario& scenario);

// The rate that every port needs so that data-parallel (64 buckets, hierarchical ring, the charged
// model's bits; a data-parallel row as it is) over the row's learners does 95 % of `tokens_per_s`, with the
// links' latencies and the transport's caps. kUnlimited when no port is enough; null when nothing is
// sent.
std::optional<double> lock_step_port_Bps(const Scenario& scenario, const Protocol& row,
                                         double tokens_per_s);

}  // namespace skerry
