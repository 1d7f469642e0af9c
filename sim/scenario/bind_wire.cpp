// Rows: anatomy of a step, schedule of fragments, wire format, order of rings.
#include "sim/scenario/bind_wire.hpp"

#include <algorithm>
#include <map>

#include "sim/scenario/ring_order.hpp"
#include "sim/scenario/text.hpp"
#include "sim/scenario/wire_formats.hpp"

namespace skerry::reader {

namespace {

// Regions of the row's learners in the order in which they are first seen.
std::vector<int> regions_of(const Scenario& scenario, const Protocol& protocol) {
  std::vector<int> regions;
  for (const int m : protocol.learners) {
    const int region = scenario.learners[static_cast<std::size_t>(m)].region;
    if (region >= 0 && std::find(regions.begin(), regions.end(), region) == regions.end()) {
      regions.push_back(region);
    }
  }
  return regions;
}

std::vector<int> widest_order(const Binder& binder, const std::string& pointer,
                              const std::vector<int>& regions) {
  const Scenario& scenario = binder.scenario;
  if (regions.size() < 2) return regions;
  if (regions.size() > kMostInWidestRing) {
    binder.refuse(pointer, "\"widest\" for " + std::to_string(regions.size()) +
                               " regions, allowed at most " + std::to_string(kMostInWidestRing));
  }
  std::vector<std::vector<RingEdge>> edges(regions.size(), std::vector<RingEdge>(regions.size()));
  for (std::size_t i = 0; i < regions.size(); ++i) {
    for (std::size_t j = 0; j < regions.size(); ++j) {
      const int link = i == j ? -1 : scenario.link_between(regions[i], regions[j]);
      if (link < 0) continue;
      const Link& pair = scenario.links[static_cast<std::size_t>(link)];
      edges[i][j] = {std::min({pair.capacity_Bps,
                               scenario.regions[static_cast<std::size_t>(regions[i])].up_Bps,
                               scenario.regions[static_cast<std::size_t>(regions[j])].down_Bps}),
                     pair.latency_one_way_s};
    }
  }
  std::vector<int> order;
  for (const int stop : widest_ring(edges)) order.push_back(regions[static_cast<std::size_t>(stop)]);
  if (order.empty()) binder.refuse(pointer, "found no ring over the row's regions: routes are missing");
  return order;
}

std::vector<int> ring_order(const Binder& binder, const std::string& pointer, Json& given,
                            const Protocol& protocol) {
  const std::vector<int> regions = regions_of(binder.scenario, protocol);
  std::vector<int> order;
  if (given.is_string()) {
    order = widest_order(binder, pointer, regions);
  } else {
    for (std::size_t i = 0; i < given.size(); ++i) {
      order.push_back(region_index(binder, given[i].get<std::string>(),
                                   pointer + "/" + std::to_string(i)));
    }
    std::vector<int> a = order, b = regions;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (a != b) {
      std::vector<std::string> names;
      for (const int region : regions) {
        names.push_back(binder.scenario.regions[static_cast<std::size_t>(region)].name);
      }
      binder.refuse(pointer, "found " + std::to_string(order.size()) +
                                 " regions, allowed each of the row's once: " + join(names));
    }
  }
  given = Json::array();
  for (const int region : order) {
    given.push_back(binder.scenario.regions[static_cast<std::size_t>(region)].name);
  }
  return order;
}

void check_layers(const Binder& binder, const std::string& pointer, const std::string& what) {
  if (binder.scenario.charged.layers > 0) return;
  binder.refuse(pointer, "found \"" + what + "\", which needs /charged_model/layers");
}

// Fragments of whole layers: what stands outside the layers is one more.
std::int64_t most_fragments(const ChargedModel& model, const std::string& fragmentation) {
  if (fragmentation == "balanced") return static_cast<std::int64_t>(model.tensors.size());
  const bool outside = std::any_of(model.tensors.begin(), model.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.layer < 0; });
  return model.layers + (outside ? 1 : 0);
}

void check_fragments(const Binder& binder, const std::string& pointer, std::int64_t fragments,
                     const std::string& fragmentation) {
  const ChargedModel& model = binder.scenario.charged;
  const std::int64_t most = most_fragments(model, fragmentation);
  if (most > 0 && fragments > most) {
    binder.refuse(pointer + "/fragments",
                  "found " + std::to_string(fragments) + ", allowed at most " + std::to_string(most) +
                      (fragmentation == "balanced"
                           ? ", the tensors of /charged_model"
                           : ", the layers of /charged_model and what stands outside them"));
  }
  const bool outside = fragmentation != "balanced" && most > model.layers;
  if (outside && fragments < 2) {
    binder.refuse(pointer + "/fragments",
                  "found 1, allowed from 2 with whole layers and an embedding outside them");
  }
}

std::vector<std::int64_t> offsets_of(const Binder& binder, const std::string& pointer,
                                     const Json& entry, std::int64_t period, std::int64_t fragments) {
  std::vector<std::int64_t> offsets;
  if (!entry.contains("offsets")) {
    for (std::int64_t p = 0; p < fragments; ++p) offsets.push_back(p * period / fragments);
    return offsets;
  }
  const std::string place = pointer + "/offsets";
  const Json& given = entry["offsets"];
  if (static_cast<std::int64_t>(given.size()) != fragments) {
    binder.refuse(place, "found " + std::to_string(given.size()) + " offsets for " +
                             std::to_string(fragments) + " fragments");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    offsets.push_back(given[i].get<std::int64_t>());
    if (offsets.back() < period) continue;
    binder.refuse(place + "/" + std::to_string(i),
                  "found " + std::to_string(offsets.back()) +
                      ", allowed less than sync_period_steps = " + std::to_string(period));
  }
  return offsets;
}

}  // namespace

