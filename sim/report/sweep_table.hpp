// What a sweep's points say together: table.csv, table.txt, statistics.json.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/money.hpp"
#include "sim/measure/summary.hpp"
#include "sim/report/sweep_record.hpp"
#include "sim/scenario/sweep.hpp"

namespace skerry {

std::string table_number(double value);                          // as tables for people show it
std::string padded(const std::string& text, std::size_t width);  // with blanks
std::string axis_label(const std::string& value);  // of a JSON text: "0.5", "ring", {"law": …}

struct SweepPoint {
  std::string id;
  std::uint64_t seed = 0;
  PointCells cells;
};

// All seeds of one row of one combination.
struct SweepGroup {
  std::size_t combination = 0, row = 0;      // into Sweep::combinations and Sweep::protocols
  std::vector<SweepPoint> points;            // in the order of seeds
  std::vector<std::uint64_t> seeds;          // that have numbers, in order
  std::vector<std::vector<double>> numbers;  // one a seed: a value a point_columns(), NaN for none
  int failed = 0;
  int capped = 0, diverged = 0;  // among `numbers`: ended at the time cap, or with a loss of no use
  bool too_wide = false;         // had max_seeds, and the interval of `until` is wider than asked
  std::optional<std::size_t> baseline_combination;  // where its baseline stands in the design
  int baseline = -1;  // that group, which ratios and times to loss use; -1: none, or not run yet
};

// What target_loss of the scenario says: absolute, or relative to the baseline's final loss.
// And what it costs to get there.
struct LossTarget {
  std::optional<double> absolute;
  double over_baseline = 0;
  std::map<std::size_t, std::vector<ChipCost>> chips;  // by row; those that have a price
};

class SweepResults {
 public:
  explicit SweepResults(const Sweep& sweep);

  // In the order of the design. A group without points is left out. `baseline_combination`: where
  // the baseline row to compare with stands, run or not; none: nowhere.
  void add(std::size_t combination, std::size_t row, std::vector<SweepPoint> points,
           std::optional<std::size_t> baseline_combination);
  // After the last one: pairs groups with baselines, works out times to loss, writes table.csv.
  // `targets` has one a combination.
  void finish(const std::vector<LossTarget>& targets);

  const Sweep& sweep() const { return sweep_; }
  const std::vector<SweepGroup>& groups() const { return groups_; }
  const std::string& table_csv() const { return csv_; }

 private:
  void pair_up();
  void judge_until(SweepGroup& group) const;
  void write_rows(const SweepGroup& group);

  const Sweep& sweep_;
  std::vector<SweepGroup> groups_;
  std::string csv_;
};

// Values of a column over seeds, nulls left out; with `other`, of the seeds that both have.
std::vector<double> values_of(const SweepGroup& group, int column);
std::pair<std::vector<double>, std::vector<double>> paired_values(const SweepGroup& group,
                                                                  const SweepGroup& other,
                                                                  int column);

// At most 100 columns where names allow it; '^' marks a mean over runs that did not all end as
// asked. `claims`: of the scenario's `expect`, which are not judged here.
std::string pivot_text(const SweepResults& results, std::size_t claims);
// With several seeds a change flips the verdict where the 95 % interval of the difference of two
// rows that changed places, paired by seed, is beyond zero. At most 100 columns.
std::string sensitivity_text(const SweepResults& results, const std::vector<std::string>& notes);

// In parts, since it can be large.
void write_statistics(const SweepResults& results,
                      const std::function<void(std::string_view)>& sink);

}  // namespace skerry
