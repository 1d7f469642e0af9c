#include "kernels/quantise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace skerry::kernels {

namespace {

// Keeps the upper bits of a float's mantissa: `dropped` of its 23 bits go. The carry may run into
// the exponent, up to infinity.
float keep_upper(float x, int dropped) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t below_half = (1u << (dropped - 1)) - 1u;
  const std::uint32_t odd = (bits >> dropped) & 1u;
  return std::bit_cast<float>((bits + below_half + odd) & ~((1u << dropped) - 1u));
}

void to_bf16(std::span<float> values) {
  for (float& x : values)
    x = std::isfinite(x) ? keep_upper(x, 16) : x;
}

// 10 bits of mantissa from 2^-14 on; below, multiples of 2^-24, which is the last bit of 0.75.
void to_fp16(std::span<float> values) {
  for (float& x : values) {
    if (!std::isfinite(x)) continue;
    const float size = std::abs(x);
    const float rounded = size < 0x1p-14f ? (size + 0.75f) - 0.75f : keep_upper(size, 13);
    x = std::copysign(rounded > 65504.0f ? std::numeric_limits<float>::infinity() : rounded, x);
  }
}

// To the nearest integer, ties to even, of |x| < 2^51.
double nearest(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

// Not-a-number when one of them is not finite.
float largest_magnitude(std::span<const float> block) {
  float largest = 0.0f;
  float sum_of_zeros = 0.0f;  // 0·x is 0 for finite x alone
  for (const float x : block) {
    largest = std::max(largest, std::abs(x));
    sum_of_zeros += 0.0f * x;
  }
  return largest + sum_of_zeros;
}

void to_integers(std::span<float> block, float scale, double levels) {
  const double s = static_cast<double>(scale);
  for (float& x : block)
    x = static_cast<float>(nearest(static_cast<double>(x) * levels / s) * s / levels);
}

// Of 2^e and 2^(e+1) the nearer one is told by the middle, 1.5·2^e; a tie goes to the even code,
// and code 7 is the scale, so k = 1, 3, 5 and 0 are the even ones.
void to_exponents(std::span<float> block, float scale) {
  for (float& x : block) {
    const double share = static_cast<double>(std::abs(x)) / static_cast<double>(scale);
    double found = 0.0;
    for (int k = 6; k >= 0; --k) {
      const double step = std::ldexp(1.0, -k);
      const double middle = k == 6 ? step / 2.0 : 0.75 * step;
      const bool even = k % 2 == 1;
      if (share > middle || (share == middle && even)) found = step;
    }
    x = std::copysign(static_cast<float>(found * static_cast<double>(scale)), x);
  }
}

void to_signs(std::span<float> block) {
  double sum = 0.0;
  for (const float x : block)
    sum += static_cast<double>(std::abs(x));
  const float mean = static_cast<float>(sum / static_cast<double>(block.size()));
  for (float& x : block)
    x = x < 0.0f ? -mean : mean;
}

void quantise_block(Precision precision, std::span<float> block) {
  const float scale = largest_magnitude(block);
  if (scale == 0.0f) return std::fill(block.begin(), block.end(), 0.0f);
  if (!std::isfinite(scale)) {
    return std::fill(block.begin(), block.end(), std::numeric_limits<float>::quiet_NaN());
  }
  switch (precision) {
    case Precision::kInt8:
      return to_integers(block, scale, 127.0);
    case Precision::kInt4:
      return to_integers(block, scale, 7.0);
    case Precision::kInt2:
      return to_integers(block, scale, 1.0);
    case Precision::kFp4:
      return to_exponents(block, scale);
    case Precision::kInt1:
      return to_signs(block);
    case Precision::kFp32:
    case Precision::kBf16:
    case Precision::kFp16:
      return;
  }
}

}  // namespace

void quantise(Precision precision, std::span<float> values) {
  if (precision == Precision::kFp32) return;
  if (precision == Precision::kBf16) return to_bf16(values);
  if (precision == Precision::kFp16) return to_fp16(values);
  for (std::size_t at = 0; at < values.size(); at += kQuantiseBlock) {
    quantise_block(precision, values.subspan(at, std::min(kQuantiseBlock, values.size() - at)));
  }
}

}  // namespace skerry::kernels
