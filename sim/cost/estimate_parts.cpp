#include "sim/cost/estimate_parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/cost/anatomy.hpp"
#include "sim/cost/bounds.hpp"

namespace skerry {

namespace {

const Link& link_at(const Scenario& scenario, int from, int to) {
  const int link = scenario.link_between(from, to);
  SKERRY_CHECK(link >= 0,
               "no route between regions " + std::to_string(from) + " and " + std::to_string(to));
  return scenario.links[static_cast<std::size_t>(link)];
}

std::vector<double> payloads_of(const ChargedModel& model, const Protocol& row) {
  std::vector<double> payloads;
  for (const auto& pieces : exchange_pieces(model, row)) {
    double bytes = 0.0;
    for (const Piece& piece : pieces) {
      if (row.family == Family::kDataParallel) payloads.push_back(piece.bytes);
      bytes += piece.bytes;
    }
    if (row.family == Family::kDiloco) payloads.push_back(bytes);
  }
  return payloads;
}

// Bytes through every port and every link's own capacity: 2·region + part, then links.
struct Load {
  double bytes = 0.0;
  int flows = 0;
};
std::vector<Load> loads_of(const Scenario& scenario, const std::vector<CollectiveFlow>& flows) {
  const std::size_t ports = 2 * scenario.regions.size();
  std::vector<Load> loads(ports + scenario.links.size());
  for (const CollectiveFlow& flow : flows) {
    const int link = scenario.link_between(flow.from_region, flow.to_region);
    for (const std::size_t place : {2 * static_cast<std::size_t>(flow.from_region),
                                    2 * static_cast<std::size_t>(flow.to_region) + 1,
                                    ports + static_cast<std::size_t>(link)}) {
      loads[place].bytes += flow.bytes;
      loads[place].flows += 1;
    }
  }
  return loads;
}

double capacity_at(const Scenario& scenario, std::size_t place) {
  const std::size_t ports = 2 * scenario.regions.size();
  if (place >= ports) return scenario.links[place - ports].capacity_Bps;
  const Region& region = scenario.regions[place / 2];
  return place % 2 == 0 ? region.up_Bps : region.down_Bps;
}

std::string name_at(const Scenario& scenario, std::size_t place) {
  const std::size_t ports = 2 * scenario.regions.size();
  if (place < ports) return scenario.regions[place / 2].name + (place % 2 == 0 ? ".up" : ".down");
  const Link& link = scenario.links[place - ports];
  return pair_name(scenario, link.from, link.to);
}

// Of flows that run together: the busiest port or link, or the flow that tcp slows most.
double seconds_of(const Scenario& scenario, const std::vector<CollectiveFlow>& flows,
                  const std::vector<Load>& loads) {
  double seconds = 0.0;
  for (const CollectiveFlow& flow : flows) {
    seconds =
        std::max(seconds, flow.bytes / flow_cap_Bps(scenario, flow.from_region, flow.to_region));
  }
  for (std::size_t i = 0; i < loads.size(); ++i)
    seconds = std::max(seconds, loads[i].bytes / capacity_at(scenario, i));
  return seconds;
}

std::vector<Load> sum_of(std::vector<Load> a, const std::vector<Load>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i].bytes += b[i].bytes;
    a[i].flows += b[i].flows;
  }
  return a;
}

}  // namespace

std::string pair_name(const Scenario& scenario, int from, int to) {
  return scenario.regions[static_cast<std::size_t>(from)].name + ">" +
         scenario.regions[static_cast<std::size_t>(to)].name;
}

double path_rate_Bps(const Scenario& scenario, int from, int to) {
  return std::min({scenario.regions[static_cast<std::size_t>(from)].up_Bps,
                   scenario.regions[static_cast<std::size_t>(to)].down_Bps,
                   link_at(scenario, from, to).capacity_Bps});
}

double path_latency_s(const Scenario& scenario, int from, int to) {
  return link_at(scenario, from, to).latency_one_way_s;
}

