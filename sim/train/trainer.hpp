// One replay's kernels at work: batches, learning rate, inner steps, warm start and held-out loss.
// Knows scenario and seed, but no tape.
//
// `number` is a learner's step number counted from the first step of the warm start: number =
// warm_start_steps + its step on the tape. Windows are a pure function of (learner, number), so
// whoever goes back to an earlier step gets its data cursor back with it, and what happens to one
// learner changes nothing of what another reads. The learning rate follows the tokens behind a
// state, which travel with it: a learner that lost slices is less far in its schedule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/model.hpp"
#include "kernels/optimizer.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/train/archive.hpp"
#include "sim/train/corpus.hpp"

namespace skerry::train {

// All that an inner optimizer step reads and writes, as flat arrays of parameter_count floats.
struct State {
  std::vector<float> parameters, moment1, moment2;
  std::int64_t adamw_steps = 0;  // since the moments were zero (bias correction)
  double full_steps = 0;  // its tokens since the first step of the warm start, in full batches
  void describe(Archive& a) { a(parameters, moment1, moment2, adamw_steps, full_steps); }
};

// What one learner trains on in one step: the first `tokens` of its B·T; the others are masked.
struct Batch {
  int learner = 0;
  int tokens = 0;
  int pass = 0;  // of the step's accumulate_steps, each with windows of its own
};

class Trainer {
 public:
  // Requires training.on. `horizon_steps`: learner steps of the run (the cosine ends there).
  // BadInput as load_corpus, and when gradient_shards does not divide the batch.
  Trainer(const Scenario& scenario, int protocol, std::uint64_t seed, double horizon_steps,
          int threads);

  const kernels::ModelShape& shape() const { return shape_; }
  const TrainingOfProtocol& optimizers() const { return optimizers_; }
  int threads() const { return threads_; }
  const Corpus& corpus() const { return corpus_; }
  std::int64_t warm_start_steps() const { return training_.warm_start_steps; }

  // Forward and backward passes of one step on the tape (data-parallel; else 1).
  int passes() const { return passes_; }

  // Trained tokens of a pass of `charged` tokens: the same share of B·T, rounded.
  int trained_tokens(double charged) const;

  // Of the step that brings a state to `full_steps`, with `share` of the tokens of a full one:
  // linear warm-up to `rate`, then a cosine down to final_rate_share × rate at the horizon, then
  // constant; times what rate_rule makes of the share.
  float rate(double full_steps, double share = 1.0) const;

  // State after the warm start: synchronous steps from kernels::initialise(seed), one full batch of
  // every learner of the scenario in each, whoever takes part in the protocol, with
  // training.warm_inner and no decay: all rows start from one state.
  State warm_start();

  // One inner step of one learner: gradient, clip, AdamW. Serial; one call at a time for each
  // worker.
  void step(State& state, std::int64_t number, Batch batch, int worker);

  // One step on the token-weighted mean gradient of several learners (in the order given), in
  // parallel, pass after pass, which together are `learners` × passes() full batches. With one
  // batch of one learner: the bits of step().
  void synchronous_step(State& state, std::int64_t number, const std::vector<Batch>& batches,
                        std::size_t learners);

  // Loss over the held-out windows in nats per byte, whatever the vocabulary: the sum of the losses
  // of their tokens over the bytes that these stand for. Batches in parallel, summed in order.
  double held_out_loss(std::span<const float> parameters);

  // Starts of the B windows of one pass, tokens of the corpus: the learner's own part of it, see
  // training.shards. Passes of the tape's step k are numbered on from the warm start: number
  // warm_start_steps + (k − 1)·passes() + pass + 1 of the stream (seed, learner).
  std::vector<std::size_t> window_starts(int learner, std::int64_t number, int pass) const;

  // Mean gradient of rows [shard·B/S, (shard+1)·B/S) of the learner's batch; returns the tokens
  // behind it.
  int shard_gradient(std::span<const float> parameters, std::int64_t number, Batch batch, int shard,
                     std::span<float> gradient, int worker);

 private:
  struct Worker {
    explicit Worker(const kernels::ModelShape& shape);
    kernels::Workspace workspace;
    std::vector<std::int32_t> inputs, targets;
    std::vector<float> gradient, shard;
  };

  void use(const InnerOptimizer& inner, double total_steps);
  void clip(std::span<float> gradient) const;
  int shard_tokens(const Batch& batch, int shard) const;
  void add_pass(const State& state, std::int64_t number, std::span<const Batch> batches,
                double all_tokens);

  Training training_;
  TrainingOfProtocol optimizers_;
  double tokens_per_learner_step_;
  std::uint64_t seed_;
  int threads_;
  int passes_;
  kernels::ModelShape shape_;
  kernels::ModelShape shard_shape_;  // B / S rows
  kernels::AdamW adamw_ = {};
  double total_steps_ = 0;  // warm start and horizon
  Corpus corpus_;
  double held_out_bytes_;             // behind the targets of one evaluation
  std::vector<std::string> streams_;  // purpose of each learner's random stream
  std::vector<Worker> workers_;
  // Of one pass of synchronous_step: learner-major, then shard.
  std::vector<std::vector<float>> gradients_;
  std::vector<float> mean_;  // of synchronous_step
  std::vector<double> window_sums_;
};

}  // namespace skerry::train
