// Mean rates of the links of one run over equal parts of a window, so that over the whole run they
// add up to the bytes that the tape has for each link.
//
// Dated are the exchanges that ended (evenly over their last attempt), data-parallel steps, and the
// copies of returning learners. What a link moved beside them has no date: exchanges cut or begun
// anew, what shards fetch before they return, and what was on the wire at the end. It is spread
// over the spans in which these can have been. A part that has no room in its span within the
// capacity of that date is as well.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/report/timeline_ring.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

struct LinkRates {
  std::vector<double> edges_s;               // of the parts, ascending: parts + 1
  std::map<int, std::vector<double>> bytes;  // of each part, by link
  std::map<int, double> undated_bytes;       // of the whole run; without a date of their own
  std::string about;                         // sentences for the reader; empty when all is dated
};

// `parts` equal parts of [from_s, until_s], cut besides where a port or link changes while these
// cuts are no more than `parts`. Requires check_tape_fits and from_s < until_s ≤ the tape's end.
LinkRates link_rates(const Scenario& scenario, const Protocol& row, const Tape& tape,
                     const RingDates& ring, double from_s, double until_s, int parts);

}  // namespace skerry
