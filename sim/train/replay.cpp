#include "sim/train/replay.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/train/causality.hpp"
#include "sim/train/data_parallel.hpp"
#include "sim/train/diloco.hpp"
#include "sim/train/plan.hpp"
#include "sim/train/snapshot.hpp"
#include "sim/train/trainer.hpp"

namespace skerry {

namespace {

std::string fingerprint_of(const std::vector<float>& parameters) {
  const std::string_view bytes(reinterpret_cast<const char*>(parameters.data()),
                               parameters.size() * sizeof(float));
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(hash64(bytes)));
  return text.data();
}

// Every step of the tape is really trained.
void check_steps(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                 const std::string& label) {
  std::vector<std::int64_t> steps(scenario.learners.size());
  for (const Fact& any : tape.facts) {
    if (const auto* f = std::get_if<fact::Steps>(&any)) {
      steps[static_cast<std::size_t>(f->learner)] += f->n * protocol.accumulate_steps;
    }
  }
  const std::int64_t most = *std::max_element(steps.begin(), steps.end());
  if (most <= scenario.training.steps_at_most) return;
  throw BadInput(label, "",
                 "found " + std::to_string(most) + " steps of a learner of " + protocol.name +
                     ", allowed " + std::to_string(scenario.training.steps_at_most) +
                     " to be trained: shorten the run, or raise /training/steps_at_most");
}

}  // namespace

void check_causality(const Scenario& scenario, int index, const Tape& tape,
                     const std::string& label) {
  check_tape_fits(tape, scenario, label);
  train::check_dates(tape, label);
  if (scenario.protocols.at(static_cast<std::size_t>(index)).family == Family::kDataParallel) {
    train::check_data_parallel(tape, label);
  } else {
    train::make_plan(scenario, tape, label);
  }
}

TrainResult replay(const Scenario& scenario, int index, const Tape& tape, int threads,
                   const OnProgress& progress, const ReplayOptions& options) {
  SKERRY_CHECK(scenario.training.on, "a replay without training");
  const Protocol& protocol = scenario.protocols.at(static_cast<std::size_t>(index));
  SKERRY_CHECK(tape.start.protocol == protocol.name,
               "a tape of " + tape.start.protocol + " for " + protocol.name);
  check_tape_fits(tape, scenario, options.label);
  train::check_dates(tape, options.label);
  check_steps(scenario, protocol, tape, options.label);
  train::Trainer trainer(scenario, index, tape.start.seed, tape.start.horizon_steps, threads);
  const bool going_on = !options.snapshot.empty();
  train::Header header;
  if (going_on || scenario.training.stop_at_loss) {
    header = train::header_of(scenario, index, tape, trainer);
  }
  train::Archive from;
  if (going_on) {
    from = {train::state_in(options.snapshot, options.snapshot_label, header),
            options.snapshot_label};
  }
  train::Archive* const state = going_on ? &from : nullptr;
  TrainResult result =
      protocol.family == Family::kDataParallel
          ? train::replay_data_parallel(scenario, protocol, tape, trainer, progress, options.label,
                                        state)
          : train::replay_diloco(scenario, protocol, tape, trainer, progress, options.label, state);
  if (result.stopped) {
    result.snapshot = train::snapshot_of(std::move(header), std::move(result.snapshot));
  }
  result.bytes_per_token = trainer.corpus().held_out_bytes_per_token;
  result.fingerprint = fingerprint_of(result.parameters);
  const InnerOptimizer& inner = trainer.optimizers().inner;
  if (inner.tuned) result.tuned_rate = inner.rate;
  return result;
}

std::optional<LossPoint> first_at_or_below(const std::vector<LossPoint>& curve, double target) {
  for (const LossPoint& point : curve) {
    if (point.loss <= target) return point;
  }
  return std::nullopt;
}

}  // namespace skerry
