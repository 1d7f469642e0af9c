#include <doctest/doctest.h>

#include <cmath>

#include "tests/sim/protocols/worlds.hpp"

using namespace worlds;

namespace {

// Four regions of two learners, step 10 s, ideal ports.
Scenario eight(double gbps) {
  Scenario s = regions(4, gbps, 0.0);
  for (int m = 0; m < 8; ++m) add_learner(&s, m / 2, 10.0);
  model(&s, 8e9);
  s.stop.simulated_s = 3600;
  return s;
}

}  // namespace

TEST_CASE("one of four regions dark for 10 min in an hour (F10)") {
  // Decoupled: 1 − (1/6)(1/4) = 0.958 of 8 × 360 steps, less the restart of two learners (scale-up 13 s, wait
  // for a fragment ≤ 10 s, ideal copy) and the work since their last merge.
  Scenario s = eight(0);
  s.faults = {scripted(FaultKind::kRegionDark, {TargetKind::kRegion, 2, 0}, 1200, 600)};
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  const double full = 8 * 360 * 1000.0;
  CHECK(r.summary.tokens / full <= 0.9584);
  CHECK(r.summary.tokens / full >= 0.9584 - 2 * (13.0 + 20.0 + 24 * 10.0) / (8 * 3600.0));
  CHECK(r.summary.uptime == doctest::Approx(1.0));
  // Non-elastic data-parallel: at most 83.3 %, less detection and restart.
  Protocol dp = protocol(s, "data_parallel");
  dp.recovery.resume = Resume::kAllSlicesBack;
  const Run d = run(s, dp);
  CHECK(d.summary.tokens / full < 0.8334);
  CHECK(d.summary.tokens / full > 0.8334 - (13.0 + 13.0 + 20.0) / 3600.0);
}

TEST_CASE("a returning learner copies the state of a neighbour and takes part") {
  Scenario s = eight(10.0);
  s.faults = {scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 3, 0}, 1205, 600)};
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  const auto copies = facts<fact::Copy>(r.tape);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].learner == 3);
  CHECK(copies[0].donor == 2);                       // the other learner of its region
  const auto joins = facts<fact::Join>(r.tape);
  CHECK(joins.back().step == copies[0].donor_step);
  // Steps since its last merge, weighted by fragment share: at least half a period on average 11.5 of 24.
  const auto losses = facts<fact::Lost>(r.tape);
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].steps > 5.0);
  CHECK(losses[0].steps < 24.0);
  CHECK(lost(r.summary, Cause::kDown) == doctest::Approx(8 * 600.0));
}

TEST_CASE("the state of a whole region comes over the wide area once and fans out inside") {
  // 24 Gbit at 1 Gbit/s beside the regular traffic; both learners of the region come back.
  Scenario s = eight(1.0);
  s.faults = {scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 2, 0}, 1205, 100),
              scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 3, 0}, 1205, 100)};
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  const auto copies = facts<fact::Copy>(r.tape);
  REQUIRE(copies.size() == 2);
  CHECK(s.learners[static_cast<std::size_t>(copies[0].donor)].region != 1);
  CHECK(copies[1].donor == copies[0].learner);
  CHECK(copies[0].t >= 1305 + 13 + 24.0);
}

TEST_CASE("a donor that leaves is replaced; nothing waits for the dead one (R4)") {
  // One learner per region: every copy crosses the wide area (24 Gbit at 0.5 Gbit/s: 48 s and more).
  Scenario s = regions(3, 0.5, 0.0);
  for (int m = 0; m < 3; ++m) add_learner(&s, m, 10.0);
  model(&s, 8e9);
  s.stop.simulated_s = 3600;
  s.faults = {scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 2, 0}, 605, 100)};
  const Run calm = run(s, protocol(s, "decoupled_diloco"));
  const auto first = facts<fact::Copy>(calm.tape);
  REQUIRE(first.size() == 1);
  const int donor = first[0].donor;
  s.faults.push_back(
      scripted(FaultKind::kIslandDown, {TargetKind::kLearner, donor, 0}, first[0].t - 20.0, 2000));
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  const auto copies = facts<fact::Copy>(r.tape);
  REQUIRE(copies.size() >= 1);
  CHECK(copies[0].learner == 2);
  CHECK(copies[0].donor != donor);
  CHECK(copies[0].t < first[0].t + 600);
}

