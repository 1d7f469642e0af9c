// What changes parameters, as in optimizer.hpp. Included by the kernel units alone.
#pragma once

#include "kernels/layers.hpp"

namespace skerry::kernels::SKERRY_ISA {
namespace {

SKERRY_INLINE double fold(const double* lane) {
  double part[8];
  for (int i = 0; i < 8; ++i)
    part[i] = lane[i] + lane[i + 8];
  for (int i = 0; i < 4; ++i)
    part[i] += part[i + 4];
  return (part[0] + part[2]) + (part[1] + part[3]);
}

double sum_of_squares(const float* x, Index n) {
  double lane[kLanes] = {};
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (int i = 0; i < kLanes; ++i) {
      const double v = static_cast<double>(x[j + i]);
      lane[i] += v * v;
    }
  }
  for (int i = 0; j + i < n; ++i) {
    const double v = static_cast<double>(x[j + i]);
    lane[i] += v * v;
  }
  return fold(lane);
}

void multiply(float factor, float* x, Index n) {
  over(n, [&] SKERRY_LANES(j, m) { store(x + j, load(x + j, m) * all(factor), m); });
}

void adamw(const AdamW& config, float rate, double correction1, double correction2,
           const float* gradient, Index n, float* parameters, float* moment1, float* moment2) {
  const Vec beta1 = all(config.beta1), beta2 = all(config.beta2);
  const Vec fresh1 = all(1.0f - config.beta1), fresh2 = all(1.0f - config.beta2);
  const Vec decay = all(1.0f - rate * config.weight_decay), epsilon = all(config.epsilon);
  const Vec step = all(static_cast<float>(-static_cast<double>(rate) / correction1));
  const Vec widen = all(static_cast<float>(1.0 / __builtin_sqrt(correction2)));
  over(n, [&] SKERRY_LANES(j, mask) {
    const Vec g = load(gradient + j, mask);
    const Vec m = fma(beta1, load(moment1 + j, mask), fresh1 * g);
    const Vec v = fma(beta2, load(moment2 + j, mask), (fresh2 * g) * g);
    const Vec direction = m / fma(square_root(v), widen, epsilon);
    store(moment1 + j, m, mask);
    store(moment2 + j, v, mask);
    store(parameters + j, fma(step, direction, load(parameters + j, mask) * decay), mask);
  });
}

void add_scaled(float weight, const float* x, Index n, float* total) {
  over(n, [&] SKERRY_LANES(j, m) {
    store(total + j, fma(all(weight), load(x + j, m), load(total + j, m)), m);
  });
}

double combine(const float* const* vectors, const double* factors, int count, Index n, float* out) {
  double lane[kLanes] = {};
  for (Index j = 0; j < n; j += kLanes) {
    const int width = n - j < kLanes ? static_cast<int>(n - j) : kLanes;
    double total[kLanes] = {};
    for (int l = 0; l < count; ++l) {
      const float* x = vectors[l] + j;
      for (int i = 0; i < width; ++i)
        total[i] += factors[l] * static_cast<double>(x[i]);
    }
    for (int i = 0; i < width; ++i) {
      lane[i] += total[i] * total[i];
      out[j + i] = static_cast<float>(total[i]);
    }
  }
  return fold(lane);
}

void nesterov(float rate, float mu, const float* outer_gradient, Index n, float* parameters,
              float* momentum) {
  over(n, [&] SKERRY_LANES(j, mask) {
    const Vec g = load(outer_gradient + j, mask);
    const Vec m = fma(all(mu), load(momentum + j, mask), g);
    const Vec step = fma(all(mu), m, g);
    store(momentum + j, m, mask);
    store(parameters + j, fma(all(-rate), step, load(parameters + j, mask)), mask);
  });
}

}  // namespace
}  // namespace skerry::kernels::SKERRY_ISA
