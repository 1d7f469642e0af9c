// The training fold: the kernels replay a tape. The tape decides who steps, on how many tokens, who
// is merged with which weight, who is overwritten, rolled back or copied; the kernels give the
// loss.
//
// One tape step is one trained step. The same tape, training settings and build give the same bits
// for every number of threads and every vector width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/how_far.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

struct LossPoint {
  double simulated_s = 0;
  double tokens = 0;          // charged, net
  double trained_tokens = 0;  // of the same steps; the warm start does not count
  double loss = 0;            // held-out, nats per byte, of the global model
  template <class Archive>
  void describe(Archive& a) {
    a(simulated_s, tokens, trained_tokens, loss);
  }
};

// What explains an outer step: 2-norms over the fragment, of what arrived (rounded).
struct RoundFacts {
  std::int64_t clock = 0;
  int fragment = 0;
  double merged_norm = 0;  // of the merged outer gradient
  double mean_norm = 0;    // of the learners' outer gradients
  double mean_cosine = 0;  // over all pairs of learners; NaN with fewer than two that moved
  template <class Archive>
  void describe(Archive& a) {
    a(clock, fragment, merged_norm, mean_norm, mean_cosine);
  }
};

struct TrainResult {
  std::vector<LossPoint> curve;           // first point at t = 0 (after the warm start)
  bool diverged = false;                  // a loss was not finite: the curve ends before it
  LossPoint not_finite;                   // that point, when diverged
  double start = 0, final = 0, best = 0;  // of the curve's points; 0 without any
  bool stopped = false;                   // stop_at_loss was reached with steps left to train
  std::string snapshot;                   // then: to go on from
  std::vector<RoundFacts> rounds;         // outer steps that moved something, in order
  std::vector<float> parameters;          // of the global model at the end
  std::string fingerprint;                // 16 hex digits over `parameters`
  double bytes_per_token = 1;             // of the held-out text
  std::optional<double> tuned_rate;       // inner.rate, when it came from the table
  double outer_rounds = 0;                // outer steps that moved something, per fragment, mean
};

// Refuses a tape that no run can have written: dates that run backwards, an overwrite before its
// outer step, a pull of a step not done, a merge of fragments nobody pulled, steps missing or
// twice. BadInput "label: line N: …", N the line of its file. Requires a tape of that protocol.
void check_causality(const Scenario& scenario, int index, const Tape& tape,
                     const std::string& label);

// Points stand at t = 0, at the first state at or after each k/evaluations of the net charged
// tokens, and at the last state; a state is an outer step of the DiLoCo family, a step of
// data-parallel. Steps that a roll back undid are on no curve.
//
// Training ends early at the first point at or below training.stop_at_loss. A replay that goes on
// from that snapshot gives the bits of one that never ended, `snapshot` and the settings that bear
// on no bit of it aside.
//
// `index` is the protocol's index in the scenario (its TrainingOfProtocol). `progress` may be
// empty; it is called with the share done in [0, 1]. Requires training.on and a tape of that
// protocol. BadInput: a corpus that cannot be used, a model of fewer tensors than the protocol has
// fragments, gradient_shards that do not divide the batch, a tape with more than steps_at_most
// steps of a learner or whose facts do not fit together (with its line), a snapshot of something
// else.
struct ReplayOptions {
  std::string label = "tape";  // of the tape in messages
  std::string snapshot;        // its bytes; empty: from the start
  std::string snapshot_label = "snapshot";
};
TrainResult replay(const Scenario& scenario, int index, const Tape& tape, int threads,
                   const OnProgress& progress, const ReplayOptions& options = {});

// First point at or below the target, null when never reached.
std::optional<LossPoint> first_at_or_below(const std::vector<LossPoint>& curve, double target);

}  // namespace skerry
