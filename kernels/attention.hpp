// Attention of ops.hpp on the matrix product, in blocks of 16 queries; a block meets only the keys
// that its last query sees. Scores stand transposed, a row for each key and a lane for each query,
// so that softmax needs no sum across lanes; lanes beyond T hold numbers that nothing reads.
// Included by the kernel units alone.
#pragma once

#include "kernels/gemm.hpp"
#include "kernels/scalar.hpp"

namespace skerry::kernels::SKERRY_ISA {
namespace {

struct Head {
  int T, hs;
  Index row, wide;  // floats from row to row of qkv; of scores
  float scale;
};

SKERRY_INLINE Head head_of(const Attention& a) {
  const int hs = a.C / a.H;
  return {a.T, hs, Index{3} * a.C, padded(a.T), 1.0f / root(static_cast<float>(hs))};
}

SKERRY_INLINE int block_end(int i, int T) {
  return T - i < kLanes ? T : i + kLanes;
}

// Scores of queries i … i + 15, keys 0 … end − 1 at `s`, become weights: 0 where key > query.
SKERRY_INLINE void softmax(float* s, Index wide, int i, int end, float scale) {
  Vec top = all(-3.4e38f);
  for (int j = 0; j < i; ++j)
    top = larger(top, load(s + j * wide));
  for (int j = i; j < end; ++j)
    top = larger(top, where(first(j - i), top, load(s + j * wide)));
  Vec total = all(0.0f);
  for (int j = 0; j < i; ++j) {
    const Vec e = exponential((load(s + j * wide) - top) * all(scale));
    total = total + e;
    store(s + j * wide, e);
  }
  for (int j = i; j < end; ++j) {
    const Vec e = exponential((load(s + j * wide) - top) * all(scale));
    const Vec seen = zero_where(first(j - i), e);
    total = total + seen;
    store(s + j * wide, seen);
  }
  const Vec factor = all(1.0f) / total;
  for (int j = 0; j < end; ++j)
    store(s + j * wide, load(s + j * wide) * factor);
}

// Weights p and their gradients g: g becomes the gradient of the scores before scaling, 0 where p
// is.
SKERRY_INLINE void softmax_backward(const float* p, float* g, Index wide, int end, float scale) {
  Vec mean = all(0.0f);
  for (int j = 0; j < end; ++j)
    mean = fma(load(p + j * wide), load(g + j * wide), mean);
  for (int j = 0; j < end; ++j) {
    const Vec d = load(g + j * wide) - mean;
    store(g + j * wide, (load(p + j * wide) * all(scale)) * d);
  }
}

// `columns` of x, T rows, as hs rows of padded(T) floats; what lies beyond T is 0.
void queries_across(const float* x, Index row, const Head& h, float* out) {
  transpose(x, row, h.T, h.hs, out, h.wide);
  for (int e = 0; e < h.hs; ++e) {
    for (Index t = h.T; t < h.wide; ++t)
      out[e * h.wide + t] = 0.0f;
  }
}

void attention(const Attention& a) {
  const Head h = head_of(a);
  float* queries = a.scratch;
  for (int head = 0; head < a.H; ++head) {
    const float* q = a.qkv + head * h.hs;
    float* weights = a.weights + Index{head} * h.T * h.wide;
    queries_across(q, h.row, h, queries);
    for (int i = 0; i < h.T; i += kLanes) {
      const int end = block_end(i, h.T);
      Product scores;
      scores.m = end, scores.n = kLanes, scores.k = h.hs;
      scores.a = q + a.C, scores.a_row = h.row, scores.a_col = 1;
      scores.b = queries + i, scores.b_row = h.wide;
      scores.c = weights + i, scores.c_row = h.wide;
      product(scores);
      softmax(weights + i, h.wide, i, end, h.scale);
      Product mix;
      mix.m = end - i, mix.n = h.hs, mix.k = end;
      mix.a = weights + i, mix.a_row = 1, mix.a_col = h.wide;
      mix.b = q + 2 * a.C, mix.b_row = h.row;
      mix.c = a.out + Index{i} * a.C + head * h.hs, mix.c_row = a.C;
      product(mix);
    }
  }
}

// Rows [i, end) of dq, and the gradient g of their scores.
void query_block_backward(const Attention& a, const Head& h, int head, int i, const float* outer,
                          float* g) {
  const int end = block_end(i, h.T);
  const float* q = a.qkv + head * h.hs;
  Product d;
  d.m = end, d.n = kLanes, d.k = h.hs;
  d.a = q + 2 * a.C, d.a_row = h.row, d.a_col = 1;
  d.b = outer + i, d.b_row = h.wide;
  d.c = g + i, d.c_row = h.wide;
  product(d);
  softmax_backward(a.weights + Index{head} * h.T * h.wide + i, g + i, h.wide, end, h.scale);
  Product dq;
  dq.m = end - i, dq.n = h.hs, dq.k = end;
  dq.a = g + i, dq.a_row = 1, dq.a_col = h.wide;
  dq.b = q + a.C, dq.b_row = h.row;
  dq.c = a.d_qkv + i * h.row + head * h.hs, dq.c_row = h.row;
  product(dq);
}

// Rows [j, end) of dk and dv: queries before j do not see these keys.
void key_block_backward(const Attention& a, const Head& h, int head, int j, const float* g) {
  Product dk;
  dk.m = block_end(j, h.T) - j, dk.n = h.hs, dk.k = h.T - j;
  dk.a = g + j * h.wide + j, dk.a_row = h.wide, dk.a_col = 1;
  dk.b = a.qkv + j * h.row + head * h.hs, dk.b_row = h.row;
  dk.c = a.d_qkv + j * h.row + a.C + head * h.hs, dk.c_row = h.row;
  product(dk);
  Product dv = dk;
  dv.a = a.weights + Index{head} * h.T * h.wide + j * h.wide + j;
  dv.b = a.d_out + Index{j} * a.C + head * h.hs, dv.b_row = a.C;
  dv.c = dk.c + a.C;
  product(dv);
}

void attention_backward(const Attention& a) {
  const Head h = head_of(a);
  float* outer = a.scratch;
  float* g = a.scratch + h.hs * h.wide;
  for (int head = 0; head < a.H; ++head) {
    queries_across(a.d_out + head * h.hs, a.C, h, outer);
    for (int i = 0; i < h.T; i += kLanes)
      query_block_backward(a, h, head, i, outer, g);
    for (int j = 0; j < h.T; j += kLanes)
      key_block_backward(a, h, head, j, g);
  }
}

}  // namespace
}  // namespace skerry::kernels::SKERRY_ISA
