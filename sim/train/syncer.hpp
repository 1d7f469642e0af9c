// The syncer's half of the DiLoCo family: its parameters, and how learners' copies move them.
#pragma once

#include <vector>

#include "kernels/model.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/train/archive.hpp"
#include "sim/train/plan.hpp"
#include "sim/train/replay.hpp"

namespace skerry::train {

using Fragment = std::vector<kernels::TensorInfo>;

// Whole tensors, balanced by size. BadInput: a model of fewer tensors than fragments.
std::vector<Fragment> trained_fragments(const kernels::ModelShape& shape, const Protocol& protocol);

// The fragment's tensors, one after the other, and back.
std::vector<float> gather(const Fragment& fragment, const std::vector<float>& parameters);
void scatter(const Fragment& fragment, const std::vector<float>& flat,
             std::vector<float>& parameters);

// An overwrite: own parameters θ become alpha·θ + (1 − alpha)·version; alpha 0: the version's bits.
void mix(const Fragment& fragment, const std::vector<float>& version, double alpha,
         std::vector<float>& parameters);

class Syncer {
 public:
  Syncer(const TrainingOfProtocol& training, std::size_t learners, std::size_t fragments,
         int threads);

  void start(std::vector<float> parameters);
  const std::vector<float>& parameters() const { return global_; }
  std::vector<float> take() { return std::move(global_); }

  // One outer step: copies[i] is the fragment of contribution i at its pull; it becomes the outer
  // gradient, own parameters − copy (+ what rounding took from the learner's last one), rounded
  // tensor by tensor, and these are merged. Requires a contribution.
  RoundFacts step(const Fragment& fragment, const Round& round,
                  std::vector<std::vector<float>>& copies);

  void describe(Archive& a);

 private:
  struct Residual {  // of one learner and fragment
    std::uint64_t life = 0;
    std::vector<float> left;  // empty: none yet
    void describe(Archive& a) { a(life, left); }
  };

  void to_gradient(const Fragment& fragment, const Round& round, std::size_t i,
                   std::vector<float>& copy);
  void merge(const Fragment& fragment, const Round& round,
             const std::vector<std::vector<float>>& gradients);

  const TrainingOfProtocol& training_;
  std::size_t fragments_;
  int threads_;
  std::vector<float> global_, momentum_, outer_gradient_;
  std::vector<Residual> residuals_;  // learner-major
};

}  // namespace skerry::train
