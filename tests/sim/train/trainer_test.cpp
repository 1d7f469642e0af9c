#include "sim/train/trainer.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;
using train::Batch;
using train::State;
using train::Trainer;

namespace {

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return std::sqrt(sum);
}

double norm(const std::vector<float>& a) {
  return distance(a, std::vector<float>(a.size()));
}

}  // namespace

TEST_CASE("learning rate: linear warm-up, cosine, then constant") {
  Scenario s = test::small_scenario(1, Family::kDiloco, 1);
  InnerOptimizer& inner = s.training.of_protocol[0].inner;
  inner.rate = 1e-2;
  inner.final_rate_share = 0.2;
  inner.warm_up_steps = 10;
  s.training.warm_start_steps = 20;
  Trainer trainer(s, 0, 1, 90, 1);  // 20 + 90 steps, of which 10 warm up and 100 decay
  const auto rate = [&](double n) { return static_cast<double>(trainer.rate(n)); };
  CHECK(rate(1) == doctest::Approx(1e-3));
  CHECK(rate(10) == doctest::Approx(1e-2));
  CHECK(rate(60) == doctest::Approx(1e-2 * 0.6));  // half way: 0.2 + 0.8 · ½
  // A quarter: 0.2 + 0.8 · (1 + cos 45°)/2 = 0.2 + 0.8 · 0.853553 = 0.882843
  CHECK(rate(35) == doctest::Approx(1e-2 * 0.882843).epsilon(1e-6));
  CHECK(rate(110) == doctest::Approx(2e-3));
  CHECK(rate(500) == doctest::Approx(2e-3));
}

TEST_CASE(
    "learning rate: a smaller batch takes its share of the schedule, and what the rule says") {
  Scenario s = test::small_scenario(1, Family::kDiloco, 1);
  InnerOptimizer& inner = s.training.of_protocol[0].inner;
  inner.rate = 1e-2;
  inner.warm_up_steps = 10;
  s.training.warm_start_steps = 0;
  const auto rate = [&](RateRule rule, double done, double share) {
    inner.rate_rule = rule;
    return static_cast<double>(Trainer(s, 0, 1, 90, 1).rate(done, share));
  };
  CHECK(rate(RateRule::kConstant, 10, 0.25) == doctest::Approx(1e-2));
  CHECK(rate(RateRule::kLinear, 10, 0.25) == doctest::Approx(2.5e-3));
  CHECK(rate(RateRule::kSquareRoot, 10, 0.25) == doctest::Approx(5e-3));
  CHECK(rate(RateRule::kLinear, 5, 1.0) == doctest::Approx(5e-3));  // half of the warm-up

  Trainer trainer(s, 0, 1, 90, 1);
  State state = trainer.warm_start();
  trainer.step(state, 1, {0, 64}, 0);
  trainer.step(state, 2, {0, 16}, 0);
  CHECK(state.full_steps == 1.25);  // 64 of 64 and 16 of 64 tokens
  CHECK(state.adamw_steps == 2);
}

TEST_CASE("a shrunken batch is the same share of tokens, rounded") {
  const Scenario s = test::small_scenario(1, Family::kDiloco, 1);  // 1000 charged = 64 trained
  Trainer trainer(s, 0, 1, 10, 1);
  CHECK(trainer.trained_tokens(1000) == 64);
  CHECK(trainer.trained_tokens(750) == 48);
  CHECK(trainer.trained_tokens(333) == 21);  // 21.3
  CHECK(trainer.trained_tokens(0) == 0);
}

TEST_CASE("masked tokens are the last of the batch") {
  const Scenario s = test::small_scenario(1, Family::kDiloco, 1);
  Trainer trainer(s, 0, 1, 10, 1);
  const State state = trainer.warm_start();
  std::vector<float> gradient(state.parameters.size());
  // 21 of 64: naive sum over the unmasked positions, one window at a time, with the same draws.
  CHECK(trainer.shard_gradient(state.parameters, 4, {0, 21}, 0, gradient, 0) == 21);

  kernels::ModelShape one = trainer.shape();
  one.B = 1;
  kernels::Workspace workspace(one);
  const Corpus corpus = train::load_corpus(s.training);
  RandomStream stream(1, "train.data/0", 4);
  std::vector<float> sum(gradient.size()), part(gradient.size());
  for (const int tokens : {16, 5}) {
    std::vector<std::int32_t> inputs(16), targets(16);
    train::fill_window(corpus, stream.below(corpus.training_tokens - 16), inputs, targets);
    std::fill(targets.begin() + tokens, targets.end(), -1);
    kernels::forward_backward(one, state.parameters, inputs, targets, part, workspace);
    kernels::add_scaled(sum, static_cast<float>(tokens) / 21.0f, part);
  }
  CHECK(norm(gradient) > 1e-3);
  CHECK(distance(gradient, sum) < 1e-5 * norm(gradient));
}

