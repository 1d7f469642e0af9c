#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/error.hpp"
#include "sim/protocols/diloco.hpp"
#include "tests/sim/protocols/worlds.hpp"

using namespace worlds;

TEST_CASE("token weight: quantity times quality (H5)") {
  // A: 48,000 tokens in 24 steps: 48,000²/24 = 9.6e7. B: 12,000 in 12: 1.2e7. Shares 0.889 and 0.111.
  CHECK(token_weight(48000, 24) == 9.6e7);
  CHECK(token_weight(12000, 12) == 1.2e7);
  CHECK(9.6e7 / (9.6e7 + 1.2e7) == doctest::Approx(0.889).epsilon(1e-3));
}

TEST_CASE("DiLoCo: H steps, then one exposed all-reduce") {
  // Ring of 2 at 1 Gbit/s, 8 Gbit: 8 s. No latency. A round of H = 10 steps of 1 s takes 10 + 8 = 18 s.
  Scenario s = regions(2, 1.0, 0.0);
  add_learner(&s, 0, 1.0);
  add_learner(&s, 1, 1.0);
  model(&s, 8e9);
  s.stop.simulated_s = 180.5;
  Protocol p = protocol(s, "diloco");
  p.sync_period_steps = 10;
  const Run r = run(s, p);
  CHECK(r.summary.tokens == 2 * 10 * 10 * 1000);
  CHECK(r.tape.start.horizon_steps == 100);  // what it made, not the 181 that would fit
  CHECK(r.summary.compute_utilization == doctest::Approx(100.5 / 180.5).epsilon(1e-9));
  CHECK(r.summary.hidden_share.value() == 1.0);         // τ = 0: nothing grows stale
  CHECK(r.summary.stale_steps.mean == 0.0);
  CHECK(r.summary.merged_share.value() == doctest::Approx(1.0));
  CHECK(facts<fact::Merge>(r.tape).size() == 10);
}

TEST_CASE("DiLoCo: latency is paid by report, decision and 2(p−1) hops") {
  // 0.05 s one way: report to the coordinator 0.05 (the farther learner), decision back 0.05, ring lead 0.1.
  Scenario s = regions(2, 1.0, 0.05);
  add_learner(&s, 0, 1.0);
  add_learner(&s, 1, 1.0);
  model(&s, 8e9);
  s.stop.simulated_s = 183;
  Protocol p = protocol(s, "diloco");
  p.sync_period_steps = 10;
  const Run r = run(s, p);
  const auto merges = facts<fact::Merge>(r.tape);
  REQUIRE(merges.size() == 10);
  CHECK(merges[0].t == doctest::Approx(10 + 0.05 + 0.05 + 0.1 + 8.0).epsilon(1e-9));
}

TEST_CASE("M = 1, H = 1, τ = 0 equals data-parallel step for step in time (R15)") {
  Scenario s = regions(1, 1.0, 0.0);
  add_learner(&s, 0, 1.7);
  model(&s, 8e9);
  s.stop.tokens = 50000;
  Protocol p = protocol(s, "diloco");
  p.sync_period_steps = 1;
  const Run a = run(s, p);
  const Run b = run(s, protocol(s, "data_parallel"));
  CHECK(a.tape.end.t == doctest::Approx(b.tape.end.t).epsilon(1e-12));
  CHECK(a.summary.learner_steps == b.summary.learner_steps);
  CHECK(facts<fact::Overwrite>(a.tape).size() == 50);
}

TEST_CASE("Streaming: overlap hides what fits under it, and waits for the rest") {
  // 24 fragments of 1/3 Gbit over a ring of 2: H = 24, one fragment a step of 1 s.
  // At 1 Gbit/s a fragment takes 1/3 s: hidden, CU = 1. At 0.25 Gbit/s it takes 4/3 s > 1 s: the wire is the
  // limit: 24 × 4/3 = 32 s for 24 steps: CU = 0.75.
  for (double gbps : {1.0, 0.25}) {
    Scenario s = regions(2, gbps, 0.0);
    add_learner(&s, 0, 1.0);
    add_learner(&s, 1, 1.0);
    model(&s, 8e9);
    s.stop.simulated_s = 3200;
    const Run r = run(s, protocol(s, "streaming_diloco"));
    CHECK(r.summary.compute_utilization ==
          doctest::Approx(gbps == 1.0 ? 1.0 : 0.75).epsilon(2e-3));
    if (gbps == 1.0) CHECK(r.summary.merged_share.value() == doctest::Approx(23.0 / 24.0).epsilon(1e-2));
  }
}

