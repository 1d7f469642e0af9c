#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include <nlohmann/json.hpp>

#include "sim/cost/money.hpp"
#include "sim/faults/faults.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/record.hpp"
#include "sim/report/summary_tree.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json shares(const std::vector<Share>& rows) {
  Json out = Json::object();
  for (const Share& row : rows) {
    out[row.name] = {{"chips", row.chips},
                     {"steps", row.steps},
                     {"tokens", row.tokens},
                     {"goodput", row.goodput},
                     {"waiting_share", row.waiting_share},
                     {"merged_share", or_null(row.merged_share)}};
  }
  return out;
}

Json chip_seconds(const Summary& s) {
  Json lost = Json::object();
  for (std::size_t i = 0; i < kCauseNames.size(); ++i) {
    lost[std::string(kCauseNames[i])] = s.chip_seconds_lost[i];
  }
  return {
      {"total", s.chip_seconds_total}, {"productive", s.chip_seconds_productive}, {"lost", lost}};
}

Json cost(const Summary& s) {
  const auto usd = [&s](double value) { return s.cost ? Json(value) : Json(nullptr); };
  const Summary::Cost known = s.cost.value_or(Summary::Cost{});
  Json lost = Json::object();
  for (std::size_t i = 0; i < kCauseNames.size(); ++i)
    lost[std::string(kCauseNames[i])] = usd(known.lost_usd[i]);
  return {{"chips_usd", usd(known.chips_usd)},
          {"wan_usd", usd(known.wan_usd)},
          {"productive_usd", usd(known.productive_usd)},
          {"lost_usd", lost}};
}

void put_money(const RunRecord& record, Json& out) {
  const Summary& s = record.summary;
  out["cost_usd"] = s.cost ? Json(s.cost->usd()) : Json(nullptr);
  out["cost_spot_usd"] = or_null(s.cost_spot_usd);
  out["cost_usd_per_1e9_tokens"] = or_null(s.cost_usd_per_1e9_tokens);
  out["cost_to_loss_usd"] = or_null(record.cost_to_loss_usd);
  out["wasted_cost_usd"] = s.cost ? Json(s.cost->wasted_usd()) : Json(nullptr);
  out["wasted_chip_hours"] = wasted_chip_hours(s);
  out["energy_kwh"] = or_null(s.energy_kwh);
  out["cost"] = cost(s);
}

Json wan(const Summary& s) {
  Json links = Json::object();
  for (const fact::Wire& wire : s.wires) {
    links[wire.name] = {{"bytes", wire.bytes}, {"capacity_bytes", finite(wire.capacity_bytes)}};
  }
  Json out = {{"bytes", s.wan.bytes},
              {"busiest_port", s.wan.busiest_port},
              {"busiest_load", s.wan.busiest_load},
              {"links", links}};
  for (const fact::Control& control : s.controls) {
    out["control"][control.name] = {{"sent", control.sent}, {"timed_out", control.timed_out}};
  }
  return out;
}

Json faults(const Summary& s) {
  Json by_kind = Json::object();
  for (const FaultKind kind :
       {FaultKind::kSliceDown, FaultKind::kIslandDown, FaultKind::kRegionDark, FaultKind::kLinkCut,
        FaultKind::kLinkSlow, FaultKind::kStraggler, FaultKind::kHang, FaultKind::kShardLost,
        FaultKind::kCorruption, FaultKind::kStorageSlow, FaultKind::kPartition}) {
    const auto count = s.faults.by_kind.find(std::string(kind_name(kind)));
    by_kind[std::string(kind_name(kind))] = count == s.faults.by_kind.end() ? 0 : count->second;
  }
  return {{"planned", s.faults.planned}, {"hit", s.faults.hit}, {"by_kind", by_kind}};
}

Json loss(const std::optional<TrainedLoss>& loss) {
  if (!loss) {
    return {{"start", nullptr},
            {"final", nullptr},
            {"best", nullptr},
            {"n", 0},
            {"outer_rounds", nullptr}};
  }
  Json out = {{"start", finite(loss->start)},
              {"final", finite(loss->final)},
              {"best", finite(loss->best)},
              {"n", loss->n},
              {"outer_rounds", loss->outer_rounds}};
  if (loss->bytes_per_token) out["bytes_per_token"] = *loss->bytes_per_token;
  if (loss->tuned_rate) out["tuned_rate"] = *loss->tuned_rate;
  return out;
}

}  // namespace

