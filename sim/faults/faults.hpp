// Scripted, random and planned faults → one stream of concrete faults. Pure: no engine, no clock.
//
// Random faults: every target (a slice, a learner, a region, a port, a link, storage) owns one
// renewal stream, drawn from
//   slice     RandomStream(seed, "faults.NAME/GROUP", global slice index)
//   n slices  together: "faults.NAME/GROUP/together", global index of the first
//   learner   "faults.NAME/GROUP/island", index in group
//   others    "faults.NAME/TARGET", 0, TARGET as in target_name(); all together: "…/together", 0
// Draw 2i is gap i, draw 2i+1 is the away time of fault i (draw.hpp: one uniform a draw). A gap is
// a unit-mean draw × gap.mean_s on the axis named by `exposure`:
//   kWall      seconds from t = 0; arrival i+1 = arrival i + gap (arrivals do not wait for repairs,
//              so the plan does not depend on the protocol; overlapping faults nest)
//   kStepping  seconds that the target's learner spends stepping while the target is present.
//              Slices and learners only (Bug otherwise). A slice freezes while it is away (n slices
//              together: while the first of them is); a learner's own streams age with its axis,
//              which stands still by itself when nothing steps
// Halving a rate doubles every wall arrival date: in a fixed time a subset of the same faults is
// left.
//
// A target of n units (Fault::units: chips, hosts) breaks when one of them does. Exponential gaps
// superpose: the target keeps its one stream, at n × the rate, so that cost does not grow with n.
// With any other law every unit owns a stream, "…/units" with its global index, and the target's
// next fault is the earliest of theirs.
//
// Repeat offenders: the unit whose draw from "…/offenders" with its global index is below
// offender_share breaks offender_events / offender_share times as often as the mean, the others
// (1 − offender_events) / (1 − offender_share) times. The expected number of faults stays.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sim/faults/streams.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

// Which faults one run plays, in order of date (ties: order of `faults`, then of targets; planned
// lines last). Scripted and planned lines and wall-exposure streams come from pop_wall();
// stepping-exposure streams are asked per learner. Left out: faults of a learner outside
// `learners`, of a region or port without one of them, and of a link with none at either end. A
// place in `hub_regions` (a central syncer, the hub of a star) counts as if a learner were there.
// Streams are endless: the caller stops asking. O(log n) a fault. `scenario` must outlive the
// source.
class FaultSource {
 public:
  FaultSource(const Scenario& scenario, std::uint64_t seed, const std::vector<int>& learners,
              const std::vector<int>& hub_regions = {});

  // Earliest wall date of the next fault, kNever if none. pop_wall() returns it and draws the next
  // of its stream. PlanLine::source names the fault entry. Requires next_wall_date() < kNever.
  double next_wall_date() const;
  PlanLine pop_wall();

  // Stepping axis of a learner, in seconds of stepping since it joined (kept by the caller): axis
  // value of its next fault (kNever if none); pop returns it with at_s = the axis value and draws
  // the next.
  double next_stepping_axis(int learner) const;
  PlanLine pop_stepping(int learner);

  // A slice that is away does not age: leaving at axis value `axis` freezes what is left of its
  // gap, returning at `axis` starts it again. Idempotent.
  void slice_leaves(int learner, int slice, double axis);
  void slice_returns(int learner, int slice, double axis);

  // Index into Scenario::faults (planned lines: faults.size() + line) of the last popped fault.
  int last_source() const { return last_source_; }

 private:
  struct Due {
    PlanLine line;
    int source = 0;
  };

  bool takes_part(const Target& target) const;
  void add_line(const PlanLine& line, int source);
  void add_streams(std::uint64_t seed, int fault);
  void chain_on_slice(const Target& slice, int stream);
  bool scripted_is_next() const;
  PlanLine take(std::deque<Due>& due, ArrivalHeap& heap);

  const Scenario* scenario_;
  std::vector<bool> learner_takes_part_;
  std::vector<bool> region_takes_part_;
  std::vector<Due> lines_;  // scripted and planned, sorted by date
  std::size_t next_line_ = 0;
  FaultStreams streams_;
  ArrivalHeap wall_;
  std::vector<ArrivalHeap> stepping_;                    // per learner of the scenario
  std::deque<Due> due_wall_;                             // the rest of what fails together
  std::vector<std::deque<Due>> due_stepping_;            // the same, per learner
  std::vector<std::vector<std::vector<int>>> on_slice_;  // per learner, per slice: stepping streams
  int last_source_ = -1;
};

// All faults of the scenario with wall dates in [0, until_s), scripted and random with wall
// exposure; what `skerry plan` writes and `{"plan": file}` replays. Stepping-exposure faults have
// no wall date before they are played and are left out; `skerry plan` says how many entries were.
// Requires a finite until_s.
std::vector<PlanLine> concrete_plan(const Scenario& scenario, std::uint64_t seed, double until_s);

// CSV, the project's trace format (scenarios/traces/README.md). Written:
// at_s,for_s,kind,target,factor,notice_s,source (for_s empty = never repaired). Targets as text,
// slices from 1: "west.1", "west.1/slice.3", "us-east5", "us-east5.up", "us-east5>us-west1",
// "storage". Round-trips bit for bit. Read: columns in any order; at_<unit>, kind and target are
// needed, for_<unit>, factor, notice_<unit> and source may be absent (`source` of the call stands
// in for the last). Refused: other columns, lines that are not in order of date, numbers that are
// negative or not finite, unknown kinds and targets, a target that the kind cannot hit, a factor or
// notice where the kind has none, two factors for one target at one date.
std::string plan_to_csv(const Scenario& scenario, const std::vector<PlanLine>& plan);
std::vector<PlanLine> plan_from_csv(
    const Scenario& scenario, const std::string& text, const std::string& label,
    const std::string& source = "plan");  // BadInput "label: line N: …"

std::string target_name(const Scenario& scenario, const Target& target);
std::string_view kind_name(FaultKind kind);

}  // namespace skerry
