// What a row's steps put on the wire, and when: fragments, and the pieces in which the network sees them.
// Pure arithmetic on the charged model; parameters, bytes, shares of a step.
#pragma once

#include <vector>

#include "sim/scenario/scenario.hpp"

namespace skerry {

// Parameters of each exchanged fragment of a DiLoCo row, in the order of due_slots.
//   balanced             whole tensors (arXiv 2604.21428); equal parts when the model has no tensors
//   strided_layers       whole layers, layer l in fragment l mod P
//   consecutive_layers   whole layers, layer l in fragment floor(l·P/L)
// With layers, what stands outside them (embedding, head, last norm) is fragment 0 and the layers are
// dealt to the other P − 1 (arXiv 2501.18512); when nothing does, to all P. Fragments that fall due
// together (P > H) are one.
std::vector<double> fragment_parameters(const ChargedModel& model, const Protocol& row);

// Bytes of so many parameters: × bits / 8 × (1 + overhead).
double wire_bytes(const WireFormat& wire, double parameters);

// A part of an exchange that can be sent by itself. Shares count from the start of a step of T seconds.
struct Piece {
  double parameters = 0.0;
  double bytes = 0.0;   // payload
  double ready = 1.0;   // share of the step that makes it, at which it can leave
  double needed = 0.0;  // share of the step that needs its result: 0 = before it begins
};

// Pieces of each exchanged fragment, or of the one gradient of a data-parallel step; ready ascending.
//   kWholeStep  one, at the end
//   kBuckets    n equal ones, bucket k ready at 1 − s + (k/n)·s, s = backward_share
//   kLayers     one a layer that the fragment touches. Layer l of L: ready when 2(L − l) of the 2L − 1
//               slices of the backward pass are over (the first layer has no pass for its activations),
//               needed at l/L of the forward pass. The embedding counts to the first layer, the head
//               and the last norm to the last
// With accumulate_steps = A the last of A passes makes it and the first of the next step needs it.
std::vector<std::vector<Piece>> exchange_pieces(const ChargedModel& model, const Protocol& row);

// Share of a step that is backward pass when all of its 3L − 1 slices take equally long.
inline double equal_slices_backward_share(int layers) {
  return (2.0 * layers - 1.0) / (3.0 * layers - 1.0);
}

// Seconds beside the wire: before it (copy to the host, quantising) and behind it (merge, the way back).
double before_wire_s(const WireFormat& wire, double parameters);
double behind_wire_s(const WireFormat& wire, double parameters);

// Pieces that leave one after the other (FIFO) from a step of `step_s` = T that begins at 0, over a wire
// that is otherwise idle: a piece of b bytes takes lead_s from when it is prepared, waits for the piece
// before it, then takes setup_s + b·s_per_byte. → by how much the step that needs them, begun at
// (1 + overlap)·T, is delayed: the largest of (done − date at which it is needed), at least 0.
struct IdleWire {
  double lead_s = 0.0, setup_s = 0.0, s_per_byte = 0.0;
};
double late_s(const std::vector<Piece>& pieces, const WireFormat& wire, double step_s, int overlap_steps,
              const IdleWire& idle);

}  // namespace skerry
