// What changes parameters: AdamW on a learner, merging and the Nesterov outer step on the syncer.
// Every sum has a fixed order: the same bits for any vector width and any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace skerry::kernels {

struct AdamW {
  float beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, weight_decay = 0.1f;
};

// Scales `gradient` so that its 2-norm is at most max_norm; returns the norm before.
double clip_by_norm(std::span<float> gradient, double max_norm);

// One AdamW step (Loshchilov, Hutter 2019, algorithm 2, rate times decay as in PyTorch), `step` n
// counts from 1; decay on all tensors: m = β1·m + (1 − β1)·g; v = β2·v + (1 − β2)·g²;
// θ = θ·(1 − rate·decay) − rate·(m / (1 − β1ⁿ)) / (√(v / (1 − β2ⁿ)) + ε).
void adamw_step(const AdamW& config, float rate, std::int64_t step, std::span<const float> gradient,
                std::span<float> parameters, std::span<float> moment1, std::span<float> moment2);

// accumulator += weight × x, elementwise, one fma each.
void add_scaled(std::span<float> accumulator, float weight, std::span<const float> x);

// Outer gradient of one tensor: weighted mean of (anchor − learners[i]), Σ w_i v_i / Σ w_i, in
// order of i.
void merge_mean(std::span<const float> anchor, const std::vector<std::span<const float>>& learners,
                std::span<const double> weights, std::span<float> outer_gradient);

// Radial-directional averaging of one tensor (arXiv 2604.21428): (Σ w_i‖v_i‖ / Σ w_i) · φ(Σ w_i
// φ(v_i) / Σ w_i) with v_i = anchor − learners[i], φ(x) = x/‖x‖; zero vectors contribute nothing.
void merge_radial_directional(std::span<const float> anchor,
                              const std::vector<std::span<const float>>& learners,
                              std::span<const double> weights, std::span<float> outer_gradient);

// Nesterov SGD (Sutskever form as in PyTorch): momentum = μ·momentum + g; θ −= rate·(g +
// μ·momentum). With rate 1, μ 0 and one learner: θ = that learner's parameters, to 1 ulp of anchor
// − (anchor − θ).
void nesterov_step(float rate, float mu, std::span<const float> outer_gradient,
                   std::span<float> parameters, std::span<float> momentum);

}  // namespace skerry::kernels
