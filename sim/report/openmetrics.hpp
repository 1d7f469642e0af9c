// Results as OpenMetrics text (the format of Prometheus, version 1.0.0): for collectors and
// dashboards.
#pragma once

#include <string>

#include "sim/report/results.hpp"

namespace skerry {

// Gauges skerry_*, units in the names, one sample a run with the labels scenario, protocol and seed
// (by cause: cause too). What a run does not have is left out; the last line is "# EOF".
std::string openmetrics_text(const Results& results);

// The value of a label: backslash, quote and line break as the format wants them.
std::string escaped_label(const std::string& text);

}  // namespace skerry
