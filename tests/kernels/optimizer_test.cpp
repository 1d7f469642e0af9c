#include "kernels/optimizer.hpp"

#include <limits>
#include <numeric>
#include <stdexcept>

#include "tests/kernels/support.hpp"

using namespace support;

namespace {

using Views = std::vector<std::span<const float>>;

double plain_norm(const Floats& x) {
  double s = 0.0;
  for (const float v : x)
    s += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(s);
}

template <class Check>
void for_builds(Check check) {
  for (const Isa isa : builds()) {
    CAPTURE(isa_name(isa));
    const Selected selected(isa);
    check();
  }
}

}  // namespace

TEST_CASE("AdamW by hand") {
  for_builds([] {
    // Step 1: m = 0.1·g, v = 0.05·g²; corrected they are g and g², so the move is rate·g/(|g| + ε)
    // = rate·sign g. θ = 2·(1 − 0.1·0.5) ∓ 0.1 = 1.9 ∓ 0.1.
    Floats p{2.0f, 2.0f, 2.0f}, g{4.0f, -0.25f, 0.0f}, m(3), v(3);
    const AdamW config{.weight_decay = 0.5f};
    adamw_step(config, 0.1f, 1, g, p, m, v);
    CHECK(std::abs(p[0] - 1.8f) <= 1e-6f);
    CHECK(std::abs(p[1] - 2.0f) <= 1e-6f);
    CHECK(std::abs(p[2] - 1.9f) <= 1e-6f);
    CHECK(std::abs(m[0] - 0.4f) <= 1e-7f);
    CHECK(std::abs(v[0] - 0.8f) <= 1e-6f);
    // Step 2, first element, g = 0: m = 0.36, v = 0.76; m/(1 − 0.81) = 1.894737, v/(1 − 0.9025)
    // = 7.794872; θ = 1.8·0.95 − 0.1·1.894737/2.791930 = 1.71 − 0.067865 = 1.642135.
    g = {0.0f, 0.0f, 0.0f};
    adamw_step(config, 0.1f, 2, g, p, m, v);
    CHECK(std::abs(p[0] - 1.642135f) <= 2e-6f);
    CHECK_THROWS_AS(adamw_step(config, 0.1f, 0, g, p, m, v), std::invalid_argument);
    Floats shorter(2);
    CHECK_THROWS_AS(adamw_step(config, 0.1f, 1, shorter, p, m, v), std::invalid_argument);
  });
}

TEST_CASE("clipping: 3-4-5") {
  for_builds([] {
    Floats g{3.0f, 0.0f, -4.0f};
    CHECK(clip_by_norm(g, 10.0) == 5.0);
    CHECK(g == Floats{3.0f, 0.0f, -4.0f});
    CHECK(clip_by_norm(g, 2.5) == 5.0);
    CHECK(g == Floats{1.5f, 0.0f, -2.0f});
    Floats long_one = hashed_floats(1, 1003, 10.0f);
    const double before = clip_by_norm(long_one, 1.0);
    CHECK(std::abs(before - plain_norm(hashed_floats(1, 1003, 10.0f))) <= 1e-9 * before);
    CHECK(std::abs(plain_norm(long_one) - 1.0) <= 1e-6);
    CHECK_THROWS_AS(clip_by_norm(g, 0.0), std::invalid_argument);
  });
}