void bind_all_reduce(const Binder& binder, const std::string& pointer, Json& entry,
                     Protocol& protocol) {
  if (!entry.contains("all_reduce")) return;
  Json& reduce = entry["all_reduce"];
  const std::string place = pointer + "/all_reduce";
  std::string kind = reduce.is_string() ? reduce.get<std::string>() : text_at(reduce, "kind");
  if (kind.empty()) kind = reduce.contains("star_at") ? "star" : "hierarchical_ring";
  protocol.all_reduce = kind == "ring"   ? AllReduce::kRing
                        : kind == "star" ? AllReduce::kStar
                                         : AllReduce::kHierarchicalRing;
  if (!reduce.is_object()) return;
  reduce["kind"] = kind;
  if (reduce.contains("star_at")) {
    if (kind != "star") binder.refuse(place + "/star_at", "has no meaning for a " + kind);
    protocol.star_region = region_index(binder, text_at(reduce, "star_at"), place + "/star_at");
  }
  if (!reduce.contains("order")) return;
  if (kind == "star") binder.refuse(place + "/order", "has no meaning for a star");
  if (binder.scenario.regions.empty()) binder.refuse(place + "/order", "needs /regions");
  protocol.ring_order = ring_order(binder, place + "/order", reduce["order"], protocol);
}

void bind_anatomy(const Binder& binder, const std::string& pointer, Json& entry, Protocol& protocol) {
  const std::string anatomy = text_at(entry, "anatomy");
  if (anatomy == "layers") check_layers(binder, pointer + "/anatomy", anatomy);
  if (anatomy != "buckets" && entry.contains("buckets")) {
    binder.refuse(pointer + "/buckets", "has no meaning with anatomy " + anatomy);
  }
  if (anatomy == "whole_step" && entry.contains("backward_share")) {
    binder.refuse(pointer + "/backward_share", "has no meaning with anatomy whole_step");
  }
  protocol.anatomy = anatomy == "layers"    ? Anatomy::kLayers
                     : anatomy == "buckets" ? Anatomy::kBuckets
                                            : Anatomy::kWholeStep;
  if (anatomy == "buckets" && !entry.contains("buckets")) entry["buckets"] = 64;
  if (anatomy != "whole_step" && !entry.contains("backward_share")) {
    const double layers = binder.scenario.charged.layers;
    entry["backward_share"] =
        anatomy == "layers" ? (2.0 * layers - 1.0) / (3.0 * layers - 1.0) : 2.0 / 3.0;
  }
  protocol.buckets = static_cast<int>(integer_at(entry, "buckets", 1));
  protocol.backward_share = number_at(entry, "backward_share", 0.0);
  protocol.channel_shared = text_at(entry, "channel") == "shared";
  protocol.accumulate_steps = static_cast<int>(integer_at(entry, "accumulate_steps", 1));
}

