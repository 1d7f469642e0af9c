// Keys of places: regions, links, transport, islands, the charged model.
#include "sim/scenario/load.hpp"
#include "sim/scenario/spec_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

bool is_pair(const std::string& text) {
  RegionPair pair;
  return parse_pair(text, pair);
}

bool is_region_name(const std::string& text) {
  return is_name(text) && !text.ends_with(".up") && !text.ends_with(".down");
}

}  // namespace

NodePtr regions_spec() {
  const char* both = "Rate of the region's port to the wide area, each direction by itself.";
  NodePtr region = object(
      {
          key("port_gbps", positive(1e6, "Gbit/s"), both).note("no limit (ideal port)"),
          key("up_gbps", positive(1e6, "Gbit/s"), "Rate of the port towards the wide area.")
              .note("no limit"),
          key("down_gbps", positive(1e6, "Gbit/s"), "Rate of the port from the wide area.")
              .note("no limit"),
      },
      {{"port_gbps", "up_gbps"}, {"port_gbps", "down_gbps"}});
  auto node = std::make_shared<Node>(*map_of(region, "REGION", 256));
  node->key_pattern = "^(?!.*\\.(up|down)$)[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$";
  node->key_allowed += ", not ending in .up or .down (these name its ports)";
  node->key_ok = is_region_name;
  return node;
}

NodePtr links_spec() {
  NodePtr link = object({
      duration("latency_one_way", 0.0, false, "Delay of the first byte.")
          .note("half of the round trip in the catalog, when both regions are in it"),
      key("gbps", positive(1e6, "Gbit/s"),
          "Own limit of the pair, each direction, beside the ports.")
          .note("no limit"),
  });
  auto node = std::make_shared<Node>(*map_of(link, "PAIR", 65536));
  const std::string name = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}";
  node->key_pattern = "^" + name + "<?>" + name + "$";
  node->key_allowed = "two different regions as 'A<>B' (both directions) or 'A>B' (one)";
  node->key_ok = is_pair;
  return node;
}

NodePtr transport_spec() {
  return either(
      {word({"fluid", "tcp"}),
       object({
           key("kind", word({"fluid", "tcp"}),
               "fluid: flows get the max-min share of ports and links at once. tcp: besides, a "
               "flow "
               "never exceeds streams x window_bytes / round trip, and each transfer pays setup "
               "first.")
               .required(),
           key("window_bytes", positive(1e15, "bytes"),
               "Window of one stream. An untuned pair behaves like 3e6 to 4194304. tcp needs it.")
               .note("none; required with tcp"),
           key("streams", integer(1, 1e6),
               "Parallel streams of one flow: multiplies its cap, not its share.")
               .defaults(1),
           duration("setup", 0.0, false, "Time before the first byte of every transfer.")
               .defaults(0.0),
       })},
      {"kind"});
}

NodePtr islands_spec() {
  const double most = kMaxLearners;
  NodePtr island = object(
      {
          key("region", name_text(),
              "The region it stands in. Required as soon as there are regions."),
          key("device", name_text(), "Accelerator of the catalog (scenarios/catalog/devices.json).")
              .note("none; required unless step_<unit> is given"),
          key("count", integer(1, most),
              "Learners of this kind, each on its own island: GROUP.1, GROUP.2, …")
              .defaults(1),
          key("chips", integer(1, 1e9), "Chips of one learner.")
              .note("one a slice when step_<unit> is given, else required"),
          key("chips_total", integer(1, 1e12),
              "Chips of all `count` learners together; must divide."),
          key("slices", integer(1, 1e6),
              "Slices of one learner: what fails together. Must divide the chips.")
              .note("1"),
          key("slices_total", integer(1, 1e6),
              "Slices of all `count` learners together; must divide."),
          key("spares", integer(0, 1e6),
              "Idle slices of each learner that stand in for broken ones; not counted in chips. "
              "recovery.spare_swap says how long the swap takes.")
              .defaults(0),
          key("chips_per_host", integer(1, 1e6),
              "Chips that share a host, for faults of each host; must divide those of a slice.")
              .note("that of the device's catalog entry"),
          duration("step", 0.0, true, "Time of one inner step at full strength.")
              .note("6 x parameters x tokens_per_learner_step / (chips x peak x mfu)"),
          key("step_time_factor",
              either({positive(1e6), array_of(positive(1e6), 1, static_cast<std::size_t>(most))}),
              "Multiplies the step time; one number, or one for each of the `count` learners.")
              .defaults(1.0),
          key("mfu", share(false, true),
              "Model FLOP utilization that the step time is worked out with.")
              .note("mfu_typical of the device's catalog entry"),
          duration("start", 0.0, false,
                   "When the learners join; their chips are allocated from then on.")
              .defaults(0.0),
      },
      {{"chips", "chips_total"}, {"slices", "slices_total"}});
  return map_of(island, "GROUP", static_cast<std::size_t>(most));
}

NodePtr speed_spread_spec() {
  return object({
      key("law", word({"uniform"}),
          "Each island's step time is multiplied by a draw in [1, 1 + relative].")
          .defaults("uniform"),
      key("relative", number(0.0, 100.0), "Width of the draw.").required(),
      key("drawn", word({"once_per_island"}),
          "One draw per island and seed, kept for the whole run.")
          .defaults("once_per_island"),
  });
}

NodePtr charged_model_spec() {
  std::vector<std::vector<std::string>> groups;
  for (const char* shape : {"layers", "width", "ffn", "vocabulary", "tied"}) {
    groups.push_back({"parameters", shape});
  }
  return object(
      {
          key("layers", integer(1, 10000),
              "Transformer layers: q, k, v, o, two feed-forward matrices, two norms.")
              .note("give the shape (layers, width, vocabulary) or `parameters` alone"),
          key("width", integer(1, 1e6), "Model width.").note("required with layers"),
          key("ffn", integer(1, 1e7), "Width of the feed-forward part.").note("4 x width"),
          key("vocabulary", integer(1, 1e8), "Words of the embedding.")
              .note("required with layers"),
          key("tied", flag(), "Whether the output head is the embedding.").defaults(true),
          key("parameters", positive(1e15),
              "Parameters when the shape does not matter; fragments are then equal."),
          key("tokens_per_learner_step", positive(1e12, "tokens"),
              "Tokens of one inner step of one learner.")
              .required(),
          key("wire_bits_per_parameter", positive(1024, "bits"),
              "Bits that a parameter takes on the wire.")
              .defaults(16.0),
          key("state_bytes_per_parameter", number(0.0, 1024, "bytes"),
              "Bytes on the chips: weights, gradient, optimizer state. A slice must hold the whole "
              "state.")
              .defaults(16.0),
      },
      groups);
}

}  // namespace skerry::reader
