#include "sim/measure/bootstrap.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "sim/base/random.hpp"

using namespace skerry;

TEST_CASE("median and deviation") {
  CHECK(median_of({3, 1, 2}) == 2);
  CHECK(median_of({4, 1, 3, 2}) == 2.5);
  CHECK(median_of({7}) == 7);
  CHECK_FALSE(deviation_of({7}));
  // mean 3, squares 4 + 0 + 4, over n - 1 = 2
  CHECK(*deviation_of({1, 3, 5}) == doctest::Approx(2));
}

TEST_CASE("one value has no interval, equal ones an empty one") {
  CHECK(bootstrap_interval({}).n == 0);
  CHECK(bootstrap_interval({5}).n == 1);
  CHECK_FALSE(bootstrap_interval({5}).low);
  CHECK(*bootstrap_interval({5, 5, 5}).low == 5);
  CHECK(*bootstrap_interval({5, 5, 5}).high == 5);
}

TEST_CASE("two values: a quarter of the resamples take one of them twice") {
  // Means of resamples are 0, 0.5, 1 with 1/4, 1/2, 1/4: both quantiles lie in the quarters.
  const Interval interval = bootstrap_interval({0, 1});
  CHECK(interval.mean == 0.5);
  CHECK(*interval.low == 0);
  CHECK(*interval.high == 1);
}

TEST_CASE("the same values give the same interval; it moves and scales with them") {
  const std::vector<double> values{3, 1, 4, 1, 5, 9, 2, 6};
  const Interval first = bootstrap_interval(values), second = bootstrap_interval(values);
  CHECK(*first.low == *second.low);
  CHECK(*first.high == *second.high);
  std::vector<double> moved = values;
  for (double& value : moved)
    value = 10 + 2 * value;
  CHECK(*bootstrap_interval(moved).low == doctest::Approx(10 + 2 * *first.low));
  CHECK(*bootstrap_interval(moved).high == doctest::Approx(10 + 2 * *first.high));
}

TEST_CASE("it covers the true mean about as often as it says") {
  // 40 normal values: the percentile interval is a little too narrow, about 94 % instead of 95 %.
  int covered = 0;
  for (std::uint64_t trial = 0; trial < 400; ++trial) {
    RandomStream stream(trial, "bootstrap test", 0);
    std::vector<double> values;
    for (int i = 0; i < 40; ++i)
      values.push_back(stream.normal());
    const Interval interval = bootstrap_interval(values);
    covered += *interval.low <= 0 && 0 <= *interval.high ? 1 : 0;
  }
  // 375 expected, deviation 4.8: four of them to either side.
  CHECK(covered > 355);
  CHECK(covered < 396);
}
