// Statistics over seeds beside the mean (summary.hpp): median, deviation, bootstrap.
#pragma once

#include <optional>
#include <vector>

#include "sim/measure/summary.hpp"

namespace skerry {

inline constexpr int kBootstrapResamples = 1000;
inline constexpr std::uint64_t kBootstrapSeed = 1;

double median_of(std::vector<double> values);  // of at least one; the mean of the middle two

// Square root of the unbiased variance (n - 1); none with n = 1.
std::optional<double> deviation_of(const std::vector<double>& values);

// Percentile interval of the mean (Efron): the 2.5 % and 97.5 % quantiles (nearest rank) of the
// means of kBootstrapResamples resamples with replacement. Sample k of n values draws the same
// indices wherever it is used: the same values give the same interval. No interval with n = 1.
Interval bootstrap_interval(const std::vector<double>& values);

}  // namespace skerry
