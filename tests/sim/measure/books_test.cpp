#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/sim/measure/tapes.hpp"

using doctest::Approx;
using namespace skerry;
using namespace skerry::test;

TEST_CASE("every kind of span is booked once, by its cause") {
  // 8 chips in 4 slices over 100 s = 800 chip-seconds. One slice away leaves 6 chips.
  const Scenario scenario = scenario_of(1);
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  Tape tape;
  tape.add(steps(0, 0, 1, 4, {7, 2, 1}, 100, 1));  // [0, 40]
  tape.add(fact::CutStep{40, 45, 0, 1, true});
  tape.add(phase(0, 45, 58, Cause::kSliceDown, 1));
  tape.add(phase(0, 58, 70, Cause::kDown, 4));
  tape.add(fact::Lost{70, 1.5, 63, 150, 0});  // 1.5 steps × 7 s × 6 chips
  tape.add(phase(0, 70, 80, Cause::kCheckpointRestore));
  tape.add(steps(0, 80, 5, 1, {15, 0, 0}, 100));  // [80, 95]
  tape.add(fact::CutStep{95, 100, 0, 0, false});
  end(tape, 100, 350);
  const Summary summary = fold(scenario, protocol, tape);

  CHECK(summary.chip_seconds_total == Approx(800));
  // 4·7·6 + 15·8 + 5·8 − 63 = 168 + 120 + 40 − 63
  CHECK(summary.chip_seconds_productive == Approx(265));
  CHECK(lost(summary, Cause::kStragglerWait) == Approx(48));         // 4·2·6
  CHECK(lost(summary, Cause::kExposedCommunication) == Approx(24));  // 4·1·6
  CHECK(lost(summary, Cause::kDegraded) == Approx(116));             // 2·(40 + 5 + 13)
  CHECK(lost(summary, Cause::kWastedProgress) == Approx(93));        // 5·6 + 63
  CHECK(lost(summary, Cause::kSliceDown) == Approx(78));             // 13·6
  CHECK(lost(summary, Cause::kDown) == Approx(96));                  // 12·8, no degraded part
  CHECK(lost(summary, Cause::kCheckpointRestore) == Approx(80));     // 10·8
  CHECK(lost(summary, Cause::kOther) == 0);
  CHECK(summary.closure_chip_seconds < 1e-15);
  CHECK(summary.goodput == Approx(265.0 / 800));
  CHECK(summary.tokens_computed == Approx(500));  // 5 steps of 100
  CHECK(summary.tokens == Approx(350));           // less 150 lost
  CHECK(summary.tokens_per_s == Approx(3.5));
  CHECK(summary.learner_steps == Approx(3.5));              // 5 − 1.5
  CHECK(summary.compute_utilization == Approx(53.0 / 57));  // 28 + 5 + 15 + 5; exposed 4
  CHECK(summary.uptime == Approx(0.65));                    // [0, 45] and [80, 100]
  REQUIRE(summary.by_learner.size() == 1);
  CHECK(summary.by_learner[0].waiting_share == Approx(72.0 / 800));  // 48 + 24
}

TEST_CASE("goodput up to a date: losses from their date on, nothing before the chips are there") {
  Scenario scenario = scenario_of(1);
  scenario.learners[0].start_s = 20;
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  Tape tape;
  tape.add(phase(0, 20, 40, Cause::kInfrastructureRecovery));
  tape.add(steps(0, 40, 1, 4, {9, 1, 0}, 1));  // [40, 80]: 8 chips × 0.9
  tape.add(fact::Lost{80, 1, 72, 1, 0});       // one step: 9 s × 8
  tape.add(fact::CutStep{80, 100, 0, 0, false});
  end(tape, 100, 3);
  const std::vector<GoodputPoint> curve = goodput_over_time(scenario, protocol, tape, 5);
  REQUIRE(curve.size() == 4);  // at 20 s none is allocated yet
  CHECK(curve[0].t == 40);
  CHECK(curve[0].goodput == 0);
  CHECK(curve[1].goodput == Approx(18.0 / 40));              // 20 s × 0.9 of 40
  CHECK(curve[2].goodput == Approx((36.0 - 9) / 60));        // 40 s × 0.9, less the step
  CHECK(curve[3].goodput == Approx((36.0 - 9 + 20) / 80));
  CHECK(curve[3].goodput == Approx(fold(scenario, protocol, tape).goodput));
}

