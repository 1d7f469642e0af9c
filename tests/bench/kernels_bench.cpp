// Speed of the training kernels: tokens a second of a whole step (forward, backward, clipping,
// AdamW), and the share of the processor's multiply-add peak that the useful arithmetic reaches;
// peak = the better of an FMA loop and the best matrix product, measured in the same run. Before
// any clock starts, both builds of the kernels must give the same bits.
//
//   kernels_bench --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdio>
#include <immintrin.h>
#include <string>
#include <vector>

#include "kernels/isa.hpp"
#include "kernels/model.hpp"
#include "kernels/ops.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/parallel.hpp"

namespace {

using namespace skerry::kernels;
using Floats = std::vector<float>;

struct Preset {
  const char* name;
  ModelShape shape;
};

const Preset kPresets[] = {
    {"quick", {.L = 2, .C = 32, .H = 1, .T = 32, .V = 256, .B = 8}},
    {"default", {.L = 2, .C = 64, .H = 2, .T = 64, .V = 256, .B = 8}},
    {"large", {.L = 4, .C = 128, .H = 4, .T = 64, .V = 256, .B = 8}},
    {"fragments24", {.L = 6, .C = 48, .H = 1, .T = 64, .V = 256, .B = 8}},
    {"A", {.L = 4, .C = 128, .H = 4, .T = 128, .V = 256, .B = 8}},
    {"B", {.L = 6, .C = 384, .H = 6, .T = 256, .V = 256, .B = 4}},
};

// Six operations a parameter and token, and the scores and mixes of causal attention counted once.
double flops_per_token(const ModelShape& s) {
  return 6.0 * static_cast<double>(parameter_count(s)) + 6.0 * s.L * s.T * s.C;
}

double seconds_of(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_of(int times, auto&& work) {
  double best = 1e9;
  for (int i = 0; i < times; ++i)
    best = std::min(best, seconds_of(work));
  return best;
}

constexpr int kChains = 12, kRounds = 20000;

__attribute__((target("avx512f"))) void fma_loop_avx512(float* out) {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i)
    sums[i] = _mm512_set1_ps(out[i]);
  const __m512 x = _mm512_set1_ps(out[0]), y = _mm512_set1_ps(out[1]);
  for (int r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i)
      sums[i] = _mm512_fmadd_ps(sums[i], x, y);
  }
  for (int i = 0; i < kChains; ++i)
    _mm512_storeu_ps(out + 16 * i, sums[i]);
}

__attribute__((target("avx2,fma"))) void fma_loop_avx2(float* out) {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i)
    sums[i] = _mm256_set1_ps(out[i]);
  const __m256 x = _mm256_set1_ps(out[0]), y = _mm256_set1_ps(out[1]);
  for (int r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i)
      sums[i] = _mm256_fmadd_ps(sums[i], x, y);
  }
  for (int i = 0; i < kChains; ++i)
    _mm256_storeu_ps(out + 16 * i, sums[i]);
}

double fma_peak(Isa isa) {
  // Chains that differ, and that all end in memory: else the compiler drops all but one.
  float out[16 * kChains];
  for (int i = 0; i < 16 * kChains; ++i)
    out[i] = 0.9f - 1e-4f * static_cast<float>(i);
  const double s =
      best_of(50, [&] { isa == Isa::kAvx2 ? fma_loop_avx2(out) : fma_loop_avx512(out); });
  benchmark::DoNotOptimize(out);
  return 2.0 * kChains * kRounds * (isa == Isa::kAvx2 ? 8 : 16) / s;
}

double product_peak(Isa isa) {
  const int m = 252, n = 128, k = 256;
  Floats a(m * k, 0.5f), b(n * k, 0.25f), c(m * n);
  Product p;
  p.m = m, p.n = n, p.k = k;
  p.a = a.data(), p.a_row = k, p.a_col = 1;
  p.b = b.data(), p.b_row = 32, p.b_panel = Index{32} * k;
  p.c = c.data(), p.c_row = n;
  return 2.0 * m * n * k / best_of(50, [&] { ops(isa).product(p); });
}

