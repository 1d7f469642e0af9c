// Small scenarios made by hand.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace skerry::test {

// `count` learners of group "west", in region 0, that share `slices_total` slices evenly.
inline Scenario west(int count, int slices_total) {
  Scenario scenario;
  scenario.regions = {{"us-west1", 625e6, 625e6}, {"us-east5", 250e6, 250e6}};
  scenario.links = {{0, 1, 0.03, 1e9}, {1, 0, 0.03, 1e9}};
  for (int i = 0; i < count; ++i) {
    Learner learner;
    learner.group = "west";
    learner.name = std::string("west.") + std::to_string(i + 1);
    learner.index_in_group = i;
    learner.slices = slices_total / count;
    learner.chips = 8 * learner.slices;
    learner.first_global_slice = std::int64_t{i} * learner.slices;
    scenario.learners.push_back(learner);
  }
  return scenario;
}

inline std::vector<Target> all_slices(const Scenario& scenario) {
  std::vector<Target> targets;
  for (std::size_t i = 0; i < scenario.learners.size(); ++i) {
    for (int s = 0; s < scenario.learners[i].slices; ++s) {
      targets.push_back({TargetKind::kSlice, static_cast<int>(i), s});
    }
  }
  return targets;
}

inline std::vector<Target> all_learners(const Scenario& scenario) {
  std::vector<Target> targets;
  for (std::size_t i = 0; i < scenario.learners.size(); ++i) {
    targets.push_back({TargetKind::kLearner, static_cast<int>(i), 0});
  }
  return targets;
}

inline Fault random_fault(FaultKind kind, std::vector<Target> targets, double mean_gap_s,
                          double mean_away_s, Exposure exposure = Exposure::kWall) {
  Fault fault;
  fault.name = "chips";
  fault.kind = kind;
  fault.targets = std::move(targets);
  fault.scripted = false;
  fault.gap = {LawKind::kExponential, mean_gap_s};
  fault.away = {LawKind::kExponential, mean_away_s};
  fault.exposure = exposure;
  return fault;
}

inline Fault scripted_fault(const std::string& name, FaultKind kind, Target target, double at_s,
                            double for_s) {
  Fault fault;
  fault.name = name;
  fault.kind = kind;
  fault.targets = {target};
  fault.at_s = at_s;
  fault.for_s = for_s;
  return fault;
}

inline std::vector<int> everyone(const Scenario& scenario) {
  std::vector<int> learners;
  for (std::size_t i = 0; i < scenario.learners.size(); ++i) {
    learners.push_back(static_cast<int>(i));
  }
  return learners;
}

inline std::int64_t global_slice(const Scenario& scenario, const Target& target) {
  return scenario.learners[static_cast<std::size_t>(target.index)].first_global_slice + target.part;
}

}  // namespace skerry::test
