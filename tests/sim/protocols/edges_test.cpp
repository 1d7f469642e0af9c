// Faults that meet: one during the reaction to another, at the end, or where nobody looks.
#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/sim/protocols/worlds.hpp"

using namespace worlds;

TEST_CASE("a learner that starts while the job stands still is booked from its start") {
  // Learners 0 and 1 are away for ever from 100; learner 2 starts at 600 of 1,000 s: 400 s × 8 chips.
  Scenario s = apart(3, 0);
  s.learners[2].start_s = 600;
  s.faults = {scripted(FaultKind::kIslandDown, whole(0), 100, kNever),
              scripted(FaultKind::kIslandDown, whole(1), 100, kNever)};
  for (const char* preset : {"data_parallel", "data_parallel_elastic"}) {
    CAPTURE(preset);
    CHECK(run(s, protocol(s, preset)).summary.chip_seconds_total == doctest::Approx(8 * 2400.0));
  }
}

TEST_CASE("a learner that joins later costs a save and a restart, not the work done") {
  // Learner 1 starts at 505: the step in progress ends, save 30 s, restart 600 s, restore 60 s.
  Scenario s = apart(2, 0);
  s.learners[1].start_s = 505;
  s.stop.simulated_s = 2000;
  const Run r = run(s, protocol(s, "data_parallel"));
  CHECK(lost(r.summary, Cause::kWastedProgress) == 0.0);
  CHECK(lost(r.summary, Cause::kCheckpointSave) == doctest::Approx(2 * 8 * 30.0).epsilon(0.5));
  CHECK(r.summary.by_learner[0].tokens == (51 + (2000 - 510 - 690) / 10) * 1000.0);
}

TEST_CASE("a notice too short to store anything stops nobody") {
  // Learner 0 is away, so learner 1 waits for it when its own loss is announced 20 s ahead.
  Scenario s = apart(2, 0);
  s.stop.simulated_s = 2000;
  s.faults = {scripted(FaultKind::kIslandDown, whole(0), 305, 800),
              announced(scripted(FaultKind::kIslandDown, whole(1), 600, 100), 20)};
  for (const char* preset : {"diloco", "streaming_diloco"}) {
    CAPTURE(preset);
    const Run r = run(s, protocol(s, preset));
    CHECK(lost(r.summary, Cause::kCheckpointSave) == 0.0);
    CHECK(r.tape.end.t == 2000.0);
  }
}

TEST_CASE("a corruption that is found during a pause or a disturbed restart is still undone") {
  // Corrupt from 505. Found at 610, in the slice_down pause (605-618) of another loss; or at 1,205, and the
  // restart that follows (600 s) is disturbed by a slice at 1,400.
  Scenario s = apart(2, 0);
  s.stop.simulated_s = 4000;
  Protocol p = protocol(s, "data_parallel");
  p.recovery.checkpoint_rule = CheckpointRule::kPeriod;
  p.recovery.checkpoint_every_s = 200;
  p.recovery.resume = Resume::kAllSlicesBack;
  p.elastic = true;
  s.faults = {scripted(FaultKind::kCorruption, whole(0), 505, 105),
              scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 1, 0}, 605, 100)};
  const auto in_pause = facts<fact::RollBack>(run(s, p).tape);
  REQUIRE(in_pause.size() == 1);
  CHECK(in_pause[0].t < 610 + 13 + 660 + 20);
  p.elastic = false;
  s.faults = {scripted(FaultKind::kCorruption, whole(0), 505, 700),
              scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 1, 0}, 1400, 10)};
  const auto disturbed = facts<fact::RollBack>(run(s, p).tape);
  REQUIRE(disturbed.size() == 1);
  CHECK(disturbed[0].to_step <= 50);
}

