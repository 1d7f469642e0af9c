#include "sim/protocols/fleet.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

namespace skerry {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void add_or_remove(std::vector<double>& factors, double factor, int by) {
  if (by > 0) {
    factors.push_back(factor);
    return;
  }
  const auto found = std::find(factors.begin(), factors.end(), factor);
  SKERRY_CHECK(found != factors.end(), "repair of a factor that is not in force");
  factors.erase(found);
}

double product(const std::vector<double>& factors) {
  double value = 1.0;
  for (double f : factors) value *= f;
  return value;
}

// Whether the line's target is the learner, its only slice or its region.
bool takes_whole(const Scenario& scenario, const Target& target, int learner) {
  const Learner& of = scenario.learners[at(learner)];
  if (target.kind == TargetKind::kRegion) return of.region == target.index;
  if (target.index != learner) return false;
  return target.kind == TargetKind::kLearner ||
         (target.kind == TargetKind::kSlice && of.slices == 1);
}

}  // namespace

int hub_of(const Protocol& protocol) {
  if (protocol.family == Family::kDiloco && protocol.syncer == SyncerPlace::kCentral) {
    return protocol.syncer_region;
  }
  return protocol.all_reduce == AllReduce::kStar ? protocol.star_region : -1;
}

Fleet::Fleet(Engine& engine, const Scenario& scenario, Network& network, int hub,
             const std::vector<int>& learners)
    : engine_(engine),
      scenario_(scenario),
      network_(network),
      islands_(scenario.learners.size()),
      dark_(scenario.regions.size(), 0),
      shards_lost_(scenario.regions.size(), 0),
      apart_(scenario.regions.size(), 0),
      hub_(hub),
      learners_(learners),
      port_factors_(2 * scenario.regions.size()),
      link_factors_(scenario.links.size()),
      link_parted_(scenario.links.size(), 0),
      anything_changed_(engine, "any change of hardware") {
  for (std::size_t m = 0; m < islands_.size(); ++m) {
    islands_[m].held.assign(at(scenario.learners[m].slices), 0);
    islands_[m].slices_free = scenario.learners[m].slices;
    changed_.push_back(
        std::make_unique<Signal>(engine, "a change of " + scenario.learners[m].name));
  }
  for (const Region& region : scenario.regions) {
    region_changed_.push_back(std::make_unique<Signal>(engine, "a change of " + region.name));
  }
}

void Fleet::apply(const PlanLine& line) {
  const TargetKind kind = line.target.kind;
  const bool takes_chips = line.kind == FaultKind::kSliceDown || line.kind == FaultKind::kHang ||
                           line.kind == FaultKind::kIslandDown || line.kind == FaultKind::kRegionDark;
  for (std::size_t m = 0; m < islands_.size(); ++m) {
    const bool mine = kind == TargetKind::kRegion
                          ? scenario_.learners[m].region == line.target.index
                          : line.target.index == static_cast<int>(m) &&
                                (kind == TargetKind::kSlice || kind == TargetKind::kLearner);
    if (mine && takes_chips) islands_[m].expected = line.notice_s > 0;
  }
  hold(line, +1);
}
void Fleet::repair(const PlanLine& line) { hold(line, -1); }

void Fleet::hold(const PlanLine& line, int by) {
  const Target& target = line.target;
  switch (line.kind) {
    case FaultKind::kHang:
      island(target.index).hung += by;
      hold_slice(target, by);
      break;
    case FaultKind::kSliceDown:
      hold_slice(target, by);
      break;
    case FaultKind::kIslandDown: {
      Island& whole = island(target.index);
      const bool was_off = whole_off(target.index);
      whole.held_whole += by;
      if (whole_off(target.index) != was_off) log_whole(target.index, was_off);
      change_learner(target.index);
      break;
    }
    case FaultKind::kRegionDark:
      change_region(target.index, by);
      break;
    case FaultKind::kStraggler:
      add_or_remove(island(target.index).factors, line.factor, by);
      change_learner(target.index);
      break;
    case FaultKind::kPartition:
      link_parted_[at(target.index)] += by;
      hold_link(line, by);
      find_partition();
      break;
    case FaultKind::kLinkCut:
    case FaultKind::kLinkSlow:
      hold_link(line, by);
      break;
    case FaultKind::kShardLost:
      hold_shards(target.index, by);
      break;
    case FaultKind::kCorruption:
      hold_corruption(target.index, by, line.at_s);
      break;
    case FaultKind::kStorageSlow:
      add_or_remove(storage_factors_, line.factor, by);
      anything_changed_.notify();
      break;
  }
}

