// `skerry solve`: the value of a key at which a metric reaches a target, row by row. Every point is
// a simulation of one row with one seed in a child of its own; a row's targets share its points.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/run/run_scenario.hpp"
#include "sim/run/solve_search.hpp"
#include "sim/scenario/solve_knobs.hpp"

namespace skerry {

struct SolveOptions {
  std::string scenario;
  std::vector<std::string> vary;  // pointers, '*' allowed
  Bounds bounds;
  std::string metric;  // dotted path in summary.json, or CU
  std::vector<double> targets;
  double tolerance = 1e-3;  // relative width of the bracket
  double dip = 0.002;       // see SearchRange
  bool json = false;
  std::string program;
  RunOptions run;  // load, jobs, quiet
};

// One row's search and what it has found.
struct SolveRow {
  SolveRow(std::string name, Unknown varied, const SearchRange& range,
           const std::vector<double>& targets)
      : protocol(std::move(name)), unknown(std::move(varied)), search(range, targets) {}

  std::string protocol;
  Unknown unknown;
  Search search;
  std::map<double, std::vector<double>> by_seed;  // of every point: the metric, seed by seed
  std::string hint;                               // why nothing may move the metric
};

struct SolveReport {
  std::string scenario, hash, file, metric;
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> notes;
  std::vector<SolveRow> rows;
  std::size_t runs = 0;  // simulations
};

std::string solve_table(const SolveReport& report);     // at most 100 columns
std::string solve_refusals(const SolveReport& report);  // a paragraph each
std::string solve_json(const SolveReport& report);

// Exit code: 0 all cells (rows × targets) are solved, 5 some, 2 none. BadInput; Interrupted.
int solve_command(const SolveOptions& options);

}  // namespace skerry
