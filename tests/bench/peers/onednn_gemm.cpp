// Our matrix product against oneDNN's dnnl_sgemm at the shapes of training, one thread: forward
// y = x Wᵀ, input gradient dx = dy W, weight gradient dW = dyᵀ x. Both start from plain row-major
// matrices; our packing is inside the clock. Rows go in groups of 256, as training runs them, on
// both sides when that is faster for the peer, else the peer gets all rows at once. Calls take
// turns; the ratio is of medians. One line of JSON a shape and direction.
//   onednn_gemm ISA ROUNDS
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.h>
#include <string>

#include "kernels/ops.hpp"
#include "tests/bench/learner.hpp"

namespace {

using namespace bench;
using namespace skerry::kernels;

constexpr int kGroup = 256;

struct Matrices {
  int rows, out, in;
  Floats x, w, dy, y, dx, dw, panel;
};

void must(dnnl_status_t status) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "dnnl_sgemm failed: status %d\n", static_cast<int>(status));
  std::exit(1);
}

void peer(Matrices& m, char direction, int group) {
  for (int r = 0; r < m.rows; r += group) {
    const int rows = std::min(group, m.rows - r);
    const float *x = m.x.data() + Index{r} * m.in, *dy = m.dy.data() + Index{r} * m.out;
    if (direction == 'f') {
      must(dnnl_sgemm('N', 'T', rows, m.out, m.in, 1.0f, x, m.in, m.w.data(), m.in, 0.0f,
                      m.y.data() + Index{r} * m.out, m.out));
    } else if (direction == 'x') {
      must(dnnl_sgemm('N', 'N', rows, m.in, m.out, 1.0f, dy, m.out, m.w.data(), m.in, 0.0f,
                      m.dx.data() + Index{r} * m.in, m.in));
    } else {
      must(dnnl_sgemm('T', 'N', m.out, m.in, rows, 1.0f, dy, m.out, x, m.in, r ? 1.0f : 0.0f,
                      m.dw.data(), m.in));
    }
  }
}

void ours(Matrices& m, char direction, const Ops& op) {
  if (direction == 'f') op.pack_transposed(m.w.data(), m.out, m.in, m.in, m.panel.data());
  if (direction == 'x') op.pack(m.w.data(), m.out, m.in, m.in, m.panel.data());
  for (int r = 0; r < m.rows; r += kGroup) {
    const int rows = std::min(kGroup, m.rows - r);
    const float *x = m.x.data() + Index{r} * m.in, *dy = m.dy.data() + Index{r} * m.out;
    Product p;
    p.b = m.panel.data(), p.b_row = 32;
    if (direction == 'f') {
      p.m = rows, p.n = m.out, p.k = m.in;
      p.a = x, p.a_row = m.in, p.a_col = 1;
      p.c = m.y.data() + Index{r} * m.out, p.c_row = m.out;
    } else if (direction == 'x') {
      p.m = rows, p.n = m.in, p.k = m.out;
      p.a = dy, p.a_row = m.out, p.a_col = 1;
      p.c = m.dx.data() + Index{r} * m.in, p.c_row = m.in;
    } else {
      op.pack(x, rows, m.in, m.in, m.panel.data());
      p.m = m.out, p.n = m.in, p.k = rows;
      p.a = dy, p.a_row = 1, p.a_col = m.out;
      p.c = m.dw.data(), p.c_row = m.in;
      p.accumulate = r > 0;
    }
    p.b_panel = Index{32} * p.k;
    op.product(p);
  }
}

double median(Floats x) {
  std::sort(x.begin(), x.end());
  return static_cast<double>(x[x.size() / 2]);
}

// Largest difference over the largest element.
double off(const Floats& a, const Floats& b) {
  float worst = 0.0f, most = 0.0f;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
    most = std::max(most, std::abs(b[i]));
  }
  return static_cast<double>(worst / most);
}

// Seconds of enough calls to fill a millisecond, so that the clock does not matter.
float timed(int calls, auto&& work) {
  return static_cast<float>(seconds_of([&] {
    for (int i = 0; i < calls; ++i)
      work();
  }));
}

Matrices matrices(int rows, int out, int in) {
  Matrices m{rows, out, in, {}, {}, {}, {}, {}, {}, {}};
  const auto fill = [](Floats& x, int n, int stride) {
    for (int i = 0; i < n; ++i)
      x.push_back(static_cast<float>(i * stride % 1999) / 1000.0f - 1.0f);
  };
  fill(m.x, rows * in, 31);
  fill(m.w, out * in, 17);
  fill(m.dy, rows * out, 23);
  m.y.resize(m.dy.size());
  m.dx.resize(m.x.size());
  m.dw.resize(m.w.size());
  m.panel.resize(static_cast<std::size_t>(
      std::max({panels(out) * 32 * in, panels(in) * 32 * out, panels(in) * 32 * kGroup})));
  return m;
}

void compare(int rows, int out, int in, char direction, const Ops& op, int rounds) {
  Matrices m = matrices(rows, out, in);
  Floats& result = direction == 'f' ? m.y : direction == 'x' ? m.dx : m.dw;
  peer(m, direction, rows);
  const Floats good = result;
  ours(m, direction, op);
  const double error = off(result, good);
  if (!(error <= 1e-4)) {
    std::fprintf(stderr, "%d %d %d %c: differs from oneDNN's by %g\n", rows, out, in, direction,
                 error);
    std::exit(1);
  }
  const double flops = 2.0 * rows * out * in;
  const int calls = 1 + static_cast<int>(1e-3 / (flops / 2e11));
  Floats mine, whole, grouped;
  for (int i = 0; i < rounds; ++i) {
    mine.push_back(timed(calls, [&] { ours(m, direction, op); }));
    whole.push_back(timed(calls, [&] { peer(m, direction, rows); }));
    grouped.push_back(timed(calls, [&] { peer(m, direction, kGroup); }));
  }
  const double work = flops * calls / 1e9, theirs = std::min(median(whole), median(grouped));
  std::printf(
      "{\"rows\": %d, \"out\": %d, \"in\": %d, \"direction\": \"%s\", \"gflops\": %.1f, "
      "\"peer_gflops\": %.1f, \"ratio\": %.4f, \"error\": %.2g}\n",
      rows, out, in,
      direction == 'f'   ? "forward"
      : direction == 'x' ? "dX"
                         : "dW",
      work / median(mine), work / theirs, theirs / median(mine), error);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Ops& op = ops(std::string(argv[1]) == "avx2" ? Isa::kAvx2 : Isa::kAvx512);
  for (const Preset& p : kPresets) {
    if (std::string("ABC").find(p.name) == std::string::npos) continue;
    const int rows = p.shape.B * p.shape.T, C = p.shape.C;
    for (const auto& [out, in] :
         {std::pair{3 * C, C}, std::pair{C, C}, std::pair{4 * C, C}, std::pair{C, 4 * C}}) {
      for (const char direction : {'f', 'x', 'w'})
        compare(rows, out, in, direction, op, std::atoi(argv[2]));
    }
  }
}
