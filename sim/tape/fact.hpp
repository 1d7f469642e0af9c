// What happened: the facts of one run, and nothing else. Every result is a fold over them.
//
// Dates are seconds of simulated time from t = 0. Learners, fragments and regions are the scenario's
// indices (learner order). Steps count from 1; "after step k" means k inner steps are done.
// Spans: for every learner its `Steps` and `Phase` facts tile [join date, end] without gap or overlap.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace skerry {

// What a learner's present chips do when they do not step (DESIGN: badput causes). `degraded` and
// `wasted_progress` are never phases: the fold books them from slices_away and from Lost.
enum class Cause : std::uint8_t {
  kDown,                    // no chips: island or region off, or all slices away
  kInfrastructureRecovery,  // detection, restart, waiting for a peer's state
  kCheckpointRestore,
  kSliceDown,
  kScaleUp,
  kCheckpointSave,
  kStragglerWait,
  kWaitingForQuorum,
  kExposedCommunication,
  kDegraded,
  kWastedProgress,
  kOther,
};
inline constexpr std::array<std::string_view, 12> kCauseNames{
    "down",           "infrastructure_recovery", "checkpoint_restore",    "slice_down",
    "scale_up",       "checkpoint_save",         "straggler_wait",        "waiting_for_quorum",
    "exposed_communication", "degraded",         "wasted_progress",       "other"};

namespace fact {

// First fact. One learner entry per participating learner follows from the scenario; nothing is repeated.
struct Start {
  std::string protocol;
  std::uint64_t seed = 0;
  std::string scenario_hash;
  double horizon_steps =
      0;  // a learner's steps of /stop/tokens, else of what the run made (schedules of training)
};

// n equal steps of one learner: first … first+n−1, over [t0, t1], each of
// compute_s + straggler_wait_s + exposed_s seconds (the last two only in lock-step protocols).
struct Steps {
  double t0 = 0, t1 = 0;
  double compute_s = 0, straggler_wait_s = 0, exposed_s = 0;
  double tokens = 0;          // charged tokens of each step
  std::int64_t first = 0, n = 0;
  int learner = 0;
  int slices_away = 0;        // during the whole span
};

// A learner does something else than stepping over [t0, t1].
struct Phase {
  double t0 = 0, t1 = 0;
  int learner = 0;
  int slices_away = 0;
  Cause cause = Cause::kOther;
};

// A step in progress that does not count: over [t0, t1] chips computed for nothing (booked as
// wasted_progress when `lost`, by its phases with no tokens when cut by the end of the run).
struct CutStep {
  double t0 = 0, t1 = 0;
  int learner = 0;
  int slices_away = 0;
  bool lost = true;           // false: cut by the end of the run, booked as productive compute
};

// Steps done earlier whose work is gone: `steps` counts fractional steps (weighted by the fragment share
// that was not merged), each of `step_s` seconds on `chips` chips with `tokens` charged tokens.
struct Lost {
  double t = 0;
  double steps = 0, chip_seconds = 0, tokens = 0;
  int learner = 0;
};

struct FaultHit {   // a planned fault took effect
  double t = 0;
  double until = 0;           // planned repair; kNever = none
  double factor = 1;
  FaultKind kind = FaultKind::kSliceDown;
  Target target;
  int source = 0;             // index into Scenario::faults; plan lines: faults.size() + line
};
struct Repaired {
  double t = 0;
  FaultKind kind = FaultKind::kSliceDown;
  Target target;
  int source = 0;
};

// Syncer. `clock` is the syncer's step t; `fragment` −1 when nothing is due at this clock.
struct Close {                 // a collection of reports closed
  double t = 0;
  double waited_s = 0;         // from opening to quorum
  double grace_s = 0;          // from quorum to closing
  std::int64_t clock = 0;
  int fragment = -1;
  int participants = 0;
};
struct Pull {                  // learner's fragment was copied to the shard
  double t = 0;
  std::int64_t clock = 0;
  std::int64_t pulled_step = 0;
  int learner = 0, fragment = 0;
};
struct Weigh {
  std::int64_t clock = 0;
  double c_steps = 0, c_tokens = 0, weight = 0;   // weight = c_tokens² / c_steps
  int learner = 0, fragment = 0;
};
struct Merge {                 // all-reduce of the fragment ended
  double t = 0;
  double began = 0;            // first byte or lead
  std::int64_t clock = 0;
  int fragment = 0, participants = 0;
};
struct OuterStep {
  double t = 0;
  std::int64_t clock = 0;
  int fragment = 0;
};
struct Overwrite {             // learner took (Θ_p, clock) after its step `step`
  double t = 0;
  std::int64_t clock = 0;
  std::int64_t step = 0;
  std::int64_t pulled_step = -1;  // this learner's steps when the fragment was pulled; −1 = it was away
  int learner = 0, fragment = 0;
  bool participated = false;
};
struct Abandon {               // a round that will never finish, and why it was given up
  double t = 0;
  std::int64_t clock = 0;
  int fragment = 0;
  bool restarted = false;      // true: it begins again with other shards; Weigh facts follow for the
                               // learners that still take part, the others' pulls are dropped
};

// Recovery: the learner's state (parameters, inner optimizer, step count) becomes the donor's after
// donor_step. donor −1: the global parameters with fresh inner state.
struct Copy {
  double t = 0;
  std::int64_t donor_step = 0;
  int learner = 0, donor = -1;   // of several donors the first
  double began = 0;              // date at which it had chips and contact, and asked
  std::int64_t age_steps = 0;    // syncer steps since t_s: the age of the inner optimizer state
};
struct Snapshot {                // the syncer's snapshot of clock `clock` is complete
  double t = 0;
  double began = 0;
  std::int64_t clock = 0;
};
struct Join {                  // learner takes part (again), with `step` steps done
  double t = 0;
  std::int64_t step = 0;
  int learner = 0;
};
struct Leave {                 // learner lost all its state
  double t = 0;
  std::int64_t step = 0;
  int learner = 0;
};

// Data-parallel. One gradient reduction a step over the learners whose Steps facts follow (`learners` of
// them, same first and n).
struct Reduce {
  double t0 = 0;
  std::int64_t first = 0, n = 0;
  int learners = 0;
};
struct Save {                  // checkpoint holds the state after `step`
  double t = 0;
  std::int64_t step = 0;
};
struct RollBack {              // the job continues from the checkpoint: steps after `to_step` never were
  double t = 0;
  std::int64_t to_step = 0;
};

// Totals of one port or link, written at the end.
struct Wire {
  std::string name;            // "us-east5.up", "us-east5>us-west1"
  double bytes = 0;
  double capacity_bytes = 0;   // ∫ capacity dt over the run; kUnlimited = no own limit
};

// Control messages of one directed pair over the run, written at the end when transport.control is
// given.
struct Control {
  std::string name;            // "us-west1>us-east5"
  std::int64_t sent = 0;
  std::int64_t timed_out = 0;  // of those: given up
};

// Last fact. reason: "tokens", "simulated", "cap".
struct End {
  double t = 0;
  double tokens = 0;           // net
  std::string reason;
};

}  // namespace fact

using Fact = std::variant<fact::Steps, fact::Phase, fact::CutStep, fact::Lost, fact::FaultHit,
                          fact::Repaired, fact::Close, fact::Pull, fact::Weigh, fact::Merge,
                          fact::OuterStep, fact::Overwrite, fact::Abandon, fact::Copy, fact::Join,
                          fact::Leave, fact::Reduce, fact::Save, fact::RollBack, fact::Snapshot>;

}  // namespace skerry
