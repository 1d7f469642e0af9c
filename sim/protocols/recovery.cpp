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

// The nearest healthy peers, each in another region; a neighbour in the same region alone.
std::vector<int> Diloco::choose_donors(int m) const {
  const int region = w_.learner(m).region;
  std::vector<int> healthy;
  for (int peer : p_.learners) {
    if (peer != m && at(peer).joined && in_contact(peer)) healthy.push_back(peer);
  }
  std::vector<int> donors;
  while (std::ssize(donors) < p_.recovery.donors && !healthy.empty()) {
    const int donor = nearest(w_.scenario, w_.network, healthy, region);
    donors.push_back(donor);
    if (w_.learner(donor).region == region) break;
    std::erase_if(healthy, [&](int peer) {
      return w_.learner(peer).region == w_.learner(donor).region;
    });
  }
  return donors;
}

// A returning or new learner: wait for the first fragment, which carries t_s; copy the state of a peer
// that has seen t_s; replay what arrived meanwhile; take part.
Task<void> Diloco::recover(int m) {
  LearnerState& me = at(m);
  co_await pause(m, p_.recovery.scale_up_s, Cause::kScaleUp);
  if (!p_.exchange) {
    join(m, me.step);
    co_return;
  }
  w_.books.phase(m, Cause::kInfrastructureRecovery);
  while (!in_contact(m)) co_await ring_changed_.wait();
  me.recovering = true;
  me.inbox.clear();
  Request request{.began = w_.engine.now()};
  co_await first_fragment(m, &request.t_s);
  for (Answer answer = Answer::kAgain; answer != Answer::kJoined;) {
    if (!anybody_has_state() || p_.recovery.rejoin_from == RejoinFrom::kSyncer) {
      start_from_global(m, request.began);
      break;
    }
    co_await copy_from_peers(m, request, &answer);
    if (answer != Answer::kLate) continue;
    me.inbox.clear();                    // refused: from the beginning
    co_await first_fragment(m, &request.t_s);
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

// The shards hold the global parameters; the inner optimizer begins anew.
void Diloco::start_from_global(int m, double began) {
  LearnerState& me = at(m);
  std::int64_t newest = 0;
  for (std::size_t p = 0; p < me.counters.size(); ++p) {
    me.counters[p].clock = version_[p];
    newest = std::max(newest, version_[p]);
  }
  me.inbox.clear();
  me.clock = newest;
  w_.tape.add(fact::Copy{w_.engine.now(), newest, m, -1, began, 0});
  join(m, newest);
}

bool Diloco::can_give(const std::vector<int>& donors, int m) const {
  return in_contact(m) && std::all_of(donors.begin(), donors.end(), [&](int donor) {
           return at(donor).joined && in_contact(donor);
         });
}

// kAgain: a donor left or has not seen t_s yet, or a neighbour that was being served over the wide area is
// now a nearer donor: choose again.
Task<void> Diloco::copy_from_peers(int m, Request request, Answer* answer) {
  LearnerState& me = at(m);
  *answer = Answer::kAgain;
  const int region = w_.learner(m).region;
  const bool neighbour = std::any_of(p_.learners.begin(), p_.learners.end(), [&](int peer) {
    return peer != m && at(peer).copying && w_.learner(peer).region == region;
  });
  const std::vector<int> donors = choose_donors(m);
  const int first = donors.front();
  const bool ready = std::all_of(donors.begin(), donors.end(),
                                 [&](int donor) { return at(donor).clock >= request.t_s; });
  if (!ready || (w_.learner(first).region != region && neighbour)) {
    co_await peers_changed_.wait();
    co_return;
  }
  fact::Copy copied{.donor_step = at(first).step, .learner = m, .donor = first,
                    .began = request.began};
  std::vector<std::int64_t> clocks;
  for (const Counter& counter : at(first).counters) clocks.push_back(counter.clock);
  me.copying = true;
  Process copy(w_.engine, "state copy", copy_over_wan(m, donors));
  while (!copy.done()) {
    co_await peers_changed_.wait();
    if (copy.done() || can_give(donors, m)) continue;
    copy.kill();
    me.copying = false;
    co_return;
  }
  me.copying = false;
  *answer = admit(m, request, copied, clocks);
}

// The copy is there. Beyond recovery.limit_steps it may be refused, or taken without its inner state.
Diloco::Answer Diloco::admit(int m, const Request& request, const fact::Copy& copy,
                             const std::vector<std::int64_t>& clocks) {
  LearnerState& me = at(m);
  const std::int64_t age =
      std::max<std::int64_t>(0, *std::max_element(version_.begin(), version_.end()) - request.t_s);
  if (p_.recovery.limit_steps > 0 && age > p_.recovery.limit_steps) {
    if (p_.recovery.when_late == WhenLate::kRefuse) return Answer::kLate;
    if (p_.recovery.when_late == WhenLate::kFreshInnerState) {
      start_from_global(m, request.began);
      return Answer::kJoined;
    }
  }
  for (std::size_t p = 0; p < clocks.size(); ++p) me.counters[p].clock = clocks[p];
  me.clock = *std::max_element(clocks.begin(), clocks.end());
  fact::Copy taken = copy;
  taken.t = w_.engine.now();
  taken.age_steps = age;
  w_.tape.add(taken);
  join(m, taken.donor_step);
  return Answer::kJoined;
}

// Parameters and inner optimizer state, 3 × the model, in equal parts.
Task<void> Diloco::copy_over_wan(int m, std::vector<int> donors) {
  const double part = recovery_bytes(w_.scenario.charged) / static_cast<double>(donors.size());
  std::vector<Task<void>> parts;
  for (int donor : donors) {
    parts.push_back(w_.network.transfer(w_.learner(donor).region, w_.learner(m).region, part,
                                        FlowClass::kRecovery));
  }
  co_await all_of(w_.engine, std::move(parts));
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
    book_waiting(m);
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
    const bool lost = w_.fleet.shard_lost(region);   // its connections close: noticed at once
    const double acted = w_.engine.now() + (lost ? 0.0 : p_.recovery.detection_s);
    while (!w_.fleet.reachable(region) && w_.engine.now() < acted) {
      if (!co_await changed.until_or(acted)) break;
    }
    if (w_.fleet.reachable(region)) {
      membership_changed();
      continue;
    }
    in_ring = 0;
    known_versions_[shard_index(region)] = version_;
    restore_from_snapshot(region);
    membership_changed();
    for (bool done = false; !done;) {
      while (!w_.fleet.reachable(region)) {
        restore_from_snapshot(region);
        co_await changed.wait();
      }
      co_await catch_up(region, &done);
    }
    in_ring = 1;
    rejoin(region);
  }
}

// A shard that lost its memory knows what the newest complete snapshot holds, if there is one.
void Diloco::restore_from_snapshot(int region) {
  if (!w_.fleet.shard_lost(region)) return;
  auto& known = known_versions_[shard_index(region)];
  known = snapshot_.clock > 0 ? snapshot_.versions : std::vector<std::int64_t>(version_.size(), -1);
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
  co_await w_.network.transfer(from_region, region, bytes, FlowClass::kRecovery);
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
    if (w_.learner(m).region != region || !at(m).joined) continue;
    send_missed(m);
    at(m).delivered->notify();
    push_report(m);
  }
  membership_changed();
}

void Diloco::send_missed(int m) {
  LearnerState& me = at(m);
  for (std::size_t p = 0; p < version_.size(); ++p) {
    const bool pending = std::any_of(me.inbox.begin(), me.inbox.end(), [&](const Delivery& d) {
      return d.fragment == static_cast<int>(p) && d.clock >= version_[p];
    });
    if (pending || version_[p] <= me.counters[p].clock) continue;
    me.inbox.push_back({version_[p], -1, static_cast<int>(p), false});
  }
  std::sort(me.inbox.begin(), me.inbox.end(),
            [](const Delivery& a, const Delivery& b) { return a.clock < b.clock; });
}

}  // namespace skerry
