// All results of one scenario, and how people and programs read them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/report/expect.hpp"
#include "sim/report/record.hpp"
#include "sim/report/rows.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

// Lines of the fault plans of all seeds that one entry of `faults` gave, against its nominal rate.
struct PlanCount {
  int planned = 0;
  double expected =
      0;  // nominal events/s × planned seconds, over the seeds; 0 for scripted entries
};

struct Results {
  Scenario scenario;
  std::string hash;                       // names the run folder
  std::vector<RunRecord> records;         // protocol by protocol, seeds in order
  std::vector<std::vector<LossPoint>> curves;  // of each record; empty: not trained
  std::map<std::string, PlanCount> plan;  // by name of the entry
  bool expect_applied = true;             // false: the command changed the scenario
  std::string folder;                     // where the files are
};

// Counts the lines of a plan.csv by its last column, over the time that its seeds' longest runs
// took.
std::map<std::string, PlanCount> count_plan(const Scenario& scenario,
                                            const std::vector<RunRecord>& records,
                                            const std::string& plan_csv);

// comparison.json: paired ratios and differences to the baseline with n, interval and method, the
// plan against its nominal rate, and what became of `expect`.
std::string comparison_json(const Results& results);

// What a stored comparison knows and a resolved scenario does not.
struct StoredComparison {
  std::string scenario, hash;
  bool expect_applied = true;
  std::vector<std::string> warnings, calibrated_keys;
};
StoredComparison comparison_from_json(const std::string& text,
                                      const std::string& label);  // BadInput

// {"comparison": …, "summaries": […]}: what --json prints.
std::string results_json(const Results& results);

// The terminal table: at most 100 columns, notes below it, no last line break.
std::string terminal_table(const Results& results);
std::string markdown_table(const Results& results);

}  // namespace skerry
