#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"

namespace skerry {

FaultSource::FaultSource(const Scenario& scenario, std::uint64_t seed,
                         const std::vector<int>& learners, const std::vector<int>& hub_regions)
    : scenario_(&scenario),
      learner_takes_part_(scenario.learners.size(), false),
      region_takes_part_(scenario.regions.size(), false),
      streams_(scenario),
      stepping_(scenario.learners.size()),
      due_stepping_(scenario.learners.size()),
      on_slice_(scenario.learners.size()) {
  for (const int learner : learners) {
    const auto index = static_cast<std::size_t>(learner);
    learner_takes_part_[index] = true;
    const int region = scenario.learners[index].region;
    if (region >= 0) region_takes_part_[static_cast<std::size_t>(region)] = true;
  }
  for (const int region : hub_regions)
    region_takes_part_[static_cast<std::size_t>(region)] = true;

  const int faults = static_cast<int>(scenario.faults.size());
  for (int f = 0; f < faults; ++f) {
    const Fault& fault = scenario.faults[static_cast<std::size_t>(f)];
    if (!fault.scripted) {
      add_streams(seed, f);
      continue;
    }
    for (const Target& target : fault.targets) {
      add_line(
          {fault.at_s, fault.for_s, fault.kind, target, fault.factor, fault.name, fault.notice_s},
          f);
    }
  }
  for (std::size_t i = 0; i < scenario.plan.size(); ++i) {
    add_line(scenario.plan[i], faults + static_cast<int>(i));
  }
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const Due& a, const Due& b) { return a.line.at_s < b.line.at_s; });
}

bool FaultSource::takes_part(const Target& target) const {
  const auto index = static_cast<std::size_t>(target.index);
  switch (target.kind) {
    case TargetKind::kSlice:
    case TargetKind::kLearner:
      return learner_takes_part_[index];
    case TargetKind::kRegion:
    case TargetKind::kPort:
      return region_takes_part_[index];
    case TargetKind::kStorage:
      return std::find(learner_takes_part_.begin(), learner_takes_part_.end(), true) !=
             learner_takes_part_.end();
    case TargetKind::kLink:
      break;
  }
  const Link& link = scenario_->links[index];
  return region_takes_part_[static_cast<std::size_t>(link.from)] ||
         region_takes_part_[static_cast<std::size_t>(link.to)];
}

void FaultSource::add_line(const PlanLine& line, int source) {
  if (takes_part(line.target)) lines_.push_back({line, source});
}

void FaultSource::add_streams(std::uint64_t seed, int fault_index) {
  const Fault& fault = scenario_->faults[static_cast<std::size_t>(fault_index)];
  const std::size_t group =
      fault.together == 0 ? fault.targets.size() : static_cast<std::size_t>(fault.together);
  SKERRY_CHECK(fault.targets.empty() || fault.targets.size() % group == 0,
               fault.name + ": targets do not fill groups");
  for (std::size_t i = 0; i < fault.targets.size(); i += group) {
    const auto begin = fault.targets.begin() + static_cast<std::ptrdiff_t>(i);
    const bool any = std::any_of(begin, begin + static_cast<std::ptrdiff_t>(group),
                                 [&](const Target& target) { return takes_part(target); });
    if (!any) continue;
    const Target& target = *begin;
    const int first = static_cast<int>(i), targets = static_cast<int>(group);
    if (fault.exposure == Exposure::kWall) {
      streams_.add(seed, fault_index, first, targets, wall_);
      continue;
    }
    SKERRY_CHECK(target.kind == TargetKind::kSlice || target.kind == TargetKind::kLearner,
                 fault.name + ": " + target_name(*scenario_, target) + " does not step");
    const int stream = streams_.add(seed, fault_index, first, targets,
                                    stepping_[static_cast<std::size_t>(target.index)]);
    if (target.kind == TargetKind::kSlice) chain_on_slice(target, stream);
  }
}

void FaultSource::chain_on_slice(const Target& slice, int stream) {
  const auto learner = static_cast<std::size_t>(slice.index);
  auto& slices = on_slice_[learner];
  if (slices.empty()) slices.resize(static_cast<std::size_t>(scenario_->learners[learner].slices));
  slices[static_cast<std::size_t>(slice.part)].push_back(stream);
}

PlanLine FaultSource::take(std::deque<Due>& due, ArrivalHeap& heap) {
  if (due.empty()) {
    const FaultStreams::Drawn drawn = streams_.pop(heap);
    const Fault& fault = scenario_->faults[static_cast<std::size_t>(drawn.fault)];
    for (int i = 0; i < drawn.targets; ++i) {
      const Target& target = fault.targets[static_cast<std::size_t>(drawn.first_target + i)];
      if (!takes_part(target)) continue;
      due.push_back(
          {{drawn.at, drawn.away_s, fault.kind, target, fault.factor, fault.name, fault.notice_s},
           drawn.fault});
    }
  }
  Due next = std::move(due.front());
  due.pop_front();
  last_source_ = next.source;
  return std::move(next.line);
}

bool FaultSource::scripted_is_next() const {
  if (next_line_ == lines_.size() || !due_wall_.empty()) return false;
  if (wall_.empty()) return true;
  const double scripted_at = lines_[next_line_].line.at_s;
  const Arrival& random = wall_.front();
  if (scripted_at != random.at) return scripted_at < random.at;
  return lines_[next_line_].source < streams_.fault_of(random);
}

double FaultSource::next_wall_date() const {
  if (!due_wall_.empty()) return due_wall_.front().line.at_s;
  if (scripted_is_next()) return lines_[next_line_].line.at_s;
  return wall_.empty() ? kNever : wall_.front().at;
}

PlanLine FaultSource::pop_wall() {
  if (!scripted_is_next()) return take(due_wall_, wall_);
  const Due& next = lines_[next_line_++];
  last_source_ = next.source;
  return next.line;
}

double FaultSource::next_stepping_axis(int learner) const {
  const auto index = static_cast<std::size_t>(learner);
  if (!due_stepping_[index].empty()) return due_stepping_[index].front().line.at_s;
  return stepping_[index].empty() ? kNever : stepping_[index].front().at;
}

PlanLine FaultSource::pop_stepping(int learner) {
  const auto index = static_cast<std::size_t>(learner);
  return take(due_stepping_[index], stepping_[index]);
}

void FaultSource::slice_leaves(int learner, int slice, double axis) {
  const auto& slices = on_slice_[static_cast<std::size_t>(learner)];
  if (slices.empty()) return;
  for (const int stream : slices[static_cast<std::size_t>(slice)])
    streams_.freeze(stream, axis);
  streams_.drop_stale(stepping_[static_cast<std::size_t>(learner)]);
}

void FaultSource::slice_returns(int learner, int slice, double axis) {
  const auto& slices = on_slice_[static_cast<std::size_t>(learner)];
  if (slices.empty()) return;
  for (const int stream : slices[static_cast<std::size_t>(slice)])
    streams_.thaw(stream, axis, stepping_[static_cast<std::size_t>(learner)]);
}

}  // namespace skerry
