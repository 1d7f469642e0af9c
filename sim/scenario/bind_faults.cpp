// What breaks: entries of `faults` with their targets.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/scenario/bind.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

constexpr std::size_t kMaxTargets = 2000000;
constexpr std::size_t kMaxPlanBytes = 64u << 20;

struct Entry {
  const std::string& name;
  std::string pointer;
  Json& given;
};

FaultKind kind_of(const std::string& kind) {
  if (kind == "slice_down") return FaultKind::kSliceDown;
  if (kind == "island_down") return FaultKind::kIslandDown;
  if (kind == "region_dark") return FaultKind::kRegionDark;
  if (kind == "link_cut") return FaultKind::kLinkCut;
  if (kind == "link_slow") return FaultKind::kLinkSlow;
  return FaultKind::kStraggler;
}

// Which `each` a kind takes.
std::vector<std::string> each_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kSliceDown:
      return {"slice", "chip"};
    case FaultKind::kIslandDown:
    case FaultKind::kStraggler:
      return {"island"};
    case FaultKind::kRegionDark:
      return {"region"};
    case FaultKind::kLinkCut:
    case FaultKind::kLinkSlow:
      return {"link"};
  }
  return {};
}

// ---------------------------------------------------------------- targets

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
      return add_slices(binder, text, pointer, targets);
    case FaultKind::kIslandDown:
    case FaultKind::kStraggler:
      return add_learners(binder, text, pointer, targets);
    case FaultKind::kRegionDark:
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

