// Multiply-add peak of one core, the denominator of "share of peak": the better of a loop of FMAs
// on registers and the best matrix product.
#pragma once

#include <immintrin.h>

#include "kernels/ops.hpp"
#include "tests/bench/learner.hpp"

namespace bench {

using skerry::kernels::Isa;

constexpr int kChains = 12, kRounds = 20000;

__attribute__((target("avx512f"))) inline void fma_loop_avx512(float* out) {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i)
    sums[i] = _mm512_set1_ps(out[i]);
  const __m512 x = _mm512_set1_ps(out[0]), y = _mm512_set1_ps(out[1]);
  for (int r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i)
      sums[i] = _mm512_fmadd_ps(sums[i], x, y);
  }
  for (int i = 0; i < kChains; ++i)
    _mm512_storeu_ps(out + 16 * i, sums[i]);
}

__attribute__((target("avx2,fma"))) inline void fma_loop_avx2(float* out) {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i)
    sums[i] = _mm256_set1_ps(out[i]);
  const __m256 x = _mm256_set1_ps(out[0]), y = _mm256_set1_ps(out[1]);
  for (int r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i)
      sums[i] = _mm256_fmadd_ps(sums[i], x, y);
  }
  for (int i = 0; i < kChains; ++i)
    _mm256_storeu_ps(out + 16 * i, sums[i]);
}

// Operations a second, best of `times`.
inline double fma_peak(Isa isa, int times) {
  // Chains that differ, and that all end in memory: else the compiler drops all but one.
  alignas(64) float out[16 * kChains];
  for (int i = 0; i < 16 * kChains; ++i)
    out[i] = 0.9f - 1e-4f * static_cast<float>(i);
  const double s =
      best_of(times, [&] { isa == Isa::kAvx2 ? fma_loop_avx2(out) : fma_loop_avx512(out); });
  volatile float kept = out[0];
  static_cast<void>(kept);
  return 2.0 * kChains * kRounds * (isa == Isa::kAvx2 ? 8 : 16) / s;
}

inline double product_peak(Isa isa, int times) {
  const int m = 252, n = 128, k = 256;
  Floats a(m * k, 0.5f), b(n * k, 0.25f), c(m * n);
  skerry::kernels::Product p;
  p.m = m, p.n = n, p.k = k;
  p.a = a.data(), p.a_row = k, p.a_col = 1;
  p.b = b.data(), p.b_row = 32, p.b_panel = std::ptrdiff_t{32} * k;
  p.c = c.data(), p.c_row = n;
  return 2.0 * m * n * k / best_of(times, [&] { skerry::kernels::ops(isa).product(p); });
}

}  // namespace bench
