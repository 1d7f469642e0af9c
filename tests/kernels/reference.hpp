// The model of kernels/model.hpp once more, in double and in the plainest loops: what the kernels
// are checked against. Its own gradients are checked against central differences.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/model.hpp"

namespace reference {

using Doubles = std::vector<double>;
using skerry::kernels::ModelShape;

inline std::size_t z(int i) {
  return static_cast<std::size_t>(i);
}

// y[r,o] = b[o] + Σ_i x[r,i] w[o,i].
inline Doubles linear(const Doubles& x, const double* w, const double* b, int rows, int in,
                      int out) {
  Doubles y(z(rows) * z(out));
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) {
      double s = b ? b[o] : 0.0;
      for (int i = 0; i < in; ++i)
        s += x[z(r * in + i)] * w[o * in + i];
      y[z(r * out + o)] = s;
    }
  }
  return y;
}

inline Doubles linear_backward(const Doubles& dy, const Doubles& x, const double* w, int rows,
                               int in, int out, double* dw, double* db) {
  Doubles dx(z(rows) * z(in));
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) {
      const double d = dy[z(r * out + o)];
      if (db) db[o] += d;
      for (int i = 0; i < in; ++i) {
        dx[z(r * in + i)] += d * w[o * in + i];
        dw[o * in + i] += d * x[z(r * in + i)];
      }
    }
  }
  return dx;
}

inline Doubles layer_norm(const Doubles& x, const double* w, const double* b, int rows, int C) {
  Doubles y(x.size());
  for (int r = 0; r < rows; ++r) {
    const double* in = x.data() + r * C;
    double mean = 0.0, variance = 0.0;
    for (int j = 0; j < C; ++j)
      mean += in[j] / C;
    for (int j = 0; j < C; ++j)
      variance += (in[j] - mean) * (in[j] - mean) / C;
    for (int j = 0; j < C; ++j) {
      y[z(r * C + j)] = (in[j] - mean) / std::sqrt(variance + 1e-5) * w[j] + b[j];
    }
  }
  return y;
}

inline Doubles layer_norm_backward(const Doubles& dy, const Doubles& x, const double* w, int rows,
                                   int C, double* dw, double* db) {
  Doubles dx(x.size());
  for (int r = 0; r < rows; ++r) {
    const double* in = x.data() + r * C;
    const double* d = dy.data() + r * C;
    double mean = 0.0, variance = 0.0;
    for (int j = 0; j < C; ++j)
      mean += in[j] / C;
    for (int j = 0; j < C; ++j)
      variance += (in[j] - mean) * (in[j] - mean) / C;
    const double rstd = 1.0 / std::sqrt(variance + 1e-5);
    double g_mean = 0.0, g_along = 0.0;
    for (int j = 0; j < C; ++j) {
      const double n = (in[j] - mean) * rstd;
      dw[j] += d[j] * n;
      db[j] += d[j];
      g_mean += d[j] * w[j] / C;
      g_along += d[j] * w[j] * n / C;
    }
    for (int j = 0; j < C; ++j) {
      const double n = (in[j] - mean) * rstd;
      dx[z(r * C + j)] = rstd * (d[j] * w[j] - g_mean - n * g_along);
    }
  }
  return dx;
}

inline double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}

inline double gelu_slope(double x) {
  const double t = std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + t) +
         0.5 * x * (1.0 - t * t) * std::sqrt(2.0 / M_PI) * (1.0 + 3 * 0.044715 * x * x);
}

// Softmax weights of query i of one head, keys 0 … i.
inline Doubles attention_row(const double* qkv, int C, int hs, int head, int i) {
  Doubles p(z(i + 1));
  double top = -1e300, total = 0.0;
  for (int j = 0; j <= i; ++j) {
    double s = 0.0;
    for (int e = 0; e < hs; ++e) {
      s += qkv[i * 3 * C + head * hs + e] * qkv[j * 3 * C + C + head * hs + e];
    }
    p[z(j)] = s / std::sqrt(hs);
    top = std::max(top, p[z(j)]);
  }
  for (double& v : p)
    total += v = std::exp(v - top);
  for (double& v : p)
    v /= total;
  return p;
}

