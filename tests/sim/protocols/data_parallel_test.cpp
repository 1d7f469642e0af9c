#include <doctest/doctest.h>

#include <cmath>

#include "tests/sim/protocols/worlds.hpp"

using namespace worlds;

TEST_CASE("data-parallel: a step is forward, first bucket, then bytes on the slowest port") {
  // 8 Gbit over a ring of 2 at 1 Gbit/s: 2·(2−1)/2 × 8 = 8 s a step each way. T = 3 s: forward 1 s,
  // backward 2 s in 64 buckets, lead 2·(2−1) × 0.05 = 0.1 s.
  // Step = 1 + 2/64 + 0.1 + 8 = 9.13125 s.
  Scenario s = regions(2, 1.0, 0.05);
  add_learner(&s, 0, 3.0);
  add_learner(&s, 1, 3.0);
  model(&s, 8e9);
  const Run r = run(s, protocol(s, "data_parallel"));
  CHECK(r.summary.step_interval_s.mean == doctest::Approx(9.13125).epsilon(1e-9));
  // 109 whole steps in 1,000 s; the 110th is cut: it adds its 3 s of compute but no tokens.
  CHECK(r.summary.compute_utilization == doctest::Approx(110 * 3.0 / 1000.0).epsilon(1e-9));
  CHECK(r.summary.tokens == 109 * 2000);
  CHECK(r.summary.merged_share.value() == doctest::Approx(1.0));
}

TEST_CASE("data-parallel: communication hides under backward when the port is fast") {
  // 8 Gbit at 100 Gbit/s: 0.08 s in all, each bucket 0.00125 s < 2/64 s: only the last bucket shows:
  // 3 + 0.00125 s.
  Scenario s = regions(2, 100.0, 0.0);
  add_learner(&s, 0, 3.0);
  add_learner(&s, 1, 3.0);
  model(&s, 8e9);
  const Run r = run(s, protocol(s, "data_parallel"));
  CHECK(r.summary.step_interval_s.mean == doctest::Approx(3.00125).epsilon(1e-9));
}

TEST_CASE("data-parallel: the slowest learner decides, the others wait for it") {
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 1.0);
  add_learner(&s, 0, 2.0);
  model(&s, 8e9);
  const Run r = run(s, protocol(s, "data_parallel"));
  CHECK(r.summary.step_interval_s.mean == doctest::Approx(2.0).epsilon(1e-9));
  // isl.1 computes half of the time: 8 chips × 500 s of straggler wait out of 16 × 1,000.
  CHECK(lost(r.summary, Cause::kStragglerWait) == doctest::Approx(4000.0));
  CHECK(r.summary.goodput == doctest::Approx(0.75));
}

TEST_CASE("data-parallel: a quiet stretch gives the same books as one fact a step") {
  // A fault on an idle port factor of 1 − tiny splits stretches; bytes and steps must not depend on it.
  Scenario s = regions(2, 1.0, 0.01);
  add_learner(&s, 0, 3.0);
  add_learner(&s, 1, 3.0);
  model(&s, 8e9);
  const Run quiet = run(s, protocol(s, "data_parallel"));
  for (int k = 1; k < 100; ++k) {
    s.faults.push_back(scripted(FaultKind::kStraggler, {TargetKind::kLearner, 0, 0}, 10.0 * k, 1.0, 1.0));
  }
  const Run split = run(s, protocol(s, "data_parallel"));
  CHECK(quiet.summary.tokens == split.summary.tokens);
  CHECK(quiet.summary.wan.bytes == doctest::Approx(split.summary.wan.bytes).epsilon(1e-9));
  // 8 Gbit a step in each direction from 109 whole steps and the 110th that was under way.
  CHECK(quiet.summary.wan.bytes == doctest::Approx(2 * 1e9 * 109.5).epsilon(1e-2));
  CHECK(facts<fact::Reduce>(quiet.tape).size() < 10);
  CHECK(facts<fact::Reduce>(split.tape).size() > 50);
}

TEST_CASE("data-parallel, non-elastic: waits for every chip, keeping the step when told to") {
  // Ideal network, T = 10. Slice lost at 15 s for 30 s. Kept: the step ends at 20; wait until 45; then
  // slice_down 13 + scale_up 13: steps again at 71. Till 1,000: 92.9 → 92 steps; 2 before: 94.
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0);
  model(&s, 8e9);
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 0, 0}, 15.0, 30.0)};
  Protocol p = protocol(s, "data_parallel");
  p.recovery.resume = Resume::kAllSlicesBack;
  p.recovery.step_in_progress = StepInProgress::kKept;
  const Run r = run(s, p);
  CHECK(r.summary.tokens == 94 * 1000);
  // 25 s of waiting, half of the chips away: 4 × 25 degraded, 4 × 25 infrastructure_recovery.
  CHECK(lost(r.summary, Cause::kDegraded) == doctest::Approx(100.0));
  CHECK(lost(r.summary, Cause::kInfrastructureRecovery) == doctest::Approx(100.0));
  CHECK(lost(r.summary, Cause::kSliceDown) == doctest::Approx(8 * 13.0));
  CHECK(lost(r.summary, Cause::kScaleUp) == doctest::Approx(8 * 13.0));
  CHECK(lost(r.summary, Cause::kWastedProgress) == 0.0);
}

