// What breaks: entries of `faults`.
#include "sim/scenario/bind_faults.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

struct KindWord {
  const char* word;
  FaultKind kind;
  std::vector<std::string> each;  // fitting words, the whole target first
};

const KindWord& kind_word(const std::string& text) {
  static const std::vector<KindWord> kinds = {
      {"slice_down", FaultKind::kSliceDown, {"slice", "chip", "host", "rack"}},
      {"island_down", FaultKind::kIslandDown, {"island"}},
      {"region_dark", FaultKind::kRegionDark, {"region"}},
      {"link_cut", FaultKind::kLinkCut, {"link"}},
      {"link_slow", FaultKind::kLinkSlow, {"link"}},
      {"partition", FaultKind::kPartition, {}},
      {"straggler", FaultKind::kStraggler, {"island", "chip", "host", "slice"}},
      {"hang", FaultKind::kHang, {"slice", "chip", "host", "rack"}},
      {"shard_lost", FaultKind::kShardLost, {"region"}},
      {"corruption", FaultKind::kCorruption, {"island", "chip", "host", "slice"}},
      {"storage_slow", FaultKind::kStorageSlow, {}},
  };
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const KindWord& k) { return k.word == text; });
}

bool steps(FaultKind kind) {
  return kind == FaultKind::kSliceDown || kind == FaultKind::kIslandDown ||
         kind == FaultKind::kStraggler || kind == FaultKind::kHang ||
         kind == FaultKind::kCorruption;
}

// ---------------------------------------------------------------- checks over several keys

void check_when(const Binder& binder, const FaultEntry& entry) {
  const bool scripted = entry.given.contains("at_s");
  const Json* law = member(entry.given, "law");
  const bool random = entry.given.contains("mean_between_s") || has_own_mean(law);
  if (!scripted && !random) {
    binder.refuse(entry.pointer,
                  "does not say when: give at_<unit> (scripted) or mean_between_<unit> (random)");
  }
  if (!scripted && !entry.given.contains("away")) {
    binder.refuse(entry.pointer,
                  "lacks the key 'away', which random faults need: {\"law\": "
                  "\"exponential\", \"mean_min\": 5} says how long one lasts");
  }
  if (!scripted) return;
  for (const char* key : {"away", "exposure", "repeat_offenders", "together", "rack_slices"}) {
    if (entry.given.contains(key)) {
      binder.refuse(under(entry.pointer, key),
                    "has no meaning for a scripted fault: at_<unit> and for_<unit> say all");
    }
  }
}

void bind_factor(const Binder& binder, const FaultEntry& entry, Fault& fault) {
  const bool wanted = fault.kind == FaultKind::kLinkSlow || fault.kind == FaultKind::kStraggler ||
                      fault.kind == FaultKind::kStorageSlow;
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
  if (fault.kind == FaultKind::kStorageSlow && fault.factor <= 1.0) {
    binder.refuse(entry.pointer + "/factor",
                  "found " + number_text(fault.factor) +
                      ", allowed > 1: how many times as long saving and restoring takes");
  }
}

void bind_notice(const Binder& binder, const FaultEntry& entry, Fault& fault) {
  fault.notice_s = number_at(entry.given, "notice_s");
  const bool fits = fault.kind == FaultKind::kSliceDown || fault.kind == FaultKind::kIslandDown ||
                    fault.kind == FaultKind::kRegionDark;
  if (fault.notice_s > 0.0 && !fits) {
    binder.refuse(entry.pointer + "/notice_s",
                  "has no meaning for " + text_at(entry.given, "kind") +
                      ", allowed with slice_down, island_down and region_dark");
  }
}

void check_each(const Binder& binder, const FaultEntry& entry, const KindWord& kind) {
  const std::string each = text_at(entry.given, "each");
  if (kind.kind == FaultKind::kStorageSlow) {
    for (const char* key : {"target", "each"}) {
      if (entry.given.contains(key)) {
        binder.refuse(under(entry.pointer, key), "has no meaning for storage_slow, which hits all");
      }
    }
    return;
  }
  const std::string word = kind.word;
  if (word == "partition" && !entry.given.contains("target")) {
    binder.refuse(entry.pointer, "does not say which regions are cut off: give target");
  }
  if (each.empty()) {
    if (!entry.given.contains("target")) {
      binder.refuse(entry.pointer, "does not say what breaks: give target, or each");
    }
    return;
  }
  if (kind.each.empty()) {
    binder.refuse(entry.pointer + "/each", "has no meaning for " + word + ": target says it all");
  }
  if (std::find(kind.each.begin(), kind.each.end(), each) == kind.each.end()) {
    binder.refuse(entry.pointer + "/each",
                  "found \"" + each + "\", allowed " + join(kind.each) + " with " + word);
  }
  if (entry.given.contains("at_s") && each != kind.each[0]) {
    binder.refuse(entry.pointer + "/each", "found \"" + each + "\", allowed " + kind.each[0] +
                                               ": a scripted fault takes " + kind.each[0] +
                                               "s, not " + each + "s");
  }
}

