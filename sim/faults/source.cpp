#include <algorithm>
#include <functional>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"

namespace skerry {

namespace {

RandomStream stream_of(const Scenario& scenario, std::uint64_t seed, const std::string& fault,
                       const Target& target) {
  std::string purpose = "faults." + fault + "/";
  if (target.kind != TargetKind::kSlice && target.kind != TargetKind::kLearner) {
    return RandomStream(seed, purpose + target_name(scenario, target), 0);
  }
  const Learner& learner = scenario.learners.at(static_cast<std::size_t>(target.index));
  purpose += learner.group;
  if (target.kind == TargetKind::kLearner) {
    return RandomStream(seed, purpose + "/island",
                        static_cast<std::uint64_t>(learner.index_in_group));
  }
  return RandomStream(seed, purpose,
                      static_cast<std::uint64_t>(learner.first_global_slice + target.part));
}

// A constant law takes its draw too, so that draw 2i is always gap i.
double draw(const Law& law, RandomStream& random) {
  const double unit = random.exponential();
  return law.kind == LawKind::kExponential ? unit * law.mean_s : law.mean_s;
}

}  // namespace

FaultSource::FaultSource(const Scenario& scenario, std::uint64_t seed,
                         const std::vector<int>& learners, const std::vector<int>& hub_regions)
    : scenario_(&scenario),
      learner_takes_part_(scenario.learners.size(), false),
      region_takes_part_(scenario.regions.size(), false),
      stepping_(scenario.learners.size()),
      chains_(scenario.learners.size()) {
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
      add_line({fault.at_s, fault.for_s, fault.kind, target, fault.factor, fault.name}, f);
    }
  }
  for (std::size_t i = 0; i < scenario.plan.size(); ++i) {
    add_line(scenario.plan[i], faults + static_cast<int>(i));
  }

  std::vector<std::size_t> order(lines_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lines_[a].at_s < lines_[b].at_s; });
  std::vector<PlanLine> sorted;
  std::vector<int> sources;
  for (const std::size_t i : order) {
    sorted.push_back(std::move(lines_[i]));
    sources.push_back(line_sources_[i]);
  }
  lines_ = std::move(sorted);
  line_sources_ = std::move(sources);
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
    case TargetKind::kLink:
      break;
  }
  const Link& link = scenario_->links[index];
  return region_takes_part_[static_cast<std::size_t>(link.from)] ||
         region_takes_part_[static_cast<std::size_t>(link.to)];
}

void FaultSource::add_line(const PlanLine& line, int source) {
  if (!takes_part(line.target)) return;
  lines_.push_back(line);
  line_sources_.push_back(source);
}

void FaultSource::add_streams(std::uint64_t seed, int fault_index) {
  const Fault& fault = scenario_->faults[static_cast<std::size_t>(fault_index)];
  SKERRY_CHECK(fault.gap.mean_s > 0.0,
               fault.name + ": mean gap " + std::to_string(fault.gap.mean_s) + " s");
  for (std::size_t i = 0; i < fault.targets.size(); ++i) {
    const Target& target = fault.targets[i];
    if (!takes_part(target)) continue;

    const int stream = static_cast<int>(streams_.size());
    streams_.push_back({.random = stream_of(*scenario_, seed, fault.name, target),
                        .fault = fault_index,
                        .target = static_cast<int>(i)});
    streams_.back().next = draw(fault.gap, streams_.back().random);
    if (fault.exposure == Exposure::kWall) {
      push(wall_, stream);
      continue;
    }
    SKERRY_CHECK(target.kind == TargetKind::kSlice || target.kind == TargetKind::kLearner,
                 fault.name + ": " + target_name(*scenario_, target) + " does not step");
    push(stepping_[static_cast<std::size_t>(target.index)], stream);
    if (target.kind == TargetKind::kSlice) chain_on_slice(target, stream);
  }
}

