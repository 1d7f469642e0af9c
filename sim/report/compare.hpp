// Regression: the numbers of a result against a baseline, each within its tolerance.
#pragma once

#include <string>
#include <vector>

#include "sim/report/baseline.hpp"

namespace skerry {

struct Moved {
  std::string row, metric;  // metric "status": the texts below
  std::uint64_t seed = 0;
  std::optional<double> before, now;
  std::string status_before, status_now;
  Tolerance tolerance;
  bool outside = false;
};

struct Compared {
  std::string name;                  // of the scenario
  std::string baseline, result;      // labels
  std::vector<std::string> differs;  // a sentence each; not empty: not comparable
  std::vector<Moved> moved;          // every value with other bits, in the order of the baseline
  std::size_t runs = 0, values = 0;  // compared on both sides
};

// Other inputs (scenario, seeds, hash) end the comparison there; rows, seeds of a row or metrics on
// one side alone are named and the rest is compared. `extra` goes before the baseline's own
// tolerances, those before the defaults. BadInput when a pattern of `extra` fits no metric.
Compared compare_numbers(const Numbers& before, const Numbers& now, const Tolerances& extra);

std::size_t outside_of(const Compared& compared);
int exit_code_of(const Compared& compared);  // 0 inside, 1 outside, 2 not comparable

// What differs, the table of what moved ('!' marks what is outside) and a line that sums up; at
// most 100 columns. Of very many the first and how many more; compared_junit has all.
std::string compared_text(const Compared& compared);

// {"skerry": "compare/1", "comparisons": [{"scenario", "baseline", "result", "verdict": "inside",
// "outside" or "not comparable", "differs", "runs", "values", "outside", "moved": [{"row", "seed",
// "metric", "outside", "old", "new", "tolerance"}]}]}
std::string compared_json(const std::vector<Compared>& all);

// One suite a comparison; one case a row and seed that is outside or, if all is well, the whole.
std::string compared_junit(const std::vector<Compared>& all);

}  // namespace skerry
