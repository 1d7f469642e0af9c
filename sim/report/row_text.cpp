#include "sim/report/row_text.hpp"

#include <fmt/format.h>

namespace skerry {

namespace {

std::string anatomy_text(const Protocol& row, const ChargedModel& model) {
  switch (row.anatomy) {
    case Anatomy::kWholeStep:
      return row.family == Family::kDataParallel ? ", whole steps" : "";
    case Anatomy::kBuckets:
      return fmt::format(", {} buckets", row.buckets);
    case Anatomy::kLayers:
      return fmt::format(", {} layers", model.layers);
  }
  return "";
}

}  // namespace

std::string wire_text(const Protocol& row, const ChargedModel& model) {
  std::string text = anatomy_text(row, model);
  if (row.accumulate_steps > 1) text += fmt::format(", {} passes a step", row.accumulate_steps);
  if (row.fragmentation == Fragmentation::kStridedLayers) text += ", strided layers";
  if (row.fragmentation == Fragmentation::kConsecutiveLayers) text += ", consecutive layers";
  const WireFormat& wire = row.wire;
  if (wire.bits_per_parameter != model.wire_bits_per_parameter) {
    text += fmt::format(", {:g}-bit wire", wire.bits_per_parameter);
  }
  if (wire.overhead_bytes_share > 0) {
    text += fmt::format(", {:g} % overhead", 100 * wire.overhead_bytes_share);
  }
  if (row.channel_shared) text += ", shared channel";
  if (!row.ring_order.empty()) text += ", ring in given order";
  return text;
}

}  // namespace skerry
