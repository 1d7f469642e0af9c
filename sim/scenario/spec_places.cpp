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

namespace {

NodePtr caps_spec() {
  return object({
      key("exchange_gbps", positive(1e6, "Gbit/s"),
          "Most that one flow of an exchange or reduction gets.")
          .note("no cap"),
      key("recovery_gbps", positive(1e6, "Gbit/s"),
          "Most that one flow of a state copy, or of fragments that were missed, gets.")
          .note("no cap"),
      key("control_gbps", positive(1e6, "Gbit/s"),
          "Most that one control message gets; needs control with rate shared.")
          .note("no cap"),
  });
}

NodePtr control_spec() {
  return object({
      key("rate", word({"reserved", "shared"}),
          "reserved: a message takes latency + bytes / reserved_gbps, beside the ports and without "
          "contention. shared: it is a flow among the others, given up after timeout; the result "
          "counts those, and the table names the pairs.")
          .required(),
      key("bytes", positive(1e12, "bytes"), "Size of one message.").defaults(1024.0).assumed(),
      key("reserved_gbps", positive(1e6, "Gbit/s"), "Rate of each message, reserved only.")
          .note("none; required with reserved"),
      duration("timeout", 0.0, true,
               "From the sending of a message to its being given up, shared only; above every "
               "latency.")
          .note("none; required with shared"),
  });
}

}  // namespace

NodePtr transport_spec() {
  return either(
      {word({"fluid", "tcp"}),
       object({
           key("kind", word({"fluid", "tcp"}),
               "fluid: flows get the max-min share of ports and links at once. tcp: besides, a "
               "flow never exceeds streams x window_bytes / round trip nor, with loss, streams x "
               "mss_bytes / round trip x sqrt(3/2) / sqrt(loss_rate), and each transfer pays setup "
               "first.")
               .required(),
           key("window_bytes", positive(1e15, "bytes"),
               "Window of one stream. An untuned pair behaves like 3e6 to 4194304. tcp needs it, or "
               "loss_rate.")
               .note("no window"),
           key("loss_rate", share(false, false),
               "Probability that a packet is lost, tcp only (Mathis, Semke, Mahdavi, Ott 1997: "
               "steady loss, every packet acknowledged).")
               .note("no cap by loss"),
           key("mss_bytes", positive(1e6, "bytes"), "Payload of a packet, beside loss_rate.")
               .note("1460"),
           key("streams", integer(1, 1e6),
               "Parallel streams of one flow: multiplies its cap, not its share.")
               .defaults(1),
           duration("setup", 0.0, false, "Time before the first byte of every transfer.")
               .defaults(0.0),
           key("rtt_bias", flag(),
               "Flows that meet in a bottleneck get shares in proportion to 1 / round trip, as TCP "
               "does, instead of equal ones; with either kind. Needs round trips above 0, the "
               "longest at most 1,000 times the shortest.")
               .note("false"),
           key("caps", caps_spec(), "A cap on each single flow of a class, with either kind.")
               .note("none"),
           key("control", control_spec(),
               "How reports and decisions travel, with either kind.")
               .note("latency only: infinitely thin"),
       })},
      {"kind"});
}

NodePtr islands_spec() {
  const double most = kMaxLearners;
  std::vector<Field> fields =
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
      };
  for (Field& field : money_fields())
    fields.push_back(std::move(field));
  NodePtr island =
      object(std::move(fields), {{"chips", "chips_total"}, {"slices", "slices_total"}});
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
  for (const char* shape : {"width", "ffn", "vocabulary", "tied"}) {
    groups.push_back({"parameters", shape});
  }
  return object(
      {
          key("layers", integer(1, 10000),
              "Transformer layers: q, k, v, o, two feed-forward matrices, two norms.")
              .note("give the shape (layers, width, vocabulary) or `parameters`, then with layers: equal "
                    "ones"),
          key("width", integer(1, 1e6), "Model width.").note("required unless `parameters` is given"),
          key("ffn", integer(1, 1e7), "Width of the feed-forward part.").note("4 x width"),
          key("vocabulary", integer(1, 1e8), "Words of the embedding.")
              .note("required unless `parameters` is given"),
          key("tied", flag(), "Whether the output head is the embedding.").defaults(true),
          key("parameters", positive(1e15),
              "Parameters when the shape does not matter: fragments are equal parts, or with layers sets "
              "of equal layers."),
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
