#include "sim/report/rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cost/money.hpp"

namespace skerry {

namespace {

// Values of both protocols for the seeds in which both have one.
template <class F>
std::pair<std::vector<double>, std::vector<double>> paired(const std::vector<const RunRecord*>& a,
                                                           const std::vector<const RunRecord*>& b,
                                                           const F& value) {
  std::pair<std::vector<double>, std::vector<double>> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == nullptr || b[i] == nullptr) continue;
    const std::optional<double> x = value(*a[i]);
    const std::optional<double> y = value(*b[i]);
    if (!x || !y) continue;
    out.first.push_back(*x);
    out.second.push_back(*y);
  }
  return out;
}

template <class F>
std::optional<double> mean(const std::vector<const RunRecord*>& runs, const F& value) {
  double sum = 0;
  int n = 0;
  for (const RunRecord* run : runs) {
    if (run == nullptr) continue;
    const std::optional<double> x = value(*run);
    if (!x) continue;
    sum += *x;
    n += 1;
  }
  return n > 0 ? std::optional<double>(sum / n) : std::nullopt;
}

std::optional<double> final_loss(const RunRecord& run) {
  if (!run.loss || run.summary.status == "diverged" || !std::isfinite(run.loss->final)) return {};
  return run.loss->final;
}

double wait_share(const Summary& s) {
  return lost_share(s, Cause::kStragglerWait) + lost_share(s, Cause::kWaitingForQuorum);
}

double fault_share(const Summary& s) {
  double sum = 0;
  for (std::size_t i = 0; i < kCauseNames.size(); ++i)
    sum += lost_share(s, static_cast<Cause>(i));
  return std::max(0.0, sum - wait_share(s) - lost_share(s, Cause::kExposedCommunication));
}

void count(const std::vector<const RunRecord*>& runs, Row& row) {
  for (const RunRecord* run : runs) {
    if (run == nullptr) continue;
    row.seeds += 1;
    row.capped += run->summary.status == "time_cap" ? 1 : 0;
    row.diverged += run->summary.status == "diverged" ? 1 : 0;
    row.trained += final_loss(*run) ? 1 : 0;
  }
}

void set_means(const std::vector<const RunRecord*>& runs, Row& row) {
  const auto mean_of = [&runs](auto value) {
    return mean(
               runs,
               [&value](const RunRecord& run) { return std::optional<double>(value(run.summary)); })
        .value_or(0.0);
  };
  row.simulated_s = mean_of([](const Summary& s) { return s.simulated_s; });
  row.tokens = mean_of([](const Summary& s) { return s.tokens; });
  row.tokens_per_s = mean_of([](const Summary& s) { return s.tokens_per_s; });
  row.goodput = mean_of([](const Summary& s) { return s.goodput; });
  std::vector<double> goodput, uptime;
  for (const RunRecord* run : runs) {
    if (run == nullptr) continue;
    goodput.push_back(run->summary.goodput);
    uptime.push_back(run->summary.uptime);
  }
  if (!goodput.empty()) {
    row.goodput_interval = mean_interval(goodput);
    row.uptime_interval = mean_interval(uptime);
  }
  row.wan_share =
      mean_of([](const Summary& s) { return lost_share(s, Cause::kExposedCommunication); });
  row.wait_share = mean_of(wait_share);
  row.fault_share = mean_of(fault_share);
  row.faults_planned = mean_of([](const Summary& s) { return double(s.faults.planned); });
  row.faults_hit = mean_of([](const Summary& s) { return double(s.faults.hit); });
  row.merged_share = mean(runs, [](const RunRecord& run) { return run.summary.merged_share; });
  row.stale_steps = mean(runs, [](const RunRecord& run) -> std::optional<double> {
    if (!run.summary.merged_share) return std::nullopt;
    return run.summary.stale_steps.mean;
  });
  row.loss = mean(runs, final_loss);
}

