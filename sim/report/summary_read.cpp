#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "sim/report/record.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

std::optional<double> maybe(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
}

double number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::vector<Share> shares(const Json& rows) {
  std::vector<Share> out;
  for (const auto& [name, row] : rows.items()) {
    out.push_back({name, row.at("chips"), row.at("steps"), row.at("tokens"), row.at("goodput"),
                   row.at("waiting_share"), maybe(row.at("merged_share"))});
  }
  return out;
}

void read_books(const Json& tree, Summary& s) {
  const Json& books = tree.at("chip_seconds");
  s.chip_seconds_total = books.at("total");
  s.chip_seconds_productive = books.at("productive");
  for (std::size_t i = 0; i < kCauseNames.size(); ++i) {
    s.chip_seconds_lost[i] = books.at("lost").at(std::string(kCauseNames[i]));
  }
  const Json& wan = tree.at("wan");
  s.wan.bytes = wan.at("bytes");
  s.wan.busiest_port = wan.at("busiest_port");
  s.wan.busiest_load = wan.at("busiest_load");
  for (const auto& [name, wire] : wan.at("links").items()) {
    const Json& capacity = wire.at("capacity_bytes");
    s.wires.push_back(
        {name, wire.at("bytes"), capacity.is_null() ? kUnlimited : capacity.get<double>()});
  }
  if (wan.contains("control")) {
    for (const auto& [name, control] : wan.at("control").items())
      s.controls.push_back({name, control.at("sent"), control.at("timed_out")});
  }
  const Json& faults = tree.at("faults");
  s.faults.planned = faults.at("planned");
  s.faults.hit = faults.at("hit");
  for (const auto& [kind, count] : faults.at("by_kind").items())
    s.faults.by_kind[kind] = count;
  const Json& recoveries = tree.at("recoveries");
  const Json& ages = recoveries.at("inner_state_age_steps");
  s.recoveries = {recoveries.at("count"), recoveries.at("mean_s"), recoveries.at("max_s"),
                  ages.at("mean"), ages.at("max")};
  s.closure_chip_seconds = tree.at("closure_chip_seconds");
  s.closure_bytes = tree.at("closure_bytes");
}

void read_money(const Json& tree, RunRecord& record) {
  Summary& s = record.summary;
  s.cost_spot_usd = maybe(tree.at("cost_spot_usd"));
  s.cost_usd_per_1e9_tokens = maybe(tree.at("cost_usd_per_1e9_tokens"));
  s.energy_kwh = maybe(tree.at("energy_kwh"));
  s.closure_cost = tree.at("closure_cost");
  record.cost_to_loss_usd = maybe(tree.at("cost_to_loss_usd"));
  if (tree.at("cost_usd").is_null()) return;
  const Json& cost = tree.at("cost");
  Summary::Cost& known = s.cost.emplace();
  known.chips_usd = cost.at("chips_usd");
  known.wan_usd = cost.at("wan_usd");
  known.productive_usd = cost.at("productive_usd");
  for (std::size_t i = 0; i < kCauseNames.size(); ++i)
    known.lost_usd[i] = cost.at("lost_usd").at(std::string(kCauseNames[i]));
}

void read_rates(const Json& tree, Summary& s) {
  s.simulated_s = number(tree.at("simulated_s"));
  s.tokens = number(tree.at("tokens"));
  s.tokens_computed = number(tree.at("tokens_computed"));
  s.tokens_per_s = number(tree.at("tokens_per_s"));
  s.goodput = number(tree.at("goodput"));
  s.uptime = number(tree.at("uptime"));
  s.compute_utilization = number(tree.at("compute_utilization"));
  s.compute_utilization_whole_periods = maybe(tree.at("compute_utilization_whole_periods"));
  s.hidden_share = maybe(tree.at("hidden_share"));
  s.hidden_share_outside_faults = maybe(tree.at("hidden_share_outside_faults"));
  s.merged_share = maybe(tree.at("merged_share"));
  s.merged_pending_share = number(tree.at("merged_pending_share"));
  const Json& gap = tree.at("step_interval_s");
  s.step_interval_s = {number(gap.at("mean")), number(gap.at("p50")), number(gap.at("p99"))};
  s.learner_steps = number(tree.at("learner_steps"));
  s.syncer_steps = number(tree.at("syncer_steps"));
  s.syncer_steps_per_learner_step = maybe(tree.at("syncer_steps_per_learner_step"));
  const Json& participants = tree.at("participants");
  s.participants.mean = number(participants.at("mean"));
  s.participants.p10 = number(participants.at("p10"));
  s.participants.one_share = number(participants.at("one_share"));
  const Json& stale = tree.at("stale_steps");
  s.stale_steps = {number(stale.at("mean")), number(stale.at("p50")), number(stale.at("p99"))};
}

RunRecord read_record(const Json& tree) {
  RunRecord record;
  Summary& s = record.summary;
  s.protocol = tree.at("protocol");
  s.preset = tree.at("preset");
  s.seed = tree.at("seed");
  s.status = tree.at("status");
  if (failed(record)) {
    record.failure = tree.at("failure");
    return record;
  }
  read_rates(tree, s);
  read_books(tree, s);
  read_money(tree, record);
  s.by_learner = shares(tree.at("by_learner"));
  s.by_device = shares(tree.at("by_device"));
  s.tape_fingerprint = tree.at("tape_fingerprint");
  const Json& loss = tree.at("loss");
  if (!tree.at("fingerprint").is_null()) {
    record.loss = TrainedLoss{number(loss.at("start")),
                              number(loss.at("final")),
                              number(loss.at("best")),
                              loss.at("n"),
                              loss.at("outer_rounds"),
                              tree.at("fingerprint"),
                              {},
                              {}};
    if (loss.contains("bytes_per_token")) record.loss->bytes_per_token = loss.at("bytes_per_token");
    if (loss.contains("tuned_rate")) record.loss->tuned_rate = loss.at("tuned_rate");
  }
  record.target_loss = maybe(tree.at("target_loss"));
  record.time_to_loss_s = maybe(tree.at("time_to_loss_s"));
  record.tokens_to_loss = maybe(tree.at("tokens_to_loss"));
  record.warnings = tree.at("warnings").get<std::vector<std::string>>();
  return record;
}

}  // namespace

RunRecord summary_from_json(const std::string& text, const std::string& label) {
  try {
    const Json tree = Json::parse(text);
    if (tree.at("skerry") != "summary/1") throw BadInput(label, "/skerry", "not a summary/1");
    return read_record(tree);
  } catch (const Json::exception& error) {
    throw BadInput(label, "", std::string("not a summary that Skerry wrote: ") + error.what());
  }
}

}  // namespace skerry
