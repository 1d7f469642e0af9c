// Pure arithmetic on the charged model: fragments, bytes of collectives, memory, checkpoint
// intervals. No state, no time, no JSON. Bits and bytes are doubles: 12e9 parameters × 16 bits are
// exact.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace skerry {

double model_wire_bytes(const ChargedModel& model);  // one whole copy on the wire
double recovery_bytes(
    const ChargedModel& model);  // 3 × a wire copy: parameters and two AdamW moments

// ---------------------------------------------------------------- collectives

// One all-reduce of `payload_bytes` over members that sit in regions. Edges between members of one
// region are local and free: they have no flow and no latency. The `first` flows run together after
// `lead_s`, the `second` together when the last of them has ended; the collective ends with its
// last flow.
//   ring (p members, p ≥ 2): 2(p−1)/p × payload per edge, lead 2(p−1) × slowest hop's latency. Two
//   edges
//         between the same ordered pair of regions are two flows
//   hierarchical ring: the same over the distinct regions in first-seen order (inside a region
//   first, free) star: every member but those in the hub sends payload up (`first`) and receives
//   payload down
//         (`second`): lead 2 × slowest hop. One member outside the hub still pays both
// Nothing (no flows, lead 0): a ring over one member or one region, a star within its hub, and any
// collective with a member in region −1 (no regions: ideal).
struct CollectiveFlow {
  int from_region = 0;
  int to_region = 0;
  double bytes = 0.0;
};
struct Collective {
  double lead_s = 0.0;
  std::vector<CollectiveFlow> first;
  std::vector<CollectiveFlow> second;  // star only
};
// `regions_of_members`: region index per member, in learner order; `ring_order`: regions of a ring in
// its order (members of one region stay together), those not in it last; empty: as the members come.
// Never BadInput: the reader refuses regions without a route, so a missing one here is a Bug.
Collective all_reduce(const Scenario& scenario, AllReduce kind, int star_region,
                      const std::vector<int>& regions_of_members, double payload_bytes,
                      const std::vector<int>& ring_order = {});
// The row's own: its kind of all-reduce, or the star about its central syncer.
Collective all_reduce(const Scenario& scenario, const Protocol& row,
                      const std::vector<int>& regions_of_members, double payload_bytes);

// Seconds that a collective needs on idle ports: lead + per phase the most over all ports and links of
// (bytes through it / its capacity) and all flows of (bytes / cap of the transport).
double ideal_seconds(const Scenario& scenario, const Collective& collective);

// ---------------------------------------------------------------- checks and bounds

// Bytes a chip must hold if a slice holds one whole state: parameters × state bytes / chips of a
// slice.
struct MemoryFit {
  double needed_per_chip_bytes = 0.0;
  double available_per_chip_bytes = 0.0;  // 0 = not known
  int least_chips_per_slice = 0;          // smallest number that fits (0 = not known)
  bool fits = true;
  bool exactly_full = false;  // fits with less than 1 % to spare: warn
};
MemoryFit memory_fit(const ChargedModel& model, const Learner& learner);

// Young's and Daly's checkpoint interval (seconds of work between saves) for mean time between
// failures `mtbf_s` = M and blocking save `save_s` = δ. Requires both > 0 and finite.
//   Young (1974): √(2δM)
//   Daly (2006):  √(2δM) · (1 + ⅓·√(δ/2M) + (1/9)·δ/2M) − δ for δ < 2M, else M
double young_interval_s(double mtbf_s, double save_s);
double daly_interval_s(double mtbf_s, double save_s);

// Failures a second that stop the row's whole job: random faults of its own learners and regions (what
// fails together is one) at their nominal rate, and lines of a plan up to its last one. Scripted
// entries give no rate.
double job_failures_per_s(const Scenario& scenario, const Protocol& row);

// Seconds of work between the row's saves by recovery.checkpoint_every: kNever without saves or without
// any fault, 0 (after every step) when a save costs nothing, an hour when faults are scripted only.
double checkpoint_period_s(const Scenario& scenario, const Protocol& row);

}  // namespace skerry