TEST_CASE("a synchronous step is one step on all rows, weighted by tokens") {
  const Scenario s = test::small_scenario(3, Family::kDataParallel, 1);
  Trainer trainer(s, 0, 1, 10, 2);
  State state = trainer.warm_start();
  const std::vector<Batch> batches{{0, 64}, {1, 21}, {2, 48}};
  const std::size_t size = state.parameters.size();
  std::vector<float> mean(size), part(size);
  for (const Batch& batch : batches) {
    trainer.shard_gradient(state.parameters, 4, batch, 0, part, 0);
    kernels::add_scaled(mean, static_cast<float>(batch.tokens / 133.0), part);  // 64 + 21 + 48
  }
  kernels::clip_by_norm(mean, 1.0);
  State expected = state;
  const double behind = 3 + 133.0 / 192.0;  // steps of the warm start, and 133 of 3 × 64 tokens
  kernels::adamw_step({}, trainer.rate(behind), 4, mean, expected.parameters, expected.moment1,
                      expected.moment2);
  trainer.synchronous_step(state, 4, batches, 3);
  CHECK(state.full_steps == behind);
  CHECK(state.adamw_steps == 4);  // three of the warm start and this
  CHECK(state.parameters == expected.parameters);
  CHECK(state.moment2 == expected.moment2);
}

TEST_CASE("synchronous step of one learner: the bits of its own step") {
  for (const int shards : {1, 2, 4}) {
    Scenario s = test::small_scenario(1, Family::kDataParallel, 1);
    s.training.gradient_shards = shards;
    Trainer trainer(s, 0, 1, 10, 2);
    State a = trainer.warm_start();
    State b = a;
    trainer.synchronous_step(a, 4, {{0, 40}}, 1);
    trainer.step(b, 4, {0, 40}, 1);
    CHECK(a.parameters == b.parameters);
    CHECK(a.moment1 == b.moment1);
  }
}

TEST_CASE("gradient shards change the rounding alone, and must divide the batch") {
  Scenario s = test::small_scenario(1, Family::kDataParallel, 1);
  std::vector<State> states;
  for (const int shards : {1, 2, 4}) {
    s.training.gradient_shards = shards;
    states.push_back(Trainer(s, 0, 1, 10, 1).warm_start());
  }
  CHECK(states[0].parameters != states[1].parameters);
  CHECK(distance(states[0].moment1, states[1].moment1) < 1e-4 * norm(states[0].moment1));
  CHECK(distance(states[0].moment1, states[2].moment1) < 1e-4 * norm(states[0].moment1));
  s.training.gradient_shards = 3;
  CHECK_THROWS_AS(Trainer(s, 0, 1, 10, 1), BadInput);
}

TEST_CASE("the warm start uses all learners of the scenario, whoever takes part") {
  Scenario s = test::small_scenario(4, Family::kDiloco, 1);
  const State all = Trainer(s, 0, 1, 10, 1).warm_start();
  s.protocols[0].learners = {2};
  CHECK(Trainer(s, 0, 1, 10, 4).warm_start().parameters == all.parameters);
  CHECK(Trainer(s, 0, 2, 10, 1).warm_start().parameters != all.parameters);
}

TEST_CASE("the warm start is one for all rows, whatever their optimizer and horizon") {
  Scenario s = test::small_scenario(2, Family::kDiloco, 1);
  const State all = Trainer(s, 0, 1, 10, 1).warm_start();
  InnerOptimizer& inner = s.training.of_protocol[0].inner;
  inner = {0.5, true, RateRule::kLinear, 0.9, 1, 0.1, 0.2, 1e-3, 5.0, 1e-3};
  Trainer trainer(s, 0, 1, 1000, 1);
  const State same = trainer.warm_start();
  CHECK(same.parameters == all.parameters);
  CHECK(same.moment2 == all.moment2);
  CHECK(trainer.rate(2) > 0.49f);  // the row's own again
  CHECK(trainer.optimizers().inner.clip_norm == 1e-3);
  s.training.warm_inner.rate *= 2;
  CHECK(Trainer(s, 0, 1, 10, 1).warm_start().parameters != all.parameters);
  // No decay: the third of three steps has the whole rate, as if a fourth were to come.
  s.training.warm_inner = {};
  s.training.warm_inner.warm_up_steps = 1;
  State by_hand = Trainer(s, 0, 1, 10, 1).warm_start();
  s.training.warm_start_steps = 0;
  s.training.of_protocol[0].inner = s.training.warm_inner;
  s.training.of_protocol[0].inner.final_rate_share = 1;
  Trainer constant(s, 0, 1, 10, 1);
  State steps = constant.warm_start();
  for (int k = 1; k <= 3; ++k) constant.synchronous_step(steps, k, {{0, 64}, {1, 64}}, 2);
  CHECK(steps.parameters == by_hand.parameters);
}

TEST_CASE("held-out loss is the mean over the windows, whatever the batch") {
  Scenario s = test::small_scenario(1, Family::kDiloco, 1);
  s.training.evaluation_windows = 6;  // one and a half batches of 4
  Trainer trainer(s, 0, 1, 10, 2);
  const State state = trainer.warm_start();
  kernels::ModelShape one = trainer.shape();
  one.B = 1;
  kernels::Workspace workspace(one);
  const Corpus corpus = train::load_corpus(s.training);
  double sum = 0;
  for (int i = 0; i < 6; ++i) {
    std::vector<std::int32_t> inputs(16), targets(16);
    train::fill_window(corpus, train::held_out_start(corpus, 16, i, 6), inputs, targets);
    sum += kernels::forward_loss_sum(one, state.parameters, inputs, targets, workspace);
  }
  CHECK(trainer.held_out_loss(state.parameters) == doctest::Approx(sum / 96).epsilon(1e-6));
}

