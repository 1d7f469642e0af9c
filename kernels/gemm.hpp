// The matrix product of ops.hpp: a tile of outputs lives in registers while k runs.
// Included by the kernel units alone.
#pragma once

#include <utility>

#include "kernels/ops.hpp"
#include "kernels/simd.hpp"

namespace skerry::kernels::SKERRY_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kTileVecs = 2;                           // columns of a tile, in Vecs
constexpr int kTileRows[kTileVecs + 1] = {0, 16, 12};  // by its Vecs: sums fill 24 of 32 registers
#else
constexpr int kTileVecs = 1;
constexpr int kTileRows[kTileVecs + 1] = {0, 6};  // 12 of 16 registers, two to a Vec
#endif
constexpr int kPanel = 32;   // columns
constexpr int kChunk = 384;  // k steps while a panel stays in the first-level cache

struct Tile {
  int k;
  const float* a;
  Index a_step;  // from row to row when k is contiguous, from k to k when rows are
  const float* b;
  Index b_row;
  float* c;
  Index c_row;
  const float* bias;
  const float* factor;
  bool accumulate;
  int columns;  // of the last Vec, when masked
};

template <bool Masked>
SKERRY_INLINE Vec load_part(const float* p, bool last, Mask mask) {
  return Masked && last ? load(p, mask) : load(p);
}

template <int Rows, int Vecs, bool RowsContiguous, bool Masked>
void tile(const Tile& t) {
  // Copies: a store through c could change *t for all that the compiler knows.
  const Mask mask = first(Masked ? t.columns : kLanes);
  float* const c = t.c;
  const Index c_row = t.c_row, b_row = t.b_row, step = t.a_step, step3 = 3 * step;
  Vec sums[std::size_t{Rows}][std::size_t{Vecs}];
#pragma GCC unroll 16
  for (int v = 0; v < Vecs; ++v) {
    const bool last = v == Vecs - 1;
    const Vec start = t.bias ? load_part<Masked>(t.bias + v * kLanes, last, mask) : all(0.0f);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
      sums[i][v] = start;
    if (t.accumulate) {
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const Vec old = load_part<Masked>(c + i * c_row + v * kLanes, last, mask);
        sums[i][v] = t.bias ? old + sums[i][v] : old;
      }
    }
  }
  const float* a = t.a;
  const float* b = t.b;
  for (int k = t.k; k > 0; --k) {
    Vec row[std::size_t{Vecs}];
#pragma GCC unroll 16
    for (int v = 0; v < Vecs; ++v)
      row[v] = load_part<Masked>(b + v * kLanes, v == Vecs - 1, mask);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const float* group = a + (i / 4) * 4 * step;
      const float* at = RowsContiguous ? a + i
                        : i % 4 == 3   ? group + step3
                                       : group + (i % 4) * step;
      const Vec x = all(*at);
#pragma GCC unroll 16
      for (int v = 0; v < Vecs; ++v)
        sums[i][v] = fma(x, row[v], sums[i][v]);
    }
    a += RowsContiguous ? step : 1;
    b += b_row;
  }
  if (t.factor) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const float* at = t.factor + i * c_row;
#pragma GCC unroll 16
      for (int v = 0; v < Vecs; ++v) {
        sums[i][v] = sums[i][v] * load_part<Masked>(at + v * kLanes, v == Vecs - 1, mask);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    float* at = c + i * c_row;
#pragma GCC unroll 16
    for (int v = 0; v < Vecs - 1; ++v)
      store(at + v * kLanes, sums[i][v]);
    if (Masked) {
      store(at + (Vecs - 1) * kLanes, sums[i][Vecs - 1], mask);
    } else {
      store(at + (Vecs - 1) * kLanes, sums[i][Vecs - 1]);
    }
  }
}

using TileOf = void (*)(const Tile&);

// ByRows<…>::tiles[r] computes r + 1 rows.
template <int Vecs, bool RowsContiguous, bool Masked, class Rows>
struct ByRows;
template <int Vecs, bool RowsContiguous, bool Masked, int... Less>
struct ByRows<Vecs, RowsContiguous, Masked, std::integer_sequence<int, Less...>> {
  static constexpr TileOf tiles[] = {tile<Less + 1, Vecs, RowsContiguous, Masked>...};
};

// All rows of one strip of columns, in tiles of nearly equal height.
template <int Vecs, bool RowsContiguous, bool Masked>
void strip(const Product& p, Tile t) {
  constexpr int most = kTileRows[Vecs];
  using Rows = ByRows<Vecs, RowsContiguous, Masked, std::make_integer_sequence<int, most>>;
  const int tiles = (p.m + most - 1) / most;
  const int height = p.m / tiles, taller = p.m % tiles;
  t.a_step = RowsContiguous ? p.a_col : p.a_row;
  for (int i = 0; i < tiles; ++i) {
    const int rows = height + (i < taller ? 1 : 0);
    Rows::tiles[rows - 1](t);
    t.a += rows * p.a_row;
    t.c += rows * p.c_row;
    if (t.factor) t.factor += rows * p.c_row;
  }
}

