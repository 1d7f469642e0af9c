#include <cmath>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;
using test::kTokensPerStep;
using test::TapeBuilder;

namespace {

TrainResult replay_on(const Scenario& s, const TapeBuilder& builder, int threads = 1) {
  return replay(s, 0, builder.tape(), threads, {});
}

}  // namespace

TEST_CASE("data-parallel: the steps of the tape on one state") {
  const Scenario s = test::small_scenario(3, Family::kDataParallel, 1);
  TapeBuilder tape(12);
  // Learner 1 is away for two steps, learner 2 comes back with half a batch.
  tape.reduce(1, 3, {{0, 1000.0}, {1, 1000.0}, {2, 1000.0}});
  tape.reduce(4, 2, {{0, 1000.0}, {2, 500.0}});
  const TrainResult result = replay_on(s, tape, 2);
  train::Trainer trainer(s, 0, 7, 12, 1);
  train::State state = trainer.warm_start();
  for (int k = 1; k <= 3; ++k)
    trainer.synchronous_step(state, 3 + k, {{0, 64}, {1, 64}, {2, 64}}, 3);
  for (int k = 4; k <= 5; ++k)
    trainer.synchronous_step(state, 3 + k, {{0, 64}, {2, 32}}, 3);
  CHECK(result.parameters == state.parameters);
  CHECK(result.outer_rounds == 0);
  CHECK(result.curve.back().tokens == 3 * 3000 + 2 * 1500);
  CHECK(result.curve.back().trained_tokens == 3 * 192 + 2 * 96);
  CHECK(result.curve.back().simulated_s == 5);
}

TEST_CASE("data-parallel: rolled back steps never were") {
  const Scenario s = test::small_scenario(2, Family::kDataParallel, 1);
  const std::vector<std::pair<int, double>> both{{0, 1000.0}, {1, 1000.0}};
  TapeBuilder plain(10);
  plain.reduce(1, 4, both).reduce(5, 4, both);
  TapeBuilder tape(10);
  tape.reduce(1, 4, both).reduce(5, 3, {{0, 1000.0}});
  tape.roll_back(6).roll_back(2).reduce(3, 2, both).reduce(5, 4, both);
  const TrainResult a = replay_on(s, plain), b = replay_on(s, tape);
  CHECK(a.fingerprint == b.fingerprint);
  REQUIRE(a.curve.size() == b.curve.size());
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    CHECK(a.curve[i].tokens == b.curve[i].tokens);
    CHECK(a.curve[i].loss == b.curve[i].loss);
  }
  // Step 2 ended at 2 s; step 3 was done again after 4 + 3 steps and two roll backs of 0.25 s: the
  // point at step 4 (8000 of 16,000 tokens) stands at 7.5 + 2 s. Others: 0, 2, 6 and 8 steps.
  REQUIRE(b.curve.size() == 5);
  CHECK(b.curve[1].simulated_s == 2);
  CHECK(b.curve[2].simulated_s == 9.5);
  CHECK(a.curve[2].simulated_s == 4);
  TapeBuilder to_start(10);
  to_start.reduce(1, 4, both).roll_back(0).reduce(1, 8, both);
  CHECK(replay_on(s, to_start).fingerprint == a.fingerprint);
}

TEST_CASE("data-parallel: tapes that do not fit together are refused") {
  const Scenario s = test::small_scenario(2, Family::kDataParallel, 1);
  const auto refused = [&](const TapeBuilder& tape) {
    CHECK_THROWS_AS(replay_on(s, tape), BadInput);
  };
  const auto fresh = [] { return TapeBuilder(10); };
  refused(fresh().steps(0, 1, 1));
  refused(fresh().reduce(2, 1, {{0, 1000.0}}));
  refused(fresh().add(fact::Reduce{0, 1, 1, 2}).steps(0, 1, 1));
  refused(fresh().reduce(1, 2, {{0, 1000.0}}).roll_back(3));
}

