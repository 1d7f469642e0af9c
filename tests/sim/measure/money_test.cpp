#include "sim/cost/money.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/sim/measure/tapes.hpp"

using doctest::Approx;
using namespace skerry;
using namespace skerry::test;

namespace {

// One learner of 4 chips in 4 slices at 4.20 USD and 300 W, a quarter of it while idle.
Scenario priced() {
  Scenario scenario = scenario_of(1);
  Learner& learner = scenario.learners[0];
  learner.chips = 4;
  learner.usd_per_chip_hour = 4.2;
  learner.usd_per_chip_hour_spot = 0.8;
  learner.power_w = 300;
  learner.idle_power_share = 0.25;
  return scenario;
}

double lost_usd(const Summary& summary, Cause cause) {
  return summary.cost->lost_usd[std::size_t(cause)];
}

}  // namespace

TEST_CASE("an hour of steps on four chips") {
  const Scenario scenario = priced();
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  Tape tape;
  tape.add(steps(0, 0, 1, 36, {100, 0, 0}, 1e6));
  end(tape, 3600, 36e6);
  const Summary summary = fold(scenario, protocol, tape);
  REQUIRE(summary.cost);
  CHECK(summary.cost->usd() == Approx(16.8));  // 4 chips × 3600 s × 4.20 USD / 3600
  CHECK(summary.cost->productive_usd == Approx(16.8));
  CHECK(summary.cost->wasted_usd() == 0);
  CHECK(summary.cost->wan_usd == 0);
  CHECK(summary.cost_spot_usd == Approx(3.2));                      // 4 × 0.80
  CHECK(*summary.cost_usd_per_1e9_tokens == Approx(16.8 / 0.036));  // 0.036e9 tokens
  CHECK(*summary.energy_kwh == Approx(1.2));                        // 4 × 300 W × 1 h
}

TEST_CASE("money and energy by cause") {
  // As in the books: 400 chip-seconds of 4 chips in 4 slices. One slice away leaves 3 chips.
  Scenario scenario = priced();
  scenario.learners[0].usd_per_chip_hour = 3600;  // a dollar a chip-second
  scenario.learners[0].power_w = 3.6e6;           // a kilowatt-hour a chip-second
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  Tape tape;
  tape.add(steps(0, 0, 1, 4, {7, 2, 1}, 100, 1));  // [0, 40]
  tape.add(fact::CutStep{40, 45, 0, 1, true});
  tape.add(phase(0, 45, 58, Cause::kSliceDown, 1));
  tape.add(phase(0, 58, 70, Cause::kDown, 4));
  tape.add(phase(0, 70, 80, Cause::kCheckpointRestore));
  tape.add(steps(0, 80, 5, 2, {10, 0, 0}, 100));  // [80, 100]
  tape.add(fact::Lost{100, 1, 40, 100, 0});       // 1 step × 10 s × 4 chips
  end(tape, 100, 500);
  tape.wires = {{"region-0.up", 3 * kBytesPerGib, 1e12}, {"region-0.down", 1e9, 1e12}};
  scenario.prices.wan_usd_per_gib = 0.5;
  const Summary summary = fold(scenario, protocol, tape);
  REQUIRE(summary.cost);
  CHECK(summary.cost->chips_usd == Approx(400));
  CHECK(summary.cost->wan_usd == Approx(1.5));  // 3 GiB left the region; what came in is free
  CHECK(summary.cost->usd() == Approx(401.5));
  CHECK(summary.cost->productive_usd == Approx(124));             // 4·7·3 + 20·4 − 40
  CHECK(lost_usd(summary, Cause::kStragglerWait) == Approx(24));  // 4·2·3
  CHECK(lost_usd(summary, Cause::kExposedCommunication) == Approx(12));
  CHECK(lost_usd(summary, Cause::kDegraded) == Approx(58));        // 40 + 5 + 13
  CHECK(lost_usd(summary, Cause::kWastedProgress) == Approx(55));  // 5·3 + 40
  CHECK(lost_usd(summary, Cause::kSliceDown) == Approx(39));       // 13·3
  CHECK(lost_usd(summary, Cause::kDown) == Approx(48));            // 12·4
  CHECK(lost_usd(summary, Cause::kCheckpointRestore) == Approx(40));
  CHECK(summary.cost->wasted_usd() == Approx(400 - 124));
  CHECK(summary.closure_cost < 1e-15);
  // Stepping: 4·7·3 + 5·3 + 20·4 = 179, the lost step too. Up and idle: 4·3·3 + 13·3 + 10·4 = 115.
  // Away: 58 + 48.
  CHECK(*summary.energy_kwh == Approx(179 + 0.25 * 115));
}