TEST_CASE("a newcomer does not report before it has the state (R5)") {
  Scenario s = regions(2, 1.0, 0.0);
  add_learner(&s, 0, 10.0);
  add_learner(&s, 1, 10.0);
  s.learners[1].start_s = 500;
  model(&s, 8e9);
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  const auto joins = facts<fact::Join>(r.tape);
  REQUIRE(joins.size() == 2);
  CHECK(joins[1].learner == 1);
  CHECK(joins[1].step > 45);
  for (const fact::Pull& pull : facts<fact::Pull>(r.tape)) {
    if (pull.learner == 1) CHECK(pull.t > joins[1].t);
  }
  // Chips are allocated from their start only: 8 × 1,000 + 8 × 500.
  CHECK(r.summary.chip_seconds_total == doctest::Approx(12000.0));
}

TEST_CASE("everybody lost: the shards still hold the global parameters") {
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 10.0, 1);
  model(&s, 8e9);
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 0, 0}, 105, 50)};
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  const auto copies = facts<fact::Copy>(r.tape);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].donor == -1);
  CHECK(r.summary.tokens > 80 * 1000);
}

TEST_CASE("DiLoCo waits for a lost learner; with on_loss continue it does not") {
  for (bool go_on : {false, true}) {
    Scenario s = eight(0);
    s.faults = {scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 5, 0}, 1205, 600)};
    Protocol p = protocol(s, "diloco");
    p.on_loss = go_on ? OnLoss::kContinue : OnLoss::kWait;
    const Run r = run(s, p);
    const double waited = lost(r.summary, Cause::kWaitingForQuorum);
    if (go_on) CHECK(waited < 8 * 7 * 30.0);
    if (!go_on) CHECK(waited > 8 * 7 * 300.0);
    CHECK(r.tape.end.t == 3600);
  }
}

TEST_CASE("a cut port is a partition: the ring goes on without it, then it fetches what it missed") {
  Scenario s = eight(2.0);
  s.faults = {scripted(FaultKind::kLinkCut, {TargetKind::kPort, 1, 0}, 1200, 300)};
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  CHECK(r.summary.goodput > 0.99);                    // learners step on
  CHECK(facts<fact::Leave>(r.tape).empty());
  double merged_in_cut = 0;
  for (const fact::Merge& merge : facts<fact::Merge>(r.tape)) {
    if (merge.t > 1210 && merge.t < 1500) {
      merged_in_cut += 1;
      CHECK(merge.participants <= 6);
    }
  }
  CHECK(merged_in_cut > 20);
  bool late = false;
  for (const fact::Overwrite& taken : facts<fact::Overwrite>(r.tape)) {
    late = late || ((taken.learner == 2 || taken.learner == 3) && taken.t > 1500 && taken.t < 1600 &&
                    taken.pulled_step < 0);
  }
  CHECK(late);
}

TEST_CASE("a cut link between two regions stalls the ring until it heals; learners go on") {
  Scenario s = eight(2.0);
  const int link = s.link_between(0, 1);
  s.faults = {scripted(FaultKind::kLinkCut, {TargetKind::kLink, link, 0}, 1200, 100)};
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  CHECK(r.summary.goodput == doctest::Approx(1.0));
  CHECK(r.tape.end.t == 3600);
  CHECK(r.summary.hidden_share.value() < 1.0);
}

TEST_CASE("a central syncer in a region of its own goes dark: learners step on, merges stop and go on") {
  Scenario s = regions(3, 2.0, 0.0);
  add_learner(&s, 0, 10.0);
  add_learner(&s, 1, 10.0);
  model(&s, 8e9);
  s.stop.simulated_s = 3600;
  s.faults = {scripted(FaultKind::kRegionDark, {TargetKind::kRegion, 2, 0}, 1200, 600)};
  Protocol p = protocol(s, "decoupled_diloco");
  p.syncer = SyncerPlace::kCentral;
  p.syncer_region = 2;
  p.all_reduce = AllReduce::kStar;
  p.star_region = 2;
  const Run r = run(s, p);
  CHECK(r.summary.goodput == doctest::Approx(1.0));
  int in_the_dark = 0, after = 0;
  for (const fact::Merge& merge : facts<fact::Merge>(r.tape)) {
    in_the_dark += merge.t > 1200 && merge.t < 1800 ? 1 : 0;
    after += merge.t >= 1800 ? 1 : 0;
  }
  CHECK(in_the_dark == 0);
  CHECK(after > 150);
}

