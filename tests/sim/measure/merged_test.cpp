#include <array>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "tests/sim/measure/tapes.hpp"

using doctest::Approx;
using namespace skerry;
using namespace skerry::test;

namespace {

// Two fragments of 3 and 1 parameters: weights 3/4 and 1/4. τ = 2.
struct Bench {
  Scenario scenario = scenario_of(1);
  Protocol protocol = protocol_of(scenario, Family::kDiloco, 2);
  Tape tape;

  explicit Bench(int learners = 1)
      : scenario(scenario_of(learners)), protocol(protocol_of(scenario, Family::kDiloco, 2)) {
    scenario.charged.tensors = {{"large", 3, false}, {"small", 1, false}};
    scenario.charged.parameters = 4;
  }
  // Steps come last on the tape, as they do when their span ends after the rounds within it.
  Summary ten_steps() {
    tape.add(steps(0, 0, 1, 10, {1, 0, 0}, 10));
    end(tape, 10, 100);
    return fold(scenario, protocol, tape);
  }
};

// Merged / (merged + erased): what is left of merged_share when the pending rest is taken out.
double decided(const Summary& summary) {
  return summary.merged_share.value() / (1 - summary.merged_pending_share);
}

}  // namespace

TEST_CASE("a merge saves the tokens up to the pull, the overwrite erases the rest") {
  Bench bench;
  bench.tape.add(pull(0, 3, 1, 0, 3));
  bench.tape.add(merge(4, 1, 0));
  bench.tape.add(overwrite(0, 5, 1, 0, 5, 3, true));
  const Summary summary = bench.ten_steps();
  // Fragment 0 (3/4): 30 merged, 20 erased, 50 pending; fragment 1 (1/4): 100 pending.
  CHECK(decided(summary) == Approx(30.0 / 50));
  CHECK(summary.merged_pending_share == Approx((0.75 * 50 + 0.25 * 100) / 100));
  CHECK(summary.by_learner[0].merged_share == summary.merged_share);
}

TEST_CASE("fragments weigh by their bytes, equally without any") {
  for (const bool bytes : {true, false}) {
    Bench bench;
    if (!bytes) bench.scenario.charged = {};
    bench.tape.add(pull(0, 10, 1, 0, 10));
    bench.tape.add(merge(10, 1, 0));
    bench.tape.add(overwrite(0, 10, 1, 0, 10, 10, true));   // fragment 0: all merged
    bench.tape.add(overwrite(0, 10, 2, 1, 10, -1, false));  // fragment 1: all erased
    CHECK(decided(bench.ten_steps()) == Approx(bytes ? 0.75 : 0.5));
  }
}

TEST_CASE("what others merged erases all that was not pulled") {
  Bench bench;
  bench.tape.add(merge(4, 1, 0));
  bench.tape.add(overwrite(0, 5, 1, 0, 5, -1, false));
  CHECK(decided(bench.ten_steps()) == 0);
}

TEST_CASE("a pulled fragment that did not take part is erased") {
  Bench bench;
  bench.tape.add(pull(0, 3, 1, 0, 3));
  bench.tape.add(merge(4, 1, 0));
  bench.tape.add(overwrite(0, 5, 1, 0, 5, 3, false));
  CHECK(decided(bench.ten_steps()) == 0);
}

TEST_CASE("an abandoned round saves nothing, a restarted one does") {
  for (const bool restarted : {false, true}) {
    Bench bench;
    bench.tape.add(pull(0, 3, 1, 0, 3));
    bench.tape.add(fact::Abandon{4, 1, 0, restarted});
    if (restarted) bench.tape.add(fact::Weigh{1, 3, 30, 300, 0, 0});
    if (restarted) bench.tape.add(merge(4.5, 1, 0));
    bench.tape.add(merge(5, 2, 0));
    bench.tape.add(overwrite(0, 6, 2, 0, 6, -1, false));
    CHECK(decided(bench.ten_steps()) == Approx(restarted ? 0.5 : 0));
  }
}

TEST_CASE("two pulls in flight: the younger one saves what the older overwrite erases") {
  Bench bench;
  bench.tape.add(pull(0, 2, 1, 0, 2));
  bench.tape.add(pull(0, 4, 2, 0, 4));
  bench.tape.add(merge(4.5, 1, 0));
  bench.tape.add(overwrite(0, 5, 1, 0, 5, 2, true));
  bench.tape.add(merge(5.5, 2, 0));
  bench.tape.add(overwrite(0, 6, 2, 0, 6, 4, true));
  // Steps 1–4 entered a merge; 5 and 6 were erased.
  CHECK(decided(bench.ten_steps()) == Approx(4.0 / 6));
}

