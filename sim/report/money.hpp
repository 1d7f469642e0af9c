// Money and energy under the terminal table.
#pragma once

#include <string>
#include <vector>

#include "sim/report/results.hpp"

namespace skerry {

// Heads, then a line a protocol; empty when neither a cost nor an energy is known.
std::vector<std::vector<std::string>> money_cells(const Results& results,
                                                  const std::vector<Row>& rows);

// These as a table, then the cost by cause and what is not known; what is lacking alone when
// nothing is known. Ends with a line break.
std::string money_lines(const Results& results, const std::vector<Row>& rows);

}  // namespace skerry
