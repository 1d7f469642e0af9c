// Keys of what breaks, and of what is expected.
#include "sim/scenario/spec_parts.hpp"

namespace skerry::reader {

NodePtr faults_spec() {
  const std::vector<std::string> laws = {"exponential", "constant"};
  NodePtr away = object({
      key("law", word(laws), "How the time until repaired is drawn.").defaults("exponential"),
      duration("mean", 0.0, true, "Its mean.").required(),
  });
  NodePtr target = free_text(200);
  NodePtr fault = object(
      {
          key("kind",
              word({"slice_down", "island_down", "region_dark", "link_cut", "link_slow",
                    "straggler"}),
              "slice_down: the chips of a slice are away. island_down: a whole learner is away and "
              "loses its state. "
              "region_dark: chips, syncer shards and ports of a region are off; what the syncer holds "
              "survives on stable storage. link_cut: no byte of a transfer passes (a cut port takes its "
              "shards out of the ring, a cut pair makes transfers wait). "
              "link_slow: only `factor` of the capacity is left, which port or pair must have. "
              "straggler: step time x `factor`, for steps that begin while it lasts.")
              .note("none; required unless a plan is given"),
          key("target", either({target, array_of(target, 1, 256, true)}),
              "What it hits. Slices 'west.1/slice.3', learners 'west.1', groups 'west' (all its "
              "learners), regions "
              "'us-east5', ports 'us-east5.up', 'us-east5.down' or 'us-east5' (both), pairs 'A>B' "
              "or 'A<>B'; "
              "'*' stands for any run of characters.")
              .note("everything, with `each`"),
          key("each", word({"chip", "slice", "island", "region", "link"}),
              "Every one of these (that matches `target`, if given) can break. chip: a slice of n "
              "chips breaks n times "
              "as often as mean_between says."),
          duration("at", 0.0, false, "Scripted: the date."),
          duration("for", 0.0, true, "Scripted: how long.").note("never repaired"),
          key("law", word(laws),
              "Random: how the time to the next one is drawn; constant: always the mean.")
              .note("exponential with mean_between_<unit>"),
          duration("mean_between", 0.0, true,
                   "Random: mean time between two of them, of each target."),
          key("away", away, "Random: time until repaired. Required with mean_between_<unit>."),
          key("exposure", word({"wall", "stepping"}),
              "Random: the time that counts. wall: all of it. stepping: seconds in which the "
              "target's learner steps.")
              .note("wall"),
          key("factor", positive(1e6),
              "link_slow: share of the capacity left, below 1. straggler: factor on step time.")
              .note("none; required with link_slow and straggler"),
          key("plan", path_text(),
              "CSV of dated faults (`skerry plan` writes one), instead of all keys above."),
      },
      {{"at_s", "mean_between_s"}, {"at_s", "law"}, {"for_s", "mean_between_s"}, {"for_s", "law"}});
  return map_of(fault, "FAULT", 256);
}

NodePtr expect_spec() {
  NodePtr bound = number(-1e300, 1e300);
  NodePtr entry = object(
      {
          key("protocol", name_text(), "The row.").required(),
          key("metric", free_text(200),
              "Dotted path into summary.json: goodput, loss.final, chip_seconds.lost.down.")
              .required(),
          key("ratio_to", name_text(), "Divide by the same metric of this row, paired by seed."),
          key("minus", name_text(), "Subtract the same metric of this row, paired by seed."),
          key("min", bound, "Smallest value allowed (mean over seeds)."),
          key("max", bound, "Largest value allowed."),
          key("equal", bound, "The value itself, within `tolerance`."),
          key("tolerance", number(0.0, 1.0, "relative"), "With `equal`.").note("1e-6"),
          key("why", free_text(2000), "Where the number comes from, with the arithmetic.")
              .required(),
      },
      {{"ratio_to", "minus"}, {"equal", "min"}, {"equal", "max"}});
  return array_of(entry, 0, 1000);
}

}  // namespace skerry::reader
