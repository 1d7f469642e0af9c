// What the kernel tests share: numbers by integer hash, the builds to run, comparisons.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/isa.hpp"
#include "kernels/model.hpp"

namespace support {

using namespace skerry::kernels;

using Floats = std::vector<float>;
using Tokens = std::vector<std::int32_t>;

inline std::uint64_t mix(std::uint64_t v) {
  v += 0x9e3779b97f4a7c15ULL;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}

// In [−1, 1), a multiple of 2^−23: exact in float, double and Python.
inline float hashed(std::uint64_t stream, std::uint64_t i) {
  const auto top = static_cast<std::int64_t>(mix(stream * 1000003 + i) >> 40);
  return static_cast<float>(top - (1 << 23)) * 0x1p-23f;
}

inline Floats hashed_floats(std::uint64_t stream, std::size_t n, float scale = 1.0f,
                            float base = 0.0f) {
  Floats x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = base + scale * hashed(stream, i);
  return x;
}

inline Tokens hashed_tokens(std::uint64_t stream, std::size_t n, int V) {
  Tokens t(n);
  for (std::size_t i = 0; i < n; ++i) {
    t[i] = static_cast<std::int32_t>(mix(stream * 1000003 + i) % static_cast<std::uint64_t>(V));
  }
  return t;
}

inline std::vector<double> widened(const Floats& x) {
  return {x.begin(), x.end()};
}

inline std::vector<Isa> builds() {
  std::vector<Isa> list{Isa::kAvx2};
  if (supported(Isa::kAvx512)) {
    list.push_back(Isa::kAvx512);
  } else {
    MESSAGE("SKIPPED for AVX-512: this processor or build has none");
  }
  return list;
}

inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Largest |a − b| over the largest |b|.
inline double relative_error(const Floats& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0.0, most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(d <= worst)) worst = d;
    most = std::max(most, std::abs(b[i]));
  }
  return most > 0.0 ? worst / most : worst;
}

// Weights as PyTorch's golden run has them: all hashed, norms near 1.
inline Floats hashed_parameters(const ModelShape& shape) {
  Floats p;
  std::uint64_t index = 0;
  for (const TensorInfo& t : tensors(shape)) {
    const bool norm = t.name.ends_with("ln1.w") || t.name.ends_with("ln2.w") || t.name == "lnf.w";
    const Floats x =
        hashed_floats(100 + index++, t.size, norm ? 0.25f : 0.125f, norm ? 1.0f : 0.0f);
    p.insert(p.end(), x.begin(), x.end());
  }
  return p;
}

class Selected {
 public:
  explicit Selected(Isa isa) : before_(current_isa()) { select_isa(isa); }
  ~Selected() { select_isa(before_); }
  Selected(const Selected&) = delete;
  Selected& operator=(const Selected&) = delete;

 private:
  Isa before_;
};

}  // namespace support