TEST_CASE("the cut step at the end is productive and a lost one is not") {
  const Scenario scenario = scenario_of(1);
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  for (const bool cut_lost : {false, true}) {
    Tape tape;
    tape.add(fact::CutStep{0, 10, 0, 0, cut_lost});
    end(tape, 10, 0);
    const Summary summary = fold(scenario, protocol, tape);
    CHECK(summary.goodput == (cut_lost ? 0.0 : 1.0));
    CHECK(summary.tokens == 0);
    CHECK(summary.uptime == 1);
  }
}

namespace {

// Two learners in lock-step, 100 s each: steps of 8 + 1 + 1 s.
//   [0, 40] steps 1–4 · [40, 50] recovery · back to step 2 · [50, 80] steps 3–5 · [80, 85] restore
//   · back to step 3 · [85, 95] step 4 · [95, 100] cut by the end
Tape rolled_back_twice() {
  Tape tape;
  for (const int learner : {0, 1}) {
    tape.add(steps(learner, 0, 1, 4, {8, 1, 1}, 10));
    tape.add(phase(learner, 40, 50, Cause::kInfrastructureRecovery));
  }
  tape.add(fact::RollBack{50, 2});
  for (const int learner : {0, 1}) {
    tape.add(steps(learner, 50, 3, 3, {8, 1, 1}, 10));
    tape.add(phase(learner, 80, 85, Cause::kCheckpointRestore));
  }
  tape.add(fact::RollBack{85, 3});
  for (const int learner : {0, 1}) {
    tape.add(steps(learner, 85, 4, 1, {8, 1, 1}, 10));
    tape.add(fact::CutStep{95, 100, learner, 0, false});
  }
  end(tape, 100, 80);
  return tape;
}

}  // namespace

TEST_CASE("a rollback wastes whole steps, once, and part of a span where it must") {
  const Scenario scenario = scenario_of(2);
  const Protocol protocol = protocol_of(scenario, Family::kDataParallel);
  const Summary summary = fold(scenario, protocol, rolled_back_twice());
  // Per learner 8 steps were done; 3 and 4, then 4 and 5 rolled back: 1, 2, 3, 4 are left.
  CHECK(summary.learner_steps == Approx(8));
  CHECK(summary.tokens == Approx(80));
  CHECK(summary.tokens_computed == Approx(160));
  CHECK(summary.chip_seconds_productive == Approx(2 * 296));             // (4·8 + 5)·8 chips
  CHECK(lost(summary, Cause::kStragglerWait) == Approx(2 * 32));         // 4·1·8
  CHECK(lost(summary, Cause::kExposedCommunication) == Approx(2 * 32));  // 4·1·8
  CHECK(lost(summary, Cause::kWastedProgress) == Approx(2 * 320));       // 4·(8 + 1 + 1)·8
  CHECK(lost(summary, Cause::kInfrastructureRecovery) == Approx(2 * 80));
  CHECK(lost(summary, Cause::kCheckpointRestore) == Approx(2 * 40));
  CHECK(summary.chip_seconds_total == Approx(1600));
  // The chips computed in rolled-back steps, too: 8·8 + 5 = 69 s against 8 s exposed.
  CHECK(summary.compute_utilization == Approx(69.0 / 77));
  CHECK(summary.uptime == Approx(0.85));
  CHECK(summary.merged_share == 1.0);
  CHECK_FALSE(summary.hidden_share.has_value());
  CHECK_FALSE(summary.syncer_steps_per_learner_step.has_value());
}

TEST_CASE("step intervals run between net steps and include what lies between") {
  const Scenario scenario = scenario_of(2);
  const Summary summary =
      fold(scenario, protocol_of(scenario, Family::kDataParallel), rolled_back_twice());
  // Net steps end at 10, 20, 60, 95: intervals 10, 40, 35, the same for both learners.
  CHECK(summary.step_interval_s.mean == Approx(85.0 / 3));
  CHECK(summary.step_interval_s.p50 == Approx(35));
  CHECK(summary.step_interval_s.p99 == Approx(40));
}

TEST_CASE("ten million quiet steps are one sample of large weight") {
  const Scenario scenario = scenario_of(1);
  Tape tape;
  tape.add(steps(0, 0, 1, 10'000'000, {2, 0, 0}, 1));
  tape.add(phase(0, 2e7, 2e7 + 98, Cause::kWaitingForQuorum));
  tape.add(steps(0, 2e7 + 98, 10'000'001, 1, {2, 0, 0}, 1));
  end(tape, 2e7 + 100, 10'000'001);
  const Summary summary = fold(scenario, protocol_of(scenario, Family::kDiloco), tape);
  // 9,999,999 intervals of 2 s and one of 98 + 2 s.
  CHECK(summary.step_interval_s.mean == Approx((9'999'999.0 * 2 + 100) / 1e7).epsilon(1e-12));
  CHECK(summary.step_interval_s.p99 == 2);
}

