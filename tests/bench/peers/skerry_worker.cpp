// Our side of the comparison with other libraries: answers each line of its input with a line of
// JSON, so that versus.py can take turns between processes that stay warm.
//   check                                          same bits from both builds, whole steps
//   gemm                                           a few elements of one known product
//   peak ISA THREADS                               GFLOP/s, all threads at once
//   step CONFIG ISA LEARNERS SHARDS THREADS SECONDS   tokens a second
//   memory                                         largest resident size so far, in bytes
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <sys/resource.h>

#include "tests/bench/learner.hpp"
#include "tests/bench/peak.hpp"

namespace {

using namespace bench;
using namespace skerry::kernels;

Isa isa_of(const std::string& name) {
  return name == "avx2" ? Isa::kAvx2 : Isa::kAvx512;
}

ModelShape shape_of(const std::string& name) {
  for (const Preset& p : kPresets) {
    if (name == p.name) return p.shape;
  }
  throw std::invalid_argument("no such configuration: " + name);
}

void check() {
  const bool both = supported(Isa::kAvx512);
  bool same = true;
  for (const Preset& p : kPresets) {
    if (both && trained(p.shape, Isa::kAvx2) != trained(p.shape, Isa::kAvx512)) same = false;
  }
  std::printf("{\"avx512\": %s, \"same_bits\": %s}\n", both ? "true" : "false",
              same ? "true" : "false");
}

// As torch_worker.py has it: a(i,k) = (31i + 17k) mod 1000 / 1000 − ½, b(k,j) likewise with 23, 41.
void gemm() {
  constexpr int m = 96, n = 128, k = 200;
  Floats a, w, panel(n * k), c(m * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < k; ++j)
      a.push_back(static_cast<float>((31 * i + 17 * j) % 1000) / 1000.0f - 0.5f);
  }
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j < n; ++j)
      w.push_back(static_cast<float>((23 * i + 41 * j) % 1000) / 1000.0f - 0.5f);
  }
  ops().pack(w.data(), k, n, n, panel.data());
  Product p;
  p.m = m, p.n = n, p.k = k;
  p.a = a.data(), p.a_row = k, p.a_col = 1;
  p.b = panel.data(), p.b_row = 32, p.b_panel = Index{32} * k;
  p.c = c.data(), p.c_row = n;
  ops().product(p);
  std::printf("{\"c\": [");
  for (int i = 0; i < m * n; i += 101)
    std::printf("%s%.9g", i ? ", " : "", static_cast<double>(c[static_cast<std::size_t>(i)]));
  std::printf("]}\n");
}

void peak(std::istringstream& line) {
  std::string isa;
  int threads = 1;
  line >> isa >> threads;
  std::vector<double> loop(static_cast<std::size_t>(threads)), product(loop);
  parallel_for(threads, threads, [&](int i, int) {
    loop[static_cast<std::size_t>(i)] = fma_peak(isa_of(isa), 100);
    product[static_cast<std::size_t>(i)] = product_peak(isa_of(isa), 2000);
  });
  double loops = 0.0, products = 0.0;
  for (std::size_t i = 0; i < loop.size(); ++i) {
    loops += loop[i];
    products += product[i];
  }
  std::printf("{\"fma_loop\": %.1f, \"product\": %.1f}\n", loops / 1e9, products / 1e9);
}

// One learner: its shards are spread over the threads. More: side by side, each on one thread.
void step(std::istringstream& line) {
  std::string config, isa;
  int learners = 1, shards = 1, threads = 1;
  double wanted = 1.0;
  line >> config >> isa >> learners >> shards >> threads >> wanted;
  const ModelShape s = shape_of(config);
  select_isa(isa_of(isa));
  std::vector<Learner> all(static_cast<std::size_t>(learners), Learner(s, shards));
  std::vector<Work> work;
  for (int w = 0; w < threads; ++w)
    work.push_back(all[0].work());
  const auto round = [&](int steps) {
    if (learners == 1) {
      for (int k = 0; k < steps; ++k)
        threads == 1 ? all[0].step(work[0]) : all[0].step(work);
      return;
    }
    parallel_for(learners, threads, [&](int i, int worker) {
      for (int k = 0; k < steps; ++k)
        all[static_cast<std::size_t>(i)].step(work[static_cast<std::size_t>(worker)]);
    });
  };
  round(1);
  const double one = seconds_of([&] { round(1); });
  const int steps = std::max(1, static_cast<int>(wanted / 8 / one));
  double seconds = 0.0;
  int rounds = 0;
  for (; rounds == 0 || seconds < wanted; ++rounds)
    seconds += seconds_of([&] { round(steps); });
  std::printf("{\"tokens_per_s\": %.6g, \"flops_per_token\": %.6g}\n",
              static_cast<double>(rounds) * steps * learners * s.B * s.T / seconds,
              flops_per_token(s));
}

void memory() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  std::printf("{\"bytes\": %ld}\n", use.ru_maxrss * 1024);
}

}  // namespace

int main() {
  for (std::string text; std::getline(std::cin, text); std::fflush(stdout)) {
    std::istringstream line(text);
    std::string what;
    line >> what;
    if (what == "check") {
      check();
    } else if (what == "gemm") {
      gemm();
    } else if (what == "peak") {
      peak(line);
    } else if (what == "step") {
      step(line);
    } else if (what == "memory") {
      memory();
    } else {
      std::fprintf(stderr, "not understood: %s\n", text.c_str());
      return 2;
    }
  }
}
