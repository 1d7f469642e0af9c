// What one child does: one protocol with one seed, from the scenario to the files of its folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/base/how_far.hpp"
#include "sim/report/record.hpp"
#include "sim/scenario/load.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

struct OneRun {
  int protocol = 0;      // index into Scenario::protocols
  std::size_t seed = 0;  // index into Scenario::seeds
  bool trained = false;
};

// Protocol by protocol, seeds in order. The first Training::seeds seeds are trained; the row
// `ideal` never.
std::vector<OneRun> runs_of(const Scenario& scenario);

std::string run_name(const Scenario& scenario, const OneRun& run);  // "decoupled_diloco/seed-3"

// The saved tape of that run of the folder with this hash. BadInput when there is none, when it is
// of another scenario, row or seed, or does not fit the scenario.
Tape read_tape(const Scenario& scenario, const std::string& hash, const OneRun& run,
               const std::string& path);

// A run that was played: its summary (without times to loss), its tape and, when trained, the
// curve.
struct Played {
  RunRecord record;
  Tape tape;
  std::vector<LossPoint> curve;
  std::vector<RoundFacts> rounds;
  std::string snapshot;  // of a training that ended at stop_at_loss
};

// Files of an earlier run of the same protocol and seed.
struct Earlier {
  std::string tape;      // empty: simulate
  std::string hash;      // of the scenario that the tape was made from
  std::string snapshot;  // empty, or no such file: train from the start
};

// Simulates, or reads the earlier tape (then only training can differ).
// `simulated` may be empty; it is called once the tape is there, before any training.
Played play(const Loaded& loaded, const OneRun& run, const Earlier& earlier, int threads,
            const std::function<void(const Tape&)>& simulated, const OnProgress& progress);

// The same, and writes summary.json (without times to loss), tape.jsonl, loss.csv and
// outer_steps.csv into `folder`, and snapshot.bin when there is a snapshot.
void play_one(const Loaded& loaded, const OneRun& run, const Earlier& earlier,
              const std::string& folder, int threads, bool keep_tape, const OnProgress& progress);

}  // namespace skerry
