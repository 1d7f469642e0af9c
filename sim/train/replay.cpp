#include "sim/train/replay.hpp"

#include <array>
#include <cstdio>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/train/data_parallel.hpp"
#include "sim/train/diloco.hpp"
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

}  // namespace

TrainResult replay(const Scenario& scenario, int index, const Tape& tape, int threads,
                   const std::function<void(double)>& progress) {
  SKERRY_CHECK(scenario.training.on, "a replay without training");
  const Protocol& protocol = scenario.protocols.at(static_cast<std::size_t>(index));
  SKERRY_CHECK(tape.start.protocol == protocol.name,
               "a tape of " + tape.start.protocol + " for " + protocol.name);
  check_tape_fits(tape, scenario, "tape");
  train::Trainer trainer(scenario, index, tape.start.seed, tape.start.horizon_steps, threads);
  TrainResult result = protocol.family == Family::kDataParallel
                           ? train::replay_data_parallel(scenario, tape, trainer, progress)
                           : train::replay_diloco(scenario, protocol, tape, trainer, progress);
  result.bytes_per_token = trainer.corpus().held_out_bytes_per_token;
  result.fingerprint = fingerprint_of(result.parameters);
  return result;
}

std::optional<LossPoint> first_at_or_below(const std::vector<LossPoint>& curve, double target) {
  for (const LossPoint& point : curve) {
    if (point.loss <= target) return point;
  }
  return std::nullopt;
}

}  // namespace skerry
