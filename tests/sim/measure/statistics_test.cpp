#include <cmath>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/measure/sums.hpp"

using doctest::Approx;
using namespace skerry;
using skerry::measure::mean;
using skerry::measure::quantile;
using skerry::measure::Sum;
using skerry::measure::Weighted;

TEST_CASE("Student's t, 97.5 %, against published tables") {
  CHECK(student_t_975(1) == Approx(12.7062047).epsilon(1e-8));
  CHECK(student_t_975(2) == Approx(4.30265273).epsilon(1e-8));
  CHECK(student_t_975(3) == Approx(3.18244631).epsilon(1e-8));
  CHECK(student_t_975(4) == Approx(2.77644511).epsilon(1e-8));
  CHECK(student_t_975(9) == Approx(2.26215716).epsilon(1e-8));
  CHECK(student_t_975(100) == Approx(1.98397152).epsilon(1e-8));
  CHECK(student_t_975(1'000'000) == Approx(1.95996635).epsilon(1e-7));
  // df = 1 is tan(0.475 π); df = 2 is 2·0.475·√2 / √(1 − 0.95²), both in closed form.
  CHECK(student_t_975(1) == Approx(std::tan(0.475 * std::acos(-1.0))).epsilon(1e-12));
  CHECK(student_t_975(2) == Approx(0.95 * std::sqrt(2 / (1 - 0.95 * 0.95))).epsilon(1e-12));
  CHECK_THROWS_AS(student_t_975(0), Bug);
}

TEST_CASE("interval of a mean") {
  // Mean 3, variance (4 + 1 + 0 + 1 + 4)/4 = 2.5, standard error √(2.5/5); t(4) = 2.776445.
  const Interval interval = mean_interval({1, 2, 3, 4, 5});
  CHECK(interval.n == 5);
  CHECK(interval.mean == Approx(3));
  CHECK(interval.low.value() == Approx(3 - 2.776445 * std::sqrt(0.5)).epsilon(1e-6));
  CHECK(interval.high.value() == Approx(3 + 2.776445 * std::sqrt(0.5)).epsilon(1e-6));
}

TEST_CASE("one value has no interval, none has no mean") {
  const Interval one = mean_interval({4});
  CHECK(one.n == 1);
  CHECK(one.mean == 4);
  CHECK_FALSE(one.low.has_value());
  CHECK_FALSE(one.high.has_value());
  CHECK(mean_interval({}).n == 0);
  CHECK(ratio_interval({}, {}).n == 0);
}

TEST_CASE("ratios are paired and geometric") {
  // Ratios 2 and 4: geometric mean √8. Logs differ by ln 2, so their standard error is ln 2 / 2;
  // t(1).
  const Interval interval = ratio_interval({2, 8}, {1, 2});
  const double half_width = 12.7062047 * std::log(2.0) / 2;
  CHECK(interval.mean == Approx(std::sqrt(8.0)));
  CHECK(interval.low.value() == Approx(std::sqrt(8.0) * std::exp(-half_width)).epsilon(1e-6));
  CHECK(interval.high.value() == Approx(std::sqrt(8.0) * std::exp(half_width)).epsilon(1e-6));
  CHECK(ratio_interval({6}, {2}).mean == Approx(3));
  CHECK_FALSE(ratio_interval({6}, {2}).low.has_value());
}

TEST_CASE("a zero leaves the ratio of the sums without an interval, or no ratio") {
  const Interval zero_above = ratio_interval({0, 6}, {1, 2});
  CHECK(zero_above.n == 2);
  CHECK(zero_above.mean == Approx(2));  // 6 / 3
  CHECK_FALSE(zero_above.low.has_value());
  CHECK(ratio_interval({1, 6}, {0, 2}).mean == Approx(3.5));
  CHECK(ratio_interval({1, 6}, {0, 0}).n == 0);
}

TEST_CASE("differences are paired") {
  // Differences 1, 1, 4: mean 2, variance (1 + 1 + 4)/2 = 3, standard error 1; t(2) = 4.302653.
  const Interval interval = difference_interval({2, 3, 9}, {1, 2, 5});
  CHECK(interval.mean == Approx(2));
  CHECK(interval.low.value() == Approx(2 - 4.302653).epsilon(1e-6));
  CHECK_THROWS_AS(difference_interval({1}, {1, 2}), Bug);
  CHECK_THROWS_AS(ratio_interval({1}, {1, 2}), Bug);
}

TEST_CASE("quantiles are nearest ranks of the weight") {
  std::vector<Weighted> samples{{5, 1}, {1, 98}, {3, 1}};
  CHECK(quantile(samples, 0.50) == 1);
  CHECK(quantile(samples, 0.98) == 1);  // exactly 98 of 100
  CHECK(quantile(samples, 0.99) == 3);
  CHECK(quantile(samples, 0.999) == 5);
  CHECK(mean(samples) == Approx(1.06));
  std::vector<Weighted> none;
  CHECK(quantile(none, 0.5) == 0);
}

TEST_CASE("a compensated sum keeps what a plain one drops") {
  Sum sum;
  sum.add(1e16);
  for (int i = 0; i < 1000; ++i)
    sum.add(1.0 / 1024);  // each alone is below the last bit of 1e16
  sum.add(-1e16);
  CHECK(sum.value() == Approx(1000.0 / 1024));
}
