// Learners that return, and shards that leave the ring and come back (arXiv 2604.21428, appendix E.3).
#include <algorithm>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/protocols/diloco.hpp"
#include "sim/protocols/donors.hpp"

namespace skerry {

bool Diloco::in_contact(int m) const {
  return in_ring_[shard_index(w_.learner(m).region)] != 0;
}

bool Diloco::anybody_has_state() const {
  return std::any_of(p_.learners.begin(), p_.learners.end(),
                     [&](int m) { return at(m).joined && in_contact(m); });
}

int Diloco::choose_donor(int m) const {
  std::vector<int> healthy;
  for (int peer : p_.learners) {
    if (peer != m && at(peer).joined && in_contact(peer)) healthy.push_back(peer);
  }
  return nearest(w_.scenario, w_.network, healthy, w_.learner(m).region);
}

// A returning or new learner: wait for the first fragment, which carries t_s; copy the state of a peer
// that has seen t_s; replay what arrived meanwhile; take part.
Task<void> Diloco::recover(int m) {
  LearnerState& me = at(m);
  co_await pause(m, p_.recovery.scale_up_s, Cause::kScaleUp);
  w_.books.phase(m, Cause::kInfrastructureRecovery);
  while (!in_contact(m)) co_await ring_changed_.wait();
  me.recovering = true;
  me.inbox.clear();
  std::int64_t t_s = 0;
  co_await first_fragment(m, &t_s);
  for (bool done = false; !done;) {
    if (!anybody_has_state()) {
      start_from_global(m);
      break;
    }
    co_await copy_from_peer(m, t_s, &done);
  }
  take_pending(m);
  if (p_.learner_waits == LearnerWaits::kAtOverlap) {
    push_report(m);
    co_await wait_at_overlap(m);
  }
}

// Where the others wait for the newcomer no fragment will come: t_s is the newest clock there is.
Task<void> Diloco::first_fragment(int m, std::int64_t* t_s) {
  LearnerState& me = at(m);
  if (p_.on_loss == OnLoss::kWait) {
    *t_s = *std::max_element(version_.begin(), version_.end());
    co_return;
  }
  while (me.inbox.empty() && anybody_has_state()) co_await me.delivered->wait();
  *t_s = me.inbox.empty() ? 0 : me.inbox.front().clock;
}

// Every learner has lost its state: the shards still hold the global parameters.
void Diloco::start_from_global(int m) {
  LearnerState& me = at(m);
  std::int64_t newest = 0;
  for (std::size_t p = 0; p < me.counters.size(); ++p) {
    me.counters[p].clock = version_[p];
    newest = std::max(newest, version_[p]);
  }
  me.inbox.clear();
  me.clock = newest;
  w_.tape.add(fact::Copy{w_.engine.now(), newest, m, -1});
  join(m, newest);
}

// Sets *done when the state is there and m has joined; else the donor left, or a neighbour that was being
// served over the wide area is now a nearer donor: choose again.
Task<void> Diloco::copy_from_peer(int m, std::int64_t t_s, bool* done) {
  LearnerState& me = at(m);
  const int region = w_.learner(m).region;
  const bool neighbour = std::any_of(p_.learners.begin(), p_.learners.end(), [&](int peer) {
    return peer != m && at(peer).copying && w_.learner(peer).region == region;
  });
  const int donor = choose_donor(m);
  if (w_.learner(donor).region != region && neighbour) {
    co_await peers_changed_.wait();
    co_return;
  }
  if (at(donor).clock < t_s) {
    co_await peers_changed_.wait();
    co_return;
  }
  const std::int64_t donor_step = at(donor).step;
  std::vector<std::int64_t> clocks;
  for (const Counter& counter : at(donor).counters) clocks.push_back(counter.clock);
  me.copying = true;
  Process copy(w_.engine, "state copy", copy_over_wan(m, donor));
  while (!copy.done()) {
    co_await peers_changed_.wait();
    if (copy.done() || (at(donor).joined && in_contact(donor) && in_contact(m))) continue;
    copy.kill();
    me.copying = false;
    co_return;
  }
  me.copying = false;
  for (std::size_t p = 0; p < clocks.size(); ++p) me.counters[p].clock = clocks[p];
  me.clock = *std::max_element(clocks.begin(), clocks.end());
  w_.tape.add(fact::Copy{w_.engine.now(), donor_step, m, donor});
  join(m, donor_step);
  *done = true;
}

// Parameters and inner optimizer state: 3 × the model.
Task<void> Diloco::copy_over_wan(int m, int donor) {
  co_await w_.network.transfer(w_.learner(donor).region, w_.learner(m).region,
                               recovery_bytes(w_.scenario.charged));
  peers_changed_.notify();
}

// ---------------------------------------------------------------- shards

void Diloco::membership_changed() {
  ring_changed_.notify();
  wire_event_.notify();
  peers_changed();
}

void Diloco::peers_changed() {
  recount();
  report_arrived_.notify();
  peers_changed_.notify();
  for (int m : p_.learners) {
    if (at(m).recovering) at(m).delivered->notify();
  }
}

// The shards of one region. After detection_s without contact they leave the ring; when contact is back
// they first fetch the fragments that were merged without them.
Task<void> Diloco::shard(int region) {
  Signal& changed = w_.fleet.region_changed(region);
  char& in_ring = in_ring_[shard_index(region)];
  for (;;) {
    while (w_.fleet.reachable(region)) co_await changed.wait();
    membership_changed();
    const double acted = w_.engine.now() + p_.recovery.detection_s;
    while (!w_.fleet.reachable(region) && w_.engine.now() < acted) {
      if (!co_await changed.until_or(acted)) break;
    }
    if (w_.fleet.reachable(region)) {
      membership_changed();
      continue;
    }
    in_ring = 0;
    known_versions_[shard_index(region)] = version_;
    membership_changed();
    for (bool done = false; !done;) {
      while (!w_.fleet.reachable(region)) co_await changed.wait();
      co_await catch_up(region, &done);
    }
    in_ring = 1;
    rejoin(region);
  }
}

double Diloco::missed_bytes(int region) const {
  const auto& known = known_versions_[shard_index(region)];
  double bytes = 0;
  for (std::size_t p = 0; p < version_.size(); ++p) {
    if (version_[p] > known[p]) bytes += fragment_bytes_[p];
  }
  return bytes;
}

int Diloco::region_in_ring(int near) const {
  int best = -2;
  double best_latency = std::numeric_limits<double>::infinity();
  for (int region : regions_) {
    if (region == near || in_ring_[shard_index(region)] == 0) continue;
    const double latency = w_.network.latency_s(region, near);
    if (latency >= best_latency) continue;
    best = region;
    best_latency = latency;
  }
  return best;
}

Task<void> Diloco::fetch(int from_region, int region, double bytes) {
  co_await w_.network.transfer(from_region, region, bytes);
  w_.fleet.region_changed(region).notify();
}

Task<void> Diloco::catch_up(int region, bool* done) {
  Signal& changed = w_.fleet.region_changed(region);
  auto& known = known_versions_[shard_index(region)];
  while (missed_bytes(region) > 0) {
    const int from = region_in_ring(region);
    if (from < -1) break;
    const std::vector<std::int64_t> fetched = version_;
    Process copy(w_.engine, "missed fragments", fetch(from, region, missed_bytes(region)));
    while (!copy.done()) {
      co_await changed.wait();
      if (!copy.done() && !w_.fleet.reachable(region)) co_return;
    }
    known = fetched;
  }
  *done = true;
}

// Learners that stepped on through a partition receive what they missed, and report.
void Diloco::rejoin(int region) {
  for (int m : p_.learners) {
    LearnerState& me = at(m);
    if (w_.learner(m).region != region || !me.joined) continue;
    for (std::size_t p = 0; p < version_.size(); ++p) {
      if (version_[p] <= me.counters[p].clock) continue;
      me.inbox.push_back({version_[p], -1, static_cast<int>(p), false});
    }
    std::sort(me.inbox.begin(), me.inbox.end(),
              [](const Delivery& a, const Delivery& b) { return a.clock < b.clock; });
    me.delivered->notify();
    push_report(m);
  }
  membership_changed();
}

}  // namespace skerry
