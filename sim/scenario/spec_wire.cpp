// Keys of what a row's steps put on the wire: anatomy of a step, fragments, wire format, order of rings.
#include "sim/scenario/spec_parts.hpp"
#include "sim/scenario/wire_formats.hpp"

namespace skerry::reader {

namespace {

NodePtr bits_spec() { return either({positive(64, "bits"), word(wire_format_names())}); }

NodePtr wire_spec() {
  const auto rate = [](const char* name, const char* doc) {
    return key(name, positive(1e18, "parameters/s"), doc).note("takes no time");
  };
  return either(
      {positive(64, "bits"), word(wire_format_names()),
       object({
           key("format", bits_spec(),
               "Bits of a parameter: fp32 32, bf16 16, int8 8, fp4 and int4 4, int2 2, int1 1, or any "
               "number. fp4 is E3M0.")
               .note("wire_bits_per_parameter of /charged_model"),
           key("overhead_bytes_share", number(0.0, 100.0),
               "Bytes beside the payload (scales, headers, checksums), as a share of it.")
               .defaults(0.0),
           duration("sync_fixed", 0.0, false,
                    "Fixed cost of one exchange: of a fragment, or of the gradient of a step.")
               .defaults(0.0),
           duration("setup", 0.0, false,
                    "One-off set-up of a collective: before the first exchange over a set of regions, and "
                    "again whenever the set has changed.")
               .defaults(0.0),
           rate("quantise_parameters_per_s",
                "Parameters a second quantised before the wire; the same again behind it."),
           rate("host_copy_parameters_per_s",
                "Parameters a second copied from the chips to their hosts, before the wire."),
           rate("merge_parameters_per_s", "Parameters a second merged and stepped behind the wire."),
       })},
      {"format"});
}

}  // namespace

NodePtr all_reduce_spec() {
  const NodePtr order = either({word({"widest"}), array_of(name_text(), 2, 4096, true)});
  return either(
      {word({"ring", "hierarchical_ring", "star"}),
       object({key("kind", word({"ring", "hierarchical_ring", "star"}), "As the bare word.")
                   .note("star with star_at, else hierarchical_ring"),
               key("star_at", name_text(), "star: region of the hub.")
                   .note("the region of the first learner"),
               key("order", order,
                   "Rings: the regions in ring order, each learner beside those of its region; or "
                   "\"widest\": the order whose narrowest hop (ports and own capacity of the pair) is as "
                   "wide as can be, of those the one with the shortest longest latency; for up to 12 "
                   "regions.")
                   .note("as the learners come")},
              {{"star_at", "order"}})});
}

std::vector<Field> step_fields() {
  return {
      key("anatomy", word({"whole_step", "buckets", "layers"}),
          "Where in a step the network finds something to send. whole_step: all of it at the end. "
          "buckets: equal parts during the backward pass. layers: each layer when its part of the "
          "backward pass (for its activations, then for its weights; the first layer has no "
          "former) is "
          "over; its result is needed by the next forward pass of the layer, tau steps later. "
          "Results "
          "of the first two are needed before a step begins. The embedding counts to the first "
          "layer, "
          "the head to the last.")
          .note("buckets for data-parallel, whole_step for the DiLoCo family"),
      key("buckets", integer(1, 1e5), "With anatomy buckets: how many.").note("64"),
      key("backward_share", share(true, true),
          "With anatomy buckets or layers: share of a step that is backward pass.")
          .note("2/3; layers: (2L - 1)/(3L - 1), L layers, all passes of a layer being as long"),
      key("channel", word({"fifo", "shared"}),
          "fifo: buckets, layers or fragments leave one after the other. shared: each flows as "
          "soon as "
          "it is ready, and they share the links.")
          .note("fifo"),
      key("wire", wire_spec(),
          "What an exchange puts on the wire: a number of bits, a format, or an object. State "
          "copies "
          "of recoveries keep wire_bits_per_parameter of /charged_model.")
          .note("wire_bits_per_parameter of /charged_model"),
      key("accumulate_steps", integer(1, 1e6),
          "Data-parallel: forward and backward passes, of tokens_per_learner_step each, before one "
          "gradient reduction. They count as one step.")
          .note("1"),
      key("fragmentation", word({"balanced", "strided_layers", "consecutive_layers"}),
          "How tensors become fragments. balanced: whole tensors, largest first into the smallest "
          "fragment. strided_layers: layer l into fragment l mod P; consecutive_layers: neighbours "
          "together; what stands outside the layers is fragment 0, the layers share the others. Of "
          "what is charged: a trained model's tensors are balanced always.")
          .note("balanced"),
      key("offsets", array_of(integer(0, 1e9), 1, 100000),
          "Of each fragment, the step of the period at which it is due: t mod H. Fragments with "
          "one "
          "offset travel together.")
          .note("evenly spaced: fragment p at floor(p H / P)"),
  };
}

}  // namespace skerry::reader
