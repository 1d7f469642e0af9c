// Algorithm 2: for each clock t the syncer collects reports until a quorum and a grace window have passed;
// if a fragment is due a round takes it from the reporters to all connected learners (rounds.cpp). Rounds
// are pipelined: at most τ in flight, or τ + 1 when a fragment leaves before its step has ended.
#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/protocols/diloco.hpp"

namespace skerry {

Task<void> Diloco::syncer() {
  for (std::int64_t t = 1;; ++t) {
    while (rounds_open_ >= most_rounds_) co_await round_ended_.wait();
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

}  // namespace skerry
