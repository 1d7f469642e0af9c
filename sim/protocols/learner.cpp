// Algorithm 1: a learner steps, reports and takes what has arrived. It never waits for the syncer nor for
// its peers, unless learner_waits is at_overlap.
#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/protocols/diloco.hpp"

namespace skerry {

// The chips of a learner. Losing them all ends its life and frees its timers and flows.
Task<void> Diloco::island(int m) {
  LearnerState& me = at(m);
  co_await until(w_.engine, w_.learner(m).start_s);
  bool first = w_.learner(m).start_s <= first_start_s_;
  peers_changed();
  Signal& changed = w_.fleet.changed(m);
  for (;;) {
    while (!w_.fleet.up(m)) {
      w_.books.phase(m, Cause::kDown);
      co_await changed.wait();
    }
    me.state_lost = false;
    me.mesh = Mesh(w_.fleet, m, w_.learner(m).slices);
    w_.books.slices_away(m, me.mesh.out());
    me.life = Process(w_.engine, w_.learner(m).name, life(m, first));
    first = false;
    while (w_.fleet.up(m) && !me.state_lost) {
      co_await changed.wait();
      me.delivered->notify();
    }
    leave(m);
  }
}

Task<void> Diloco::life(int m, bool first) {
  if (first) {
    join(m, 0);
  } else {
    co_await recover(m);
  }
  LearnerState& me = at(m);
  for (;;) {
    if (me.mesh.note_losses(w_.fleet) || me.mesh.anything_back(w_.fleet)) co_await reconfigure(m);
    co_await inner_step(m);
    push_report(m);
    take_pending(m);
    if (p_.learner_waits == LearnerWaits::kAtOverlap) co_await wait_at_overlap(m);
  }
}

Task<void> Diloco::inner_step(int m) {
  LearnerState& me = at(m);
  Signal& changed = w_.fleet.changed(m);
  for (;;) {
    const double length = w_.step_s(m);
    const double end = w_.engine.now() + length;
    w_.books.start_step(m);
    w_.faults.stepping(m, true);
    bool cut = false;
    while (!cut && co_await changed.until_or(end)) {
      cut = me.mesh.note_losses(w_.fleet) &&
            p_.recovery.step_in_progress == StepInProgress::kLost;
    }
    if (cut) {
      w_.books.cut_step(m, true);
      co_await reconfigure(m);
      continue;
    }
    const double tokens = w_.tokens(m, me.mesh.size());
    me.step += 1;
    me.tokens += tokens;
    me.chip_seconds += length * w_.compute_chips(m, me.mesh.size());
    w_.books.end_step(m, me.step, length, tokens);
    w_.earn(tokens);
    co_return;
  }
}

// Slices that left: the learner pauses and goes on with fewer. Slices that came back: it pauses and takes
// them in. Without any slice that holds the state the life ends.
Task<void> Diloco::reconfigure(int m) {
  LearnerState& me = at(m);
  const Recovery& r = p_.recovery;
  w_.faults.stepping(m, false);
  for (;;) {
    if (me.mesh.note_losses(w_.fleet)) {
      me.mesh.drop();
      if (me.mesh.size() == 0) {
        me.state_lost = true;
        w_.fleet.changed(m).notify();
        for (;;) co_await me.delivered->wait();
      }
      w_.books.slices_away(m, me.mesh.out());
      co_await pause(m, r.detection_s, Cause::kInfrastructureRecovery);
      if (!me.mesh.broken()) co_await pause(m, r.slice_down_s, Cause::kSliceDown);
    } else if (me.mesh.anything_back(w_.fleet)) {
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
    if (me.counters[p].clock >= need) break;
    me.waits_for_clock = need;
    w_.faults.stepping(m, false);
    w_.books.phase(m, closed_clock_ >= need ? Cause::kExposedCommunication : why_waiting(m, need));
    co_await me.delivered->wait();
    if (me.mesh.note_losses(w_.fleet)) co_await reconfigure(m);
  }
  me.waits_for_clock = 0;
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

void Diloco::on_noticed(void* self) { static_cast<Diloco*>(self)->peers_changed(); }

// Metadata (t_m, c_steps, c_tokens) to the coordinating shard. The counters of every fragment follow from
// t_m and the tokens done, since both sides know when each fragment was received (see weigh()).
void Diloco::push_report(int m) {
  const int region = w_.learner(m).region;
  const int to = coordinator();
  if (!w_.fleet.reachable(region) || to < -1) return;
  const double latency = w_.network.latency_s(region, to);
  if (latency <= 0) {
    report_arrives(m, at(m).step, at(m).tokens);
    return;
  }
  if (free_messages_.empty()) {
    messages_.emplace_back();
    free_messages_.push_back(&messages_.back());
  }
  Message* message = free_messages_.back();
  free_messages_.pop_back();
  *message = {this, m, at(m).step, at(m).tokens};
  w_.engine.at(w_.engine.now() + latency, &on_message, message);
}

void Diloco::on_message(void* raw) {
  auto* message = static_cast<Message*>(raw);
  message->to->free_messages_.push_back(message);
  message->to->report_arrives(message->learner, message->step, message->tokens);
}

void Diloco::report_arrives(int m, std::int64_t step, double tokens) {
  if (!at(m).joined) return;
  const bool counted = reported(m, closed_clock_ + 1);
  reports_[static_cast<std::size_t>(m)] = {step, tokens, true};
  if (!counted && in_contact(m)) reports_now_ += 1;
  const double a = p_.moving_average_weight;
  step_ema_s_ = (1 - a) * step_ema_s_ + a * w_.step_s(m);
  if (reports_now_ >= wake_at_) report_arrived_.notify();
}

// All pending (Θ_p, t_s), in the order of their arrival.
void Diloco::take_pending(int m) {
  LearnerState& me = at(m);
  if (me.inbox.empty()) return;
  for (const Delivery& delivery : me.inbox) overwrite(m, delivery);
  me.inbox.clear();
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

void Diloco::join(int m, std::int64_t step) {
  LearnerState& me = at(m);
  me.joined = true;
  me.recovering = false;
  me.lives += 1;
  me.step = step;
  for (Counter& counter : me.counters) {
    counter = {.step = step, .tokens = me.tokens, .step_before = step, .tokens_before = me.tokens,
               .kept_chip_s = me.chip_seconds, .kept_tokens = me.tokens, .clock = counter.clock};
  }
  w_.tape.add(fact::Join{w_.engine.now(), step, m});
  peers_changed();
}

// All chips are gone, and with them every step since each fragment last merged or was received.
void Diloco::leave(int m) {
  LearnerState& me = at(m);
  me.life.kill();
  if (w_.books.stepping(m)) w_.books.cut_step(m, true);
  w_.faults.stepping(m, false);
  if (me.joined) {
    fact::Lost lost{.t = w_.engine.now(), .learner = m};
    for (std::size_t p = 0; p < me.counters.size(); ++p) {
      const Counter& counter = me.counters[p];
      lost.chip_seconds += fragment_share_[p] * (me.chip_seconds - counter.kept_chip_s);
      lost.tokens += fragment_share_[p] * (me.tokens - counter.kept_tokens);
    }
    lost.steps = lost.tokens / w_.tokens(m, w_.learner(m).slices);
    w_.tape.add(lost);
    w_.tape.add(fact::Leave{w_.engine.now(), me.step, m});
    w_.lose(lost.tokens);
    me.noticed_s = w_.engine.now() + p_.recovery.detection_s;
    if (p_.recovery.detection_s > 0) w_.engine.at(me.noticed_s, &on_noticed, this);
  }
  me.joined = me.recovering = me.copying = false;
  me.waits_for_clock = 0;
  me.inbox.clear();
  reports_[static_cast<std::size_t>(m)] = {};
  w_.books.phase(m, w_.fleet.up(m) ? Cause::kInfrastructureRecovery : Cause::kDown);
  peers_changed();
}

}  // namespace skerry
