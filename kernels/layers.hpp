// Embedding, LayerNorm, GELU and cross-entropy of ops.hpp. Included by the kernel units alone.
#pragma once

#include "kernels/ops.hpp"
#include "kernels/scalar.hpp"
#include "kernels/simd.hpp"

namespace skerry::kernels::SKERRY_ISA {
namespace {

void embed(const std::int32_t* tokens, int rows, int T, int C, const float* wte, const float* wpe,
           float* x) {
  for (int r = 0; r < rows; ++r) {
    const float* word = wte + Index{tokens[r]} * C;
    const float* place = wpe + Index{r % T} * C;
    float* out = x + Index{r} * C;
    over(C, [&] SKERRY_LANES(j, m) { store(out + j, load(word + j, m) + load(place + j, m), m); });
  }
}

void embed_backward(const std::int32_t* tokens, int rows, int T, int C, const float* dx,
                    float* d_wte, float* d_wpe) {
  for (int r = 0; r < rows; ++r) {
    float* word = d_wte + Index{tokens[r]} * C;
    float* place = d_wpe + Index{r % T} * C;
    const float* in = dx + Index{r} * C;
    over(C, [&] SKERRY_LANES(j, m) {
      const Vec d = load(in + j, m);
      store(word + j, load(word + j, m) + d, m);
      store(place + j, load(place + j, m) + d, m);
    });
  }
}

// Rows at a time, so that one's sums across lanes do not wait for another's.
constexpr int kTogether = 4;

template <int Rows>
SKERRY_INLINE void norm_rows(const float* x, int C, const float* w, const float* b, float* normal,
                             float* rstd, float* y) {
  const float inverse = 1.0f / static_cast<float>(C);
  Vec total[std::size_t{Rows}], mean[std::size_t{Rows}], scale[std::size_t{Rows}];
  for (int i = 0; i < Rows; ++i)
    total[i] = all(0.0f);
  over(C, [&] SKERRY_LANES(j, m) {
    for (int i = 0; i < Rows; ++i)
      total[i] = total[i] + load(x + i * C + j, m);
  });
  for (int i = 0; i < Rows; ++i) {
    mean[i] = all(sum(total[i]) * inverse);
    total[i] = all(0.0f);
  }
  over(C, [&] SKERRY_LANES(j, m) {
    for (int i = 0; i < Rows; ++i) {
      const Vec d = where(m, load(x + i * C + j, m) - mean[i], all(0.0f));
      total[i] = fma(d, d, total[i]);
    }
  });
  for (int i = 0; i < Rows; ++i) {
    rstd[i] = 1.0f / root(sum(total[i]) * inverse + 1e-5f);
    scale[i] = all(rstd[i]);
  }
  over(C, [&] SKERRY_LANES(j, m) {
    const Vec gain = load(w + j, m), bias = load(b + j, m);
    for (int i = 0; i < Rows; ++i) {
      const Vec n = (load(x + i * C + j, m) - mean[i]) * scale[i];
      store(normal + i * C + j, n, m);
      store(y + i * C + j, fma(n, gain, bias), m);
    }
  });
}

void layer_norm(const float* x, int rows, int C, const float* w, const float* b, float* normal,
                float* rstd, float* y) {
  int r = 0;
  for (Index at = 0; r + kTogether <= rows; r += kTogether, at = Index{r} * C) {
    norm_rows<kTogether>(x + at, C, w, b, normal + at, rstd + r, y + at);
  }
  for (Index at = Index{r} * C; r < rows; ++r, at += C) {
    norm_rows<1>(x + at, C, w, b, normal + at, rstd + r, y + at);
  }
}

template <int Rows>
SKERRY_INLINE void norm_rows_backward(const float* dy, int C, const float* w, const float* normal,
                                      const float* rstd, float* dx, float* d_w, float* d_b) {
  const float inverse = 1.0f / static_cast<float>(C);
  Vec mean[std::size_t{Rows}], slope[std::size_t{Rows}];
  for (int i = 0; i < Rows; ++i)
    mean[i] = slope[i] = all(0.0f);
  over(C, [&] SKERRY_LANES(j, m) {
    const Vec gain = load(w + j, m);
    Vec dw = load(d_w + j, m), db = load(d_b + j, m);
    for (int i = 0; i < Rows; ++i) {
      const Vec d = load(dy + i * C + j, m), n = load(normal + i * C + j, m), g = d * gain;
      mean[i] = mean[i] + g;
      slope[i] = fma(g, n, slope[i]);
      dw = fma(d, n, dw);
      db = db + d;
    }
    store(d_w + j, dw, m);
    store(d_b + j, db, m);
  });
  for (int i = 0; i < Rows; ++i) {
    mean[i] = all(sum(mean[i]) * inverse);
    slope[i] = all(sum(slope[i]) * inverse);
  }
  over(C, [&] SKERRY_LANES(j, m) {
    const Vec gain = load(w + j, m);
    for (int i = 0; i < Rows; ++i) {
      const Vec g = load(dy + i * C + j, m) * gain;
      const Vec d = (g - mean[i]) - load(normal + i * C + j, m) * slope[i];
      store(dx + i * C + j, fma(d, all(rstd[i]), load(dx + i * C + j, m)), m);
    }
  });
}

void layer_norm_backward(const float* dy, int rows, int C, const float* w, const float* normal,
                         const float* rstd, float* dx, float* d_w, float* d_b) {
  int r = 0;
  for (Index at = 0; r + kTogether <= rows; r += kTogether, at = Index{r} * C) {
    norm_rows_backward<kTogether>(dy + at, C, w, normal + at, rstd + r, dx + at, d_w, d_b);
  }
  for (Index at = Index{r} * C; r < rows; ++r, at += C) {
    norm_rows_backward<1>(dy + at, C, w, normal + at, rstd + r, dx + at, d_w, d_b);
  }
}

void gelu(float* x, Index n, float* y) {
  over(n, [&] SKERRY_LANES(j, m) {
    const Vec v = load(x + j, m), square = v * v;
    // −u = v·(c + d·v²) and u' = −(c + 3d·v²), c = −2·√(2/π), d = 0.044715c.
    const Vec minus_u = v * fma(square, all(-0.0713548162f), all(-1.59576912f));
    const Vec slope_u = fma(square, all(0.214064449f), all(1.59576912f));
    // 1 − σ = e·σ, without cancellation; beyond e^80, σ would not be a normal number.
    const Vec e = exponential(smaller(all(80.0f), minus_u));
    const Vec s = all(1.0f) / (all(1.0f) + e);
    const Vec out = v * s;
    store(y + j, out, m);
    store(x + j, fma(out * (e * s), slope_u, s), m);
  });
}

// A masked row is computed like any other and then multiplied by 0.
template <int Rows>
SKERRY_INLINE void cross_entropy_rows(float* logits, Index row, const std::int32_t* targets, int V,
                                      float scale, float* losses) {
  const Vec lowest = all(-3.4e38f);
  Vec top[std::size_t{Rows}], total[std::size_t{Rows}], factor[std::size_t{Rows}];
  for (int i = 0; i < Rows; ++i) {
    top[i] = lowest;
    total[i] = all(0.0f);
    losses[i] = targets[i] < 0 ? 0.0f : logits[i * row + targets[i]];
  }
  over(V, [&] SKERRY_LANES(j, m) {
    for (int i = 0; i < Rows; ++i) {
      top[i] = larger(top[i], where(m, load(logits + i * row + j, m), lowest));
    }
  });
  for (int i = 0; i < Rows; ++i) {
    const float highest = maximum(top[i]);
    top[i] = all(highest);
    losses[i] = highest - losses[i];
  }
  over(V, [&] SKERRY_LANES(j, m) {
    for (int i = 0; i < Rows; ++i) {
      const Vec e = where(m, exponential(load(logits + i * row + j, m) - top[i]), all(0.0f));
      total[i] = total[i] + e;
      if (scale != 0.0f) store(logits + i * row + j, e, m);
    }
  });
  for (int i = 0; i < Rows; ++i) {
    const float mass = sum(total[i]);
    factor[i] = all(targets[i] < 0 ? 0.0f : scale / mass);
    const double log_mass = natural_log(static_cast<double>(mass));
    losses[i] =
        targets[i] < 0 ? 0.0f : static_cast<float>(log_mass + static_cast<double>(losses[i]));
  }
  if (scale == 0.0f) return;
  over(V, [&] SKERRY_LANES(j, m) {
    for (int i = 0; i < Rows; ++i) {
      float* at = logits + i * row + j;
      store(at, load(at, m) * factor[i], m);
    }
  });
  for (int i = 0; i < Rows; ++i) {
    if (targets[i] >= 0) logits[i * row + targets[i]] -= scale;
  }
}

void cross_entropy(float* logits, Index row, const std::int32_t* targets, int rows, int V,
                   float scale, float* losses) {
  int r = 0;
  for (; r + kTogether <= rows; r += kTogether) {
    cross_entropy_rows<kTogether>(logits + r * row, row, targets + r, V, scale, losses + r);
  }
  for (; r < rows; ++r)
    cross_entropy_rows<1>(logits + r * row, row, targets + r, V, scale, losses + r);
}

}  // namespace
}  // namespace skerry::kernels::SKERRY_ISA
