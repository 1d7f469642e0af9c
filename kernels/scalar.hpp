// Scalar functions that the C library may round differently from machine to machine.
// Internal linkage: included by the kernel units too (see simd.hpp).
#pragma once

#include <cstdint>

namespace skerry::kernels {
namespace {

[[maybe_unused]] inline float root(float x) {
  return __builtin_sqrtf(x);
}

// ln x to 1e-12 for normal x > 0; not a number for anything else but 0, whose logarithm is
// −infinity. x = 2^e·m with m in [√½, √2); ln m = 2·artanh((m − 1)/(m + 1)), Taylor up to s^13 (|s|
// < 0.172).
[[maybe_unused]] double natural_log(double x) {
  if (x == 0.0) return -__builtin_inf();
  if (!(x > 0.0) || x > 1.7e308) return __builtin_nan("");
  std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x);
  int e = static_cast<int>(bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    e += 1;
  }
  const double s = (m - 1.0) / (m + 1.0), q = s * s;
  double p = 1.0 / 13.0;
  for (int n = 11; n >= 1; n -= 2)
    p = p * q + 1.0 / n;
  return static_cast<double>(e) * 0.69314718055994531 + 2.0 * s * p;
}

// x^n for n ≥ 0 by squaring.
[[maybe_unused]] double power(double x, std::int64_t n) {
  double p = 1.0;
  for (; n > 0; n >>= 1, x *= x) {
    if (n & 1) p *= x;
  }
  return p;
}

}  // namespace
}  // namespace skerry::kernels
