// Keys of protocols and of what the system does about failures.
#include "sim/scenario/presets.hpp"
#include "sim/scenario/spec_parts.hpp"

namespace skerry::reader {

namespace {

NodePtr grace_spec() {
  return either(
      {word({"off", "slack"}),
       object({
           key("rule", word({"off", "slack"}),
               "slack: after the quorum wait on, up to margin x (overlap_steps x step - quorum - "
               "sync).")
               .defaults("slack"),
           key("margin", share(false, true),
               "Share of the slack that may be used (gamma of the paper, not given there).")
               .defaults(0.9)
               .assumed(),
           key("limit_steps", number(0.0, 1e6, "steps of the mean learner"),
               "Upper end of the window.")
               .defaults(1.0),
           key("moving_average_weight", share(false, true),
               "Weight of the newest sample in the averages of step, quorum and sync times (not "
               "given in the paper).")
               .defaults(0.1)
               .assumed(),
       })},
      {"rule"});
}

std::vector<Field> diloco_fields() {
  return {
      key("sync_period_steps", integer(1, 1e9, "steps of the syncer's clock"),
          "H: every fragment is exchanged once in so many steps."),
      key("fragments", integer(1, 1e5),
          "P: parts of the model, sets of whole tensors. At most the tensors; beyond H those that fall due "
          "together travel together.")
          .note("the preset's, or less when H or the tensors are fewer"),
      key("overlap_steps", integer(0, 1e9, "steps of the syncer's clock"),
          "tau: steps from sending a fragment to needing its result; rounds in flight. Below H; 0 "
          "with H = 1.")
          .note("the preset's, or H - 1 when that is less"),
      key("quorum", either({integer(1, 1e6), word({"all"})}),
          "K: reports that close a collection. From 1 to the protocol's learners, or \"all\"."),
      key("grace", grace_spec(), "Whether the syncer waits on after the quorum."),
      key("learner_waits", word({"never", "at_overlap"}),
          "at_overlap: a learner more than tau steps ahead of the newest clock it received waits. "
          "never: it steps on with what it has."),
      key("on_loss", word({"wait", "continue"}),
          "What the others do while a whole learner is away."),
      key("syncer",
          either({word({"sharded"}),
                  object({key("central", name_text(), "Region of the one syncer.").required()})}),
          "sharded: one shard beside each learner, all-reduce between them. central: one place, "
          "star."),
      key("in_flight", integer(1, 1e5),
          "Fragments on the wire at once; they leave in clock order.")
          .note("the preset's; all with channel shared"),
  };
}

}  // namespace

NodePtr recovery_spec(bool with_defaults) {
  const std::vector<Field> fields = {
      duration(
          "detection", 0.0, false,
          "Silence until a loss is acted upon. A lost slice is noticed within slice_down already.")
          .defaults(0.0),
      duration("hang_detection", 0.0, false,
               "The same for a hang, which gives no error: the watchdog's time-out.")
          .defaults(600.0)
          .assumed(),
      duration("spare_swap", 0.0, false,
               "Until a spare has taken the place of a broken slice (islands with spares).")
          .defaults(90.0)
          .assumed(),
      duration("slice_down", 0.0, false,
               "Pause of a learner (elastic data-parallel: of all) that goes on with fewer slices.")
          .defaults(13.0)
          .assumed(),
      duration("scale_up", 0.0, false, "Pause when slices come back.").defaults(13.0).assumed(),
      duration("restart", 0.0, false,
               "From all chips being there to the first restored byte, job restart.")
          .defaults(600.0)
          .assumed(),
      key("resume", word({"all_slices_back", "from_checkpoint"}),
          "Data-parallel without elasticity, a slice lost: wait for it with the state kept, or "
          "restart.")
          .defaults("from_checkpoint"),
      key("step_in_progress", word({"kept", "lost"}),
          "The step during which a learner loses a slice.")
          .defaults("lost"),
      key("cut_transfer", word({"resume", "restart"}),
          "A transfer whose link was cut: goes on with the bytes left, or begins again.")
          .defaults("resume"),
      key("checkpoint_every", word({"young", "daly", "auto", "never"}),
          "Rule for the checkpoint period of data-parallel rows (Young 1974, Daly 2006; auto is "
          "Young), over the rate of random or planned faults; an hour when faults are scripted only, "
          "never without faults. Elastic rows save only with a period, since they survive any loss but "
          "that of all islands, which takes them back to their last save or to the start.")
          .defaults("young"),
      duration("checkpoint_every", 0.0, true, "The period itself, instead of a rule."),
      duration("checkpoint_save", 0.0, false, "Blocking part of one save.")
          .defaults(30.0)
          .assumed(),
      duration("checkpoint_restore", 0.0, false, "Reading a checkpoint back.")
          .defaults(60.0)
          .assumed(),
      key("rejoin_from", word({"peer", "syncer"}),
          "DiLoCo rows: where a learner that lost its state gets one. peer: parameters and inner "
          "optimizer state of another learner, 3 x the model over the real links. syncer: the global "
          "parameters of its own shard, with fresh inner state.")
          .defaults("peer"),
      key("donors", integer(1, 64, "learners"),
          "DiLoCo rows: peers in different regions that send equal parts of the state at once; one "
          "lost, all begin again.")
          .defaults(1),
      key("limit_steps", integer(1, 1e9, "steps of the syncer's clock"),
          "DiLoCo rows: longest recovery from the first fragment to joining; the paper's rule is "
          "sync_period_steps. Beyond it when_late decides.")
          .note("no limit"),
      key("when_late", word({"admit", "fresh_inner_state", "refuse"}),
          "DiLoCo rows, with limit_steps. admit: join with the copied state, however old. "
          "fresh_inner_state: join with the global parameters instead. refuse: begin the recovery "
          "again.")
          .defaults("admit"),
      key("snapshot_every_steps", integer(1, 1e9, "steps of the syncer's clock"),
          "DiLoCo rows: T_c, clocks at which the syncer starts a snapshot (marker algorithm, costs no "
          "time). A lost shard is restored from the newest complete one and fetches what came after; "
          "without one it fetches the whole model.")
          .note("never"),
  };
  std::vector<Field> own = fields;
  if (!with_defaults) {
    for (Field& field : own) {
      field.default_value.reset();
      field.is_assumed = false;
      field.default_note = "the scenario's /recovery";
    }
  }
  return object(std::move(own), {{"checkpoint_every", "checkpoint_every_s"}});
}

NodePtr protocols_spec() {
  std::vector<Field> fields = {
      key("preset", word(preset_names()),
          "What the row is; a row named like a preset needs no more.")
          .note("the row's name when that is a preset, else required"),
      key("only_islands", array_of(free_text(200), 1, 4096, true),
          "Groups or learners that take part; '*' stands for any run of characters.")
          .note("all; best_region: the region with most tokens/s"),
      key("all_reduce", all_reduce_spec(),
          "Over the learners' regions. hierarchical_ring: first inside each region, free there. "
          "star: its hub is the region of the first learner unless star_at names one.")
          .note("hierarchical_ring"),
      key("exchange", word({"on", "off"}),
          "off, for fault studies: nothing is sent and nothing waits for the network; the exchange is "
          "taken as perfect, so a crash costs a learner of the DiLoCo family its step in progress "
          "only. Not with training.")
          .note("on"),
  };
  for (Field& field : step_fields()) fields.push_back(std::move(field));
  for (Field field : diloco_fields()) {
    if (field.default_note.empty()) field.default_note = "the preset's";
    fields.push_back(std::move(field));
  }
  fields.push_back(key("recovery", recovery_spec(false), "Overrides /recovery for this row.")
                       .note("the scenario's /recovery"));
  return map_of(object(std::move(fields)), "PROTOCOL", 64);
}

}  // namespace skerry::reader
