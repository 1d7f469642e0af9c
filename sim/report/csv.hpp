// The CSV files of a run folder. Numbers in shortest round-trip form, empty for "none".
#pragma once

#include <string>
#include <vector>

#include "sim/faults/faults.hpp"
#include "sim/report/record.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

// A cell: in quotes where it holds a comma, a quote or a line break.
std::string csv_cell(const std::string& text);
// A cell of text: one that a spreadsheet would read as a formula gets an apostrophe before it.
std::string text_cell(const std::string& text);

// table.csv: long form, one row a run, every scalar of its summary and the scenario's hash. A
// column that a run does not have is empty in its row.
std::string table_csv(const std::vector<RunRecord>& records, const std::string& hash);

// loss.csv: simulated_s,tokens,trained_tokens,loss.
std::string loss_csv(const std::vector<LossPoint>& curve);
std::vector<LossPoint> loss_from_csv(const std::string& text,
                                     const std::string& label);  // BadInput

// outer_steps.csv: one row per outer step of the syncer, in the order of the tape. Shares of the
// participants' weights; staleness of the overwrites that took its version: the learner's own steps
// since the pull. What training alone knows (`rounds`) is empty without it, and in a round that
// moved nothing.
std::string outer_steps_csv(const Tape& tape, const std::vector<RoundFacts>& rounds);

// plan.csv: the concrete plan of every seed, the seed as first column; the others as in
// plan_to_csv.
struct SeededPlan {
  std::uint64_t seed = 0;
  std::vector<PlanLine> lines;
};
std::string seeded_plans_csv(const Scenario& scenario, const std::vector<SeededPlan>& plans);

}  // namespace skerry
