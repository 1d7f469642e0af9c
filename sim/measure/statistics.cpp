#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "sim/base/error.hpp"
#include "sim/measure/sums.hpp"

namespace skerry::measure {

double quantile(std::vector<Weighted>& samples, double q) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  Sum total;
  for (const Weighted& sample : samples)
    total.add(sample.weight);
  Sum below;
  for (const Weighted& sample : samples) {
    below.add(sample.weight);
    // 1e-12: q × total may round up past a whole number of samples.
    if (below.value() >= q * total.value() * (1 - 1e-12)) return sample.value;
  }
  return samples.back().value;
}

double mean(const std::vector<Weighted>& samples) {
  Sum total, weight;
  for (const Weighted& sample : samples) {
    total.add(sample.value * sample.weight);
    weight.add(sample.weight);
  }
  return samples.empty() ? 0 : total.value() / weight.value();
}

Distribution distribution(std::vector<Weighted> samples) {
  Distribution out;
  out.mean = mean(samples);
  out.p50 = quantile(samples, 0.50);
  out.p99 = quantile(samples, 0.99);
  return out;
}

}  // namespace skerry::measure

namespace skerry {

using measure::Sum;

namespace {

// P(|T| ≤ t) for whole degrees of freedom, with θ = atan(t / √df): the finite trigonometric series
// of Abramowitz and Stegun 26.7.3 (odd) and 26.7.4 (even).
double central_probability(double theta, int df) {
  const double cosine_squared = std::cos(theta) * std::cos(theta);
  const bool odd = df % 2 == 1;
  double term = odd ? std::cos(theta) : 1.0;
  double series = 0;
  for (int k = odd ? 3 : 2; k <= df; k += 2) {
    series += term;
    term *= cosine_squared * (k - 1) / k;
  }
  const double sine = std::sin(theta);
  return odd ? 2 / std::numbers::pi * (theta + sine * series) : sine * series;
}

}  // namespace

double student_t_975(int df) {
  SKERRY_CHECK(df >= 1, "degrees of freedom: " + std::to_string(df));
  static std::map<int, double> known;  // a study asks for a few of them a hundred thousand times
  const auto found = known.find(df);
  if (found != known.end()) return found->second;
  double low = 0, high = std::numbers::pi / 2;
  for (int i = 0; i < 100; ++i) {  // halves the bracket to the last bit long before 100
    const double middle = (low + high) / 2;
    (central_probability(middle, df) < 0.95 ? low : high) = middle;
  }
  return known[df] = std::tan(low) * std::sqrt(double(df));
}

Interval mean_interval(const std::vector<double>& values) {
  Interval out;
  out.n = int(values.size());
  if (values.empty()) return out;
  Sum total;
  for (const double value : values)
    total.add(value);
  out.mean = total.value() / out.n;
  if (out.n == 1) return out;
  Sum squares;
  for (const double value : values)
    squares.add((value - out.mean) * (value - out.mean));
  const double half_width =
      student_t_975(out.n - 1) * std::sqrt(squares.value() / (out.n - 1) / out.n);
  out.low = out.mean - half_width;
  out.high = out.mean + half_width;
  return out;
}

Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b) {
  SKERRY_CHECK(a.size() == b.size(), "paired samples of unequal length");
  std::vector<double> logs;
  bool positive = true;
  Sum sum_a, sum_b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    positive = positive && a[i] > 0 && b[i] > 0;
    sum_a.add(a[i]);
    sum_b.add(b[i]);
    logs.push_back(positive ? std::log(a[i] / b[i]) : 0);
  }
  Interval out;
  if (!positive) {
    if (!(sum_b.value() > 0)) return out;
    out.n = int(a.size());
    out.mean = sum_a.value() / sum_b.value();
    return out;
  }
  out = mean_interval(logs);
  if (out.n > 0) out.mean = std::exp(out.mean);
  if (out.low) out.low = std::exp(*out.low);
  if (out.high) out.high = std::exp(*out.high);
  return out;
}

Interval difference_interval(const std::vector<double>& a, const std::vector<double>& b) {
  SKERRY_CHECK(a.size() == b.size(), "paired samples of unequal length");
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i)
    differences.push_back(a[i] - b[i]);
  return mean_interval(differences);
}

}  // namespace skerry