void bind_wire(const Binder& binder, const std::string&, Json& entry, Protocol& protocol) {
  const ChargedModel& model = binder.scenario.charged;
  Json wire = entry.contains("wire") ? entry["wire"] : Json::object();
  if (!wire.contains("format")) wire["format"] = model.wire_bits_per_parameter;
  WireFormat& format = protocol.wire;
  const Json& given = wire["format"];
  const auto known = given.is_number() ? wire_format(given.get<double>())
                                       : wire_format(given.get<std::string>());
  format.bits_per_parameter = given.is_number() ? given.get<double>() : known.value().bits;
  if (known) format.precision = known->precision;
  format.overhead_bytes_share = number_at(wire, "overhead_bytes_share");
  format.sync_fixed_s = number_at(wire, "sync_fixed_s");
  format.setup_s = number_at(wire, "setup_s");
  format.quantise_per_s = number_at(wire, "quantise_parameters_per_s", kUnlimited);
  format.host_copy_per_s = number_at(wire, "host_copy_parameters_per_s", kUnlimited);
  format.merge_per_s = number_at(wire, "merge_parameters_per_s", kUnlimited);
  if (entry.contains("wire")) entry["wire"] = wire;
}

void bind_schedule(const Binder& binder, const std::string& pointer, Json& entry, Protocol& protocol) {
  const std::int64_t period = integer_at(entry, "sync_period_steps");
  const std::int64_t fragments = integer_at(entry, "fragments");
  const std::int64_t overlap = integer_at(entry, "overlap_steps");
  const std::string fragmentation = text_at(entry, "fragmentation");
  if (fragmentation != "balanced") check_layers(binder, pointer + "/fragmentation", fragmentation);
  check_fragments(binder, pointer, fragments, fragmentation);
  if (overlap >= period && overlap != 0) {
    binder.refuse(pointer + "/overlap_steps",
                  "found " + std::to_string(overlap) + ", allowed less than sync_period_steps = " +
                      std::to_string(period) + " (0 with a period of 1)");
  }
  std::map<std::int64_t, std::vector<int>> due;
  int fragment = 0;
  for (const std::int64_t offset : offsets_of(binder, pointer, entry, period, fragments)) {
    due[offset].push_back(fragment++);
  }
  for (const auto& [offset, together] : due) {
    protocol.due_slots.push_back(static_cast<int>(offset));
    protocol.due_together.push_back(together);
  }
  protocol.sync_period_steps = static_cast<int>(period);
  protocol.fragments = static_cast<int>(due.size());
  protocol.overlap_steps = static_cast<int>(overlap);
  protocol.fragmentation = fragmentation == "balanced"         ? Fragmentation::kBalanced
                           : fragmentation == "strided_layers" ? Fragmentation::kStridedLayers
                                                               : Fragmentation::kConsecutiveLayers;
}

void warn_wire(Binder& binder, const Protocol& protocol) {
  if (protocol.ideal_network || !protocol.exchange) return;
  const std::string pointer = under("/protocols", protocol.name);
  std::size_t asked = 0;
  for (const auto& together : protocol.due_together) asked += together.size();
  const auto exchanged = static_cast<std::size_t>(protocol.fragments);
  if (protocol.family == Family::kDiloco && asked > exchanged) {
    binder.warn("W32", pointer + "/fragments: " + std::to_string(asked) + " fragments fall due at " +
                           std::to_string(exchanged) + " steps of the period: those of one step travel "
                                                       "together");
  }
  const bool one_piece =
      protocol.anatomy == Anatomy::kWholeStep ||
      (protocol.anatomy == Anatomy::kBuckets && protocol.buckets == 1) ||
      (protocol.anatomy == Anatomy::kLayers && binder.scenario.charged.layers == 1);
  const bool one_exchange = protocol.family == Family::kDataParallel || protocol.in_flight == 1;
  if (protocol.channel_shared && one_piece && one_exchange) {
    binder.warn("W33", pointer + "/channel: shared cannot matter, one piece is on the wire at a time");
  }
}

}  // namespace skerry::reader