TEST_CASE("a rollback brings nothing back") {
  const Scenario scenario = scenario_of(1);
  Tape tape;
  tape.add(steps(0, 0, 1, 5, {1, 0, 0}, 10));
  tape.add(fact::RollBack{5, 2});
  tape.add(fact::RollBack{6, 4});
  tape.add(phase(0, 5, 10, Cause::kCheckpointRestore));
  end(tape, 10, 20);
  CHECK(fold(scenario, protocol_of(scenario, Family::kDataParallel), tape).learner_steps == 2);
}

TEST_CASE("a rollback to before the first step leaves nothing") {
  const Scenario scenario = scenario_of(1);
  Tape tape;
  tape.add(steps(0, 0, 1, 5, {1, 0, 1}, 10));
  tape.add(fact::RollBack{10, 0});
  end(tape, 10, 0, "cap");
  const Summary summary = fold(scenario, protocol_of(scenario, Family::kDataParallel), tape);
  CHECK(lost(summary, Cause::kWastedProgress) == Approx(80));
  CHECK(summary.goodput == 0);
  CHECK(summary.learner_steps == 0);
  CHECK(summary.step_interval_s.mean == 0);
  CHECK(summary.status == "time_cap");
}

TEST_CASE("uptime is the union over learners; a late learner is allocated from its start") {
  Scenario scenario = scenario_of(2);
  scenario.learners[1].start_s = 20;
  Tape tape;
  tape.add(steps(0, 0, 1, 30, {1, 0, 0}, 1));
  tape.add(phase(0, 30, 100, Cause::kDown));
  tape.add(steps(1, 20, 1, 30, {1, 0, 0}, 1));
  tape.add(phase(1, 50, 100, Cause::kExposedCommunication));
  end(tape, 100, 60);
  const Summary summary = fold(scenario, protocol_of(scenario, Family::kDiloco), tape);
  CHECK(summary.uptime == Approx(0.5));  // [0, 30] ∪ [20, 50]
  CHECK(summary.chip_seconds_total == Approx(8 * 100 + 8 * 80));
  CHECK(summary.compute_utilization == Approx(60.0 / 110));  // 30 + 30; exposed 50
  CHECK(summary.by_learner[1].goodput == Approx(30.0 / 80));
}

TEST_CASE("stepping inside another learner's stepping adds no uptime") {
  const Scenario scenario = scenario_of(3);
  Tape tape;
  tape.add(steps(0, 0, 1, 60, {1, 0, 0}, 1));
  tape.add(phase(0, 60, 100, Cause::kDown));
  for (const int learner : {1, 2}) {
    const double t0 = learner == 1 ? 10 : 50;
    tape.add(phase(learner, 0, t0, Cause::kDown));
    tape.add(steps(learner, t0, 1, 20, {1, 0, 0}, 1));
    tape.add(phase(learner, t0 + 20, 100, Cause::kDown));
  }
  end(tape, 100, 100);
  const Summary summary = fold(scenario, protocol_of(scenario, Family::kDiloco), tape);
  CHECK(summary.uptime == Approx(0.7));  // [0, 60] ∪ [10, 30] ∪ [50, 70]
}

TEST_CASE("rows by device come in the order of the learners and add up") {
  Scenario scenario = scenario_of(3);
  scenario.learners[0].device = "v6e";
  scenario.learners[2].device = "v6e";
  scenario.learners[2].chips = 24;
  Tape tape;
  for (const int learner : {0, 1, 2}) {
    const double busy_s = learner == 2 ? 6 : 10;
    tape.add(steps(learner, 0, 1, 2, {busy_s / 2, 0, 0}, 7));
    if (learner == 2) tape.add(phase(2, 6, 10, Cause::kWaitingForQuorum));
  }
  end(tape, 10, 42);
  const Summary summary = fold(scenario, protocol_of(scenario, Family::kDiloco), tape);
  REQUIRE(summary.by_device.size() == 2);
  CHECK(summary.by_device[0].name == "v6e");
  CHECK(summary.by_device[0].chips == 32);
  CHECK(summary.by_device[0].steps == 4);
  CHECK(summary.by_device[0].tokens == 28);
  CHECK(summary.by_device[0].goodput == Approx((80.0 + 144) / 320));  // 8·10 + 24·6 of 32·10
  CHECK(summary.by_device[0].waiting_share == Approx(96.0 / 320));    // 24·4
  CHECK(summary.by_device[1].name == "custom");
  CHECK(summary.by_device[1].goodput == Approx(1));
}

