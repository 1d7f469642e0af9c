#include <array>

#include "sim/faults/faults.hpp"

namespace skerry {

namespace {

constexpr std::array<std::string_view, 11> kKindNames{
    "slice_down", "island_down", "region_dark", "link_cut",     "link_slow", "straggler",
    "hang",       "shard_lost",  "corruption",  "storage_slow", "partition"};

}  // namespace

std::string_view kind_name(FaultKind kind) {
  return kKindNames.at(static_cast<std::size_t>(kind));
}

std::string target_name(const Scenario& scenario, const Target& target) {
  const auto index = static_cast<std::size_t>(target.index);
  switch (target.kind) {
    case TargetKind::kSlice:
      return scenario.learners.at(index).name + "/slice." + std::to_string(target.part + 1);
    case TargetKind::kLearner:
      return scenario.learners.at(index).name;
    case TargetKind::kRegion:
      return scenario.regions.at(index).name;
    case TargetKind::kPort:
      return scenario.regions.at(index).name + (target.part == 0 ? ".up" : ".down");
    case TargetKind::kStorage:
      return "storage";
    case TargetKind::kLink:
      break;
  }
  const Link& link = scenario.links.at(index);
  return scenario.regions.at(static_cast<std::size_t>(link.from)).name + ">" +
         scenario.regions.at(static_cast<std::size_t>(link.to)).name;
}

}  // namespace skerry
