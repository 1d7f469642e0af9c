// Keys of training: all that learning needs, and nothing that moves a byte or a date.
#include "kernels/text.hpp"
#include "sim/scenario/spec_parts.hpp"
#include "sim/scenario/wire_formats.hpp"

namespace skerry::reader {

namespace {

std::vector<Field> with_or_without(std::vector<Field> fields, bool with_defaults) {
  if (with_defaults) return fields;
  for (Field& field : fields) {
    field.default_value.reset();
    field.is_assumed = false;
    field.default_note = "the shared value";
  }
  return fields;
}

NodePtr inner_spec(bool with_defaults) {
  return object(with_or_without(
      {
          key("rate", either({positive(100.0), word({"tuned"})}),
              "Peak learning rate of AdamW. tuned: the best of one grid, the same for all, for "
              "this "
              "trained model (batch and all), kind of protocol, number of learners, period and "
              "merge of all but the embedding, from "
              "catalog/rates.json; without an entry the default, and W40 says so.")
              .note("0.004; 0.002 with model large"),
          key("rate_rule", word({"constant", "linear", "square_root"}),
              "What a smaller batch makes of the rate, when slices or learners are away: nothing, "
              "or times its share of the full batch, or the root of that. DiLoCo family: the "
              "learner's own batch; data-parallel: that of all the row's learners.")
              .defaults("constant"),
          key("final_rate_share", share(true, true),
              "Cosine decay down to this share over the tokens of /stop, or those that a run of "
              "/stop/simulated_h made. Decay and warm-up follow the tokens behind a state: a step "
              "of half a batch is half a step here.")
              .defaults(0.1),
          key("warm_up_steps", integer(0, 1e9, "learner steps"), "Linear warm-up.").defaults(50),
          key("beta1", share(true, false), "AdamW.").defaults(0.9),
          key("beta2", share(true, false), "AdamW.").defaults(0.95),
          key("epsilon", positive(1.0), "AdamW.").defaults(1e-8),
          key("weight_decay", number(0.0, 100.0), "AdamW, decoupled.").defaults(0.1),
          key("clip_norm", positive(1e6), "Gradient norm is clipped to this.").defaults(1.0),
      },
      with_defaults));
}

NodePtr outer_spec(bool with_defaults) {
  return object(with_or_without(
      {
          key("rate", positive(100.0),
              "Nesterov outer step (DiLoCo: 0.7; not printed by Decoupled DiLoCo).")
              .defaults(0.7)
              .assumed(),
          key("momentum", share(true, false),
              "Its momentum (DiLoCo: 0.9; not printed by Decoupled DiLoCo).")
              .defaults(0.9)
              .assumed(),
      },
      with_defaults));
}

NodePtr merge_spec() {
  const std::vector<std::string> rules = {"mean", "radial_directional"};
  return either({word(rules),
                 object({
                     key("body", word(rules), "Rule for all tensors but the embedding.").required(),
                     key("embedding", word(rules), "Rule for the embedding.").required(),
                 })},
                {"body", "embedding"});
}

// Keys that stand for all rows, and again for one.
std::vector<Field> exchange_fields(bool shared) {
  std::vector<Field> fields = {
      key("wire", word(wire_format_names()),
          "DiLoCo family: what each learner's outer gradient (global version minus its copy) is "
          "rounded to before the merge, which adds in floating point. Nearest, ties to even. bf16 "
          "and fp16: each value. int8, int4, int2: within a tensor, blocks of 128 values share "
          "their largest magnitude s; a value becomes q s / L, q from -L to L, L 127, 7 or 1. fp4 "
          "(E3M0): sign and exponent, 0 or s / 2^k, k 0 to 6. int1: sign times the block's mean "
          "magnitude. Scales are not rounded, and not in the bytes charged unless the row's "
          "overhead_bytes_share says so.")
          .note("the row's wire; a number of bits stands for bf16 with 16, int4 with 4, and is "
                "not applied when no format has as many (W34)"),
      key("error_feedback", flag(),
          "What rounding took from a learner's outer gradient is added to its next one of that "
          "fragment, and goes when the learner's state does."),
      key("mixing_alpha", share(true, false),
          "DiLoCo family: an overwrite leaves this share of the learner's own parameters and takes "
          "the rest from the global ones."),
  };
  if (shared) {
    fields[1] = fields[1].defaults(false);
    fields[2] = fields[2].defaults(0.0);
  } else {
    for (Field& field : fields)
      field.default_note = "the shared one";
    fields[0].default_note = "the shared one, else the row's wire";
  }
  return fields;
}

NodePtr model_spec() {
  const std::vector<std::string> presets = {"quick", "default", "long", "large", "fragments24"};
  return either(
      {word(presets),
       object({
           key("preset", word(presets),
               "Layers, width, heads, context: quick 2, 32, 1, 32; default and long 2, 64, 2, 64; "
               "large 4, 128, 4, 64; "
               "fragments24 6, 48, 2, 64. All with batch 8.")
               .defaults("default"),
           key("layers", integer(1, 48), "Layers.").note("the preset's"),
           key("width", integer(1, 1024), "Width; a multiple of the heads.").note("the preset's"),
           key("heads", integer(1, 64), "Attention heads.").note("the preset's"),
           key("context", integer(1, 1024, "tokens"), "Window length.").note("the preset's"),
           key("vocabulary", integer(kernels::kByteTokens, kernels::kLargestVocabulary, "tokens"),
               "Tokens: 256 are the bytes; each one more is the pair of neighbouring tokens that "
               "stands most often in the part of the corpus to train on (ties: smallest ids), "
               "joined. No token crosses the end of a word, of a number or of a run of other "
               "signs; a word begins with the space before it. Losses stay in nats per byte.")
               .note("256"),
           key("batch", integer(1, 1024, "windows"), "Windows of one step of one learner.")
               .note("the preset's"),
       })},
      {"preset"});
}

}  // namespace

NodePtr training_spec() {
  std::vector<Field> row = {
      key("inner", inner_spec(false), "Inner optimizer of this row.").note("the shared one"),
      key("outer", outer_spec(false), "Outer optimizer of this row.").note("the shared one"),
      key("merge", merge_spec(), "Merge rule of this row.")
          .note("the shared one, else the preset's"),
  };
  for (Field& field : exchange_fields(false))
    row.push_back(std::move(field));
  NodePtr of_protocol = object(std::move(row));
  std::vector<Field> fields = {
      key("model", model_spec(), "The small model that is really trained.").defaults("default"),
      key("corpus", path_text(),
          "\"kjv\" (built in: the first MiB of the King James Bible), \"jargon\" (the Jargon "
          "File, "
          "1.7 MB, from Debian's package jargon-text, which must be installed) or a file of "
          "any "
          "bytes, relative to the scenario's folder (one called jargon: ./jargon).")
          .defaults("kjv"),
      key("held_out_share", share(false, false), "End of the text that is kept for evaluation.")
          .defaults(0.05),
      key("evaluation_windows", integer(1, 65536, "windows"),
          "Windows of one evaluation, at fixed tokens of the held-out text. The loss is the "
          "sum "
          "over their tokens divided by the bytes that these stand for: nats per byte, "
          "whatever the vocabulary.")
          .defaults(128),
      key("evaluations", integer(1, 10000),
          "Points on the loss curve, evenly spaced in charged tokens.")
          .defaults(40),
      key("warm_start_steps", integer(0, 1e6, "learner steps"),
          "Synchronous steps before t = 0, off the clock, on batches of all the scenario's "
          "learners: all rows start from one state, AdamW's moments with it. The rate warms up and "
          "stays; it and the rest are the shared /training/inner, whatever rows have of their own "
          "(the default rate where that is \"tuned\").")
          .defaults(100),
      key("inner", inner_spec(true), "AdamW on every learner.").defaults(Json::object()),
      key("outer", outer_spec(true), "Outer step of the DiLoCo family.").defaults(Json::object()),
      key("merge", merge_spec(),
          "How outer gradients of learners become one: weighted mean, or mean of directions "
          "with mean length.")
          .note("mean; decoupled_diloco: radial_directional with mean for the embedding"),
      key("shards", word({"iid", "contiguous"}),
          "What a learner reads. iid: windows from the whole part to train on. contiguous: that "
          "part is cut into as many equal consecutive parts as the scenario has learners, and "
          "each draws from its own, in learner order. Either way the windows follow from the "
          "seed, the learner and the number of its step alone.")
          .defaults("iid"),
      key("steps_at_most", integer(1, 1e7, "learner steps"),
          "A tape with more steps of one learner (data-parallel: times accumulate_steps) is "
          "refused: every one is really trained. Shorten the run, or allow more.")
          .defaults(20000),
      key("stop_at_loss", either({never_true(), positive(100.0, "nats per byte")}),
          "Training ends at the first evaluation at or below this and leaves snapshot.bin, "
          "from which `skerry train RUN --resume` goes on. The final loss is then that one, "
          "and a warning says so. false: to the end of the tape.")
          .defaults(false),
      key("seeds", integer(1, 10000), "How many of the scenario's seeds are trained.").defaults(1),
      key("gradient_shards", integer(1, 1024),
          "Parts of one batch whose gradients are summed in fixed order.")
          .defaults(1),
      key("target_loss", positive(100.0, "nats per byte"), "Loss whose date is reported."),
      key("target_loss_over_baseline", number(0.0, 100.0),
          "The same, as (1 + this) x the final loss of the baseline row.")
          .defaults(0.05),
      key("protocols", map_of(of_protocol, "PROTOCOL", 64), "Overrides per row."),
  };
  for (Field& field : exchange_fields(true))
    fields.push_back(std::move(field));
  return either(
      {never_true(), object(std::move(fields), {{"target_loss", "target_loss_over_baseline"}})});
}

}  // namespace skerry::reader
