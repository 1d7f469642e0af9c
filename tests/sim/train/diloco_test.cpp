#include <cmath>
#include <cstdlib>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;
using test::TapeBuilder;

namespace {

TrainResult replay_on(const Scenario& s, const TapeBuilder& builder, int threads = 1) {
  return replay(s, 0, builder.tape(), threads, {});
}

// The scenario's outer step takes what was merged as it is: rate 1, no momentum.
Scenario averaging(int learners, int fragments) {
  Scenario s = test::small_scenario(learners, Family::kDiloco, fragments);
  s.training.of_protocol[0].outer = {1.0, 0.0};
  return s;
}

// Parameters of one learner after `steps` steps with no exchange.
std::vector<float> alone(const Scenario& s, int learner, int steps, double horizon) {
  train::Trainer trainer(s, 0, 7, horizon, 1);
  train::State state = trainer.warm_start();
  for (int k = 1; k <= steps; ++k) {
    trainer.step(state, trainer.warm_start_steps() + k, {learner, 64}, 0);
  }
  return state.parameters;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

}  // namespace

TEST_CASE("the merge takes the learners at their pulled step, by weight") {
  const Scenario s = averaging(2, 1);
  TapeBuilder tape(10);
  // The spans are longer than what is pulled: learner 0 at step 2 of 3, learner 1 at step 4 of 4.
  tape.steps(0, 1, 3).steps(1, 1, 4);
  tape.pull(0, 0, 1, 2, 3.0).pull(1, 0, 1, 4, 1.0).merge(0, 1, 2);
  const TrainResult result = replay_on(s, tape);
  const std::vector<float> a = alone(s, 0, 2, 10), b = alone(s, 1, 4, 10);
  std::vector<float> mean(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    mean[i] = 0.75f * a[i] + 0.25f * b[i];
  CHECK(largest_difference(a, b) > 1e-3);
  CHECK(largest_difference(result.parameters, mean) < 1e-6);
  CHECK(result.outer_rounds == 1);
}

TEST_CASE("an overwrite stands between the steps it was taken at, and may be late") {
  const Scenario s = averaging(2, 1);
  const auto run = [&](std::int64_t taken_at) {
    TapeBuilder tape(10);
    tape.steps(0, 1, 2).steps(1, 1, 2).pull(0, 0, 1, 2).pull(1, 0, 1, 2).merge(0, 1, 2);
    // Written before the span that it cuts in two: step k ends k − 2 s after its begin.
    const double t = tape.now() + static_cast<double>(taken_at - 2);
    tape.add(fact::Overwrite{t, 1, taken_at, taken_at, 0, 0, true}, 0);
    tape.steps(0, 3, 3).pull(0, 0, 2, 5).merge(0, 2, 1);
    return replay_on(s, tape).parameters;
  };
  // At 5 it comes right before the pull: the round gives back the version of clock 1.
  TapeBuilder first(10);
  first.steps(0, 1, 2).steps(1, 1, 2).pull(0, 0, 1, 2).pull(1, 0, 1, 2).merge(0, 1, 2);
  CHECK(largest_difference(run(5), replay_on(s, first).parameters) < 1e-6);
  CHECK(largest_difference(run(3), run(2)) > 1e-4);
  CHECK(largest_difference(run(3), run(5)) > 1e-4);
}

TEST_CASE("only the fragment of the round moves") {
  const Scenario s = averaging(1, 4);
  TapeBuilder tape(10);
  tape.steps(0, 1, 4).pull(0, 2, 1, 4).merge(2, 1, 1);
  const TrainResult result = replay_on(s, tape);
  const std::vector<float> before = alone(s, 0, 0, 10), after = alone(s, 0, 4, 10);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double to_before = std::abs(static_cast<double>(result.parameters[i] - before[i]));
    const double to_after = std::abs(static_cast<double>(result.parameters[i] - after[i]));
    CHECK(std::min(to_before, to_after) < 1e-7);
    moved += to_before > to_after ? 1 : 0;
  }
  // 4 balanced fragments: about a quarter of the parameters each, none more than a half.
  CHECK(moved > before.size() / 20);
  CHECK(moved < before.size() / 2);
  CHECK(result.outer_rounds == 0.25);
}

TEST_CASE("outer steps: Nesterov on the syncer's own last version") {
  Scenario s = test::small_scenario(1, Family::kDiloco, 1);
  s.training.of_protocol[0].outer = {0.7, 0.9};
  TapeBuilder tape(10);
  tape.steps(0, 1, 2)
      .pull(0, 0, 1, 2)
      .merge(0, 1, 1)
      .steps(0, 3, 2)
      .pull(0, 0, 2, 4)
      .merge(0, 2, 1);
  const std::vector<float> result = replay_on(s, tape).parameters;
  const std::vector<float> zero = alone(s, 0, 0, 10), two = alone(s, 0, 2, 10),
                           four = alone(s, 0, 4, 10);  // never overwritten
  double largest = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    // momentum m = g, θ −= 0.7 (g + 0.9 m); again with m = 0.9 m + g'.
    double theta = static_cast<double>(zero[i]);
    const double g = theta - static_cast<double>(two[i]);
    theta -= 0.7 * (g + 0.9 * g);
    const double g2 = theta - static_cast<double>(four[i]);
    theta -= 0.7 * (g2 + 0.9 * (0.9 * g + g2));
    largest = std::max(largest, std::abs(theta - static_cast<double>(result[i])));
  }
  CHECK(largest < 1e-6);
}

