// Memory fit and checkpoint intervals.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/cost/cost.hpp"

using namespace skerry;

namespace {

Learner island(std::int64_t chips, int slices, double memory_per_chip) {
  Learner learner;
  learner.name = "west.1";
  learner.chips = chips;
  learner.slices = slices;
  learner.memory_per_chip_bytes = memory_per_chip;
  return learner;
}

ChargedModel model_of(double parameters) {
  ChargedModel model;
  model.parameters = parameters;
  return model;
}

}  // namespace

TEST_CASE("H6: 12B at 16 bytes a parameter is 192 GB") {
  const ChargedModel model = model_of(12e9);
  // v5p, 95 GB: two chips hold 190, three 285.
  CHECK_FALSE(memory_fit(model, island(2, 1, 95e9)).fits);
  const MemoryFit v5p = memory_fit(model, island(3, 1, 95e9));
  CHECK(v5p.fits);
  CHECK_FALSE(v5p.exactly_full);
  CHECK(v5p.least_chips_per_slice == 3);
  CHECK(v5p.needed_per_chip_bytes == 64e9);
  CHECK(v5p.available_per_chip_bytes == 95e9);
  // v6e, 32 GB: six chips hold exactly 192: fits, and is full; seven have room.
  const MemoryFit v6e = memory_fit(model, island(6, 1, 32e9));
  CHECK(v6e.fits);
  CHECK(v6e.exactly_full);
  CHECK(v6e.least_chips_per_slice == 6);
  CHECK_FALSE(memory_fit(model, island(5, 1, 32e9)).fits);
  CHECK_FALSE(memory_fit(model, island(5, 1, 32e9)).exactly_full);
  CHECK_FALSE(memory_fit(model, island(7, 1, 32e9)).exactly_full);
}

TEST_CASE("memory is per slice: more slices of the same island hold more copies, not less state") {
  const ChargedModel model = model_of(12'118'000'640.0);
  // 12.118e9 × 16 = 193.9 GB. 24 chips of 32 GB in 3 slices of 8: 256 GB a slice. In 4 of 6: 192
  // GB.
  const MemoryFit eight = memory_fit(model, island(24, 3, 32e9));
  CHECK(eight.fits);
  CHECK(eight.needed_per_chip_bytes == doctest::Approx(193.88801024e9 / 8.0).epsilon(1e-12));
  CHECK(eight.least_chips_per_slice == 7);
  CHECK_FALSE(memory_fit(model, island(24, 4, 32e9)).fits);
}

TEST_CASE("less than one percent to spare is full") {
  // 100 GB of state: a slice of 100.9 GB is full, one of 101.1 GB is not.
  const ChargedModel model = model_of(6.25e9);
  CHECK(memory_fit(model, island(1, 1, 100.9e9)).exactly_full);
  CHECK_FALSE(memory_fit(model, island(1, 1, 101.1e9)).exactly_full);
}

TEST_CASE("memory that is not known refuses nothing") {
  const MemoryFit fit = memory_fit(model_of(12e9), island(1, 1, 0.0));
  CHECK(fit.fits);
  CHECK(fit.available_per_chip_bytes == 0.0);
  CHECK(fit.least_chips_per_slice == 0);
  CHECK(fit.needed_per_chip_bytes == 192e9);
}

TEST_CASE("the least count fits and one less does not, for any sizes") {
  RandomStream random(4, "memory", 0);
  for (int round = 0; round < 2000; ++round) {
    const double memory = std::ceil(1e3 * random.exponential()) / 10.0;
    const bool multiple = random.below(2) == 0;  // exactly n chips full
    const double state = multiple ? memory * static_cast<double>(1 + random.below(5000))
                                  : 1e5 * random.exponential();
    ChargedModel model = model_of(state);
    model.state_bytes_per_parameter = 1.0;
    const int least = memory_fit(model, island(1, 1, memory)).least_chips_per_slice;
    REQUIRE(least >= 1);
    CHECK(memory_fit(model, island(least, 1, memory)).fits);
    if (least > 1) CHECK_FALSE(memory_fit(model, island(least - 1, 1, memory)).fits);
  }
  CHECK(memory_fit(model_of(1e300), island(1, 1, 1.0)).least_chips_per_slice ==
        std::numeric_limits<int>::max());
}

TEST_CASE("M6: Young's interval and its waste") {
  // √(2 · 60 · 10,800) = √1,296,000 = 1138.42 s; waste δ/τ + τ/2M = 0.0527 + 0.0527.
  CHECK(young_interval_s(3 * 3600.0, 60.0) == doctest::Approx(1138.42).epsilon(1e-5));
  const double first = young_interval_s(10'800.0, 60.0);
  CHECK(60.0 / first + first / (2 * 10'800.0) == doctest::Approx(0.1054).epsilon(1e-3));
  // √(2 · 120 · 9,972) = √2,393,280 = 1547.02 s; waste 15.5 %.
  CHECK(young_interval_s(2.77 * 3600.0, 120.0) == doctest::Approx(1547.02).epsilon(1e-5));
  const double second = young_interval_s(9'972.0, 120.0);
  CHECK(120.0 / second + second / (2 * 9'972.0) == doctest::Approx(0.1551).epsilon(1e-3));
}

TEST_CASE("Daly: Young with two more terms, less the save; a save longer than 2M gives M") {
  // M = 3 h, δ = 60 s: x = δ/2M = 1/360, √x = 0.0527046. 1138.42 · (1 + 0.0175682 + 0.00030864) −
  // 60 = 1138.42 · 1.01787684 − 60 = 1098.77.
  CHECK(daly_interval_s(10'800.0, 60.0) == doctest::Approx(1098.77).epsilon(1e-5));
  CHECK(daly_interval_s(100.0, 200.0) == 100.0);
  CHECK(daly_interval_s(100.0, 1e6) == 100.0);
  // Just below 2M the formula: √(2·δ·M) = 2M, x → 1: 2M · (1 + 1/3 + 1/9) − 2M = 8/9 M.
  CHECK(daly_interval_s(100.0, 200.0 * (1.0 - 1e-12)) ==
        doctest::Approx(800.0 / 9.0).epsilon(1e-9));
}

TEST_CASE("intervals need positive, finite numbers") {
  for (const double bad : {0.0, -1.0, kNever, std::nan("")}) {
    CHECK_THROWS_AS(young_interval_s(bad, 60.0), Bug);
    CHECK_THROWS_AS(young_interval_s(60.0, bad), Bug);
    CHECK_THROWS_AS(daly_interval_s(bad, 60.0), Bug);
    CHECK_THROWS_AS(daly_interval_s(60.0, bad), Bug);
  }
}
