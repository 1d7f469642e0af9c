// Sixteen floats at a time: one AVX-512 register, or two of AVX2. The only place that knows which.
//
// Every operation works lane by lane and is correctly rounded, so a result does not depend on the
// build; sums across lanes always fold 16 → 8 → 4 → 2 → 1. Included by the kernel units alone;
// everything here has internal linkage, because an inline symbol shared by two such units would be
// merged by the linker.
#pragma once

#include <immintrin.h>

#include "kernels/ops.hpp"

#define SKERRY_INLINE [[gnu::always_inline]] static inline

namespace skerry::kernels::SKERRY_ISA {
namespace {

constexpr int kLanes = 16;

#if defined(__AVX512F__)

struct Mask {
  __mmask16 bits;
};

struct Vec {
  __m512 v;
};

SKERRY_INLINE Mask first(int count) {
  return {static_cast<__mmask16>((1u << count) - 1u)};
}
SKERRY_INLINE Vec load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
SKERRY_INLINE Vec load(const float* p, Mask m) {
  return {_mm512_maskz_loadu_ps(m.bits, p)};
}
SKERRY_INLINE void store(float* p, Vec x) {
  _mm512_storeu_ps(p, x.v);
}
SKERRY_INLINE void store(float* p, Vec x, Mask m) {
  _mm512_mask_storeu_ps(p, m.bits, x.v);
}
SKERRY_INLINE Vec all(float x) {
  return {_mm512_set1_ps(x)};
}
SKERRY_INLINE Vec operator+(Vec a, Vec b) {
  return {_mm512_add_ps(a.v, b.v)};
}
SKERRY_INLINE Vec operator-(Vec a, Vec b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
SKERRY_INLINE Vec operator*(Vec a, Vec b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
SKERRY_INLINE Vec operator/(Vec a, Vec b) {
  return {_mm512_div_ps(a.v, b.v)};
}
SKERRY_INLINE Vec fma(Vec a, Vec b, Vec c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
SKERRY_INLINE Vec square_root(Vec a) {
  return {_mm512_sqrt_ps(a.v)};
}
// When a lane of b is not a number, so is the result's.
SKERRY_INLINE Vec larger(Vec a, Vec b) {
  return {_mm512_max_ps(a.v, b.v)};
}
SKERRY_INLINE Vec smaller(Vec a, Vec b) {
  return {_mm512_min_ps(a.v, b.v)};
}
SKERRY_INLINE Mask less(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
SKERRY_INLINE Vec zero_where(Mask m, Vec x) {
  return {_mm512_maskz_mov_ps(static_cast<__mmask16>(~m.bits), x.v)};
}
SKERRY_INLINE Vec where(Mask m, Vec yes, Vec no) {
  return {_mm512_mask_blend_ps(m.bits, no.v, yes.v)};
}
// The lowest bits of n added to the exponents of x.
SKERRY_INLINE Vec raise_exponent(Vec x, Vec n) {
  const __m512i shift = _mm512_slli_epi32(_mm512_castps_si512(n.v), 23);
  return {_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x.v), shift))};
}
SKERRY_INLINE __m256 low(Vec x) {
  return _mm512_castps512_ps256(x.v);
}
SKERRY_INLINE __m256 high(Vec x) {
  return _mm512_extractf32x8_ps(x.v, 1);
}

#else

struct Mask {
  __m256 a, b;
};

struct Vec {
  __m256 a, b;
};

SKERRY_INLINE Mask first(int count) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane)),
          _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count - 8), lane))};
}
SKERRY_INLINE Vec load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
SKERRY_INLINE Vec load(const float* p, Mask m) {
  return {_mm256_maskload_ps(p, _mm256_castps_si256(m.a)),
          _mm256_maskload_ps(p + 8, _mm256_castps_si256(m.b))};
}
SKERRY_INLINE void store(float* p, Vec x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
SKERRY_INLINE void store(float* p, Vec x, Mask m) {
  _mm256_maskstore_ps(p, _mm256_castps_si256(m.a), x.a);
  _mm256_maskstore_ps(p + 8, _mm256_castps_si256(m.b), x.b);
}
SKERRY_INLINE Vec all(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
SKERRY_INLINE Vec operator+(Vec x, Vec y) {
  return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
SKERRY_INLINE Vec operator-(Vec x, Vec y) {
  return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
SKERRY_INLINE Vec operator*(Vec x, Vec y) {
  return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
SKERRY_INLINE Vec operator/(Vec x, Vec y) {
  return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
SKERRY_INLINE Vec fma(Vec x, Vec y, Vec z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
SKERRY_INLINE Vec square_root(Vec x) {
  return {_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)};
}
// When a lane of y is not a number, so is the result's.
SKERRY_INLINE Vec larger(Vec x, Vec y) {
  return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
SKERRY_INLINE Vec smaller(Vec x, Vec y) {
  return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
SKERRY_INLINE Mask less(Vec x, Vec y) {
  return {_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ)};
}
SKERRY_INLINE Vec zero_where(Mask m, Vec x) {
  return {_mm256_andnot_ps(m.a, x.a), _mm256_andnot_ps(m.b, x.b)};
}
SKERRY_INLINE Vec where(Mask m, Vec yes, Vec no) {
  return {_mm256_blendv_ps(no.a, yes.a, m.a), _mm256_blendv_ps(no.b, yes.b, m.b)};
}
SKERRY_INLINE __m256 raise_half(__m256 x, __m256 n) {
  const __m256i shift = _mm256_slli_epi32(_mm256_castps_si256(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), shift));
}
// The lowest bits of n added to the exponents of x.
SKERRY_INLINE Vec raise_exponent(Vec x, Vec n) {
  return {raise_half(x.a, n.a), raise_half(x.b, n.b)};
}
SKERRY_INLINE __m256 low(Vec x) {
  return x.a;
}
SKERRY_INLINE __m256 high(Vec x) {
  return x.b;
}

#endif

// All sixteen lanes, where a mask may stand.
struct Full {};

SKERRY_INLINE Vec load(const float* p, Full) {
  return load(p);
}
SKERRY_INLINE void store(float* p, Vec x, Full) {
  store(p, x);
}
SKERRY_INLINE Vec where(Full, Vec yes, Vec) {
  return yes;
}

// body(j, lanes) for j = 0, 16, … below n; `lanes` masks what lies beyond n in the last round.
// Spelt over(n, [&] SKERRY_LANES(j, m) { … }).
#define SKERRY_LANES(j, m) (Index j, auto m) __attribute__((always_inline))

template <class Body>
SKERRY_INLINE void over(Index n, Body body) {
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes)
    body(j, Full{});
  if (j < n) body(j, first(static_cast<int>(n - j)));
}

SKERRY_INLINE float sum(Vec x) {
  const __m256 e = _mm256_add_ps(low(x), high(x));
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}

SKERRY_INLINE float maximum(Vec x) {
  const __m256 e = _mm256_max_ps(low(x), high(x));
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
  const __m128 d = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}

// e^x to 1 ulp or so for x in [−80, 88] and 0 below; nothing sensible above. Range reduction by ln
// 2 in two parts, then a polynomial of degree 6 fitted for the least relative error.
// Adding 1.5·2^23 rounds to a whole number, which then stands in the lowest bits.
SKERRY_INLINE Vec exponential(Vec x) {
  const Vec shifted = fma(x, all(1.44269504f), all(12582912.0f));
  const Vec n = shifted - all(12582912.0f);
  const Vec r = fma(n, all(-1.42860677e-6f), fma(n, all(-0.693145752f), x));
  Vec p = all(1.381454058e-3f);
  p = fma(p, r, all(8.368745446e-3f));
  p = fma(p, r, all(4.166838899e-2f));
  p = fma(p, r, all(1.666652113e-1f));
  p = fma(p, r, all(4.999999404e-1f));
  p = fma(p, r, all(1.0f));
  p = fma(p, r, all(1.0f));
  return zero_where(less(x, all(-80.0f)), raise_exponent(p, shifted));
}

}  // namespace
}  // namespace skerry::kernels::SKERRY_ISA
