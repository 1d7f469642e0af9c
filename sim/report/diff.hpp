// Two results side by side: what was asked differently, then what came out differently.
#pragma once

#include <string>
#include <vector>

#include "sim/measure/summary.hpp"
#include "sim/report/baseline.hpp"

namespace skerry {

// `a`, `b`: the values shown, objects and arrays as JSON; "-" on the side that has none.
struct ChangedInput {
  std::string pointer, a, b;
};

// Leaves that differ between two JSON texts, in the order of a, then what only b has. Arrays of
// unequal length count as one value.
std::vector<ChangedInput> changed_inputs(const std::string& a, const std::string& b);

struct ChangedMetric {
  std::string metric;
  double a = 0, b = 0;               // means over the pairs
  Interval difference;               // b − a, paired by seed; n = 0: no pair
  std::optional<double> relative;    // (b − a) / |a|; empty when a is 0 or there is no pair
  int null_in_a = 0, null_in_b = 0;  // seeds with a number on the other side alone
};

struct ChangedRow {
  std::string row;
  std::vector<std::uint64_t> seeds;    // on both sides
  std::vector<std::string> notes;      // status, seeds and metrics on one side, tapes
  std::vector<ChangedMetric> changed;  // by size of the relative change; from 0 goes first
};

// Rows in which anything differs.
std::vector<ChangedRow> changed_rows(const Numbers& a, const Numbers& b);

// The same as {"skerry": "diff/1", "a", "b", "scenario", "hash", "inputs": [{"pointer", "a", "b"}]
// or null, "rows": [{"row", "seeds", "notes", "metrics"}]}.
std::string diff_json(const Numbers& a, const Numbers& b);

// At most 100 columns.
std::string diff_text(const Numbers& a, const Numbers& b);

}  // namespace skerry
