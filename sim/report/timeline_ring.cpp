#include "sim/report/timeline_ring.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/cost/cost.hpp"
#include "sim/engine/engine.hpp"
#include "sim/net/network.hpp"
#include "sim/protocols/fleet.hpp"

namespace skerry {

namespace {

constexpr double kSameDate = 1e-9;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

bool on_wires(FaultKind kind) {
  return kind == FaultKind::kRegionDark || kind == FaultKind::kLinkCut ||
         kind == FaultKind::kLinkSlow || kind == FaultKind::kPartition ||
         kind == FaultKind::kShardLost;
}

bool same_date(double a, double b) {
  return std::abs(a - b) <= kSameDate * std::max(1.0, a);
}

struct Reach {  // of a region, from t on
  double t = 0.0;
  bool reachable = true, lost = false;
};

// The faults of the tape played to a fleet on which nothing runs. By region, at every change.
std::vector<std::vector<Reach>> reaches(const Scenario& scenario, const Protocol& row,
                                        const std::vector<WireChange>& changes) {
  std::vector<std::vector<Reach>> found(scenario.regions.size());
  if (changes.empty()) return found;
  Engine engine;
  Network network(engine, scenario, true, CutTransfer::kResume);
  Fleet fleet(engine, scenario, network, hub_of(row), row.learners);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const PlanLine& line = changes[i].line;
    changes[i].by > 0 ? fleet.apply(line) : fleet.repair(line);
    if (i + 1 < changes.size() && changes[i + 1].line.at_s == line.at_s) continue;
    for (std::size_t r = 0; r < found.size(); ++r) {
      const int region = static_cast<int>(r);
      const bool before = found[r].empty() || found[r].back().reachable;
      if (before == fleet.reachable(region)) continue;
      found[r].push_back({line.at_s, !before, fleet.shard_lost(region)});
    }
  }
  return found;
}

// What the tape says beside the faults about who is in a ring; read only when a region ever leaves
// one.
struct Evidence {
  struct Merged {
    double t = 0.0, began = 0.0;
    int fragment = 0;
    std::int64_t clock = 0;
  };
  std::vector<Merged> merges;
  std::vector<double> anew;  // an exchange begins anew
  std::vector<fact::Snapshot> snapshots;
  std::vector<std::vector<double>>
      in_contact;  // by region: a learner asks for a state or takes something

  Evidence(const Scenario& scenario, const Tape& tape) : in_contact(scenario.regions.size()) {
    for (const Fact& any : tape.facts) {
      if (const auto* merge = std::get_if<fact::Merge>(&any)) {
        merges.push_back({merge->t, merge->began, merge->fragment, merge->clock});
      } else if (const auto* abandon = std::get_if<fact::Abandon>(&any)) {
        anew.push_back(abandon->t);
      } else if (const auto* snapshot = std::get_if<fact::Snapshot>(&any)) {
        snapshots.push_back(*snapshot);
      } else if (const auto* copy = std::get_if<fact::Copy>(&any)) {
        note(scenario, copy->learner, copy->began);
      } else if (const auto* taken = std::get_if<fact::Overwrite>(&any)) {
        note(scenario, taken->learner, taken->t);
      }
    }
  }
  void note(const Scenario& scenario, int learner, double t) {
    const int region = scenario.learners[at(learner)].region;
    if (region >= 0) in_contact[at(region)].push_back(t);
  }
};

class Returns {
 public:
  Returns(const Scenario& scenario, const Protocol& row, const Tape& tape, std::set<double> leaves)
      : s_(scenario), p_(row), evidence_(scenario, tape), leaves_(std::move(leaves)) {
    for (const double parameters : fragment_parameters(s_.charged, p_)) {
      fragment_bytes_.push_back(wire_bytes(p_.wire, parameters));
    }
  }

  // Of a region that left at `left`, for the stretch [back, gone) over which it can be reached;
  // kNever: not within it.
  double joined(int region, double left, double back, double gone, bool lost) const {
    const double earliest = fetched(region, left, back, lost);
    double latest = gone;
    for (const double t : evidence_.in_contact[at(region)]) {
      if (t >= back) latest = std::min(latest, t);
    }
    for (const double t : evidence_.anew) {
      if (t < earliest - kSameDate * earliest || t > latest + kSameDate * latest) continue;
      if (std::none_of(leaves_.begin(), leaves_.end(), [&](double l) { return same_date(l, t); }))
        return t;
    }
    double t = earliest;
    for (const auto& merge : evidence_.merges) {
      if (merge.began < t && t < merge.t) t = merge.t;
    }
    t = std::min(t, latest);
    return t < gone ? t : kNever;
  }

