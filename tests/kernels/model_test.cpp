#include <limits>
#include <string>

#include "kernels/optimizer.hpp"
#include "tests/kernels/reference.hpp"
#include "tests/kernels/support.hpp"

using namespace support;

namespace {

struct Case {
  const char* name;
  ModelShape shape;
};

const Case kCases[] = {
    {"quick", {.L = 2, .C = 32, .H = 1, .T = 32, .V = 256, .B = 8}},
    {"head size 8, T 33, V 97, B 3", {.L = 2, .C = 24, .H = 3, .T = 33, .V = 97, .B = 3}},
    {"head size 24, T 48, B 1", {.L = 1, .C = 48, .H = 2, .T = 48, .V = 97, .B = 1}},
    {"T 1", {.L = 2, .C = 40, .H = 5, .T = 1, .V = 7, .B = 5}},
    {"all odd", {.L = 3, .C = 35, .H = 7, .T = 19, .V = 53, .B = 3}},
    {"one of everything", {.L = 1, .C = 1, .H = 1, .T = 1, .V = 1, .B = 1}},
    {"wide", {.L = 1, .C = 96, .H = 3, .T = 70, .V = 65, .B = 5}},
};

struct Batch {
  Tokens in, target;
};

std::size_t rows(const ModelShape& s) {
  return static_cast<std::size_t>(s.B * s.T);
}

Batch batch_for(const ModelShape& s, std::uint64_t stream) {
  return {hashed_tokens(stream, rows(s), s.V), hashed_tokens(stream + 1, rows(s), s.V)};
}

struct Outcome {
  float loss = 0.0f;
  Floats gradient;
};

Outcome run(const ModelShape& s, const Floats& p, const Batch& b, Workspace& w) {
  Outcome o;
  // Not-a-numbers would shine through wherever the gradient is not written.
  o.gradient.assign(p.size(), std::numeric_limits<float>::quiet_NaN());
  o.loss = forward_backward(s, p, b.in, b.target, o.gradient, w);
  return o;
}

Outcome run(const ModelShape& s, const Floats& p, const Batch& b) {
  Workspace w(s);
  return run(s, p, b, w);
}

void compare(const ModelShape& s, const Outcome& o, const reference::Result& r) {
  CHECK(std::abs(static_cast<double>(o.loss) - r.loss_sum / r.targets) <= 2e-6);
  for (const TensorInfo& t : tensors(s)) {
    CAPTURE(t.name);
    const auto from = static_cast<std::ptrdiff_t>(t.offset);
    const auto to = from + static_cast<std::ptrdiff_t>(t.size);
    const Floats mine(o.gradient.begin() + from, o.gradient.begin() + to);
    const std::vector<double> good(r.gradient.begin() + from, r.gradient.begin() + to);
    double most = 0.0;
    for (const double g : good)
      most = std::max(most, std::abs(g));
    // A tensor whose true gradient is 0 (everything, where V = 1; keys' bias always) has only
    // rounding.
    if (most < 1e-12) {
      for (const float g : mine)
        CHECK(std::abs(g) <= 1e-8f);
    } else {
      CHECK(relative_error(mine, good) <= 1e-5);
    }
  }
}

}  // namespace

TEST_CASE("the reference's gradients agree with central differences") {
  const ModelShape s{.L = 2, .C = 6, .H = 2, .T = 5, .V = 11, .B = 2};
  const reference::Model model(s);
  std::vector<double> p = widened(hashed_parameters(s));
  Batch b = batch_for(s, 7);
  b.target[3] = -1;
  const reference::Result r = model.run(p, b.in, b.target);
  CHECK(r.targets == 9);
  const double h = 1e-5;
  for (std::size_t i = 0; i < p.size(); i += 3) {
    const double kept = p[i];
    p[i] = kept + h;
    const double up = model.run(p, b.in, b.target).loss_sum;
    p[i] = kept - h;
    const double down = model.run(p, b.in, b.target).loss_sum;
    p[i] = kept;
    CHECK(std::abs((up - down) / (2 * h) / r.targets - r.gradient[i]) <= 1e-8);
  }
}

TEST_CASE("loss and every gradient tensor agree with the double-precision reference") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const Floats p = hashed_parameters(c.shape);
    const Batch b = batch_for(c.shape, 11);
    const reference::Result good = reference::Model(c.shape).run(widened(p), b.in, b.target);
    for (const Isa isa : builds()) {
      CAPTURE(isa_name(isa));
      const Selected selected(isa);
      compare(c.shape, run(c.shape, p, b), good);
      Workspace w(c.shape);
      const double sum = forward_loss_sum(c.shape, p, b.in, b.target, w);
      CHECK(std::abs(sum - good.loss_sum) <= 2e-6 * good.targets);
    }
  }
}