void FaultSource::chain_on_slice(const Target& slice, int stream) {
  const auto learner = static_cast<std::size_t>(slice.index);
  std::vector<int>& firsts = chains_[learner];
  if (firsts.empty()) {
    firsts.assign(static_cast<std::size_t>(scenario_->learners[learner].slices), -1);
  }
  int& first = firsts[static_cast<std::size_t>(slice.part)];
  streams_[static_cast<std::size_t>(stream)].next_on_slice = first;
  first = stream;
}

int FaultSource::first_on_slice(int learner, int slice) const {
  const std::vector<int>& firsts = chains_[static_cast<std::size_t>(learner)];
  return firsts.empty() ? -1 : firsts[static_cast<std::size_t>(slice)];
}

void FaultSource::push(Heap& heap, int stream) {
  const Stream& s = streams_[static_cast<std::size_t>(stream)];
  if (s.next == kNever) return;
  heap.push_back({s.next, stream, s.freezes});
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

// Freezing only marks: the stream's arrival stays in the heap until it comes to the top.
void FaultSource::drop_stale(Heap& heap) const {
  while (!heap.empty() &&
         heap.front().freezes != streams_[static_cast<std::size_t>(heap.front().stream)].freezes) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
  }
}

PlanLine FaultSource::pop(Heap& heap) {
  SKERRY_CHECK(!heap.empty(), "no random fault is left");
  const Arrival arrival = heap.front();
  std::pop_heap(heap.begin(), heap.end(), std::greater<>());
  heap.pop_back();

  Stream& stream = streams_[static_cast<std::size_t>(arrival.stream)];
  const Fault& fault = scenario_->faults[static_cast<std::size_t>(stream.fault)];
  const Target& target = fault.targets[static_cast<std::size_t>(stream.target)];
  last_source_ = stream.fault;
  const double away = draw(fault.away, stream.random);
  stream.next = arrival.at + draw(fault.gap, stream.random);
  push(heap, arrival.stream);
  drop_stale(heap);
  return {arrival.at, away, fault.kind, target, fault.factor, fault.name};
}

bool FaultSource::scripted_is_next() const {
  if (next_line_ == lines_.size()) return false;
  if (wall_.empty()) return true;
  const double scripted_at = lines_[next_line_].at_s;
  const Arrival& random = wall_.front();
  if (scripted_at != random.at) return scripted_at < random.at;
  return line_sources_[next_line_] < streams_[static_cast<std::size_t>(random.stream)].fault;
}

double FaultSource::next_wall_date() const {
  if (scripted_is_next()) return lines_[next_line_].at_s;
  return wall_.empty() ? kNever : wall_.front().at;
}

PlanLine FaultSource::pop_wall() {
  if (!scripted_is_next()) return pop(wall_);
  last_source_ = line_sources_[next_line_];
  return lines_[next_line_++];
}

double FaultSource::next_stepping_axis(int learner) const {
  const Heap& heap = stepping_[static_cast<std::size_t>(learner)];
  return heap.empty() ? kNever : heap.front().at;
}

PlanLine FaultSource::pop_stepping(int learner) {
  return pop(stepping_[static_cast<std::size_t>(learner)]);
}

void FaultSource::slice_leaves(int learner, int slice, double axis) {
  for (int i = first_on_slice(learner, slice); i >= 0;) {
    Stream& stream = streams_[static_cast<std::size_t>(i)];
    if (!stream.frozen) {
      stream.frozen = true;
      stream.freezes += 1;
      stream.next -= axis;
    }
    i = stream.next_on_slice;
  }
  drop_stale(stepping_[static_cast<std::size_t>(learner)]);
}

void FaultSource::slice_returns(int learner, int slice, double axis) {
  for (int i = first_on_slice(learner, slice); i >= 0;) {
    Stream& stream = streams_[static_cast<std::size_t>(i)];
    if (stream.frozen) {
      stream.frozen = false;
      stream.next += axis;
      push(stepping_[static_cast<std::size_t>(learner)], i);
    }
    i = stream.next_on_slice;
  }
}

}  // namespace skerry
