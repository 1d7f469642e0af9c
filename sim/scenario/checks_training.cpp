// Warnings about what is trained: fragments with nothing in them, short runs, texts read too often.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/scenario/balanced.hpp"
#include "sim/scenario/bind_training.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

constexpr double kFewestRounds = 50.0;  // outer rounds per fragment
constexpr double kMostEpochs = 4.0;

// Steps of one learner of the row until the stop rule, when chips alone count.
double steps_of(const Scenario& scenario, const Protocol& row) {
  double rate = 0.0;
  for (const int m : row.learners) rate += 1.0 / scenario.learners[static_cast<std::size_t>(m)].step_s;
  const auto learners = static_cast<double>(row.learners.size());
  double steps = rate / learners * scenario.stop.simulated_s;
  if (scenario.stop.tokens) {
    steps = std::min(steps,
                     *scenario.stop.tokens / (scenario.charged.tokens_per_learner_step * learners));
  }
  return steps / row.accumulate_steps;
}

// Fragments of the trained model follow the charged ones in number alone: a small model has few
// large tensors, and the fragments beyond them hold biases.
void warn_fragments(Binder& binder, const Protocol& row, const std::string& pointer) {
  const std::vector<double> sizes = trained_tensors(binder.scenario.training.model);
  const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  std::vector<double> held(static_cast<std::size_t>(row.fragments), 0.0);
  const std::vector<int> fragment_of = balanced_fragments(sizes, row.fragments);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    held[static_cast<std::size_t>(fragment_of[i])] += sizes[i];
  }
  const double least = *std::min_element(held.begin(), held.end());
  if (5.0 * least * row.fragments >= all) return;
  binder.warn("W20", pointer + ": of " + std::to_string(row.fragments) +
                         " fragments of the trained model the smallest holds " +
                         number_text(100.0 * least / all) +
                         " % of its parameters, under a fifth of the mean: train \"model\": "
                         "\"fragments24\" or use fewer fragments");
}

void warn_rounds(Binder& binder, const Protocol& row, const std::string& pointer) {
  const double rounds = steps_of(binder.scenario, row) / row.sync_period_steps;
  if (rounds >= kFewestRounds) return;
  binder.warn("W35", pointer + ": a short run, about " + number_text(std::floor(rounds)) +
                         " outer rounds per fragment; below " + number_text(kFewestRounds) +
                         " losses say little about the protocol");
}

// Tokens are at least a byte each, so this is the least that it can be. A row whose learners have a
// part each reads every part of its own as often.
void warn_epochs(Binder& binder) {
  const Training& training = binder.scenario.training;
  const double text = training.corpus_bytes * (1.0 - training.held_out_share);
  if (text <= 0.0) return;
  const double step = static_cast<double>(training.model.batch) * training.model.context;
  const bool parts = training.shards == Shards::kContiguous;
  const auto all = static_cast<double>(binder.scenario.learners.size());
  double most = 0.0;
  std::string of;
  for (const Protocol& row : binder.scenario.protocols) {
    const double steps =
        steps_of(binder.scenario, row) * row.accumulate_steps + training.warm_start_steps;
    const double readers = parts ? all : static_cast<double>(row.learners.size());
    const double epochs = steps * readers * step / text;
    if (epochs > most) {
      most = epochs;
      of = row.name;
    }
  }
  if (most <= kMostEpochs) return;
  binder.warn("W36", "/training/corpus: " + of + " reads the text " + number_text(std::round(10.0 * most) / 10.0) +
                         " times; beyond " + number_text(kMostEpochs) +
                         " epochs the order of protocols can turn");
}

}  // namespace

void warn_training(Binder& binder) {
  if (!binder.scenario.training.on) return;
  for (const Protocol& row : binder.scenario.protocols) {
    if (row.family != Family::kDiloco) continue;
    const std::string pointer = under("/protocols", row.name);
    warn_fragments(binder, row, pointer);
    warn_rounds(binder, row, pointer);
  }
  warn_epochs(binder);
}

}  // namespace skerry::reader
