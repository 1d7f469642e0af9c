#include <cmath>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/cost/cost.hpp"

namespace skerry {

namespace {

// Least whole n with n × part ≥ whole; the quotient alone may be off by one where n parts fill it
// exactly.
int least_count(double whole, double part) {
  const double guess = std::max(1.0, std::ceil(whole / part));
  if (guess >= static_cast<double>(std::numeric_limits<int>::max())) {
    return std::numeric_limits<int>::max();
  }
  int n = static_cast<int>(guess);
  if (n > 1 && (n - 1) * part >= whole) n -= 1;
  if (n * part < whole) n += 1;
  return n;
}

void check_positive(double mtbf_s, double save_s) {
  SKERRY_CHECK(mtbf_s > 0.0 && save_s > 0.0 && std::isfinite(mtbf_s) && std::isfinite(save_s),
               "mtbf " + std::to_string(mtbf_s) + " s, save " + std::to_string(save_s) + " s");
}

}  // namespace

MemoryFit memory_fit(const ChargedModel& model, const Learner& learner) {
  SKERRY_CHECK(learner.slices >= 1 && learner.chips >= learner.slices,
               learner.name + ": " + std::to_string(learner.chips) + " chips, " +
                   std::to_string(learner.slices) + " slices");
  const double state_bytes = model.parameters * model.state_bytes_per_parameter;
  const auto chips_per_slice = static_cast<double>(learner.chips / learner.slices);

  MemoryFit fit;
  fit.needed_per_chip_bytes = state_bytes / chips_per_slice;
  fit.available_per_chip_bytes = learner.memory_per_chip_bytes;
  if (learner.memory_per_chip_bytes <= 0.0) return fit;

  const double slice_bytes = chips_per_slice * learner.memory_per_chip_bytes;
  fit.least_chips_per_slice = least_count(state_bytes, learner.memory_per_chip_bytes);
  fit.fits = state_bytes <= slice_bytes;
  fit.exactly_full = fit.fits && slice_bytes < 1.01 * state_bytes;
  return fit;
}

double young_interval_s(double mtbf_s, double save_s) {
  check_positive(mtbf_s, save_s);
  return std::sqrt(2.0 * save_s * mtbf_s);
}

double daly_interval_s(double mtbf_s, double save_s) {
  check_positive(mtbf_s, save_s);
  if (save_s >= 2.0 * mtbf_s) return mtbf_s;
  const double x = save_s / (2.0 * mtbf_s);
  return young_interval_s(mtbf_s, save_s) * (1.0 + std::sqrt(x) / 3.0 + x / 9.0) - save_s;
}

}  // namespace skerry