TEST_CASE("every odd length, head size and batch together: loss and gradients") {
  for (const int T : {48, 33, 1}) {
    for (const int head_size : {8, 24, 32}) {
      for (const int B : {1, 3}) {
        const ModelShape s{.L = 1, .C = 2 * head_size, .H = 2, .T = T, .V = 97, .B = B};
        CAPTURE(T);
        CAPTURE(head_size);
        CAPTURE(B);
        const Floats p = hashed_parameters(s);
        const Batch b = batch_for(s, 15);
        const reference::Result good = reference::Model(s).run(widened(p), b.in, b.target);
        for (const Isa isa : builds()) {
          CAPTURE(isa_name(isa));
          const Selected selected(isa);
          compare(s, run(s, p, b), good);
        }
      }
    }
  }
}

TEST_CASE("masked targets: mean over the rest, any place") {
  for (const Case& c : kCases) {
    if (rows(c.shape) < 4) continue;
    CAPTURE(c.name);
    const Floats p = hashed_parameters(c.shape);
    Batch b = batch_for(c.shape, 21);
    for (std::size_t i = 0; i < rows(c.shape); i += 3)
      b.target[i] = -1;
    const reference::Result good = reference::Model(c.shape).run(widened(p), b.in, b.target);
    for (const Isa isa : builds()) {
      const Selected selected(isa);
      compare(c.shape, run(c.shape, p, b), good);
    }
  }
}

TEST_CASE("windows masked at the end are skipped: same bits as running them") {
  for (const Case& c : kCases) {
    if (c.shape.B < 3) continue;
    CAPTURE(c.name);
    const Floats p = hashed_parameters(c.shape);
    Batch masked = batch_for(c.shape, 31);
    for (std::size_t i = rows(c.shape) / 3; i < rows(c.shape); ++i)
      masked.target[i] = -1;
    const Outcome skipped = run(c.shape, p, masked);
    // One batch of only the windows that have a target.
    ModelShape fewer = c.shape;
    fewer.B = (static_cast<int>(rows(c.shape) / 3) + c.shape.T - 1) / c.shape.T;
    Batch part = masked;
    part.in.resize(rows(fewer));
    part.target.resize(rows(fewer));
    const Outcome alone = run(fewer, p, part);
    CHECK(skipped.loss == alone.loss);
    CHECK(same_bits(skipped.gradient, alone.gradient));
    // The masked windows first: nothing to skip, but other rounding of the sums; a window counts
    // the same.
    Batch turned = masked;
    std::rotate(turned.in.begin(), turned.in.begin() + fewer.B * c.shape.T, turned.in.end());
    std::rotate(turned.target.begin(), turned.target.begin() + fewer.B * c.shape.T,
                turned.target.end());
    const Outcome last = run(c.shape, p, turned);
    CHECK(std::abs(last.loss - alone.loss) <= 2e-6f);
    CHECK(relative_error(last.gradient, widened(alone.gradient)) <= 1e-6);
  }
}

TEST_CASE("no target at all: loss 0, gradient 0") {
  const ModelShape s = kCases[1].shape;
  const Floats p = hashed_parameters(s);
  Batch b = batch_for(s, 41);
  std::fill(b.target.begin(), b.target.end(), -1);
  const Outcome o = run(s, p, b);
  CHECK(o.loss == 0.0f);
  CHECK(same_bits(o.gradient, Floats(p.size(), 0.0f)));
  Workspace w(s);
  CHECK(forward_loss_sum(s, p, b.in, b.target, w) == 0.0);
}

TEST_CASE("a workspace remembers nothing") {
  const ModelShape s = kCases[4].shape;
  const Floats p = hashed_parameters(s), other = hashed_floats(3, p.size(), 5.0f);
  const Batch b = batch_for(s, 51), c = batch_for(s, 61);
  Workspace w(s);
  const Outcome first = run(s, p, b, w);
  run(s, other, c, w);
  const Outcome again = run(s, p, b, w);
  CHECK(first.loss == again.loss);
  CHECK(same_bits(first.gradient, again.gradient));
}

TEST_CASE("tensors tile the flat array in order") {
  for (const Case& c : kCases) {
    std::size_t next = 0;
    const auto list = tensors(c.shape);
    for (const TensorInfo& t : list) {
      CHECK(t.offset == next);
      CHECK(t.embedding == (t.name == "wte" || t.name == "wpe"));
      next += t.size;
    }
    CHECK(next == parameter_count(c.shape));
    CHECK(list.size() == static_cast<std::size_t>(4 + 12 * c.shape.L));
  }
  // 256·32 + 32·32 + 2·(12·32² + 13·32) + 2·32 = 8192 + 1024 + 25408 + 64.
  CHECK(parameter_count(kCases[0].shape) == 34688);
}

