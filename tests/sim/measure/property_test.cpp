#include <cmath>
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

constexpr Cause kPhases[] = {Cause::kDown,
                             Cause::kInfrastructureRecovery,
                             Cause::kCheckpointRestore,
                             Cause::kSliceDown,
                             Cause::kScaleUp,
                             Cause::kCheckpointSave,
                             Cause::kStragglerWait,
                             Cause::kWaitingForQuorum,
                             Cause::kExposedCommunication,
                             Cause::kOther};

struct Made {
  Tape tape;
  double net_tokens = 0;
};

// Steps, cut steps, phases and losses of one learner up to end_s, with dates added up in doubles.
void tile(RandomStream& random, const Scenario& scenario, int learner, double end_s, Made& made) {
  const Learner& island = scenario.learners[std::size_t(learner)];
  double t = island.start_s;
  std::int64_t step = 0;
  while (t < end_s) {
    const int away = int(random.below(std::uint64_t(island.slices) + 1));
    const double present_chips = double(island.chips) * (island.slices - away) / island.slices;
    const std::uint64_t what = random.below(10);
    if (what < 5) {
      const auto n = std::int64_t(1 + random.below(1000));
      const fact::Steps fact =
          steps(learner, t, step + 1, n,
                {random.uniform() * 7, random.uniform(), random.uniform() * 2}, 917504, away);
      if (fact.t1 > end_s) break;
      made.tape.add(fact);
      made.net_tokens += double(n) * fact.tokens;
      t = fact.t1;
      step += n;
      if (random.below(3) == 0) {  // up to half of the steps just done
        const double lost_steps = random.uniform() * double(n) / 2;
        made.tape.add(fact::Lost{t, lost_steps, lost_steps * fact.compute_s * present_chips,
                                 lost_steps * fact.tokens, learner});
        made.net_tokens -= lost_steps * fact.tokens;
      }
    } else {
      const double t1 = std::min(end_s, t + random.exponential() * 50);
      if (what < 7) {
        made.tape.add(fact::CutStep{t, t1, learner, away, random.below(2) == 0});
      } else {
        made.tape.add(phase(learner, t, t1, kPhases[random.below(std::size(kPhases))], away));
      }
      t = t1;
    }
  }
  if (t < end_s) made.tape.add(phase(learner, t, end_s, Cause::kOther));
}

Scenario random_scenario(RandomStream& random) {
  Scenario scenario = scenario_of(int(1 + random.below(5)));
  for (Learner& learner : scenario.learners) {
    learner.slices = int(1 + random.below(7));
    learner.chips = learner.slices * std::int64_t(1 + random.below(300));
    learner.start_s = random.below(2) == 0 ? 0 : random.uniform() * 1e5;
    learner.usd_per_chip_hour = random.uniform() * 12;
    learner.power_w = 1000 * random.uniform();
    learner.idle_power_share = random.uniform();
  }
  return scenario;
}

double sum_of(const Summary& summary) {
  double total = summary.chip_seconds_productive;
  for (const double chip_seconds : summary.chip_seconds_lost)
    total += chip_seconds;
  return total;
}

}  // namespace

TEST_CASE("any tiling closes to 1e-9") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random(seed, "tests.tilings", 0);
    const Scenario scenario = random_scenario(random);
    const double end_s = 1e5 * (1 + 9 * random.uniform());
    Made made;
    double total = 0, usd = 0, most_kwh = 0;
    for (int learner = 0; learner < int(scenario.learners.size()); ++learner) {
      tile(random, scenario, learner, end_s, made);
      const Learner& island = scenario.learners[std::size_t(learner)];
      const double chip_seconds = double(island.chips) * (end_s - island.start_s);
      total += chip_seconds;
      usd += chip_seconds * *island.usd_per_chip_hour / 3600;
      most_kwh += chip_seconds * *island.power_w / 3.6e6;
    }
    end(made.tape, end_s, made.net_tokens);
    const Summary summary = fold(scenario, protocol_of(scenario, Family::kDiloco), made.tape);
    REQUIRE(summary.chip_seconds_total == Approx(total).epsilon(1e-12));
    REQUIRE(sum_of(summary) == Approx(total).epsilon(1e-9));
    REQUIRE(summary.closure_chip_seconds <= 1e-9);
    const std::vector<GoodputPoint> curve =
        goodput_over_time(scenario, protocol_of(scenario, Family::kDiloco), made.tape, 20);
    REQUIRE(curve.back().t == end_s);
    REQUIRE(curve.back().goodput == Approx(summary.goodput).epsilon(1e-9));
    for (const GoodputPoint& point : curve)
      REQUIRE(std::abs(point.goodput - 0.5) <= 0.5 + 1e-9);
    REQUIRE(summary.uptime <= 1);
    REQUIRE(summary.cost);
    REQUIRE(summary.cost->chips_usd == Approx(usd).epsilon(1e-12));
    REQUIRE(summary.cost->productive_usd + summary.cost->wasted_usd() == Approx(usd).epsilon(1e-9));
    REQUIRE(summary.closure_cost <= 1e-9);
    REQUIRE(*summary.energy_kwh >= 0);
    REQUIRE(*summary.energy_kwh <= most_kwh * (1 + 1e-9));
    for (const double chip_seconds : summary.chip_seconds_lost)
      REQUIRE(chip_seconds >= 0);
  }
}