 private:
  // When an idle wire has brought what was merged without it, and what was merged meanwhile.
  double fetched(int region, double left, double back, bool lost) const {
    const int link = nearest(region);
    if (link < 0) return back;
    const Link& way = s_.links[at(link)];
    const double rate = std::min(
        {s_.regions[at(way.from)].up_Bps, way.capacity_Bps, s_.regions[at(way.to)].down_Bps,
         s_.transport.cap_Bps(s_.round_trips_s()[at(link)], FlowClass::kRecovery)});
    const double setup_s = s_.transport.kind == TransportKind::kTcp ? s_.transport.setup_s : 0.0;
    std::vector<char> missed(fragment_bytes_.size(), 0);
    std::size_t next = 0;
    if (lost) {
      std::int64_t clock = -1;
      for (const auto& snapshot : evidence_.snapshots) {
        if (snapshot.t <= back) clock = snapshot.clock;
      }
      if (clock < 0) missed.assign(missed.size(), 1);
      for (; next < evidence_.merges.size() && evidence_.merges[next].t <= back; ++next) {
        if (evidence_.merges[next].clock > clock) missed[at(evidence_.merges[next].fragment)] = 1;
      }
    }
    for (double t = back;;) {
      for (; next < evidence_.merges.size() && evidence_.merges[next].t <= t; ++next) {
        if (evidence_.merges[next].t > left) missed[at(evidence_.merges[next].fragment)] = 1;
      }
      double bytes = 0.0;
      for (std::size_t p = 0; p < missed.size(); ++p) {
        if (missed[p] != 0) bytes += fragment_bytes_[p];
      }
      if (bytes <= 0.0 || t >= kNever) return t;
      missed.assign(missed.size(), 0);
      t += way.latency_one_way_s + setup_s + bytes / rate;
    }
  }

  int nearest(int region) const {
    int best = -1;
    for (const int m : p_.learners) {
      const int from = s_.learners[at(m)].region;
      const int link = from == region ? -1 : s_.link_between(from, region);
      if (link < 0) continue;
      if (best < 0 || s_.links[at(link)].latency_one_way_s < s_.links[at(best)].latency_one_way_s)
        best = link;
    }
    return best;
  }

  const Scenario& s_;
  const Protocol& p_;
  Evidence evidence_;
  std::set<double> leaves_;
  std::vector<double> fragment_bytes_;
};

// Outages that outlast the detection: [the ring goes on without it, it can be reached again), later
// ones as they come.
struct Outage {
  double acted = 0.0, back = kNever, gone = kNever;  // gone: not reachable again
  bool lost = false;
};
std::vector<Outage> outages(const std::vector<Reach>& reach, double detection_s) {
  std::vector<Outage> all;
  for (std::size_t i = 0; i < reach.size(); i += 2) {  // odd ones: reachable again
    Outage one{reach[i].t + (reach[i].lost ? 0.0 : detection_s)};
    one.lost = reach[i].lost;
    if (i + 1 < reach.size()) one.back = reach[i + 1].t;
    if (i + 2 < reach.size()) one.gone = reach[i + 2].t;
    all.push_back(one);
  }
  return all;
}

}  // namespace

std::vector<WireChange> wire_changes(const Tape& tape) {
  using Key = std::tuple<int, FaultKind, TargetKind, int, int>;
  std::map<Key, std::vector<double>> factors;
  const auto key = [](const auto& f) {
    return Key{f.source, f.kind, f.target.kind, f.target.index, f.target.part};
  };
  std::vector<WireChange> changes;
  const auto add = [&](double t, const auto& f, double factor, int by) {
    changes.push_back({{}, by});
    PlanLine& line = changes.back().line;
    line.at_s = t;
    line.kind = f.kind;
    line.target = f.target;
    line.factor = factor;
  };
  for (const Fact& any : tape.facts) {
    if (const auto* hit = std::get_if<fact::FaultHit>(&any);
        hit != nullptr && on_wires(hit->kind)) {
      factors[key(*hit)].push_back(hit->factor);
      add(hit->t, *hit, hit->factor, +1);
    } else if (const auto* end = std::get_if<fact::Repaired>(&any);
               end != nullptr && on_wires(end->kind)) {
      auto& open = factors[key(*end)];
      if (open.empty()) continue;
      add(end->t, *end, open.front(), -1);
      open.erase(open.begin());
    }
  }
  return changes;
}

RingDates::RingDates(const Scenario& scenario, const Protocol& row, const Tape& tape)
    : away_(scenario.regions.size()) {
  if (row.family != Family::kDiloco || !row.exchange || row.ideal_network ||
      scenario.regions.empty())
    return;
  const auto reach = reaches(scenario, row, wire_changes(tape));
  std::vector<std::vector<Outage>> all(away_.size());
  std::set<double> leaves;
  for (const int m : row.learners) {
    const int r = scenario.learners[at(m)].region;
    if (r < 0 || !all[at(r)].empty()) continue;
    all[at(r)] = outages(reach[at(r)], row.recovery.detection_s);
    for (const Outage& one : all[at(r)]) {
      if (one.acted < one.back) leaves.insert(one.acted);
    }
  }
  if (leaves.empty()) return;
  const Returns returns(scenario, row, tape, leaves);
  for (std::size_t r = 0; r < all.size(); ++r) {
    double left = kNever;
    for (const Outage& one : all[r]) {
      if (left >= kNever && one.acted >= one.back) continue;  // back before it was noticed
      left = std::min(left, one.acted);
      const double joined = one.back < kNever ? returns.joined(static_cast<int>(r), left, one.back,
                                                               one.gone, one.lost)
                                              : kNever;
      if (joined >= kNever && one.gone < kNever) continue;
      away_[r].push_back({left, one.back, joined});
      left = kNever;
    }
  }
}

