// Targets of faults.
#include <algorithm>
#include <set>
#include <tuple>

#include "sim/scenario/bind_faults.hpp"
#include "sim/scenario/catalog.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

void add_slices(const Binder& binder, const std::string& text, const std::string& pointer,
                std::vector<Target>& targets) {
  const std::size_t slash = text.find("/slice.");
  const std::string which = slash == std::string::npos ? "*" : text.substr(slash + 7);
  bool any = false;
  for (const int i : matching_learners(binder, {text.substr(0, slash)}, pointer, false)) {
    const int slices = binder.scenario.learners[static_cast<std::size_t>(i)].slices;
    for (int slice = 0; slice < slices; ++slice) {
      // Slices count from 1 in text, from 0 in the struct.
      if (which != "*" && !matches(which, std::to_string(slice + 1))) continue;
      targets.push_back({TargetKind::kSlice, i, slice});
      any = true;
    }
  }
  if (!any)
    binder.refuse(pointer, "found '" + text + "', which matches no slice (they count from 1)");
}

void add_learners(const Binder& binder, const std::string& text, const std::string& pointer,
                  std::vector<Target>& targets) {
  if (text.find('/') != std::string::npos) {
    binder.refuse(pointer, "found '" + text + "', allowed learners: this kind hits whole learners");
  }
  for (const int i : matching_learners(binder, {text}, pointer, false)) {
    targets.push_back({TargetKind::kLearner, i, 0});
  }
}

void add_regions(const Binder& binder, const std::string& text, const std::string& pointer,
                 TargetKind kind, std::vector<Target>& targets) {
  std::string name = text;
  bool up = kind == TargetKind::kPort, down = up;
  if (up && name.ends_with(".up")) {
    name.resize(name.size() - 3);
    down = false;
  } else if (down && name.ends_with(".down")) {
    name.resize(name.size() - 5);
    up = false;
  }
  const auto& regions = binder.scenario.regions;
  bool any = false;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (!matches(name, regions[i].name)) continue;
    any = true;
    const int index = static_cast<int>(i);
    if (kind == TargetKind::kRegion) targets.push_back({kind, index, 0});
    if (up) targets.push_back({kind, index, 0});
    if (down) targets.push_back({kind, index, 1});
  }
  if (!any) region_index(binder, name, pointer);  // refuses with the known names
}

void add_link(const Binder& binder, const std::string& text, const std::string& pointer,
              std::vector<Target>& targets) {
  RegionPair pair;
  if (!parse_pair(text, pair)) {
    binder.refuse(pointer,
                  "found '" + text + "', allowed two different regions as 'A<>B' or 'A>B'");
  }
  const int from = region_index(binder, pair.from, pointer);
  const int to = region_index(binder, pair.to, pointer);
  for (const bool back : {false, true}) {
    if (back && !pair.both) continue;
    const int link =
        back ? binder.scenario.link_between(to, from) : binder.scenario.link_between(from, to);
    if (link < 0) {
      binder.refuse(pointer, "no route between " + pair.from + " and " + pair.to +
                                 ": give /links/" + pair.from + "<>" + pair.to +
                                 "/latency_one_way_ms");
    }
    targets.push_back({TargetKind::kLink, link, 0});
  }
}

void add_all_links(const Binder& binder, const std::string& pointer, std::vector<Target>& targets) {
  std::set<int> used;
  for (const Learner& learner : binder.scenario.learners)
    used.insert(learner.region);
  for (std::size_t i = 0; i < binder.scenario.links.size(); ++i) {
    const Link& link = binder.scenario.links[i];
    if (used.contains(link.from) && used.contains(link.to)) {
      targets.push_back({TargetKind::kLink, static_cast<int>(i), 0});
    }
  }
  if (targets.empty())
    binder.refuse(pointer, "there is no link: fewer than two regions are in use");
}

void add_target(const Binder& binder, FaultKind kind, const std::string& text,
                const std::string& pointer, std::vector<Target>& targets) {
  switch (kind) {
    case FaultKind::kSliceDown:
    case FaultKind::kHang:
      return add_slices(binder, text, pointer, targets);
    case FaultKind::kIslandDown:
    case FaultKind::kStraggler:
    case FaultKind::kCorruption:
      return add_learners(binder, text, pointer, targets);
    case FaultKind::kStorageSlow:
      return targets.push_back({TargetKind::kStorage, 0, 0});
    case FaultKind::kRegionDark:
    case FaultKind::kShardLost:
    case FaultKind::kPartition:
      return add_regions(binder, text, pointer, TargetKind::kRegion, targets);
    case FaultKind::kLinkCut:
    case FaultKind::kLinkSlow:
      break;
  }
  if (text.find('>') != std::string::npos) return add_link(binder, text, pointer, targets);
  add_regions(binder, text, pointer, TargetKind::kPort, targets);
}

