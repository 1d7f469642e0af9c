#include "sim/faults/streams.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"

namespace skerry {

namespace {

// Where the numbers of a target come from: a purpose, and its first index among its like.
struct Origin {
  std::string purpose;
  std::int64_t index = 0;
};

Origin origin_of(const Scenario& scenario, const Fault& fault, const Target& target) {
  Origin origin{"faults." + fault.name + "/"};
  if (fault.together == 0) {
    origin.purpose += "together";
    return origin;
  }
  if (target.kind != TargetKind::kSlice && target.kind != TargetKind::kLearner) {
    origin.purpose += target_name(scenario, target);
    return origin;
  }
  const Learner& learner = scenario.learners.at(static_cast<std::size_t>(target.index));
  origin.purpose += learner.group;
  if (target.kind == TargetKind::kLearner) {
    origin.purpose += "/island";
    origin.index = learner.index_in_group;
    return origin;
  }
  if (fault.together > 1) origin.purpose += "/together";
  origin.index = learner.first_global_slice + target.part;
  return origin;
}

// How often units break, against the mean: repeat offenders and the others.
class Weights {
 public:
  Weights(std::uint64_t seed, const Fault& fault, const std::string& purpose)
      : seed_(seed), share_(fault.offender_share), purpose_(purpose + "/offenders") {
    if (share_ <= 0.0) return;
    offender_ = fault.offender_events / share_;
    other_ = (1.0 - fault.offender_events) / (1.0 - share_);
  }

  double of(std::int64_t unit) const {
    if (share_ <= 0.0) return 1.0;
    RandomStream random(seed_, purpose_, static_cast<std::uint64_t>(unit));
    return random.uniform() < share_ ? offender_ : other_;
  }

  double sum(std::int64_t first, std::int64_t count) const {
    if (share_ <= 0.0) return static_cast<double>(count);
    double sum = 0.0;
    for (std::int64_t i = 0; i < count; ++i)
      sum += of(first + i);
    return sum;
  }

 private:
  std::uint64_t seed_;
  double share_;
  double offender_ = 1.0, other_ = 1.0;
  std::string purpose_;
};

}  // namespace

FaultStreams::FaultStreams(const Scenario& scenario) : scenario_(&scenario) {
  for (const Fault& fault : scenario.faults) {
    gaps_.emplace_back(fault.scripted ? Law{} : fault.gap);
    aways_.emplace_back(fault.scripted ? Law{} : fault.away);
  }
}

int FaultStreams::add(std::uint64_t seed, int fault_index, int first, int targets,
                      ArrivalHeap& heap) {
  const Fault& fault = scenario_->faults[static_cast<std::size_t>(fault_index)];
  SKERRY_CHECK(fault.gap.mean_s > 0.0,
               fault.name + ": mean gap " + std::to_string(fault.gap.mean_s) + " s");
  const Target& target = fault.targets[static_cast<std::size_t>(first)];
  const Origin origin = origin_of(*scenario_, fault, target);
  Stream stream{
      .random = RandomStream(seed, origin.purpose, static_cast<std::uint64_t>(origin.index)),
      .fault = fault_index,
      .target = first,
      .targets = targets};
  if (fault.units > 1 && fault.gap.kind != LawKind::kExponential) {
    add_units(seed, fault, target, stream);
  } else {
    // Exponential gaps of many units superpose to exponential gaps of the summed rate.
    const Weights weights(seed, fault, origin.purpose);
    stream.mean_s = fault.gap.mean_s / weights.sum(origin.index * fault.units, fault.units);
    stream.next = gaps_[static_cast<std::size_t>(fault_index)].unit(stream.random) * stream.mean_s;
  }
  streams_.push_back(stream);
  const int made = static_cast<int>(streams_.size()) - 1;
  push(heap, made);
  return made;
}

void FaultStreams::add_units(std::uint64_t seed, const Fault& fault, const Target& target,
                             Stream& stream) {
  const Origin origin = origin_of(*scenario_, fault, target);
  const Weights weights(seed, fault, origin.purpose);
  const LawDraw& gap = gaps_[static_cast<std::size_t>(stream.fault)];
  const std::string purpose = origin.purpose + "/units";
  stream.first_unit = static_cast<std::int64_t>(units_.size());
  stream.units = static_cast<std::int32_t>(fault.units);
  for (std::int64_t i = 0; i < fault.units; ++i) {
    const std::int64_t unit = origin.index * fault.units + i;
    Unit made{RandomStream(seed, purpose, static_cast<std::uint64_t>(unit)),
              fault.gap.mean_s / weights.of(unit), 0.0};
    made.next = gap.unit(made.random) * made.mean_s;
    units_.push_back(made);
  }
  std::make_heap(units_.begin() + stream.first_unit, units_.end(), std::greater<>());
  stream.next = units_[static_cast<std::size_t>(stream.first_unit)].next;
}

// The away time of the unit that is next; the stream's next fault is then that of the unit after
// it.
double FaultStreams::drawn_of_unit(const Fault& fault, Stream& stream) {
  const auto begin = units_.begin() + stream.first_unit;
  const auto end = begin + stream.units;
  std::pop_heap(begin, end, std::greater<>());
  Unit& unit = *(end - 1);
  const double age = unit.next;
  const double away_s =
      aways_[static_cast<std::size_t>(stream.fault)].unit(unit.random) * fault.away.mean_s;
  unit.next += gaps_[static_cast<std::size_t>(stream.fault)].unit(unit.random) * unit.mean_s;
  std::push_heap(begin, end, std::greater<>());
  stream.next += begin->next - age;
  return away_s;
}

FaultStreams::Drawn FaultStreams::pop(ArrivalHeap& heap) {
  SKERRY_CHECK(!heap.empty(), "no random fault is left");
  const Arrival arrival = heap.front();
  std::pop_heap(heap.begin(), heap.end(), std::greater<>());
  heap.pop_back();

  Stream& stream = streams_[static_cast<std::size_t>(arrival.stream)];
  const auto index = static_cast<std::size_t>(stream.fault);
  const Fault& fault = scenario_->faults[index];
  Drawn drawn{arrival.at, 0.0, stream.fault, stream.target, stream.targets};
  if (stream.units > 0) {
    drawn.away_s = drawn_of_unit(fault, stream);
  } else {
    drawn.away_s = aways_[index].unit(stream.random) * fault.away.mean_s;
    stream.next = arrival.at + gaps_[index].unit(stream.random) * stream.mean_s;
  }
  push(heap, arrival.stream);
  drop_stale(heap);
  return drawn;
}

void FaultStreams::push(ArrivalHeap& heap, int stream) {
  const Stream& s = at(stream);
  if (s.next == kNever) return;
  heap.push_back({s.next, stream, s.freezes});
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

void FaultStreams::drop_stale(ArrivalHeap& heap) const {
  while (!heap.empty() && heap.front().freezes != at(heap.front().stream).freezes) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
  }
}

void FaultStreams::freeze(int stream, double axis) {
  Stream& s = streams_[static_cast<std::size_t>(stream)];
  if (s.frozen) return;
  s.frozen = true;
  s.freezes += 1;
  s.next -= axis;
}

void FaultStreams::thaw(int stream, double axis, ArrivalHeap& heap) {
  Stream& s = streams_[static_cast<std::size_t>(stream)];
  if (!s.frozen) return;
  s.frozen = false;
  s.next += axis;
  push(heap, stream);
}

}  // namespace skerry