bool RingDates::in_ring(int region, double t) const {
  if (region < 0) return true;
  const auto& spans = away_[at(region)];
  return std::none_of(spans.begin(), spans.end(),
                      [&](const AwayFromRing& span) { return span.left <= t && t < span.joined; });
}

std::optional<std::pair<int, double>> copy_over_link(const Scenario& scenario, const Protocol& row,
                                                     const fact::Copy& f) {
  if (f.donor < 0 || row.recovery.donors != 1 || !row.exchange || row.ideal_network)
    return std::nullopt;
  const int from = scenario.learners[at(f.donor)].region,
            to = scenario.learners[at(f.learner)].region;
  const int link = from == to || from < 0 ? -1 : scenario.link_between(from, to);
  if (link < 0) return std::nullopt;
  return std::pair{link, std::ceil(recovery_bytes(scenario.charged))};
}

Exchanges::Exchanges(const Scenario& scenario, const Protocol& row, const RingDates& ring)
    : s_(scenario), p_(row), ring_(ring) {
  sends_ = !s_.regions.empty() && !p_.ideal_network && p_.exchange && s_.charged.parameters > 0.0;
  if (sends_) pieces_ = exchange_pieces(s_.charged, p_);
}

void Exchanges::read(const fact::Close& f) {
  if (f.fragment >= 0) open_[{f.clock, f.fragment}].closed = f.t;
}

void Exchanges::read(const fact::Weigh& f) {
  const auto round = open_.find({f.clock, f.fragment});
  if (round != open_.end()) round->second.merged.insert(f.learner);
}

void Exchanges::read(const fact::Abandon& f) {
  const auto found = open_.find({f.clock, f.fragment});
  if (found == open_.end()) return;
  Round& round = found->second;
  unknown_.push_back({std::max(round.closed, round.attempt), f.t});
  round.attempt = f.t;
  round.merged.clear();  // those that stay are weighed again
}

Exchanges::Ended Exchanges::read(const fact::Merge& f) {
  const auto found = open_.find({f.clock, f.fragment});
  const Round round = found == open_.end() ? Round{} : found->second;
  if (found != open_.end()) open_.erase(found);
  Ended ended;
  ended.began = std::max(f.began, round.attempt);
  std::vector<int> members, merged;
  for (const int m : p_.learners) {
    const int region = s_.learners[at(m)].region;
    if (!ring_.in_ring(region, ended.began)) continue;
    members.push_back(region);
    if (round.merged.count(m) > 0) merged.push_back(region);
  }
  ended.bytes = &bytes(at(f.fragment), members, merged);
  ended.regions = std::move(members);
  std::sort(ended.regions.begin(), ended.regions.end());
  ended.regions.erase(std::unique(ended.regions.begin(), ended.regions.end()), ended.regions.end());
  return ended;
}

const BytesByLink& Exchanges::gradient(const std::vector<int>& learners) {
  std::vector<int> members;
  for (const int m : learners)
    members.push_back(s_.learners[at(m)].region);
  return bytes(0, members, members);
}

const BytesByLink& Exchanges::bytes(std::size_t fragment, const std::vector<int>& members,
                                    const std::vector<int>& merged) {
  const bool central = p_.family == Family::kDiloco && p_.syncer == SyncerPlace::kCentral;
  std::vector<int> key{static_cast<int>(fragment)};
  key.insert(key.end(), members.begin(), members.end());
  if (central) {
    key.push_back(-2);
    key.insert(key.end(), merged.begin(), merged.end());
  }
  const auto [found, fresh] = known_.try_emplace(std::move(key));
  if (!fresh || !sends_ || fragment >= pieces_.size()) return found->second;
  for (const Piece& piece : pieces_[fragment]) {
    Collective collective = all_reduce(s_, p_, members, piece.bytes);
    if (central) collective.first = all_reduce(s_, p_, merged, piece.bytes).first;
    if (collective.first.empty()) continue;
    for (const auto* phase : {&collective.first, &collective.second}) {
      for (const CollectiveFlow& flow : *phase) {
        found->second[s_.link_between(flow.from_region, flow.to_region)] += std::ceil(flow.bytes);
      }
    }
  }
  return found->second;
}

std::vector<Exchanges::Unknown> Exchanges::unknown(double end) const {
  std::vector<Unknown> all = unknown_;
  for (const auto& [id, round] : open_)
    all.push_back({std::max(round.closed, round.attempt), end});
  return all;
}

}  // namespace skerry