// One learner whose every step is merged (H = 1, τ = 0, P = 1) with outer rate 1 and no momentum
// takes θ' = anchor − (anchor − θ), which is θ but for the rounding of the difference.
TEST_CASE("one learner, merged after every step, is data-parallel to the last bit or so") {
  Scenario s = test::small_scenario(1, Family::kDataParallel, 1);
  s.training.of_protocol[0].outer = {1.0, 0.0};
  for (const int steps : {1, 20}) {
    TapeBuilder lock_step(steps), merged(steps);
    for (int k = 1; k <= steps; ++k) {
      const double tokens = k % 3 == 0 ? 700 : kTokensPerStep;
      lock_step.reduce(k, 1, {{0, tokens}});
      merged.steps(0, k, 1, tokens).pull(0, 0, k, k, 5.0).merge(0, k, 1).overwrite(0, 0, k, k);
    }
    s.protocols[0].family = Family::kDataParallel;
    const TrainResult a = replay_on(s, lock_step);
    s.protocols[0].family = Family::kDiloco;
    const TrainResult b = replay_on(s, merged);
    CHECK(a.start == b.start);
    train::Trainer trainer(s, 0, 7, steps, 1);
    const std::vector<float> start = trainer.warm_start().parameters;
    int apart = 0;
    double largest = 0;
    for (std::size_t i = 0; i < start.size(); ++i) {
      const float x = a.parameters[i], y = b.parameters[i];
      largest = std::max(largest, std::abs(static_cast<double>(x) - static_cast<double>(y)));
      // One unit in the last place of the difference that was rounded, at most |anchor| + |θ|.
      const float scale = std::abs(start[i]) + std::abs(x);
      if (std::abs(x - y) > std::nextafter(scale, 2 * scale + 1) - scale) apart += 1;
    }
    // One step: the last bit. Twenty: AdamW magnifies it where gradients are near zero.
    if (steps == 1) CHECK(apart == 0);
    CHECK(largest < 1e-4);
    CHECK(a.final == doctest::Approx(b.final).epsilon(1e-6));
    CHECK(a.start - a.final > (steps == 1 ? 0.001 : 0.05));
  }
}

TEST_CASE(
    "data-parallel: the passes of one step have windows of their own and one optimizer step") {
  Scenario s = test::small_scenario(2, Family::kDataParallel, 1);
  s.protocols[0].accumulate_steps = 3;
  TapeBuilder tape(4);
  tape.reduce(1, 2, {{0, 3000.0}, {1, 1500.0}});  // 64 and 32 trained tokens a pass
  const TrainResult result = replay_on(s, tape, 2);
  CHECK(result.curve.back().tokens == 9000);
  CHECK(result.curve.back().trained_tokens == 2 * 3 * 96);

  // By hand, without passes: step k's are numbers 3 + 3 (k − 1) + 1 … 3 of the plain stream.
  Scenario plain = s;
  plain.protocols[0].accumulate_steps = 1;
  train::Trainer trainer(plain, 0, 7, 4, 1);
  train::State state = trainer.warm_start();
  std::vector<float> part(state.parameters.size());
  for (int k = 1; k <= 2; ++k) {
    std::vector<float> mean(part.size());
    for (int pass = 0; pass < 3; ++pass) {
      for (const train::Batch batch : {train::Batch{0, 64, 0}, train::Batch{1, 32, 0}}) {
        trainer.shard_gradient(state.parameters, 3 + 3 * (k - 1) + pass + 1, batch, 0, part, 0);
        kernels::add_scaled(mean, static_cast<float>(batch.tokens / 288.0), part);
      }
    }
    kernels::clip_by_norm(mean, 1.0);
    state.adamw_steps += 1;
    // 96 of 2 × 64 tokens a pass: three quarters of a step of the schedule.
    kernels::adamw_step({}, trainer.rate(3 + 0.75 * k), state.adamw_steps, mean, state.parameters,
                        state.moment1, state.moment2);
  }
  CHECK(result.parameters == state.parameters);
}

TEST_CASE("data-parallel: training that stops at a loss goes on to the same bits") {
  Scenario s = test::small_scenario(2, Family::kDataParallel, 1);
  TapeBuilder tape(40);
  tape.reduce(1, 30, {{0, 1000.0}, {1, 1000.0}}).roll_back(20);
  tape.reduce(21, 12, {{0, 1000.0}, {1, 600.0}});
  const TrainResult whole = replay_on(s, tape);
  for (const std::size_t point : {0UL, 1UL, 3UL}) {
    Scenario stopping = s;
    stopping.training.stop_at_loss = whole.curve.at(point).loss;
    const TrainResult part = replay_on(stopping, tape, 2);
    REQUIRE(part.stopped);
    CHECK(part.curve.size() == point + 1);
    CHECK(part.final == whole.curve[point].loss);
    ReplayOptions options;
    options.snapshot = part.snapshot;
    const TrainResult rest = replay(s, 0, tape.tape(), 2, {}, options);
    CHECK(rest.parameters == whole.parameters);
    REQUIRE(rest.curve.size() == whole.curve.size());
    CHECK(rest.final == whole.final);
    CHECK(rest.curve.back().tokens == whole.curve.back().tokens);
    // Once more to a lower loss, and on from there.
    stopping.training.stop_at_loss = whole.curve[3].loss;
    if (point == 3) continue;
    const TrainResult second = replay(stopping, 0, tape.tape(), 1, {}, options);
    REQUIRE(second.stopped);
    options.snapshot = second.snapshot;
    CHECK(replay(s, 0, tape.tape(), 1, {}, options).parameters == whole.parameters);
  }
  // At the last evaluation nothing is left to train; below the best it never stops.
  Scenario never = s;
  never.training.stop_at_loss = whole.curve.back().loss;
  CHECK(!replay_on(never, tape).stopped);
  never.training.stop_at_loss = 0.1;
  CHECK(replay_on(never, tape).parameters == whole.parameters);
}
