// Kinds of faults beside chips that go away, what is announced, spares and recovery rules.
#include <doctest/doctest.h>

#include "tests/sim/protocols/worlds.hpp"

using namespace worlds;

namespace {

Protocol quiet(const Scenario& s, const std::string& preset = "decoupled_diloco") {
  Protocol p = protocol(s, preset);
  p.exchange = false;
  return p;
}

Target slice(int learner, int part) { return {TargetKind::kSlice, learner, part}; }

double seconds_lost(const Summary& summary, Cause cause) { return lost(summary, cause) / 8.0; }

}  // namespace

TEST_CASE("without exchange a stretch of steps is one fact, and every change falls on the right step") {
  Scenario s = apart(1, 0);
  const Run calm = run(s, quiet(s));
  CHECK(calm.summary.tokens == 100 * 1000.0);
  CHECK(facts<fact::Steps>(calm.tape).size() == 1);
  CHECK_FALSE(calm.summary.merged_share.has_value());
  // Slice away 105-155, step in progress kept: whole steps to 110 (11), slice_down to 123, half steps
  // 123-163 (4), scale_up to 176, whole steps 176-996 (82), 4 s cut: 11,000 + 4 · 500 + 82,000 tokens.
  s.faults = {scripted(FaultKind::kSliceDown, slice(0, 1), 105, 50)};
  Protocol p = quiet(s);
  p.recovery.step_in_progress = StepInProgress::kKept;
  const Run kept = run(s, p);
  CHECK(kept.summary.tokens == 95000.0);
  CHECK(lost(kept.summary, Cause::kSliceDown) == doctest::Approx(13.0 * 4));
  CHECK(lost(kept.summary, Cause::kScaleUp) == doctest::Approx(13.0 * 8));
  // Lost: 10 steps to 100, 5 s for nothing, slice_down 105-118, half steps 118-158 (4), scale_up to 171,
  // 82 whole steps to 991, 9 s cut.
  p.recovery.step_in_progress = StepInProgress::kLost;
  const Run cut = run(s, p);
  CHECK(cut.summary.tokens == 10000 + 2000 + 82000.0);
  CHECK(lost(cut.summary, Cause::kWastedProgress) == doctest::Approx(5.0 * 8));
}

TEST_CASE("without exchange the run ends at its tokens, with learners of different speed") {
  Scenario s = apart(3, 0);
  s.learners[1].step_s = 13.0;
  s.learners[2].step_s = 7.0;
  s.stop.tokens = 500 * 1000.0;
  s.stop.simulated_s = kNever;
  const Run r = run(s, quiet(s));
  // 1/10 + 1/13 + 1/7 steps a second: 500 steps after 1,563.6 s, seen at the next end of a step.
  CHECK(r.summary.tokens >= 500e3);
  CHECK(r.summary.tokens <= 502e3);
  CHECK(r.summary.simulated_s >= 1563.5);
  CHECK(r.summary.simulated_s <= 1563.6 + 13.0);
}

TEST_CASE("a straggler without exchange slows the steps that begin while it lasts") {
  Scenario s = apart(1, 0);
  s.faults = {scripted(FaultKind::kStraggler, whole(0), 105, 100, 2.0)};
  // To 110 at 10 s (11 steps), 110-210 at 20 s (5), then 79 of 10 s.
  CHECK(run(s, quiet(s)).summary.tokens == (11 + 5 + 79) * 1000.0);
}

TEST_CASE("a hang is silence: nothing happens until the watchdog's time-out") {
  Scenario s = apart(1, 0);
  s.faults = {scripted(FaultKind::kHang, slice(0, 0), 105, 50)};
  for (const char* preset : {"decoupled_diloco", "data_parallel_elastic"}) {
    CAPTURE(preset);
    Protocol p = quiet(s, preset);
    p.recovery.hang_detection_s = 600;
    const Run r = run(s, p);
    // 100-105 wasted by all 8 chips; 105-705 the 4 chips left wait; slice_down to 718; half steps to 758
    // (the slice is back 50 s after it was noticed, at 755); scale_up to 771; 22 whole steps, 9 s cut.
    CHECK(lost(r.summary, Cause::kWastedProgress) == doctest::Approx(5.0 * 8));
    CHECK(lost(r.summary, Cause::kInfrastructureRecovery) == doctest::Approx(600.0 * 4));
    CHECK(r.summary.tokens == doctest::Approx(10000 + 4 * 500 + 22000.0));
  }
}