TEST_CASE("radial-directional merging follows the row's settings for body and embedding") {
  Scenario s = averaging(2, 1);
  TapeBuilder tape(10);
  tape.steps(0, 1, 2).steps(1, 1, 2).pull(0, 0, 1, 2).pull(1, 0, 1, 2).merge(0, 1, 2);
  const std::vector<float> mean = replay_on(s, tape).parameters;
  s.training.of_protocol[0].merge_body = Merge::kRadialDirectional;
  const std::vector<float> body = replay_on(s, tape).parameters;
  s.training.of_protocol[0].merge_embedding = Merge::kRadialDirectional;
  const std::vector<float> both = replay_on(s, tape).parameters;
  const kernels::ModelShape shape = train::Trainer(s, 0, 7, 10, 1).shape();
  const std::vector<float> zero = alone(s, 0, 0, 10);
  for (const kernels::TensorInfo& tensor : kernels::tensors(shape)) {
    const auto part = [&](const std::vector<float>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(tensor.size));
    };
    CAPTURE(tensor.name);
    CHECK((part(mean) == part(body)) == tensor.embedding);
    CHECK((part(body) == part(both)) == !tensor.embedding);
    // Two vectors that point apart: their mean is shorter than the mean of their lengths.
    double moved_mean = 0, moved_radial = 0;
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
      moved_mean += std::pow(static_cast<double>(mean[i] - zero[i]), 2);
      moved_radial += std::pow(static_cast<double>(both[i] - zero[i]), 2);
    }
    CHECK(moved_radial > moved_mean);
  }
}

TEST_CASE("a newcomer of no weight, alone in the quorum, does not become the global model") {
  const Scenario s = averaging(2, 1);
  TapeBuilder before(10);
  before.steps(0, 1, 2).pull(0, 0, 1, 2).merge(0, 1, 1);
  TapeBuilder tape = before;
  tape.leave(1).copy(1, -1, 0).join(1, 0).steps(1, 1, 3).pull(1, 0, 2, 3, 0.0).merge(0, 2, 1);
  const TrainResult result = replay_on(s, tape);
  CHECK(result.fingerprint == replay_on(s, before).fingerprint);
  CHECK(result.outer_rounds == 1);
  CHECK(result.final == replay_on(s, before).final);

  // With momentum in the outer step nothing moves either; with a weight it does.
  Scenario nesterov = s;
  nesterov.training.of_protocol[0].outer = {0.7, 0.9};
  CHECK(replay_on(nesterov, tape).fingerprint == replay_on(nesterov, before).fingerprint);
  TapeBuilder weighty = before;
  weighty.steps(1, 1, 3).pull(1, 0, 2, 3, 1e-9).merge(0, 2, 1);
  CHECK(replay_on(s, weighty).fingerprint != replay_on(s, before).fingerprint);
  // No participant at all: nothing, and the version may be taken.
  TapeBuilder nobody = before;
  nobody.merge(0, 2, 0).overwrite(0, 0, 2, 2).pull(0, 0, 3, 2).merge(0, 3, 1);
  CHECK(replay_on(s, nobody).fingerprint == replay_on(s, before).fingerprint);
}