TEST_CASE("initial weights: moments, residual scale, a function of the seed") {
  const ModelShape s{.L = 2, .C = 64, .H = 2, .T = 64, .V = 256, .B = 1};
  Floats p(parameter_count(s)), q(p.size()), other(p.size());
  initialise(s, 5, p);
  initialise(s, 5, q);
  initialise(s, 6, other);
  CHECK(same_bits(p, q));
  CHECK_FALSE(same_bits(p, other));
  for (const TensorInfo& t : tensors(s)) {
    CAPTURE(t.name);
    double sum = 0.0, squares = 0.0, fourth = 0.0;
    for (std::size_t i = 0; i < t.size; ++i) {
      const double v = static_cast<double>(p[t.offset + i]);
      sum += v;
      squares += v * v;
      fourth += v * v * v * v;
    }
    const double n = static_cast<double>(t.size);
    if (t.name.ends_with(".b")) {
      CHECK(squares == 0.0);
    } else if (t.size == 64) {
      CHECK(sum == 64.0);
      CHECK(squares == 64.0);
    } else {
      // Deviation 0.02, or 0.02/√(2·2) = 0.01 where a block writes to the residual stream; n ≥
      // 4096, so four standard errors are 4·σ/√n for the mean, 4·√2/√n < 9 % for the variance,
      // 4·√96/√n < 62 % of 3σ⁴.
      const double sigma = t.name.ends_with(".proj.w") ? 0.01 : 0.02;
      CHECK(std::abs(sum / n) <= 4 * sigma / std::sqrt(n));
      CHECK(std::abs(squares / n / (sigma * sigma) - 1.0) <= 0.09);
      CHECK(std::abs(fourth / n / std::pow(sigma, 4) / 3.0 - 1.0) <= 0.21);
    }
  }
}

TEST_CASE("a loss that is not finite is returned as such") {
  const ModelShape s = kCases[0].shape;
  Floats p = hashed_parameters(s);
  const Batch b = batch_for(s, 71);
  for (const Isa isa : builds()) {
    const Selected selected(isa);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Floats q = p;
      q[tensors(s)[6].offset] = bad;
      CHECK_FALSE(std::isfinite(run(s, q, b).loss));
    }
  }
}

TEST_CASE("bad shapes, sizes and tokens are refused with the name and the limit") {
  const auto refusal = [](auto&& act) -> std::string {
    try {
      act();
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  CHECK(refusal([] { parameter_count({.C = 33, .H = 2}); }) ==
        "model shape: H is 2, must be a positive divisor of C = 33");
  CHECK(refusal([] { parameter_count({.L = 0}); }) == "model shape: L is 0, must be in 1 … 1000");
  CHECK(refusal([] { Workspace w({.T = -4}); }) == "model shape: T is -4, must be in 1 … 65536");
  CHECK_FALSE(refusal([] { Workspace w({.B = 1 << 30}); }).empty());
  const ModelShape s = kCases[1].shape;
  const Floats p = hashed_parameters(s);
  Workspace w(s);
  Batch b = batch_for(s, 81);
  b.in[2] = 97;
  CHECK(refusal([&] { run(s, p, b, w); }) == "kernels: input token 2 is 97, allowed 0 … 96");
  b.in[2] = 0, b.target[5] = -2;
  CHECK(refusal([&] { run(s, p, b, w); }) == "kernels: target token 5 is -2, allowed -1 … 96");
  b.target[5] = 0;
  CHECK(refusal([&] { run(s, Floats(10), b, w); }).find("parameters has 10 elements") !=
        std::string::npos);
  ModelShape other = s;
  other.B = 2;
  CHECK_FALSE(refusal([&] { run(other, p, batch_for(other, 81), w); }).empty());
}

TEST_CASE("overfits one batch") {
  const ModelShape s{.L = 2, .C = 32, .H = 2, .T = 16, .V = 64, .B = 4};
  Floats p(parameter_count(s)), g(p.size()), m(p.size()), v(p.size());
  initialise(s, 1, p);
  const Batch b = batch_for(s, 91);
  Workspace w(s);
  // ln 64 = 4.159: nothing known.
  CHECK(std::abs(static_cast<double>(forward_backward(s, p, b.in, b.target, g, w)) - 4.159) <= 0.1);
  for (int step = 1; step <= 150; ++step) {
    forward_backward(s, p, b.in, b.target, g, w);
    clip_by_norm(g, 1.0);
    adamw_step({}, 1e-2f, step, g, p, m, v);
  }
  CHECK(forward_backward(s, p, b.in, b.target, g, w) < 0.05f);
}
