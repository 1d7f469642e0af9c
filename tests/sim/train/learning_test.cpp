// Models on real text: the curves that this scale is known to give.
#include <array>
#include <cmath>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;
using test::TapeBuilder;

namespace {

Scenario scenario_of(Family family, const TrainedModel& model, int warm_start_steps, double rate) {
  Scenario s = test::small_scenario(4, family, 1);
  s.training.model = model;
  s.training.evaluation_windows = 128;
  s.training.warm_start_steps = warm_start_steps;
  s.training.of_protocol[0].inner.warm_up_steps = 50;
  s.training.of_protocol[0].inner.rate = rate;
  s.training.warm_inner = s.training.of_protocol[0].inner;
  return s;
}

Scenario quick_scenario(Family family) {
  return scenario_of(family, {"quick", 2, 32, 1, 32, 256, 8}, 50, 6e-3);
}

Scenario default_scenario(Family family) {
  return scenario_of(family, {"default", 2, 64, 2, 64, 256, 8}, 200, 4e-3);
}

TapeBuilder lock_step(int steps) {
  TapeBuilder tape(steps);
  tape.reduce(1, steps, {{0, 1000.0}, {1, 1000.0}, {2, 1000.0}, {3, 1000.0}});
  return tape;
}

// Four learners, one fragment, merged every 20 steps.
TapeBuilder diloco(int steps) {
  TapeBuilder tape(steps);
  for (int t = 1; t <= steps / 20; ++t) {
    for (int m = 0; m < 4; ++m)
      tape.steps(m, 20 * t - 19, 20).pull(m, 0, t, 20 * t);
    tape.merge(0, t, 4);
    for (int m = 0; m < 4; ++m)
      tape.overwrite(m, 0, t, 20 * t);
  }
  return tape;
}

struct Entropies {
  double unigram = 0, bigram = 0;  // nats per byte: alone, and given the byte before
};

Entropies entropies(const std::string& text) {
  std::array<double, 256> single{};
  std::map<std::pair<unsigned char, unsigned char>, double> pairs;
  for (const char c : text)
    single[static_cast<unsigned char>(c)] += 1;
  for (std::size_t i = 1; i < text.size(); ++i) {
    pairs[{static_cast<unsigned char>(text[i - 1]), static_cast<unsigned char>(text[i])}] += 1;
  }
  const double n = static_cast<double>(text.size());
  Entropies found;
  for (const double count : single) {
    if (count > 0) found.unigram -= count / n * std::log(count / n);
  }
  for (const auto& [pair, count] : pairs)
    found.bigram -= count / (n - 1) * std::log(count / single[pair.first]);
  return found;
}

}  // namespace

TEST_CASE("the entropies of the text are those that its page states") {
  const Entropies kjv = entropies(corpus_text(quick_scenario(Family::kDiloco).training, ""));
  CHECK(kjv.unigram == doctest::Approx(3.009).epsilon(0.0003));
  CHECK(kjv.bigram == doctest::Approx(2.217).epsilon(0.0003));
  // The whole book has 3.020 and 2.257.
  CHECK(std::abs(kjv.unigram - 3.020) < 0.05);
  CHECK(std::abs(kjv.bigram - 2.257) < 0.05);
}

TEST_CASE("the loss falls on real text, in lock-step and with 20 steps between merges") {
  const TrainResult a =
      replay(quick_scenario(Family::kDataParallel), 0, lock_step(200).tape(), 2, {});
  const TrainResult b = replay(quick_scenario(Family::kDiloco), 0, diloco(200).tape(), 2, {});
  CHECK(a.start == b.start);
  // Single bytes of this text have 3.01 nats, a byte after a known one 2.22.
  CHECK(a.start < 3.3);
  CHECK(a.start > a.final);
  CHECK(a.final < 2.45);
  CHECK(a.final > 1.8);
  CHECK(b.final < a.final + 0.15);
  CHECK(b.final > a.final - 0.15);
  CHECK(b.best == b.final);
  CHECK(a.curve.size() == 5);
  CHECK(a.bytes_per_token == 1.0);
}