void Fleet::hold_slice(const Target& target, int by) {
  Island& of = island(target.index);
  int& held = of.held[at(target.part)];
  const bool was_free = held == 0;
  held += by;
  const bool is_free = held == 0;
  if (was_free != is_free) {
    of.slices_free += is_free ? 1 : -1;
    if (!whole_off(target.index)) of.changes.push_back({target.part, is_free});
  }
  change_learner(target.index);
}

void Fleet::hold_link(const PlanLine& line, int by) {
  const Target& target = line.target;
  const double factor = line.kind == FaultKind::kLinkSlow ? line.factor : 0.0;
  if (target.kind == TargetKind::kPort) {
    add_or_remove(port_factors_[at(2 * target.index + target.part)], factor, by);
    set_port(target.index, target.part);
    region_changed(target.index).notify();
  } else {
    add_or_remove(link_factors_[at(target.index)], factor, by);
    network_.set_factor(target, product(link_factors_[at(target.index)]));
  }
  anything_changed_.notify();
}

bool Fleet::pair_open(std::size_t a, std::size_t b) const {
  const int from = static_cast<int>(a), to = static_cast<int>(b);
  for (const int link : {scenario_.link_between(from, to), scenario_.link_between(to, from)}) {
    if (link < 0 || link_parted_[at(link)] > 0) return false;
  }
  return true;
}

// Partitions part the regions with learners. The side of the hub counts, or the one with most learners
// (ties: with the first learner).
void Fleet::find_partition() {
  std::vector<int> learners(apart_.size(), 0), side(apart_.size(), -1);
  for (const int m : learners_) {
    const int region = scenario_.learners[at(m)].region;
    if (region >= 0) learners[at(region)] += 1;
  }
  if (hub_ >= 0) learners[at(hub_)] = static_cast<int>(scenario_.learners.size()) + 1;
  std::vector<int> weight;
  for (const int m : learners_) {
    const Learner& first = scenario_.learners[at(m)];
    if (first.region < 0 || side[at(first.region)] >= 0) continue;
    weight.push_back(0);
    std::vector<std::size_t> open{at(first.region)};
    side[open[0]] = static_cast<int>(weight.size()) - 1;
    while (!open.empty()) {
      const std::size_t a = open.back();
      open.pop_back();
      weight.back() += learners[a];
      for (std::size_t b = 0; b < side.size(); ++b) {
        if (learners[b] == 0 || side[b] >= 0 || !pair_open(a, b)) continue;
        side[b] = side[a];
        open.push_back(b);
      }
    }
  }
  const auto most = std::max_element(weight.begin(), weight.end()) - weight.begin();
  for (std::size_t region = 0; region < apart_.size(); ++region) {
    const char apart = learners[region] > 0 && side[region] != most ? 1 : 0;
    if (std::exchange(apart_[region], apart) == apart) continue;
    region_changed(static_cast<int>(region)).notify();
  }
}

void Fleet::hold_corruption(int learner, int by, double date) {
  Island& of = island(learner);
  of.corrupt += by;
  of.corruptions_found += by < 0 ? 1 : 0;
  if (by > 0) {
    of.corrupt_since_s = std::min(of.corrupt_since_s, date);
  } else {
    found_corruption_s_ = std::min(found_corruption_s_, of.corrupt_since_s);
    if (of.corrupt == 0) of.corrupt_since_s = kNever;
  }
  change_learner(learner);
}

