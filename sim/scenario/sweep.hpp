// What a study asks: one scenario, axes that vary keys of it, and what to make of the results.
// Read as strictly as a scenario, from the tree of keys in spec_sweep.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"

namespace skerry {

struct SweepAxis {
  std::string name;
  std::vector<std::string> at;  // pointers into the scenario, '*' spelt out
  std::vector<std::string>
      values;  // JSON texts in order; of a random design, those that were drawn
};

// One choice of a value on every axis.
struct Combination {
  std::vector<std::string> values;  // JSON texts, one an axis
  std::vector<Setting> settings;    // what they change in the scenario
  std::vector<bool> skipped;        // one a row of Sweep::protocols
};

// Seeds 1, 2, … are added to a row until the 95 % interval of `metric` over seeds (Student t) is
// no wider than ± half_width.
struct Until {
  std::string metric;
  double half_width = 0;
  int min_seeds = 2, max_seeds = 2;
  std::string
      protocol;  // the row that decides for all rows of a combination; empty: each for itself
};

struct SweepTable {
  std::vector<std::string> rows;   // axes or "protocol"
  std::string columns;             // an axis or "protocol"; empty: one column
  std::vector<std::string> cells;  // metrics
};

struct Sweep {
  std::string name;   // the file's name without folder, .sweep.json and .json
  std::string label;  // the file, in messages
  std::string scenario_text, scenario_label, scenario_folder;  // --set is already in the text
  std::vector<std::string> protocols;                          // rows of the scenario, in its order
  std::string baseline;                                        // one of them
  std::vector<SweepAxis> axes;
  std::vector<Combination> combinations;  // distinct; grid: the first axis changes slowest
  std::vector<std::uint64_t> seeds;       // with `until`: 1 … max_seeds
  std::optional<Until> until;
  SweepTable table;  // every axis and "protocol" stand in it
  bool keep_tapes = false;
  bool keep_timelines = false;  // beside the tapes
  std::string resolved_json;  // the file again, with the scenario in it
};

inline constexpr std::size_t kMaxPoints = 200000;

// BadInput (file, pointer, found, allowed, nearest) for all that can be seen without loading the
// scenario of every combination.
Sweep load_sweep(const std::string& path, const std::vector<Setting>& settings);
Sweep load_sweep_text(const std::string& text, const std::string& label, const std::string& folder,
                      const std::vector<Setting>& settings);

// The scenario of one combination. `rows`: names of the rows to keep. BadInput names the
// combination.
Loaded load_combination(const Sweep& sweep, const Combination& combination,
                        const std::vector<std::string>& rows,
                        const std::vector<std::uint64_t>& seeds, bool no_train);

// What decides the numbers of one row of a loaded scenario, without names, texts, other rows,
// seeds.
struct RowKey {
  std::uint64_t timing = 0;    // all but /training
  std::uint64_t training = 0;  // /training as this row sees it
};
std::vector<RowKey> row_keys(const Loaded& loaded);  // one a protocol

// The study of one scenario against itself with each calibrated or assumed number × 0.8 and × 1.2:
// axes "key" and "factor" (the first combination changes nothing). `notes` says which were left
// out.
Sweep sensitivity_of(const Sweep& sweep, std::vector<std::string>& notes);

}  // namespace skerry
