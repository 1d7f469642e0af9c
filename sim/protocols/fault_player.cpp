#include "sim/protocols/fault_player.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace skerry {

namespace {

// Regions that matter without a learner in them: the hub of a star.
std::vector<int> hubs(const Protocol& protocol) {
  if (protocol.family == Family::kDiloco && protocol.syncer == SyncerPlace::kCentral) {
    return {protocol.syncer_region};
  }
  if (protocol.all_reduce == AllReduce::kStar) return {protocol.star_region};
  return {};
}

}  // namespace

FaultPlayer::FaultPlayer(Engine& engine, const Scenario& scenario, const Protocol& protocol,
                         std::uint64_t seed, Fleet& fleet, Tape& tape)
    : engine_(engine),
      scenario_(scenario),
      fleet_(fleet),
      tape_(tape),
      source_(scenario, seed, protocol.faults ? protocol.learners : std::vector<int>{},
              protocol.faults ? hubs(protocol) : std::vector<int>{}),
      axes_(scenario.learners.size()),
      slice_was_present_(scenario.learners.size()) {
  for (std::size_t m = 0; m < axes_.size(); ++m) {
    axes_[m].player = this;
    axes_[m].learner = static_cast<int>(m);
    if (source_.next_stepping_axis(static_cast<int>(m)) < kNever) {
      slice_was_present_[m].assign(static_cast<std::size_t>(scenario.learners[m].slices), 1);
    }
  }
  arm_wall();
}

FaultPlayer::~FaultPlayer() = default;

void FaultPlayer::arm_wall() {
  const double date = source_.next_wall_date();
  wall_event_ = date < kNever ? engine_.at(std::max(date, engine_.now()), &on_wall, this, true)
                              : EventId{};
}

void FaultPlayer::on_wall(void* self) {
  auto& player = *static_cast<FaultPlayer*>(self);
  const PlanLine line = player.source_.pop_wall();
  const int source = player.source_.last_source();
  player.arm_wall();
  player.play(line, source);
}

double FaultPlayer::axis_now(const Axis& axis) const {
  return axis.on ? axis.value + (engine_.now() - axis.since) : axis.value;
}

void FaultPlayer::arm_stepping(Axis& axis) {
  engine_.cancel(axis.event);
  axis.event = {};
  axis.date = kNever;
  if (!axis.on) return;
  const double next = source_.next_stepping_axis(axis.learner);
  if (next >= kNever) return;
  axis.date = std::max(engine_.now(), axis.since + (next - axis.value));
  axis.event = engine_.at(axis.date, &on_stepping, &axis, true);
}

void FaultPlayer::stepping(int learner, bool on) {
  Axis& axis = axes_[static_cast<std::size_t>(learner)];
  if (axis.on == on) return;
  axis.value = axis_now(axis);
  axis.since = engine_.now();
  axis.on = on;
  if (!slice_was_present_[static_cast<std::size_t>(learner)].empty()) arm_stepping(axis);
}

void FaultPlayer::on_stepping(void* raw) {
  auto& axis = *static_cast<Axis*>(raw);
  FaultPlayer& player = *axis.player;
  axis.event = {};
  const PlanLine line = player.source_.pop_stepping(axis.learner);
  const int source = player.source_.last_source();
  PlanLine now = line;
  now.at_s = player.engine_.now();
  player.play(now, source);
  player.arm_stepping(axis);
}

void FaultPlayer::play(const PlanLine& line, int source) {
  const double until = line.at_s + line.for_s;
  tape_.add(fact::FaultHit{engine_.now(), until, line.factor, line.kind, line.target, source});
  fleet_.apply(line);
  slices_changed(line.target);
  if (line.for_s < kNever) schedule_repair(line, source);
}

void FaultPlayer::schedule_repair(const PlanLine& line, int source) {
  if (free_.empty()) {
    pending_.push_back(std::make_unique<Pending>());
    free_.push_back(pending_.back().get());
  }
  Pending* pending = free_.back();
  free_.pop_back();
  const double date = std::max(engine_.now(), line.at_s + line.for_s);
  *pending = {this, line, source, repair_dates_.insert(date)};
  engine_.at(date, &on_repair, pending);
}

void FaultPlayer::on_repair(void* raw) {
  auto* pending = static_cast<Pending*>(raw);
  FaultPlayer& player = *pending->player;
  player.repair_dates_.erase(pending->date);
  const PlanLine line = pending->line;
  player.tape_.add(fact::Repaired{player.engine_.now(), line.kind, line.target, pending->source});
  player.free_.push_back(pending);
  player.fleet_.repair(line);
  player.slices_changed(line.target);
}

// Tells the stepping streams which slices age. A region or island takes all its slices along.
void FaultPlayer::slices_changed(const Target& target) {
  for (std::size_t m = 0; m < slice_was_present_.size(); ++m) {
    auto& was = slice_was_present_[m];
    if (was.empty()) continue;
    const bool mine = target.kind == TargetKind::kRegion
                          ? scenario_.learners[m].region == target.index
                          : target.index == static_cast<int>(m);
    if (!mine || target.kind == TargetKind::kPort || target.kind == TargetKind::kLink) continue;
    const double axis = axis_now(axes_[m]);
    for (std::size_t s = 0; s < was.size(); ++s) {
      const char is = fleet_.slice_present(static_cast<int>(m), static_cast<int>(s)) ? 1 : 0;
      if (is == was[s]) continue;
      was[s] = is;
      if (is != 0) {
        source_.slice_returns(static_cast<int>(m), static_cast<int>(s), axis);
      } else {
        source_.slice_leaves(static_cast<int>(m), static_cast<int>(s), axis);
      }
    }
    if (axes_[m].on) arm_stepping(axes_[m]);
  }
}

double FaultPlayer::next_change_date() const {
  double date = source_.next_wall_date();
  if (!repair_dates_.empty()) date = std::min(date, *repair_dates_.begin());
  for (const Axis& axis : axes_) date = std::min(date, axis.date);
  return date;
}

}  // namespace skerry
