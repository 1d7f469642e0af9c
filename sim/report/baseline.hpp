// Numbers of finished runs in a form that can be kept and set beside others: what `compare` and
// `diff` read of run folders, sweep folders and baseline files (results/baseline/NAME.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skerry {

enum class ToleranceKind { kExact, kAbsolute, kRelative };

// |new − old| may be at most `size`, or `size` × the larger of |old| and |new|. Null and a number
// are always apart.
struct Tolerance {
  ToleranceKind kind = ToleranceKind::kExact;
  double size = 0;
};

// By metric, or by pattern with '*'; the first that fits counts.
using Tolerances = std::vector<std::pair<std::string, Tolerance>>;

// Counts exact; losses relative 1e-6; closures of the books absolute 1e-9; all else relative 1e-9.
Tolerance default_tolerance(const std::string& metric);
std::string tolerance_text(const Tolerance& tolerance);  // "exact", "abs 1e-09", "rel 1e-06"

// The numbers and nulls of one summary by dotted path, in the order of the file. Rows per learner,
// device and link, texts and fingerprints are left out. A failed run has none.
struct KeptRun {
  std::string row;  // the protocol; in a sweep the axes before it, "chips=32 learners=4 diloco"
  std::uint64_t seed = 0;
  std::string status;
  std::vector<std::pair<std::string, std::optional<double>>> metrics;
  std::string tape;  // fingerprint; empty in baselines: it moves with any field that a tape gains
};

struct Numbers {
  std::string label;   // the path it was read from
  std::string schema;  // "run/1", "sweep/1" or "baseline/1"
  std::string scenario, hash;
  std::vector<std::uint64_t> seeds;
  std::vector<KeptRun> runs;
  Tolerances tolerances;  // of a baseline
  std::string inputs;     // JSON text of what was asked; empty in baselines
};

// "PROTOCOL/seed-N" of every run, in the order of the table, from a comparison.json. BadInput.
std::vector<std::string> runs_of_comparison(const std::string& comparison_json,
                                            const std::string& label);

// From comparison.json, the summary.json of those runs and scenario.resolved.json. Nothing is read
// as a scenario, so that folders stay readable when keys change or files that they name are gone.
Numbers numbers_of_run(const std::string& comparison_json,
                       const std::vector<std::string>& summaries, const std::string& inputs,
                       const std::string& folder);

// From manifest.json, sweep.json, table.csv and the joined lines of runs*.jsonl. table.csv says
// which points belong to the design as it is now and in which combinations each stands; of one id
// the last line with status "ok" counts, else its last line; a line that is cut short or damaged is
// left out. The hash is over sweep.json without its `about`. BadInput for anything else, and for a
// sweep that has not ended.
Numbers numbers_of_sweep(const std::string& manifest_json, const std::string& sweep_json,
                         const std::string& table_csv, const std::string& lines,
                         const std::string& folder);

// {"skerry":"baseline/1","scenario","hash","seeds","rows":{ROW:{"seed-1":{"status","metric":…}}},
//  "tolerances":{…}}. Read strictly: BadInput with the pointer.
std::string baseline_to_json(const Numbers& numbers);
Numbers baseline_from_json(const std::string& text, const std::string& label);

// {"loss.*": {"relative": 1e-3}, "faults.hit": "exact", "goodput": {"absolute": 0.01}}
Tolerances tolerances_from_json(const std::string& text, const std::string& label);

// What the member `skerry` of a JSON text says; empty when it says nothing.
std::string schema_of_json(const std::string& text);

}  // namespace skerry
