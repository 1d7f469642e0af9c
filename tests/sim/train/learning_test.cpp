// The quick model on real text: the curves that this scale is known to give.
#include <doctest/doctest.h>

#include "sim/train/replay.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;
using test::TapeBuilder;

namespace {

constexpr int kSteps = 200;

Scenario quick_scenario(Family family) {
  Scenario s = test::small_scenario(4, family, 1);
  s.training.model = {"quick", 2, 32, 1, 32, 256, 8};
  s.training.evaluation_windows = 64;
  s.training.warm_start_steps = 50;
  s.training.of_protocol[0].inner.rate = 6e-3;
  return s;
}

}  // namespace

TEST_CASE("the loss falls on real text, in lock-step and with 20 steps between merges") {
  TapeBuilder lock_step(kSteps), diloco(kSteps);
  lock_step.reduce(1, kSteps, {{0, 1000.0}, {1, 1000.0}, {2, 1000.0}, {3, 1000.0}});
  for (int t = 1; t <= kSteps / 20; ++t) {
    for (int m = 0; m < 4; ++m)
      diloco.steps(m, 20 * t - 19, 20).pull(m, 0, t, 20 * t);
    diloco.merge(0, t, 4);
    for (int m = 0; m < 4; ++m)
      diloco.overwrite(m, 0, t, 20 * t);
  }
  const TrainResult a = replay(quick_scenario(Family::kDataParallel), 0, lock_step.tape(), 2, {});
  const TrainResult b = replay(quick_scenario(Family::kDiloco), 0, diloco.tape(), 2, {});
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
}