template <bool RowsContiguous>
SKERRY_INLINE void strip_of(const Product& p, Tile& t, int columns) {
  const int vecs = (columns + kLanes - 1) / kLanes;
  t.columns = columns - (vecs - 1) * kLanes;
  if (vecs == kTileVecs) {
    t.columns == kLanes ? strip<kTileVecs, RowsContiguous, false>(p, t)
                        : strip<kTileVecs, RowsContiguous, true>(p, t);
  } else {
    t.columns == kLanes ? strip<1, RowsContiguous, false>(p, t)
                        : strip<1, RowsContiguous, true>(p, t);
  }
}

void product(const Product& p) {
  constexpr int width = kTileVecs * kLanes;
  for (int k0 = 0; k0 == 0 || k0 < p.k; k0 += kChunk) {
    Tile t{};
    t.k = p.k - k0 < kChunk ? p.k - k0 : kChunk;
    t.b_row = p.b_row;
    t.c_row = p.c_row;
    t.accumulate = p.accumulate || k0 > 0;
    t.a = p.a + k0 * p.a_col;
    for (int j = 0; j < p.n; j += width) {
      const int columns = p.n - j < width ? p.n - j : width;
      t.b = p.b + (j / kPanel) * p.b_panel + j % kPanel + k0 * p.b_row;
      t.c = p.c + j;
      t.bias = p.bias && k0 == 0 ? p.bias + j : nullptr;
      t.factor = p.factor && k0 + kChunk >= p.k ? p.factor + j : nullptr;
      p.a_row == 1 ? strip_of<true>(p, t, columns) : strip_of<false>(p, t, columns);
    }
  }
}

// out[c·out_row + r] = in[r·row + c] for an 8 × 8 block.
SKERRY_INLINE void transpose8(const float* in, Index row, float* out, Index out_row) {
  __m256 x[8], y[8];
  for (int i = 0; i < 8; ++i)
    x[i] = _mm256_loadu_ps(in + i * row);
  for (int i = 0; i < 8; i += 2) {
    y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    x[i] = _mm256_shuffle_ps(y[i], y[i + 2], 0x44);
    x[i + 1] = _mm256_shuffle_ps(y[i], y[i + 2], 0xee);
    x[i + 2] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0x44);
    x[i + 3] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(out + i * out_row, _mm256_permute2f128_ps(x[i], x[i + 4], 0x20));
    _mm256_storeu_ps(out + (i + 4) * out_row, _mm256_permute2f128_ps(x[i], x[i + 4], 0x31));
  }
}

void transpose(const float* in, Index row, int rows, int columns, float* out, Index out_row) {
  for (int r = 0; r < rows; r += 8) {
    for (int c = 0; c < columns; c += 8) {
      const float* from = in + r * row + c;
      float* to = out + c * out_row + r;
      if (rows - r >= 8 && columns - c >= 8) {
        transpose8(from, row, to, out_row);
        continue;
      }
      for (int i = 0; i < rows - r && i < 8; ++i) {
        for (int j = 0; j < columns - c && j < 8; ++j)
          to[j * out_row + i] = from[i * row + j];
      }
    }
  }
}

void pack_transposed(const float* w, int n, int k, Index row, float* panel) {
  for (int j = 0; j < n; j += kPanel) {
    const int columns = n - j < kPanel ? n - j : kPanel;
    transpose(w + j * row, row, columns, k, panel + Index{j} * k, kPanel);
  }
}

void pack(const float* w, int n, int k, Index row, float* panel) {
  for (int j = 0; j < k; j += kPanel) {
    const int columns = k - j < kPanel ? k - j : kPanel;
    float* out = panel + Index{j} * n;
    for (int i = 0; i < n; ++i, out += kPanel) {
      const float* in = w + i * row + j;
      if (columns == kPanel) {
        store(out, load(in));
        store(out + kLanes, load(in + kLanes));
      } else {
        over(columns, [&] SKERRY_LANES(c, m) { store(out + c, load(in + c, m)); });
      }
    }
  }
}

// Strips of 64 columns: a row of one is a few whole cache lines.
void add_rows(const float* x, int rows, int n, float* sum) {
  int j = 0;
  for (; n - j >= 4 * kLanes; j += 4 * kLanes) {
    Vec s[4];
    for (int v = 0; v < 4; ++v)
      s[v] = load(sum + j + v * kLanes);
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < 4; ++v)
        s[v] = s[v] + load(x + Index{r} * n + j + v * kLanes);
    }
    for (int v = 0; v < 4; ++v)
      store(sum + j + v * kLanes, s[v]);
  }
  over(n - j, [&] SKERRY_LANES(i, m) {
    Vec s = load(sum + j + i, m);
    for (int r = 0; r < rows; ++r)
      s = s + load(x + Index{r} * n + j + i, m);
    store(sum + j + i, s, m);
  });
}

}  // namespace
}  // namespace skerry::kernels::SKERRY_ISA
