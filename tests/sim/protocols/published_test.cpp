// Numbers of papers that a handful of runs can show.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/cost/cost.hpp"
#include "tests/sim/protocols/worlds.hpp"

using namespace worlds;

TEST_CASE("stop and restart under exponential failures: the renewal formula (F4)") {
  // Efficiency = τ / (M e^(R/M) (e^((τ+δ)/M) − 1)): failures strike during saves and restarts too.
  struct Row {
    double mean_h, work_h, save_s, restart_s, efficiency;
  };
  for (const Row& row : {Row{3.09, 0.25, 30, 600, 0.8791}, Row{29.3, 1.0, 60, 900, 0.9584},
                         Row{1.8, 0.2, 20, 600, 0.8372}, Row{0.3, 0.05, 10, 600, 0.4971}}) {
    CAPTURE(row.mean_h);
    Scenario s = regions(1, 0, 0);
    add_learner(&s, 0, 60.0, 1);
    s.charged.tokens_per_learner_step = 1.0;
    const double failures = 6000;
    s.stop.simulated_s = failures * row.mean_h * 3600;
    Fault fault;
    fault.name = "slices";
    fault.targets = {{TargetKind::kSlice, 0, 0}};
    fault.scripted = false;
    fault.gap = {LawKind::kExponential, row.mean_h * 3600};
    fault.away = {LawKind::kConstant, 1e-3};
    s.faults = {fault};
    Protocol p = protocol(s, "data_parallel");
    p.exchange = false;
    p.recovery.checkpoint_rule = CheckpointRule::kPeriod;
    p.recovery.checkpoint_every_s = row.work_h * 3600;
    p.recovery.checkpoint_save_s = row.save_s;
    p.recovery.restart_s = row.restart_s;
    p.recovery.checkpoint_restore_s = 0;
    // A failure costs at most about R + τ + δ, and cycles vary by M: σ ≤ cost / (M √n), at most 0.5 / √n.
    const double cost_h = row.restart_s / 3600 + row.work_h + row.save_s / 3600;
    const double sigma = std::min(0.5, cost_h / row.mean_h) / std::sqrt(failures);
    CHECK(std::abs(run(s, p).summary.goodput - row.efficiency) <= 3 * sigma + 2e-4);
  }
}

TEST_CASE("failures that strike only while stepping, and at any time (F7)") {
  // 40.96 failures a day, 20 min each. Stepping: 1 / (1 + 40.96 / 72) = 0.6374. Any time, recovery starting
  // again with each: e^(−40.96 / 72) = 0.5662.
  for (const Exposure exposure : {Exposure::kStepping, Exposure::kWall}) {
    Scenario s = regions(1, 0, 0);
    add_learner(&s, 0, 10.0, 1);
    s.charged.tokens_per_learner_step = 1.0;
    s.stop.simulated_s = 200 * 86400.0;
    Fault fault;
    fault.name = "servers";
    fault.targets = {{TargetKind::kSlice, 0, 0}};
    fault.scripted = false;
    fault.gap = {LawKind::kExponential, 86400 / 40.96};
    fault.away = {LawKind::kConstant, 1e-3};
    fault.exposure = exposure;
    s.faults = {fault};
    Protocol p = protocol(s, "data_parallel");
    p.exchange = false;
    p.recovery.resume = Resume::kAllSlicesBack;
    p.recovery.step_in_progress = StepInProgress::kKept;
    p.recovery.slice_down_s = 1200;
    p.recovery.scale_up_s = 0;
    const double expected = exposure == Exposure::kStepping ? 0.6374 : 0.5662;
    // About 5,200 to 8,200 failures: 3σ ≈ 3 × 0.4 / √5,200.
    CHECK(std::abs(run(s, p).summary.goodput - expected) <= 0.017);
  }
}

TEST_CASE("a recovery fits into H steps as long as one model copy takes H / 4 steps (Fig. 12)") {
  // Two regions; the newcomer's port carries one copy of the model per H steps for the shards, and 3 for the
  // state: 4c ≤ H. Elastic data-parallel stands still for 3c steps whatever c is.
  const double step_s = 10.0;
  for (const double c : {4.0, 5.8, 6.4, 9.0}) {
    CAPTURE(c);
    Scenario s = regions(2, 8.0 / (c * step_s), 0.0);   // 8 Gbit in c steps
    add_learner(&s, 0, step_s);
    add_learner(&s, 1, step_s);
    s.learners[1].start_s = 1005;
    model(&s, 8e9);
    s.stop.simulated_s = 4000;
    Protocol p = protocol(s, "decoupled_diloco");
    p.recovery.scale_up_s = 0;
    const auto copies = facts<fact::Copy>(run(s, p).tape);
    REQUIRE(copies.size() == 1);
    // The share of the link that regular traffic leaves: R = 3c / (1 − c/H) steps, whole fragments apart.
    const double expected = 3 * c / (1 - c / 24);
    const double took = (copies[0].t - copies[0].began) / step_s;
    CHECK(took == doctest::Approx(expected).epsilon(0.12));
    CHECK((copies[0].age_steps <= 24) == (4 * c <= 24));

    Protocol elastic = protocol(s, "data_parallel_elastic");
    elastic.recovery.scale_up_s = 0;
    const Run stopped = run(s, elastic);
    const double still_s = lost(stopped.summary, Cause::kScaleUp) / 8;
    CHECK(still_s == doctest::Approx(2 * 3 * c * step_s).epsilon(0.1));   // both learners, after a step
  }
}
