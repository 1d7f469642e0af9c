#include "kernels/quantise.hpp"

#include <limits>

#include "tests/kernels/support.hpp"

using namespace support;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Precision kAll[] = {Precision::kFp32, Precision::kBf16, Precision::kFp16,
                              Precision::kInt8, Precision::kFp4,  Precision::kInt4,
                              Precision::kInt2, Precision::kInt1};

Floats quantised(Precision precision, Floats x) {
  quantise(precision, x);
  return x;
}

// The nearest of the block's numbers, found by looking at all of them in order of their codes: of
// two equally near ones that of the even code.
float nearest_of(const std::vector<double>& codes, float x) {
  double best = codes[0];
  std::size_t best_code = 0;
  for (std::size_t code = 1; code < codes.size(); ++code) {
    const double d = std::abs(codes[code] - static_cast<double>(x));
    const double b = std::abs(best - static_cast<double>(x));
    if (d < b || (d == b && code % 2 == 0 && best_code % 2 == 1)) {
      best = codes[code];
      best_code = code;
    }
  }
  return static_cast<float>(best);
}

// Values of a block of scale s, magnitudes alone, by code.
std::vector<double> magnitudes(Precision precision, double s) {
  std::vector<double> codes;
  if (precision == Precision::kFp4) {
    codes.push_back(0.0);
    for (int k = 6; k >= 0; --k)
      codes.push_back(s / (1 << k));
    return codes;
  }
  const int levels = precision == Precision::kInt8 ? 127 : precision == Precision::kInt4 ? 7 : 1;
  for (int q = 0; q <= levels; ++q)
    codes.push_back(q * s / levels);
  return codes;
}

