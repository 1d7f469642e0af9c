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

using Vectors = std::vector<std::span<const float>>;  // of one length

double norm(std::span<const float> x);

// Mean cosine of the angle over all pairs of vectors that are not zero, not-a-number with fewer
// than two of them: (‖Σ v_i/‖v_i‖‖² − n) / (n² − n). `scratch` has their length.
double mean_cosine(const Vectors& vectors, std::span<float> scratch);

// Outer gradient of one tensor from those of the learners, v_i: their weighted mean, Σ w_i v_i /
// Σ w_i, summed in double in order of i. Not finite where one of them is not.
void merge_mean(const Vectors& gradients, std::span<const double> weights,
                std::span<float> outer_gradient);

// Radial-directional averaging of one tensor (arXiv 2604.21428): (Σ w_i‖v_i‖ / Σ w_i) · φ(Σ w_i
// φ(v_i) / Σ w_i) with φ(x) = x/‖x‖; zero vectors contribute nothing. Not finite when one of them
// is not.
void merge_radial_directional(const Vectors& gradients, std::span<const double> weights,
                              std::span<float> outer_gradient);

// Nesterov SGD (Sutskever form as in PyTorch): momentum = μ·momentum + g; θ −= rate·(g +
// μ·momentum).
void nesterov_step(float rate, float mu, std::span<const float> outer_gradient,
                   std::span<float> parameters, std::span<float> momentum);

}  // namespace skerry::kernels
