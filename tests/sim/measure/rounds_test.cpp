#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"
#include "tests/sim/measure/tapes.hpp"

using doctest::Approx;
using namespace skerry;
using namespace skerry::test;

namespace {

fact::Close close(std::int64_t clock, int fragment, int participants) {
  fact::Close out;
  out.clock = clock;
  out.fragment = fragment;
  out.participants = participants;
  return out;
}

Summary fold_of(Tape tape, int overlap_steps = 2) {
  const Scenario scenario = scenario_of(1);
  Protocol protocol = protocol_of(scenario, Family::kDiloco, 1);
  protocol.overlap_steps = overlap_steps;
  tape.add(steps(0, 0, 1, 10, {1, 0, 0}, 1));
  end(tape, 10, 10);
  return fold(scenario, protocol, tape);
}

}  // namespace

TEST_CASE("participants are those of rounds that merged something; every close is a syncer step") {
  Tape tape;
  // 20 rounds: 1 with one participant, 3 with two, 16 with four; 5 closes without a fragment.
  for (int i = 0; i < 20; ++i)
    tape.add(close(i, 0, i == 7 ? 1 : i < 3 ? 2 : 4));
  for (int i = 20; i < 25; ++i)
    tape.add(close(i, -1, 1));
  const Summary summary = fold_of(tape);
  CHECK(summary.syncer_steps == 25);
  CHECK(summary.participants.mean == Approx((1 + 6 + 64) / 20.0));
  CHECK(summary.participants.p10 == 2);  // the second smallest of 20
  CHECK(summary.participants.one_share == Approx(1.0 / 20));
  CHECK(summary.syncer_steps_per_learner_step.value() == Approx(2.5));  // 25 closes / 10 steps
}

TEST_CASE("the syncer's pace is told against the mean learner, not the sum") {
  const Scenario scenario = scenario_of(2);
  Tape tape;
  for (int i = 0; i < 15; ++i)
    tape.add(close(i, 0, 1));
  tape.add(steps(0, 0, 1, 10, {1, 0, 0}, 1));
  tape.add(steps(1, 0, 1, 5, {2, 0, 0}, 1));
  end(tape, 10, 15);
  const Summary summary = fold(scenario, protocol_of(scenario, Family::kDiloco), tape);
  CHECK(summary.syncer_steps_per_learner_step.value() == Approx(2));  // 15 / 7.5
}

TEST_CASE("hidden outside faults: not between a fault's start and its repair + H steps") {
  // Step 1 s, H = 2: a fault over [1, 2] disturbs [1, 4]. Received at 3: age 3 > τ, left out. At 6: age 1.
  Scenario scenario = scenario_of(1);
  scenario.learners[0].step_s = 1;
  Protocol protocol = protocol_of(scenario, Family::kDiloco, 1);
  protocol.overlap_steps = 2;
  protocol.sync_period_steps = 2;
  Tape tape;
  const Target target{TargetKind::kLearner, 0, 0};
  tape.add(fact::FaultHit{1, 2, 2.0, FaultKind::kStraggler, target, 0});
  tape.add(fact::Repaired{2, FaultKind::kStraggler, target, 0});
  tape.add(overwrite(0, 3, 1, 0, 3, 0, false));
  tape.add(overwrite(0, 6, 2, 0, 6, 5, false));
  tape.add(steps(0, 0, 1, 10, {1, 0, 0}, 1));
  end(tape, 10, 10);
  const Summary summary = fold(scenario, protocol, tape);
  CHECK(summary.hidden_share.value() == Approx(0.5));
  CHECK(summary.hidden_share_outside_faults.value() == Approx(1.0));
}

TEST_CASE("hidden: delivered within τ steps, of those that were there when it was pulled") {
  Tape tape;
  std::int64_t clock = 0;
  for (const std::int64_t age : {1, 2, 3}) {
    tape.add(overwrite(0, 5, ++clock, 0, 5, 5 - age, false));
  }
  tape.add(overwrite(0, 5, ++clock, 0, 5, -1, false));
  const Summary summary = fold_of(tape, 2);
  CHECK(summary.hidden_share.value() == Approx(2.0 / 3));
  CHECK(summary.stale_steps.mean == Approx(2));
  CHECK(summary.stale_steps.p50 == 2);
  CHECK(summary.stale_steps.p99 == 3);
}

TEST_CASE("in lock-step a fragment that comes back before the next step is hidden") {
  Tape tape;
  tape.add(overwrite(0, 5, 1, 0, 5, 5, false));
  tape.add(overwrite(0, 6, 2, 0, 6, 5, false));
  CHECK(fold_of(tape, 0).hidden_share.value() == Approx(0.5));
}

