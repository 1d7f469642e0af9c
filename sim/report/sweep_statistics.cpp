// statistics.json: one line a group.
#include <cmath>
#include <fmt/format.h>
#include <set>

#include <nlohmann/json.hpp>

#include "sim/measure/bootstrap.hpp"
#include "sim/report/sweep_table.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

Json ends(const Interval& interval) {
  if (!interval.low || !interval.high) return nullptr;
  return {*interval.low, *interval.high};
}

Json metric_json(const std::vector<double>& values) {
  const Interval mean = mean_interval(values);
  const std::optional<double> deviation = deviation_of(values);
  return {{"n", mean.n},
          {"mean", mean.mean},
          {"median", median_of(values)},
          {"deviation", deviation ? Json(*deviation) : Json(nullptr)},
          {"t", ends(mean)},
          {"bootstrap", ends(bootstrap_interval(values))}};
}

Json interval_json(const Interval& interval) {
  if (interval.n == 0) return nullptr;
  return {{"n", interval.n}, {"value", interval.mean}, {"interval", ends(interval)}};
}

Json point_json(const Sweep& sweep, const SweepGroup& group) {
  Json point = Json::object();
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    point[sweep.axes[a].name] = Json::parse(sweep.combinations[group.combination].values[a]);
  return point;
}

// Paired by seed: those that the table shows, and what every study asks.
std::set<std::string> paired_metrics(const Sweep& sweep) {
  std::set<std::string> out{"tokens_per_s",
                            "goodput",
                            "uptime",
                            "merged_share",
                            "loss.final",
                            "time_to_loss_s",
                            "tokens",
                            "tokens_to_loss",
                            "simulated_s",
                            "wan.bytes",
                            "compute_utilization",
                            "cost_usd",
                            "cost_usd_per_1e9_tokens",
                            "cost_to_loss_usd",
                            "energy_kwh"};
  out.insert(sweep.table.cells.begin(), sweep.table.cells.end());
  if (sweep.until) out.insert(sweep.until->metric);
  return out;
}

Json paired_json(const Sweep& sweep, const SweepGroup& group, const SweepGroup& base,
                 const std::set<std::string>& metrics) {
  Json out{{"protocol", sweep.baseline}, {"point", point_json(sweep, base)}};
  Json rows = Json::object();
  for (const std::string& metric : metrics) {
    const int column = column_of(metric);
    if (column < 0) continue;
    const auto [a, b] = paired_values(group, base, column);
    if (a.empty()) continue;
    rows[metric] = {{"difference", interval_json(difference_interval(a, b))},
                    {"ratio", interval_json(ratio_interval(a, b))}};
  }
  out["metrics"] = std::move(rows);
  return out;
}

Json group_json(const SweepResults& results, const SweepGroup& group,
                const std::set<std::string>& paired) {
  const Sweep& sweep = results.sweep();
  Json out{{"point", point_json(sweep, group)},
           {"protocol", sweep.protocols[group.row]},
           {"seeds", group.seeds},
           {"failed", group.failed},
           {"time_cap", group.capped},
           {"diverged", group.diverged}};
  if (sweep.until) out["interval_too_wide"] = group.too_wide;
  Json metrics = Json::object();
  for (std::size_t i = 0; i < point_columns().size(); ++i) {
    if (!point_columns()[i].is_number) continue;
    const std::vector<double> values = values_of(group, int(i));
    if (!values.empty()) metrics[point_columns()[i].name] = metric_json(values);
  }
  out["metrics"] = std::move(metrics);
  const bool is_base =
      group.baseline >= 0 && &results.groups()[std::size_t(group.baseline)] == &group;
  if (group.baseline >= 0 && !is_base) {
    out["paired"] =
        paired_json(sweep, group, results.groups()[std::size_t(group.baseline)], paired);
  }
  return out;
}

}  // namespace

void write_statistics(const SweepResults& results,
                      const std::function<void(std::string_view)>& sink) {
  const Sweep& sweep = results.sweep();
  const Json head{
      {"skerry", "statistics/1"},
      {"sweep", sweep.name},
      {"baseline", sweep.baseline},
      {"t", "95 % of Student t over seeds; null with n = 1"},
      {"bootstrap", fmt::format("95 % percentile interval of the mean, {} resamples, seed {}",
                                kBootstrapResamples, kBootstrapSeed)},
      {"paired",
       "by seed: mean difference with Student t; geometric mean ratio with Student t on "
       "log ratios; n = 1 has no interval"}};
  std::string text = head.dump(1);
  text.resize(text.size() - 2);  // the closing brace, for the groups to follow
  sink(text + ",\n \"groups\": [");
  const std::set<std::string> paired = paired_metrics(sweep);
  bool first = true;
  for (const SweepGroup& group : results.groups()) {
    sink(first ? "\n  " : ",\n  ");
    sink(group_json(results, group, paired).dump());
    first = false;
  }
  sink("\n ]\n}\n");
}

}  // namespace skerry