TEST_CASE("a corrupt state that was stored before an announced loss is worthless when found") {
  // Corrupt at 600, found at 2,100; stored about 1,960, away 2,000-2,500: about 136 steps of 80 chip-seconds.
  Scenario s = apart(2, 0);
  s.stop.simulated_s = 3600;
  s.faults = {scripted(FaultKind::kCorruption, whole(1), 600, 1500),
              announced(scripted(FaultKind::kIslandDown, whole(1), 2000, 500), 300)};
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  CHECK(lost(r.summary, Cause::kWastedProgress) >= 8 * 1300.0);
  CHECK(facts<fact::Copy>(r.tape).size() == 1);
}

TEST_CASE("the first of two overlapping corruptions is acted on when it is found") {
  Scenario s = apart(2, 0);
  s.stop.simulated_s = 3000;
  s.faults = {scripted(FaultKind::kCorruption, whole(1), 505, 400),
              scripted(FaultKind::kCorruption, whole(1), 705, 1100)};
  const auto losses = facts<fact::Lost>(run(s, protocol(s, "decoupled_diloco")).tape);
  REQUIRE(losses.size() == 2);
  CHECK(losses[0].t == 905.0);
  CHECK(losses[1].t == 1805.0);
}

TEST_CASE("a partition of a region without learners of the row touches nobody") {
  Scenario s = apart(3, 1.0);
  for (const int other : {0, 1}) {
    for (const int link : {s.link_between(2, other), s.link_between(other, 2)}) {
      s.faults.push_back(scripted(FaultKind::kPartition, {TargetKind::kLink, link, 0}, 300, 400));
    }
  }
  Protocol p = protocol(s, "streaming_diloco");
  p.learners = {0, 1};
  p.quorum = 2;
  Scenario calm = s;
  calm.faults.clear();
  CHECK(run(s, p).summary.tokens == run(calm, p).summary.tokens);
}

TEST_CASE("without exchange a lost shard sends nothing") {
  Scenario s = apart(3, 1.0);
  s.faults = {scripted(FaultKind::kShardLost, {TargetKind::kRegion, 1, 0}, 300, 100)};
  Protocol p = protocol(s, "decoupled_diloco");
  p.exchange = false;
  CHECK(run(s, p).summary.wan.bytes == 0.0);
}

TEST_CASE("detection of a new loss does not count one that was noticed long ago") {
  // Slice of learner 0 away from 105 on (detection 100 s, once); learner 1 goes with notice at 505: none.
  Scenario s = apart(2, 0);
  s.learners[1].slices = 1;
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 0, 0}, 105, kNever),
              announced(scripted(FaultKind::kIslandDown, whole(1), 505, 300), 60)};
  Protocol p = protocol(s, "data_parallel_elastic");
  p.recovery.detection_s = 100;
  const Run r = run(s, p);
  // Both learners wait 100 s, learner 0 with half its chips; learner 1, back at 805, waits for the step that
  // ends at 518 + 29 × 10 = 808.
  CHECK(lost(r.summary, Cause::kInfrastructureRecovery) == doctest::Approx(100.0 * (4 + 8) + 3.0 * 8));
}

TEST_CASE("the token stop is exact for small tokens too") {
  Scenario s = apart(1, 0);
  s.charged.tokens_per_learner_step = 0.001;
  s.stop.tokens = 0.6;
  s.stop.simulated_s = kNever;
  CHECK(run(s, protocol(s, "data_parallel")).summary.tokens == doctest::Approx(0.6));
}

TEST_CASE("faults that leave no time for a step are told, not simulated for ever") {
  Scenario s = apart(1, 0);
  s.stop.tokens = 1e9;
  s.stop.simulated_s = kNever;
  Fault fault;
  fault.name = "slices";
  fault.targets = {{TargetKind::kSlice, 0, 0}};
  fault.scripted = false;
  fault.gap = {LawKind::kConstant, 9.0};
  fault.away = {LawKind::kConstant, 1.0};
  s.faults = {fault};
  Protocol p = protocol(s, "data_parallel");
  p.recovery.resume = Resume::kAllSlicesBack;
  CHECK_THROWS_AS(run(s, p), CannotGoOn);
}
