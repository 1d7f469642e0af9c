// Scripted, random and planned faults → one stream of concrete faults. Pure: no engine, no clock.
//
// Random faults: every target (a slice, a learner, a region, a port, a link) owns one renewal stream
// RandomStream(seed, "faults.NAME/GROUP", global slice index or entity index). Draw 2i is gap i, draw 2i+1
// is the away time of fault i. A gap is a unit-mean draw × gap.mean_s on the axis named by `exposure`:
//   kWall      seconds from t = 0; arrival i+1 = arrival i + gap (arrivals do not wait for repairs, so the
//              plan does not depend on the protocol; overlapping faults nest)
//   kStepping  seconds that the target's learner spends stepping while the target is present
// Halving a rate doubles every wall arrival date: in a fixed time a subset of the same faults is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

// Which faults one run plays, in order of date (ties: order of `faults`, then of targets). Scripted and
// planned lines and wall-exposure streams come from next_wall(); stepping-exposure streams are asked per
// learner. Faults whose target is a learner outside `learners`, or a region or port that no participating
// learner is in, are left out. Streams are endless: the caller stops asking.
class FaultSource {
 public:
  FaultSource(const Scenario& scenario, std::uint64_t seed, const std::vector<int>& learners);

  // Earliest wall date of the next fault, kNever if none. pop_wall() returns it and draws the next of its
  // stream. PlanLine::source names the fault entry. Requires next_wall_date() < kNever.
  double next_wall_date() const;
  PlanLine pop_wall();

  // Stepping axis of a learner, in seconds of stepping since it joined (kept by the caller): axis value
  // of its next fault (kNever if none); pop returns it with at_s = the axis value and draws the next.
  double next_stepping_axis(int learner) const;
  PlanLine pop_stepping(int learner);

  // A slice that is away does not age: leaving at axis value `axis` freezes what is left of its gap,
  // returning at `axis` starts it again. Idempotent.
  void slice_leaves(int learner, int slice, double axis);
  void slice_returns(int learner, int slice, double axis);

  // Index into Scenario::faults (planned lines: faults.size() + line) of the last popped fault.
  int last_source() const { return last_source_; }

 private:
  struct Stream;
  std::vector<Stream> streams_;                 // one per random target, wall and stepping
  std::vector<std::pair<double, std::size_t>> wall_heap_;
  std::vector<PlanLine> scripted_;              // sorted by date
  std::vector<int> scripted_source_;
  std::size_t next_scripted_ = 0;
  std::vector<std::vector<std::size_t>> of_learner_;   // stepping streams per scenario learner
  int last_source_ = -1;
};

// All faults of the scenario with wall dates in [0, until_s), scripted and random with wall exposure;
// what `skerry plan` writes and `{"plan": file}` replays. Stepping-exposure faults have no wall date
// before they are played and are left out; `skerry plan` says how many entries were.
std::vector<PlanLine> concrete_plan(const Scenario& scenario, std::uint64_t seed, double until_s);

// CSV: at_s,for_s,kind,target,factor,source (for_s empty = never repaired). Targets as text: "west.1",
// "west.1/slice.3", "us-east5", "us-east5.up", "us-east5>us-west1". Round-trips bit for bit.
std::string plan_to_csv(const Scenario& scenario, const std::vector<PlanLine>& plan);
std::vector<PlanLine> plan_from_csv(const Scenario& scenario, const std::string& text,
                                    const std::string& label);  // BadInput "label: line N: …"

std::string target_name(const Scenario& scenario, const Target& target);
std::string_view kind_name(FaultKind kind);

}  // namespace skerry