TEST_CASE("held-out loss is in nats per byte, whatever a token is") {
  Scenario s = test::small_scenario(1, Family::kDiloco, 1);
  s.training.model.vocabulary = 400;
  Trainer trainer(s, 0, 1, 10, 2);
  const State state = trainer.warm_start();
  kernels::ModelShape one = trainer.shape();
  one.B = 1;
  kernels::Workspace workspace(one);
  const Corpus corpus = train::load_corpus(s.training);
  const auto tokenizer = kernels::Tokenizer::learn(
      corpus_text(s.training, "").substr(0, 1048536 - 52427), 400);  // as corpus_test has it
  double sum = 0;
  std::size_t bytes = 0;
  for (int i = 0; i < 16; ++i) {
    std::vector<std::int32_t> inputs(16), targets(16);
    train::fill_window(corpus, train::held_out_start(corpus, 16, i, 16), inputs, targets);
    sum += kernels::forward_loss_sum(one, state.parameters, inputs, targets, workspace);
    bytes += tokenizer.decode(std::vector<kernels::Token>(targets.begin(), targets.end())).size();
  }
  CHECK(bytes > 16 * 16 * 3 / 2);
  CHECK(train::held_out_bytes(corpus, 16, 16) == static_cast<double>(bytes));
  CHECK(trainer.held_out_loss(state.parameters) ==
        doctest::Approx(sum / static_cast<double>(bytes)).epsilon(1e-6));
}

TEST_CASE("contiguous shards: each learner reads its own part, iid ones read all of it") {
  Scenario s = test::small_scenario(4, Family::kDiloco, 1);
  const Corpus corpus = train::load_corpus(s.training);
  for (const bool own : {false, true}) {
    s.training.shards = own ? Shards::kContiguous : Shards::kIid;
    const Trainer trainer(s, 0, 1, 100, 1);
    for (int learner = 0; learner < 4; ++learner) {
      std::size_t first = corpus.training_tokens, last = 0;
      for (int number = 1; number <= 400; ++number) {
        for (const std::size_t start : trainer.window_starts(learner, number, 0)) {
          first = std::min(first, start);
          last = std::max(last, start + 16);
        }
      }
      // 1600 windows: the ends of the part are met to within a fiftieth of it.
      const double part = static_cast<double>(corpus.training_tokens) / (own ? 4 : 1);
      const double begin = own ? part * learner : 0;
      CHECK(static_cast<double>(first) >= std::floor(begin));
      CHECK(static_cast<double>(first) < begin + part / 50);
      CHECK(static_cast<double>(last) < begin + part);
      CHECK(static_cast<double>(last) > begin + part * 49 / 50);
    }
  }
}

TEST_CASE("what a learner reads follows from its number alone") {
  Scenario s = test::small_scenario(3, Family::kDiloco, 1);
  for (const Shards shards : {Shards::kIid, Shards::kContiguous}) {
    s.training.shards = shards;
    Scenario fewer = s;  // in the row; the scenario still has three
    fewer.protocols[0].learners = {1};
    Trainer a(s, 0, 1, 100, 1), b(fewer, 0, 1, 50, 2);
    State state = a.warm_start();
    b.warm_start();
    a.step(state, 9, {0, 11}, 0);  // another learner's smaller batch, an own step long before
    a.step(state, 40, {1, 64}, 0);
    CHECK(a.window_starts(1, 7, 0) == b.window_starts(1, 7, 0));
    CHECK(a.window_starts(1, 7, 0) != a.window_starts(1, 8, 0));
    CHECK(a.window_starts(1, 7, 0) != a.window_starts(2, 7, 0));
    // A batch of 20 tokens is the begin of the whole one: its gradient is that of those tokens.
    std::vector<float> whole(state.parameters.size()), again = whole;
    a.shard_gradient(state.parameters, 7, {1, 20}, 0, whole, 0);
    b.shard_gradient(state.parameters, 7, {1, 20}, 0, again, 0);
    CHECK(whole == again);
  }
}

TEST_CASE("a corpus too small for the shards is refused with both numbers") {
  Scenario s = test::small_scenario(3, Family::kDiloco, 1);
  s.training.shards = Shards::kContiguous;
  check_shards(51, s.training, 3, "");  // three windows of 17
  CHECK_THROWS_WITH(check_shards(50, s.training, 3, "x.json"),
                    "x.json: /training/shards: found kjv with 50 tokens to train on for 3 "
                    "contiguous shards; allowed: at least one window of 17 tokens (context + 1) in "
                    "each, 51 in all");
  s.training.shards = Shards::kIid;
  check_shards(50, s.training, 3, "");
}