std::vector<Target> targets_of(const Binder& binder, const Entry& entry, FaultKind kind) {
  std::vector<Target> targets;
  const Json* given = member(entry.given, "target");
  const bool links = kind == FaultKind::kLinkCut || kind == FaultKind::kLinkSlow;
  if (given == nullptr && links) {
    add_all_links(binder, entry.pointer, targets);
  } else if (given == nullptr) {
    if (kind == FaultKind::kRegionDark && binder.scenario.regions.empty()) {
      binder.refuse(entry.pointer, "region_dark needs /regions");
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
  std::sort(targets.begin(), targets.end(),
            [](const Target& a, const Target& b) { return order(a) < order(b); });
  targets.erase(std::unique(targets.begin(), targets.end(),
                            [](const Target& a, const Target& b) { return order(a) == order(b); }),
                targets.end());
  return targets;
}

// ---------------------------------------------------------------- when

Law law_of(const std::string& law, double mean_s) {
  return {law == "constant" ? LawKind::kConstant : LawKind::kExponential, mean_s};
}

void check_when(const Binder& binder, const Entry& entry) {
  const bool scripted = entry.given.contains("at_s");
  const bool random = entry.given.contains("mean_between_s");
  if (!scripted && !random) {
    binder.refuse(entry.pointer,
                  "does not say when: give at_<unit> (scripted) or mean_between_<unit> (random)");
  }
  if (scripted) {
    for (const char* key : {"away", "exposure"}) {
      if (entry.given.contains(key)) {
        binder.refuse(under(entry.pointer, key),
                      "has no meaning for a scripted fault: at_<unit> and for_<unit> say all");
      }
    }
  } else if (!entry.given.contains("away")) {
    binder.refuse(entry.pointer,
                  "lacks the key 'away', which random faults need: {\"law\": "
                  "\"exponential\", \"mean_min\": 5} says how long one lasts");
  }
}

void bind_factor(const Binder& binder, const Entry& entry, Fault& fault) {
  const bool wanted = fault.kind == FaultKind::kLinkSlow || fault.kind == FaultKind::kStraggler;
  const std::string kind = text_at(entry.given, "kind");
  if (wanted != entry.given.contains("factor")) {
    binder.refuse(
        entry.pointer + (wanted ? "" : "/factor"),
        wanted ? "lacks the key 'factor', which " + kind + " needs" : "has no meaning for " + kind);
  }
  fault.factor = number_at(entry.given, "factor", 1.0);
  if (fault.kind == FaultKind::kLinkSlow && fault.factor >= 1.0) {
    binder.refuse(entry.pointer + "/factor",
                  "found " + number_text(fault.factor) +
                      ", allowed > 0 and < 1: the share of the capacity that is left");
  }
}

void bind_each(const Binder& binder, const Entry& entry, FaultKind kind) {
  const std::string each = text_at(entry.given, "each");
  if (each.empty()) {
    if (!entry.given.contains("target")) {
      binder.refuse(entry.pointer, "does not say what breaks: give target, or each");
    }
    return;
  }
  const auto fitting = each_of(kind);
  if (std::find(fitting.begin(), fitting.end(), each) == fitting.end()) {
    binder.refuse(entry.pointer + "/each", "found \"" + each + "\", allowed " + join(fitting) +
                                               " with " + text_at(entry.given, "kind"));
  }
  if (each == "chip" && entry.given.contains("at_s")) {
    binder.refuse(entry.pointer + "/each",
                  "found \"chip\", allowed slice: a scripted fault takes slices, not chips");
  }
}

void bind_exposure(const Binder& binder, Entry& entry, Fault& fault) {
  if (!entry.given.contains("law")) entry.given["law"] = "exponential";
  if (!entry.given.contains("exposure")) entry.given["exposure"] = "wall";
  fault.exposure = entry.given["exposure"] == "stepping" ? Exposure::kStepping : Exposure::kWall;
  const bool of_learners = fault.kind == FaultKind::kSliceDown ||
                           fault.kind == FaultKind::kIslandDown ||
                           fault.kind == FaultKind::kStraggler;
  if (fault.exposure == Exposure::kStepping && !of_learners) {
    binder.refuse(entry.pointer + "/exposure",
                  "found \"stepping\", allowed wall: regions and links do not step");
  }
}

// One Fault per gap: with `each: chip`, a slice of n chips has a gap n times shorter.
void add_random(Binder& binder, const Entry& entry, Fault fault) {
  const double mean_s = number_at(entry.given, "mean_between_s");
  const bool each_chip = text_at(entry.given, "each") == "chip";
  const std::vector<Target> targets = std::move(fault.targets);
  fault.targets.clear();
  std::vector<Fault> made;
  std::map<double, std::size_t> of_gap;
  for (const Target& target : targets) {
    double gap_s = mean_s;
    if (each_chip) {
      const Learner& learner = binder.scenario.learners[static_cast<std::size_t>(target.index)];
      gap_s /= static_cast<double>(learner.chips / learner.slices);
    }
    const auto [place, is_new] = of_gap.try_emplace(gap_s, made.size());
    if (is_new) {
      made.push_back(fault);
      made.back().gap = law_of(text_at(entry.given, "law"), gap_s);
    }
    Fault& same = made[place->second];
    same.targets.push_back(target);
    same.events_per_s_nominal += 1.0 / gap_s;
  }
  for (Fault& one : made)
    binder.scenario.faults.push_back(std::move(one));
}

void bind_plan(Binder& binder, const Entry& entry) {
  for (const auto& [key, value] : entry.given.items()) {
    if (key != "plan" && key != "about") {
      binder.refuse(under(entry.pointer, key),
                    "has no meaning beside 'plan', which holds the dates");
    }
  }
  const std::string path = absolute_path(binder, text_at(entry.given, "plan"));
  binder.file_bytes.push_back(
      read_bounded_file(path, kMaxPlanBytes, binder.label, entry.pointer + "/plan"));
  binder.scenario.plan_files.push_back({entry.name, path});
}

void check_slowable(const Binder& binder, const Entry& entry, const Fault& fault) {
  if (fault.kind != FaultKind::kLinkSlow) return;
  for (const Target& target : fault.targets) {
    if (nominal_capacity_Bps(binder.scenario, target) < kUnlimited) continue;
    const auto region = [&](int r) { return binder.scenario.regions.at(std::size_t(r)).name; };
    std::string name;
    if (target.kind == TargetKind::kPort) {
      name.append(region(target.index)).append(target.part == 0 ? ".up" : ".down");
    } else {
      const Link& link = binder.scenario.links.at(std::size_t(target.index));
      name.append(region(link.from)).append(">").append(region(link.to));
    }
    binder.refuse(entry.pointer,
                  name + " has no capacity of its own that could be slowed: give it gbps, or port_gbps, "
                         "or use link_cut");
  }
}

void bind_fault(Binder& binder, Entry& entry) {
  const std::string kind = text_at(entry.given, "kind");
  if (kind.empty()) binder.refuse(entry.pointer, "lacks the key 'kind' (or 'plan')");
  Fault fault;
  fault.name = entry.name;
  fault.kind = kind_of(kind);
  check_when(binder, entry);
  bind_each(binder, entry, fault.kind);
  bind_factor(binder, entry, fault);
  fault.scripted = entry.given.contains("at_s");
  fault.targets = targets_of(binder, entry, fault.kind);
  check_slowable(binder, entry, fault);
  std::size_t total = fault.targets.size();
  for (const Fault& other : binder.scenario.faults)
    total += other.targets.size();
  if (total > kMaxTargets) {
    binder.refuse(entry.pointer, "found " + std::to_string(total) +
                                     " targets in all faults, allowed at most " +
                                     std::to_string(kMaxTargets));
  }
  if (fault.scripted) {
    fault.at_s = number_at(entry.given, "at_s");
    fault.for_s = number_at(entry.given, "for_s", kNever);
    binder.scenario.faults.push_back(fault);
    return;
  }
  const Json& away = entry.given["away"];
  fault.away = law_of(text_at(away, "law"), number_at(away, "mean_s"));
  bind_exposure(binder, entry, fault);
  add_random(binder, entry, std::move(fault));
}

// Two values for one link at one date cannot both hold.
void check_contradictions(const Binder& binder) {
  std::map<std::tuple<TargetKind, int, int, double>, const Fault*> slowed;
  for (const Fault& fault : binder.scenario.faults) {
    if (!fault.scripted || fault.kind != FaultKind::kLinkSlow) continue;
    for (const Target& target : fault.targets) {
      const auto [place, added] =
          slowed.try_emplace({target.kind, target.index, target.part, fault.at_s}, &fault);
      if (added || place->second->factor == fault.factor) continue;
      binder.refuse(under("/faults", fault.name),
                    "gives a second value to a link at the date of '" + place->second->name +
                        "': factor " + number_text(fault.factor) + " against " +
                        number_text(place->second->factor) + ", allowed one");
    }
  }
}

}  // namespace

void bind_faults(Binder& binder) {
  if (!binder.document.contains("faults")) return;
  for (const auto& item : binder.document["faults"].items()) {
    const std::string name = item.key();
    Entry entry{name, under("/faults", name), item.value()};
    if (entry.given.contains("plan")) {
      bind_plan(binder, entry);
    } else {
      bind_fault(binder, entry);
    }
  }
  check_contradictions(binder);
}

}  // namespace skerry::reader