TEST_CASE("data-parallel, non-elastic: a slice that is back before the step ends still stops the job") {
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0);
  model(&s, 8e9);
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 0, 0}, 15.0, 2.0)};
  Protocol p = protocol(s, "data_parallel");
  p.recovery.resume = Resume::kAllSlicesBack;
  p.recovery.step_in_progress = StepInProgress::kKept;
  const Run r = run(s, p);
  CHECK(lost(r.summary, Cause::kSliceDown) == doctest::Approx(8 * 13.0));
  // Steps until 20, pauses until 46, then 95.4 → 95: 97 steps.
  CHECK(r.summary.tokens == 97 * 1000);
}

TEST_CASE("data-parallel, non-elastic: restart from the checkpoint loses the steps since it") {
  // T = 10, save every 100 s (30 s blocking), loss at 255 s for 45 s, restart 100, restore 60.
  // Steps 1–10 until 100, save until 130, steps 11–20 until 230, save until 260: lost at 255 in the save.
  // So the last save holds step 10; wait until 300, restart until 400, restore until 460. Ten steps lost.
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0);
  model(&s, 8e9);
  s.stop.simulated_s = 500;
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 0, 0}, 255.0, 45.0)};
  Protocol p = protocol(s, "data_parallel");
  p.recovery.checkpoint_rule = CheckpointRule::kPeriod;
  p.recovery.checkpoint_every_s = 100;
  p.recovery.restart_s = 100;
  const Run r = run(s, p);
  const auto back = facts<fact::RollBack>(r.tape);
  REQUIRE(back.size() == 1);
  CHECK(back[0].to_step == 10);
  CHECK(back[0].t == doctest::Approx(460.0));
  CHECK(r.summary.tokens == (10 + 4) * 1000);         // 460 → 500: four steps
  CHECK(r.summary.tokens_computed == (20 + 4) * 1000);
  CHECK(lost(r.summary, Cause::kWastedProgress) == doctest::Approx(8 * 100.0));
  CHECK(lost(r.summary, Cause::kCheckpointSave) == doctest::Approx(8 * 55.0));
  CHECK(lost(r.summary, Cause::kCheckpointRestore) == doctest::Approx(8 * 60.0));
}

TEST_CASE("data-parallel, elastic: the batch shrinks, the step time stays, the slice comes back") {
  // T = 10, slice (half of the learner) lost at 15 for 100 s, step lost: cut 5 s, slice_down until 28, then
  // steps of 500 tokens until the boundary after 115: 118; scale_up until 131; then 86.9 → 86 whole steps.
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0);
  model(&s, 8e9);
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 0, 1}, 15.0, 100.0)};
  const Run r = run(s, protocol(s, "data_parallel_elastic"));
  CHECK(r.summary.tokens == 1000 + 9 * 500 + 86 * 1000);
  CHECK(lost(r.summary, Cause::kWastedProgress) == doctest::Approx(8 * 5.0));
  CHECK(lost(r.summary, Cause::kSliceDown) == doctest::Approx(4 * 13.0));
  CHECK(lost(r.summary, Cause::kDegraded) == doctest::Approx(4 * (118.0 - 15.0)));
  CHECK(lost(r.summary, Cause::kScaleUp) == doctest::Approx(8 * 13.0));
}

TEST_CASE("data-parallel, elastic: a whole island takes 3 × the model over the wide area") {
  // Two regions at 8 Gbit/s, model 8 Gbit: ring-2 moves 8 Gbit: 1 s a step beside T = 10 (hidden but for the
  // last bucket). Island of r1 down at 15 for 100 s. Copy: 24 Gbit at 8 Gbit/s = 3 s.
  Scenario s = regions(2, 8.0, 0.0);
  add_learner(&s, 0, 10.0);
  add_learner(&s, 1, 10.0);
  model(&s, 8e9);
  s.faults = {scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 1, 0}, 15.0, 100.0)};
  const Run r = run(s, protocol(s, "data_parallel_elastic"));
  // Both pause for slice_down (isl.2 is down), both for the copy and scale_up: 16 s.
  CHECK(lost(r.summary, Cause::kScaleUp) == doctest::Approx(16 * 16.0));
  CHECK(lost(r.summary, Cause::kSliceDown) == doctest::Approx(8 * 13.0));
  CHECK(lost(r.summary, Cause::kDown) == doctest::Approx(8 * 100.0));
}

