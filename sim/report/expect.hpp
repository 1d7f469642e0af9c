// A scenario's own claims, `expect`, against its results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/record.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

enum class Verdict { kMet, kMissed, kNotApplied };

struct Judged {
  Expect expect;
  Verdict verdict = Verdict::kNotApplied;
  std::optional<double> value;  // mean over seeds, or the paired ratio or difference
  std::string note;             // why it was not applied, or why there is no value
};

// Values are means over seeds; a ratio is the geometric mean of the ratios paired by seed, a
// difference the mean of the paired differences. Losses and times to loss are taken over the
// trained seeds. A null counts as missed. `applied` false: the command changed the scenario, so its
// claims are not about this run.
std::vector<Judged> judge(const Scenario& scenario, const std::vector<RunRecord>& records,
                          bool applied);

// "met  decoupled.goodput / data_parallel = 21.6, allowed 20 … : why"
std::string judged_line(const Judged& judged);

std::string verdict_name(Verdict verdict);

}  // namespace skerry
