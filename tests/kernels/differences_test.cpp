// Each op's backward against central differences, in double, of the plain loops of its forward: a
// slope found without any derivation. The loss is a weighted sum of the outputs.
#include <functional>

#include "kernels/ops.hpp"
#include "tests/kernels/reference.hpp"
#include "tests/kernels/support.hpp"

using namespace support;
using reference::Doubles;
using reference::z;

namespace {

constexpr double kClose = 3e-6;  // of the largest element
constexpr double kStep = 1e-5;

double weighed(const Doubles& y, const Floats& weight) {
  double s = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i)
    s += y[i] * static_cast<double>(weight[i]);
  return s;
}

// d loss / d x[i] of every `stride`-th element against `found`.
void check_slopes(const char* what, const Floats& found, const Floats& x,
                  const std::function<double(const Doubles&)>& loss, std::size_t stride = 1) {
  CAPTURE(what);
  REQUIRE(found.size() == x.size());
  Doubles at = widened(x), good;
  Floats mine;
  for (std::size_t i = 0; i < at.size(); i += stride) {
    const double kept = at[i];
    at[i] = kept + kStep;
    const double up = loss(at);
    at[i] = kept - kStep;
    good.push_back((up - loss(at)) / (2 * kStep));
    mine.push_back(found[i]);
    at[i] = kept;
  }
  CHECK(relative_error(mine, good) <= kClose);
}

template <class Check>
void for_builds(Check check) {
  for (const Isa isa : builds()) {
    CAPTURE(isa_name(isa));
    check(ops(isa));
  }
}

void check_linear(const Ops& op, int rows, int in, int out) {
  const Floats x = hashed_floats(1, z(rows * in)), w = hashed_floats(2, z(out * in));
  const Floats b = hashed_floats(3, z(out)), dy = hashed_floats(4, z(rows * out));
  Floats panel(z(static_cast<int>(panels(in))) * 32 * z(std::max(out, rows)));
  Floats dx(x.size()), dw(w.size()), db(b.size());
  op.pack(w.data(), out, in, in, panel.data());
  Product p;
  p.m = rows, p.n = in, p.k = out;
  p.a = dy.data(), p.a_row = out, p.a_col = 1;
  p.b = panel.data(), p.b_row = 32, p.b_panel = Index{32} * out;
  p.c = dx.data(), p.c_row = in;
  op.product(p);
  op.pack(x.data(), rows, in, in, panel.data());
  p.m = out, p.k = rows;
  p.a_row = 1, p.a_col = out;
  p.b_panel = Index{32} * rows;
  p.c = dw.data();
  op.product(p);
  op.add_rows(dy.data(), rows, out, db.data());
  const Doubles xd = widened(x), wd = widened(w), bd = widened(b);
  const auto loss = [&](const Doubles& xs, const Doubles& ws, const Doubles& bs) {
    return weighed(reference::linear(xs, ws.data(), bs.data(), rows, in, out), dy);
  };
  check_slopes("x", dx, x, [&](const Doubles& v) { return loss(v, wd, bd); });
  check_slopes("w", dw, w, [&](const Doubles& v) { return loss(xd, v, bd); });
  check_slopes("b", db, b, [&](const Doubles& v) { return loss(xd, wd, v); });
}

void check_layer_norm(const Ops& op, int rows, int C) {
  const Floats x = hashed_floats(5, z(rows * C), 2.0f, 1.0f), dy = hashed_floats(6, x.size());
  const Floats w = hashed_floats(7, z(C), 0.5f, 1.0f), b = hashed_floats(8, z(C));
  Floats normal(x.size()), rstd(z(rows)), y(x.size()), dx(x.size()), dw(w.size()), db(b.size());
  op.layer_norm(x.data(), rows, C, w.data(), b.data(), normal.data(), rstd.data(), y.data());
  op.layer_norm_backward(dy.data(), rows, C, w.data(), normal.data(), rstd.data(), dx.data(),
                         dw.data(), db.data());
  const Doubles xd = widened(x), wd = widened(w), bd = widened(b);
  const auto loss = [&](const Doubles& xs, const Doubles& ws, const Doubles& bs) {
    return weighed(reference::layer_norm(xs, ws.data(), bs.data(), rows, C), dy);
  };
  check_slopes("x", dx, x, [&](const Doubles& v) { return loss(v, wd, bd); });
  check_slopes("w", dw, w, [&](const Doubles& v) { return loss(xd, v, bd); });
  check_slopes("b", db, b, [&](const Doubles& v) { return loss(xd, wd, v); });
}

