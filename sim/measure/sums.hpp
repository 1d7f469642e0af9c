// Sums whose error does not grow with the number of terms, and quantiles of weighted samples.
#pragma once

#include <cmath>
#include <vector>

#include "sim/measure/summary.hpp"

namespace skerry::measure {

// Neumaier's compensated sum. The caller fixes the order of the terms.
class Sum {
 public:
  void add(double x) {
    const double total = sum_ + x;
    carry_ += std::abs(sum_) >= std::abs(x) ? (sum_ - total) + x : (x - total) + sum_;
    sum_ = total;
  }
  void add(const Sum& other) {
    add(other.sum_);
    add(other.carry_);
  }
  double value() const { return sum_ + carry_; }

 private:
  double sum_ = 0, carry_ = 0;
};

// One value that occurred `weight` times (> 0; whole numbers up to 2^53 are exact).
struct Weighted {
  double value = 0;
  double weight = 1;
};

// Sorts by value. Nearest rank: the smallest value that at least a share q of the weight does not
// exceed. 0 when there are no samples.
double quantile(std::vector<Weighted>& samples, double q);
double mean(const std::vector<Weighted>& samples);
Distribution distribution(std::vector<Weighted> samples);

}  // namespace skerry::measure