namespace {

void check_bug(const Tape& tape, const std::string& part_of_message) {
  const Scenario scenario = scenario_of(2);
  Protocol protocol = protocol_of(scenario, Family::kDiloco);
  protocol.learners = {0};
  try {
    fold(scenario, protocol, tape);
    FAIL("no Bug: " << part_of_message);
  } catch (const Bug& bug) {
    CHECK_MESSAGE(std::string(bug.what()).find(part_of_message) != std::string::npos, bug.what());
  }
}

Tape tape_of(std::vector<Fact> facts, double end_s, double tokens) {
  Tape tape;
  tape.facts = std::move(facts);
  end(tape, end_s, tokens);
  return tape;
}

}  // namespace

TEST_CASE("broken tilings and impossible facts are bugs that name the learner") {
  const fact::Steps ten = steps(0, 0, 1, 10, {1, 0, 0}, 1);  // [0, 10]
  check_bug(tape_of({ten, phase(0, 11, 20, Cause::kDown)}, 20, 10), "west.1, span [11.0");
  check_bug(tape_of({ten, phase(0, 9, 20, Cause::kDown)}, 20, 10), "west.1, span [9.0");
  check_bug(tape_of({ten}, 20, 10), "west.1: spans end at 10.0");
  check_bug(tape_of({}, 20, 0), "west.1: spans end at 0.0");
  check_bug(tape_of({phase(0, 1, 20, Cause::kDown)}, 20, 0), "west.1, span [1.0");
  check_bug(tape_of({ten, phase(0, 10, 20, Cause::kDegraded)}, 20, 10), "booked from other facts");
  check_bug(tape_of({ten, phase(0, 10, 20, Cause::kDown, 5)}, 20, 10), "5 of 4 slices");
  check_bug(tape_of({ten, phase(1, 0, 10, Cause::kDown)}, 10, 10), "takes no part");
  check_bug(tape_of({ten, fact::Lost{10, 1, 8, 1, 1}}, 10, 9), "takes no part");
  check_bug(tape_of({ten, fact::Lost{10, 11, 88, 1, 0}}, 10, 9), "lost more than it did");
  check_bug(tape_of({ten}, 10, 11), "net tokens");
  fact::Steps short_steps = ten;
  short_steps.compute_s = 0.9;
  check_bug(tape_of({short_steps}, 10, 10), "do not fill");
}

TEST_CASE("a wait that rounding left below zero is no wait") {
  const Scenario scenario = scenario_of(1);
  const Protocol protocol = protocol_of(scenario, Family::kDataParallel);
  const auto with_exposed = [](double exposed_s) {
    return tape_of({steps(0, 0, 1, 10, {100, 0, exposed_s}, 1)}, 1000, 10);
  };
  const Summary summary = fold(scenario, protocol, with_exposed(-1e-9));
  CHECK(lost(summary, Cause::kExposedCommunication) == 0);
  CHECK(summary.goodput == Approx(1).epsilon(1e-10));
  CHECK_THROWS_AS(fold(scenario, protocol, with_exposed(-1.1e-6)), Bug);  // 1e-9 · 1000 s
}

TEST_CASE("rounding of dates is no gap, a little more is") {
  const Scenario scenario = scenario_of(1);
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  const auto with_gap = [](double gap_s) {
    return tape_of({phase(0, 0, 1000, Cause::kDown), phase(0, 1000 + gap_s, 2000, Cause::kDown)},
                   2000, 0);
  };
  CHECK_NOTHROW(fold(scenario, protocol, with_gap(0.9e-6)));  // 1e-9 · 1000 s
  CHECK_THROWS_AS(fold(scenario, protocol, with_gap(1.1e-6)), Bug);
}

TEST_CASE("gaps that are small one by one do not hide in the sum") {
  // 100 spans of 1e-9 s, each preceded by a gap of 0.9e-9 s, do not close to 1e-9 of the whole.
  const Scenario scenario = scenario_of(1);
  Tape tape;
  double t = 0;
  for (int i = 0; i < 100; ++i) {
    tape.add(phase(0, t + 0.9e-9, t + 1.9e-9, Cause::kDown));
    t += 1.9e-9;
  }
  end(tape, t, 0);
  CHECK_THROWS_AS(fold(scenario, protocol_of(scenario, Family::kDiloco), tape), Bug);
}
