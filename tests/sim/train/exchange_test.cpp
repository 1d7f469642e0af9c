// What an outer gradient is on its way, and what the outer steps say of themselves.
#include <cmath>

#include <doctest/doctest.h>

#include "kernels/quantise.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;
using kernels::Precision;
using test::TapeBuilder;

namespace {

Scenario averaging(int learners) {
  Scenario s = test::small_scenario(learners, Family::kDiloco, 1);
  s.training.of_protocol[0].outer = {1.0, 0.0};
  return s;
}

std::vector<float> after(const Scenario& s, int learner, int steps) {
  train::Trainer trainer(s, 0, 7, 10, 1);
  train::State state = trainer.warm_start();
  for (int k = 1; k <= steps; ++k)
    trainer.step(state, trainer.warm_start_steps() + k, {learner, 64}, 0);
  return state.parameters;
}

}  // namespace

TEST_CASE("the outer gradient is rounded tensor by tensor before the merge") {
  Scenario s = averaging(1);
  const std::vector<float> start = after(s, 0, 0), moved = after(s, 0, 3);
  const auto tensors = kernels::tensors(train::Trainer(s, 0, 7, 10, 1).shape());
  TapeBuilder tape(10);
  tape.steps(0, 1, 3).pull(0, 0, 1, 3).merge(0, 1, 1);
  std::vector<std::vector<float>> ends;
  for (const Precision wire :
       {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kInt8, Precision::kFp4,
        Precision::kInt4, Precision::kInt2, Precision::kInt1}) {
    CAPTURE(static_cast<int>(wire));
    s.training.of_protocol[0].wire = wire;
    std::vector<float> expected = start;
    for (const auto& tensor : tensors) {
      std::vector<float> gradient;
      for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size; ++i)
        gradient.push_back(start[i] - moved[i]);
      kernels::quantise(wire, gradient);
      for (std::size_t i = 0; i < tensor.size; ++i)
        expected[tensor.offset + i] -= gradient[i];
    }
    ends.push_back(replay(s, 0, tape.tape(), 2, {}).parameters);
    CHECK(ends.back() == expected);
    for (std::size_t i = 0; i + 1 < ends.size(); ++i)
      CHECK(ends[i] != ends.back());
  }
}

TEST_CASE("error feedback sends what rounding took with the next round of the same life") {
  Scenario s = averaging(1);
  s.training.of_protocol[0].wire = Precision::kInt2;
  s.training.of_protocol[0].error_feedback = true;
  TapeBuilder tape(10);
  tape.steps(0, 1, 3).pull(0, 0, 1, 3).merge(0, 1, 1);
  // No step and no overwrite between: twenty rounds send the same difference, bit by bit.
  TapeBuilder again = tape;
  for (int clock = 2; clock <= 20; ++clock)
    again.pull(0, 0, clock, 3).merge(0, clock, 1);
  const std::vector<float> moved = after(s, 0, 3);
  const auto distance = [&](const Scenario& on, const TapeBuilder& of) {
    const std::vector<float> end = replay(on, 0, of.tape(), 1, {}).parameters;
    double sum = 0;
    for (std::size_t i = 0; i < end.size(); ++i)
      sum += std::pow(static_cast<double>(end[i] - moved[i]), 2);
    return std::sqrt(sum);
  };
  Scenario without = s;
  without.training.of_protocol[0].error_feedback = false;
  CHECK(distance(s, tape) == distance(without, tape));
  CHECK(distance(s, again) != distance(without, again));
  // A new life in between has no residual: the round is that of no error feedback.
  TapeBuilder fresh = tape, plain = tape;
  for (TapeBuilder* one : {&fresh, &plain})
    one->leave(0).copy(0, -1, 3).join(0, 3).steps(0, 4, 2).pull(0, 0, 2, 5).merge(0, 2, 1);
  CHECK(distance(s, fresh) == distance(without, plain));
}