Floats plain(Precision precision, const Floats& x) {
  Floats out;
  for (std::size_t at = 0; at < x.size(); at += kQuantiseBlock) {
    const std::size_t end = std::min(x.size(), at + kQuantiseBlock);
    double s = 0.0, sum = 0.0;
    for (std::size_t i = at; i < end; ++i) {
      s = std::max(s, static_cast<double>(std::abs(x[i])));
      sum += static_cast<double>(std::abs(x[i]));
    }
    for (std::size_t i = at; i < end; ++i) {
      if (precision == Precision::kInt1) {
        const auto mean = static_cast<float>(sum / static_cast<double>(end - at));
        out.push_back(x[i] < 0 ? -mean : mean);
      } else {
        const float size = nearest_of(magnitudes(precision, s), std::abs(x[i]));
        out.push_back(x[i] < 0 ? -size : size);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("by hand: one block of each format") {
  // s = 7: int4 steps are 1; 2.5 and −3.5 are ties and go to the even 2 and −4.
  CHECK(quantised(Precision::kInt4, {7.0f, 2.5f, -3.5f, 0.4f}) == Floats{7.0f, 2.0f, -4.0f, 0.0f});
  // s = 1: −0.5 is a tie between 0 and −1.
  CHECK(quantised(Precision::kInt2, {1.0f, -0.5f, -0.6f, 0.2f}) == Floats{1.0f, 0.0f, -1.0f, 0.0f});
  // Mean magnitude (1 + 3 + 0 + 2)/4 = 1.5; 0 counts as positive.
  CHECK(quantised(Precision::kInt1, {-1.0f, 3.0f, 0.0f, -2.0f}) ==
        Floats{-1.5f, 1.5f, 1.5f, -1.5f});
  CHECK(quantised(Precision::kInt8, {-127.0f, 1.4f, 0.5f, 1.5f}) ==
        Floats{-127.0f, 1.0f, 0.0f, 2.0f});
  // s = 64: 64 … 1 are codes 7 … 1. 48 is a tie of 64 (odd) and 32 (even); 24 of 32 and 16 (odd);
  // 0.5 of 1 and 0 (even).
  CHECK(quantised(Precision::kFp4, {64.0f, 48.0f, -24.0f, 0.5f, 0.51f, -1.4f, 50.0f}) ==
        Floats{64.0f, 32.0f, -32.0f, 0.0f, 1.0f, -1.0f, 64.0f});
  // bf16 has 8 bits: 257 is a tie of 256 (even) and 258; 259 of 258 and 260 (even).
  CHECK(quantised(Precision::kBf16, {257.0f, 259.0f, -257.5f, 3.4e38f}) ==
        Floats{256.0f, 260.0f, -258.0f, kInfinity});
  // fp16 has 11 bits, multiples of 2^-24 below 2^-14, and nothing from 65520 on.
  CHECK(
      quantised(Precision::kFp16, {2049.0f, 2051.0f, -0x1.8p-24f, 0x1p-25f, 65519.0f, -65520.0f}) ==
      Floats{2048.0f, 2052.0f, -0x1p-23f, 0.0f, 65504.0f, -kInfinity});
}

TEST_CASE("against plain loops over all numbers of the format, blocks of any length") {
  for (const std::size_t n : {1UL, 2UL, 127UL, 128UL, 129UL, 700UL}) {
    for (const float scale : {1e-30f, 1e-4f, 1.0f, 3e5f}) {
      Floats x = hashed_floats(n, n, scale);
      for (std::size_t i = 0; i < n; i += 9)
        x[i] *= 0.01f;
      for (const Precision p : {Precision::kInt8, Precision::kFp4, Precision::kInt4,
                                Precision::kInt2, Precision::kInt1}) {
        CAPTURE(static_cast<int>(p));
        CAPTURE(n);
        CHECK(quantised(p, x) == plain(p, x));
      }
    }
  }
}

TEST_CASE("twice is once; the error is bounded; signs stay") {
  const Floats x = hashed_floats(5, 1000, 0.01f);
  const auto bound = [](Precision p, float size, float s) {
    switch (p) {
      case Precision::kFp32:
        return 0.0f;
      case Precision::kBf16:
        return size * 0x1p-8f;
      case Precision::kFp16:
        return size * 0x1p-11f + 0x1p-25f;
      case Precision::kInt8:
        return s / 254.0f;
      case Precision::kInt4:
        return s / 14.0f;
      case Precision::kInt2:
        return s / 2.0f;
      case Precision::kFp4:
        return std::max(size / 3.0f, s / 128.0f);
      case Precision::kInt1:
        return s;
    }
    return 0.0f;
  };
  for (const Precision p : kAll) {
    CAPTURE(static_cast<int>(p));
    const Floats once = quantised(p, x);
    CHECK(same_bits(quantised(p, once), once));
    CHECK((once == x) == (p == Precision::kFp32));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t block = i / kQuantiseBlock * kQuantiseBlock;
      float s = 0.0f;
      for (std::size_t j = block; j < std::min(x.size(), block + kQuantiseBlock); ++j)
        s = std::max(s, std::abs(x[j]));
      CHECK(std::abs(once[i] - x[i]) <= 1.0001f * bound(p, std::abs(x[i]), s));
      CHECK(once[i] * x[i] >= 0.0f);
    }
  }
}

TEST_CASE("zeros stay zeros; what is not finite is never hidden, and stays in its block") {
  for (const Precision p : kAll) {
    CAPTURE(static_cast<int>(p));
    CHECK(quantised(p, Floats(200)) == Floats(200));
    CHECK(quantised(p, {}) == Floats{});
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      Floats x = hashed_floats(6, 300);
      x[130] = bad;
      const Floats y = quantised(p, x);
      CHECK(!std::isfinite(y[130]));
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (i < 128 || i >= 256) CHECK(std::isfinite(y[i]));
      }
    }
  }
  // The smallest number of all, alone: a scale that is not normal.
  for (const Precision p :
       {Precision::kInt8, Precision::kInt4, Precision::kInt2, Precision::kFp4, Precision::kInt1}) {
    CHECK(quantised(p, {0x1p-149f}) == Floats{0x1p-149f});
  }
}
