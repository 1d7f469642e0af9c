#include "sim/base/random.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>

namespace skerry {

namespace {

// SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014): a bijection that passes BigCrush over counters.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t hash64(std::string_view text, std::uint64_t seed) {
  return XXH64(text.data(), text.size(), seed);
}

struct Hash64::State {
  XXH64_state_t* xxh = XXH64_createState();
  ~State() { XXH64_freeState(xxh); }
};

Hash64::Hash64() : state_(std::make_unique<State>()) { XXH64_reset(state_->xxh, 0); }
Hash64::~Hash64() = default;

void Hash64::update(std::string_view part) { XXH64_update(state_->xxh, part.data(), part.size()); }

std::uint64_t Hash64::digest() const { return XXH64_digest(state_->xxh); }

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t index)
    : key_(mix(hash64(purpose, seed) + mix(index + 0x9e3779b97f4a7c15ULL))) {}

std::uint64_t RandomStream::bits() {
  counter_ += 1;
  return mix(key_ + counter_ * 0x9e3779b97f4a7c15ULL);
}

double RandomStream::uniform() {
  // The largest draw would round up to 1.
  return std::min((static_cast<double>(bits() >> 11) + 0.5) * 0x1.0p-53, 1.0 - 0x1.0p-53);
}

double RandomStream::exponential() { return -std::log(uniform()); }

// Acklam's rational approximation of the normal quantile (relative error 1.2e-9), two regions.
double RandomStream::normal() {
  const double p = uniform();
  const double q = p < 0.5 ? p : 1.0 - p;
  double x = 0.0;
  if (q > 0.02425) {
    const double c = p - 0.5;
    const double r = c * c;
    return (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
              1.383577518672690e+02) * r - 3.066479806614716e+01) * r + 2.506628277459239e+00) * c /
           (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
              6.680131188771972e+01) * r - 1.328068155288572e+01) * r + 1.0);
  }
  const double r = std::sqrt(-2.0 * std::log(q));
  x = (((((-7.784894002430293e-03 * r - 3.223964580411365e-01) * r - 2.400758277161838e+00) * r -
         2.549732539343734e+00) * r + 4.374664141464968e+00) * r + 2.938163982698783e+00) /
      ((((7.784695709041462e-03 * r + 3.224671290700398e-01) * r + 2.445134137142996e+00) * r +
        3.754408661907416e+00) * r + 1.0);
  return p < 0.5 ? x : -x;
}

std::uint64_t RandomStream::below(std::uint64_t n) {
  const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % n);
  std::uint64_t draw = bits();
  while (draw >= limit) draw = bits();
  return draw % n;
}

}  // namespace skerry