TEST_CASE("slow storage stretches the saves that begin while it lasts") {
  Scenario s = apart(1, 0);
  s.faults = {scripted(FaultKind::kStorageSlow, {TargetKind::kStorage, 0, 0}, 0, kNever, 4.0)};
  Protocol p = protocol(s, "data_parallel");
  p.recovery.checkpoint_rule = CheckpointRule::kPeriod;
  p.recovery.checkpoint_every_s = 100;
  // 100 s of work, 4 × 30 s of saving: 880 s for four, 100 s of work, 20 s of a save that the end cuts.
  const Run r = run(s, p);
  CHECK(seconds_lost(r.summary, Cause::kCheckpointSave) == doctest::Approx(500.0));
  CHECK(r.summary.tokens == 50 * 1000.0);
}

TEST_CASE("silent corruption costs all work since it began, once it is found") {
  Scenario s = apart(2, 0);
  s.stop.simulated_s = 2000;
  s.faults = {scripted(FaultKind::kCorruption, whole(0), 505, 300)};
  SUBCASE("one learner of two: the other goes on") {
    // Found at 805: 30 steps since 500, and the step in progress.
    const Run r = run(s, protocol(s, "decoupled_diloco"));
    const auto losses = facts<fact::Lost>(r.tape);
    REQUIRE(losses.size() == 1);
    CHECK(losses[0].t == 805.0);
    CHECK(losses[0].tokens == doctest::Approx(30000.0));
    CHECK(lost(r.summary, Cause::kWastedProgress) == doctest::Approx(8 * 305.0));
    CHECK(r.summary.by_learner[1].tokens == 200 * 1000.0);
    CHECK(facts<fact::Copy>(r.tape).size() == 1);
  }
  SUBCASE("data-parallel goes back to the last save before it") {
    Protocol p = protocol(s, "data_parallel");
    p.recovery.checkpoint_rule = CheckpointRule::kPeriod;
    p.recovery.checkpoint_every_s = 200;
    p.recovery.checkpoint_save_s = 10;
    // Saves end at 210, 420, 630: the one at 420, of 40 steps, is the last sound one.
    const Run r = run(s, p);
    const auto back = facts<fact::RollBack>(r.tape);
    REQUIRE(back.size() == 1);
    CHECK(back[0].to_step == 40);
    CHECK(back[0].t == doctest::Approx(805.0 + 600 + 60));
  }
}

TEST_CASE("a spare takes the place of a broken slice; without one the slice waits for a repair") {
  Scenario s = apart(1, 0);
  s.learners[0].spares = 1;
  s.stop.simulated_s = 1400;
  s.faults = {scripted(FaultKind::kSliceDown, slice(0, 0), 105, 1000),
              scripted(FaultKind::kSliceDown, slice(0, 1), 300, 5000)};
  Protocol p = quiet(s);
  p.recovery.spare_swap_s = 90;
  const auto back = facts<fact::Repaired>(run(s, p).tape);
  REQUIRE(back.size() == 2);
  CHECK(back[0].t == 195.0);             // 105 + 90
  CHECK(back[1].t == 1105.0 + 90.0);     // the first one mended, then swapped in
  CHECK(back[1].target.part == 1);
}

TEST_CASE("an announced loss costs the saving and the restoring, and no work") {
  // Chips of learner 1 go at 900 for 300 s, announced at 600; a save takes 30 s, a step 10 s, a restore 60 s.
  Scenario s = apart(2, 0);
  s.stop.simulated_s = 2000;
  s.faults = {announced(scripted(FaultKind::kIslandDown, whole(1), 900, 300), 300)};
  for (const bool exchange : {true, false}) {
    CAPTURE(exchange);
    Protocol p = protocol(s, "decoupled_diloco");
    p.exchange = exchange;
    const Run r = run(s, p);
    CHECK(facts<fact::Lost>(r.tape).empty());
    CHECK(facts<fact::Leave>(r.tape).empty());
    CHECK(seconds_lost(r.summary, Cause::kCheckpointSave) == doctest::Approx(30.0));      // 860-890
    CHECK(seconds_lost(r.summary, Cause::kInfrastructureRecovery) == doctest::Approx(10.0));
    CHECK(seconds_lost(r.summary, Cause::kDown) == doctest::Approx(300.0));
    CHECK(seconds_lost(r.summary, Cause::kCheckpointRestore) == doctest::Approx(60.0));   // to 1,260
    CHECK(r.summary.by_learner[1].tokens == (86 + 74) * 1000.0);
    CHECK(facts<fact::FaultHit>(r.tape).at(0).t == 900.0);
  }
  SUBCASE("too short a notice is no notice") {
    s.faults = {announced(scripted(FaultKind::kIslandDown, whole(1), 900, 300), 25)};
    CHECK(facts<fact::Leave>(run(s, protocol(s, "decoupled_diloco")).tape).size() == 1);
  }
  SUBCASE("data-parallel saves in time") {
    Protocol p = protocol(s, "data_parallel");
    p.recovery.checkpoint_rule = CheckpointRule::kPeriod;
    p.recovery.checkpoint_every_s = 1e6;
    const Run r = run(s, p);
    const auto back = facts<fact::RollBack>(r.tape);
    REQUIRE(back.size() == 1);
    CHECK(back[0].to_step == 86);
    CHECK(back[0].t == doctest::Approx(1200.0 + 600 + 60));
  }
}