TEST_CASE("recovery: the newcomer goes on from the donor's state, with its own data") {
  const Scenario s = averaging(2, 1);
  const auto run = [&](bool recovered, int donor, std::int64_t donor_step) {
    TapeBuilder tape(20);
    tape.steps(0, 1, 5);
    if (recovered) {
      // Steps 1 … 3 of learner 1 are lost with it; its numbers begin again after the donor's step.
      tape.steps(1, 1, 3).leave(1).copy(1, donor, donor_step).join(1, donor_step);
      tape.steps(1, donor_step + 1, 2).pull(1, 0, 1, donor_step + 2).merge(0, 1, 1);
    }
    return replay_on(s, tape).parameters;
  };
  // By hand: learner 0 up to step 4, then two steps on learner 1's windows of steps 5 and 6.
  train::Trainer trainer(s, 0, 7, 20, 1);
  train::State state = trainer.warm_start();
  for (int k = 1; k <= 4; ++k)
    trainer.step(state, 3 + k, {0, 64}, 0);
  for (int k = 5; k <= 6; ++k)
    trainer.step(state, 3 + k, {1, 64}, 0);
  CHECK(largest_difference(run(true, 0, 4), state.parameters) < 1e-7);
  CHECK(largest_difference(run(true, 0, 3), state.parameters) > 1e-4);

  // donor −1: the global parameters (here still those of the warm start) and fresh moments.
  train::State fresh = trainer.warm_start();
  std::fill(fresh.moment1.begin(), fresh.moment1.end(), 0.0f);
  std::fill(fresh.moment2.begin(), fresh.moment2.end(), 0.0f);
  fresh.adamw_steps = 0;
  fresh.full_steps = 3 + 4;  // its schedule goes on where the copy was made
  for (int k = 5; k <= 6; ++k)
    trainer.step(fresh, 3 + k, {1, 64}, 0);
  CHECK(largest_difference(run(true, -1, 4), fresh.parameters) < 1e-7);
}

TEST_CASE("a round that begins again counts the shards that are left") {
  const Scenario s = averaging(2, 1);
  TapeBuilder plain(10);
  plain.steps(0, 1, 2).pull(0, 0, 1, 2, 4.0).merge(0, 1, 1);
  TapeBuilder again(10);
  again.steps(0, 1, 2).steps(1, 1, 2).pull(0, 0, 1, 2, 4.0).pull(1, 0, 1, 2, 1.0);
  again.add(fact::Abandon{again.now(), 1, 0, true});
  again.add(fact::Weigh{1, 2, 2, 4.0, 0, 0}).merge(0, 1, 1);
  CHECK(replay_on(s, again).fingerprint == replay_on(s, plain).fingerprint);

  TapeBuilder given_up(10);
  given_up.steps(0, 1, 2).steps(1, 1, 2).pull(1, 0, 1, 2, 1.0);
  given_up.add(fact::Abandon{given_up.now(), 1, 0, false});
  given_up.pull(0, 0, 2, 2, 4.0).merge(0, 2, 1);
  CHECK(replay_on(s, given_up).fingerprint == replay_on(s, plain).fingerprint);
}

