// Each op alone, at odd shapes, against the plain loops of reference.hpp.
#include "kernels/ops.hpp"

#include "kernels/scalar.hpp"
#include "tests/kernels/reference.hpp"
#include "tests/kernels/support.hpp"

using namespace support;
using reference::Doubles;
using reference::z;

namespace {

constexpr double kClose = 3e-6;  // of the largest element

// A buffer with guard numbers behind it: writing beyond its end is seen.
class Guarded {
 public:
  explicit Guarded(std::size_t n, float value = 0.0f) : n_(n), x_(n + kGuard, kMark) {
    std::fill_n(x_.begin(), n, value);
  }
  explicit Guarded(const Floats& x) : Guarded(x.size()) {
    std::copy(x.begin(), x.end(), x_.begin());
  }
  float* data() { return x_.data(); }
  Floats take() const {
    for (std::size_t i = n_; i < x_.size(); ++i)
      REQUIRE(x_[i] == kMark);
    return {x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(n_)};
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr float kMark = 12345.0f;
  std::size_t n_;
  Floats x_;
};

struct Sizes {
  int m, n, k;
};

const Sizes kSizes[] = {{1, 1, 1},   {5, 16, 3},   {12, 32, 8},  {13, 33, 17}, {7, 97, 24},
                        {48, 8, 33}, {3, 31, 300}, {25, 64, 48}, {16, 15, 1},  {33, 48, 257}};

void check_linear(const Ops& op, const Sizes& s) {
  const Floats x = hashed_floats(1, z(s.m * s.k)), w = hashed_floats(2, z(s.n * s.k));
  const Floats bias = hashed_floats(3, z(s.n)), dy = hashed_floats(4, z(s.m * s.n));
  const Doubles xd = widened(x), wd = widened(w), bd = widened(bias), dyd = widened(dy);
  Doubles dwd(w.size()), dbd(bias.size());
  const Doubles yd = reference::linear(xd, wd.data(), bd.data(), s.m, s.k, s.n);
  const Doubles dxd =
      reference::linear_backward(dyd, xd, wd.data(), s.m, s.k, s.n, dwd.data(), dbd.data());

  Floats panel(z(static_cast<int>(panels(std::max(s.n, s.k)))) * 32 * z(std::max({s.m, s.n, s.k})));
  op.pack_transposed(w.data(), s.n, s.k, s.k, panel.data());
  Guarded y(dy.size(), 0.5f);
  Product p;
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.a = x.data(), p.a_row = s.k, p.a_col = 1;
  p.b = panel.data(), p.b_row = 32, p.b_panel = Index{32} * s.k;
  p.c = y.data(), p.c_row = s.n, p.bias = bias.data();
  op.product(p);
  CHECK(relative_error(y.take(), yd) <= kClose);
  p.accumulate = true, p.bias = nullptr;
  op.product(p);
  Doubles twice = yd;
  for (std::size_t i = 0; i < twice.size(); ++i)
    twice[i] = 2 * twice[i] - bd[i % z(s.n)];
  CHECK(relative_error(y.take(), twice) <= kClose);

  op.pack(w.data(), s.n, s.k, s.k, panel.data());
  Guarded dx(x.size());
  Product q;
  q.m = s.m, q.n = s.k, q.k = s.n;
  q.a = dy.data(), q.a_row = s.n, q.a_col = 1;
  q.b = panel.data(), q.b_row = 32, q.b_panel = Index{32} * s.n;
  q.c = dx.data(), q.c_row = s.k;
  op.product(q);
  CHECK(relative_error(dx.take(), dxd) <= kClose);
  const Floats factor = hashed_floats(5, x.size());
  Doubles scaled = dxd;
  for (std::size_t i = 0; i < scaled.size(); ++i)
    scaled[i] *= static_cast<double>(factor[i]);
  q.factor = factor.data();
  op.product(q);
  CHECK(relative_error(dx.take(), scaled) <= kClose);

  Guarded dw(w.size()), db(bias.size());
  Product r;
  r.m = s.n, r.n = s.k, r.k = s.m;
  r.a = dy.data(), r.a_row = 1, r.a_col = s.n;
  r.b = x.data(), r.b_row = s.k;
  r.c = dw.data(), r.c_row = s.k;
  op.product(r);
  CHECK(relative_error(dw.take(), dwd) <= kClose);
  op.add_rows(dy.data(), s.m, s.n, db.data());
  CHECK(relative_error(db.take(), dbd) <= kClose);
}

void check_norm(const Ops& op, int rows, int C) {
  const Floats x = hashed_floats(5, z(rows * C), 3.0f, 1.0f), dy = hashed_floats(6, x.size());
  const Floats w = hashed_floats(7, z(C), 0.5f, 1.0f), b = hashed_floats(8, z(C));
  const Doubles xd = widened(x), wd = widened(w), bd = widened(b);
  Guarded normal(x.size()), rstd(z(rows)), y(x.size());
  op.layer_norm(x.data(), rows, C, w.data(), b.data(), normal.data(), rstd.data(), y.data());
  CHECK(relative_error(y.take(), reference::layer_norm(xd, wd.data(), bd.data(), rows, C)) <=
        kClose);
  Doubles dwd(w.size()), dbd(w.size());
  Doubles good =
      reference::layer_norm_backward(widened(dy), xd, wd.data(), rows, C, dwd.data(), dbd.data());
  for (double& g : good)
    g += 0.25;
  Guarded dx(x.size(), 0.25f), dw(w.size()), db(w.size());
  op.layer_norm_backward(dy.data(), rows, C, w.data(), normal.data(), rstd.data(), dx.data(),
                         dw.data(), db.data());
  CHECK(relative_error(dx.take(), good) <= kClose);
  CHECK(relative_error(dw.take(), dwd) <= kClose);
  CHECK(relative_error(db.take(), dbd) <= kClose);
}

void check_attention(const Ops& op, int T, int hs, int H) {
  const int C = hs * H;
  const Floats qkv = hashed_floats(9, z(T * 3 * C), 2.0f), d_out = hashed_floats(10, z(T * C));
  Guarded weights(z(H * T) * z(static_cast<int>(padded(T))), 77.0f), out(z(T * C), 77.0f);
  Guarded d_qkv(qkv.size(), 77.0f), scratch(z(static_cast<int>(attention_scratch(T, hs))), 77.0f);
  Attention a;
  a.T = T, a.C = C, a.H = H;
  a.qkv = qkv.data(), a.weights = weights.data(), a.out = out.data();
  a.d_out = d_out.data(), a.d_qkv = d_qkv.data(), a.scratch = scratch.data();
  op.attention(a);
  op.attention_backward(a);
  Doubles good(z(T * C)), d_good(qkv.size());
  const Doubles wide = widened(qkv), d_wide = widened(d_out);
  reference::attention(wide.data(), T, C, H, good.data());
  reference::attention_backward(wide.data(), d_wide.data(), T, C, H, d_good.data());
  CHECK(relative_error(out.take(), good) <= kClose);
  CHECK(relative_error(d_qkv.take(), d_good) <= kClose);
  weights.take();
  scratch.take();
}

void check_cross_entropy(const Ops& op, int rows, int V, float spread) {
  const int row = V + 3;
  const Floats logits = hashed_floats(12, z(rows * row), spread);
  Tokens target = hashed_tokens(13, z(rows), V);
  target[0] = rows > 1 ? -1 : target[0];
  Doubles good = widened(logits), losses(z(rows));
  for (int r = 0; r < rows; ++r) {
    losses[z(r)] = reference::cross_entropy(good.data() + r * row, V, target[z(r)], 0.5);
  }
  Guarded x(logits), loss(z(rows)), kept(logits), loss_only(z(rows));
  op.cross_entropy(x.data(), row, target.data(), rows, V, 0.5f, loss.data());
  CHECK(relative_error(x.take(), good) <= kClose);
  CHECK(relative_error(loss.take(), losses) <= kClose);
  op.cross_entropy(kept.data(), row, target.data(), rows, V, 0.0f, loss_only.data());
  CHECK(same_bits(kept.take(), logits));
  CHECK(same_bits(loss_only.take(), loss.take()));
}

template <class Check>
void for_builds(Check check) {
  for (const Isa isa : builds()) {
    CAPTURE(isa_name(isa));
    check(ops(isa));
  }
}

}  // namespace

TEST_CASE("linear: forward, input and weight gradients, bias, accumulation") {
  for_builds([](const Ops& op) {
    for (const Sizes& s : kSizes) {
      CAPTURE(s.m);
      CAPTURE(s.n);
      CAPTURE(s.k);
      check_linear(op, s);
    }
  });
}

TEST_CASE("layer norm") {
  for_builds([](const Ops& op) {
    for (const int C : {2, 16, 24, 33, 48, 97}) {
      for (const int rows : {1, 4, 7})
        check_norm(op, rows, C);
    }
  });
}

TEST_CASE("layer norm of equal numbers is its bias, with finite gradients") {
  for_builds([](const Ops& op) {
    const Floats x(17, 3.0f), w(17, 2.0f), b = hashed_floats(1, 17), dy = hashed_floats(2, 17);
    Floats normal(17), rstd(1), y(17), dx(17), dw(17), db(17);
    op.layer_norm(x.data(), 1, 17, w.data(), b.data(), normal.data(), rstd.data(), y.data());
    CHECK(same_bits(y, b));
    op.layer_norm_backward(dy.data(), 1, 17, w.data(), normal.data(), rstd.data(), dx.data(),
                           dw.data(), db.data());
    for (const float d : dx)
      CHECK(std::isfinite(d));
  });
}

TEST_CASE("attention at lengths and head sizes that fill no vector") {
  for_builds([](const Ops& op) {
    for (const int T : {1, 15, 16, 17, 33, 48, 70}) {
      for (const int hs : {1, 8, 24, 32, 40}) {
        CAPTURE(T);
        CAPTURE(hs);
        check_attention(op, T, hs, hs == 8 ? 3 : 1);
      }
    }
  });
}

TEST_CASE("gelu and its slope") {
  for_builds([](const Ops& op) {
    Floats x;
    for (int i = -400; i <= 401; ++i)
      x.push_back(static_cast<float>(i) * 0.05f);
    Guarded slope(x), y(x.size());
    op.gelu(slope.data(), static_cast<Index>(x.size()), y.data());
    const Floats out = y.take(), rise = slope.take();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = static_cast<double>(x[i]);
      CHECK(std::abs(static_cast<double>(out[i]) - reference::gelu(v)) <= 3e-7 * (1 + std::abs(v)));
      CHECK(std::abs(static_cast<double>(rise[i]) - reference::gelu_slope(v)) <= 1e-6);
      const double h = 1e-5;
      CHECK(std::abs((reference::gelu(v + h) - reference::gelu(v - h)) / (2 * h) -
                     reference::gelu_slope(v)) <= 1e-8);
    }
  });
}

