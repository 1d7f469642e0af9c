#include "sim/protocols/fault_player.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace skerry {

namespace {

constexpr int kHopeless = 200000;   // faults in a row without a step that counts

// Regions that matter without a learner in them.
std::vector<int> hubs(const Protocol& protocol) {
  const int hub = hub_of(protocol);
  return hub >= 0 ? std::vector<int>{hub} : std::vector<int>{};
}

}  // namespace

FaultPlayer::FaultPlayer(Engine& engine, const Scenario& scenario, const Protocol& protocol,
                         std::uint64_t seed, Fleet& fleet, Tape& tape)
    : engine_(engine),
      scenario_(scenario),
      recovery_(protocol.recovery),
      fleet_(fleet),
      tape_(tape),
      source_(scenario, seed, protocol.faults ? protocol.learners : std::vector<int>{},
              protocol.faults ? hubs(protocol) : std::vector<int>{}),
      axes_(scenario.learners.size()),
      watched_(scenario.learners.size(), 0),
      changes_read_(scenario.learners.size(), 0),
      spares_(scenario.learners.size()) {
  for (std::size_t m = 0; m < axes_.size(); ++m) {
    axes_[m].player = this;
    axes_[m].learner = static_cast<int>(m);
    watched_[m] = source_.next_stepping_axis(static_cast<int>(m)) < kNever ? 1 : 0;
    spares_[m].free = scenario.learners[m].spares;
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
  if (watched_[static_cast<std::size_t>(learner)] != 0) arm_stepping(axis);
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
  if (line.notice_s <= 0) {
    strike(line, source);
    return;
  }
  fleet_.announce(line);
  schedule(line.at_s + line.notice_s, Next::kStrike, line, source);
}

// A hang is noticed by its silence; only then does its time away begin.
void FaultPlayer::strike(const PlanLine& line, int source) {
  double back_s = line.at_s + line.notice_s + line.for_s;
  if (line.kind == FaultKind::kHang) {
    fleet_.keep_silent(line.target.index, engine_.now() + recovery_.hang_detection_s);
    back_s += recovery_.hang_detection_s;
  }
  if (line.notice_s > 0) fleet_.withdraw(line);
  const bool breaks = line.kind == FaultKind::kSliceDown || line.kind == FaultKind::kHang;
  Spares* spares = breaks && scenario_.learners[static_cast<std::size_t>(line.target.index)].spares > 0
                       ? &spares_[static_cast<std::size_t>(line.target.index)]
                       : nullptr;
  if (++hits_since_progress_ > kHopeless) {
    throw CannotGoOn(std::to_string(kHopeless) + " faults have struck since the last step that counts, by " +
                     std::to_string(engine_.now()) +
                     " s of simulated time: with recoveries this long the run makes no progress");
  }
  tape_.add(fact::FaultHit{engine_.now(), back_s, line.factor, line.kind, line.target, source});
  fleet_.apply(line);
  slices_changed(line.target);
  if (spares != nullptr) {
    if (back_s < kNever) schedule(back_s, Next::kMend, line, source);
    spares->waiting.emplace_back(line, source);
    if (spares->free > 0) {
      spares->free -= 1;
      mended(line);
    }
  } else if (back_s < kNever) {
    schedule(back_s, Next::kReturn, line, source);
  }
}

// One more whole slice than stand at work: for the one that waits longest, else it is a spare.
void FaultPlayer::mended(const PlanLine& line) {
  Spares& spares = spares_[static_cast<std::size_t>(line.target.index)];
  if (spares.waiting.empty()) {
    spares.free += 1;
    return;
  }
  const auto [next, source] = spares.waiting.front();
  spares.waiting.pop_front();
  schedule(engine_.now() + recovery_.spare_swap_s, Next::kReturn, next, source);
}

void FaultPlayer::give_back(const PlanLine& line, int source) {
  tape_.add(fact::Repaired{engine_.now(), line.kind, line.target, source});
  fleet_.repair(line);
  slices_changed(line.target);
}

void FaultPlayer::schedule(double date, Next next, const PlanLine& line, int source) {
  if (free_.empty()) {
    pending_.push_back(std::make_unique<Pending>());
    free_.push_back(pending_.back().get());
  }
  Pending* pending = free_.back();
  free_.pop_back();
  date = std::max(engine_.now(), date);
  *pending = {this, line, source, next, pending_dates_.insert(date)};
  engine_.at(date, &on_pending, pending);
}

void FaultPlayer::on_pending(void* raw) {
  auto* pending = static_cast<Pending*>(raw);
  FaultPlayer& player = *pending->player;
  player.pending_dates_.erase(pending->date);
  const PlanLine line = pending->line;
  const int source = pending->source;
  const Next next = pending->next;
  player.free_.push_back(pending);
  switch (next) {
    case Next::kStrike:
      return player.strike(line, source);
    case Next::kReturn:
      return player.give_back(line, source);
    case Next::kMend:
      return player.mended(line);
  }
}

// Tells the stepping streams which slices age. A region or island takes all its slices along.
void FaultPlayer::slices_changed(const Target& target) {
  if (target.kind == TargetKind::kSlice || target.kind == TargetKind::kLearner) {
    slices_changed(target.index);
  } else if (target.kind == TargetKind::kRegion) {
    for (std::size_t m = 0; m < axes_.size(); ++m) {
      if (scenario_.learners[m].region == target.index) slices_changed(static_cast<int>(m));
    }
  }
}

void FaultPlayer::slices_changed(int learner) {
  const auto m = static_cast<std::size_t>(learner);
  if (watched_[m] == 0) return;
  const double axis = axis_now(axes_[m]);
  const auto& changes = fleet_.changes(learner);
  for (std::size_t& i = changes_read_[m]; i < changes.size(); ++i) {
    if (changes[i].present) {
      source_.slice_returns(learner, changes[i].slice, axis);
    } else {
      source_.slice_leaves(learner, changes[i].slice, axis);
    }
  }
  if (axes_[m].on) arm_stepping(axes_[m]);
}

double FaultPlayer::next_change_date() const {
  double date = source_.next_wall_date();
  if (!pending_dates_.empty()) date = std::min(date, *pending_dates_.begin());
  for (const Axis& axis : axes_) date = std::min(date, axis.date);
  return date;
}

}  // namespace skerry
