#include "kernels/optimizer.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/ops.hpp"
#include "kernels/scalar.hpp"
#include "kernels/shape.hpp"

namespace skerry::kernels {

namespace {

Index count(std::span<const float> x) {
  return static_cast<Index>(x.size());
}

std::vector<const float*> checked_learners(std::span<const float> anchor,
                                           const std::vector<std::span<const float>>& learners,
                                           std::span<const double> weights,
                                           std::span<float> outer_gradient) {
  require_size("outer gradient", outer_gradient.size(), anchor.size());
  require_size("weights", weights.size(), learners.size());
  std::vector<const float*> pointers;
  for (const auto& l : learners) {
    require_size("learner", l.size(), anchor.size());
    pointers.push_back(l.data());
  }
  return pointers;
}

double total_of(std::span<const double> weights) {
  double total = 0.0;
  for (const double w : weights) {
    if (!(w >= 0.0)) {
      throw std::invalid_argument("kernels: merge weight " + std::to_string(w) +
                                  ", must be at least 0");
    }
    total += w;
  }
  if (!(total > 0.0) || !std::isfinite(total)) {
    throw std::invalid_argument("kernels: merge weights add up to " + std::to_string(total) +
                                ", must be positive");
  }
  return total;
}

}  // namespace

double clip_by_norm(std::span<float> gradient, double max_norm) {
  if (!(max_norm > 0.0)) {
    throw std::invalid_argument("kernels: max_norm " + std::to_string(max_norm) +
                                ", must be positive");
  }
  const Ops& op = ops();
  const double norm = std::sqrt(op.sum_of_squares(gradient.data(), count(gradient)));
  if (norm > max_norm) {
    op.multiply(static_cast<float>(max_norm / norm), gradient.data(), count(gradient));
  }
  return norm;
}

void adamw_step(const AdamW& config, float rate, std::int64_t step, std::span<const float> gradient,
                std::span<float> parameters, std::span<float> moment1, std::span<float> moment2) {
  require_size("gradient", gradient.size(), parameters.size());
  require_size("moment1", moment1.size(), parameters.size());
  require_size("moment2", moment2.size(), parameters.size());
  if (step < 1) {
    throw std::invalid_argument("kernels: AdamW step " + std::to_string(step) + ", counts from 1");
  }
  ops().adamw(config, rate, 1.0 - power(static_cast<double>(config.beta1), step),
              1.0 - power(static_cast<double>(config.beta2), step), gradient.data(),
              count(gradient), parameters.data(), moment1.data(), moment2.data());
}

void add_scaled(std::span<float> accumulator, float weight, std::span<const float> x) {
  require_size("accumulator", accumulator.size(), x.size());
  ops().add_scaled(weight, x.data(), count(x), accumulator.data());
}

void merge_mean(std::span<const float> anchor, const std::vector<std::span<const float>>& learners,
                std::span<const double> weights, std::span<float> outer_gradient) {
  const auto pointers = checked_learners(anchor, learners, weights, outer_gradient);
  const double total = total_of(weights);
  std::vector<double> factors;
  for (const double w : weights)
    factors.push_back(w / total);
  ops().combine(anchor.data(), pointers.data(), factors.data(), static_cast<int>(factors.size()),
                count(anchor), outer_gradient.data());
}

void merge_radial_directional(std::span<const float> anchor,
                              const std::vector<std::span<const float>>& learners,
                              std::span<const double> weights, std::span<float> outer_gradient) {
  const auto pointers = checked_learners(anchor, learners, weights, outer_gradient);
  const double total = total_of(weights);
  const Ops& op = ops();
  std::vector<double> factors;
  double radius = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double norm = std::sqrt(op.distance_squared(anchor.data(), pointers[i], count(anchor)));
    const double share = weights[i] / total;
    radius += share * norm;
    factors.push_back(norm > 0.0 ? share / norm : 0.0);
  }
  const int learner_count = static_cast<int>(factors.size());
  const double length = std::sqrt(op.combine(anchor.data(), pointers.data(), factors.data(),
                                             learner_count, count(anchor), outer_gradient.data()));
  // Directions that cancel (or no movement at all) have no mean direction: no step.
  const double stretch = length > 0.0 ? radius / length : 0.0;
  for (double& f : factors)
    f *= stretch;
  op.combine(anchor.data(), pointers.data(), factors.data(), learner_count, count(anchor),
             outer_gradient.data());
}

void nesterov_step(float rate, float mu, std::span<const float> outer_gradient,
                   std::span<float> parameters, std::span<float> momentum) {
  require_size("outer gradient", outer_gradient.size(), parameters.size());
  require_size("momentum", momentum.size(), parameters.size());
  ops().nesterov(rate, mu, outer_gradient.data(), count(outer_gradient), parameters.data(),
                 momentum.data());
}

}  // namespace skerry::kernels
