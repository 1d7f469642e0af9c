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

struct Distribution { double mean = 0, p50 = 0, p99 = 0; };

// Rows of by_learner and by_device.
struct Share {
  std::string name;
  double chips = 0;
  double steps = 0, tokens = 0;
  double goodput = 0;            // productive / allocated chip-seconds
  double waiting_share = 0;      // straggler, quorum and exposed communication, of allocated
  std::optional<double> merged_share;
};

struct Summary {
  std::string protocol, preset, status;   // status: ok, not_reached, diverged, time_cap, failed
  std::uint64_t seed = 0;
  double simulated_s = 0;
  double tokens = 0;             // net: steps that count
  double tokens_computed = 0;    // gross: lost and rolled back steps too
  double tokens_per_s = 0;
  double goodput = 0;
  double uptime = 0;
  double compute_utilization = 0;
  std::optional<double> hidden_share;   // null when the protocol sends no fragments
  std::optional<double> merged_share;
  double merged_pending_share = 0;      // of tokens × fragment bytes without a fate at the end
  Distribution step_interval_s;         // between ends of consecutive steps of a learner
  double learner_steps = 0;             // net, summed over learners
  double syncer_steps = 0;              // clocks closed
  std::optional<double> syncer_steps_per_learner_step;  // clocks closed / mean net steps of a learner
  struct { double mean = 0, p10 = 0, one_share = 0; } participants;  // per merged round
  Distribution stale_steps;             // pull → overwrite, learner's own steps
  double chip_seconds_total = 0, chip_seconds_productive = 0;
  std::array<double, 12> chip_seconds_lost{};   // by Cause
  struct { double bytes = 0; std::string busiest_port; double busiest_load = 0; } wan;
  std::vector<fact::Wire> wires;
  struct { int planned = 0, hit = 0; std::map<std::string, int> by_kind; } faults;
  std::vector<Share> by_learner, by_device;
  double closure_chip_seconds = 0;      // |productive + Σ lost − total| / total
  double closure_bytes = 0;             // worst (bytes − capacity) / capacity over ports and links, ≥ 0
  std::string tape_fingerprint;         // 16 hex digits
};

// Requires a tape of this scenario and protocol. Throws Bug when spans of a learner do not tile
// [join, end], when chip-seconds do not close to 1e-9, or when a port carried more than its capacity × time
// (1e-9): these are our invariants, not the user's mistakes.
Summary fold(const Scenario& scenario, const Protocol& protocol, const Tape& tape);

// ---------------------------------------------------------------- statistics over seeds

struct Interval {
  int n = 0;
  double mean = 0;
  std::optional<double> low, high;   // 95 %, Student t; null with n = 1
};
Interval mean_interval(const std::vector<double>& values);
// Paired by seed: geometric mean of a/b with Student t on log ratios; all values > 0 (else no interval).
Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b);
Interval difference_interval(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace skerry
