// The parts of the terminal table around its rows. Every text ends with a line break, or is empty.
#pragma once

#include <string>
#include <vector>

#include "sim/report/results.hpp"

namespace skerry {

bool never_waits(const Protocol& protocol);  // its wan% is 0 by rule

std::string transport_text(const Transport& transport);
std::string fault_lines(const Results& results);
std::string notes(const Results& results, const std::vector<Row>& rows);

}  // namespace skerry
