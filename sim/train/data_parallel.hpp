// Replay of data-parallel tapes: one state, one step after the other, gradients side by side.
#pragma once

#include <functional>

#include "sim/tape/tape.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"

namespace skerry::train {

// Steps that were rolled back later are not trained and are not on the curve, which is one over net
// progress: a roll back gives back parameters, inner state and data cursor, so nothing else remains
// of them.
TrainResult replay_data_parallel(const Scenario& scenario, const Tape& tape, Trainer& trainer,
                                 const std::function<void(double)>& progress);

}  // namespace skerry::train