TEST_CASE("cross-entropy, masked rows, far-apart logits") {
  for_builds([](const Ops& op) {
    for (const int V : {1, 7, 16, 97, 256}) {
      for (const int rows : {1, 4, 9}) {
        check_cross_entropy(op, rows, V, 2.0f);
        check_cross_entropy(op, rows, V, 300.0f);
      }
    }
  });
}

TEST_CASE("embedding: repeated words add up") {
  for_builds([](const Ops& op) {
    const int T = 3, C = 19, rows = 6;
    const Tokens token{4, 0, 4, 4, 2, 0};
    const Floats wte = hashed_floats(1, 5 * 19), wpe = hashed_floats(2, 3 * 19);
    Guarded x(z(rows * C)), d_wte(wte.size()), d_wpe(wpe.size());
    op.embed(token.data(), rows, T, C, wte.data(), wpe.data(), x.data());
    Doubles word(wte.size()), place(wpe.size()), good(z(rows * C));
    const Floats dx = hashed_floats(3, z(rows * C));
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < C; ++j) {
        const std::size_t w = z(token[z(r)] * C + j), at = z(r % T * C + j), i = z(r * C + j);
        good[i] = static_cast<double>(wte[w] + wpe[at]);
        word[w] += static_cast<double>(dx[i]);
        place[at] += static_cast<double>(dx[i]);
      }
    }
    CHECK(relative_error(x.take(), good) == 0.0);
    op.embed_backward(token.data(), rows, T, C, dx.data(), d_wte.data(), d_wpe.data());
    CHECK(relative_error(d_wte.take(), word) <= 1e-7);
    CHECK(relative_error(d_wpe.take(), place) <= 1e-7);
  });
}

TEST_CASE("natural_log and power against the C library") {
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    CHECK(std::abs(natural_log(x) - std::log(x)) <= 1e-12 * std::max(1.0, std::abs(std::log(x))));
  }
  CHECK(natural_log(1.0) == 0.0);
  CHECK(std::isinf(natural_log(0.0)));
  CHECK(std::isnan(natural_log(-1.0)));
  CHECK(power(0.5, 3) == 0.125);
  CHECK(power(0.9, 0) == 1.0);
  CHECK(std::abs(power(0.95, 1000) - std::pow(0.95, 1000)) <= 1e-12 * std::pow(0.95, 1000));
}