TEST_CASE("a tiling with a span moved, dropped or doubled is a bug") {
  int broken = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random(seed, "tests.broken", 0);
    const Scenario scenario = scenario_of(2);
    const Protocol protocol = protocol_of(scenario, Family::kDiloco);
    Made made;
    for (const int learner : {0, 1})
      tile(random, scenario, learner, 1e5, made);
    end(made.tape, 1e5, made.net_tokens);
    REQUIRE_NOTHROW(fold(scenario, protocol, made.tape));
    const auto at = std::ptrdiff_t(random.below(made.tape.facts.size()));
    auto* found = std::get_if<fact::Phase>(&made.tape.facts[std::size_t(at)]);
    if (found == nullptr || found->t1 - found->t0 < 1) continue;
    const fact::Phase span = *found;  // the list may move below
    switch (random.below(4)) {
      case 0:
        found->t0 += 1e-3;
        break;
      case 1:
        found->t1 -= 1e-3;
        break;
      case 2:
        made.tape.facts.erase(made.tape.facts.begin() + at);
        break;
      default:
        made.tape.add(span);
    }
    ++broken;
    REQUIRE_THROWS_AS(fold(scenario, protocol, made.tape), Bug);
  }
  CHECK(broken > 10);
}

TEST_CASE("rollbacks agree with a list of steps") {
  // Three learners in lock-step; every run of steps may be followed by a rollback to a random step.
  // The list holds, for each step that counts, the seconds of its parts.
  struct Done {
    double compute_s = 0, straggler_s = 0, exposed_s = 0;
  };
  const Scenario scenario = scenario_of(3);
  const Protocol protocol = protocol_of(scenario, Family::kDataParallel);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random(seed, "tests.rollbacks", 0);
    Tape tape;
    std::vector<Done> list;
    double t = 0, computed_s = 0;
    for (int run = 0; run < 50; ++run) {
      const auto n = std::int64_t(1 + random.below(20));
      const StepParts parts{1 + random.uniform(), random.uniform(), random.uniform()};
      const auto first = std::int64_t(list.size()) + 1;
      for (const int learner : {0, 1, 2})
        tape.add(steps(learner, t, first, n, parts, 1));
      t = std::get<fact::Steps>(tape.facts.back()).t1;
      for (std::int64_t i = 0; i < n; ++i) {
        list.push_back({parts.compute_s, parts.straggler_wait_s, parts.exposed_s});
        computed_s += parts.compute_s + parts.straggler_wait_s + parts.exposed_s;
      }
      if (random.below(3) == 0) {
        const auto to_step = random.below(list.size() + 1);
        tape.add(fact::RollBack{t, std::int64_t(to_step)});
        list.resize(to_step);
      }
    }
    end(tape, t, 3 * double(list.size()));
    double compute_s = 0, straggler_s = 0, exposed_s = 0;
    for (const Done& done : list) {
      compute_s += done.compute_s;
      straggler_s += done.straggler_s;
      exposed_s += done.exposed_s;
    }
    const Summary summary = fold(scenario, protocol, tape);
    const double chips = 24;
    REQUIRE(goodput_over_time(scenario, protocol, tape, 3).back().goodput ==
            Approx(summary.goodput).epsilon(1e-9));
    REQUIRE(summary.learner_steps == 3 * double(list.size()));
    REQUIRE(summary.chip_seconds_productive == Approx(chips * compute_s).epsilon(1e-9));
    REQUIRE(lost(summary, Cause::kStragglerWait) == Approx(chips * straggler_s).epsilon(1e-9));
    REQUIRE(lost(summary, Cause::kExposedCommunication) == Approx(chips * exposed_s).epsilon(1e-9));
    REQUIRE(lost(summary, Cause::kWastedProgress) ==
            Approx(chips * (computed_s - compute_s - straggler_s - exposed_s)).epsilon(1e-9));
  }
}
