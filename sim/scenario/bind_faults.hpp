// Parts of bind_faults: targets, laws and traces of one entry of `faults`.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/bind.hpp"

namespace skerry::reader {

inline constexpr std::size_t kMaxTargets = 2000000;
inline constexpr std::int64_t kMaxProcesses = 2000000;  // chips or hosts that age by themselves
inline constexpr std::size_t kMaxPlanLines = 2000000;   // made from traces
inline constexpr std::size_t kMaxPlanBytes = 64u << 20;

struct FaultEntry {
  const std::string& name;
  std::string pointer;
  Json& given;  // resolved
};

// What `target` names, for this kind of fault (everything when it is absent), in order of kind,
// learner, slice, each once. A partition has the pairs between its regions and the others.
std::vector<Target> targets_of(const Binder& binder, const FaultEntry& entry, FaultKind kind);

// Refuses targets of link_slow without capacity of their own.
void check_slowable(const Binder& binder, const FaultEntry& entry,
                    const std::vector<Target>& targets);

// Chips or hosts (or slices of a learner) in a target, after `each`; 1 when it is the unit itself.
std::int64_t units_in(const Binder& binder, const FaultEntry& entry, const Target& target);

// The law that `object` gives under "law", with its mean under `mean_key` ("mean_s") or in the law.
Law bind_law(Binder& binder, const Json& object, const std::string& pointer, const char* mean_key);

// Whether a law brings its own mean (scale, median, values).
bool has_own_mean(const Json* law);

// The bytes of a file that the scenario names, unpacked; they enter the hash.
std::string named_file(Binder& binder, const std::string& path, const std::string& pointer);

// An entry with `trace`: its faults become lines of Scenario::plan.
void bind_trace(Binder& binder, const FaultEntry& entry);

}  // namespace skerry::reader