TEST_CASE("chips cost what they cost where they stand") {
  Scenario scenario = scenario_of(2);
  scenario.learners[0].usd_per_chip_hour = 1;
  scenario.learners[1].usd_per_chip_hour = 10;
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  Tape tape;
  tape.add(steps(0, 0, 1, 36, {100, 0, 0}, 1));
  tape.add(phase(1, 0, 3600, Cause::kWaitingForQuorum));
  end(tape, 3600, 36);
  const Summary summary = fold(scenario, protocol, tape);
  REQUIRE(summary.cost);
  CHECK(summary.goodput == Approx(0.5));
  CHECK(summary.cost->productive_usd == Approx(8));                  // 8 chips × 1
  CHECK(lost_usd(summary, Cause::kWaitingForQuorum) == Approx(80));  // 8 chips × 10
}

TEST_CASE("without a price or power nothing is made up") {
  Scenario scenario = priced();
  Protocol protocol = protocol_of(scenario, Family::kDiloco);
  Tape tape;
  tape.add(steps(0, 0, 1, 36, {100, 0, 0}, 1e6));
  end(tape, 3600, 36e6);
  scenario.learners[0].usd_per_chip_hour_spot.reset();
  CHECK(fold(scenario, protocol, tape).cost);
  CHECK_FALSE(fold(scenario, protocol, tape).cost_spot_usd);
  scenario.prices.pricing = Pricing::kSpot;
  Summary summary = fold(scenario, protocol, tape);
  CHECK_FALSE(summary.cost);
  CHECK_FALSE(summary.cost_usd_per_1e9_tokens);
  CHECK(summary.energy_kwh);
  scenario.learners[0].idle_power_share.reset();
  CHECK_FALSE(fold(scenario, protocol, tape).energy_kwh);
  // Free chips are free, which is not the same.
  scenario.prices.pricing = Pricing::kOnDemand;
  scenario.learners[0].usd_per_chip_hour = 0;
  summary = fold(scenario, protocol, tape);
  REQUIRE(summary.cost);
  CHECK(summary.cost->usd() == 0);
}

TEST_CASE("costs up to a date: chips from joining on, the wide area by its share of the run") {
  Scenario scenario = scenario_of(2);
  for (Learner& learner : scenario.learners)
    learner.usd_per_chip_hour = 450;  // 8 chips: a dollar a second
  scenario.learners[1].start_s = 50;
  const Protocol protocol = protocol_of(scenario, Family::kDiloco);
  const auto chips = chip_costs(scenario, protocol, Pricing::kOnDemand);
  REQUIRE(chips);
  CHECK(usd_per_hour(*chips) == Approx(7200));
  CHECK(usd_until(*chips, 10, 100, 40) == Approx(40 + 4));     // 10 × 40/100
  CHECK(usd_until(*chips, 10, 100, 100) == Approx(150 + 10));  // 100 + 50
  CHECK_FALSE(chip_costs(scenario, protocol, Pricing::kSpot));
  CHECK(islands_without_price(scenario, Pricing::kOnDemand).empty());
}

TEST_CASE("islands without a price are named once, and only those that a row uses") {
  Scenario scenario = scenario_of(3);
  scenario.learners[0].group = scenario.learners[1].group = "west";
  scenario.learners[2].group = "east";
  scenario.protocols = {protocol_of(scenario, Family::kDiloco)};
  CHECK(islands_without_price(scenario, Pricing::kSpot) ==
        std::vector<std::string>{"west", "east"});
  scenario.protocols[0].learners = {0, 1};
  CHECK(islands_without_power(scenario) == std::vector<std::string>{"west"});
}