// 4 learners × 8 windows × 64 bytes × (200 steps of warm start + 800) = 2.05 M trained tokens.
TEST_CASE("the default model learns in 2.05 M tokens, in lock-step and as DiLoCo") {
  const double bigram =
      entropies(corpus_text(default_scenario(Family::kDiloco).training, "")).bigram;
  for (const Family family : {Family::kDataParallel, Family::kDiloco}) {
    const bool in_lock_step = family == Family::kDataParallel;
    CAPTURE(in_lock_step);
    const TapeBuilder tape = in_lock_step ? lock_step(800) : diloco(800);
    const TrainResult result = replay(default_scenario(family), 0, tape.tape(), 2, {});
    CHECK(result.curve.back().trained_tokens == 800.0 * 4 * 8 * 64);
    CHECK(result.start > bigram * 0.9);
    CHECK(result.start < bigram * 1.2);
    CHECK(result.final < bigram);
    CHECK(result.final <= 1.65);
    CHECK(result.final > 1.3);
  }
}

TEST_CASE("merged bytes are learned too, and their loss per byte compares") {
  Scenario s = quick_scenario(Family::kDiloco);
  s.training.model.vocabulary = 512;
  const TrainResult pairs = replay(s, 0, diloco(200).tape(), 2, {});
  const TrainResult bytes = replay(quick_scenario(Family::kDiloco), 0, diloco(200).tape(), 2, {});
  CHECK(pairs.bytes_per_token > 2.2);
  CHECK(pairs.bytes_per_token < 2.6);
  CHECK(pairs.final < pairs.start);
  // The same steps see 2.4 times the text; a loss per token would be 2.4 times as high.
  CHECK(pairs.final < bytes.final);
  CHECK(pairs.final > 0.6 * bytes.final);
}

TEST_CASE("one batch is learned by heart") {
  Scenario s = quick_scenario(Family::kDataParallel);
  s.training.warm_start_steps = 0;
  train::Trainer trainer(s, 0, 1, 400, 1);
  train::State state = trainer.warm_start();
  std::vector<float> gradient(state.parameters.size());
  const kernels::ModelShape& shape = trainer.shape();
  const Corpus corpus = train::load_corpus(s.training);
  std::vector<std::int32_t> inputs, targets;
  for (int row = 0; row < shape.B; ++row) {
    std::vector<std::int32_t> in(32), out(32);
    train::fill_window(corpus, static_cast<std::size_t>(row) * 1000, in, out);
    inputs.insert(inputs.end(), in.begin(), in.end());
    targets.insert(targets.end(), out.begin(), out.end());
  }
  kernels::Workspace workspace(shape);
  float loss = 0;
  for (int step = 1; step <= 400; ++step) {
    loss = kernels::forward_backward(shape, state.parameters, inputs, targets, gradient, workspace);
    if (step == 1) CHECK(std::abs(static_cast<double>(loss) - std::log(256.0)) < 0.2);
    kernels::clip_by_norm(gradient, 1.0);
    kernels::adamw_step({}, 1e-2f, step, gradient, state.parameters, state.moment1, state.moment2);
  }
  CHECK(loss < 0.05f);
}

TEST_CASE("a loss that is not finite ends the curve and is kept") {
  Scenario s = quick_scenario(Family::kDataParallel);
  s.training.warm_start_steps = 0;
  s.training.of_protocol[0].inner.rate = 1e30;
  s.training.of_protocol[0].inner.warm_up_steps = 0;
  const TrainResult result = replay(s, 0, lock_step(40).tape(), 1, {});
  CHECK(result.diverged);
  CHECK_FALSE(std::isfinite(result.not_finite.loss));
  CHECK(result.not_finite.tokens == 40000.0);  // the first of 4 points: 10 steps of 4 × 1000
  CHECK(result.curve.size() == 1);
}
