// manifest.json: how a run folder came about. The only file that differs between repeats of a run.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace skerry {

struct Failure {
  std::string run;      // "decoupled_diloco/seed-3"
  int exit_code = 0;    // 3 or 4
  std::string message;  // with the end of the child's log
};

struct Manifest {
  std::string scenario, hash;
  bool complete = true;  // false: some runs failed
  std::vector<Failure> failures;
  std::vector<std::string> command;  // as it was typed
  std::string machine;               // system, processor, cores
  std::string isa;
  std::string began, ended;  // UTC, ISO 8601
  std::string tapes_from;    // run folder whose tapes were replayed; empty: simulated here
  std::vector<std::pair<std::string, double>> wall_s;  // per run
};

// Adds what the build knows: versions, compiler, commit.
std::string manifest_to_json(const Manifest& manifest);

struct StoredRun {
  std::string hash, commit, ended;
  bool complete = false;
};
// BadInput "label: …" for anything that manifest_to_json did not write.
StoredRun manifest_from_json(const std::string& text, const std::string& label);

std::string build_commit();  // "unknown" when it was not built from a repository
std::string version_text();  // "skerry 0.1.0 (commit …), SimGrid 3.32, …"

}  // namespace skerry
