// A whole scenario: all protocols and seeds in children, one run folder, one comparison.
#pragma once

#include <string>
#include <vector>

#include "sim/report/manifest.hpp"
#include "sim/report/results.hpp"
#include "sim/run/children.hpp"
#include "sim/scenario/load.hpp"

namespace skerry {

struct RunOptions {
  LoadOptions load;
  std::string out;  // the run folder; empty: results/runs/NAME-hash8
  int jobs = 0;     // 0: as many as there are cores
  int threads = 0;  // of each child; 0: chosen at its fork
  std::string isa;  // empty: the best one
  bool quiet = false;
  bool keep_tapes = true;  // false: smaller folders that cannot be trained again
  bool again = false;      // run although the folder holds a complete run of the same hash
  std::vector<std::string> command;  // as typed, for the manifest
};

struct Outcome {
  Results results;
  std::vector<Failure> failures;  // runs that failed; their rows are empty
  StoredRun stored;               // of a run found in place of a new one
  bool was_stored = false;
  bool written = false;  // false: nothing succeeded, so there is no folder
};

// Throws BadInput before anything is written, and when a child finds bad input; Interrupted.
Outcome run_scenario(const std::string& path, const RunOptions& options);

// The tapes of the run folder `run`, trained again: with other /training settings, or with the same
// ones into --out. `resume`: from the snapshots of its trainings that ended at stop_at_loss, to the
// end of the tape unless that is set again.
Outcome train_run(const std::string& run, const RunOptions& options, bool resume);

// Results from the files of a complete run folder. BadInput for anything else.
Results read_results(const std::string& folder);

// 4 or 3 when a run failed, 1 when an `expect` was missed, else 0.
int exit_code_of(const Outcome& outcome);

// Scenario with the lines of its plan files; BadInput.
Loaded load_with_plans(const std::string& path, const LoadOptions& options);
Loaded with_plans(Loaded loaded);

// Cores, children at once and their threads; BadInput when they do not go together. The kernels'
// ISA.
PoolOptions pool_options(const RunOptions& options);
void select_isa(const std::string& name);

// Seconds that `skerry plan` shows: to the end in simulated time, or what the tokens take at full
// strength (at most the cap).
double plan_horizon_s(const Scenario& scenario);

}  // namespace skerry
