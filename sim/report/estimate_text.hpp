// `skerry estimate` for people and for programs: the same names, the same order. Absent: has no
// meaning for the row; null and "-": never, or without a limit.
#pragma once

#include <string>

#include "sim/cost/estimate.hpp"

namespace skerry {

// At most 100 columns; ends with a line break. Long lists of ports and links are cut, and say so.
std::string estimate_text(const Scenario& scenario, const Estimate& estimate);

// {"skerry": "estimate/1", "scenario", "model", "rows": {NAME: {SECTION: {KEY: number}}}, …}.
std::string estimate_json(const Scenario& scenario, const Estimate& estimate);

}  // namespace skerry