TEST_CASE("a crash erases what no pull saved; a merge that ends later still counts") {
  enum { kMerged, kRestartedWithAll, kRestartedWithoutIt };
  for (const int what : {kMerged, kRestartedWithAll, kRestartedWithoutIt}) {
    Bench bench;
    bench.tape.add(pull(0, 4, 1, 0, 4));
    bench.tape.add(steps(0, 0, 1, 6, {1, 0, 0}, 10));
    bench.tape.add(fact::Leave{6, 6, 0});
    if (what != kMerged) bench.tape.add(fact::Abandon{6.5, 1, 0, true});
    if (what == kRestartedWithAll) bench.tape.add(fact::Weigh{1, 4, 40, 400, 0, 0});
    bench.tape.add(merge(7, 1, 0, what == kRestartedWithoutIt ? 0 : 1));
    bench.tape.add(fact::Copy{8, 9, 0, -1});
    bench.tape.add(overwrite(0, 8, 1, 0, 9, -1, false));  // replayed from the buffer: no tokens yet
    bench.tape.add(phase(0, 6, 8, Cause::kDown));
    bench.tape.add(fact::Join{8, 9, 0});
    bench.tape.add(steps(0, 8, 10, 2, {1, 0, 0}, 10));
    end(bench.tape, 10, 80);
    const Summary summary = fold(bench.scenario, bench.protocol, bench.tape);
    // Fragment 0: 40 merged, 20 erased; fragment 1: 60 erased: 30 of 30 + 15 + 15.
    CHECK(decided(summary) == Approx(what == kRestartedWithoutIt ? 0 : 0.5));
    CHECK(summary.merged_pending_share == Approx(20.0 / 80));
  }
}

TEST_CASE("a second pull for one clock takes the place of the first") {
  Bench bench;
  bench.tape.add(steps(0, 0, 1, 5, {1, 0, 0}, 10));
  bench.tape.add(pull(0, 5, 1, 0, 5));
  bench.tape.add(fact::Leave{5, 5, 0});
  bench.tape.add(fact::Join{5, 20, 0});
  bench.tape.add(pull(0, 8, 1, 0, 23));
  bench.tape.add(merge(9, 1, 0));
  bench.tape.add(overwrite(0, 10, 1, 0, 25, 23, true));
  bench.tape.add(overwrite(0, 10, 2, 1, 25, -1, false));
  bench.tape.add(steps(0, 5, 21, 5, {1, 0, 0}, 10));
  end(bench.tape, 10, 100);
  // Fragment 0: 3 of 10 steps merged; fragment 1: none of 10.
  CHECK(decided(fold(bench.scenario, bench.protocol, bench.tape)) == Approx(0.225));
}

TEST_CASE("a join that goes on keeps the open tokens, one that jumps does not") {
  for (const std::int64_t joined_at : {3, 7}) {
    Bench bench;
    bench.tape.add(steps(0, 0, 1, 3, {1, 0, 0}, 10));
    bench.tape.add(phase(0, 3, 8, Cause::kInfrastructureRecovery));
    bench.tape.add(fact::Join{8, joined_at, 0});
    bench.tape.add(steps(0, 8, joined_at + 1, 2, {1, 0, 0}, 10));
    bench.tape.add(pull(0, 10, 1, 0, joined_at + 2));
    bench.tape.add(merge(10, 1, 0));
    end(bench.tape, 10, 50);
    const Summary summary = fold(bench.scenario, bench.protocol, bench.tape);
    // Goes on: 5 steps of fragment 0 merged, fragment 1 pending. Jumps: 2 merged; 3 of both erased.
    const double merged = 0.75 * 20, erased = 0.75 * 30 + 0.25 * 30;
    CHECK(decided(summary) == Approx(joined_at == 3 ? 1 : merged / (merged + erased)));
  }
}

TEST_CASE("rows: one learner merged, the other overwritten") {
  Bench bench(2);
  bench.scenario.learners[1].device = "v5p";
  bench.tape.add(steps(1, 0, 1, 10, {1, 0, 0}, 30));
  for (const int fragment : {0, 1}) {
    bench.tape.add(pull(0, 10, fragment + 1, fragment, 10));
    bench.tape.add(merge(10, fragment + 1, fragment));
    bench.tape.add(overwrite(0, 10, fragment + 1, fragment, 10, 10, true));
    bench.tape.add(overwrite(1, 10, fragment + 1, fragment, 10, -1, false));
  }
  bench.tape.add(steps(0, 0, 1, 10, {1, 0, 0}, 10));
  end(bench.tape, 10, 400);
  const Summary summary = fold(bench.scenario, bench.protocol, bench.tape);
  CHECK(decided(summary) == Approx(100.0 / 400));
  CHECK(summary.by_learner[0].merged_share.value() == 1);
  CHECK(summary.by_learner[1].merged_share.value() == 0);
  CHECK(summary.by_device[1].merged_share.value() == 0);
}

