// Money and energy under the terminal table.
#pragma once

#include <string>
#include <vector>

#include "sim/report/results.hpp"

namespace skerry {

// A row a protocol, then the cost by cause and what is not known; one line when nothing is known.
// Ends with a line break.
std::string money_lines(const Results& results, const std::vector<Row>& rows);

}  // namespace skerry
