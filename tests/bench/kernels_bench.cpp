// Speed of the training kernels: tokens a second of a whole step (forward, backward, AdamW), and
// the share of the processor's multiply-add peak that the useful arithmetic reaches; peak = the
// better of an FMA loop and the best matrix product, measured in the same run. Before any clock
// starts, both builds of the kernels must give the same bits.
//
//   kernels_bench --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
#include <benchmark/benchmark.h>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/learner.hpp"
#include "tests/bench/peak.hpp"

namespace {

using namespace bench;
using namespace skerry::kernels;

double peak(Isa isa) {
  static double known[2] = {0.0, 0.0};
  double& flops = known[isa == Isa::kAvx2 ? 0 : 1];
  if (flops == 0.0) flops = std::max(fma_peak(isa, 50), product_peak(isa, 50));
  return flops;
}

// Learners side by side, one step each a round.
void train_step(benchmark::State& state, const ModelShape& s, Isa isa, int learners, int threads) {
  select_isa(isa);
  std::vector<Learner> all(static_cast<std::size_t>(learners), Learner(s, 1));
  std::vector<Work> work;
  for (int w = 0; w < threads; ++w)
    work.push_back(all[0].work());
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
                isa_name(isa).data(), peak(isa) / 1e9, fma_peak(isa, 50) / 1e9,
                product_peak(isa, 50) / 1e9);
    register_all(isa);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