std::tuple<TargetKind, int, int> order(const Target& target) {
  return {target.kind, target.index, target.part};
}

// Both directions of every pair with one end among the regions and one outside.
std::vector<Target> border_of(const Binder& binder, const std::vector<Target>& regions,
                              const std::string& pointer) {
  std::set<int> inside;
  for (const Target& region : regions)
    inside.insert(region.index);
  std::vector<Target> links;
  for (std::size_t i = 0; i < binder.scenario.links.size(); ++i) {
    const Link& link = binder.scenario.links[i];
    if (inside.contains(link.from) != inside.contains(link.to)) {
      links.push_back({TargetKind::kLink, static_cast<int>(i), 0});
    }
  }
  if (links.empty()) {
    binder.refuse(pointer, "cuts nothing: there is no pair between the " +
                               std::to_string(inside.size()) + " regions named and the others");
  }
  return links;
}

std::int64_t chips_per_host(const Binder& binder, const FaultEntry& entry, const Learner& learner) {
  const Json& island = binder.document["islands"][learner.group];
  const Device* device = find_device(learner.device);
  const std::int64_t chips =
      integer_at(island, "chips_per_host", device == nullptr ? 0 : device->chips_per_host);
  const std::int64_t of_slice = learner.chips / learner.slices;
  if (chips == 0) {
    binder.refuse(entry.pointer + "/each", "found \"host\", but " + learner.group +
                                               " has no device: give /islands/" + learner.group +
                                               "/chips_per_host");
  }
  if (of_slice % chips != 0) {
    binder.refuse(entry.pointer + "/each", "found \"host\", but the " + std::to_string(of_slice) +
                                               " chips of a slice of " + learner.group +
                                               " do not fill hosts of " + std::to_string(chips) +
                                               ": give another chips_per_host");
  }
  return chips;
}

}  // namespace

std::vector<Target> targets_of(const Binder& binder, const FaultEntry& entry, FaultKind kind) {
  std::vector<Target> targets;
  const Json* given = member(entry.given, "target");
  const bool links = kind == FaultKind::kLinkCut || kind == FaultKind::kLinkSlow;
  if (given == nullptr && links) {
    add_all_links(binder, entry.pointer, targets);
  } else if (given == nullptr) {
    const bool regions = kind == FaultKind::kRegionDark || kind == FaultKind::kShardLost;
    if (regions && binder.scenario.regions.empty()) {
      binder.refuse(entry.pointer, text_at(entry.given, "kind") + " needs /regions");
    }
    add_target(binder, kind, "*", entry.pointer, targets);
  } else if (given->is_string()) {
    add_target(binder, kind, given->get<std::string>(), entry.pointer + "/target", targets);
  } else {
    for (std::size_t i = 0; i < given->size(); ++i) {
      add_target(binder, kind, (*given)[i].get<std::string>(),
                 under(entry.pointer + "/target", std::to_string(i)), targets);
    }
  }
  if (kind == FaultKind::kPartition)
    targets = border_of(binder, targets, entry.pointer + "/target");
  std::sort(targets.begin(), targets.end(),
            [](const Target& a, const Target& b) { return order(a) < order(b); });
  targets.erase(std::unique(targets.begin(), targets.end(),
                            [](const Target& a, const Target& b) { return order(a) == order(b); }),
                targets.end());
  return targets;
}

void check_slowable(const Binder& binder, const FaultEntry& entry,
                    const std::vector<Target>& targets) {
  for (const Target& target : targets) {
    if (nominal_capacity_Bps(binder.scenario, target) < kUnlimited) continue;
    const auto region = [&](int r) { return binder.scenario.regions.at(std::size_t(r)).name; };
    std::string name;
    if (target.kind == TargetKind::kPort) {
      name.append(region(target.index)).append(target.part == 0 ? ".up" : ".down");
    } else {
      const Link& link = binder.scenario.links.at(std::size_t(target.index));
      name.append(region(link.from)).append(">").append(region(link.to));
    }
    binder.refuse(entry.pointer, name +
                                     " has no capacity of its own that could be slowed: give it "
                                     "gbps, or port_gbps, or use link_cut");
  }
}

std::int64_t units_in(const Binder& binder, const FaultEntry& entry, const Target& target) {
  const std::string each = text_at(entry.given, "each");
  const bool slice = target.kind == TargetKind::kSlice;
  if (!slice && target.kind != TargetKind::kLearner) return 1;
  const Learner& learner = binder.scenario.learners[static_cast<std::size_t>(target.index)];
  const std::int64_t chips = slice ? learner.chips / learner.slices : learner.chips;
  if (each == "chip") return chips;
  if (each == "host") return chips / chips_per_host(binder, entry, learner);
  if (each == "slice" && !slice) return learner.slices;
  return 1;
}

}  // namespace skerry::reader
