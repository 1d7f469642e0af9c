#include "sim/cost/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/cost/anatomy.hpp"
#include "sim/cost/bounds.hpp"
#include "sim/cost/estimate_parts.hpp"
#include "sim/cost/money.hpp"

namespace skerry {

namespace {

constexpr double kPacketBytes = 1500.0;
constexpr double kQueueFactor = 1.5;
constexpr double kSameSpeed = 0.95;  // as data-parallel never hides its last bucket

const Learner& learner_at(const Scenario& scenario, int index) {
  return scenario.learners[static_cast<std::size_t>(index)];
}

bool lock_step(const Protocol& row) {
  return row.family == Family::kDataParallel ||
         (row.learner_waits == LearnerWaits::kAtOverlap && row.exchange &&
          row.quorum == static_cast<int>(row.learners.size()));
}

// Steps a second of every learner in `learners` when nothing but chips and peers counts.
double full_rate(const Scenario& scenario, const Protocol& row, const std::vector<int>& learners) {
  double rate = 0.0, slowest_s = 0.0;
  for (const int m : learners) {
    rate += 1.0 / learner_at(scenario, m).step_s;
    slowest_s = std::max(slowest_s, learner_at(scenario, m).step_s);
  }
  if (learners.empty()) return 0.0;
  return lock_step(row) ? static_cast<double>(learners.size()) / slowest_s : rate;
}

std::vector<Phase> phases_of(const Scenario& scenario, const Protocol& row) {
  std::vector<double> dates;
  for (const int m : row.learners)
    dates.push_back(learner_at(scenario, m).start_s);
  std::sort(dates.begin(), dates.end());
  dates.erase(std::unique(dates.begin(), dates.end()), dates.end());
  std::vector<Phase> phases;
  for (const double date : dates) {
    std::vector<int> started;
    for (const int m : row.learners) {
      if (learner_at(scenario, m).start_s <= date) started.push_back(m);
    }
    phases.push_back(
        {date, scenario.charged.tokens_per_learner_step * full_rate(scenario, row, started)});
  }
  return phases;
}

void add_stop(const Scenario& scenario, const Protocol& row, RowEstimate& out) {
  const std::vector<Phase> phases = phases_of(scenario, row);
  const double end_s = scenario.stop.simulated_s;
  out.tokens = tokens_by(phases, end_s);
  if (scenario.stop.tokens) out.tokens = std::min(out.tokens, *scenario.stop.tokens);
  out.ideal_s = std::min(end_s, date_of_tokens(phases, out.tokens));
  std::vector<Phase> limited = phases;
  const double share = out.tokens_per_s_limit / out.tokens_per_s_full;
  for (Phase& phase : limited)
    phase.tokens_per_s *= share;
  out.limit_s = date_of_tokens(limited, out.tokens);
  if (phases.size() < 2) return;
  const double begin_s = phases.front().from_s;
  const double alone_s = date_of_tokens({phases.front()}, out.tokens);
  out.scavenged_share = (out.ideal_s - begin_s) / (alone_s - begin_s);
}

void add_step(const Scenario& scenario, const Protocol& row, RowEstimate& out) {
  const auto learners = static_cast<double>(row.learners.size());
  for (const int m : row.learners) {
    out.step_s = std::max(out.step_s, learner_at(scenario, m).step_s);
    out.chips += static_cast<double>(learner_at(scenario, m).chips);
  }
  if (row.family == Family::kDiloco && !lock_step(row)) {
    std::vector<double> steps;
    for (const int m : row.learners) steps.push_back(learner_at(scenario, m).step_s);
    std::sort(steps.begin(), steps.end());
    out.step_s = steps[static_cast<std::size_t>(std::clamp(row.quorum, 1, static_cast<int>(steps.size())) - 1)];
  }
  out.step_s *= row.accumulate_steps;
  out.tokens_per_step =
      learners * scenario.charged.tokens_per_learner_step * row.accumulate_steps;
  out.flop_per_step = 6.0 * scenario.charged.parameters * out.tokens_per_step;
  out.tokens_per_s_full =
      scenario.charged.tokens_per_learner_step * full_rate(scenario, row, row.learners);
}

void add_bytes(const Scenario& scenario, const Protocol& row, const RowTraffic& traffic,
               RowEstimate& out) {
  if (traffic.unit.first.empty()) return;
  const auto& sizes = traffic.payload_bytes;
  const double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  const double largest = *std::max_element(sizes.begin(), sizes.end());
  out.sync_bytes_mean = sum / static_cast<double>(sizes.size());
  out.sync_bytes_largest = largest;
  out.syncs_per_step = static_cast<double>(sizes.size()) / traffic.period_steps;
  out.latency_s = traffic.unit.lead_s;
  out.sync_s_mean = traffic.seconds(out.sync_bytes_mean);
  out.sync_s_largest = traffic.seconds(largest);
  const double model = wire_bytes(row.wire, scenario.charged.parameters);
  out.all_reduce_s = traffic.seconds(model);
  out.first_phase_s = out.latency_s + traffic.setup_s + model * traffic.first_s_per_byte;
  out.ports = ports_of(scenario, traffic, out.step_s);
  for (const PortEstimate& port : out.ports)
    out.needed_Bps = std::max(out.needed_Bps, port.needed_Bps);
  double edges = 0.0;
  for (const auto* phase : {&traffic.unit.first, &traffic.unit.second}) {
    for (const CollectiveFlow& flow : *phase) {
      const double rate_Bps = std::min(path_rate_Bps(scenario, flow.from_region, flow.to_region),
                                       flow_cap_Bps(scenario, flow.from_region, flow.to_region));
      edges += flow.bytes;
      out.copy_s =
          std::max(out.copy_s, model / rate_Bps + traffic.setup_s +
                                   path_latency_s(scenario, flow.from_region, flow.to_region));
    }
  }
  out.wan_bytes_per_step = edges * sum / traffic.period_steps;
  if (row.family == Family::kDataParallel) {  // a step's buckets are one sync of the whole model
    out.sync_bytes_mean = out.sync_bytes_largest = model;
    out.sync_s_mean = out.sync_s_largest = out.all_reduce_s;
    out.syncs_per_step = 1.0;
  }
}

// Fewest seconds of one period of the row when its chips are all there.
double period_s(const Scenario& scenario, const Protocol& row, const RowTraffic& traffic,
                double step_s) {
  const double alone_s = traffic.period_steps * step_s;
  if (traffic.unit.first.empty()) return alone_s;
  const IdleWire idle{traffic.unit.lead_s + traffic.decision_s, traffic.setup_s,
                      traffic.first_s_per_byte + traffic.second_s_per_byte};
  const auto exchanges = exchange_pieces(scenario.charged, row);
  if (row.family == Family::kDataParallel) {
    return step_s + late_s(exchanges.front(), row.wire, step_s, 0, idle);
  }
  std::vector<double> turns_s, delays_s;
  for (const auto& pieces : exchanges) {
    double bytes = 0.0;
    for (const Piece& piece : pieces) bytes += piece.bytes;
    turns_s.push_back(traffic.seconds(bytes));
    delays_s.push_back(late_s(pieces, row.wire, step_s, row.overlap_steps, idle));
  }
  const double sum =
      std::accumulate(traffic.payload_bytes.begin(), traffic.payload_bytes.end(), 0.0);
  return shortest_period_s(step_s, traffic.period_steps, row.overlap_steps, row.in_flight == 1,
                           turns_s, delays_s, sum * traffic.port_s_per_byte);
}

void add_limits(const Scenario& scenario, const Protocol& row, const RowTraffic& traffic,
                RowEstimate& out) {
  const double alone_s = traffic.period_steps * out.step_s;
  const double least_s = period_s(scenario, row, traffic, out.step_s);
  out.tokens_per_s_limit = out.tokens_per_s_full;
  const double tokens = scenario.charged.tokens_per_learner_step;
  if (lock_step(row)) {
    out.tokens_per_s_limit = out.tokens_per_step * traffic.period_steps / least_s;
  } else if (row.exchange && row.learner_waits == LearnerWaits::kAtOverlap) {
    out.tokens_per_s_limit = 0.0;
    for (const int m : row.learners) {
      out.tokens_per_s_limit += tokens * std::min(1.0 / learner_at(scenario, m).step_s,
                                                  traffic.period_steps / wire_s(row, traffic));
    }
  } else if (!traffic.unit.first.empty()) {
    out.syncs_carried_limit = std::min(1.0, alone_s / wire_s(row, traffic));
  }
  out.compute_utilization_limit = out.tokens_per_s_limit / out.tokens_per_s_full;
  out.round_steps = traffic.period_steps;
  out.round_s = out.syncs_carried_limit ? alone_s : least_s;
  out.round_chip_h = out.chips * out.round_s / 3600.0;
  out.round_wan_bytes = out.wan_bytes_per_step * traffic.period_steps;
  out.round_flop = out.flop_per_step * traffic.period_steps;
}

// The row that ratios refer to: the baseline when it is data-parallel, else the first that is.
int data_parallel_row(const Scenario& scenario) {
  const auto is = [&](std::size_t i) {
    const Protocol& row = scenario.protocols[i];
    return row.family == Family::kDataParallel && !row.ideal_network;
  };
  if (is(static_cast<std::size_t>(scenario.baseline))) return scenario.baseline;
  for (std::size_t i = 0; i < scenario.protocols.size(); ++i) {
    if (is(i) && scenario.protocols[i].preset != "best_region") return static_cast<int>(i);
  }
  return -1;
}

RowEstimate row_estimate(const Scenario& scenario, const Protocol& row) {
  RowEstimate out;
  out.protocol = row.name;
  out.preset = row.preset;
  out.learners = static_cast<int>(row.learners.size());
  const RowTraffic traffic = traffic_of(scenario, row);
  out.regions = static_cast<int>(traffic.regions.size());
  add_step(scenario, row, out);
  add_bytes(scenario, row, traffic, out);
  add_limits(scenario, row, traffic, out);
  out.data_parallel_port_Bps = lock_step_port_Bps(scenario, row, out.tokens_per_s_limit);
  const auto chips = chip_costs(scenario, row, scenario.prices.pricing);
  if (chips) out.chips_usd_per_hour = usd_per_hour(*chips);
  if (out.round_s > 0.0) {  // the round's clock is the fastest learner's, not the mean one's
    out.wan_usd_per_hour =
        wan_usd(scenario.prices, out.round_wan_bytes) / out.round_s * kSecondsPerHour;
  }
  add_stop(scenario, row, out);
  out.recovery = recovery_of(scenario, row, traffic, out);
  out.checkpoint = checkpoint_of(scenario, row);
  return out;
}

LinkEstimate link_estimate(const Scenario& scenario, int from, int to) {
  LinkEstimate out;
  out.name = pair_name(scenario, from, to);
  out.rate_Bps = path_rate_Bps(scenario, from, to);
  out.round_trip_s = round_trip_s(scenario, from, to);
  out.in_flight_bytes = out.round_trip_s > 0.0 ? out.rate_Bps * out.round_trip_s : 0.0;
  out.in_flight_packets = out.in_flight_bytes / kPacketBytes;
  out.queue_packets = kQueueFactor * out.in_flight_packets;
  out.flow_cap_Bps = flow_cap_Bps(scenario, from, to);
  return out;
}

std::vector<LinkEstimate> links_in_use(const Scenario& scenario) {
  std::vector<char> used(scenario.links.size(), 0);
  for (const Protocol& row : scenario.protocols) {
    const RowTraffic traffic = traffic_of(scenario, row);
    for (const auto* phase : {&traffic.unit.first, &traffic.unit.second}) {
      for (const CollectiveFlow& flow : *phase) {
        used[static_cast<std::size_t>(scenario.link_between(flow.from_region, flow.to_region))] = 1;
      }
    }
  }
  std::vector<LinkEstimate> out;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] != 0) {
      out.push_back(link_estimate(scenario, scenario.links[i].from, scenario.links[i].to));
    }
  }
  return out;
}

}  // namespace

