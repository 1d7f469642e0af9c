// Folds over one tape: what every number of summary.json means (DESIGN §8).
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

struct Distribution {
  double mean = 0, p50 = 0, p99 = 0;
};

// Rows of by_learner and by_device.
struct Share {
  std::string name;
  double chips = 0;
  double steps = 0, tokens = 0;
  double goodput = 0;        // productive / allocated chip-seconds
  double waiting_share = 0;  // straggler, quorum and exposed communication, of allocated
  std::optional<double> merged_share;
};

struct Summary {
  std::string protocol, preset, status;  // status: ok, diverged, time_cap, failed
  std::uint64_t seed = 0;
  double simulated_s = 0;
  double tokens = 0;           // net: steps that count
  double tokens_computed = 0;  // gross: lost and rolled back steps too
  double tokens_per_s = 0;
  double goodput = 0;
  double uptime = 0;
  double compute_utilization = 0;
  // The same over whole periods of H steps in steady state; null in a run of less than two, or with faults.
  std::optional<double> compute_utilization_whole_periods;
  std::optional<double> hidden_share;  // null when the protocol sends no fragments
  // The same without what was received between the start of a fault and its last recovery (repair, or
  // the return of the learners that it took down) + H steps. Null when nothing is left.
  std::optional<double> hidden_share_outside_faults;
  std::optional<double> merged_share;  // tokens × fragment bytes that entered a merge, of all done
  double merged_pending_share = 0;  // of tokens × fragment bytes without a fate at the end
  Distribution step_interval_s;     // between ends of consecutive steps of a learner
  double learner_steps = 0;         // net, summed over learners
  double syncer_steps = 0;          // clocks closed
  std::optional<double>
      syncer_steps_per_learner_step;  // clocks closed / mean net steps of a learner
  struct {
    double mean = 0, p10 = 0, one_share = 0;
  } participants;            // per merged round
  Distribution stale_steps;  // pull → overwrite, learner's own steps
  double chip_seconds_total = 0, chip_seconds_productive = 0;
  std::array<double, 12> chip_seconds_lost{};  // by Cause
  // bytes: what left by the ports (".up"), or over the links (">") when no port has a limit.
  // busiest: port or link with the largest bytes / capacity.
  struct {
    double bytes = 0;
    std::string busiest_port;
    double busiest_load = 0;
  } wan;
  // Of the row's chips and of what left a region, at the scenario's pricing; null: some chip has no
  // price. The cost is productive + Σ lost + wan; per cause, chips at their own price.
  struct Cost {
    double chips_usd = 0, wan_usd = 0, productive_usd = 0;
    std::array<double, 12> lost_usd{};  // by Cause
    double usd() const { return chips_usd + wan_usd; }
    double wasted_usd() const;
  };
  std::optional<Cost> cost;
  std::optional<double> cost_spot_usd;            // chips at spot prices, and the wide area
  std::optional<double> cost_usd_per_1e9_tokens;  // net ones; null without any
  std::optional<double> energy_kwh;  // of the chips alone; null: some chip's is not known
  std::vector<fact::Wire> wires;
  std::vector<fact::Control> controls;  // with transport.control only
  // planned: FaultHit facts. hit: those whose target is, or is the region, port or link of, a
  // participating learner that has joined and was not down already (down both just before and just
  // after the date). by_kind: planned ones.
  struct {
    int planned = 0, hit = 0;
    std::map<std::string, int> by_kind;
  } faults;
  // States that learners of the DiLoCo family received: from contact to joining, and the age of the inner
  // optimizer state that came with them, in steps of the syncer's clock.
  struct {
    int count = 0;
    double mean_s = 0, max_s = 0, age_steps_mean = 0, age_steps_max = 0;
  } recoveries;
  std::vector<Share> by_learner, by_device;
  double closure_chip_seconds = 0;  // |productive + Σ lost − total| / total
  double closure_cost = 0;   // |productive + Σ lost + wan − cost| / cost; 0 without a cost
  double closure_bytes = 0;  // worst (bytes − capacity) / capacity over ports and links, ≥ 0
  std::string tape_fingerprint;  // 16 hex digits
};

// Requires a tape of this scenario and protocol. Throws Bug when spans of a learner do not tile
// [start_s, end], when chip-seconds do not close to 1e-9, when a port or link carried more than its
// capacity × time (1e-9 and one byte), when End.tokens is not the net tokens of the steps (1e-9),
// or when facts contradict each other (a learner that takes no part, a life's steps out of order,
// more lost than done, a participant without a pull): these are our invariants, not the user's
// mistakes.
Summary fold(const Scenario& scenario, const Protocol& protocol, const Tape& tape);

// Goodput from the start up to a date; the last one is the summary's.
struct GoodputPoint {
  double t = 0, goodput = 0;
};
// At `points` equally spaced dates, the last one the end; none before any chip is allocated. A loss counts
// from its date on, a step that is rolled back never did. Requires and throws what fold() does.
std::vector<GoodputPoint> goodput_over_time(const Scenario& scenario, const Protocol& protocol,
                                            const Tape& tape, int points);

// ---------------------------------------------------------------- statistics over seeds

struct Interval {
  int n = 0;
  double mean = 0;
  std::optional<double> low, high;  // 95 %, Student t; null with n = 1
};
// 97.5 % quantile of Student's t for whole df ≥ 1, to 1e-12: what a two-sided 95 % interval
// multiplies by.
double student_t_975(int df);

Interval mean_interval(const std::vector<double>& values);
// Paired by seed (Bug if lengths differ): geometric mean of a/b with Student t on log ratios. When
// a value is not > 0: the ratio of the sums without an interval; n = 0 when Σ b is not > 0 either:
// no ratio.
Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b);
Interval difference_interval(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace skerry