// ---------------------------------------------------------------- random faults

void bind_exposure(const Binder& binder, FaultEntry& entry, Fault& fault) {
  if (!entry.given.contains("law")) entry.given["law"] = "exponential";
  if (!entry.given.contains("exposure")) entry.given["exposure"] = "wall";
  fault.exposure = entry.given["exposure"] == "stepping" ? Exposure::kStepping : Exposure::kWall;
  if (fault.exposure == Exposure::kWall) return;
  const char* why = nullptr;
  if (!steps(fault.kind)) why = "regions, links and storage do not step";
  if (fault.together == 0) why = "what fails together steps apart";
  if (why != nullptr) {
    binder.refuse(entry.pointer + "/exposure",
                  std::string("found \"stepping\", allowed wall: ") + why);
  }
}

void check_group(const Binder& binder, const FaultEntry& entry, const std::string& key,
                 const Fault& fault) {
  std::map<int, int> slices;
  for (const Target& target : fault.targets)
    slices[target.index] += target.kind == TargetKind::kSlice ? 1 : 0;
  for (const auto& [learner, count] : slices) {
    if (count % fault.together == 0 && count > 0) continue;
    if (count == 0) {
      binder.refuse(under(entry.pointer, key),
                    "found " + std::to_string(fault.together) + ", allowed \"all\" with " +
                        text_at(entry.given, "kind") + ": only slices stand in groups of n");
    }
    binder.refuse(under(entry.pointer, key),
                  "found " + std::to_string(fault.together) + ", which does not divide the " +
                      std::to_string(count) + " slices of " +
                      binder.scenario.learners[static_cast<std::size_t>(learner)].name);
  }
}

void bind_together(const Binder& binder, const FaultEntry& entry, Fault& fault) {
  const std::string each = text_at(entry.given, "each");
  const Json* together = member(entry.given, "together");
  const bool rack = each == "rack";
  if (rack != entry.given.contains("rack_slices")) {
    binder.refuse(entry.pointer + (rack ? "" : "/rack_slices"),
                  rack ? "lacks the key 'rack_slices', which each: rack needs"
                       : "has no meaning without each: rack");
  }
  if (rack && together != nullptr) {
    binder.refuse(entry.pointer + "/together", "has no meaning beside each: rack, which says it");
  }
  if (together != nullptr && (each == "chip" || each == "host" ||
                              (each == "slice" && fault.targets[0].kind != TargetKind::kSlice))) {
    binder.refuse(entry.pointer + "/together",
                  "has no meaning with each: " + each + ", allowed with whole targets");
  }
  const bool partition = text_at(entry.given, "kind") == "partition";
  if (partition && together != nullptr && *together != "all") {
    binder.refuse(entry.pointer + "/together",
                  "allowed \"all\" with partition, which it is anyway");
  }
  if (partition || (together != nullptr && together->is_string())) {
    fault.together = 0;
  } else if (rack || together != nullptr) {
    const char* key = rack ? "rack_slices" : "together";
    fault.together = static_cast<int>(integer_at(entry.given, key));
    check_group(binder, entry, key, fault);
  }
}

void bind_offenders(const Binder& binder, const FaultEntry& entry, Fault& fault) {
  const Json* given = member(entry.given, "repeat_offenders");
  if (given == nullptr) return;
  const std::string pointer = entry.pointer + "/repeat_offenders";
  fault.offender_share = number_at(*given, "share_of_hosts");
  fault.offender_events = number_at(*given, "share_of_failures");
  if (fault.offender_events <= fault.offender_share) {
    binder.refuse(pointer + "/share_of_failures", "found " + number_text(fault.offender_events) +
                                                      ", allowed above share_of_hosts, " +
                                                      number_text(fault.offender_share));
  }
  if (fault.together != 1 || !steps(fault.kind)) {
    binder.refuse(
        pointer,
        "has no meaning here, allowed for chips, hosts, slices and islands that break each "
        "by itself");
  }
}

