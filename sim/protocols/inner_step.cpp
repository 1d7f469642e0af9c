// One inner step of a learner. With buckets or layers it reports the step when the first piece of a due
// fragment is made; with layers its forward pass waits before a layer whose piece is not there.
#include <algorithm>

#include "sim/protocols/diloco.hpp"

namespace skerry {

Task<void> Diloco::inner_step(int m) {
  LearnerState& me = at(m);
  for (;;) {
    const double length = w_.step_s(m);
    w_.books.start_step(m);
    w_.faults.stepping(m, true);
    bool cut = false;
    if (p_.anatomy == Anatomy::kWholeStep) {
      co_await compute(m, w_.engine.now() + length, &cut);
    } else {
      co_await step_in_pieces(m, length, &cut);
    }
    if (cut) {
      w_.books.cut_step(m, true);
      forget_cut_step(m, true);
      co_await reconfigure(m);
      continue;
    }
    const double tokens = w_.tokens(m, me.mesh.size());
    me.step += 1;
    me.tokens += tokens;
    me.chip_seconds += length * w_.compute_chips(m, me.mesh.size());
    w_.books.end_step(m, me.step, length, tokens);
    me.step_in_progress = 0;
    pull_ended_step(m);
    w_.earn(tokens);
    co_return;
  }
}

// Up to `end`; slices that leave may cut the step.
Task<void> Diloco::compute(int m, double end, bool* cut) {
  Signal& changed = w_.fleet.changed(m);
  while (!*cut && co_await changed.until_or(end)) *cut = step_is_lost(m);
}

bool Diloco::step_is_lost(int m) {
  return at(m).mesh.note_losses(w_.fleet) && p_.recovery.step_in_progress == StepInProgress::kLost;
}

Task<void> Diloco::step_in_pieces(int m, double length, bool* cut) {
  LearnerState& me = at(m);
  double computed = 0;
  if (in_layers() && p_.learner_waits == LearnerWaits::kAtOverlap) {
    co_await forward(m, length, &computed, cut);
    if (*cut) co_return;
  }
  const double began = w_.engine.now() - computed;
  me.step_began = began;
  me.step_length_s = length;
  me.step_in_progress = me.step + 1;
  wire_event_.notify();   // a round may wait for the step to be done anew
  const double share = report_share(m);
  if (share < 1 && me.reported_step <= me.step) {
    co_await compute(m, began + share * length, cut);
    if (*cut) co_return;
    push_report(m, me.step + 1, me.tokens + w_.tokens(m, me.mesh.size()));
  }
  co_await compute(m, began + length, cut);
}

// Share of the step at which it is reported: when the first piece of the fragment that is due is made. A
// learner that never waits does not know which one is.
double Diloco::report_share(int m) const {
  if (p_.learner_waits != LearnerWaits::kAtOverlap) return first_ready_;
  const int p = due(at(m).step + 1);
  return p < 0 ? 1.0 : pieces_[static_cast<std::size_t>(p)].front().ready;
}

// The result of piece k of the fragment of clock `need`, which is p.
bool Diloco::piece_there(int m, std::int64_t need, std::size_t k) const {
  const LearnerState& me = at(m);
  const int p = due(need);
  if (me.counters[static_cast<std::size_t>(p)].clock >= need) return true;
  for (const Delivery& delivery : me.inbox) {
    if (delivery.fragment == p && delivery.clock >= need) return true;
  }
  if (!in_contact(m)) return false;
  for (const Round* round : open_rounds_) {
    if (round->clock == need) return round->there[k] != 0;
  }
  return false;
}

// Whether all that a step needs before it begins is there.
bool Diloco::may_begin(int m, std::int64_t need) const {
  const auto& pieces = pieces_[static_cast<std::size_t>(due(need))];
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (pieces[k].needed <= 0 && !piece_there(m, need, k)) return false;
  }
  return true;
}

// The part of the forward pass in which pieces are awaited; → seconds of it that were computed. Pieces
// are needed in the opposite order of that in which they become ready.
Task<void> Diloco::forward(int m, double length, double* computed, bool* cut) {
  LearnerState& me = at(m);
  const std::int64_t need = last_due(me.step - p_.overlap_steps);
  if (need <= 0) co_return;
  const auto p = static_cast<std::size_t>(due(need));
  for (std::size_t k = pieces_[p].size(); k-- > 0 && !*cut;) {
    if (piece_there(m, need, k)) continue;
    const double needed_s = pieces_[p][k].needed * length;
    if (needed_s > *computed) co_await compute(m, w_.engine.now() + needed_s - *computed, cut);
    *computed = std::max(*computed, needed_s);
    if (!*cut && !piece_there(m, need, k)) co_await stand_still(m, need, k, cut);
  }
  // The last piece is there a moment before the fragment is.
  while (!*cut && me.counters[p].clock < need) {
    take_pending(m, need);
    if (me.counters[p].clock < need) co_await stand_still(m, need, pieces_[p].size(), cut);
  }
}

// Until piece k is there; k beyond the last: until something arrives.
Task<void> Diloco::stand_still(int m, std::int64_t need, std::size_t k, bool* cut) {
  const bool any = k >= pieces_[static_cast<std::size_t>(due(need))].size();
  w_.faults.stepping(m, false);
  do {
    w_.books.stand_still(m, closed_clock_ >= need ? Cause::kExposedCommunication
                                                  : why_waiting(m, need));
    co_await at(m).delivered->wait();
    w_.books.go_on(m);
    *cut = step_is_lost(m);
  } while (!*cut && !any && !piece_there(m, need, k));
  w_.faults.stepping(m, true);
}

}  // namespace skerry