void check_attention(const Ops& op, int T, int hs, int H, std::size_t stride) {
  const int C = hs * H;
  const Floats qkv = hashed_floats(9, z(T * 3 * C)), d_out = hashed_floats(10, z(T * C));
  Floats weights(z(H * T) * z(static_cast<int>(padded(T)))), out(d_out.size()), d_qkv(qkv.size());
  Floats scratch(z(static_cast<int>(attention_scratch(T, hs))));
  Attention a;
  a.T = T, a.C = C, a.H = H;
  a.qkv = qkv.data(), a.weights = weights.data(), a.out = out.data();
  a.d_out = d_out.data(), a.d_qkv = d_qkv.data(), a.scratch = scratch.data();
  op.attention(a);
  op.attention_backward(a);
  const auto loss = [&](const Doubles& v) {
    Doubles y(d_out.size());
    reference::attention(v.data(), T, C, H, y.data());
    return weighed(y, d_out);
  };
  check_slopes("qkv", d_qkv, qkv, loss, stride);
}

void check_cross_entropy(const Ops& op, int rows, int V) {
  const Floats logits = hashed_floats(12, z(rows * V), 3.0f);
  Tokens target = hashed_tokens(13, z(rows), V);
  target[1] = -1;
  Floats slope = logits, losses(z(rows));
  op.cross_entropy(slope.data(), V, target.data(), rows, V, 0.25f, losses.data());
  const auto loss = [&](Doubles v) {
    double s = 0.0;
    for (int r = 0; r < rows; ++r)
      s += 0.25 * reference::cross_entropy(v.data() + r * V, V, target[z(r)], 1.0);
    return s;
  };
  check_slopes("logits", slope, logits, loss);
}

void check_embedding(const Ops& op, int rows, int T, int C, int V) {
  const Tokens token = hashed_tokens(14, z(rows), V);
  const Floats wte = hashed_floats(15, z(V * C)), wpe = hashed_floats(16, z(T * C));
  const Floats dx = hashed_floats(17, z(rows * C));
  Floats d_wte(wte.size()), d_wpe(wpe.size());
  op.embed_backward(token.data(), rows, T, C, dx.data(), d_wte.data(), d_wpe.data());
  const auto loss = [&](const Doubles& words, const Doubles& places) {
    double s = 0.0;
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < C; ++j) {
        s += static_cast<double>(dx[z(r * C + j)]) *
             (words[z(token[z(r)] * C + j)] + places[z(r % T * C + j)]);
      }
    }
    return s;
  };
  const Doubles words = widened(wte), places = widened(wpe);
  check_slopes("wte", d_wte, wte, [&](const Doubles& v) { return loss(v, places); });
  check_slopes("wpe", d_wpe, wpe, [&](const Doubles& v) { return loss(words, v); });
}

}  // namespace

TEST_CASE("central differences: linear") {
  for_builds([](const Ops& op) {
    check_linear(op, 1, 1, 1);
    check_linear(op, 3, 8, 24);
    check_linear(op, 5, 33, 17);
    check_linear(op, 13, 48, 7);
  });
}

TEST_CASE("central differences: layer norm") {
  for_builds([](const Ops& op) {
    check_layer_norm(op, 1, 8);
    check_layer_norm(op, 5, 33);
    check_layer_norm(op, 4, 24);
  });
}

TEST_CASE("central differences: attention") {
  for_builds([](const Ops& op) {
    check_attention(op, 1, 8, 3, 1);
    check_attention(op, 17, 8, 2, 5);
    check_attention(op, 33, 24, 1, 23);
    check_attention(op, 48, 32, 1, 71);
  });
}

TEST_CASE("central differences: gelu leaves its slope") {
  for_builds([](const Ops& op) {
    const Floats x = hashed_floats(11, 97, 6.0f), one(97, 1.0f);
    Floats slope = x, y(97);
    op.gelu(slope.data(), 97, y.data());
    check_slopes("x", slope, x, [&](Doubles v) {
      for (double& e : v)
        e = reference::gelu(e);
      return weighed(v, one);
    });
  });
}

TEST_CASE("central differences: cross-entropy, with a masked row") {
  for_builds([](const Ops& op) {
    check_cross_entropy(op, 3, 97);
    check_cross_entropy(op, 5, 16);
    check_cross_entropy(op, 2, 2);
  });
}

TEST_CASE("central differences: words and positions") {
  for_builds([](const Ops& op) {
    check_embedding(op, 9, 3, 19, 4);
    check_embedding(op, 1, 1, 24, 97);
  });
}
