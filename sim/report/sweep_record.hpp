// One point of a sweep as a line of runs.jsonl, and what a table takes from it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/record.hpp"

namespace skerry {

// What a child hands to its parent: {"summary": …, "curve": [[simulated_s, tokens, trained_tokens,
// loss], …]} without line breaks, `curve` only when the point was trained.
std::string point_result_json(const RunRecord& record, const std::vector<LossPoint>& curve);

struct PointLine {
  std::string id;                                          // 16 hex digits
  std::vector<std::pair<std::string, std::string>> point;  // axis, value as JSON
  std::string protocol;
  std::uint64_t seed = 0;
  double wall_s = 0;
  std::string result;   // of point_result_json; empty: the point failed
  std::string failure;  // why
  std::string log;      // file with the end of its log, from the sweep's folder; may be empty
};

// {"id", "status", "protocol", "seed", "point", "wall_s", "summary", "curve", "failure", "log"} and
// a line break. The order of id and status is fixed: see point_head.
std::string point_line(const PointLine& line);

// What the start of a line says; none for anything that point_line did not write whole.
struct PointHead {
  std::uint64_t id = 0;
  bool ok = false;
};
std::optional<PointHead> point_head(std::string_view line);

// Scalars of a summary by column: the same columns for every run, in the order of table.csv.
struct Column {
  std::string name;
  bool is_number = true;
};
const std::vector<Column>& point_columns();

struct PointCells {
  std::string status;  // of the summary, or "failed"
  double wall_s = 0;
  std::vector<std::string> cells;  // one a column; empty: null or not there
  std::vector<LossPoint> curve;    // empty: not trained
  std::vector<std::string> warnings;
};
// BadInput for what point_line did not write, a number of another type too.
PointCells point_cells(std::string_view line);
int column_of(const std::string& metric);  // -1: none of that name

// A number of the summary inside a child's result; none when it is null or not there.
std::optional<double> metric_in(const std::string& result, const std::string& metric);

}  // namespace skerry