// Chips and hosts that age by themselves: an exponential law needs one process a target only.
void check_processes(const Binder& binder, const FaultEntry& entry) {
  std::int64_t processes = 0;
  for (const Fault& fault : binder.scenario.faults) {
    if (fault.scripted || fault.gap.kind == LawKind::kExponential || fault.units == 1) continue;
    processes += fault.units * static_cast<std::int64_t>(fault.targets.size());
    if (processes > kMaxProcesses) break;
  }
  if (processes > kMaxProcesses) {
    binder.refuse(entry.pointer, "needs " + std::to_string(processes) +
                                     " chips or hosts that age by themselves, allowed at most " +
                                     std::to_string(kMaxProcesses) +
                                     " in all faults: take the exponential law, or each: slice");
  }
}

// One Fault per number of units in a target.
void add_random(Binder& binder, const FaultEntry& entry, Fault fault) {
  const std::vector<Target> targets = std::move(fault.targets);
  fault.targets.clear();
  std::vector<Fault> made;
  std::map<std::int64_t, std::size_t> of_units;
  for (const Target& target : targets) {
    const std::int64_t units = units_in(binder, entry, target);
    const auto [place, is_new] = of_units.try_emplace(units, made.size());
    if (is_new) {
      made.push_back(fault);
      made.back().units = units;
    }
    Fault& same = made[place->second];
    same.targets.push_back(target);
    // A group has one process, each of whose events is a line for each of its targets.
    same.events_per_s_nominal += static_cast<double>(units) / fault.gap.mean_s;
  }
  for (Fault& one : made)
    binder.scenario.faults.push_back(std::move(one));
  check_processes(binder, entry);
}

// ---------------------------------------------------------------- entries

void bind_plan(Binder& binder, const FaultEntry& entry) {
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
  binder.name_file(entry.pointer + "/plan", path);
}

// `at` is the date on which the chips go; a plan line begins with the announcement.
void bind_script(const FaultEntry& entry, Fault& fault) {
  const double at_s = number_at(entry.given, "at_s");
  fault.notice_s = std::min(fault.notice_s, at_s);
  fault.at_s = at_s - fault.notice_s;
  fault.for_s = number_at(entry.given, "for_s", kNever);
}

void bind_fault(Binder& binder, FaultEntry& entry) {
  const std::string kind = text_at(entry.given, "kind");
  if (kind.empty()) binder.refuse(entry.pointer, "lacks the key 'kind' (or 'plan' or 'trace')");
  const KindWord& word = kind_word(kind);
  Fault fault;
  fault.name = entry.name;
  fault.kind = word.kind;
  check_when(binder, entry);
  check_each(binder, entry, word);
  bind_factor(binder, entry, fault);
  bind_notice(binder, entry, fault);
  fault.scripted = entry.given.contains("at_s");
  fault.targets = targets_of(binder, entry, fault.kind);
  if (fault.kind == FaultKind::kLinkSlow) check_slowable(binder, entry, fault.targets);
  std::size_t total = fault.targets.size();
  for (const Fault& other : binder.scenario.faults)
    total += other.targets.size();
  if (total > kMaxTargets) {
    binder.refuse(entry.pointer, "found " + std::to_string(total) +
                                     " targets in all faults, allowed at most " +
                                     std::to_string(kMaxTargets));
  }
  if (fault.scripted) {
    bind_script(entry, fault);
    binder.scenario.faults.push_back(fault);
    return;
  }
  fault.away = bind_law(binder, entry.given["away"], entry.pointer + "/away", "mean_s");
  bind_together(binder, entry, fault);
  bind_exposure(binder, entry, fault);
  bind_offenders(binder, entry, fault);
  fault.gap = bind_law(binder, entry.given, entry.pointer, "mean_between_s");
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
    FaultEntry entry{name, under("/faults", name), item.value()};
    if (entry.given.contains("plan")) {
      bind_plan(binder, entry);
    } else if (entry.given.contains("trace")) {
      bind_trace(binder, entry);
    } else {
      bind_fault(binder, entry);
    }
  }
  check_contradictions(binder);
}

}  // namespace skerry::reader