double round_trip_s(const Scenario& scenario, int from, int to) {
  const bool back = scenario.link_between(to, from) >= 0;
  const double there_s = path_latency_s(scenario, from, to);
  return there_s + (back ? path_latency_s(scenario, to, from) : there_s);
}

double flow_cap_Bps(const Scenario& scenario, int from, int to) {
  return scenario.transport.cap_Bps(round_trip_s(scenario, from, to), FlowClass::kExchange);
}

RowTraffic traffic_of(const Scenario& scenario, const Protocol& row) {
  RowTraffic out;
  std::vector<int> members;
  for (const int m : row.learners) {
    const int region = scenario.learners[static_cast<std::size_t>(m)].region;
    members.push_back(region);
    if (region >= 0 &&
        std::find(out.regions.begin(), out.regions.end(), region) == out.regions.end())
      out.regions.push_back(region);
  }
  if (row.family == Family::kDiloco) out.period_steps = row.sync_period_steps;
  if (row.ideal_network || !row.exchange || scenario.charged.parameters <= 0.0) return out;
  out.unit = all_reduce(scenario, row, members, 1.0);
  if (out.unit.first.empty()) return out;
  out.payload_bytes = payloads_of(scenario.charged, row);
  if (scenario.transport.kind == TransportKind::kTcp) out.setup_s = scenario.transport.setup_s;
  if (row.family == Family::kDiloco) {
    out.fixed_s = row.wire.sync_fixed_s;
    const int coordinator =
        row.syncer == SyncerPlace::kCentral ? row.syncer_region : out.regions.front();
    double report_s = 0.0, decision_s = 0.0;
    for (const int region : out.regions) {
      if (region == coordinator) continue;
      report_s = std::max(report_s, path_latency_s(scenario, region, coordinator));
      decision_s = std::max(decision_s, path_latency_s(scenario, coordinator, region));
    }
    out.decision_s = report_s + decision_s;
    out.beside_s_per_byte = (before_wire_s(row.wire, 1.0) + behind_wire_s(row.wire, 1.0)) /
                            wire_bytes(row.wire, 1.0);
  }
  const std::vector<Load> first = loads_of(scenario, out.unit.first);
  const std::vector<Load> second = loads_of(scenario, out.unit.second);
  out.first_s_per_byte = seconds_of(scenario, out.unit.first, first);
  out.second_s_per_byte = seconds_of(scenario, out.unit.second, second);
  out.port_s_per_byte = seconds_of(scenario, {}, sum_of(first, second));
  return out;
}

double wire_s(const Protocol& row, const RowTraffic& traffic) {
  double bytes = 0.0, turns_s = 0.0;
  for (const double payload : traffic.payload_bytes) {
    bytes += payload;
    turns_s += traffic.seconds(payload);
  }
  return row.in_flight == 1 ? turns_s : bytes * traffic.port_s_per_byte;
}

std::vector<PortEstimate> ports_of(const Scenario& scenario, const RowTraffic& traffic,
                                   double step_s) {
  const std::vector<Load> loads =
      sum_of(loads_of(scenario, traffic.unit.first), loads_of(scenario, traffic.unit.second));
  const double bytes =
      std::accumulate(traffic.payload_bytes.begin(), traffic.payload_bytes.end(), 0.0) /
      traffic.period_steps;
  std::vector<PortEstimate> out;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const bool own_limit = i < 2 * scenario.regions.size() || capacity_at(scenario, i) < kUnlimited;
    if (loads[i].flows == 0 || !own_limit) continue;
    PortEstimate port;
    port.name = name_at(scenario, i);
    port.capacity_Bps = capacity_at(scenario, i);
    port.bytes_per_step = loads[i].bytes * bytes;
    port.needed_Bps = port.bytes_per_step / step_s;
    port.load = port.needed_Bps / port.capacity_Bps;
    port.headroom_Bps = std::max(0.0, port.capacity_Bps - port.needed_Bps);
    port.flows = loads[i].flows;
    out.push_back(port);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const PortEstimate& a, const PortEstimate& b) { return a.load > b.load; });
  return out;
}

