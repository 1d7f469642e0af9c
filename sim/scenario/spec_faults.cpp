// Keys of what breaks, and of what is expected.
#include <utility>

#include "sim/scenario/spec_parts.hpp"

namespace skerry::reader {

namespace {

NodePtr law_spec() {
  const std::vector<std::string> laws = {
      "exponential", "constant", "weibull",  "exponentiated_weibull",
      "lognormal",   "gamma",    "empirical"};
  NodePtr law = object({
      key("kind", word(laws),
          "weibull: 1 - exp(-(x / scale)^shape). exponentiated_weibull: that to the `power`. "
          "lognormal: ln x is normal with deviation sigma. empirical: each of the values is as "
          "likely as the others.")
          .required(),
      key("shape", number(0.05, 1000.0),
          "k of weibull, exponentiated_weibull and gamma; below 1: bursts.")
          .note("none; required with these"),
      key("power", number(0.01, 1000.0), "Exponent of exponentiated_weibull.")
          .note("none; required with it"),
      key("sigma", positive(10.0), "Deviation of ln x of lognormal.")
          .note("none; required with it"),
      duration("scale", 0.0, true, "weibull, exponentiated_weibull: the scale, instead of a mean."),
      duration("median", 0.0, true, "lognormal: the median, instead of a mean."),
      key("values", array_of(number(0.0, kLongest_s), 1, 100000),
          "empirical: the times, in `unit`. Without a mean they are taken as they are, with one "
          "they are scaled to it."),
      key("trace", path_text(), "empirical: a CSV file (or .csv.xz) that holds the times."),
      key("column", free_text(200), "With `trace`: the column of the times.")
          .note("none; required with trace"),
      key("unit", word({"ms", "s", "min", "h", "days", "years"}),
          "Unit of the values or of the column.")
          .note("none; required with empirical"),
  });
  return either({word(laws), law});
}

NodePtr trace_spec() {
  return object({
      key("file", path_text(), "The trace, or the trace packed as .xz.").required(),
      key("format", word({"infinitehbd", "lanl", "share"}),
          "infinitehbd: JSON events fault_start and fault_end of nodes, in days. lanl: the CSV of "
          "LA-UR-05-7318, Prob Started to Prob Fixed, counted from the system's first record; the "
          "column Same Event is not used. Each outage of these two takes the slice of a node away "
          "(slice_down). share: CSV with at_<unit> and share (0 to 1), the part of a capacity that "
          "is there from each date on.")
          .required(),
      key("system", integer(0, 1e6), "lanl: the system whose records are read.")
          .note("none; required with lanl"),
      key("nodes", integer(1, 1e6),
          "Take the first n nodes of the trace only. Nodes are in order of first appearance "
          "(infinitehbd) or nodenumz (lanl).")
          .note("all of them"),
      key("time_scale", positive(1e6), "Multiplies dates and durations.").defaults(1.0),
      duration(
          "from", 0.0, false,
          "Date of the trace (before time_scale) that becomes t = 0; what began before goes on "
          "for the rest of its time.")
          .defaults(0.0),
      duration("until", 0.0, true, "What begins at this date of the trace or later is left out.")
          .note("all of the trace"),
      duration("repeat_every", 0.0, true,
               "share: the pattern begins again after this time of the trace, until the run ends.")
          .note("the last share holds for ever"),
  });
}

NodePtr offenders_spec() {
  return object({
      key("share_of_hosts", share(false, false),
          "Share of the units (chips, hosts, slices, islands: what `each` names).")
          .required(),
      key("share_of_failures", share(false, false),
          "Share of the faults that they carry on average; above share_of_hosts.")
          .required(),
  });
}

const char* const kKinds =
    "slice_down: the chips of a slice are away. island_down: a whole learner is away and loses its "
    "state. region_dark: chips, syncer shards and ports of a region are off; what the syncer holds "
    "survives on stable storage. link_cut: no byte of a transfer passes (a cut port takes its "
    "shards out of the ring, a cut pair makes transfers wait). link_slow: only `factor` of the "
    "capacity is left, which port or pair must have. partition: all pairs between the target "
    "regions and the others are cut, both directions, together, and the side with fewer learners "
    "(with "
    "a hub: without it) leaves the exchange until it heals. straggler: step time x `factor`, "
    "for steps that begin while it lasts; slow steps are productive, so that tokens/s shows the "
    "cost and "
    "goodput does not. hang: a slice falls silent without an error, is noticed "
    "after recovery.hang_detection and then treated like a lost one. shard_lost: the syncer shards "
    "of a region lose their memory; chips and ports stay. corruption: a learner's results are "
    "wrong from the date on and found wrong when `for` or `away` is over; costs time only. "
    "storage_slow: saving and restoring checkpoints takes `factor` times as long; no target. "
    "Planned maintenance is region_dark or island_down with `law` constant and `notice`; "
    "preemption is slice_down or island_down with `notice`.";

const char* const kTargets =
    "What it hits. Slices 'west.1/slice.3', learners 'west.1', groups 'west' (all its learners), "
    "regions 'us-east5', ports 'us-east5.up', 'us-east5.down' or 'us-east5' (both), pairs 'A>B' or "
    "'A<>B'; '*' stands for any run of characters.";

const char* const kEach =
    "Every one of these (that matches `target`, if given) can break, by itself. chip, host: what "
    "breaks takes its slice along (straggler, corruption: its learner), so a slice of n chips "
    "breaks n times as often as mean_between says. With a law other than exponential each chip or "
    "host ages by itself, at most 2,000,000 of them in all faults. rack: `rack_slices` consecutive "
    "slices of a learner fail together.";

// Keys of a random fault: what ages, and how the times are drawn.
std::vector<Field> chance_fields() {
  NodePtr away = object({
      key("law", law_spec(), "How the time until repaired is drawn.").defaults("exponential"),
      duration("mean", 0.0, true, "Its mean.")
          .note("none; required unless the law has scale, median or values"),
  });
  return {
      key("law", law_spec(),
          "Random: how the time to the next one is drawn; constant: always the mean. A word, or an "
          "object with the law's parameters. Faults do not wait for repairs; overlapping ones "
          "nest.")
          .note("exponential with mean_between_<unit>"),
      duration("mean_between", 0.0, true,
               "Random: mean time between two of them, of each target (with `each`: of each chip, "
               "host, …; with `together`: of each group).")
          .note("none; needed unless the law has scale, median or values"),
      key("away", away, "Random: time until repaired. Required with random faults."),
      key("exposure", word({"wall", "stepping"}),
          "Random: the time that counts. wall: all of it. stepping: seconds in which the target's "
          "learner steps while the target is there.")
          .note("wall"),
      key("repeat_offenders", offenders_spec(),
          "Random: some units, drawn per seed, break more often than the others; the expected "
          "number of faults stays.")
          .note("all alike"),
      key("together", either({integer(2, 1e6), word({"all"})}),
          "Random: n consecutive slices of a learner, or all targets, fail at one date for one "
          "time away (shared maintenance, regions that fail together).")
          .note("each by itself"),
      key("rack_slices", integer(2, 1e6),
          "With each: rack, its slices; must divide those of a "
          "learner.")
          .note("none; required with each: rack"),
  };
}

}  // namespace

NodePtr faults_spec() {
  NodePtr target = free_text(200);
  std::vector<Field> fields = {
      key("kind",
          word({"slice_down", "island_down", "region_dark", "link_cut", "link_slow", "partition",
                "straggler", "hang", "shard_lost", "corruption", "storage_slow"}),
          kKinds)
          .note("none; required unless a plan or trace is given"),
      key("target", either({target, array_of(target, 1, 256, true)}), kTargets)
          .note("everything, with `each`"),
      key("each", word({"chip", "host", "slice", "rack", "island", "region", "link"}), kEach),
      duration("at", 0.0, false, "Scripted: the date."),
      duration("for", 0.0, true, "Scripted: how long.").note("never repaired"),
  };
  for (Field& field : chance_fields())
    fields.push_back(std::move(field));
  fields.push_back(
      key("factor", positive(1e6),
          "link_slow: share of the capacity left, below 1. straggler: factor on step time. "
          "storage_slow: factor on the time of saving and restoring, above 1.")
          .note("none; required with link_slow, straggler and storage_slow"));
  fields.push_back(
      duration(
          "notice", 0.0, true,
          "slice_down, island_down, region_dark: announced so long before. Scripted, the chips "
          "go at `at` (and are announced at t = 0 at the earliest); random, the drawn date is "
          "that of the announcement.")
          .note("none: no warning"));
  fields.push_back(
      key("plan", path_text(),
          "CSV of dated faults (`skerry plan` writes one; format in scenarios/traces/README.md), "
          "instead of all keys above."));
  fields.push_back(key("trace", trace_spec(),
                       "Dated faults from a recorded trace, with `target` and, for nodes, `each`: "
                       "node k stands for the k-th slice (or host) of the target in order of "
                       "learners, by default of all islands."));
  NodePtr fault = object(std::move(fields), {{"at_s", "mean_between_s"},
                                             {"at_s", "law"},
                                             {"for_s", "mean_between_s"},
                                             {"for_s", "law"},
                                             {"plan", "trace"}});
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
