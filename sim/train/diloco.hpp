// Replay of the DiLoCo family: learners side by side, rounds in the order of the tape.
#pragma once

#include <functional>

#include "sim/tape/tape.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"

namespace skerry::train {

TrainResult replay_diloco(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                          Trainer& trainer, const std::function<void(double)>& progress);

}  // namespace skerry::train
