// `skerry sweep`: the points of a study in forked children, one folder that grows, tables from it.
#pragma once

#include <string>

#include "sim/run/commands.hpp"

namespace skerry {

struct SweepOptions {
  std::string file;
  RunOptions run;     // load.settings, out, jobs, threads, isa, quiet, command
  std::string shard;  // "I/N", 1-based; empty: all points
  bool dry_run = false, status = false, retry_failed = false, fail_fast = false,
       sensitivity = false;
  double limit_s = 0;  // wall time of one point; 0: none
  bool json = false;
  std::string program;
};

// Exit code: 0 all points of this shard are there, 5 some failed or could not be written. BadInput
// before the first run; Interrupted when what had finished is written.
int sweep_command(const SweepOptions& options);

}  // namespace skerry
