#include "sim/protocols/data_parallel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/cost/cost.hpp"

namespace skerry {

namespace {

bool can_be_corrupted(const Scenario& scenario) {
  const auto corrupts = [](const auto& fault) { return fault.kind == FaultKind::kCorruption; };
  return std::any_of(scenario.faults.begin(), scenario.faults.end(), corrupts) ||
         std::any_of(scenario.plan.begin(), scenario.plan.end(), corrupts);
}

Task<void> watch(Signal& from, Signal& to) {
  for (;;) {
    co_await from.wait();
    to.notify();
  }
}

}  // namespace

DataParallel::DataParallel(World& world)
    : w_(world),
      members_(world.scenario.learners.size()),
      event_(world.engine, "the end of the step or a change of hardware"),
      pieces_(exchange_pieces(world.scenario.charged, world.protocol).front()),
      watcher_(world.engine, "hardware watch", watch(world.fleet.anything_changed(), event_)),
      job_(world.engine, world.protocol.name, job()) {
  // A job that survives losses with its state has nothing to save for under Young's rule; with a period it
  // saves, an elastic one always, one that waits for its slices against silent corruption.
  const bool by_period = w_.protocol.recovery.checkpoint_rule == CheckpointRule::kPeriod;
  const bool saves = w_.protocol.elastic
                         ? by_period
                         : w_.protocol.recovery.resume == Resume::kFromCheckpoint ||
                               (by_period && can_be_corrupted(w_.scenario));
  if (saves) checkpoint_every_s_ = checkpoint_period_s(w_.scenario, w_.protocol);
  for (int m : w_.protocol.learners) {
    if (w_.learner(m).start_s > 0) {
      starts_.emplace_back(w_.engine, w_.learner(m).name + " (start)", await_start(m));
    }
  }
  w_.engine.explain_deadlock([this] { return waits(); });
}

Task<void> DataParallel::await_start(int m) {
  co_await until(w_.engine, w_.learner(m).start_s);
  sort_absent(Cause::kInfrastructureRecovery);
  event_.notify();
}

std::string DataParallel::waits() const {
  std::string text = w_.protocol.name + " waits for " + waits_;
  for (int m : w_.protocol.learners) {
    if (w_.fleet.slices_present(m) < w_.learner(m).slices) {
      text += "; " + w_.learner(m).name + " has " + std::to_string(w_.fleet.slices_present(m)) +
              " of " + std::to_string(w_.learner(m).slices) + " slices";
    }
  }
  return text;
}

Task<void> DataParallel::job() {
  co_await begin();
  for (;;) {
    if (w_.fleet.corruption_found()) forget_corrupt_saves();
    if (lost_anything() || anything_back()) co_await recover();
    if (restart_pending_ && !lost_anything()) co_await restart();
    if (save_is_due()) co_await save();
    if (lost_anything() || w_.fleet.corruption_found() || restart_pending_) continue;
    stepping(true);   // so that the dates of stepping-exposure faults are known
    const std::int64_t n = anything_back() ? 0 : calm_steps();   // they came back during a pause
    if (n > 0) {
      co_await stretch(n);
    } else {
      co_await step();
    }
    if (w_.stop_reached()) co_return;
  }
}

// Learners that join later (start_s) count as an island that comes back; the job starts with the first.
Task<void> DataParallel::begin() {
  double first = kNever;
  for (int m : w_.protocol.learners) first = std::min(first, w_.learner(m).start_s);
  co_await until(w_.engine, first);
  waits_ = "chips to begin on";
  const auto up = [&](int m) { return w_.fleet.up(m) && w_.learner(m).start_s <= w_.engine.now(); };
  const auto& learners = w_.protocol.learners;
  while (w_.protocol.elastic ? std::none_of(learners.begin(), learners.end(), up) : !all_here()) {
    sort_absent(Cause::kInfrastructureRecovery);
    co_await event_.wait();
  }
  for (int m : w_.protocol.learners) {
    if (up(m)) adopt(m);
  }
  all(Cause::kInfrastructureRecovery);
}

void DataParallel::adopt(int m) {
  Member& me = member(m);
  if (me.joined) {
    me.mesh.adopt(w_.fleet);
  } else {
    me.mesh = Mesh(w_.fleet, m, w_.learner(m).slices);
    me.joined = true;
  }
  w_.books.slices_away(m, me.mesh.out());
}

bool DataParallel::lost_anything() {
  bool lost = false;
  for (int m : w_.protocol.learners) {
    if (member(m).joined && member(m).mesh.note_losses(w_.fleet)) lost = true;
  }
  return lost;
}

// A whole island takes the step in progress with it whatever the rule; a slice only when the rule says so.
bool DataParallel::abort_now() {
  if (w_.fleet.corruption_found()) return true;
  if (!lost_anything()) return false;
  if (w_.protocol.recovery.step_in_progress == StepInProgress::kLost) return true;
  return std::any_of(w_.protocol.learners.begin(), w_.protocol.learners.end(),
                     [&](int m) { return member(m).joined && !w_.fleet.up(m); });
}

bool DataParallel::anything_back() {
  for (int m : w_.protocol.learners) {
    if (w_.learner(m).start_s > w_.engine.now()) continue;
    if (member(m).joined ? member(m).mesh.anything_back(w_.fleet) : w_.fleet.up(m)) return true;
  }
  return false;
}

DataParallel::Shape DataParallel::shape_now() const {
  Shape shape;
  shape.epoch = w_.network.epoch();
  for (int m : w_.protocol.learners) {
    if (!member(m).joined) continue;
    shape.learners.push_back(m);
    shape.step_s.push_back(w_.step_s(m));
    shape.longest_s = std::max(shape.longest_s, shape.step_s.back());
  }
  return shape;
}

// The pieces of the step that began at `began`, as the slowest learner makes them.
std::vector<PieceOnWire> DataParallel::on_wire(const Shape& shape, double began) {
  const WireFormat& wire = w_.protocol.wire;
  std::vector<int> regions;
  for (int m : shape.learners) regions.push_back(w_.learner(m).region);
  pays_set_up_ = wire.setup_s > 0 && std::exchange(set_up_, regions) != regions;
  double once_s = wire.sync_fixed_s + (pays_set_up_ ? wire.setup_s : 0.0);
  std::vector<PieceOnWire> pieces;
  for (const Piece& piece : pieces_) {
    pieces.push_back({began + piece.ready * shape.longest_s,
                      all_reduce(w_.scenario, w_.protocol, regions, piece.bytes),
                      before_wire_s(wire, piece.parameters) + std::exchange(once_s, 0.0),
                      behind_wire_s(wire, piece.parameters)});
  }
  return pieces;
}

// One step, beside it the pieces over the wire.
Task<void> DataParallel::compute_and_send(Shape shape) {
  const double t0 = w_.engine.now();
  if (!w_.protocol.ideal_network && w_.protocol.exchange) {
    co_await send_pieces(w_.engine, w_.network, on_wire(shape, t0), w_.protocol.channel_shared,
                         [](std::size_t) {});
  }
  if (t0 + shape.longest_s > w_.engine.now()) co_await until(w_.engine, t0 + shape.longest_s);
  event_.notify();
}

void DataParallel::stepping(bool on) {
  for (int m : w_.protocol.learners) w_.faults.stepping(m, on && member(m).joined);
}

// One step through the network. When chips are lost and the step cannot count, it is cut.
Task<void> DataParallel::step() {
  current_ = shape_now();
  step_began_ = w_.engine.now();
  waits_ = "the end of a step";
  stepping(true);
  w_.network.mark();
  Process real(w_.engine, "step", compute_and_send(current_));
  while (!real.done()) {
    co_await event_.wait();
    sort_absent(Cause::kInfrastructureRecovery);
    if (real.done() || !abort_now()) continue;
    real.kill();
    stepping(false);
    cut(true);
    co_return;
  }
  stepping(false);
  const double length = w_.engine.now() - step_began_;
  // A step that no change touched stands for the next ones of its shape.
  const bool calm = !pays_set_up_ && shape_now() == current_;
  known_ = calm ? current_ : Shape{};
  known_s_ = calm ? length : 0;
  w_.network.note_moved();
  write_steps(step_began_, 1, current_, length);
  step_began_ = kNever;
}

// How many equal steps follow each other without a change until the next fault or repair, the next save
// or the stop rule. Exact, since a lock-step protocol starts every step from an idle network and the dates
// of all changes to come are known.
std::int64_t DataParallel::calm_steps() const {
  if (known_s_ <= 0 || shape_now() != known_) return 0;
  double round_tokens = 0;
  for (int m : known_.learners) round_tokens += w_.tokens(m, member(m).mesh.size());
  double calm_until = std::min(w_.faults.next_change_date(), w_.scenario.stop.simulated_s);
  if (announced_loss_s() < kNever) calm_until = std::min(calm_until, announced_loss_s() - save_s());
  for (int m : w_.protocol.learners) {
    const double start = w_.learner(m).start_s;
    if (start > w_.engine.now()) calm_until = std::min(calm_until, start);
  }
  const double whole = std::floor((calm_until - w_.engine.now()) / known_s_ * (1.0 - 1e-12));
  const double to_stop = std::ceil((w_.tokens_wanted() - w_.token_slack()) / round_tokens);
  const double to_save =
      checkpoint_every_s_ < kNever
          ? std::ceil((checkpoint_every_s_ - worked_since_save_s_) / known_s_ * (1.0 - 1e-12))
          : kNever;
  const double n = std::min({whole, to_stop, to_save, 1e15});
  return n >= 1 ? static_cast<std::int64_t>(n) : 0;
}

// n steps as one fact, without events.
Task<void> DataParallel::stretch(std::int64_t n) {
  const double t0 = w_.engine.now();
  current_ = known_;
  step_began_ = t0;
  waits_ = "the end of a stretch of steps";
  stepping(true);
  co_await until(w_.engine, t0 + static_cast<double>(n) * known_s_);
  stepping(false);
  step_began_ = kNever;
  w_.network.repeat(static_cast<double>(n));
  write_steps(t0, n, known_, known_s_);
}

void DataParallel::write_steps(double t0, std::int64_t n, const Shape& shape, double length) {
  w_.tape.add(fact::Reduce{t0, steps_ + 1, n, static_cast<int>(shape.learners.size())});
  double tokens = 0;
  for (std::size_t i = 0; i < shape.learners.size(); ++i) {
    const int m = shape.learners[i];
    fact::Steps steps;
    steps.compute_s = shape.step_s[i];
    steps.straggler_wait_s = shape.longest_s - shape.step_s[i];
    steps.exposed_s = length - shape.longest_s;
    steps.tokens = w_.tokens(m, member(m).mesh.size());
    steps.first = steps_ + 1;
    steps.n = n;
    w_.books.lock_step(m, t0, steps);
    tokens += steps.tokens * static_cast<double>(n);
  }
  steps_ += n;
  tokens_ += tokens;
  worked_since_save_s_ += length * static_cast<double>(n);
  w_.earn(tokens);
}

void DataParallel::cut(bool lost) {
  if (step_began_ >= kNever) return;
  for (std::size_t i = 0; i < current_.learners.size(); ++i) {
    w_.books.cut_lock_step(current_.learners[i], step_began_, current_.step_s[i],
                           current_.longest_s, lost);
  }
  step_began_ = kNever;
}

}  // namespace skerry
