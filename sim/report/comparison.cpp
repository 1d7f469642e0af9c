#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "sim/report/results.hpp"
#include "sim/report/summary_tree.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

Json or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json interval(const Interval& value, const char* method) {
  if (value.n == 0) return nullptr;
  return {{"n", value.n},
          {"value", value.mean},
          {"low", or_null(value.low)},
          {"high", or_null(value.high)},
          {"method", value.n == 1 ? "n = 1, no interval" : method}};
}

Json row(const Row& r) {
  return {
      {"runs", r.seeds},
      {"failed", r.failed},
      {"trained", r.trained},
      {"tokens_per_s", r.tokens_per_s},
      {"tokens_per_s_ratio",
       interval(r.ratio, "paired by seed: geometric mean, 95 % of Student t on log ratios")},
      {"goodput", r.goodput},
      {"goodput_interval", interval(r.goodput_interval, "over seeds: mean, 95 % of Student t")},
      {"uptime_interval", interval(r.uptime_interval, "over seeds: mean, 95 % of Student t")},
      {"goodput_difference",
       interval(r.goodput_difference, "paired by seed: mean, 95 % of Student t on differences")},
      {"cost_usd", or_null(r.cost_usd)},
      {"cost_spot_usd", or_null(r.cost_spot_usd)},
      {"cost_usd_per_1e9_tokens", or_null(r.cost_usd_per_1e9_tokens)},
      {"cost_ratio_at_equal_tokens",
       interval(r.cost_ratio, "paired by seed: geometric mean, 95 % of Student t on log ratios")},
      {"wasted_cost_usd", or_null(r.wasted_cost_usd)},
      {"wasted_chip_hours", r.wasted_chip_hours},
      {"energy_kwh", or_null(r.energy_kwh)},
      {"cost_to_loss_usd", or_null(r.cost_to_loss_usd)},
      {"loss_final", or_null(r.loss)},
      {"loss_final_difference",
       interval(r.loss_difference, "paired by seed: mean, 95 % of Student t on differences")}};
}

Json judged(const Judged& j) {
  Json out{{"protocol", j.expect.protocol}, {"metric", j.expect.metric}};
  if (!j.expect.ratio_to.empty()) out["ratio_to"] = j.expect.ratio_to;
  if (!j.expect.minus.empty()) out["minus"] = j.expect.minus;
  out["verdict"] = verdict_name(j.verdict);
  out["value"] = or_null(j.value);
  if (!j.note.empty()) out["note"] = j.note;
  return out;
}

Json comparison_tree(const Results& results) {
  const Scenario& scenario = results.scenario;
  Json out;
  out["skerry"] = "comparison/1";
  out["scenario"] = scenario.name;
  out["hash"] = results.hash;
  out["baseline"] = scenario.protocols.at(static_cast<std::size_t>(scenario.baseline)).name;
  out["seeds"] = scenario.seeds;
  out["protocols"] = Json::object();
  for (const Row& r : rows_of(scenario, results.records))
    out["protocols"][r.protocol] = row(r);
  out["plan"] = Json::object();
  for (const auto& [name, count] : results.plan) {
    out["plan"][name] = {{"planned", count.planned}, {"expected_at_nominal_rate", count.expected}};
  }
  out["warnings"] = scenario.warnings;
  out["calibrated_keys"] = scenario.calibrated_keys;
  out["expect_applied"] = results.expect_applied;
  out["expect"] = Json::array();
  for (const Judged& j : judge(scenario, results.records, results.expect_applied)) {
    out["expect"].push_back(judged(j));
  }
  return out;
}

}  // namespace

std::string comparison_json(const Results& results) {
  return comparison_tree(results).dump(2) + "\n";
}

StoredComparison comparison_from_json(const std::string& text, const std::string& label) {
  try {
    const Json tree = Json::parse(text);
    return {tree.at("scenario"), tree.at("hash"), tree.at("expect_applied"),
            tree.at("warnings").get<std::vector<std::string>>(),
            tree.at("calibrated_keys").get<std::vector<std::string>>()};
  } catch (const Json::exception& error) {
    throw BadInput(label, "", std::string("not a comparison that Skerry wrote: ") + error.what());
  }
}

std::string results_json(const Results& results) {
  Json out;
  out["comparison"] = comparison_tree(results);
  out["folder"] = results.folder;
  out["summaries"] = Json::array();
  for (const RunRecord& record : results.records)
    out["summaries"].push_back(summary_tree(record));
  return out.dump(2) + "\n";
}

std::map<std::string, PlanCount> count_plan(const Scenario& scenario,
                                            const std::vector<RunRecord>& records,
                                            const std::string& plan_csv) {
  std::map<std::string, PlanCount> out;
  std::map<std::uint64_t, double> longest_s;
  for (const RunRecord& record : records) {
    if (failed(record)) continue;
    double& longest = longest_s[record.summary.seed];
    longest = std::max(longest, record.summary.simulated_s);
  }
  for (const Fault& fault : scenario.faults) {
    PlanCount& count = out[fault.name];
    if (fault.scripted || fault.exposure != Exposure::kWall) continue;
    for (const auto& [seed, seconds] : longest_s) {
      count.expected += fault.events_per_s_nominal * seconds;
    }
  }
  for (std::size_t at = plan_csv.find('\n'); at != std::string::npos && at + 1 < plan_csv.size();) {
    const std::size_t end = std::min(plan_csv.find('\n', at + 1), plan_csv.size());
    const std::size_t comma = plan_csv.rfind(',', end);
    out[plan_csv.substr(comma + 1, end - comma - 1)].planned += 1;
    at = end;
  }
  return out;
}

}  // namespace skerry
