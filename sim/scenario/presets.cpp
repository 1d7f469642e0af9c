#include "sim/scenario/presets.hpp"

#include <algorithm>
#include <map>

namespace skerry::reader {

namespace {

Json grace(const char* rule) {
  return {{"rule", rule}, {"margin", 0.9}, {"limit_steps", 1.0}, {"moving_average_weight", 0.1}};
}

Json diloco_values(int period, int fragments, int overlap, const Json& quorum, const char* rule,
                   const char* waits, const char* on_loss) {
  return {{"sync_period_steps", period}, {"fragments", fragments},
          {"overlap_steps", overlap},    {"quorum", quorum},
          {"grace", grace(rule)},        {"learner_waits", waits},
          {"on_loss", on_loss},          {"all_reduce", "hierarchical_ring"},
          {"syncer", "sharded"},         {"in_flight", 1},
          {"exchange", "on"},            {"anatomy", "whole_step"},
          {"channel", "fifo"},           {"fragmentation", "balanced"}};
}

std::map<std::string, Json> make_presets() {
  const Json lock_step = {
      {"all_reduce", "hierarchical_ring"}, {"anatomy", "buckets"}, {"channel", "fifo"},
      {"accumulate_steps", 1},             {"exchange", "on"}};
  const Json one_place = {{"anatomy", "buckets"}, {"accumulate_steps", 1}};
  return {
      {"data_parallel", lock_step},
      {"data_parallel_elastic", lock_step},
      {"best_region", lock_step},
      {"ideal", one_place},
      {"diloco", diloco_values(500, 1, 0, "all", "off", "at_overlap", "wait")},
      {"streaming_diloco", diloco_values(100, 24, 1, "all", "off", "at_overlap", "wait")},
      {"decoupled_diloco", diloco_values(24, 24, 2, 1, "slack", "never", "continue")},
  };
}

}  // namespace

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = {"data_parallel",    "data_parallel_elastic",
                                                 "diloco",           "streaming_diloco",
                                                 "decoupled_diloco", "ideal",
                                                 "best_region"};
  return names;
}

bool is_data_parallel(const std::string& preset) {
  return preset != "diloco" && preset != "streaming_diloco" && preset != "decoupled_diloco";
}

const Json& preset_values(const std::string& preset) {
  static const std::map<std::string, Json> presets = make_presets();
  return presets.at(preset);
}

std::string refused_key(const std::string& preset, const std::string& key) {
  static const std::vector<std::string> of_all = {"about", "preset", "only_islands"};
  if (std::find(of_all.begin(), of_all.end(), key) != of_all.end()) return {};
  if (key == "recovery" && preset != "ideal") return {};
  if (key == "buckets" || key == "backward_share") return {};   // a matter of the anatomy
  if (key == "wire" && preset != "ideal") return {};
  if (key == "offsets" && !is_data_parallel(preset)) return {};
  if (preset_values(preset).contains(key)) return {};
  if (preset == "ideal" && (key == "recovery" || key == "all_reduce")) {
    return key + " has no meaning for ideal: one place, no faults";
  }
  return key + " has no meaning for " + preset + ", which is " +
         (is_data_parallel(preset) ? "data-parallel" : "of the DiLoCo family");
}

}  // namespace skerry::reader