double peak(Isa isa) {
  static double known[2] = {0.0, 0.0};
  double& flops = known[isa == Isa::kAvx2 ? 0 : 1];
  if (flops == 0.0) flops = std::max(fma_peak(isa), product_peak(isa));
  return flops;
}

class Learner {
 public:
  explicit Learner(const ModelShape& s)
      : shape_(s), p_(parameter_count(s)), g_(p_.size()), m_(p_.size()), v_(p_.size()) {
    initialise(s, 1, p_);
    for (int i = 0; i < s.B * s.T; ++i) {
      in_.push_back((i * 7919) % 97 % s.V);
      target_.push_back(((i + 1) * 7919) % 97 % s.V);
    }
  }
  void step(Workspace& w) {
    forward_backward(shape_, p_, in_, target_, g_, w);
    clip_by_norm(g_, 1.0);
    adamw_step({}, 1e-3f, ++steps_, g_, p_, m_, v_);
  }
  const Floats& parameters() const { return p_; }

 private:
  ModelShape shape_;
  Floats p_, g_, m_, v_;
  std::vector<std::int32_t> in_, target_;
  std::int64_t steps_ = 0;
};

Floats trained(const ModelShape& s, Isa isa) {
  select_isa(isa);
  Learner learner(s);
  Workspace w(s);
  for (int i = 0; i < 3; ++i)
    learner.step(w);
  return learner.parameters();
}

// Learners side by side, one step each a round.
void train_step(benchmark::State& state, const ModelShape& s, Isa isa, int learners, int threads) {
  select_isa(isa);
  std::vector<Learner> all(static_cast<std::size_t>(learners), Learner(s));
  std::vector<Workspace> work;
  for (int w = 0; w < threads; ++w)
    work.emplace_back(s);
  constexpr int steps = 10;
  double seconds = 0.0;
  for (auto _ : state) {
    seconds += seconds_of([&] {
      parallel_for(learners, threads, [&](int i, int worker) {
        for (int k = 0; k < steps; ++k) {
          all[static_cast<std::size_t>(i)].step(work[static_cast<std::size_t>(worker)]);
        }
      });
    });
  }
  const double tokens = static_cast<double>(state.iterations()) * steps * learners * s.B * s.T;
  const double flops = tokens * flops_per_token(s) / seconds;
  state.counters["tokens/s"] = tokens / seconds;
  state.counters["Gflop/s"] = flops / 1e9;
  state.counters["peak_share"] = flops / (peak(isa) * threads);
}

void register_all(Isa isa) {
  for (const Preset& p : kPresets) {
    for (const auto& [learners, threads] : {std::pair{1, 1}, std::pair{2, 2}, std::pair{16, 2}}) {
      const std::string name =
          std::string("step/").append(p.name).append("/").append(isa_name(isa)) +
          "/learners:" + std::to_string(learners) + "/threads:" + std::to_string(threads);
      benchmark::RegisterBenchmark(
          name.c_str(), [=, shape = p.shape, l = learners, t = threads](
                            benchmark::State& state) { train_step(state, shape, isa, l, t); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::vector<Isa> builds{Isa::kAvx2};
  if (supported(Isa::kAvx512)) builds.push_back(Isa::kAvx512);
  for (const Preset& p : kPresets) {
    if (trained(p.shape, builds.front()) == trained(p.shape, builds.back())) continue;
    std::fprintf(stderr, "%s: the builds give different bits\n", p.name);
    return 1;
  }
  for (const Isa isa : builds) {
    std::printf("%s peak: %.1f GFLOP/s a core (FMA loop %.1f, product %.1f)\n",
                isa_name(isa).data(), peak(isa) / 1e9, fma_peak(isa) / 1e9,
                product_peak(isa) / 1e9);
    register_all(isa);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
