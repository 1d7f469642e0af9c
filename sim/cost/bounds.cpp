#include "sim/cost/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace skerry {

double shortest_period_s(double step_s, int period_steps, int overlap_steps, bool one_at_a_time,
                         const std::vector<double>& turns_s, const std::vector<double>& delays_s,
                         double wire_s) {
  const double compute_s = period_steps * step_s;
  const double busy_s = std::accumulate(turns_s.begin(), turns_s.end(), 0.0);
  const double late_s = std::accumulate(delays_s.begin(), delays_s.end(), 0.0);
  const double latest_s = *std::max_element(delays_s.begin(), delays_s.end());
  const bool apart = overlap_steps * std::ssize(turns_s) <= period_steps;
  return std::max(one_at_a_time ? std::max(busy_s, wire_s) : wire_s,
                  compute_s + (apart ? late_s : latest_s));
}

double recovery_steps(double copy_steps, double load) {
  if (copy_steps <= 0.0) return 0.0;
  return load < 1.0 ? 3.0 * copy_steps / (1.0 - load) : kNever;
}

double decoupled_downtime_steps(double copy_steps, int period_steps) {
  return std::max(0.0, 4.0 * copy_steps - period_steps);
}

double elastic_downtime_steps(double copy_steps) {
  return 3.0 * copy_steps;
}

double checkpoint_waste(double period_s, double save_s, double mtbf_s) {
  return save_s / period_s + period_s / (2.0 * mtbf_s);
}

double stop_restart_efficiency(double mtbf_s, double period_s, double save_s, double restart_s) {
  SKERRY_CHECK(mtbf_s > 0.0 && period_s > 0.0,
               "mtbf " + std::to_string(mtbf_s) + " s, period " + std::to_string(period_s) + " s");
  return period_s /
         (mtbf_s * std::exp(restart_s / mtbf_s) * std::expm1((period_s + save_s) / mtbf_s));
}

double date_of_tokens(const std::vector<Phase>& phases, double tokens) {
  double left = tokens;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    const double until_s = i + 1 < phases.size() ? phases[i + 1].from_s : kNever;
    if (phase.tokens_per_s <= 0.0) continue;
    const double needed_s = left / phase.tokens_per_s;
    if (phase.from_s + needed_s <= until_s) return phase.from_s + needed_s;
    left -= phase.tokens_per_s * (until_s - phase.from_s);
  }
  return kNever;
}

double tokens_by(const std::vector<Phase>& phases, double date_s) {
  double tokens = 0.0;
  for (std::size_t i = 0; i < phases.size() && phases[i].from_s < date_s; ++i) {
    const double until_s = i + 1 < phases.size() ? std::min(phases[i + 1].from_s, date_s) : date_s;
    tokens += phases[i].tokens_per_s * (until_s - phases[i].from_s);
  }
  return tokens;
}

}  // namespace skerry