// One window.
inline void attention(const double* qkv, int T, int C, int H, double* out) {
  const int hs = C / H;
  for (int h = 0; h < H; ++h) {
    for (int i = 0; i < T; ++i) {
      const Doubles p = attention_row(qkv, C, hs, h, i);
      for (int e = 0; e < hs; ++e) {
        double s = 0.0;
        for (int j = 0; j <= i; ++j)
          s += p[z(j)] * qkv[j * 3 * C + 2 * C + h * hs + e];
        out[i * C + h * hs + e] = s;
      }
    }
  }
}

// d_qkv starts at 0.
inline void attention_backward(const double* qkv, const double* d_out, int T, int C, int H,
                               double* d_qkv) {
  const int hs = C / H;
  for (int h = 0; h < H; ++h) {
    for (int i = 0; i < T; ++i) {
      const Doubles p = attention_row(qkv, C, hs, h, i);
      Doubles dp(p.size());
      double mean = 0.0;
      for (int j = 0; j <= i; ++j) {
        for (int e = 0; e < hs; ++e) {
          const double d = d_out[i * C + h * hs + e];
          dp[z(j)] += d * qkv[j * 3 * C + 2 * C + h * hs + e];
          d_qkv[j * 3 * C + 2 * C + h * hs + e] += d * p[z(j)];
        }
        mean += p[z(j)] * dp[z(j)];
      }
      for (int j = 0; j <= i; ++j) {
        const double ds = p[z(j)] * (dp[z(j)] - mean) / std::sqrt(hs);
        for (int e = 0; e < hs; ++e) {
          d_qkv[i * 3 * C + h * hs + e] += ds * qkv[j * 3 * C + C + h * hs + e];
          d_qkv[j * 3 * C + C + h * hs + e] += ds * qkv[i * 3 * C + h * hs + e];
        }
      }
    }
  }
}

// Loss of one row; `logits` become (softmax − one-hot)·scale. Masked: 0 and 0.
inline double cross_entropy(double* logits, int V, std::int32_t target, double scale) {
  double top = -1e300, total = 0.0;
  for (int v = 0; v < V; ++v)
    top = std::max(top, logits[v]);
  for (int v = 0; v < V; ++v)
    total += std::exp(logits[v] - top);
  const double loss = target < 0 ? 0.0 : std::log(total) + top - logits[target];
  for (int v = 0; v < V; ++v) {
    const double p = std::exp(logits[v] - top) / total - (v == target ? 1.0 : 0.0);
    logits[v] = target < 0 ? 0.0 : p * scale;
  }
  return loss;
}

struct Result {
  double loss_sum = 0.0;
  int targets = 0;
  Doubles gradient;  // of the mean loss
};

class Model {
 public:
  explicit Model(const ModelShape& shape) : s_(shape) {
    for (const auto& t : skerry::kernels::tensors(shape))
      at_[t.name] = t.offset;
  }

  Result run(const Doubles& p, const std::vector<std::int32_t>& in,
             const std::vector<std::int32_t>& target) const;

 private:
  struct Layer {
    Doubles x1, ln1, qkv, att, x2, ln2, fc, act;
  };
  const double* w(const Doubles& p, int l, const char* name) const {
    return p.data() + offset(l, name);
  }
  std::size_t offset(int l, const char* name) const {
    return at_.at(std::string("h").append(std::to_string(l)).append(".").append(name));
  }
  Layer forward(const Doubles& p, int l, Doubles& x, int rows) const;
  void backward(const Doubles& p, int l, const Layer& a, Doubles& dx, int rows, Doubles& g) const;

  ModelShape s_;
  std::map<std::string, std::size_t> at_;
};

inline void add(Doubles& x, const Doubles& y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += y[i];
}

inline Model::Layer Model::forward(const Doubles& p, int l, Doubles& x, int rows) const {
  const int C = s_.C;
  Layer a;
  a.x1 = x;
  a.ln1 = layer_norm(x, w(p, l, "ln1.w"), w(p, l, "ln1.b"), rows, C);
  a.qkv = linear(a.ln1, w(p, l, "attn.qkv.w"), w(p, l, "attn.qkv.b"), rows, C, 3 * C);
  a.att.resize(x.size());
  for (int b = 0; b < s_.B; ++b) {
    attention(a.qkv.data() + b * s_.T * 3 * C, s_.T, C, s_.H, a.att.data() + b * s_.T * C);
  }
  add(x, linear(a.att, w(p, l, "attn.proj.w"), w(p, l, "attn.proj.b"), rows, C, C));
  a.x2 = x;
  a.ln2 = layer_norm(x, w(p, l, "ln2.w"), w(p, l, "ln2.b"), rows, C);
  a.fc = linear(a.ln2, w(p, l, "mlp.fc.w"), w(p, l, "mlp.fc.b"), rows, C, 4 * C);
  a.act = a.fc;
  for (double& v : a.act)
    v = gelu(v);
  add(x, linear(a.act, w(p, l, "mlp.proj.w"), w(p, l, "mlp.proj.b"), rows, 4 * C, C));
  return a;
}