TEST_CASE(
    "AdamW, clipping and Nesterov against plain loops in double, at lengths that fill no vector") {
  for_builds([] {
    for (const std::size_t n : {1UL, 15UL, 17UL, 33UL, 1003UL}) {
      CAPTURE(n);
      const AdamW config{.weight_decay = 0.3f};
      Floats p = hashed_floats(1, n), m(n), v(n), q = p, outer(n);
      std::vector<double> pd = widened(p), md(n), vd(n), qd = pd, outer_d(n);
      for (int step = 1; step <= 7; ++step) {
        Floats g = hashed_floats(static_cast<std::uint64_t>(step) + 1, n, 2.0f);
        std::vector<double> gd = widened(g);
        const double length = plain_norm(g), factor = length > 0.5 ? 0.5 / length : 1.0;
        CHECK(std::abs(clip_by_norm(g, 0.5) - length) <= 1e-12 * length);
        adamw_step(config, 1e-2f, step, g, p, m, v);
        nesterov_step(0.7f, 0.9f, g, q, outer);
        for (std::size_t i = 0; i < n; ++i) {
          gd[i] *= factor;
          md[i] = 0.9 * md[i] + 0.1 * gd[i];
          vd[i] = 0.95 * vd[i] + 0.05 * gd[i] * gd[i];
          const double mean = md[i] / (1 - std::pow(0.9, step));
          const double square = vd[i] / (1 - std::pow(0.95, step));
          pd[i] = pd[i] * (1 - 1e-2 * 0.3) - 1e-2 * mean / (std::sqrt(square) + 1e-8);
          outer_d[i] = 0.9 * outer_d[i] + gd[i];
          qd[i] -= 0.7 * (gd[i] + 0.9 * outer_d[i]);
        }
        CHECK(relative_error(g, gd) <= 1e-6);
      }
      CHECK(relative_error(m, md) <= 1e-6);
      CHECK(relative_error(v, vd) <= 1e-6);
      CHECK(relative_error(p, pd) <= 2e-6);
      CHECK(relative_error(outer, outer_d) <= 1e-6);
      CHECK(relative_error(q, qd) <= 1e-6);
    }
  });
}

TEST_CASE("add_scaled is one fma each") {
  for_builds([] {
    Floats sum = hashed_floats(1, 37);
    const Floats x = hashed_floats(2, 37), before = sum;
    add_scaled(sum, 0.3f, x);
    for (std::size_t i = 0; i < sum.size(); ++i)
      CHECK(sum[i] == std::fma(0.3f, x[i], before[i]));
  });
}

TEST_CASE("merge_mean by hand: weights 1 and 3") {
  for_builds([] {
    const Floats a{2.0f, -4.0f}, b{4.0f, 0.0f};
    Floats out(2);
    // (1·2 + 3·4)/4 = 3.5, (−4 + 0)/4 = −1.
    merge_mean(Views{a, b}, std::vector{1.0, 3.0}, out);
    CHECK(out == Floats{3.5f, -1.0f});
    CHECK_THROWS_AS(merge_mean(Views{a, b}, std::vector{1.0}, out), std::invalid_argument);
    CHECK_THROWS_AS(merge_mean(Views{a, b}, std::vector{0.0, 0.0}, out), std::invalid_argument);
    CHECK_THROWS_AS(merge_mean(Views{a, b}, std::vector{-1.0, 2.0}, out), std::invalid_argument);
    CHECK_THROWS_AS(merge_mean(Views{}, std::vector<double>{}, out), std::invalid_argument);
    Floats shorter(1);
    CHECK_THROWS_AS(merge_mean(Views{a, b}, std::vector{1.0, 3.0}, shorter), std::invalid_argument);
  });
}

TEST_CASE("radial-directional merge by hand") {
  for_builds([] {
    const Floats a{3.0f, 0.0f}, b{0.0f, 4.0f}, c{-3.0f, 0.0f}, still{0.0f, 0.0f};
    Floats out(2);
    // Equal weights: radius (3 + 4)/2 = 3.5, direction (1, 1)/√2.
    merge_radial_directional(Views{a, b}, std::vector{2.0, 2.0}, out);
    CHECK(std::abs(out[0] - 3.5f / std::sqrt(2.0f)) <= 1e-6f);
    CHECK(std::abs(out[1] - 3.5f / std::sqrt(2.0f)) <= 1e-6f);
    // The second did not move: radius (3 + 0)/2, direction of the first.
    merge_radial_directional(Views{a, still}, std::vector{1.0, 1.0}, out);
    CHECK(out == Floats{1.5f, 0.0f});
    // Nobody moved; and two that cancel.
    merge_radial_directional(Views{still, still}, std::vector{1.0, 1.0}, out);
    CHECK(out == Floats{0.0f, 0.0f});
    merge_radial_directional(Views{a, c}, std::vector{1.0, 1.0}, out);
    CHECK(out == Floats{0.0f, 0.0f});
  });
}

TEST_CASE("a learner that is not finite is never merged away") {
  for_builds([] {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      const Floats good{1.0f, 2.0f}, broken{bad, 2.0f};
      for (const auto merge : {merge_mean, merge_radial_directional}) {
        for (const Views& views : {Views{broken}, Views{good, broken}}) {
          Floats out(2);
          merge(views, std::vector<double>(views.size(), 1.0), out);
          CHECK(!std::isfinite(out[0]));
        }
      }
    }
  });
}

