// Forward and backward through the whole model, window groups at a time: a group's activations stay
// in the second-level cache, and since every gradient is one chain over rows, grouping changes no
// bit.
#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "kernels/model.hpp"
#include "kernels/ops.hpp"
#include "kernels/shape.hpp"

namespace skerry::kernels {

namespace {

constexpr int kGroupRows = 256;  // aimed at
constexpr int kHeadRows = 128;   // of logits at a time

// Order of the tensors of one layer, as tensors() lists them after wte and wpe.
enum LayerTensor {
  kLn1W,
  kLn1B,
  kQkvW,
  kQkvB,
  kProjW,
  kProjB,
  kLn2W,
  kLn2B,
  kFcW,
  kFcB,
  kDownW,
  kDownB
};
constexpr int kLayerTensors = 12;

struct Free {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Floats = std::unique_ptr<float[], Free>;

// A weight matrix [out × in] in the two arrangements that its products read.
struct Packed {
  float* transposed = nullptr;  // for y = x Wᵀ
  float* plain = nullptr;       // for dx = dy W; unused when `in` fits one panel
};

struct LayerState {
  float *normal1, *rstd1, *ln1, *qkv, *weights, *attended, *normal2, *rstd2, *ln2, *slope, *gelu;
  Packed qkv_w, proj_w, fc_w, down_w;
};

}  // namespace

struct Workspace::State {
  ModelShape shape;
  int group = 1;  // windows
  std::vector<Index> offsets;
  std::vector<std::pair<Index, Index>>
      small;  // tensors but the matrices, which their products overwrite
  Floats memory;
  std::vector<LayerState> layers;
  Packed wte;
  float *x, *normal, *rstd, *last, *logits, *losses;
  float *dx, *d_row, *d_wide, *d_qkv, *panel, *scratch;

  explicit State(const ModelShape& s);
  Index offset(int layer, LayerTensor t) const {
    return offsets[static_cast<std::size_t>(2 + layer * kLayerTensors + t)];
  }
  Index final_norm() const { return offsets[offsets.size() - 2]; }

 private:
  template <class Take>
  void place(Take take);
};

template <class Take>
void Workspace::State::place(Take take) {
  const Index C = shape.C, R = Index{group} * shape.T, V = shape.V;
  const auto packed = [&](Index out, Index in) {
    return Packed{take(panels(out) * 32 * in), in > 32 ? take(panels(in) * 32 * out) : nullptr};
  };
  for (LayerState& s : layers) {
    s.normal1 = take(R * C), s.rstd1 = take(R), s.ln1 = take(R * C), s.qkv = take(R * 3 * C);
    s.weights = take(R * shape.H * padded(shape.T)), s.attended = take(R * C);
    s.normal2 = take(R * C), s.rstd2 = take(R), s.ln2 = take(R * C);
    s.slope = take(R * 4 * C), s.gelu = take(R * 4 * C);
    s.qkv_w = packed(3 * C, C), s.proj_w = packed(C, C);
    s.fc_w = packed(4 * C, C), s.down_w = packed(C, 4 * C);
  }
  wte = packed(V, C);
  x = take(R * C), normal = take(R * C), rstd = take(R), last = take(R * C);
  logits = take(std::min<Index>(R, kHeadRows) * padded(V)), losses = take(R);
  dx = take(R * C), d_row = take(R * C), d_wide = take(R * 4 * C), d_qkv = take(R * 3 * C);
  panel = take(R * panels(4 * C) * 32);
  scratch = take(attention_scratch(shape.T, C / shape.H));
}

Workspace::State::State(const ModelShape& s) : shape(s) {
  for (const TensorInfo& t : tensors(s)) {
    offsets.push_back(static_cast<Index>(t.offset));
    const bool vector = t.name.ends_with(".b") || t.name == "wpe" || t.name == "lnf.w" ||
                        t.name.ends_with("ln1.w") || t.name.ends_with("ln2.w");
    if (vector) small.emplace_back(offsets.back(), static_cast<Index>(t.size));
  }
  group = std::clamp(kGroupRows / s.T, 1, s.B);
  layers.resize(static_cast<std::size_t>(s.L));
  std::size_t total = 0;
  place([&](Index n) -> float* {
    total += static_cast<std::size_t>(padded(n));
    return nullptr;
  });
  memory = Floats(new (std::align_val_t{64}) float[total]());
  float* next = memory.get();
  place([&](Index n) {
    float* at = next;
    next += padded(n);
    return at;
  });
}

Workspace::Workspace(const ModelShape& shape) : state_(std::make_unique<State>(shape)) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

namespace {

// One call of forward_backward or forward_loss_sum.
class Pass {
 public:
  Pass(Workspace::State& s, const float* parameters, float* gradient)
      : s_(s), op_(ops()), p_(parameters), g_(gradient), C_(s.shape.C) {}