inline void Model::backward(const Doubles& p, int l, const Layer& a, Doubles& dx, int rows,
                            Doubles& g) const {
  const int C = s_.C;
  const auto d = [&](const char* name) { return g.data() + offset(l, name); };
  Doubles d_fc = linear_backward(dx, a.act, w(p, l, "mlp.proj.w"), rows, 4 * C, C, d("mlp.proj.w"),
                                 d("mlp.proj.b"));
  for (std::size_t i = 0; i < d_fc.size(); ++i)
    d_fc[i] *= gelu_slope(a.fc[i]);
  const Doubles d_ln2 = linear_backward(d_fc, a.ln2, w(p, l, "mlp.fc.w"), rows, C, 4 * C,
                                        d("mlp.fc.w"), d("mlp.fc.b"));
  add(dx, layer_norm_backward(d_ln2, a.x2, w(p, l, "ln2.w"), rows, C, d("ln2.w"), d("ln2.b")));
  const Doubles d_att = linear_backward(dx, a.att, w(p, l, "attn.proj.w"), rows, C, C,
                                        d("attn.proj.w"), d("attn.proj.b"));
  Doubles d_qkv(a.qkv.size());
  for (int b = 0; b < s_.B; ++b) {
    const int from = b * s_.T;
    attention_backward(a.qkv.data() + from * 3 * C, d_att.data() + from * C, s_.T, C, s_.H,
                       d_qkv.data() + from * 3 * C);
  }
  const Doubles d_ln1 = linear_backward(d_qkv, a.ln1, w(p, l, "attn.qkv.w"), rows, C, 3 * C,
                                        d("attn.qkv.w"), d("attn.qkv.b"));
  add(dx, layer_norm_backward(d_ln1, a.x1, w(p, l, "ln1.w"), rows, C, d("ln1.w"), d("ln1.b")));
}

inline Result Model::run(const Doubles& p, const std::vector<std::int32_t>& in,
                         const std::vector<std::int32_t>& target) const {
  const int C = s_.C, rows = s_.B * s_.T;
  const double *wte = p.data(), *wpe = p.data() + at_.at("wpe");
  Doubles x(z(rows) * z(C));
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < C; ++j)
      x[z(r * C + j)] = wte[in[z(r)] * C + j] + wpe[r % s_.T * C + j];
  }
  std::vector<Layer> layers;
  for (int l = 0; l < s_.L; ++l)
    layers.push_back(forward(p, l, x, rows));
  const std::size_t fw = at_.at("lnf.w"), fb = at_.at("lnf.b");
  const Doubles last = layer_norm(x, p.data() + fw, p.data() + fb, rows, C);
  Doubles logits = linear(last, wte, nullptr, rows, C, s_.V);
  Result result;
  for (const auto t : target)
    result.targets += t >= 0 ? 1 : 0;
  const double scale = result.targets > 0 ? 1.0 / result.targets : 0.0;
  for (int r = 0; r < rows; ++r) {
    result.loss_sum += cross_entropy(logits.data() + r * s_.V, s_.V, target[z(r)], scale);
  }
  Doubles& g = result.gradient;
  g.assign(p.size(), 0.0);
  const Doubles d_last = linear_backward(logits, last, wte, rows, C, s_.V, g.data(), nullptr);
  Doubles dx = layer_norm_backward(d_last, x, p.data() + fw, rows, C, g.data() + fw, g.data() + fb);
  for (int l = s_.L - 1; l >= 0; --l)
    backward(p, l, layers[z(l)], dx, rows, g);
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < C; ++j) {
      g[z(in[z(r)] * C + j)] += dx[z(r * C + j)];
      g[at_.at("wpe") + z(r % s_.T * C + j)] += dx[z(r * C + j)];
    }
  }
  return result;
}

}  // namespace reference
