// Replay of data-parallel tapes: one state, one step after the other, gradients side by side.
#pragma once

#include <string>

#include "sim/base/how_far.hpp"
#include "sim/tape/tape.hpp"
#include "sim/train/archive.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"

namespace skerry::train {

// BadInput "label: line N: …" when the steps of the tape do not fit together.
void check_data_parallel(const Tape& tape, const std::string& label);

// Steps that were rolled back later are not trained and are not on the curve, which is one over net
// progress: a roll back gives back parameters, inner state and data cursor, so nothing else remains
// of them.
//
// `label` names the tape in messages. `from`: the state of a snapshot, or null; the snapshot of a
// training that stopped holds the state alone.
TrainResult replay_data_parallel(const Scenario& scenario, const Protocol& protocol,
                                 const Tape& tape, Trainer& trainer,
                                 const OnProgress& progress,
                                 const std::string& label, Archive* from);

}  // namespace skerry::train