  void pack_weights();
  // Windows' inputs and targets; returns the loss summed over unmasked targets, in order.
  double run(int windows, const std::int32_t* inputs, const std::int32_t* targets, float scale);

 private:
  void forward(const std::int32_t* inputs);
  double head(const std::int32_t* targets, float scale);
  void backward(const std::int32_t* inputs);
  void mlp_backward(int layer);
  void attention_backward(int layer);
  Attention window(const LayerState& layer, int b) const;
  const float* at(int layer, LayerTensor t) const { return p_ + s_.offset(layer, t); }
  float* d_at(int layer, LayerTensor t) { return g_ + s_.offset(layer, t); }

  void pack(const float* w, int out, int in, const Packed& to);
  void linear(const float* x, int in, const Packed& w, const float* bias, int out, float* y,
              bool add);
  void input_gradient(const float* dy, Index dy_row, int rows, int out, const float* w,
                      const Packed& packed, int in, const float* factor, float* dx);
  void weight_gradient(const float* dy, Index dy_row, int rows, int out, const float* x, int in,
                       bool first, float* d_w);

  Workspace::State& s_;
  const Ops& op_;
  const float* p_;
  float* g_;
  int C_;
  int rows_ = 0;
  bool first_ = true;  // group: its products overwrite the matrices' gradients
};

void Pass::pack(const float* w, int out, int in, const Packed& to) {
  op_.pack_transposed(w, out, in, in, to.transposed);
  if (g_ && to.plain) op_.pack(w, out, in, in, to.plain);
}

void Pass::pack_weights() {
  pack(p_, s_.shape.V, C_, s_.wte);
  for (int l = 0; l < s_.shape.L; ++l) {
    const LayerState& layer = s_.layers[static_cast<std::size_t>(l)];
    pack(at(l, kQkvW), 3 * C_, C_, layer.qkv_w);
    pack(at(l, kProjW), C_, C_, layer.proj_w);
    pack(at(l, kFcW), 4 * C_, C_, layer.fc_w);
    pack(at(l, kDownW), C_, 4 * C_, layer.down_w);
  }
}

void Pass::linear(const float* x, int in, const Packed& w, const float* bias, int out, float* y,
                  bool add) {
  Product p;
  p.m = rows_, p.n = out, p.k = in;
  p.a = x, p.a_row = in, p.a_col = 1;
  p.b = w.transposed, p.b_row = 32, p.b_panel = Index{32} * in;
  p.c = y, p.c_row = out;
  p.bias = bias, p.accumulate = add;
  op_.product(p);
}

void Pass::input_gradient(const float* dy, Index dy_row, int rows, int out, const float* w,
                          const Packed& packed, int in, const float* factor, float* dx) {
  Product p;
  p.m = rows, p.n = in, p.k = out;
  p.a = dy, p.a_row = dy_row, p.a_col = 1;
  p.b = packed.plain ? packed.plain : w;
  p.b_row = packed.plain ? 32 : in, p.b_panel = Index{32} * out;
  p.c = dx, p.c_row = in;
  p.factor = factor;
  op_.product(p);
}

void Pass::weight_gradient(const float* dy, Index dy_row, int rows, int out, const float* x, int in,
                           bool first, float* d_w) {
  Product p;
  p.m = out, p.n = in, p.k = rows;
  p.a = dy, p.a_row = 1, p.a_col = dy_row;
  p.b = x, p.b_row = in;
  if (in > 32) {
    op_.pack(x, rows, in, in, s_.panel);
    p.b = s_.panel, p.b_row = 32, p.b_panel = Index{32} * rows;
  }
  p.c = d_w, p.c_row = in;
  p.accumulate = !first;
  op_.product(p);
}

Attention Pass::window(const LayerState& layer, int b) const {
  const Index T = s_.shape.T, C = C_;
  Attention a;
  a.T = s_.shape.T, a.C = C_, a.H = s_.shape.H;
  a.qkv = layer.qkv + b * T * 3 * C;
  a.weights = layer.weights + b * a.H * T * padded(T);
  a.out = layer.attended + b * T * C;
  a.d_out = s_.d_row + b * T * C;
  a.d_qkv = s_.d_qkv + b * T * 3 * C;
  a.scratch = s_.scratch;
  return a;
}

void Pass::forward(const std::int32_t* inputs) {
  op_.embed(inputs, rows_, s_.shape.T, C_, p_, p_ + s_.offsets[1], s_.x);
  for (int l = 0; l < s_.shape.L; ++l) {
    LayerState& layer = s_.layers[static_cast<std::size_t>(l)];
    op_.layer_norm(s_.x, rows_, C_, at(l, kLn1W), at(l, kLn1B), layer.normal1, layer.rstd1,
                   layer.ln1);
    linear(layer.ln1, C_, layer.qkv_w, at(l, kQkvB), 3 * C_, layer.qkv, false);
    for (int b = 0; b < rows_ / s_.shape.T; ++b)
      op_.attention(window(layer, b));
    linear(layer.attended, C_, layer.proj_w, at(l, kProjB), C_, s_.x, true);
    op_.layer_norm(s_.x, rows_, C_, at(l, kLn2W), at(l, kLn2B), layer.normal2, layer.rstd2,
                   layer.ln2);
    linear(layer.ln2, C_, layer.fc_w, at(l, kFcB), 4 * C_, layer.slope, false);
    op_.gelu(layer.slope, Index{rows_} * 4 * C_, layer.gelu);
    linear(layer.gelu, 4 * C_, layer.down_w, at(l, kDownB), C_, s_.x, true);
  }
  const float* w = p_ + s_.final_norm();
  op_.layer_norm(s_.x, rows_, C_, w, w + C_, s_.normal, s_.rstd, s_.last);
}

// Logits of a few rows at a time; their gradient goes on to d_row and to the embedding at once.
double Pass::head(const std::int32_t* targets, float scale) {
  const int V = s_.shape.V;
  const Index wide = padded(V);
  double total = 0.0;
  for (int r = 0; r < rows_; r += kHeadRows) {
    const int rows = std::min(kHeadRows, rows_ - r);
    const float* x = s_.last + Index{r} * C_;
    Product p;
    p.m = rows, p.n = V, p.k = C_;
    p.a = x, p.a_row = C_, p.a_col = 1;
    p.b = s_.wte.transposed, p.b_row = 32, p.b_panel = Index{32} * C_;
    p.c = s_.logits, p.c_row = wide;
    op_.product(p);
    op_.cross_entropy(s_.logits, wide, targets + r, rows, V, scale, s_.losses);
    for (int i = 0; i < rows; ++i)
      total += static_cast<double>(s_.losses[i]);
    if (!g_) continue;
    input_gradient(s_.logits, wide, rows, V, p_, s_.wte, C_, nullptr, s_.d_row + Index{r} * C_);
    weight_gradient(s_.logits, wide, rows, V, x, C_, first_ && r == 0, g_);
  }
  return total;
}

void Pass::mlp_backward(int l) {
  const LayerState& layer = s_.layers[static_cast<std::size_t>(l)];
  weight_gradient(s_.dx, C_, rows_, C_, layer.gelu, 4 * C_, first_, d_at(l, kDownW));
  op_.add_rows(s_.dx, rows_, C_, d_at(l, kDownB));
  input_gradient(s_.dx, C_, rows_, C_, at(l, kDownW), layer.down_w, 4 * C_, layer.slope, s_.d_wide);
  weight_gradient(s_.d_wide, 4 * C_, rows_, 4 * C_, layer.ln2, C_, first_, d_at(l, kFcW));
  op_.add_rows(s_.d_wide, rows_, 4 * C_, d_at(l, kFcB));
  input_gradient(s_.d_wide, 4 * C_, rows_, 4 * C_, at(l, kFcW), layer.fc_w, C_, nullptr, s_.d_row);
  op_.layer_norm_backward(s_.d_row, rows_, C_, at(l, kLn2W), layer.normal2, layer.rstd2, s_.dx,
                          d_at(l, kLn2W), d_at(l, kLn2B));
}

void Pass::attention_backward(int l) {
  const LayerState& layer = s_.layers[static_cast<std::size_t>(l)];
  weight_gradient(s_.dx, C_, rows_, C_, layer.attended, C_, first_, d_at(l, kProjW));
  op_.add_rows(s_.dx, rows_, C_, d_at(l, kProjB));
  input_gradient(s_.dx, C_, rows_, C_, at(l, kProjW), layer.proj_w, C_, nullptr, s_.d_row);
  for (int b = 0; b < rows_ / s_.shape.T; ++b)
    op_.attention_backward(window(layer, b));
  weight_gradient(s_.d_qkv, 3 * C_, rows_, 3 * C_, layer.ln1, C_, first_, d_at(l, kQkvW));
  op_.add_rows(s_.d_qkv, rows_, 3 * C_, d_at(l, kQkvB));
  input_gradient(s_.d_qkv, 3 * C_, rows_, 3 * C_, at(l, kQkvW), layer.qkv_w, C_, nullptr, s_.d_row);
  op_.layer_norm_backward(s_.d_row, rows_, C_, at(l, kLn1W), layer.normal1, layer.rstd1, s_.dx,
                          d_at(l, kLn1W), d_at(l, kLn1B));
}

void Pass::backward(const std::int32_t* inputs) {
  std::fill_n(s_.dx, Index{rows_} * C_, 0.0f);
  const Index w = s_.final_norm();
  op_.layer_norm_backward(s_.d_row, rows_, C_, p_ + w, s_.normal, s_.rstd, s_.dx, g_ + w,
                          g_ + w + C_);
  for (int l = s_.shape.L - 1; l >= 0; --l) {
    mlp_backward(l);
    attention_backward(l);
  }
  op_.embed_backward(inputs, rows_, s_.shape.T, C_, s_.dx, g_, g_ + s_.offsets[1]);
}

double Pass::run(int windows, const std::int32_t* inputs, const std::int32_t* targets,
                 float scale) {
  double total = 0.0;
  for (int b = 0; b < windows; b += s_.group) {
    rows_ = std::min(s_.group, windows - b) * s_.shape.T;
    const Index from = Index{b} * s_.shape.T;
    forward(inputs + from);
    total += head(targets + from, scale);
    if (g_) backward(inputs + from);
    first_ = false;
  }
  return total;
}

struct Tokens {
  int windows = 0;  // up to the last one that has a target
  int targets = 0;  // unmasked
};

Tokens checked(const ModelShape& shape, std::span<const float> parameters,
               std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets,
               const ModelShape& made_for) {
  const bool same = shape.L == made_for.L && shape.C == made_for.C && shape.H == made_for.H &&
                    shape.T == made_for.T && shape.V == made_for.V && shape.B == made_for.B;
  if (!same) throw std::invalid_argument("kernels: the workspace was made for another model shape");
  const auto rows = static_cast<std::size_t>(shape.B) * static_cast<std::size_t>(shape.T);
  require_size("parameters", parameters.size(), parameter_count(shape));
  require_size("inputs", inputs.size(), rows);
  require_size("targets", targets.size(), rows);
  const auto refuse = [&](const char* what, std::size_t i, std::int32_t token, const char* lowest) {
    throw std::invalid_argument(std::string("kernels: ") + what + " token " + std::to_string(i) +
                                " is " + std::to_string(token) + ", allowed " + lowest + " … " +
                                std::to_string(shape.V - 1));
  };
  Tokens found;
  for (std::size_t i = 0; i < rows; ++i) {
    if (inputs[i] < 0 || inputs[i] >= shape.V) refuse("input", i, inputs[i], "0");
    if (targets[i] < -1 || targets[i] >= shape.V) refuse("target", i, targets[i], "-1");
    if (targets[i] < 0) continue;
    found.targets += 1;
    found.windows = static_cast<int>(i / static_cast<std::size_t>(shape.T)) + 1;
  }
  return found;
}

}  // namespace

float forward_backward(const ModelShape& shape, std::span<const float> parameters,
                       std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets,
                       std::span<float> gradient, Workspace& workspace) {
  Workspace::State& state = workspace.state();
  const Tokens found = checked(shape, parameters, inputs, targets, state.shape);
  require_size("gradient", gradient.size(), parameters.size());
  if (found.targets == 0) {
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    return 0.0f;
  }
  for (const auto& [from, size] : state.small)
    std::fill_n(gradient.data() + from, size, 0.0f);
  Pass pass(state, parameters.data(), gradient.data());
  pass.pack_weights();
  const double total = pass.run(found.windows, inputs.data(), targets.data(),
                                1.0f / static_cast<float>(found.targets));
  return static_cast<float>(total / found.targets);
}

double forward_loss_sum(const ModelShape& shape, std::span<const float> parameters,
                        std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets,
                        Workspace& workspace) {
  Workspace::State& state = workspace.state();
  const Tokens found = checked(shape, parameters, inputs, targets, state.shape);
  if (found.targets == 0) return 0.0;
  Pass pass(state, parameters.data(), nullptr);
  pass.pack_weights();
  return pass.run(found.windows, inputs.data(), targets.data(), 0.0f);
}

}  // namespace skerry::kernels