std::optional<double> lock_step_port_Bps(const Scenario& scenario, const Protocol& row,
                                         double tokens_per_s) {
  Protocol lock = row;
  if (row.family != Family::kDataParallel) {
    lock = Protocol{};
    lock.family = Family::kDataParallel;
    lock.anatomy = Anatomy::kBuckets;
    lock.learners = row.learners;
    lock.all_reduce = AllReduce::kHierarchicalRing;
    lock.wire.bits_per_parameter = scenario.charged.wire_bits_per_parameter;
  }
  if (row.ideal_network || !row.exchange) return std::nullopt;
  const RowTraffic traffic = traffic_of(scenario, lock);
  if (traffic.unit.first.empty()) return std::nullopt;
  RowEstimate step;
  add_step(scenario, lock, step);
  double volume = 0.0, capped_s = 0.0;  // of a payload of one byte: busiest port; flows at their caps
  for (const PortEstimate& port : ports_of(scenario, traffic, step.step_s))
    volume = std::max(volume, port.bytes_per_step);
  const auto& payloads = traffic.payload_bytes;
  volume /= std::accumulate(payloads.begin(), payloads.end(), 0.0);
  for (const auto* phase : {&traffic.unit.first, &traffic.unit.second}) {
    double slowest_s = 0.0;
    for (const CollectiveFlow& flow : *phase) {
      slowest_s = std::max(slowest_s, flow.bytes / flow_cap_Bps(scenario, flow.from_region, flow.to_region));
    }
    capped_s += slowest_s;
  }
  const std::vector<Piece> pieces = exchange_pieces(scenario.charged, lock).front();
  const double wanted_s = step.tokens_per_step / (kSameSpeed * tokens_per_s);
  const auto enough = [&](double port_Bps) {
    const IdleWire idle{traffic.unit.lead_s, traffic.setup_s, std::max(volume / port_Bps, capped_s)};
    return step.step_s + late_s(pieces, lock.wire, step.step_s, 0, idle) <= wanted_s;
  };
  if (!enough(kUnlimited)) return kUnlimited;
  double low = 1.0, high = 1e18;  // bytes/s
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

Estimate estimate(const Scenario& scenario) {
  Estimate out;
  for (const Protocol& row : scenario.protocols)
    out.rows.push_back(row_estimate(scenario, row));
  const int reference = data_parallel_row(scenario);
  if (reference >= 0) {
    const RowEstimate& base = out.rows[static_cast<std::size_t>(reference)];
    out.data_parallel_row = base.protocol;
    const double rate = base.tokens_per_s_limit;
    for (RowEstimate& row : out.rows)
      row.ratio_limit = row.tokens_per_s_limit / rate;
  }
  out.links = links_in_use(scenario);
  for (const Learner& learner : scenario.learners) {
    if (learner.index_in_group > 0 || scenario.charged.parameters <= 0.0) continue;
    out.memory.push_back({learner.group, learner.device, learner.chips / learner.slices,
                          memory_fit(scenario.charged, learner)});
  }
  return out;
}

}  // namespace skerry
