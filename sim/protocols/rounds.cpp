// One round of Algorithm 2: a fragment is pulled from the reporters, merged by an all-reduce between the
// shards, taken through the outer step and sent to all connected learners.
//
// With buckets or layers a learner reports a step while it does it, and the shard takes the fragment in
// pieces as they are made. The copy counts when the step has ended; a step that is cut is done anew, and
// the exchange with it; a learner that is lost before is left out.
#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/protocols/diloco.hpp"

namespace skerry {

Task<void> Diloco::round(std::int64_t t, int p, std::vector<int> reporters) {
  const double closed = w_.engine.now();
  Round round{.clock = t, .fragment = p, .merged = {}, .weights = {},
              .pulled = std::vector<std::int64_t>(states_.size(), -1),
              .life = std::vector<int>(states_.size(), 0),
              .asked = std::vector<std::int64_t>(states_.size(), 0),
              .there = std::vector<char>(pieces_[static_cast<std::size_t>(p)].size(), 0)};
  open_rounds_.push_back(&round);
  co_await decide_and_pull(&round, std::move(reporters));
  const auto on_wire = [&] {
    const auto end = wire_queue_.begin() +
                     std::min<std::ptrdiff_t>(p_.in_flight, std::ssize(wire_queue_));
    return std::find(wire_queue_.begin(), end, t) != end;
  };
  while (!on_wire()) co_await wire_event_.wait();
  const double began = w_.engine.now();
  co_await over_the_wire(&round);
  wire_queue_.erase(std::find(wire_queue_.begin(), wire_queue_.end(), t));
  wire_event_.notify();
  while (waits_for_steps(round)) co_await wire_event_.wait();
  std::sort(round.merged.begin(), round.merged.end());
  w_.tape.add(fact::Merge{w_.engine.now(), began, t, p, static_cast<int>(round.merged.size())});
  w_.tape.add(fact::OuterStep{w_.engine.now(), t, p});
  version_[static_cast<std::size_t>(p)] = t;
  const double a = p_.moving_average_weight;
  sync_ema_s_ = (1 - a) * sync_ema_s_ + a * (w_.engine.now() - closed);
  send_to_learners(round);
  std::erase(open_rounds_, &round);
  rounds_open_ -= 1;
  round_ended_.notify();
}

// The decision travels one way; each shard copies the fragment of its learner when it arrives.
Task<void> Diloco::decide_and_pull(Round* round, std::vector<int> reporters) {
  std::vector<std::int64_t> asked(states_.size(), -1);   // the step that was reported
  for (int m : reporters) {
    const auto i = static_cast<std::size_t>(m);
    asked[i] = reports_[i].step;   // one that waits at overlap may be ahead of the clock
    if (p_.learner_waits == LearnerWaits::kAtOverlap) asked[i] = std::min(asked[i], round->clock);
  }
  std::vector<Task<void>> decisions;
  for (int region : regions_) {
    if (in_ring_[shard_index(region)] != 0) decisions.push_back(decide(round, region, asked));
  }
  co_await all_of(w_.engine, std::move(decisions));
}

// One that is given up is sent again.
Task<void> Diloco::decide(Round* round, int region, std::vector<std::int64_t> asked) {
  for (;;) {
    if (co_await w_.network.message(coordinator(), region)) break;
    if (in_ring_[shard_index(region)] == 0 || coordinator() < -1) co_return;
  }
  for (int m : p_.learners) {
    LearnerState& peer = at(m);
    const auto i = static_cast<std::size_t>(m);
    if (w_.learner(m).region != region || !peer.joined) continue;
    round->pulled[i] = peer.step;
    round->life[i] = peer.lives;
    if (asked[i] < 0) continue;
    if (peer.step < asked[i] && peer.step_in_progress == asked[i]) {
      round->asked[i] = asked[i];
    } else {
      pull(round, m);
    }
  }
}

// The shard beside the learner has its copy.
void Diloco::pull(Round* round, int m) {
  LearnerState& peer = at(m);
  const auto i = static_cast<std::size_t>(m);
  round->asked[i] = 0;
  round->pulled[i] = peer.step;
  w_.tape.add(fact::Pull{w_.engine.now(), round->clock, peer.step, m, round->fragment});
  round->weights.push_back(weigh(round->clock, round->fragment, m));
  w_.tape.add(round->weights.back());
  Counter& counter = peer.counters[static_cast<std::size_t>(round->fragment)];
  counter.kept_chip_s = peer.chip_seconds;
  counter.kept_tokens = peer.tokens;
  round->merged.push_back(m);
}

// The step that rounds take pieces from has ended.
void Diloco::pull_ended_step(int m) {
  for (Round* round : open_rounds_) {
    if (round->asked[static_cast<std::size_t>(m)] == 0) continue;
    pull(round, m);
    wire_event_.notify();
  }
}

// It was cut: it is done anew (`again`), or the learner is gone.
void Diloco::forget_cut_step(int m, bool again) {
  at(m).step_in_progress = 0;
  for (Round* round : open_rounds_) {
    std::int64_t& asked = round->asked[static_cast<std::size_t>(m)];
    if (asked == 0) continue;
    if (!again) asked = 0;
    round->attempt += 1;
    wire_event_.notify();
  }
}

bool Diloco::waits_for_steps(const Round& round) const {
  return std::any_of(round.asked.begin(), round.asked.end(), [](std::int64_t step) { return step > 0; });
}

// Every step that pieces are taken from is under way.
bool Diloco::dates_known(const Round& round) const {
  for (int m : p_.learners) {
    const std::int64_t asked = round.asked[static_cast<std::size_t>(m)];
    if (asked > 0 && at(m).step_in_progress != asked) return false;
  }
  return true;
}

// Of the learners that are in the middle of the step the slowest decides.
double Diloco::ready_s(const Round& round, const Piece& piece) const {
  double ready = w_.engine.now();
  for (int m : p_.learners) {
    if (round.asked[static_cast<std::size_t>(m)] == 0) continue;
    ready = std::max(ready, at(m).step_began + piece.ready * at(m).step_length_s);
  }
  return ready;
}

// w = c_tokens² / c_steps, with the counters of the report: those since p was received, and for a report
// sent at the very boundary at which p arrived, since the time before.
fact::Weigh Diloco::weigh(std::int64_t t, int p, int m) const {
  const Report& report = reports_[static_cast<std::size_t>(m)];
  const Counter& counter = at(m).counters[static_cast<std::size_t>(p)];
  const bool before = counter.step >= report.step;
  const double c_steps =
      static_cast<double>(report.step - (before ? counter.step_before : counter.step));
  const double c_tokens = report.tokens - (before ? counter.tokens_before : counter.tokens);
  const double weight = c_steps > 0 && c_tokens > 0 ? token_weight(c_tokens, c_steps) : 0.0;
  return {t, std::max(c_steps, 0.0), std::max(c_tokens, 0.0), weight, m, p};
}

// Shards hold full replicas, so all of them take part, merged learner or not. A central syncer receives
// the fragment of every merged learner and sends the result to every connected one.
Collective Diloco::exchange(double bytes, const std::vector<int>& merged) const {
  const auto over = [&](const std::vector<int>& learners) {
    std::vector<int> regions;
    for (int m : learners) {
      if (in_contact(m)) regions.push_back(w_.learner(m).region);
    }
    return all_reduce(w_.scenario, p_, regions, bytes);
  };
  Collective collective = over(p_.learners);
  if (p_.syncer == SyncerPlace::kCentral) collective.first = over(merged).first;
  return collective;
}

std::vector<PieceOnWire> Diloco::on_wire(const Round& round) {
  std::vector<int> merged = round.merged;
  for (int m : p_.learners) {
    if (round.asked[static_cast<std::size_t>(m)] > 0) merged.push_back(m);
  }
  std::sort(merged.begin(), merged.end());
  const bool set_up = p_.wire.setup_s <= 0 || std::exchange(set_up_, in_ring_) == in_ring_;
  double once_s = p_.wire.sync_fixed_s + (set_up ? 0.0 : p_.wire.setup_s);
  std::vector<PieceOnWire> pieces;
  for (const Piece& piece : pieces_[static_cast<std::size_t>(round.fragment)]) {
    pieces.push_back({ready_s(round, piece), exchange(piece.bytes, merged),
                      before_wire_s(p_.wire, piece.parameters) + std::exchange(once_s, 0.0),
                      behind_wire_s(p_.wire, piece.parameters)});
  }
  return pieces;
}

Task<void> Diloco::send_fragment(Round* round) {
  round->there.assign(round->there.size(), 0);
  co_await send_pieces(w_.engine, w_.network, on_wire(*round), p_.channel_shared,
                       [this, round](std::size_t k) {
                         round->there[k] = 1;
                         if (p_.anatomy == Anatomy::kLayers) piece_arrived();
                       });
  wire_event_.notify();
}

// Learners in the middle of a step may wait for it.
void Diloco::piece_arrived() {
  for (int m : p_.learners) at(m).delivered->notify();
}

// The all-reduce; when shards leave or return, or a step that it takes pieces from is cut, it begins
// again with what is there.
Task<void> Diloco::over_the_wire(Round* round) {
  if (!regions_can_fail_ && !waits_for_steps(*round)) {
    co_await send_fragment(round);
    co_return;
  }
  for (;;) {
    while (!dates_known(*round)) co_await wire_event_.wait();
    const std::vector<char> ring = in_ring_;
    const int attempt = round->attempt;
    Process wire(w_.engine, "all-reduce", send_fragment(round));
    while (!wire.done() && in_ring_ == ring && round->attempt == attempt) {
      co_await wire_event_.wait();
    }
    if (wire.done()) co_return;
    wire.kill();
    restart_without_lost(round);
  }
}

// The copies that lost shards held are gone with them.
void Diloco::restart_without_lost(Round* round) {
  w_.tape.add(fact::Abandon{w_.engine.now(), round->clock, round->fragment, true});
  std::erase_if(round->merged, [&](int m) { return !in_contact(m); });
  std::erase_if(round->weights, [&](const fact::Weigh& weight) { return !in_contact(weight.learner); });
  for (int m : p_.learners) {
    if (!in_contact(m)) round->asked[static_cast<std::size_t>(m)] = 0;
  }
  for (const fact::Weigh& weight : round->weights) w_.tape.add(weight);
}

// A learner that has had another state since the pull takes the fragment as any other.
void Diloco::send_to_learners(const Round& round) {
  for (int m : p_.learners) {
    LearnerState& to = at(m);
    if (!in_contact(m) || !(to.joined || to.recovering)) continue;
    const auto i = static_cast<std::size_t>(m);
    const bool same = to.joined && to.lives == round.life[i];
    const bool merged = std::binary_search(round.merged.begin(), round.merged.end(), m);
    to.inbox.push_back({round.clock, same ? round.pulled[i] : -1, round.fragment, same && merged});
    to.delivered->notify();
  }
}

}  // namespace skerry