TEST_CASE("the curve: points by net tokens, dates of outer steps") {
  Scenario s = averaging(1, 1);
  s.training.evaluations = 2;
  TapeBuilder tape(10);
  // 8 steps of 1000 tokens: points at 0, at the first round with 4000 or more and at the last
  // round.
  for (int k = 1; k <= 8; ++k)
    tape.steps(0, k, 1).pull(0, 0, k, k).merge(0, k, 1);
  // What is lost later no longer counts: 7000 net in all, so the first point is due at 3500.
  tape.add(fact::Lost{tape.now(), 1, 1, 1000, 0});
  double share = 0;
  const TrainResult result = replay(s, 0, tape.tape(), 2, [&](const HowFar& now) { share = now.share; });
  CHECK(share == 1);
  REQUIRE(result.curve.size() == 4);
  CHECK(result.curve[0].simulated_s == 0);
  CHECK(result.curve[0].tokens == 0);
  // Each step takes 1 s and each outer step is followed by 0.25 s: the fourth is at 4 + 3 · 0.25.
  CHECK(result.curve[1].simulated_s == 4.75);
  CHECK(result.curve[1].tokens == 4000);
  CHECK(result.curve[1].trained_tokens == 256);
  CHECK(result.curve[2].tokens == 7000);
  CHECK(result.curve[3].tokens == 8000);  // the last round, before the loss
  CHECK(result.start == result.curve[0].loss);
  CHECK(result.final == result.curve[3].loss);
  CHECK(!result.diverged);
}

TEST_CASE("tapes that do not fit together are refused") {
  const Scenario s = averaging(2, 1);
  const auto refused = [&](const TapeBuilder& tape) {
    CHECK_THROWS_AS(replay_on(s, tape), BadInput);
  };
  const auto fresh = [] { return TapeBuilder(10); };
  refused(fresh().steps(0, 2, 1));                                        // no step 1
  refused(fresh().steps(0, 1, 2).steps(0, 2, 1));                         // step 2 twice
  refused(fresh().steps(0, 1, 1).pull(0, 0, 1, 2).merge(0, 1, 1));        // step 2 not done
  refused(fresh().steps(0, 1, 1).pull(0, 0, 1, 1).merge(0, 1, 2));        // a pull is missing
  refused(fresh().overwrite(0, 0, 3, 0));                                 // no such version
  const auto merged = [&] {
    return fresh().steps(0, 1, 1).pull(0, 0, 1, 1).merge(0, 1, 1).overwrite(0, 0, 1, 1);
  };
  CHECK_NOTHROW(replay_on(s, merged()));
  refused(merged().overwrite(0, 0, 1, 1));                                // the same twice
  refused(fresh().leave(0).pull(0, 0, 1, 0));                             // pull from nowhere
  refused(fresh().leave(0).join(0, 0));                                   // no state
  refused(fresh().steps(0, 1, 1).pull(0, 0, 1, 1, -1.0).merge(0, 1, 1));  // weight
  refused(fresh().steps(0, 1, 1).add(fact::OuterStep{1, 1, 0}));          // no merge
  refused(fresh().add(fact::RollBack{0, 0}));                             // not in this family
  // Each learner waits for a version made from the other's later step.
  refused(
      fresh().steps(0, 1, 2).steps(1, 1, 2).pull(1, 0, 1, 2).merge(0, 1, 1).overwrite(1, 0, 1, 1));
}

TEST_CASE("a model of fewer tensors than fragments is refused") {
  const Scenario s = averaging(1, 100);
  TapeBuilder tape(10);
  CHECK_THROWS_AS(replay_on(s, tape), BadInput);
}

TEST_CASE("time to loss") {
  const std::vector<LossPoint> curve{{0, 0, 0, 3.0}, {10, 5, 5, 2.0}, {20, 10, 10, 2.5}};
  CHECK(first_at_or_below(curve, 2.5)->simulated_s == 10);
  CHECK(first_at_or_below(curve, 2.0)->simulated_s == 10);
  CHECK(first_at_or_below(curve, 3.0)->simulated_s == 0);
  CHECK(!first_at_or_below(curve, 1.9));
  CHECK(!first_at_or_below({}, 9));
}

TEST_CASE("a loss that is not finite ends the curve") {
  Scenario s = averaging(1, 1);
  s.training.of_protocol[0].outer.rate = 1e30;
  TapeBuilder tape(10);
  for (int k = 1; k <= 8; ++k)
    tape.steps(0, k, 1).pull(0, 0, k, k).merge(0, k, 1);
  const TrainResult result = replay_on(s, tape);
  CHECK(result.diverged);
  REQUIRE(!result.curve.empty());
  for (const LossPoint& point : result.curve)
    CHECK(std::isfinite(point.loss));
  CHECK(result.final == result.curve.back().loss);
}
