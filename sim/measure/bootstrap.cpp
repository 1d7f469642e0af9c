#include "sim/measure/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/measure/sums.hpp"

namespace skerry {

using measure::Sum;

namespace {

double mean_of(const std::vector<double>& values) {
  Sum total;
  for (const double value : values)
    total.add(value);
  return total.value() / double(values.size());
}

// Indices of all resamples of n values, one behind the other.
const std::vector<std::uint32_t>& resamples_of(std::size_t n) {
  static std::map<std::size_t, std::vector<std::uint32_t>> known;
  std::vector<std::uint32_t>& out = known[n];
  if (!out.empty()) return out;
  out.reserve(n * kBootstrapResamples);
  for (int k = 0; k < kBootstrapResamples; ++k) {
    RandomStream stream(kBootstrapSeed, "bootstrap", std::uint64_t(k));
    for (std::size_t i = 0; i < n; ++i)
      out.push_back(std::uint32_t(stream.below(n)));
  }
  return out;
}

}  // namespace

double median_of(std::vector<double> values) {
  SKERRY_CHECK(!values.empty(), "median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return values[middle - 1] + (values[middle] - values[middle - 1]) / 2;
}

std::optional<double> deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = mean_of(values);
  Sum squares;
  for (const double value : values)
    squares.add((value - mean) * (value - mean));
  return std::sqrt(squares.value() / double(values.size() - 1));
}

Interval bootstrap_interval(const std::vector<double>& values) {
  Interval out;
  out.n = int(values.size());
  if (values.empty()) return out;
  out.mean = mean_of(values);
  if (out.n == 1) return out;
  const auto ends = std::minmax_element(values.begin(), values.end());
  if (*ends.first == *ends.second) {
    out.low = out.high = out.mean;
    return out;
  }
  std::vector<double> means;
  const std::vector<std::uint32_t>& indices = resamples_of(values.size());
  for (std::size_t at = 0; at < indices.size();) {
    double total = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      total += values[indices[at++]];
    means.push_back(total / double(values.size()));
  }
  const auto rank = [&means](double share) {
    const auto at = std::size_t(std::ceil(share * double(means.size()))) - 1;
    std::nth_element(means.begin(), means.begin() + std::ptrdiff_t(at), means.end());
    return means[at];
  };
  out.low = rank(0.025);
  out.high = rank(0.975);
  return out;
}

}  // namespace skerry