Json summary_tree(const RunRecord& record) {
  const Summary& s = record.summary;
  Json out;
  out["skerry"] = "summary/1";
  out["protocol"] = s.protocol;
  out["preset"] = s.preset;
  out["seed"] = s.seed;
  out["status"] = s.status;
  if (failed(record)) {
    out["failure"] = record.failure;
    return out;
  }
  out["simulated_s"] = s.simulated_s;
  out["tokens"] = s.tokens;
  out["tokens_computed"] = s.tokens_computed;
  out["tokens_per_s"] = s.tokens_per_s;
  out["goodput"] = s.goodput;
  out["uptime"] = s.uptime;
  out["compute_utilization"] = s.compute_utilization;
  out["compute_utilization_whole_periods"] = or_null(s.compute_utilization_whole_periods);
  out["hidden_share"] = or_null(s.hidden_share);
  out["hidden_share_outside_faults"] = or_null(s.hidden_share_outside_faults);
  out["merged_share"] = or_null(s.merged_share);
  out["merged_pending_share"] = s.merged_pending_share;
  const Distribution& gap = s.step_interval_s;
  out["step_interval_s"] = {{"mean", gap.mean}, {"p50", gap.p50}, {"p99", gap.p99}};
  out["learner_steps"] = s.learner_steps;
  out["syncer_steps"] = s.syncer_steps;
  out["syncer_steps_per_learner_step"] = or_null(s.syncer_steps_per_learner_step);
  out["participants"] = {{"mean", s.participants.mean},
                         {"p10", s.participants.p10},
                         {"one_share", s.participants.one_share}};
  const Distribution& stale = s.stale_steps;
  out["stale_steps"] = {{"mean", stale.mean}, {"p50", stale.p50}, {"p99", stale.p99}};
  out["chip_seconds"] = chip_seconds(s);
  out["wan"] = wan(s);
  put_money(record, out);
  out["faults"] = faults(s);
  out["recoveries"] = {
      {"count", s.recoveries.count},
      {"mean_s", s.recoveries.mean_s},
      {"max_s", s.recoveries.max_s},
      {"inner_state_age_steps",
       {{"mean", s.recoveries.age_steps_mean}, {"max", s.recoveries.age_steps_max}}}};
  out["loss"] = loss(record.loss);
  out["target_loss"] = or_null(record.target_loss);
  out["time_to_loss_s"] = or_null(record.time_to_loss_s);
  out["tokens_to_loss"] = or_null(record.tokens_to_loss);
  out["by_learner"] = shares(s.by_learner);
  out["by_device"] = shares(s.by_device);
  const double other = lost_share(s, Cause::kOther);
  out["closure_chip_seconds"] = s.closure_chip_seconds;
  out["closure_bytes"] = s.closure_bytes;
  out["closure_cost"] = s.closure_cost;
  out["other_share"] = other;
  out["flagged"] = other > kOtherFlag;
  out["tape_fingerprint"] = s.tape_fingerprint;
  out["fingerprint"] = record.loss ? Json(record.loss->fingerprint) : Json(nullptr);
  out["warnings"] = record.warnings;
  return out;
}

std::string summary_to_json(const RunRecord& record) {
  return summary_tree(record).dump(2) + "\n";
}

double lost_share(const Summary& summary, Cause cause) {
  if (summary.chip_seconds_total <= 0) return 0;
  return summary.chip_seconds_lost[static_cast<std::size_t>(cause)] / summary.chip_seconds_total;
}

double wasted_chip_hours(const Summary& summary) {
  double seconds = 0;
  for (const double lost : summary.chip_seconds_lost)
    seconds += lost;
  return seconds / kSecondsPerHour;
}

namespace {

// What only the training's end shows. The scenario's own W35 comes from its chips alone.
void warn_of_losses(RunRecord& record, const TrainResult& result, const Protocol& protocol) {
  if (result.final > result.start) {
    record.warnings.push_back(
        fmt::format("W41: {}: training ended at a loss of {:.3f}, above the {:.3f} it began with: "
                    "lower rates, or a longer run",
                    protocol.name, result.final, result.start));
  }
  const std::string short_run = "W35: /protocols/" + protocol.name + ": ";
  const bool said = std::any_of(record.warnings.begin(), record.warnings.end(),
                                [&](const std::string& w) { return w.starts_with(short_run); });
  const double rounds = std::floor(result.outer_rounds + 1e-9);  // a mean over fragments
  if (said || protocol.family != Family::kDiloco || rounds >= 50) return;
  record.warnings.push_back(
      fmt::format("{}a short run, {} outer rounds per fragment were merged; "
                  "below 50 losses say little about the protocol",
                  short_run, rounds));
}

}  // namespace

void set_training(RunRecord& record, const TrainResult& result, const Protocol& protocol) {
  TrainedLoss& loss = record.loss.emplace();
  loss.start = result.start;
  loss.final = result.final;
  loss.best = result.best;
  loss.n = static_cast<int>(result.curve.size());
  loss.outer_rounds = result.outer_rounds;
  loss.fingerprint = result.fingerprint;
  if (result.bytes_per_token > 1.0) loss.bytes_per_token = result.bytes_per_token;
  loss.tuned_rate = result.tuned_rate;
  if (result.stopped) {
    const LossPoint& last = result.curve.back();
    record.warnings.push_back("W37: /training/stop_at_loss: training ended at a loss of " +
                              shortest(last.loss) + " after " + shortest(last.tokens) +
                              " tokens; the final loss is that one");
  }
  if (!result.diverged && !result.stopped) warn_of_losses(record, result, protocol);
  if (!result.diverged) return;
  record.summary.status = "diverged";
  loss.final = std::numeric_limits<double>::quiet_NaN();
  if (result.curve.empty()) loss.start = loss.best = loss.final;
  const std::string found = std::isnan(result.not_finite.loss) ? "NaN" : "infinity";
  record.warnings.push_back("W21: diverged: found a loss of " + found + " after " +
                            shortest(result.not_finite.tokens) +
                            " tokens, allowed a finite one; a lower /training/inner/rate helps");
}

}  // namespace skerry
