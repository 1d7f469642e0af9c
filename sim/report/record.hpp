// One finished run (protocol × seed) and its file, summary.json: every number with its unit in the
// key, null for "not reached" and "not trained". Reading a written summary gives the same bits
// back.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/measure/summary.hpp"
#include "sim/train/replay.hpp"

namespace skerry {

// What the training fold gave; held-out nats per byte of the global model. A diverged run has no
// final loss (NaN).
struct TrainedLoss {
  double start = 0, final = 0, best = 0;
  int n = 0;                              // evaluations on the curve
  double outer_rounds = 0;                // outer steps per fragment, mean
  std::string fingerprint;                // of the global parameters at the end
  std::optional<double> bytes_per_token;  // of the held-out text; empty: a byte each
  std::optional<double> tuned_rate;       // inner learning rate from the table of tuned ones
};

struct RunRecord {
  Summary summary;
  std::optional<TrainedLoss> loss;       // empty: this run was not trained
  std::optional<double> target_loss;     // empty: no target could be worked out
  std::optional<double> time_to_loss_s;  // empty: not reached, or no target
  std::optional<double> tokens_to_loss;
  std::optional<double> cost_to_loss_usd;  // empty: not reached, or no price
  std::vector<std::string> warnings;  // of the scenario
  std::string failure;  // message of a run with status "failed"; its numbers mean nothing
};

inline bool failed(const RunRecord& record) {
  return record.summary.status == "failed";
}

// Keeps of a training result what the summary shows; a diverged one sets the status too and warns
// with the loss that was found, one that ended at stop_at_loss warns.
void set_training(RunRecord& record, const TrainResult& result, const Protocol& protocol);

// Share of all chip-seconds that went to one cause; 0 for an empty run.
double lost_share(const Summary& summary, Cause cause);

double wasted_chip_hours(const Summary& summary);  // of all causes

inline constexpr double kOtherFlag = 0.01;  // `other` above this share flags the run

std::string summary_to_json(const RunRecord& record);

// BadInput "label: …" for anything that summary_to_json did not write.
RunRecord summary_from_json(const std::string& text, const std::string& label);

// A dotted path into the summary, "chip_seconds.lost.down", "by_learner.west.1.goodput"; names of
// learners and devices may hold dots. `found` is false for a path that leads to no number or null.
struct Metric {
  bool found = false;
  std::optional<double> value;  // empty: null
};
Metric metric_of(const RunRecord& record, const std::string& path);

// All scalars of the summary in the order of the file, as (dotted path, text; empty = null). Rows
// per learner, device and wire and the warnings are left out.
std::vector<std::pair<std::string, std::string>> scalars_of(const RunRecord& record);

}  // namespace skerry