TEST_CASE("alpha mixes the own parameters into an overwrite") {
  Scenario s = averaging(2);
  TapeBuilder tape(10);
  tape.steps(0, 1, 2).steps(1, 1, 2).pull(0, 0, 1, 2).merge(0, 1, 1).overwrite(1, 0, 1, 2);
  tape.pull(1, 0, 2, 2).merge(0, 2, 1);
  const std::vector<float> a = after(s, 0, 2), b = after(s, 1, 2);
  s.training.of_protocol[0].mixing_alpha = 0.25;
  const std::vector<float> end = replay(s, 0, tape.tape(), 1, {}).parameters;
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < end.size(); ++i) {
    const double expected = 0.25 * static_cast<double>(b[i]) + 0.75 * static_cast<double>(a[i]);
    largest = std::max(largest, std::abs(expected - static_cast<double>(end[i])));
    apart = std::max(apart, std::abs(static_cast<double>(a[i] - b[i])));
  }
  CHECK(apart > 1e-3);
  CHECK(largest < 1e-6);
}

TEST_CASE("facts of a round: norms and the cosine between its learners, by hand") {
  const Scenario s = averaging(2);
  TapeBuilder tape(10);
  tape.steps(0, 1, 2).steps(1, 1, 2).pull(0, 0, 1, 2, 3.0).pull(1, 0, 1, 2, 1.0).merge(0, 1, 2);
  tape.pull(0, 0, 2, 2).merge(0, 2, 1);
  tape.merge(0, 3, 0);  // moves nothing: no facts
  const TrainResult result = replay(s, 0, tape.tape(), 2, {});
  REQUIRE(result.rounds.size() == 2);
  const std::vector<float> start = after(s, 0, 0), a = after(s, 0, 2), b = after(s, 1, 2);
  double aa = 0, bb = 0, ab = 0, mm = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double x = static_cast<double>(start[i] - a[i]), y = static_cast<double>(start[i] - b[i]);
    aa += x * x;
    bb += y * y;
    ab += x * y;
    mm += std::pow(0.75 * x + 0.25 * y, 2);
  }
  const RoundFacts& first = result.rounds[0];
  CHECK(first.clock == 1);
  CHECK(first.mean_norm == doctest::Approx((std::sqrt(aa) + std::sqrt(bb)) / 2).epsilon(1e-9));
  CHECK(first.mean_cosine == doctest::Approx(ab / std::sqrt(aa * bb)).epsilon(1e-6));
  CHECK(first.merged_norm == doctest::Approx(std::sqrt(mm)).epsilon(1e-6));
  CHECK(std::isnan(result.rounds[1].mean_cosine));
  CHECK(result.rounds[1].merged_norm == result.rounds[1].mean_norm);
}

TEST_CASE("a learner that is not finite diverges the run, whatever it travels in") {
  for (const Precision wire :
       {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kInt8, Precision::kFp4,
        Precision::kInt4, Precision::kInt2, Precision::kInt1}) {
    for (const Merge rule : {Merge::kMean, Merge::kRadialDirectional}) {
      Scenario s = averaging(2);
      TrainingOfProtocol& row = s.training.of_protocol[0];
      row.inner.rate = 1e38;
      row.inner.warm_up_steps = 0;
      s.training.warm_start_steps = 0;
      row.wire = wire;
      row.error_feedback = true;
      row.merge_body = row.merge_embedding = rule;
      TapeBuilder tape(10);
      // Learner 1 has made no step: what it sends is zero.
      tape.steps(0, 1, 4).pull(0, 0, 1, 4).pull(1, 0, 1, 0).merge(0, 1, 2);
      const TrainResult result = replay(s, 0, tape.tape(), 1, {});
      CHECK(result.diverged);
      CHECK(result.curve.size() == 1);
      CHECK(!std::isfinite(result.not_finite.loss));
    }
  }
}