TEST_CASE("a learner that waits for a fragment stores its state in time too") {
  // Learner 0 is away from 205 on: the others wait for it (at_overlap, on_loss wait) past 900.
  Scenario s = apart(3, 0);
  s.stop.simulated_s = 2000;
  s.faults = {scripted(FaultKind::kIslandDown, whole(0), 205, 1500),
              announced(scripted(FaultKind::kIslandDown, whole(1), 900, 300), 300)};
  const Run r = run(s, protocol(s, "streaming_diloco"));
  for (const fact::Leave& leave : facts<fact::Leave>(r.tape)) CHECK(leave.learner == 0);
  CHECK(seconds_lost(r.summary, Cause::kCheckpointSave) == doctest::Approx(30.0));
}

TEST_CASE("a lost shard fetches what its snapshot does not hold; its learners step on") {
  // Model 8 Gbit; 1 Gbit/s ports. Lost at 700 for 100 s.
  Scenario s = apart(4, 1.0);
  s.faults = {scripted(FaultKind::kShardLost, {TargetKind::kRegion, 3, 0}, 700, 100)};
  Protocol p = protocol(s, "decoupled_diloco");
  const Run whole_model = run(s, p);
  p.recovery.snapshot_every_steps = 24;
  const Run with_snapshot = run(s, p);
  const auto snapshots = facts<fact::Snapshot>(with_snapshot.tape);
  REQUIRE(snapshots.size() >= 3);
  for (const fact::Snapshot& snapshot : snapshots) {
    CHECK(snapshot.clock % 24 == 0);
    CHECK(snapshot.t >= snapshot.began);
  }
  CHECK(whole_model.summary.by_learner[3].tokens == 100 * 1000.0);
  // Without a snapshot all 8 Gbit; with one of clock 48 the fragments of clocks 49 to 80 or so, each of the
  // 24 at least once: the same. A snapshot spares only what did not change since.
  CHECK(with_snapshot.summary.wan.bytes <= whole_model.summary.wan.bytes);
  p.sync_period_steps = 96;   // 24 fragments in 96 steps
  const Run slow_whole = run(s, [&] { Protocol q = p; q.recovery.snapshot_every_steps = 0; return q; }());
  const Run slow_snapshot = run(s, p);
  CHECK(slow_snapshot.summary.wan.bytes < slow_whole.summary.wan.bytes - 0.4e9);
}

TEST_CASE("several donors send parts of the state at once") {
  // State 3 × 8 Gbit; donors' ports 0.5 Gbit/s, the newcomer's 10.
  Scenario s = apart(3, 0.5);
  s.regions[2].up_Bps = s.regions[2].down_Bps = bytes_per_s_from_gbps(10);
  s.stop.simulated_s = 3000;
  s.faults = {scripted(FaultKind::kIslandDown, whole(2), 605, 100)};
  Protocol p = protocol(s, "decoupled_diloco");
  p.sync_period_steps = 240;   // little traffic beside
  const auto one = facts<fact::Copy>(run(s, p).tape);
  p.recovery.donors = 2;
  const auto two = facts<fact::Copy>(run(s, p).tape);
  REQUIRE(one.size() == 1);
  REQUIRE(two.size() == 1);
  // One: 24 Gbit / 0.5 Gbit/s = 48 s; two: 24 s; both after the first fragment, and with some traffic beside.
  CHECK(one[0].t - two[0].t >= 20.0);
  CHECK(one[0].t - two[0].t <= 30.0);
}

