// When a data-parallel job saves.
#include <algorithm>
#include <vector>

#include "sim/cost/cost.hpp"

namespace skerry {

namespace {

bool stops_the_job(FaultKind kind) {
  return kind == FaultKind::kSliceDown || kind == FaultKind::kIslandDown ||
         kind == FaultKind::kRegionDark || kind == FaultKind::kHang;
}

// Which learners and regions take part in a row.
struct Members {
  std::vector<char> learners, regions;
  Members(const Scenario& scenario, const Protocol& row)
      : learners(scenario.learners.size(), 0), regions(scenario.regions.size(), 0) {
    for (const int m : row.learners) {
      const auto i = static_cast<std::size_t>(m);
      learners[i] = 1;
      const int region = scenario.learners[i].region;
      if (region >= 0) regions[static_cast<std::size_t>(region)] = 1;
    }
  }
  bool concerned(const Target& target) const {
    const auto i = static_cast<std::size_t>(target.index);
    return (target.kind == TargetKind::kRegion ? regions[i] : learners[i]) != 0;
  }
};

}  // namespace

double job_failures_per_s(const Scenario& scenario, const Protocol& row) {
  const Members members(scenario, row);
  double rate = 0.0;
  for (const Fault& fault : scenario.faults) {
    if (fault.scripted || !stops_the_job(fault.kind) || fault.targets.empty()) continue;
    const auto targets = static_cast<double>(fault.targets.size());
    const auto own = std::count_if(fault.targets.begin(), fault.targets.end(),
                                   [&](const Target& t) { return members.concerned(t); });
    const double together = fault.together > 0 ? fault.together : targets;
    rate += fault.events_per_s_nominal * static_cast<double>(own) / targets / together;
  }
  double lines = 0.0, last_s = 0.0;
  for (const PlanLine& line : scenario.plan) {
    lines += stops_the_job(line.kind) && members.concerned(line.target) ? 1.0 : 0.0;
    last_s = std::max(last_s, line.at_s);
  }
  return rate + (lines > 1.0 && last_s > 0.0 ? lines / last_s : 0.0);
}

double checkpoint_period_s(const Scenario& scenario, const Protocol& row) {
  const Recovery& r = row.recovery;
  if (r.checkpoint_rule == CheckpointRule::kNone) return kNever;
  if (r.checkpoint_rule == CheckpointRule::kPeriod) return r.checkpoint_every_s;
  if (!row.faults || (scenario.faults.empty() && scenario.plan.empty())) return kNever;
  if (r.checkpoint_save_s <= 0.0) return 0.0;
  const double rate = job_failures_per_s(scenario, row);
  if (rate <= 0.0) return 3600.0;
  return r.checkpoint_rule == CheckpointRule::kYoung
             ? young_interval_s(1.0 / rate, r.checkpoint_save_s)
             : daly_interval_s(1.0 / rate, r.checkpoint_save_s);
}

}  // namespace skerry
