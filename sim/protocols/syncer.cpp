// Algorithm 2: for each clock t the syncer collects reports until a quorum and a grace window have passed;
// if a fragment is due it is pulled from the reporters, merged by an all-reduce between the shards, taken
// through the outer step and sent to all connected learners. Rounds are pipelined, at most τ in flight.
#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/protocols/diloco.hpp"

namespace skerry {

Task<void> Diloco::syncer() {
  for (std::int64_t t = 1;; ++t) {
    while (rounds_open_ >= std::max(1, p_.overlap_steps)) co_await round_ended_.wait();
    while (!rounds_.empty() && rounds_.front().done()) rounds_.pop_front();
    std::vector<int> reporters;
    co_await collect(t, &reporters);
    const int p = due(t);
    if (p < 0) continue;
    rounds_open_ += 1;
    wire_queue_.push_back(t);
    rounds_.emplace_back(w_.engine, "round", round(t, p, std::move(reporters)));
  }
}

// Receives metadata until K learners have reported, then for the length of the grace window or until all
// connected learners have. ξ_quorum runs from the first report: before it nothing grows stale.
Task<void> Diloco::collect(std::int64_t t, std::vector<int>* reporters) {
  const double a = p_.moving_average_weight;
  while (coordinator() < -1 || !w_.fleet.reachable(coordinator())) co_await ring_changed_.wait();
  recount();
  wake_at_ = 1;
  while (reports_now_ < 1) co_await report_arrived_.wait();
  const double first = w_.engine.now();
  while (reports_now_ < (wake_at_ = quorum_now())) co_await report_arrived_.wait();
  const double waited = w_.engine.now() - first;
  quorum_ema_s_ = (1 - a) * quorum_ema_s_ + a * waited;
  const double opened = w_.engine.now();
  if (p_.grace == Grace::kSlack) {
    const double closes = opened + grace_window();
    while (w_.engine.now() < closes && reports_now_ < (wake_at_ = expected_)) {
      if (!co_await report_arrived_.until_or(closes)) break;
    }
  }
  close_collection(t, waited, w_.engine.now() - opened, reporters);
}

void Diloco::close_collection(std::int64_t t, double waited_s, double grace_s,
                              std::vector<int>* reporters) {
  for (int m : p_.learners) {
    if (!reported(m, t)) continue;
    reporters->push_back(m);
    reports_[static_cast<std::size_t>(m)].fresh = false;
  }
  closed_clock_ = t;
  w_.tape.add(fact::Close{w_.engine.now(), waited_s, grace_s, t, due(t),
                          static_cast<int>(reporters->size())});
  begin_snapshot(t);
  for (int m : p_.learners) book_waiting(m);
}

// Chandy and Lamport's algorithm as the paper's appendix has it. The syncer notes its own state; what it
// sends from then on carries the marker; a learner that has taken it returns it with its next report.
// Asynchronous: it costs no simulated time.
void Diloco::begin_snapshot(std::int64_t t) {
  const int every = p_.recovery.snapshot_every_steps;
  if (every == 0 || t % every != 0 || open_snapshot_.clock > 0) return;
  open_snapshot_ = {t, w_.engine.now(), version_, std::vector<char>(states_.size(), 0)};
}

void Diloco::return_marker(int m, std::int64_t clock) {
  if (open_snapshot_.clock == 0 || clock < open_snapshot_.clock) return;
  open_snapshot_.marked[static_cast<std::size_t>(m)] = 1;
  finish_snapshot();
}

// Learners that are away are left out: they recover from a peer.
void Diloco::finish_snapshot() {
  for (int m : p_.learners) {
    const bool away = !at(m).joined || !in_contact(m);
    if (!away && open_snapshot_.marked[static_cast<std::size_t>(m)] == 0) return;
  }
  w_.tape.add(fact::Snapshot{w_.engine.now(), open_snapshot_.began, open_snapshot_.clock});
  snapshot_ = std::exchange(open_snapshot_, {});
}

double Diloco::grace_window() const {
  const double slack = p_.overlap_steps * step_ema_s_ - (quorum_ema_s_ + sync_ema_s_);
  return std::clamp(p_.grace_margin * slack, 0.0, p_.grace_limit_steps * step_ema_s_);
}

// A waiting learner sends no new metadata: its last one still holds for every clock up to its step.
bool Diloco::reported(int m, std::int64_t t) const {
  const Report& report = reports_[static_cast<std::size_t>(m)];
  if (!at(m).joined || !in_contact(m)) return false;
  return report.fresh || (p_.learner_waits == LearnerWaits::kAtOverlap && report.step >= t);
}

// Counted anew when learners join or leave; a report only adds itself.
void Diloco::recount() {
  reports_now_ = expected_ = started_ = 0;
  const double now = w_.engine.now();
  for (int m : p_.learners) {
    reports_now_ += reported(m, closed_clock_ + 1) ? 1 : 0;
    expected_ += in_contact(m) && (at(m).joined || now < at(m).noticed_s) ? 1 : 0;
    started_ += w_.learner(m).start_s <= now ? 1 : 0;
  }
}

int Diloco::quorum_now() const {
  const int there = p_.on_loss == OnLoss::kWait ? started_ : expected_;
  return std::max(1, std::min(p_.quorum, there));
}

int Diloco::due(std::int64_t t) const {
  return due_table_[static_cast<std::size_t>(t % p_.sync_period_steps)];
}

std::int64_t Diloco::last_due(std::int64_t t) const {
  if (t <= 0) return 0;
  return std::max<std::int64_t>(
      0, t - back_table_[static_cast<std::size_t>(t % p_.sync_period_steps)]);
}

int Diloco::coordinator() const {
  if (p_.syncer == SyncerPlace::kCentral) return p_.syncer_region;
  for (int region : regions_) {
    if (in_ring_[shard_index(region)] != 0) return region;
  }
  return -2;
}

Task<void> Diloco::round(std::int64_t t, int p, std::vector<int> reporters) {
  const double closed = w_.engine.now();
  Round round{.clock = t, .fragment = p, .merged = {}, .weights = {},
              .pulled = std::vector<std::int64_t>(states_.size(), -1),
              .life = std::vector<int>(states_.size(), 0)};
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
  w_.tape.add(fact::Merge{w_.engine.now(), began, t, p, static_cast<int>(round.merged.size())});
  w_.tape.add(fact::OuterStep{w_.engine.now(), t, p});
  version_[static_cast<std::size_t>(p)] = t;
  const double a = p_.moving_average_weight;
  sync_ema_s_ = (1 - a) * sync_ema_s_ + a * (w_.engine.now() - closed);
  send_to_learners(round);
  rounds_open_ -= 1;
  round_ended_.notify();
}

// The decision travels one way; each shard copies the fragment of its learner when it arrives.
Task<void> Diloco::decide_and_pull(Round* round, std::vector<int> reporters) {
  const double closed = w_.engine.now();
  const int from = coordinator();
  std::vector<char> asked(states_.size(), 0);
  for (int m : reporters) asked[static_cast<std::size_t>(m)] = 1;
  std::vector<std::pair<double, int>> arrivals;
  for (int region : regions_) {
    if (in_ring_[shard_index(region)] == 0) continue;
    arrivals.emplace_back(w_.network.latency_s(from, region), region);
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [latency, region] : arrivals) {
    if (closed + latency > w_.engine.now()) co_await until(w_.engine, closed + latency);
    for (int m : p_.learners) {
      LearnerState& peer = at(m);
      const auto i = static_cast<std::size_t>(m);
      if (w_.learner(m).region != region || !peer.joined) continue;
      round->pulled[i] = peer.step;
      round->life[i] = peer.lives;
      if (asked[i] == 0) continue;
      w_.tape.add(fact::Pull{w_.engine.now(), round->clock, peer.step, m, round->fragment});
      round->weights.push_back(weigh(round->clock, round->fragment, m));
      w_.tape.add(round->weights.back());
      Counter& counter = peer.counters[static_cast<std::size_t>(round->fragment)];
      counter.kept_chip_s = peer.chip_seconds;
      counter.kept_tokens = peer.tokens;
      round->merged.push_back(m);
    }
  }
  std::sort(round->merged.begin(), round->merged.end());
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
Collective Diloco::exchange(int p, const std::vector<int>& merged) const {
  const double bytes = fragment_bytes_[static_cast<std::size_t>(p)];
  const auto over = [&](const std::vector<int>& learners) {
    std::vector<int> regions;
    for (int m : learners) {
      if (in_contact(m)) regions.push_back(w_.learner(m).region);
    }
    if (p_.syncer == SyncerPlace::kCentral) {
      return all_reduce(w_.scenario, AllReduce::kStar, p_.syncer_region, regions, bytes);
    }
    return all_reduce(w_.scenario, p_.all_reduce, p_.star_region, regions, bytes);
  };
  Collective collective = over(p_.learners);
  if (p_.syncer == SyncerPlace::kCentral) collective.first = over(merged).first;
  return collective;
}

Task<void> Diloco::one_exchange(Collective collective) {
  co_await w_.network.collective(collective);
  wire_event_.notify();
}

// The all-reduce; when shards leave or return it begins again with those that are there.
Task<void> Diloco::over_the_wire(Round* round) {
  if (!regions_can_fail_) {
    co_await w_.network.collective(exchange(round->fragment, round->merged));
    co_return;
  }
  for (;;) {
    const std::vector<char> ring = in_ring_;
    Process wire(w_.engine, "all-reduce", one_exchange(exchange(round->fragment, round->merged)));
    while (!wire.done() && in_ring_ == ring) co_await wire_event_.wait();
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