void set_money(const std::vector<const RunRecord*>& runs, Row& row) {
  const auto cost = [&runs](auto value) {
    return mean(runs, [&value](const RunRecord& run) -> std::optional<double> {
      if (!run.summary.cost) return std::nullopt;
      return value(*run.summary.cost);
    });
  };
  row.cost_usd = cost([](const Summary::Cost& c) { return c.usd(); });
  row.wan_usd = cost([](const Summary::Cost& c) { return c.wan_usd; });
  row.wasted_cost_usd = cost([](const Summary::Cost& c) { return c.wasted_usd(); });
  row.cost_spot_usd = mean(runs, [](const RunRecord& run) { return run.summary.cost_spot_usd; });
  row.cost_usd_per_1e9_tokens =
      mean(runs, [](const RunRecord& run) { return run.summary.cost_usd_per_1e9_tokens; });
  row.energy_kwh = mean(runs, [](const RunRecord& run) { return run.summary.energy_kwh; });
  row.cost_to_loss_usd = mean(runs, [](const RunRecord& run) { return run.cost_to_loss_usd; });
  row.wasted_chip_hours = mean(runs, [](const RunRecord& run) {
                            return std::optional<double>(wasted_chip_hours(run.summary));
                          }).value_or(0.0);
}

std::optional<double> cost_until(const Scenario& scenario, const RunRecord& record, double t) {
  const Summary& run = record.summary;
  for (const Protocol& row : scenario.protocols) {
    if (row.name != run.protocol || !run.cost || !(run.simulated_s > 0)) continue;
    const auto chips = chip_costs(scenario, row, scenario.prices.pricing);
    if (chips) return usd_until(*chips, run.cost->wan_usd, run.simulated_s, t);
  }
  return std::nullopt;
}

}  // namespace

std::vector<const RunRecord*> by_seed(const Scenario& scenario,
                                      const std::vector<RunRecord>& records,
                                      const std::string& protocol) {
  std::vector<const RunRecord*> out(scenario.seeds.size(), nullptr);
  for (const RunRecord& record : records) {
    if (record.summary.protocol != protocol || failed(record)) continue;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (scenario.seeds[i] == record.summary.seed) out[i] = &record;
    }
  }
  return out;
}

std::vector<Row> rows_of(const Scenario& scenario, const std::vector<RunRecord>& records) {
  const Protocol& baseline = scenario.protocols.at(static_cast<std::size_t>(scenario.baseline));
  const auto base = by_seed(scenario, records, baseline.name);
  std::vector<Row> rows;
  for (std::size_t p = 0; p < scenario.protocols.size(); ++p) {
    Row row;
    row.protocol = scenario.protocols[p].name;
    row.index = static_cast<int>(p);
    row.baseline = row.index == scenario.baseline;
    for (const RunRecord& record : records) {
      row.failed += record.summary.protocol == row.protocol && failed(record) ? 1 : 0;
    }
    const auto runs = by_seed(scenario, records, row.protocol);
    count(runs, row);
    set_means(runs, row);
    const auto speed = paired(runs, base, [](const RunRecord& run) {
      return std::optional<double>(run.summary.tokens_per_s);
    });
    row.ratio = ratio_interval(speed.first, speed.second);
    const auto goodput = paired(runs, base, [](const RunRecord& run) {
      return std::optional<double>(run.summary.goodput);
    });
    row.goodput_difference = difference_interval(goodput.first, goodput.second);
    set_money(runs, row);
    const auto cost = paired(
        runs, base, [](const RunRecord& run) { return run.summary.cost_usd_per_1e9_tokens; });
    row.cost_ratio = ratio_interval(cost.first, cost.second);
    const auto loss = paired(runs, base, final_loss);
    row.loss_difference = difference_interval(loss.first, loss.second);
    rows.push_back(std::move(row));
  }
  return rows;
}

void set_times_to_loss(const Scenario& scenario, const std::vector<std::vector<LossPoint>>& curves,
                       std::vector<RunRecord>& records) {
  const Training& training = scenario.training;
  const auto& baseline = scenario.protocols.at(static_cast<std::size_t>(scenario.baseline)).name;
  const auto base = by_seed(scenario, records, baseline);
  for (std::size_t r = 0; r < records.size(); ++r) {
    RunRecord& record = records[r];
    if (!record.loss) continue;
    record.target_loss = training.target_loss;
    for (std::size_t i = 0; i < scenario.seeds.size() && !training.target_loss; ++i) {
      if (scenario.seeds[i] != record.summary.seed || base[i] == nullptr) continue;
      const std::optional<double> reference = final_loss(*base[i]);
      if (reference) record.target_loss = (1 + training.target_loss_over_baseline) * *reference;
    }
    if (!record.target_loss) continue;
    const std::optional<LossPoint> hit = first_at_or_below(curves.at(r), *record.target_loss);
    if (!hit) continue;
    record.time_to_loss_s = hit->simulated_s;
    record.tokens_to_loss = hit->tokens;
    record.cost_to_loss_usd = cost_until(scenario, record, hit->simulated_s);
  }
}

}  // namespace skerry
