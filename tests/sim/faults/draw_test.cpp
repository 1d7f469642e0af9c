// Laws: means, variances and quantiles against closed forms, at fixed seeds.
#include "sim/faults/draw.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "sim/scenario/law.hpp"

using namespace skerry;

namespace {

constexpr int kDraws = 200'000;

Law law(LawKind kind, double shape = 1.0, double power = 1.0) {
  Law made;
  made.kind = kind;
  made.mean_s = 1.0;
  made.shape = shape;
  made.power = power;
  return made;
}

std::vector<double> draws(const Law& of, std::uint64_t seed = 1) {
  const LawDraw draw(of);
  RandomStream random(seed, "laws", 0);
  std::vector<double> values;
  for (int i = 0; i < kDraws; ++i)
    values.push_back(draw.unit(random));
  std::sort(values.begin(), values.end());
  return values;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0.0;
  for (const double v : values)
    sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(values.size());
}

// Kolmogorov and Smirnov: the largest distance between the sample's distribution and F. Above
// 1.95 / sqrt(n) has a chance of 0.1 %.
void check_distribution(const std::vector<double>& sorted,
                        const std::function<double(double)>& distribution) {
  double distance = 0.0;
  const double n = static_cast<double>(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double f = distribution(sorted[i]);
    distance =
        std::max({distance, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  CHECK(distance < 1.95 / std::sqrt(n));
}

}  // namespace

TEST_CASE("means of unit scale: closed forms, and the quadrature against them") {
  CHECK(mean_at_scale_one(law(LawKind::kExponential)) == 1.0);
  CHECK(mean_at_scale_one(law(LawKind::kConstant)) == 1.0);
  // Γ(1 + 1/0.5) = Γ(3) = 2; Γ(1 + 1/2) = √π / 2.
  CHECK(mean_at_scale_one(law(LawKind::kWeibull, 0.5)) == doctest::Approx(2.0).epsilon(1e-14));
  CHECK(mean_at_scale_one(law(LawKind::kWeibull, 2.0)) ==
        doctest::Approx(std::sqrt(M_PI) / 2.0).epsilon(1e-14));
  CHECK(mean_at_scale_one(law(LawKind::kGamma, 0.3)) == 0.3);
  CHECK(mean_at_scale_one(law(LawKind::kLognormal, 2.0)) == doctest::Approx(std::exp(2.0)));
  // Power 1 is the plain Weibull.
  for (const double k : {0.05, 0.45, 1.0, 3.0, 1000.0}) {
    CHECK(mean_at_scale_one(law(LawKind::kExponentiatedWeibull, k, 1.0)) ==
          doctest::Approx(std::tgamma(1.0 + 1.0 / k)).epsilon(1e-11));
  }
  // Shape 1, whole power n: the largest of n exponentials, mean 1 + 1/2 + … + 1/n.
  CHECK(mean_at_scale_one(law(LawKind::kExponentiatedWeibull, 1.0, 2.0)) ==
        doctest::Approx(1.5).epsilon(1e-12));
  CHECK(mean_at_scale_one(law(LawKind::kExponentiatedWeibull, 1.0, 4.0)) ==
        doctest::Approx(25.0 / 12.0).epsilon(1e-12));
  // Shape 0.5, power 2: 2·Γ(3)·(1 − 1/2³) = 3.5.
  CHECK(mean_at_scale_one(law(LawKind::kExponentiatedWeibull, 0.5, 2.0)) ==
        doctest::Approx(3.5).epsilon(1e-12));
  // Shape 1, power 1/2: ψ(3/2) + γ = 2 − 2 ln 2.
  CHECK(mean_at_scale_one(law(LawKind::kExponentiatedWeibull, 1.0, 0.5)) ==
        doctest::Approx(2.0 - 2.0 * std::log(2.0)).epsilon(1e-11));
  CHECK(mean_at_scale_one(law(LawKind::kExponentiatedWeibull, 1000.0, 0.01)) > 0.5);
}

TEST_CASE("draws have mean 1 and the variance of their law") {
  // Within 4 deviations of a mean of n draws: 4·√(variance / n).
  const auto check = [](const Law& of, double variance) {
    const std::vector<double> values = draws(of);
    INFO("kind " << static_cast<int>(of.kind));
    CHECK(std::abs(mean_of(values) - 1.0) < 4.0 * std::sqrt(variance / kDraws) + 1e-12);
    CHECK(variance_of(values) == doctest::Approx(variance).epsilon(0.05));
  };
  check(law(LawKind::kExponential), 1.0);
  // Weibull: Γ(1 + 2/k) / Γ(1 + 1/k)² − 1.
  for (const double k : {0.7, 1.0, 2.0}) {
    const double g = std::tgamma(1.0 + 1.0 / k);
    check(law(LawKind::kWeibull, k), std::tgamma(1.0 + 2.0 / k) / (g * g) - 1.0);
  }
  check(law(LawKind::kGamma, 0.5), 2.0);  // 1 / k
  check(law(LawKind::kGamma, 4.0), 0.25);
  check(law(LawKind::kLognormal, 0.5), std::exp(0.25) - 1.0);
  // The largest of two exponentials: mean 3/2, variance 1 + 1/4.
  check(law(LawKind::kExponentiatedWeibull, 1.0, 2.0), 1.25 / 2.25);
  const std::vector<double> constant = draws(law(LawKind::kConstant));
  CHECK(constant.front() == 1.0);
  CHECK(constant.back() == 1.0);
}

TEST_CASE("draws are distributed as the law says") {
  for (const double k : {0.45, 1.0, 3.0}) {
    const double scale = 1.0 / std::tgamma(1.0 + 1.0 / k);
    check_distribution(draws(law(LawKind::kWeibull, k)),
                       [&](double x) { return 1.0 - std::exp(-std::pow(x / scale, k)); });
  }
  for (const double power : {0.3, 2.5}) {
    const Law of = law(LawKind::kExponentiatedWeibull, 0.8, power);
    const double scale = 1.0 / mean_at_scale_one(of);
    check_distribution(draws(of), [&](double x) {
      return std::pow(1.0 - std::exp(-std::pow(x / scale, 0.8)), power);
    });
  }
  // σ = 1.4 (LANL repairs): median e^(−σ²/2) of the mean.
  check_distribution(draws(law(LawKind::kLognormal, 1.4)), [](double x) {
    return 0.5 * std::erfc(-(std::log(x) + 0.98) / 1.4 / std::sqrt(2.0));
  });
  // Gamma of shape 2 and mean 1: 1 − (1 + 2x)·e^(−2x).
  check_distribution(draws(law(LawKind::kGamma, 2.0)),
                     [](double x) { return 1.0 - (1.0 + 2.0 * x) * std::exp(-2.0 * x); });
  // Gamma of shape 1/2 and mean 1: the square of a normal.
  check_distribution(draws(law(LawKind::kGamma, 0.5)),
                     [](double x) { return std::erf(std::sqrt(x / 2.0)); });
}

TEST_CASE("empirical: each value as often as it stands there") {
  Law of = law(LawKind::kEmpirical);
  of.values = std::make_shared<const std::vector<double>>(std::vector<double>{0.0, 0.5, 0.5, 3.0});
  const std::vector<double> values = draws(of);
  const auto count = [&](double v) {
    return static_cast<double>(std::count(values.begin(), values.end(), v)) / kDraws;
  };
  // Deviation of a share p: √(p·(1 − p)/n) < 0.0012.
  CHECK(std::abs(count(0.0) - 0.25) < 0.005);
  CHECK(std::abs(count(0.5) - 0.5) < 0.005);
  CHECK(std::abs(count(3.0) - 0.25) < 0.005);
}

TEST_CASE("every law takes one uniform a draw") {
  Law empirical = law(LawKind::kEmpirical);
  empirical.values = std::make_shared<const std::vector<double>>(1, 1.0);
  for (const Law& of : {law(LawKind::kExponential), law(LawKind::kConstant),
                        law(LawKind::kWeibull, 0.7), law(LawKind::kExponentiatedWeibull, 0.7, 2.0),
                        law(LawKind::kLognormal, 1.0), law(LawKind::kGamma, 0.4), empirical}) {
    RandomStream drawn(5, "one", 0), counted(5, "one", 0);
    LawDraw(of).unit(drawn);
    counted.bits();
    CHECK(drawn.bits() == counted.bits());
  }
}
