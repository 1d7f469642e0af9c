// manifest.json of a sweep's folder: how it came about. The only file beside runs*.jsonl that
// differs between two ways to the same results.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace skerry {

struct SweepManifest {
  std::string sweep;  // its name: whose folder this is
  int numbers_version = 0;
  std::size_t points = 0, ok = 0, failed = 0;  // of the design as it is now
  std::vector<std::string> command;
  std::string machine, isa;
  std::string began, ended;  // UTC; ended is empty while it runs
  std::string tables;        // what the tables were made from; empty: not known
};

std::string sweep_manifest_to_json(const SweepManifest& manifest);

// Name of the sweep. BadInput "label: …" for anything that sweep_manifest_to_json did not write.
std::string sweep_of_manifest(const std::string& text, const std::string& label);

std::string tables_of_manifest(const std::string& text);  // empty when there is nothing of the kind

// Are two resolved sweeps (Sweep::resolved_json) one study that was grown or edited? At least one
// axis (name and pointers) and half of the values that the first one's scenario had are the same.
// True where one is no JSON with both: it says nothing.
bool same_study(const std::string& before, const std::string& now);

// What --dry-run, --status and a finished sweep say with --json.
struct SweepCounts {
  std::string sweep, folder;
  std::size_t points = 0, ok = 0, failed = 0, missing = 0;
  std::size_t to_run = 0;        // by this shard, with --retry-failed the failed ones too
  std::optional<double> left_s;  // wall time that those may take; empty: not asked
  bool measured = false;         // from points that have run, else a rough guess
};
std::string sweep_counts_json(const SweepCounts& counts);

}  // namespace skerry
