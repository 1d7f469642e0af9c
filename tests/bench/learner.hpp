// What the kernel benchmarks share: the model shapes they time, a learner that trains one, clocks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/isa.hpp"
#include "kernels/model.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/parallel.hpp"

namespace bench {

using Floats = std::vector<float>;
using skerry::kernels::ModelShape;
using skerry::kernels::Workspace;

struct Preset {
  const char* name;
  ModelShape shape;
};

inline const Preset kPresets[] = {
    {"quick", {.L = 2, .C = 32, .H = 1, .T = 32, .V = 256, .B = 8}},
    {"default", {.L = 2, .C = 64, .H = 2, .T = 64, .V = 256, .B = 8}},
    {"large", {.L = 4, .C = 128, .H = 4, .T = 64, .V = 256, .B = 8}},
    {"fragments24", {.L = 6, .C = 48, .H = 1, .T = 64, .V = 256, .B = 8}},
    {"A", {.L = 4, .C = 128, .H = 4, .T = 128, .V = 256, .B = 8}},
    {"B", {.L = 6, .C = 384, .H = 6, .T = 256, .V = 256, .B = 4}},
    {"C", {.L = 2, .C = 64, .H = 2, .T = 64, .V = 256, .B = 8}},
};

// Six operations a parameter and token, and the scores and mixes of causal attention counted once.
inline double flops_per_token(const ModelShape& s) {
  return 6.0 * static_cast<double>(parameter_count(s)) + 6.0 * s.L * s.T * s.C;
}

inline double seconds_of(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double best_of(int times, auto&& work) {
  double best = 1e9;
  for (int i = 0; i < times; ++i)
    best = std::min(best, seconds_of(work));
  return best;
}

// What a thread needs to train any learner of one shape.
struct Work {
  Work(const ModelShape& part, std::size_t parameters) : space(part), gradient(parameters) {}
  Workspace space;
  Floats gradient;
};

// Forward, backward and AdamW on one fixed batch; gradients of `shards` parts of the batch are
// averaged in order.
class Learner {
 public:
  Learner(const ModelShape& s, int shards)
      : part_(s), shards_(shards), p_(parameter_count(s)), m_(p_.size()), v_(p_.size()) {
    part_.B = s.B / shards;
    if (shards > 1) gradients_.assign(static_cast<std::size_t>(shards), Floats(p_.size()));
    initialise(s, 1, p_);
    std::uint32_t random = 1;
    const auto token = [&] {
      random = random * 1664525u + 1013904223u;
      return static_cast<std::int32_t>((random >> 8) % static_cast<std::uint32_t>(s.V));
    };
    for (int i = 0; i < s.B * s.T; ++i) {
      in_.push_back(token());
      target_.push_back(token());
    }
  }

  Work work() const { return {part_, p_.size()}; }
  const Floats& parameters() const { return p_; }

  // On one thread.
  void step(Work& w) {
    steps_ += 1;
    if (shards_ == 1) {
      gradient(0, w.gradient, w);
    } else {
      for (int i = 0; i < shards_; ++i)
        gradient(i, gradients_[static_cast<std::size_t>(i)], w);
      average(w.gradient, 0, p_.size());
    }
    update(w.gradient, 0, p_.size());
  }

  // Shards, then slices of the parameters, in parallel: the same bits.
  void step(std::vector<Work>& work) {
    const int threads = static_cast<int>(work.size());
    steps_ += 1;
    skerry::kernels::parallel_for(shards_, threads, [&](int i, int worker) {
      gradient(i, gradients_[static_cast<std::size_t>(i)], work[static_cast<std::size_t>(worker)]);
    });
    constexpr std::size_t slice = 16384;
    const int slices = static_cast<int>((p_.size() + slice - 1) / slice);
    skerry::kernels::parallel_for(slices, threads, [&](int i, int) {
      const std::size_t from = static_cast<std::size_t>(i) * slice;
      const std::size_t size = std::min(slice, p_.size() - from);
      average(work[0].gradient, from, size);
      update(work[0].gradient, from, size);
    });
  }

 private:
  void gradient(int shard, Floats& out, Work& w) {
    const auto rows = static_cast<std::size_t>(part_.B * part_.T);
    const std::size_t from = static_cast<std::size_t>(shard) * rows;
    forward_backward(part_, p_, std::span(in_).subspan(from, rows),
                     std::span(target_).subspan(from, rows), out, w.space);
  }

  void average(Floats& mean, std::size_t from, std::size_t size) {
    const std::span<float> part = std::span(mean).subspan(from, size);
    std::fill(part.begin(), part.end(), 0.0f);
    for (const Floats& g : gradients_) {
      skerry::kernels::add_scaled(part, 1.0f / static_cast<float>(shards_),
                                  std::span(g).subspan(from, size));
    }
  }

  // A rate so small that the batch is not learnt by heart: its gradients would dwindle to numbers
  // below the normal ones, which are slow.
  void update(const Floats& g, std::size_t from, std::size_t size) {
    skerry::kernels::adamw_step(
        {}, 1e-7f, steps_, std::span(g).subspan(from, size), std::span(p_).subspan(from, size),
        std::span(m_).subspan(from, size), std::span(v_).subspan(from, size));
  }

  ModelShape part_;
  int shards_;
  Floats p_, m_, v_;
  std::vector<Floats> gradients_;  // of the shards, when there are several
  std::vector<std::int32_t> in_, target_;
  std::int64_t steps_ = 0;
};

inline Floats trained(const ModelShape& s, skerry::kernels::Isa isa) {
  skerry::kernels::select_isa(isa);
  Learner learner(s, 1);
  Work w = learner.work();
  for (int i = 0; i < 3; ++i)
    learner.step(w);
  return learner.parameters();
}

}  // namespace bench