TEST_CASE("data-parallel: ideal network and M = 1 take exactly the step time") {
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 2.5);
  model(&s, 8e9);
  s.stop.tokens = 10000;
  const Run r = run(s, protocol(s, "data_parallel"));
  CHECK(r.tape.end.t == doctest::Approx(25.0).epsilon(1e-12));
  CHECK(r.tape.end.reason == "tokens");
  CHECK(r.summary.goodput == doctest::Approx(1.0));
}

TEST_CASE("data-parallel: faults on the stepping axis strike in the middle of steps") {
  // One slice of two fails after 1,000 s of stepping and is away 100 s; T = 10 s. Elastic: every time the
  // step is cut, 13 s of slice_down, about 10 half steps, 13 s of scale_up: like wall exposure with these
  // dates, and never for free.
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0);
  model(&s, 8e9);
  s.stop.simulated_s = 7200;
  Fault fault;
  fault.name = "slices";
  fault.targets = {{TargetKind::kSlice, 0, 0}};
  fault.scripted = false;
  fault.gap = {LawKind::kConstant, 1003.0};
  fault.away = {LawKind::kConstant, 100.0};
  fault.exposure = Exposure::kStepping;
  s.faults = {fault};
  const Run r = run(s, protocol(s, "data_parallel_elastic"));
  // After 1,003 s stepping, then 1,003 s more without the time away and the pauses: dates near 1,003;
  // 2,130; …: 6 faults in 7,200 s.
  CHECK(r.summary.faults.hit == 6);
  CHECK(lost(r.summary, Cause::kSliceDown) == doctest::Approx(6 * 4 * 13.0));
  CHECK(lost(r.summary, Cause::kScaleUp) == doctest::Approx(6 * 8 * 13.0));
  CHECK(lost(r.summary, Cause::kDegraded) >= 6 * 4 * 100.0);
}

TEST_CASE("data-parallel: nobody there at the start: it begins when chips are") {
  for (const char* preset : {"data_parallel", "data_parallel_elastic"}) {
    Scenario s = regions(1, 0, 0);
    add_learner(&s, 0, 10.0);
    model(&s, 8e9);
    s.faults = {scripted(FaultKind::kRegionDark, {TargetKind::kRegion, 0, 0}, 0, 100)};
    const Run r = run(s, protocol(s, preset));
    CHECK(r.summary.tokens == 90 * 1000);
    CHECK(lost(r.summary, Cause::kDown) == doctest::Approx(8 * 100.0));
  }
}

TEST_CASE("data-parallel, elastic: a late joiner is allocated from its start, off a step boundary too") {
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0);
  add_learner(&s, 0, 10.0);
  s.learners[1].start_s = 505;
  model(&s, 8e9);
  const Run r = run(s, protocol(s, "data_parallel_elastic"));
  CHECK(r.summary.chip_seconds_total == doctest::Approx(8 * 1000.0 + 8 * 495.0));
  // 51 steps alone until 510, scale_up until 523, then 47 steps of both.
  CHECK(r.summary.tokens == 51 * 1000 + 47 * 2000);
}

TEST_CASE("data-parallel: free saves come after every step") {
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0);
  model(&s, 8e9);
  s.stop.simulated_s = 1500;
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 0, 0}, 505, 10)};
  Protocol p = protocol(s, "data_parallel");
  p.recovery.checkpoint_save_s = 0;
  const Run r = run(s, p);
  const auto back = facts<fact::RollBack>(r.tape);
  REQUIRE(back.size() == 1);
  CHECK(back[0].to_step == 50);
}

TEST_CASE("elastic data-parallel: what comes back during a pause waits for one step, not for a stretch") {
  // Slice of learner 0 away 105-120, learner 1 away 205-225. The slice's scale-up (13 s) begins after the step
  // that ends past 118; learner 1 comes back while the others pause for its loss (slice_down 205-218 …).
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0);
  add_learner(&s, 0, 10.0);
  model(&s, 8e9);
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 0, 0}, 105, 25),
              scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 1, 0}, 107, 27)};
  // 100-105 lost; slice_down begins at 105 and, with learner 1, again at 107: to 120; half a step of learner 0
  // to 130; the slice is back at 130: scale-up to 143, in which learner 1 comes back (134): one step to 153,
  // then its scale-up to 166, then both step: (1,000 − 166) / 10 = 83 whole steps.
  const Run r = run(s, protocol(s, "data_parallel_elastic"));
  CHECK(r.summary.by_learner[1].tokens == (10 + 83) * 1000.0);
}
