// The same bits, whatever runs them: instruction set, threads, order of the learners.
#include <limits>
#include <numeric>

#include "kernels/ops.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/parallel.hpp"
#include "kernels/quantise.hpp"
#include "tests/kernels/support.hpp"

using namespace support;

namespace {

const ModelShape kShapes[] = {
    {.L = 2, .C = 32, .H = 1, .T = 32, .V = 256, .B = 8},
    {.L = 2, .C = 35, .H = 7, .T = 19, .V = 53, .B = 3},
    {.L = 1, .C = 72, .H = 3, .T = 48, .V = 97, .B = 7},
    {.L = 1, .C = 130, .H = 2, .T = 70, .V = 300, .B = 5},
};

std::uint64_t digest(const Floats& x, std::uint64_t seed) {
  for (const float v : x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    seed = mix(seed ^ bits);
  }
  return seed;
}

struct Learner {
  Floats p, g, m, v;
  std::uint64_t losses = 0;
};

void train(const ModelShape& s, Learner& l, std::uint64_t stream, int steps, Workspace& w) {
  const auto rows = static_cast<std::size_t>(s.B * s.T);
  for (int step = 1; step <= steps; ++step) {
    const std::uint64_t at = stream * 1000 + static_cast<std::uint64_t>(2 * step);
    Tokens target = hashed_tokens(at + 1, rows, s.V);
    target[3] = -1;
    const float loss = forward_backward(s, l.p, hashed_tokens(at, rows, s.V), target, l.g, w);
    l.losses = digest({loss}, l.losses);
    clip_by_norm(l.g, 0.5);
    adamw_step({}, 1e-2f, step, l.g, l.p, l.m, l.v);
  }
}

Learner fresh(const ModelShape& s) {
  const std::size_t n = parameter_count(s);
  Learner l{Floats(n), Floats(n), Floats(n), Floats(n), 0};
  initialise(s, 42, l.p);
  return l;
}

// Four learners, two rounds of a few steps, merged both ways.
std::uint64_t train_together(const ModelShape& s, int threads, bool backwards,
                             std::uint64_t& losses) {
  std::vector<Learner> learners(4, fresh(s));
  std::vector<Workspace> work;
  for (int w = 0; w < threads; ++w)
    work.emplace_back(s);
  Floats global = learners[0].p, outer(global.size()), momentum(global.size());
  for (int round = 0; round < 2; ++round) {
    parallel_for(4, threads, [&](int i, int worker) {
      const int l = backwards ? 3 - i : i;
      train(s, learners[static_cast<std::size_t>(l)], static_cast<std::uint64_t>(10 * round + l), 3,
            work[static_cast<std::size_t>(worker)]);
    });
    std::vector<Floats> moved;
    for (const Learner& l : learners) {
      moved.emplace_back(global.size());
      for (std::size_t i = 0; i < global.size(); ++i)
        moved.back()[i] = global[i] - l.p[i];
      quantise(round == 0 ? Precision::kBf16 : Precision::kInt4, moved.back());
    }
    const std::vector<std::span<const float>> views(moved.begin(), moved.end());
    const std::vector weights{1.0, 2.5, 0.5, 1.0 / 3.0};
    const auto merge = round == 0 ? merge_mean : merge_radial_directional;
    merge(views, weights, outer);
    nesterov_step(0.7f, 0.9f, outer, global, momentum);
    for (Learner& l : learners)
      l.p = global;
  }
  for (const Learner& l : learners)
    losses = mix(losses ^ l.losses);
  return digest(momentum, digest(global, 7));
}

}  // namespace

TEST_CASE("whole training: same bits for 1, 2, 4, 16 threads, any order, both builds") {
  for (const ModelShape& s : kShapes) {
    std::uint64_t losses = 0;
    const std::uint64_t good = train_together(s, 1, false, losses);
    for (const Isa isa : builds()) {
      const Selected selected(isa);
      for (const int threads : {1, 2, 4, 16}) {
        CAPTURE(isa_name(isa));
        CAPTURE(threads);
        std::uint64_t again = 0;
        CHECK(train_together(s, threads, threads == 2, again) == good);
        CHECK(again == losses);
      }
    }
  }
}

TEST_CASE("both builds give every gradient bit") {
  if (!supported(Isa::kAvx512)) {
    MESSAGE("SKIPPED: this processor or build has no AVX-512");
    return;
  }
  for (const ModelShape& s : kShapes) {
    const auto rows = static_cast<std::size_t>(s.B * s.T);
    const Floats p = hashed_parameters(s);
    Floats gradients[2];
    float losses[2];
    double sums[2];
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      const Selected selected(isa);
      const std::size_t i = isa == Isa::kAvx2 ? 0 : 1;
      gradients[i].resize(p.size());
      Workspace w(s);
      const Tokens in = hashed_tokens(1, rows, s.V), target = hashed_tokens(2, rows, s.V);
      losses[i] = forward_backward(s, p, in, target, gradients[i], w);
      sums[i] = forward_loss_sum(s, p, in, target, w);
    }
    CHECK(losses[0] == losses[1]);
    CHECK(sums[0] == sums[1]);
    CHECK(same_bits(gradients[0], gradients[1]));
  }
}

TEST_CASE("golden bits: this training ends in these parameters on every machine") {
  std::uint64_t losses = 0, all = 0;
  for (const ModelShape& s : kShapes)
    all = mix(all ^ train_together(s, 1, false, losses));
  CHECK(losses == 2185120280436688ULL);
  CHECK(all == 5112109630537154465ULL);
}

TEST_CASE("elementwise exponential of both builds, through softmax of far-apart logits") {
  for (const Isa isa : builds()) {
    Floats x;
    for (int i = 0; i < 4000; ++i)
      x.push_back(-static_cast<float>(i) * 0.025f);
    const Tokens target{0};
    float loss = 0.0f;
    const Floats before = x;
    ops(isa).cross_entropy(x.data(), 4000, target.data(), 1, 4000, 1.0f, &loss);
    double mass = 0.0;
    for (const float v : before)
      mass += std::exp(static_cast<double>(v));
    CHECK(std::abs(static_cast<double>(loss) - std::log(mass)) <= 1e-6);
    for (std::size_t i = 1; i < x.size(); ++i) {
      const double good = std::exp(static_cast<double>(before[i])) / mass;
      const double off = std::abs(static_cast<double>(x[i]) - good);
      CHECK((before[i] < -80.0f ? x[i] == 0.0f : off <= 4e-7 * good));
    }
  }
}
