// Islands that lose all their chips and get them back, with or without notice; silent corruption.
#include <algorithm>
#include <utility>

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
      w_.books.phase(m, w_.absence(m));
      co_await changed.wait();
    }
    me.state_lost = false;
    me.mesh = Mesh(w_.fleet, m, w_.learner(m).slices);
    w_.books.slices_away(m, me.mesh.out());
    me.life = Process(w_.engine, w_.learner(m).name, life(m, first));
    first = false;
    note_corruption(m);
    while (w_.fleet.up(m) && !me.state_lost) {
      co_await changed.wait();
      settle_quiet_steps(m, false);
      note_corruption(m);
      me.delivered->notify();
    }
    leave(m);
  }
}

// Found corruption costs all that was done since it began. A state that was stored meanwhile is worthless too.
void Diloco::note_corruption(int m) {
  LearnerState& me = at(m);
  const int found = w_.fleet.corruptions_found(m);
  const bool now_found = std::exchange(me.corruptions_found, found) < found;
  if (now_found && me.corrupt) {
    me.state_lost = true;   // leave() asks for `corrupt`
    me.stored = false;
    return;
  }
  if (!w_.fleet.corrupt(m) || me.corrupt) return;
  me.corrupt = true;
  me.sound_chip_s = me.chip_seconds;
  me.sound_tokens = me.tokens;
}

void Diloco::on_noticed(void* self) { static_cast<Diloco*>(self)->peers_changed(); }

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

// Work done since each fragment last merged or was received, and all since a corruption began.
fact::Lost Diloco::work_at_risk(int m) const {
  const LearnerState& me = at(m);
  fact::Lost lost{.t = w_.engine.now(), .learner = m};
  for (std::size_t p = 0; p < me.counters.size(); ++p) {
    const Counter& counter = me.counters[p];
    double kept_chip_s = p_.exchange ? counter.kept_chip_s : me.chip_seconds;
    double kept_tokens = p_.exchange ? counter.kept_tokens : me.tokens;
    if (me.corrupt) {
      kept_chip_s = std::min(kept_chip_s, me.sound_chip_s);
      kept_tokens = std::min(kept_tokens, me.sound_tokens);
    }
    lost.chip_seconds += fragment_share_[p] * (me.chip_seconds - kept_chip_s);
    lost.tokens += fragment_share_[p] * (me.tokens - kept_tokens);
  }
  const double a_step = w_.tokens(m, w_.learner(m).slices);
  lost.steps = a_step > 0 ? lost.tokens / a_step : 0.0;
  return lost;
}

// All chips are gone, or their state is worthless. What was stored in time waits for them.
void Diloco::leave(int m) {
  LearnerState& me = at(m);
  settle_quiet_steps(m, false);
  me.life.kill();
  me.quiet = {};
  if (w_.books.stepping(m)) w_.books.cut_step(m, true);
  forget_cut_step(m, false);
  w_.faults.stepping(m, false);
  const double detection_s = w_.detection_s(m);
  if ((me.joined || me.parked) && !me.stored) {
    const fact::Lost lost = work_at_risk(m);
    if (lost.chip_seconds > 0 || lost.tokens > 0) w_.tape.add(lost);
    w_.tape.add(fact::Leave{w_.engine.now(), me.step, m});
    w_.lose(lost.tokens);
    me.noticed_s = w_.engine.now() + detection_s;
    if (detection_s > 0) w_.engine.at(me.noticed_s, &on_noticed, this);
  }
  me.joined = me.recovering = me.copying = me.waiting = false;
  me.parked = me.stored;
  me.corrupt = me.corrupt && me.stored;
  me.waits_for_clock = me.reported_step = 0;
  me.inbox.clear();
  reports_[static_cast<std::size_t>(m)] = {};
  w_.books.phase(m, w_.fleet.up(m) ? Cause::kInfrastructureRecovery : w_.absence(m));
  peers_changed();
}

// ---------------------------------------------------------------- announced losses

// Last date at which a step may begin, so that the state can be stored before an announced loss of all
// chips; kNever without one.
double Diloco::store_by_s(int m) const {
  const double loss = w_.fleet.announced_loss_s(m);
  if (loss >= kNever || at(m).stored) return kNever;
  return loss - store_s() - w_.step_s(m);
}

double Diloco::store_s() const {
  return p_.recovery.checkpoint_save_s * w_.fleet.storage_slowdown();
}

bool Diloco::must_store(int m) const {
  const double by = store_by_s(m);
  return by < kNever && w_.engine.now() >= by * (1.0 - 1e-12) &&
         w_.engine.now() + store_s() < w_.fleet.announced_loss_s(m);
}

// Parameters, inner optimizer state and counters to storage; then the chips may go.
Task<void> Diloco::store(int m) {
  LearnerState& me = at(m);
  w_.faults.stepping(m, false);
  co_await pause(m, store_s(), Cause::kCheckpointSave);
  if (me.mesh.note_losses(w_.fleet)) co_return;
  me.stored = true;
  w_.books.phase(m, Cause::kInfrastructureRecovery);
  while (w_.fleet.announced_loss_s(m) < kNever) co_await w_.fleet.changed(m).wait();
}

// The learner goes on where it was: it restores its own state and takes the fragments that it missed.
Task<void> Diloco::resume(int m) {
  LearnerState& me = at(m);
  co_await pause(m, p_.recovery.checkpoint_restore_s * w_.fleet.storage_slowdown(),
                 Cause::kCheckpointRestore);
  w_.books.phase(m, Cause::kInfrastructureRecovery);
  while (!in_contact(m)) co_await ring_changed_.wait();
  me.stored = me.parked = false;
  me.joined = true;
  send_missed(m);
  peers_changed();
  take_pending(m);
  if (p_.exchange) push_report(m);
}

}  // namespace skerry
