// Algorithm 1: a learner steps, reports and takes what has arrived. It never waits for the syncer nor for
// its peers, unless learner_waits is at_overlap.
#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/protocols/diloco.hpp"

namespace skerry {

Task<void> Diloco::life(int m, bool first) {
  if (first) {
    join(m, 0);
  } else if (at(m).stored) {
    co_await resume(m);
  } else {
    co_await recover(m);
  }
  LearnerState& me = at(m);
  for (;;) {
    if (me.mesh.note_losses(w_.fleet) || me.mesh.anything_back(w_.fleet)) co_await reconfigure(m);
    if (must_store(m)) co_await store(m);
    if (!p_.exchange) {
      co_await quiet_steps(m);
      continue;
    }
    co_await inner_step(m);
    if (at(m).reported_step < at(m).step) push_report(m);
    take_pending(m);
    if (p_.learner_waits == LearnerWaits::kAtOverlap) co_await wait_at_overlap(m);
  }
}

// Without exchange nothing happens to a learner between two changes of its hardware: all steps up to the
// next one are one fact.
Task<void> Diloco::quiet_steps(int m) {
  LearnerState& me = at(m);
  Signal& changed = w_.fleet.changed(m);
  const double length = w_.step_s(m);
  const double most = most_quiet_steps(m);
  me.quiet = {.step_s = length, .since = w_.engine.now(), .left = most};
  w_.books.start_step(m);
  w_.faults.stepping(m, true);
  const double end = w_.engine.now() + length * me.quiet.left;
  const bool disturbed = co_await changed.until_or(end);
  settle_quiet_steps(m, !disturbed);
  me.quiet.left = 0;
  bool cut = false;
  while (w_.books.stepping(m) && !cut) {   // the step that the change fell into
    cut = me.mesh.note_losses(w_.fleet) && p_.recovery.step_in_progress == StepInProgress::kLost;
    if (cut) {
      w_.books.cut_step(m, true);
    } else if (!co_await changed.until_or(me.quiet.since + length)) {
      book_quiet_steps(m, 1, w_.engine.now());
    }
  }
}

// Up to the stop rule, or to the last one before an announced loss. Several times when others may be faster.
double Diloco::most_quiet_steps(int m) {
  const double length = w_.step_s(m);
  double most = kNever;
  if (w_.scenario.stop.tokens) {
    double tokens_per_s = 0;
    for (int peer : p_.learners) {
      settle_quiet_steps(peer, false);
      tokens_per_s += w_.tokens(peer, w_.learner(peer).slices) / w_.step_s(peer);
    }
    most = w_.tokens_wanted() / tokens_per_s / length;
  }
  most = std::min(most, (store_by_s(m) - w_.engine.now()) / length);
  return most < kNever ? std::max(1.0, std::floor(most)) : kNever;
}

// Books the whole steps that the learner has done by now.
void Diloco::settle_quiet_steps(int m, bool all) {
  LearnerState& me = at(m);
  if (me.quiet.left <= 0 || !w_.books.stepping(m)) return;
  const double done = std::floor((w_.engine.now() - me.quiet.since) / me.quiet.step_s + 1e-9);
  const double n = all ? me.quiet.left : std::min(done, me.quiet.left);
  me.quiet.left -= n;
  if (n < 1) return;
  const double t1 = me.quiet.since + n * me.quiet.step_s;
  book_quiet_steps(m, n, all ? w_.engine.now() : std::min(t1, w_.engine.now()));
  if (me.quiet.left > 0 && !w_.books.stepping(m)) w_.books.start_step(m);
}

void Diloco::book_quiet_steps(int m, double n, double t1) {
  LearnerState& me = at(m);
  const double tokens = w_.tokens(m, me.mesh.size());
  me.step += static_cast<std::int64_t>(n);
  me.tokens += n * tokens;
  me.chip_seconds += n * me.quiet.step_s * w_.compute_chips(m, me.mesh.size());
  me.quiet.since = t1;
  w_.books.end_steps(m, static_cast<std::int64_t>(n), me.step, me.quiet.step_s, tokens, t1);
  w_.earn(n * tokens);
}

void Diloco::settle_at_end() {
  for (int m : p_.learners) settle_quiet_steps(m, false);
}

// Slices that left: the learner pauses and goes on with fewer. Slices that came back: it pauses and takes
// them in. Without any slice that holds the state the life ends.
Task<void> Diloco::reconfigure(int m) {
  LearnerState& me = at(m);
  const Recovery& r = p_.recovery;
  w_.faults.stepping(m, false);
  for (bool grown = false;;) {
    if (me.mesh.note_losses(w_.fleet)) {
      me.mesh.drop();
      if (me.mesh.size() == 0) {
        me.state_lost = true;
        w_.fleet.changed(m).notify();
        for (;;) co_await me.delivered->wait();
      }
      w_.books.slices_away(m, me.mesh.out());
      co_await pause(m, w_.detection_s(m), Cause::kInfrastructureRecovery);
      if (!me.mesh.broken()) co_await pause(m, r.slice_down_s, Cause::kSliceDown);
    } else if (!grown && me.mesh.anything_back(w_.fleet)) {
      grown = true;
      me.mesh.adopt(w_.fleet);
      w_.books.slices_away(m, me.mesh.out());
      co_await pause(m, r.scale_up_s, Cause::kScaleUp);
    } else {
      co_return;
    }
  }
}

Task<void> Diloco::pause(int m, double seconds, Cause cause) {
  const double end = w_.engine.now() + seconds;
  w_.books.phase(m, cause);
  while (w_.engine.now() < end && co_await w_.fleet.changed(m).until_or(end)) {
    if (at(m).mesh.note_losses(w_.fleet)) co_return;
  }
}

// A learner at most τ steps ahead of the newest due fragment that it has received goes on.
Task<void> Diloco::wait_at_overlap(int m) {
  LearnerState& me = at(m);
  const std::int64_t need = last_due(me.step - p_.overlap_steps);
  if (need <= 0) co_return;
  const auto p = static_cast<std::size_t>(due(need));
  for (;;) {
    take_pending(m);   // what came during a pause too
    if (me.counters[p].clock >= need || (in_layers() && may_begin(m, need))) break;
    me.waits_for_clock = need;
    w_.faults.stepping(m, false);
    me.waiting = true;
    book_waiting(m);
    const double wake_s = store_by_s(m);   // once: too late to store is no reason to wake
    co_await me.delivered->until_or(wake_s > w_.engine.now() ? wake_s : kNever);
    me.waiting = false;
    if (me.mesh.note_losses(w_.fleet)) co_await reconfigure(m);
    if (must_store(m)) co_await store(m);
  }
  me.waits_for_clock = 0;
}

void Diloco::book_waiting(int m) {
  const std::int64_t need = at(m).waits_for_clock;
  if (!at(m).waiting) return;
  w_.books.phase(m, closed_clock_ >= need ? Cause::kExposedCommunication : why_waiting(m, need));
}

// Cut off, or all have done the step: only the network keeps it. Else somebody is away, or slow.
Cause Diloco::why_waiting(int m, std::int64_t need) const {
  const int hub = coordinator();
  if (hub < -1 || !w_.fleet.reachable(hub) || !in_contact(m) ||
      !w_.fleet.reachable(w_.learner(m).region)) {
    return Cause::kExposedCommunication;
  }
  bool late = false;
  for (int peer : p_.learners) {
    if (peer == m || w_.learner(peer).start_s > w_.engine.now()) continue;
    if (!(at(peer).joined && in_contact(peer))) return Cause::kWaitingForQuorum;
    late = late || at(peer).step < need;
  }
  return late ? Cause::kStragglerWait : Cause::kExposedCommunication;
}

// Metadata (t_m, c_steps, c_tokens) to the coordinating shard. The counters of every fragment follow from
// t_m and the tokens done, since both sides know when each fragment was received (see weigh()).
void Diloco::push_report(int m, std::int64_t step, double tokens) {
  const int region = w_.learner(m).region;
  const int to = coordinator();
  if (!w_.fleet.reachable(region) || to < -1) return;
  at(m).reported_step = step;   // lower than before when a report is sent anew
  if (free_messages_.empty()) {
    messages_.emplace_back();
    free_messages_.push_back(&messages_.back());
  }
  Message* message = free_messages_.back();
  free_messages_.pop_back();
  *message = {this, m, step, at(m).clock, tokens};
  w_.network.post(region, to, &on_message, message);
}

// One that was given up is sent again, unless a newer one is on its way; after a cut the shard's return
// does that.
void Diloco::on_message(void* raw, bool arrived) {
  auto* slot = static_cast<Message*>(raw);
  const Message message = *slot;
  Diloco& self = *message.to;
  self.free_messages_.push_back(slot);
  if (arrived) {
    self.report_arrives(message.learner, message.step, message.clock, message.tokens);
  } else if (self.at(message.learner).joined &&
             self.at(message.learner).reported_step == message.step) {
    self.push_report(message.learner, message.step, message.tokens);
  }
}

void Diloco::report_arrives(int m, std::int64_t step, std::int64_t clock, double tokens) {
  if (!at(m).joined || step < reports_[static_cast<std::size_t>(m)].step) return;
  return_marker(m, clock);
  const bool counted = reported(m, closed_clock_ + 1);
  reports_[static_cast<std::size_t>(m)] = {step, tokens, true};
  if (!counted && in_contact(m)) reports_now_ += 1;
  const double a = p_.moving_average_weight;
  step_ema_s_ = (1 - a) * step_ema_s_ + a * w_.step_s(m);
  if (reports_now_ >= wake_at_) report_arrived_.notify();
}

// All pending (Θ_p, t_s) up to t_s = `clock`, in the order of their arrival.
void Diloco::take_pending(int m, std::int64_t clock) {
  LearnerState& me = at(m);
  if (me.inbox.empty()) return;
  for (const Delivery& delivery : me.inbox) {
    if (delivery.clock <= clock) overwrite(m, delivery);
  }
  std::erase_if(me.inbox, [&](const Delivery& delivery) { return delivery.clock <= clock; });
  peers_changed_.notify();   // a donor may have reached t_s
}

void Diloco::overwrite(int m, const Delivery& delivery) {
  LearnerState& me = at(m);
  Counter& counter = me.counters[static_cast<std::size_t>(delivery.fragment)];
  counter = {.step = me.step, .tokens = me.tokens, .step_before = counter.step,
             .tokens_before = counter.tokens, .kept_chip_s = me.chip_seconds,
             .kept_tokens = me.tokens, .clock = delivery.clock};
  me.clock = std::max(me.clock, delivery.clock);
  w_.tape.add(fact::Overwrite{w_.engine.now(), delivery.clock, me.step, delivery.pulled_step, m,
                              delivery.fragment, delivery.participated});
}

}  // namespace skerry