std::optional<RecoveryEstimate> recovery_of(const Scenario& scenario, const Protocol& row,
                                            const RowTraffic& traffic, const RowEstimate& known) {
  const bool copies =
      row.family == Family::kDiloco ? row.recovery.rejoin_from == RejoinFrom::kPeer : row.elastic;
  if (!copies || traffic.unit.first.empty() || traffic.regions.size() < 2) return {};
  const double copy = model_wire_bytes(scenario.charged);
  int slowest = traffic.regions.front();
  const auto down = [&](int r) {   // a copy comes over one flow of the least capped pair
    double cap_Bps = 0.0;
    for (const int other : traffic.regions) {
      if (other == r) continue;
      cap_Bps = std::max(cap_Bps, scenario.transport.cap_Bps(round_trip_s(scenario, other, r),
                                                             FlowClass::kRecovery));
    }
    return std::min(scenario.regions[static_cast<std::size_t>(r)].down_Bps, cap_Bps);
  };
  for (const int region : traffic.regions) {
    if (down(region) < down(slowest)) slowest = region;
  }
  RecoveryEstimate out;
  out.port = scenario.regions[static_cast<std::size_t>(slowest)].name + ".down";
  out.copy_steps = copy / (down(slowest) * known.step_s);
  out.elastic_downtime_steps = elastic_downtime_steps(out.copy_steps);
  if (row.family == Family::kDataParallel) {  // all stand still while the copy goes
    out.steps_traffic_first = out.steps_fair_share = out.downtime_steps =
        out.elastic_downtime_steps;
    return out;
  }
  double bytes_per_step = 0.0;
  int flows = 0;
  for (const PortEstimate& port : known.ports) {
    if (port.name != out.port) continue;
    out.load = port.load;
    bytes_per_step = port.bytes_per_step;
    flows = port.flows * row.in_flight;
  }
  out.steps_traffic_first = recovery_steps(out.copy_steps, out.load);
  out.steps_fair_share =
      recovery_steps(out.copy_steps, std::min(out.load, 1.0 - 1.0 / (1.0 + flows)));
  out.downtime_steps = decoupled_downtime_steps(out.copy_steps, row.sync_period_steps);
  out.limit_steps = row.recovery.limit_steps > 0 ? row.recovery.limit_steps : row.sync_period_steps;
  out.needed_for_limit_Bps =
      (3.0 * copy + out.limit_steps * bytes_per_step) / (out.limit_steps * known.step_s);
  out.limit_met = out.needed_for_limit_Bps <= down(slowest);
  return out;
}

std::optional<CheckpointEstimate> checkpoint_of(const Scenario& scenario, const Protocol& row) {
  const Recovery& r = row.recovery;
  const bool restarts = row.family == Family::kDataParallel && row.faults && !row.elastic &&
                        r.resume == Resume::kFromCheckpoint;
  if (!restarts || (scenario.faults.empty() && scenario.plan.empty())) return {};
  CheckpointEstimate out;
  out.save_s = r.checkpoint_save_s;
  out.restart_s = r.detection_s + r.restart_s + r.checkpoint_restore_s;
  out.period_s = checkpoint_period_s(scenario, row);
  const double rate = job_failures_per_s(scenario, row);
  if (rate <= 0.0) return out;
  out.mtbf_s = 1.0 / rate;
  if (out.save_s > 0.0) {
    out.young_s = young_interval_s(out.mtbf_s, out.save_s);
    out.young_waste = checkpoint_waste(out.young_s, out.save_s, out.mtbf_s);
    out.daly_s = daly_interval_s(out.mtbf_s, out.save_s);
    out.daly_waste = checkpoint_waste(out.daly_s, out.save_s, out.mtbf_s);
  }
  if (out.period_s <= 0.0 || out.period_s >= kNever) return out;
  out.period_waste = checkpoint_waste(out.period_s, out.save_s, out.mtbf_s);
  out.efficiency = stop_restart_efficiency(out.mtbf_s, out.period_s, out.save_s, out.restart_s);
  return out;
}

}  // namespace skerry
