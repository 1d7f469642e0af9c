// Pure arithmetic on the charged model: tensors, fragments, step time, memory, bytes of collectives.
// No state, no time, no JSON. Bits and bytes are doubles: 12e9 parameters × 16 bits are exact.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace skerry {

// Tensors of a decoder-only transformer of `layers` × `width`: per layer q, k, v, o (width²), w_in
// (width·ffn), w_out (ffn·width), two norms (width); embedding (vocabulary·width); output head of the
// same size unless tied; final norm. No biases.
std::vector<Tensor> transformer_tensors(int layers, double width, double ffn, double vocabulary,
                                        bool tied);

// Balanced tensor fragmentation (arXiv 2604.21428, §1.5 of the dossier's numbering "balanced"): sort by
// size descending (ties: tensor order), put each whole tensor into the fragment with the least so far
// (ties: lowest index). Returns the fragment of each tensor. Requires 1 ≤ fragments ≤ sizes.size().
// Property: max ≤ 4/3 of the best possible maximum (Graham 1969).
std::vector<int> balanced_fragments(const std::vector<double>& sizes, int fragments);

// Payload of each fragment in bytes: wire bits per parameter × parameters / 8. Equal parts when the model
// has no tensors.
std::vector<double> fragment_bytes(const ChargedModel& model, int fragments);

double model_wire_bytes(const ChargedModel& model);   // one whole copy on the wire
double recovery_bytes(const ChargedModel& model);     // 3 × a wire copy: parameters and two AdamW moments

// Seconds of one inner step: 6 · parameters · tokens / (chips · peak · utilization).
double step_seconds(double parameters, double tokens, double chips, double peak_flops,
                    double utilization);

// ---------------------------------------------------------------- collectives

// One all-reduce of `payload_bytes` over members that sit in regions. Edges between members of one region
// are local and free. `flows` run together after `lead_s`; the collective ends with its last flow.
//   ring (p members, p ≥ 2): 2(p−1)/p × payload per edge, lead 2(p−1) × slowest hop's latency
//   hierarchical ring: the same over the distinct regions (inside a region first, free)
//   star: every member but those in the hub sends payload up and receives payload down: lead
//         2 × slowest hop; flows up, then down (`second` flows start when the first have ended)
struct CollectiveFlow {
  int from_region = 0;
  int to_region = 0;
  double bytes = 0.0;
};
struct Collective {
  double lead_s = 0.0;
  std::vector<CollectiveFlow> first;
  std::vector<CollectiveFlow> second;   // star only
};
// `regions_of_members`: region index per member, in learner order. A ring visits regions in first-seen
// order. BadInput never; regions without a route are refused by the reader.
Collective all_reduce(const Scenario& scenario, AllReduce kind, int star_region,
                      const std::vector<int>& regions_of_members, double payload_bytes);

// Seconds that a collective needs on idle ports, fluid transport: lead + slowest port or link.
double ideal_seconds(const Scenario& scenario, const Collective& collective);

// ---------------------------------------------------------------- checks and bounds

// Bytes a chip must hold if a slice holds one whole state: parameters × state bytes / chips of a slice.
struct MemoryFit {
  double needed_per_chip_bytes = 0.0;
  double available_per_chip_bytes = 0.0;   // 0 = not known
  int least_chips_per_slice = 0;           // smallest number that fits (0 = not known)
  bool fits = true;
  bool exactly_full = false;               // fits with less than 1 % to spare: warn
};
MemoryFit memory_fit(const ChargedModel& model, const Learner& learner);

// Young's and Daly's checkpoint interval (seconds of work between saves) for mean time between failures
// `mtbf_s` and blocking save `save_s`. Sources: Young 1974; Daly 2006. Requires both > 0.
double young_interval_s(double mtbf_s, double save_s);
double daly_interval_s(double mtbf_s, double save_s);

}  // namespace skerry
