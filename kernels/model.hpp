// The trained model: a decoder-only transformer, all parameters in one flat array of floats.
//
// Pre-norm LayerNorm (eps 1e-5), causal multi-head attention, GELU (tanh form), tied embedding,
// learned positions. Knows nothing of simulated time, scenarios or files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skerry::kernels {

struct ModelShape {
  int L = 2;    // layers
  int C = 32;   // width
  int H = 1;    // heads; C % H == 0
  int T = 32;   // context
  int V = 256;  // vocabulary
  int B = 8;    // windows a step
};

struct TensorInfo {
  std::string name;        // "wte", "wpe", "h0.ln1.w", "h0.attn.qkv.w", …
  std::size_t offset = 0;  // into the flat array
  std::size_t size = 0;
  bool embedding = false;  // wte and wpe
};

std::vector<TensorInfo> tensors(const ModelShape& shape);
std::size_t parameter_count(const ModelShape& shape);

// Weights N(0, 0.02) (residual projections / √(2L)), norms 1, biases 0; counter-based in (seed,
// tensor, i).
void initialise(const ModelShape& shape, std::uint64_t seed, std::span<float> parameters);

// Activations of one forward and backward pass; one per worker thread, reused for any learner.
class Workspace {
 public:
  explicit Workspace(const ModelShape& shape);
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// inputs, targets: B·T token ids, row b is one window; target −1 = masked out. Writes (not adds)
// the gradient of the mean loss over unmasked targets into `gradient` and returns that mean loss in
// nats. With no unmasked target: loss 0, gradient 0. Serial; thread-safe across workspaces.
float forward_backward(const ModelShape& shape, std::span<const float> parameters,
                       std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets,
                       std::span<float> gradient, Workspace& workspace);

// Sum of the loss over unmasked targets, in nats (no gradient).
double forward_loss_sum(const ModelShape& shape, std::span<const float> parameters,
                        std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets,
                        Workspace& workspace);

}  // namespace skerry::kernels