double Fleet::take_found_corruption_s() { return std::exchange(found_corruption_s_, kNever); }

void Fleet::hold_shards(int region, int by) {
  shards_lost_[at(region)] += by;
  region_changed(region).notify();
  anything_changed_.notify();
}

// All slices without a fault of their own go or come with their island or region.
void Fleet::log_whole(int learner, bool present) {
  Island& of = island(learner);
  for (std::size_t slice = 0; slice < of.held.size(); ++slice) {
    if (of.held[slice] == 0) of.changes.push_back({static_cast<int>(slice), present});
  }
}

void Fleet::change_learner(int learner) {
  changed(learner).notify();
  anything_changed_.notify();
}

void Fleet::change_region(int region, int by) {
  std::vector<char> was_off(islands_.size(), 0);
  for (std::size_t m = 0; m < islands_.size(); ++m) was_off[m] = whole_off(static_cast<int>(m));
  dark_[at(region)] += by;
  set_port(region, 0);
  set_port(region, 1);
  region_changed(region).notify();
  for (std::size_t m = 0; m < islands_.size(); ++m) {
    if (scenario_.learners[m].region != region) continue;
    const int learner = static_cast<int>(m);
    if (whole_off(learner) != (was_off[m] != 0)) log_whole(learner, was_off[m] != 0);
    changed_[m]->notify();
  }
  anything_changed_.notify();
}

void Fleet::set_port(int region, int part) {
  const double factor = region_dark(region) ? 0.0 : product(port_factors_[at(2 * region + part)]);
  network_.set_factor({TargetKind::kPort, region, part}, factor);
}

// Learners that lose all their chips by the line.
void Fleet::announce(const PlanLine& line) {
  for (std::size_t m = 0; m < islands_.size(); ++m) {
    if (!takes_whole(scenario_, line.target, static_cast<int>(m))) continue;
    islands_[m].announced.insert(line.at_s + line.notice_s);
    change_learner(static_cast<int>(m));
  }
}

void Fleet::withdraw(const PlanLine& line) {
  for (std::size_t m = 0; m < islands_.size(); ++m) {
    if (!takes_whole(scenario_, line.target, static_cast<int>(m))) continue;
    const auto found = islands_[m].announced.find(line.at_s + line.notice_s);
    SKERRY_CHECK(found != islands_[m].announced.end(), "a loss that was not announced");
    islands_[m].announced.erase(found);
  }
}

double Fleet::announced_loss_s(int learner) const {
  const auto& dates = island(learner).announced;
  return dates.empty() ? kNever : *dates.begin();
}

void Fleet::keep_silent(int learner, double date) {
  island(learner).silent_until_s = std::max(island(learner).silent_until_s, date);
}

bool Fleet::region_dark(int region) const { return region >= 0 && dark_[at(region)] > 0; }
bool Fleet::shard_lost(int region) const { return region >= 0 && shards_lost_[at(region)] > 0; }

bool Fleet::reachable(int region) const {
  if (region < 0) return true;
  const auto cut = [](const std::vector<double>& f) { return product(f) <= 0.0; };
  return !region_dark(region) && !shard_lost(region) && apart_[at(region)] == 0 && !cut(port_factors_[at(2 * region)]) &&
         !cut(port_factors_[at(2 * region + 1)]);
}

bool Fleet::whole_off(int learner) const {
  return island(learner).held_whole > 0 || region_dark(scenario_.learners[at(learner)].region);
}

bool Fleet::slice_present(int learner, int slice) const {
  return !whole_off(learner) && island(learner).held[at(slice)] == 0;
}

int Fleet::slices_present(int learner) const {
  return whole_off(learner) ? 0 : island(learner).slices_free;
}

double Fleet::slowdown(int learner) const { return product(island(learner).factors); }
double Fleet::storage_slowdown() const { return product(storage_factors_); }

}  // namespace skerry
