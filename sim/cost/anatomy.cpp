#include "sim/cost/anatomy.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/scenario/balanced.hpp"

namespace skerry {

namespace {

// Fragments that were asked for: more than exchanged ones when some fall due together.
int asked_fragments(const Protocol& row) {
  if (row.due_together.empty()) return row.fragments;
  int count = 0;
  for (const auto& group : row.due_together) count += static_cast<int>(group.size());
  return count;
}

std::vector<int> exchanged_by_asked(const Protocol& row, int asked) {
  std::vector<int> exchanged(static_cast<std::size_t>(asked));
  std::iota(exchanged.begin(), exchanged.end(), 0);
  for (std::size_t i = 0; i < row.due_together.size(); ++i) {
    for (const int fragment : row.due_together[i]) {
      exchanged[static_cast<std::size_t>(fragment)] = static_cast<int>(i);
    }
  }
  return exchanged;
}

// Asked fragment of each tensor.
std::vector<int> deal_layers(const ChargedModel& model, const Protocol& row, int fragments) {
  const bool outside = std::any_of(model.tensors.begin(), model.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.layer < 0; });
  const int first = outside ? 1 : 0;
  const int dealt = fragments - first;
  SKERRY_CHECK(dealt >= 1 && dealt <= model.layers,
               std::to_string(fragments) + " fragments of " + std::to_string(model.layers) +
                   " layers");
  std::vector<int> fragment_of;
  for (const Tensor& tensor : model.tensors) {
    const int turn = row.fragmentation == Fragmentation::kStridedLayers
                         ? tensor.layer % dealt
                         : tensor.layer * dealt / model.layers;
    fragment_of.push_back(tensor.layer < 0 ? 0 : first + turn);
  }
  return fragment_of;
}

std::vector<int> fragment_of_tensors(const ChargedModel& model, const Protocol& row) {
  const int asked = asked_fragments(row);
  std::vector<int> fragment_of;
  if (row.fragmentation == Fragmentation::kBalanced) {
    std::vector<double> sizes;
    for (const Tensor& tensor : model.tensors) sizes.push_back(tensor.parameters);
    fragment_of = balanced_fragments(sizes, asked);
  } else {
    fragment_of = deal_layers(model, row, asked);
  }
  const std::vector<int> exchanged = exchanged_by_asked(row, asked);
  for (int& fragment : fragment_of) fragment = exchanged[static_cast<std::size_t>(fragment)];
  return fragment_of;
}

int layer_of(const ChargedModel& model, const Tensor& tensor) {
  if (tensor.layer >= 0) return tensor.layer;
  return tensor.embedding ? 0 : model.layers - 1;
}

double ready_share(int layer, int layers, double backward) {
  const int slices = 2 * (layers - layer) - (layer == 0 ? 1 : 0);
  return layer == 0 ? 1.0 : 1.0 - backward + backward * slices / (2.0 * layers - 1.0);
}

// `by_layer`: parameters of one fragment in each layer.
std::vector<Piece> layer_pieces(const std::vector<double>& by_layer, const Protocol& row) {
  std::vector<Piece> pieces;
  const auto layers = static_cast<int>(by_layer.size());
  for (int layer = layers - 1; layer >= 0; --layer) {
    const double parameters = by_layer[static_cast<std::size_t>(layer)];
    if (parameters <= 0.0) continue;
    Piece& piece = pieces.emplace_back();
    piece.parameters = parameters;
    piece.ready = ready_share(layer, layers, row.backward_share);
    piece.needed = (1.0 - row.backward_share) * layer / layers;
  }
  return pieces;
}

std::vector<Piece> equal_pieces(double parameters, const Protocol& row) {
  const int n = row.anatomy == Anatomy::kBuckets ? row.buckets : 1;
  std::vector<Piece> pieces(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k) {
    Piece& piece = pieces[static_cast<std::size_t>(k)];
    piece.parameters = parameters / n;
    if (row.anatomy == Anatomy::kBuckets) {
      piece.ready = 1.0 - row.backward_share + row.backward_share * (k + 1) / n;
    }
  }
  return pieces;
}

void finish(const Protocol& row, std::vector<Piece>& pieces) {
  const double passes = row.accumulate_steps;
  for (Piece& piece : pieces) {
    piece.bytes = wire_bytes(row.wire, piece.parameters);
    piece.ready = (passes - 1.0 + piece.ready) / passes;
    piece.needed /= passes;
  }
}

}  // namespace

std::vector<double> fragment_parameters(const ChargedModel& model, const Protocol& row) {
  std::vector<double> parameters(static_cast<std::size_t>(row.fragments), 0.0);
  if (model.tensors.empty()) {
    const int asked = asked_fragments(row);
    for (const int fragment : exchanged_by_asked(row, asked)) {
      parameters[static_cast<std::size_t>(fragment)] += model.parameters / asked;
    }
    return parameters;
  }
  const std::vector<int> fragment_of = fragment_of_tensors(model, row);
  for (std::size_t i = 0; i < fragment_of.size(); ++i) {
    parameters[static_cast<std::size_t>(fragment_of[i])] += model.tensors[i].parameters;
  }
  return parameters;
}

double wire_bytes(const WireFormat& wire, double parameters) {
  return parameters * wire.bits_per_parameter / 8.0 * (1.0 + wire.overhead_bytes_share);
}

std::vector<std::vector<Piece>> exchange_pieces(const ChargedModel& model, const Protocol& row) {
  std::vector<std::vector<Piece>> all;
  const bool diloco = row.family == Family::kDiloco;
  if (row.anatomy != Anatomy::kLayers) {
    const std::vector<double> parameters =
        diloco ? fragment_parameters(model, row) : std::vector<double>{model.parameters};
    for (const double count : parameters) all.push_back(equal_pieces(count, row));
  } else {
    const auto fragments = static_cast<std::size_t>(diloco ? row.fragments : 1);
    const std::vector<int> fragment_of =
        diloco ? fragment_of_tensors(model, row) : std::vector<int>(model.tensors.size(), 0);
    std::vector<std::vector<double>> by_layer(
        fragments, std::vector<double>(static_cast<std::size_t>(model.layers), 0.0));
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
      const auto layer = static_cast<std::size_t>(layer_of(model, model.tensors[i]));
      by_layer[static_cast<std::size_t>(fragment_of[i])][layer] += model.tensors[i].parameters;
    }
    for (const auto& fragment : by_layer) all.push_back(layer_pieces(fragment, row));
  }
  for (auto& pieces : all) finish(row, pieces);
  return all;
}

double before_wire_s(const WireFormat& wire, double parameters) {
  return parameters / wire.host_copy_per_s + parameters / wire.quantise_per_s;
}

double behind_wire_s(const WireFormat& wire, double parameters) {
  return parameters / wire.quantise_per_s + parameters / wire.merge_per_s;
}

double late_s(const std::vector<Piece>& pieces, const WireFormat& wire, double step_s, int overlap_steps,
              const IdleWire& idle) {
  double prepared = 0.0, sent = 0.0, merged = 0.0, late = 0.0, fixed = wire.sync_fixed_s;
  for (const Piece& piece : pieces) {
    prepared = std::max(piece.ready * step_s, prepared) + std::exchange(fixed, 0.0) +
               before_wire_s(wire, piece.parameters);
    sent = std::max(prepared + idle.lead_s, sent) + idle.setup_s + piece.bytes * idle.s_per_byte;
    merged = std::max(sent, merged) + behind_wire_s(wire, piece.parameters);
    late = std::max(late, merged - (1.0 + overlap_steps + piece.needed) * step_s);
  }
  return late;
}

}  // namespace skerry
