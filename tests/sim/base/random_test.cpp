// Random streams: the same bits everywhere, the stated distributions, independence of streams.
#include "sim/base/random.hpp"

#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace skerry;

namespace {

constexpr int kDraws = 200'000;

struct Moments {
  double mean = 0.0, variance = 0.0;
};

template <class Draw>
Moments moments(Draw draw) {
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

// Standard error of a mean over kDraws draws of this deviation.
double standard_error(double deviation) {
  return deviation / std::sqrt(double{kDraws});
}

}  // namespace

TEST_CASE("xxHash64 gives its published values") {
  CHECK(hash64("") == 0xef46db3751d8e999ULL);
  CHECK(hash64("abc") == 0x44bc2cf5ad770999ULL);
  CHECK(hash64("abc", 1) != hash64("abc"));
  CHECK(hash64(std::string_view("a\0b", 3)) != hash64("a"));
}

TEST_CASE("draw i depends on seed, purpose, index and i alone") {
  RandomStream first(7, "faults.chips/west", 3);
  RandomStream again(7, "faults.chips/west", 3);
  RandomStream other(7, "faults.chips/west", 4);
  std::vector<std::uint64_t> draws;
  for (int i = 0; i < 100; ++i) {
    draws.push_back(first.bits());
    other.bits();  // drawing from another stream changes nothing
  }
  for (int i = 0; i < 100; ++i)
    CHECK(again.bits() == draws[static_cast<std::size_t>(i)]);
}

// Worked out apart, in Python's integers: key = mix(xxh64("pinned", 1) + mix(index + γ)), draw i =
// mix(key + (i + 1)·γ), γ = 0x9e3779b97f4a7c15; uniform = (draw / 2^11 + ½) / 2^53.
TEST_CASE("the bits are the same on every machine and in every version") {
  RandomStream stream(1, "pinned", 0);
  CHECK(stream.bits() == 0x4bcc7ff1e66e2ef1ULL);
  CHECK(stream.bits() == 0x62a1d2de078d376eULL);
  RandomStream numbers(1, "pinned", 1);
  CHECK(numbers.uniform() == 0x1.471ba393e26efp-2);
  CHECK(numbers.below(1000) == 914);
}

TEST_CASE("streams that differ in one thing share no draw") {
  std::set<std::uint64_t> seen;
  int drawn = 0;
  const auto collect = [&](RandomStream stream) {
    for (int i = 0; i < 200; ++i, ++drawn)
      seen.insert(stream.bits());
  };
  for (std::uint64_t k = 0; k < 50; ++k) {
    collect(RandomStream(k, "a", 0));
    collect(RandomStream(1000, "a", k));
    collect(RandomStream(1000, std::to_string(k) + "a", 0));
  }
  CHECK(seen.size() == static_cast<std::size_t>(drawn));
}

TEST_CASE("neighbouring indices and seeds are not correlated") {
  // Mean of the products of two independent centred uniforms: 0 ± 1/12 / √n.
  for (const bool by_seed : {true, false}) {
    const auto product = [&, i = std::uint64_t{0}]() mutable {
      RandomStream a(by_seed ? i : 5, "pair", by_seed ? 5 : i);
      i += 1;
      RandomStream b(by_seed ? i : 5, "pair", by_seed ? 5 : i);
      return (a.uniform() - 0.5) * (b.uniform() - 0.5);
    };
    CHECK(std::abs(moments(product).mean) < 4.0 * standard_error(1.0 / 12.0));
  }
}

TEST_CASE("uniform: inside (0, 1), mean 1/2, variance 1/12, flat") {
  RandomStream stream(11, "uniform", 0);
  std::vector<int> bins(100, 0);
  const Moments m = moments([&] {
    const double u = stream.uniform();
    REQUIRE(u > 0.0);
    REQUIRE(u < 1.0);
    bins[static_cast<std::size_t>(u * 100.0)] += 1;
    return u;
  });
  CHECK(std::abs(m.mean - 0.5) < 4.0 * standard_error(std::sqrt(1.0 / 12.0)));
  CHECK(m.variance == doctest::Approx(1.0 / 12.0).epsilon(0.01));
  double chi2 = 0.0;  // 99 degrees of freedom: mean 99, deviation √198 = 14.07
  for (const int n : bins)
    chi2 += (n - kDraws / 100) * (n - kDraws / 100) / (kDraws / 100.0);
  CHECK(chi2 < 99.0 + 4.0 * 14.07);
}

TEST_CASE("exponential: mean 1, variance 1, survival e^-x") {
  RandomStream stream(12, "exponential", 0);
  int beyond2 = 0;
  const Moments m = moments([&] {
    const double x = stream.exponential();
    REQUIRE(x > 0.0);
    if (x > 2.0) beyond2 += 1;
    return x;
  });
  CHECK(std::abs(m.mean - 1.0) < 4.0 * standard_error(1.0));
  CHECK(m.variance == doctest::Approx(1.0).epsilon(0.03));
  const double p = std::exp(-2.0);  // 0.1353
  CHECK(std::abs(beyond2 / double{kDraws} - p) < 4.0 * standard_error(std::sqrt(p * (1.0 - p))));
}

TEST_CASE("normal: mean 0, variance 1, tails and symmetry") {
  RandomStream stream(13, "normal", 0);
  int beyond1 = 0, beyond3 = 0;
  const Moments m = moments([&] {
    const double x = stream.normal();
    REQUIRE(std::isfinite(x));
    if (x > 1.0) beyond1 += 1;
    if (std::abs(x) > 3.0) beyond3 += 1;
    return x;
  });
  CHECK(std::abs(m.mean) < 4.0 * standard_error(1.0));
  CHECK(m.variance == doctest::Approx(1.0).epsilon(0.02));
  const double p1 = 0.158655254, p3 = 0.002699796;  // 1 − Φ(1), 2(1 − Φ(3))
  CHECK(std::abs(beyond1 / double{kDraws} - p1) < 4.0 * standard_error(std::sqrt(p1 * (1.0 - p1))));
  CHECK(std::abs(beyond3 / double{kDraws} - p3) < 4.0 * standard_error(std::sqrt(p3)));
}

TEST_CASE("normal is the quantile of its uniform, in the middle and in both tails") {
  RandomStream quantiles(14, "quantile", 0);
  RandomStream uniforms(14, "quantile", 0);
  for (int i = 0; i < 20'000; ++i) {
    const double x = quantiles.normal();
    const double p = uniforms.uniform();
    // Φ(x) = erfc(−x/√2)/2 gives the uniform back. A relative error of 1.2e-9 in x is an error of
    // 1.2e-9 · |x| · φ(x) in p; 1e-15 for rounding.
    const double lower = 0.5 * std::erfc(-x / std::sqrt(2.0));
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
    CHECK(std::abs(lower - p) <= 1.2e-9 * std::abs(x) * density + 1e-15);
  }
}

TEST_CASE("below(n): inside, every value, none favoured") {
  RandomStream stream(15, "below", 0);
  CHECK(stream.below(1) == 0);
  std::vector<int> hits(7, 0);
  for (int i = 0; i < 70'000; ++i) {
    const std::uint64_t draw = stream.below(7);
    REQUIRE(draw < 7);
    hits[draw] += 1;
  }
  double chi2 = 0.0;  // 6 degrees of freedom: mean 6, deviation √12 = 3.46
  for (const int n : hits)
    chi2 += (n - 10'000) * (n - 10'000) / 1e4;
  CHECK(chi2 < 6.0 + 5.0 * 3.46);

  // n = 3·2^62: a plain remainder would give the lowest third twice as often as the rest.
  const std::uint64_t n = std::uint64_t{3} << 62;
  int low = 0;
  for (int i = 0; i < 30'000; ++i)
    low += stream.below(n) < (std::uint64_t{1} << 62) ? 1 : 0;
  CHECK(std::abs(low - 10'000) < 4 * 82);  // deviation √(30000 · 1/3 · 2/3) = 81.6
}

TEST_CASE("a hash over parts is the hash of the whole") {
  Hash64 parts;
  for (const char* part : {"Skerry", "", " wei", "ghs"}) parts.update(part);
  CHECK(parts.digest() == hash64("Skerry weighs"));
}
