#include "kernels/optimizer.hpp"

#include <cmath>
#include <limits>
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

std::vector<const float*> pointers_to(const Vectors& vectors, std::size_t size) {
  std::vector<const float*> pointers;
  for (const auto& v : vectors) {
    require_size("learner", v.size(), size);
    pointers.push_back(v.data());
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

double norm(std::span<const float> x) {
  return std::sqrt(ops().sum_of_squares(x.data(), count(x)));
}

double mean_cosine(const Vectors& vectors, std::span<float> scratch) {
  const auto pointers = pointers_to(vectors, scratch.size());
  std::vector<double> factors;
  double n = 0.0;
  for (const auto& v : vectors) {
    const double length = norm(v);
    factors.push_back(length == 0.0 ? 0.0 : 1.0 / length);
    if (length != 0.0) n += 1.0;
  }
  if (n < 2.0) return std::numeric_limits<double>::quiet_NaN();
  const double together =
      ops().combine(pointers.data(), factors.data(), static_cast<int>(factors.size()),
                    count(scratch), scratch.data());
  return (together - n) / (n * n - n);
}

void merge_mean(const Vectors& gradients, std::span<const double> weights,
                std::span<float> outer_gradient) {
  require_size("weights", weights.size(), gradients.size());
  const auto pointers = pointers_to(gradients, outer_gradient.size());
  const double total = total_of(weights);
  std::vector<double> factors;
  for (const double w : weights)
    factors.push_back(w / total);
  ops().combine(pointers.data(), factors.data(), static_cast<int>(factors.size()),
                count(outer_gradient), outer_gradient.data());
}

void merge_radial_directional(const Vectors& gradients, std::span<const double> weights,
                              std::span<float> outer_gradient) {
  require_size("weights", weights.size(), gradients.size());
  const auto pointers = pointers_to(gradients, outer_gradient.size());
  const double total = total_of(weights);
  const Ops& op = ops();
  std::vector<double> factors;
  double radius = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double length = norm(gradients[i]);
    const double share = weights[i] / total;
    radius += share * length;
    factors.push_back(length == 0.0 ? 0.0 : share / length);
  }
  const int learner_count = static_cast<int>(factors.size());
  const double length = std::sqrt(op.combine(pointers.data(), factors.data(), learner_count,
                                             count(outer_gradient), outer_gradient.data()));
  // Directions that cancel (or no movement at all) have no mean direction: no step.
  const double stretch = length == 0.0 ? 0.0 : radius / length;
  for (double& f : factors)
    f *= stretch;
  op.combine(pointers.data(), factors.data(), learner_count, count(outer_gradient),
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
