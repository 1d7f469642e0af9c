// Strict reading: text → JSON document → (spec) → resolved document → Scenario. See spec.hpp for
// the tree of keys that reader, schema, `explain` and the reference page share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace skerry {

// One --set /pointer=value. `value` is JSON when it parses as JSON, else a string.
struct Setting {
  std::string pointer;
  std::string value;
};

struct LoadOptions {
  std::vector<Setting> settings;  // applied against the schema, so defaults can be set too
  std::vector<std::string> only_protocols;  // --protocol; empty = all
  std::vector<std::uint64_t> seeds;         // --seed / --seeds; empty = the scenario's
  bool no_train = false;                    // --no-train: as if "training": false
};

struct Loaded {
  Scenario scenario;
  std::string
      resolved_json;  // canonical resolved copy: all defaults in, durations in _s, presets kept
                      // by name and spelt out; reading it again gives the same Scenario
  std::string hash8;  // 8 hex digits over resolved_json and the bytes of the files that it names
                      // (corpus, plans; of the corpus not the path): names the run folder
  std::uint64_t files_hash = 0;  // over the bytes of those files alone; 0 when there are none
};

// Reads a scenario file. Errors: BadInput (file, pointer, found, allowed, nearest). Nothing is
// allocated in proportion to numbers in the file before the limits below are checked.
Loaded load_scenario(const std::string& path, const LoadOptions& options = {});

// The same from text; `label` stands for the file in messages, relative paths are relative to
// `folder`.
Loaded load_scenario_text(const std::string& text, const std::string& label,
                          const std::string& folder, const LoadOptions& options = {});

// JSON Schema (draft 7) of scenario/1, made from the spec.
std::string scenario_schema_json();

// Text for `skerry explain /protocols/*/quorum`: meaning, unit, range, default. BadInput when
// unknown.
std::string explain_pointer(const std::string& pointer);

// scenarios/README.md: every key with unit, range and default.
std::string reference_page_markdown();

// Limits that protect the machine from strangers' files; each message states the estimate.
inline constexpr std::size_t kMaxFileBytes = 4u << 20;
inline constexpr int kMaxDepth = 32;
inline constexpr int kMaxLearners = 4096;
inline constexpr double kMaxFacts = 3e7;  // estimated facts of one run
inline constexpr double kMaxTrainedBytes = 8e9;

}  // namespace skerry
