// Replay of the DiLoCo family: learners side by side, rounds in the order of the tape.
#pragma once

#include <string>

#include "sim/base/how_far.hpp"
#include "sim/tape/tape.hpp"
#include "sim/train/archive.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"

namespace skerry::train {

// `label` names the tape in messages. `from`: the state of a snapshot, or null; the snapshot of a
// training that stopped holds the state alone.
TrainResult replay_diloco(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                          Trainer& trainer, const OnProgress& progress,
                          const std::string& label, Archive* from);

}  // namespace skerry::train
