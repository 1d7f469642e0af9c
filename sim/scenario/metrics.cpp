#include "sim/scenario/metrics.hpp"

#include <algorithm>

#include "sim/scenario/text.hpp"

namespace skerry {

const std::vector<std::string>& known_metrics() {
  static const std::vector<std::string> metrics = [] {
    std::vector<std::string> all = {"simulated_s",
                                    "tokens",
                                    "tokens_computed",
                                    "tokens_per_s",
                                    "goodput",
                                    "uptime",
                                    "compute_utilization",
                                    "compute_utilization_whole_periods",
                                    "hidden_share",
                                    "hidden_share_outside_faults",
                                    "merged_share",
                                    "merged_pending_share",
                                    "step_interval_s.mean",
                                    "step_interval_s.p50",
                                    "step_interval_s.p99",
                                    "learner_steps",
                                    "syncer_steps",
                                    "syncer_steps_per_learner_step",
                                    "participants.mean",
                                    "participants.p10",
                                    "participants.one_share",
                                    "stale_steps.mean",
                                    "stale_steps.p50",
                                    "stale_steps.p99",
                                    "chip_seconds.total",
                                    "chip_seconds.productive",
                                    "wan.bytes",
                                    "wan.busiest_load",
                                    "faults.planned",
                                    "faults.hit",
                                    "recoveries.count",
                                    "recoveries.mean_s",
                                    "recoveries.max_s",
                                    "recoveries.inner_state_age_steps.mean",
                                    "recoveries.inner_state_age_steps.max",
                                    "closure_chip_seconds",
                                    "closure_bytes",
                                    "closure_cost",
                                    "cost_usd",
                                    "cost_spot_usd",
                                    "cost_usd_per_1e9_tokens",
                                    "cost_to_loss_usd",
                                    "wasted_cost_usd",
                                    "wasted_chip_hours",
                                    "energy_kwh",
                                    "cost.chips_usd",
                                    "cost.wan_usd",
                                    "cost.productive_usd",
                                    "other_share",
                                    "loss.start",
                                    "loss.final",
                                    "loss.best",
                                    "loss.outer_rounds",
                                    "loss.bytes_per_token",
                                    "loss.tuned_rate",
                                    "time_to_loss_s",
                                    "tokens_to_loss"};
    for (const char* cause : {"down", "infrastructure_recovery", "checkpoint_restore", "slice_down",
                              "scale_up", "checkpoint_save", "straggler_wait", "waiting_for_quorum",
                              "exposed_communication", "degraded", "wasted_progress", "other"}) {
      all.push_back(std::string("chip_seconds.lost.") + cause);
      all.push_back(std::string("cost.lost_usd.") + cause);
    }
    for (const char* kind :
         {"slice_down", "island_down", "region_dark", "link_cut", "link_slow", "straggler", "hang",
          "shard_lost", "corruption", "storage_slow", "partition"}) {
      all.push_back(std::string("faults.by_kind.") + kind);
    }
    for (const char* row : {"by_learner.*.", "by_device.*."}) {
      for (const char* value :
           {"chips", "steps", "tokens", "goodput", "waiting_share", "merged_share"}) {
        all.push_back(std::string(row) + value);
      }
    }
    all.emplace_back("wan.links.*.bytes");
    all.emplace_back("wan.links.*.capacity_bytes");
    all.emplace_back("wan.control.*.sent");
    all.emplace_back("wan.control.*.timed_out");
    return all;
  }();
  return metrics;
}

bool is_known_metric(const std::string& metric) {
  const auto& all = known_metrics();
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& known) { return reader::matches(known, metric); });
}

bool needs_training(const std::string& metric) {
  return metric.starts_with("loss.") || metric == "time_to_loss_s" || metric == "tokens_to_loss" ||
         metric == "cost_to_loss_usd";
}

}  // namespace skerry