TEST_CASE("independent learners: uptime is 1 − (1 − u)^M (F2)") {
  // Islands fail every 1,000 s on average for 500 s, faults nest: u = e^(−0.5) = 0.607 for one, and two
  // independent ones give 1 − 0.393² = 0.845. Each run of 300,000 s holds about 300 faults an island:
  // 3σ of u is about 3 · 0.5/√300 · √2 = 0.12 for one run, a quarter of that over 16 seeds.
  double one = 0, both = 0;
  const int seeds = 16;
  for (int seed = 1; seed <= seeds; ++seed) {
    Scenario s = regions(1, 0, 0);
    add_learner(&s, 0, 1.0);
    add_learner(&s, 0, 1.0);
    model(&s, 8e9);
    s.stop.simulated_s = 300000;
    Fault fault;
    fault.name = "islands";
    fault.kind = FaultKind::kIslandDown;
    fault.targets = {{TargetKind::kLearner, 0, 0}, {TargetKind::kLearner, 1, 0}};
    fault.scripted = false;
    fault.gap = {LawKind::kExponential, 1000.0};
    fault.away = {LawKind::kExponential, 500.0};
    s.faults = {fault};
    Protocol p = protocol(s, "decoupled_diloco");
    p.recovery.scale_up_s = 0;
    const Run r = run(s, p, static_cast<std::uint64_t>(seed));
    double stepping = 0;
    for (const fact::Steps& steps : facts<fact::Steps>(r.tape)) stepping += steps.t1 - steps.t0;
    one += stepping / 300000.0 / 2.0 / seeds;
    both += r.summary.uptime / seeds;
  }
  CHECK(one == doctest::Approx(std::exp(-0.5)).epsilon(0.05));
  CHECK(both == doctest::Approx(1 - (1 - one) * (1 - one)).epsilon(0.03));
}

TEST_CASE("a lost learner counts for the quorum until its loss is noticed") {
  double waited[2];
  for (int i = 0; i < 2; ++i) {
    Scenario s = eight(0);
    s.faults = {scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 5, 0}, 1205, 600)};
    Protocol p = protocol(s, "diloco");
    p.on_loss = OnLoss::kContinue;
    p.recovery.detection_s = i == 0 ? 0 : 300;
    waited[i] = lost(run(s, p).summary, Cause::kWaitingForQuorum);
  }
  // The seven others reach their sync within 24 steps of 10 s and wait for the rest of the 300 s.
  CHECK(waited[1] > waited[0] + 7 * 8 * 50.0);
  CHECK(waited[1] < waited[0] + 7 * 8 * 300.0);
}

TEST_CASE("learners that have not started yet are not waited for") {
  Scenario s = eight(0);
  s.learners[7].start_s = 99999;
  const Run r = run(s, protocol(s, "diloco"));
  CHECK(r.summary.learner_steps > 7 * 340);
}

TEST_CASE("a fragment that arrives while a waiting learner reconfigures is not missed") {
  // H = 10 steps of 10 s, then 8 Gbit at 0.8 Gbit/s: 10 s of all-reduce, 100 to 110 s. A slice leaves at 108:
  // slice_down lasts until 121, over the end of the all-reduce.
  Scenario s = regions(2, 0.8, 0.0);
  add_learner(&s, 0, 10.0);
  add_learner(&s, 1, 10.0);
  model(&s, 8e9);
  s.stop.tokens = 100 * 1000.0;
  s.stop.simulated_s = 1e5;
  s.faults = {scripted(FaultKind::kSliceDown, {TargetKind::kSlice, 1, 0}, 108, 300)};
  Protocol p = protocol(s, "diloco");
  p.sync_period_steps = 10;
  CHECK(run(s, p).tape.end.reason == "tokens");
}