TEST_CASE("a recovery beyond its limit") {
  // State 3 × 8 Gbit at 0.5 Gbit/s: 48 s and more, about five steps of the syncer's clock.
  Scenario s = apart(3, 0.5);
  s.stop.simulated_s = 2000;
  s.faults = {scripted(FaultKind::kIslandDown, whole(2), 605, 100)};
  Protocol p = protocol(s, "decoupled_diloco");
  p.recovery.limit_steps = 2;
  SUBCASE("admit") {
    const auto copies = facts<fact::Copy>(run(s, p).tape);
    REQUIRE(copies.size() == 1);
    CHECK(copies[0].age_steps > 2);
    CHECK(copies[0].donor >= 0);
  }
  SUBCASE("fresh inner state") {
    p.recovery.when_late = WhenLate::kFreshInnerState;
    const auto copies = facts<fact::Copy>(run(s, p).tape);
    REQUIRE(copies.size() == 1);
    CHECK(copies[0].donor == -1);
    CHECK(copies[0].t - copies[0].began >= 48.0);
  }
  SUBCASE("refuse: it tries for ever, and the others go on") {
    p.recovery.when_late = WhenLate::kRefuse;
    const Run r = run(s, p);
    CHECK(facts<fact::Copy>(r.tape).empty());
    CHECK(r.summary.by_learner[0].tokens == 200 * 1000.0);
  }
  SUBCASE("no limit, from the syncer: at once") {
    p.recovery.rejoin_from = RejoinFrom::kSyncer;
    const auto copies = facts<fact::Copy>(run(s, p).tape);
    REQUIRE(copies.size() == 1);
    CHECK(copies[0].donor == -1);
    CHECK(copies[0].t - copies[0].began <= 20.0);   // until the first fragment
  }
}

TEST_CASE("a node dies and is noticed late (F13)") {
  // One slice of learner 0 at 1,150 s, replaced at once; noticed after 1,800 s; restart 600 s; 150 s of work
  // since the last save (at 1,000 s, which costs nothing): 2,550 s for everybody, 1,350 with 600 s.
  Scenario s = apart(2, 0);
  s.stop.simulated_s = 5000;
  s.faults = {scripted(FaultKind::kSliceDown, slice(0, 0), 1150, 1)};
  for (const double detection_s : {1800.0, 600.0}) {
    CAPTURE(detection_s);
    Protocol p = protocol(s, "data_parallel");
    p.recovery.detection_s = detection_s;
    p.recovery.checkpoint_rule = CheckpointRule::kPeriod;
    p.recovery.checkpoint_every_s = 1000;
    p.recovery.checkpoint_save_s = 0;
    p.recovery.checkpoint_restore_s = 0;
    const Run r = run(s, p);
    const double left_s = 5000 - (detection_s + 600 + 150);
    CHECK(r.summary.tokens == doctest::Approx(2 * 1000.0 * left_s / 10.0));
    // Decoupled: the other learner loses nothing; it never waits.
    Protocol d = protocol(s, "decoupled_diloco");
    d.recovery.detection_s = detection_s;
    const Run decoupled = run(s, d);
    CHECK(decoupled.summary.by_learner[1].tokens == 500 * 1000.0);
    CHECK(decoupled.summary.by_learner[0].tokens < (500 - detection_s / 10.0) * 1000.0 + 1);
  }
}

TEST_CASE("a partition: the larger side goes on, the other steps and catches up when it heals") {
  // Regions 0, 1, 2 with two, two and one learners; region 2 is cut from both others, 500-900.
  Scenario s = regions(3, 1.0, 0.0);
  for (const int region : {0, 0, 1, 1, 2}) add_learner(&s, region, 10.0);
  model(&s, 8e9);
  s.stop.simulated_s = 1500;
  for (const int other : {0, 1}) {
    for (const int link : {s.link_between(2, other), s.link_between(other, 2)}) {
      s.faults.push_back(scripted(FaultKind::kPartition, {TargetKind::kLink, link, 0}, 500, 400));
    }
  }
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  CHECK(r.summary.goodput == 1.0);
  int inside = 0;
  for (const fact::Merge& merge : facts<fact::Merge>(r.tape)) {
    if (merge.t < 520 || merge.t > 900) continue;
    inside += 1;
    CHECK(merge.participants <= 4);
  }
  CHECK(inside >= 30);   // 38 steps, a fragment each
  double first_s = kNever;
  for (const fact::Overwrite& over : facts<fact::Overwrite>(r.tape)) {
    if (over.learner != 4 || over.t < 520) continue;
    CHECK(over.t >= 900);
    first_s = std::min(first_s, over.t);
  }
  CHECK(first_s <= 930);   // at most the whole model, 8 s, and the step in progress
}
