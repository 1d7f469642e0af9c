// What a number keeps of itself when it travels in few bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace skerry::kernels {

enum class Precision : std::uint8_t { kFp32, kBf16, kFp16, kInt8, kFp4, kInt4, kInt2, kInt1 };

// Values that share one scale, a float of its own.
inline constexpr std::size_t kQuantiseBlock = 128;

// Each value becomes what the far end reads: the nearest number of the format, of two equally near
// ones the even one. Blocks of kQuantiseBlock values from the first on, the last may be shorter; s
// is a block's largest magnitude.
//   fp32        as it is
//   bf16, fp16  IEEE-like rounding of each value, without a scale; too large becomes infinite
//   int8, 4, 2  q·s / L with q an integer in [−L, L]; L = 127, 7, 1
//   fp4         E3M0: sign and three exponent bits, 0 or s / 2^k, k = 0 … 6
//   int1        sign × mean magnitude of the block (in double, in order); 0 counts as positive
// Doing it twice is doing it once. A value that is not finite stays so, and in a format with scales
// makes its whole block not-a-number. Serial; the same bits on every machine.
void quantise(Precision precision, std::span<float> values);

}  // namespace skerry::kernels