TEST_CASE("Decoupled: nobody waits, K = 1 with grace collects everybody") {
  Scenario s = regions(2, 10.0, 0.01);
  for (int m = 0; m < 4; ++m) add_learner(&s, m % 2, m < 2 ? 1.0 : 1.1);
  model(&s, 8e9);
  s.stop.simulated_s = 2000;
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  CHECK(r.summary.compute_utilization == 1.0);
  CHECK(r.summary.goodput == doctest::Approx(1.0));
  CHECK(r.summary.participants.mean > 3.5);
  CHECK(r.summary.hidden_share.value() > 0.99);
  CHECK(r.summary.merged_share.value() > 0.85);
  CHECK(r.summary.syncer_steps_per_learner_step.value() == doctest::Approx(1.0).epsilon(0.1));
}

TEST_CASE("Decoupled: K = 1 without grace merges about one at a time") {
  Scenario s = regions(1, 0, 0);
  for (int m = 0; m < 8; ++m) add_learner(&s, 0, 1.0 + 0.013 * m);
  model(&s, 8e9);
  s.stop.simulated_s = 2000;
  Protocol p = protocol(s, "decoupled_diloco");
  p.grace = Grace::kOff;
  const Run r = run(s, p);
  CHECK(r.summary.participants.mean < 1.2);
  CHECK(r.summary.merged_share.value() < 0.2);
  CHECK(r.summary.syncer_steps_per_learner_step.value() > 6.0);
}

TEST_CASE("starved: goodput stays, merged_share falls (B10)") {
  double merged[2];
  for (int i = 0; i < 2; ++i) {
    Scenario s = regions(2, i == 0 ? 1.0 : 0.05, 0.0);
    add_learner(&s, 0, 1.0);
    add_learner(&s, 1, 1.0);
    model(&s, 8e9);
    // 200 steps. 1/3 Gbit a fragment: 1/3 s, or 6.7 s, seven steps: then 30 fragments move in all, the
    // first at step 7, the 24th at step 160: at the end 24 copies hold on average 90 merged steps of 200.
    s.stop.simulated_s = 200;
    const Run r = run(s, protocol(s, "decoupled_diloco"));
    CHECK(r.summary.goodput == doctest::Approx(1.0));
    merged[i] = r.summary.merged_share.value();
  }
  CHECK(merged[0] > 0.8);
  CHECK(merged[1] < 0.55);
}

TEST_CASE("a waiting method below V/(H·T) has CU below 1 (B3, B10)") {
  // ρV/(H·T) = 8 Gbit / 24 s = 0.333 Gbit/s.
  for (double gbps : {0.30, 0.36}) {
    Scenario s = regions(2, gbps, 0.0);
    add_learner(&s, 0, 1.0);
    add_learner(&s, 1, 1.0);
    model(&s, 8e9);
    Protocol p = protocol(s, "decoupled_diloco");
    p.learner_waits = LearnerWaits::kAtOverlap;
    const Run r = run(s, p);
    if (gbps < 1.0 / 3.0) CHECK(r.summary.compute_utilization < 0.93);
    if (gbps > 1.0 / 3.0) CHECK(r.summary.compute_utilization > 0.99);
  }
}

TEST_CASE("one device slowed is one line, and only it is slower (H7)") {
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 1.0);
  add_learner(&s, 0, 1.0);
  model(&s, 8e9);
  s.faults = {scripted(FaultKind::kStraggler, {TargetKind::kLearner, 0, 0}, 0.5, kNever, 2.0)};
  const Run r = run(s, protocol(s, "decoupled_diloco"));
  // From the next step on: 1 step of 1 s, then 999/2 = 499 of 2 s.
  CHECK(r.summary.by_learner[0].steps == 500);
  CHECK(r.summary.by_learner[1].steps == doctest::Approx(1000).epsilon(2e-3));
}

TEST_CASE("nothing can happen any more: who waits for whom (C8)") {
  Scenario s = regions(1, 0, 0);
  add_learner(&s, 0, 1.0);
  add_learner(&s, 0, 1.0);
  model(&s, 8e9);
  s.stop.tokens = 1e6;
  s.stop.simulated_s = kNever;
  s.faults = {scripted(FaultKind::kIslandDown, {TargetKind::kLearner, 1, 0}, 10.5, kNever)};
  Protocol p = protocol(s, "diloco");
  p.sync_period_steps = 24;
  std::string message;
  try {
    run(s, p);
  } catch (const CannotGoOn& error) {
    message = error.what();
  }
  CHECK(message.find("1 of 2 reports") != std::string::npos);
  CHECK(message.find("isl.2 (down)") != std::string::npos);
}