TEST_CASE("what has no fate at the end has not entered a merge") {
  Bench bench;
  const Summary summary = bench.ten_steps();
  CHECK(summary.merged_share.value() == 0);
  CHECK(summary.merged_pending_share == 1);
}

TEST_CASE("contradictions are bugs") {
  Bench jump;
  jump.tape.add(steps(0, 0, 1, 5, {1, 0, 0}, 1));
  jump.tape.add(steps(0, 5, 7, 5, {1, 0, 0}, 1));
  end(jump.tape, 10, 10);
  CHECK_THROWS_AS(fold(jump.scenario, jump.protocol, jump.tape), Bug);

  Bench never_merged;
  never_merged.tape.add(pull(0, 3, 1, 0, 3));
  never_merged.tape.add(overwrite(0, 5, 1, 0, 5, 3, true));
  CHECK_THROWS_AS(never_merged.ten_steps(), Bug);

  Bench overwritten_before_pull;
  overwritten_before_pull.tape.add(pull(0, 6, 1, 0, 6));
  overwritten_before_pull.tape.add(merge(6, 1, 0));
  overwritten_before_pull.tape.add(overwrite(0, 6, 1, 0, 5, 6, true));
  CHECK_THROWS_AS(overwritten_before_pull.ten_steps(), Bug);
}

namespace {

constexpr int kFragments = 3;

// The same question answered step by step: every done step waits, with its tokens, in each
// fragment's list until it is merged or erased.
class StepByStep {
 public:
  void step(std::int64_t number, double tokens) {
    for (auto& waiting : waiting_)
      waiting.push_back({number, tokens, false});
  }
  void merged_pull(int fragment, std::int64_t pulled_step) {
    for (Token& token : waiting_[std::size_t(fragment)]) {
      token.saved = token.saved || token.step <= pulled_step;
    }
  }
  void erase(int fragment) {
    for (const Token& token : waiting_[std::size_t(fragment)]) {
      (token.saved ? merged : erased) += token.tokens;
    }
    waiting_[std::size_t(fragment)].clear();
  }
  void finish() {
    for (const auto& waiting : waiting_) {
      for (const Token& token : waiting)
        (token.saved ? merged : pending) += token.tokens;
    }
  }
  double merged = 0, erased = 0, pending = 0;

 private:
  struct Token {
    std::int64_t step = 0;
    double tokens = 0;
    bool saved = false;
  };
  std::array<std::vector<Token>, kFragments> waiting_;
};

}  // namespace

TEST_CASE("prefix sums agree with following every step, over random histories") {
  const Scenario scenario = scenario_of(1);
  const Protocol protocol = protocol_of(scenario, Family::kDiloco, kFragments);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, "tests.merged", 0);
    Tape tape;
    StepByStep expected;
    std::vector<fact::Steps> late;  // appended once a few runs are done, as protocols may
    double t = 0, tokens = 0;
    std::int64_t step = 0, clock = 0;
    for (int run = 0; run < 40; ++run) {
      const auto n = std::int64_t(1 + random.below(4));
      const double of_step = double(1 + random.below(5));
      late.push_back(steps(0, t, step + 1, n, {1, 0, 0}, of_step));
      t += double(n);
      tokens += double(n) * of_step;
      for (std::int64_t i = 0; i < n; ++i)
        expected.step(++step, of_step);
      const int fragment = int(random.below(kFragments));
      const std::uint64_t what = random.below(8);
      ++clock;
      if (what < 4) {
        tape.add(pull(0, t, clock, fragment, step));
        if (what < 3) {
          tape.add(merge(t, clock, fragment));
          expected.merged_pull(fragment, step);
        }
      } else if (what < 7) {
        tape.add(overwrite(0, t, clock, fragment, step, -1, false));
        expected.erase(fragment);
      } else {
        tape.add(fact::Leave{t, step, 0});
        for (int p = 0; p < kFragments; ++p)
          expected.erase(p);
        step = std::int64_t(random.below(100));
        tape.add(fact::Join{t, step, 0});
      }
      if (random.below(3) == 0) {
        for (const fact::Steps& fact : late)
          tape.add(fact);
        late.clear();
      }
    }
    for (const fact::Steps& fact : late)
      tape.add(fact);
    end(tape, t, tokens);
    expected.finish();
    const Summary summary = fold(scenario, protocol, tape);
    const double all = expected.merged + expected.erased + expected.pending;
    REQUIRE(summary.merged_share.value() == Approx(expected.merged / all).epsilon(1e-12));
    REQUIRE(summary.merged_pending_share == Approx(expected.pending / all).epsilon(1e-12));
  }
}
