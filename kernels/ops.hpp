// The whole vocabulary of the model: each op's forward beside its backward.
//
// Words: B windows, T positions, C width, H heads, V words, L layers; a row is one position of one
// window (R rows = windows · T). Arrays are row-major floats; "rows × n" is dense unless a step
// between rows is given. Weights are [out × in]. Pointers never alias unless said. A backward op
// *adds* to gradients of parameters (row after row, so that splitting the rows over calls changes
// no bit) and *writes* gradients of activations unless said. Every sum has one order, the same in
// every build of the kernels:
//   product   one chain of fma in k order for each output
//   over rows one chain in row order for each column
//   in a row  16 lanes (element j in lane j mod 16), then 16 → 8 → 4 → 2 → 1
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.hpp"
#include "kernels/optimizer.hpp"

namespace skerry::kernels {

using Index = std::ptrdiff_t;

// c[i,j] = start + Σ_k a(i,k) · b(k,j) for i < m, j < n, k in order; start = c[i,j] when
// `accumulate`, else 0, plus bias[j] when there is one; last of all c[i,j] *= factor[i,j] when
// there is one. Columns of b come in panels of 32: row k of panel p starts at b + p·b_panel +
// k·b_row (a plain row-major matrix has b_panel 32).
struct Product {
  int m = 0, n = 0, k = 0;
  const float* a = nullptr;
  Index a_row = 0, a_col = 0;  // a(i,k) = a[i·a_row + k·a_col]; one of the two is 1
  const float* b = nullptr;
  Index b_row = 0, b_panel = 32;
  float* c = nullptr;
  Index c_row = 0;
  const float* bias = nullptr;
  const float* factor = nullptr;  // rows c_row apart
  bool accumulate = false;
};

// Causal multi-head attention of one window; head h owns columns [h·hs, (h+1)·hs), hs = C/H.
struct Attention {
  int T = 0, C = 0, H = 0;
  const float* qkv = nullptr;  // T × 3C: queries, keys, values
  // H × T × padded(T): head, key, query (so that a lane is a query); softmax(q·k/√hs), 0 where the
  // key comes after the query. Forward writes, but not where query < the key's block of 16.
  float* weights = nullptr;
  float* out = nullptr;          // T × C; forward writes
  const float* d_out = nullptr;  // T × C
  float* d_qkv = nullptr;        // T × 3C; backward writes
  float* scratch = nullptr;      // attention_scratch(T, hs) floats; nothing is kept in it
};

constexpr Index padded(Index n) {
  return (n + 15) / 16 * 16;
}
constexpr Index panels(Index n) {
  return (n + 31) / 32;
}
constexpr Index attention_scratch(Index T, Index hs) {
  return (T + hs) * padded(T);
}

struct Ops {
  // Linear, y = x Wᵀ + bias with x [R × in], W [out × in], y [R × out], is three products: y of x
  // and Wᵀ; backward dx = dy W of dy and W; dW = dyᵀ x of dyᵀ (a_row 1, a_col out) and x.
  void (*product)(const Product& p);
  // W [n × k], rows `row` apart, into panels for `product`: of Wᵀ (k rows, n columns:
  // panels(n)·32·k floats), of W itself (n rows, k columns: panels(k)·32·n). Columns that fill up
  // the last panel are not written, nor read.
  void (*pack_transposed)(const float* w, int n, int k, Index row, float* panel);
  void (*pack)(const float* w, int n, int k, Index row, float* panel);
  // sum[j] += Σ_rows x[row,j], x [rows × n]: gradient of a bias.
  void (*add_rows)(const float* x, int rows, int n, float* sum);

  // Words and learned positions (Radford et al. 2019): x[row] = wte[token] + wpe[row mod T], x
  // [rows × C], wte [V × C] (also the last linear's W: Press, Wolf 2017), wpe [T × C]. Backward
  // adds dx[row] to both.
  void (*embed)(const std::int32_t* tokens, int rows, int T, int C, const float* wte,
                const float* wpe, float* x);
  void (*embed_backward)(const std::int32_t* tokens, int rows, int T, int C, const float* dx,
                         float* d_wte, float* d_wpe);

  // LayerNorm (Ba, Kiros, Hinton 2016) of each row: rstd = 1/√(variance + 1e-5), normal =
  // (x − mean)·rstd, y = normal·w + b; x, normal, y [rows × C], rstd [rows], w, b [C]. Backward
  // *adds* to dx: rstd·(g − mean(g) − normal·mean(g·normal)), g = dy·w; d_w += Σ_rows dy·normal,
  // d_b += Σ_rows dy.
  void (*layer_norm)(const float* x, int rows, int C, const float* w, const float* b, float* normal,
                     float* rstd, float* y);
  void (*layer_norm_backward)(const float* dy, int rows, int C, const float* w, const float* normal,
                              const float* rstd, float* dx, float* d_w, float* d_b);

  // Vaswani et al. 2017, eq. 1, keys j ≤ i only: S = Q Kᵀ/√hs, P = softmax(S), O = P V. Backward,
  // from P: dV = Pᵀ dO; dP = dO Vᵀ; dS = P·(dP − Σ_keys P·dP)/√hs; dQ = dS K; dK = dSᵀ Q. Blocks
  // of keys that are wholly masked are not computed.
  void (*attention)(const Attention& a);
  void (*attention_backward)(const Attention& a);

  // GELU, tanh form (Hendrycks, Gimpel 2016): y = x·σ(u), u = 2·√(2/π)·(x + 0.044715x³). Forward
  // leaves dy/dx = σ + x·σ·(1 − σ)·u' in `x`; backward is that as `factor` of the product that
  // makes dy. x, y: n numbers of any shape.
  void (*gelu)(float* x, Index n, float* y);

  // Cross-entropy of softmax(logits), logits [rows × V] with rows `row` floats apart, against
  // targets [rows] (−1: no loss, no gradient): losses[i] = log Σ exp(logit) − logit[target] in
  // nats. Backward is fused: with scale ≠ 0 the logits become (softmax − one-hot)·scale.
  void (*cross_entropy)(float* logits, Index row, const std::int32_t* targets, int rows, int V,
                        float scale, float* losses);

  // The bodies of optimizer.hpp, where their equations stand; n elements each. Sums of squares run
  // in 16 lanes of double. multiply: x ·= factor.
  double (*sum_of_squares)(const float* x, Index n);
  void (*multiply)(float factor, float* x, Index n);
  // correction1 = 1 − β1^step, correction2 = 1 − β2^step.
  void (*adamw)(const AdamW& config, float rate, double correction1, double correction2,
                const float* gradient, Index n, float* parameters, float* moment1, float* moment2);
  void (*add_scaled)(float weight, const float* x, Index n, float* sum);  // sum += weight·x
  // out = Σ_i factors[i]·vectors[i], in double; returns Σ out² before rounding to float.
  double (*combine)(const float* const* vectors, const double* factors, int count, Index n,
                    float* out);
  void (*nesterov)(float rate, float mu, const float* outer_gradient, Index n, float* parameters,
                   float* momentum);
};

const Ops& ops(Isa isa);  // requires supported(isa)
const Ops& ops();         // of current_isa()

}  // namespace skerry::kernels