TEST_CASE("a fault hits who takes part, has joined and is not down already") {
  Scenario scenario = scenario_of(4);
  scenario.links.push_back({0, 1, 0.03, kUnlimited});
  scenario.learners[3].start_s = 30;
  Protocol protocol = protocol_of(scenario, Family::kDiloco);
  protocol.learners = {0, 1, 3};
  Tape tape;
  const auto hit = [&tape](double t, FaultKind kind, TargetKind target, int index) {
    tape.add(fact::FaultHit{t, kNever, 1, kind, {target, index, 0}, 0});
  };
  tape.add(phase(0, 0, 10, Cause::kOther));
  hit(10, FaultKind::kIslandDown, TargetKind::kLearner, 0);  // begins the down phase: hit
  hit(15, FaultKind::kSliceDown, TargetKind::kSlice, 0);     // down already
  hit(15, FaultKind::kRegionDark, TargetKind::kRegion, 0);   // down already; cuts the phase in two
  hit(15, FaultKind::kLinkCut, TargetKind::kLink, 0);        // learner 1 is up: hit
  hit(15, FaultKind::kLinkSlow, TargetKind::kPort, 1);       // hit
  hit(15, FaultKind::kLinkCut, TargetKind::kPort, 0);        // only learner 0 behind it
  hit(15, FaultKind::kSliceDown, TargetKind::kSlice, 2);     // takes no part
  hit(15, FaultKind::kSliceDown, TargetKind::kSlice, 3);     // has not joined
  tape.add(phase(0, 10, 15, Cause::kDown, 4));
  tape.add(phase(0, 15, 20, Cause::kDown, 4));
  hit(20, FaultKind::kSliceDown, TargetKind::kSlice, 0);  // the moment it is up again: hit
  hit(25, FaultKind::kSliceDown, TargetKind::kSlice, 0);  // hit
  tape.add(phase(0, 20, 40, Cause::kOther));
  tape.add(phase(1, 0, 40, Cause::kOther));
  tape.add(phase(3, 30, 40, Cause::kOther));
  end(tape, 40, 0);
  const Summary summary = fold(scenario, protocol, tape);
  CHECK(summary.faults.planned == 10);
  CHECK(summary.faults.hit == 5);
  CHECK(summary.faults.by_kind.at(std::string(kind_name(FaultKind::kSliceDown))) == 5);
  CHECK(summary.faults.by_kind.at(std::string(kind_name(FaultKind::kLinkCut))) == 2);
}

TEST_CASE("bytes leave by the ports, or go over the links when no port has a limit") {
  Tape limited;
  limited.wires = {{"east.up", 60, 100},          {"east.down", 30, 100},
                   {"west.up", 30, kUnlimited},   {"west.down", 60, kUnlimited},
                   {"east>west", 60, kUnlimited}, {"west>east", 30, 40}};
  const Summary ports = fold_of(limited);
  CHECK(ports.wan.bytes == 90);
  CHECK(ports.wan.busiest_port == "west>east");  // 30/40 against 60/100
  CHECK(ports.wan.busiest_load == Approx(0.75));
  CHECK(ports.closure_bytes == 0);
  CHECK(ports.wires.size() == 6);

  Tape ideal_ports;
  ideal_ports.wires = {{"east>west", 60, kUnlimited}, {"west>east", 31, kUnlimited}};
  const Summary links = fold_of(ideal_ports);
  CHECK(links.wan.bytes == 91);
  CHECK(links.wan.busiest_port.empty());
  CHECK(links.wan.busiest_load == 0);
}

TEST_CASE("a wire that carried more than it could is a bug; one byte of rounding is not") {
  Tape tape;
  tape.wires = {{"east.up", 1e12 + 900, 1e12}};  // 1e-9 of 1e12 is 1000
  CHECK(fold_of(tape).closure_bytes == Approx(9e-10));
  tape.wires[0].bytes = 1e12 + 1002;
  CHECK_THROWS_AS(fold_of(tape), Bug);
  tape.wires[0] = {"east.up", 1, 0};  // cut for the whole run
  CHECK(fold_of(tape).wan.bytes == 1);
  tape.wires[0].bytes = 2;
  CHECK_THROWS_AS(fold_of(tape), Bug);
}

TEST_CASE("status follows the reason of the end") {
  const Scenario scenario = scenario_of(1);
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  Tape tape;
  tape.start.seed = 7;
  tape.add(phase(0, 0, 10, Cause::kOther));
  end(tape, 10, 0, "simulated");
  const Summary summary = fold(scenario, protocol, tape);
  CHECK(summary.status == "ok");
  CHECK(summary.seed == 7);
  CHECK(summary.protocol == "row");
  CHECK(summary.preset == "decoupled_diloco");
  CHECK(summary.simulated_s == 10);
  CHECK(summary.tape_fingerprint == tape_fingerprint(tape));
  CHECK(summary.compute_utilization == 0);
  tape.end.reason = "cap";
  CHECK(fold(scenario, protocol, tape).status == "time_cap");
  tape.end.reason = "bored";
  CHECK_THROWS_AS(fold(scenario, protocol, tape), Bug);
}