TEST_CASE("mean cosine by hand, and against all pairs") {
  for_builds([] {
    const Floats right{2.0f, 0.0f}, up{0.0f, 5.0f}, left{-1.0f, 0.0f}, still{0.0f, 0.0f};
    Floats scratch(2);
    // Pairs: 0, −1, 0.
    CHECK(std::abs(mean_cosine(Views{right, up, left}, scratch) + 1.0 / 3.0) <= 1e-15);
    CHECK(std::abs(mean_cosine(Views{right, still, right}, scratch) - 1.0) <= 1e-15);
    CHECK(std::isnan(mean_cosine(Views{right, still}, scratch)));
    std::vector<Floats> many;
    for (std::uint64_t i = 0; i < 7; ++i)
      many.push_back(hashed_floats(40 + i, 333, 1.0f, 0.1f));
    double sum = 0.0;
    for (std::size_t i = 0; i < many.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        double dot = 0.0;
        for (std::size_t k = 0; k < 333; ++k)
          dot += static_cast<double>(many[i][k]) * static_cast<double>(many[j][k]);
        sum += dot / (plain_norm(many[i]) * plain_norm(many[j]));
      }
    }
    Floats longer(333);
    CHECK(std::abs(mean_cosine(Views(many.begin(), many.end()), longer) - sum / 21.0) <= 1e-12);
  });
}

TEST_CASE(
    "radial-directional merge keeps the weighted mean of the norms; the plain mean shortens") {
  for_builds([] {
    for (std::uint64_t round = 0; round < 20; ++round) {
      const std::size_t n = 1 + mix(round) % 200, count = 1 + mix(round + 99) % 6;
      std::vector<Floats> learners;
      std::vector<double> weights;
      double radius = 0.0, total = 0.0;
      for (std::size_t l = 0; l < count; ++l) {
        learners.push_back(hashed_floats(1000 + 10 * round + l, n));
        weights.push_back(1.0 + static_cast<double>(l));
        radius += weights[l] * plain_norm(learners[l]);
        total += weights[l];
      }
      const Views views(learners.begin(), learners.end());
      Floats merged(n), mean(n);
      merge_radial_directional(views, weights, merged);
      merge_mean(views, weights, mean);
      CHECK(std::abs(plain_norm(merged) - radius / total) <= 1e-6 * radius / total);
      CHECK(plain_norm(mean) <= radius / total * (1 + 1e-6));
      if (count > 1 && n > 20) CHECK(plain_norm(mean) < 0.99 * plain_norm(merged));
    }
  });
}

TEST_CASE("Nesterov by hand, two steps of rate 0.5 and mu 0.5") {
  for_builds([] {
    // m = 2, θ = 10 − 0.5·(2 + 0.5·2) = 8.5; then g = 1: m = 2, θ = 8.5 − 0.5·(1 + 1) = 7.5.
    Floats p(17, 10.0f), m(17);
    nesterov_step(0.5f, 0.5f, Floats(17, 2.0f), p, m);
    CHECK(p == Floats(17, 8.5f));
    nesterov_step(0.5f, 0.5f, Floats(17, 1.0f), p, m);
    CHECK(p == Floats(17, 7.5f));
    CHECK(m == Floats(17, 2.0f));
  });
}

TEST_CASE("one learner, rate 1, mu 0: the outer step lands on the learner") {
  for_builds([] {
    Floats p = hashed_floats(1, 500), momentum(500);
    const Floats learner = hashed_floats(2, 500), anchor = p;
    Floats g(500), moved(500);
    for (std::size_t i = 0; i < p.size(); ++i)
      moved[i] = anchor[i] - learner[i];
    merge_mean(Views{moved}, std::vector{3.0}, g);
    nesterov_step(1.0f, 0.0f, g, p, momentum);
    for (std::size_t i = 0; i < p.size(); ++i) {
      CHECK(p[i] == anchor[i] - (anchor[i] - learner[i]));
      CHECK(std::abs(p[i] - learner[i]) <= 1.2e-7f);
    }
  });
}
