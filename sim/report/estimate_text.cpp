#include "sim/report/estimate_text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/units.hpp"
#include "sim/report/layout.hpp"
#include "sim/report/row_text.hpp"
#include "sim/report/notes.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kListed = 8;  // ports and links in the text
constexpr double kDay_s = 86400.0;

// One list of names and values makes both forms.
using Cells = std::vector<std::pair<std::string, Json>>;
using Sections = std::vector<std::pair<std::string, Cells>>;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json gbps(double rate_Bps) {
  return number(gbps_from_bytes_per_s(rate_Bps));
}

Cells step_cells(const RowEstimate& row) {
  return {{"learners", row.learners},
          {"regions", row.regions},
          {"chips", row.chips},
          {"step_s", row.step_s},
          {"tokens_per_step", row.tokens_per_step},
          {"flop_per_step", row.flop_per_step}};
}

Cells bound_cells(const RowEstimate& row) {
  Cells cells = {{"tokens_per_s_full", row.tokens_per_s_full},
                 {"tokens_per_s_limit", row.tokens_per_s_limit},
                 {"compute_utilization_limit", row.compute_utilization_limit}};
  if (row.syncs_carried_limit) cells.emplace_back("syncs_carried_limit", *row.syncs_carried_limit);
  if (row.ratio_limit) cells.emplace_back("ratio_limit", *row.ratio_limit);
  if (!row.ports.empty()) cells.emplace_back("needed_port_gbps", gbps(row.needed_Bps));
  if (row.data_parallel_port_Bps) {
    cells.emplace_back("data_parallel_port_gbps", gbps(*row.data_parallel_port_Bps));
  }
  return cells;
}

Cells stop_cells(const RowEstimate& row) {
  Cells cells = {{"tokens", row.tokens},
                 {"ideal_days", number(row.ideal_s / kDay_s)},
                 {"limit_days", number(row.limit_s / kDay_s)}};
  if (row.scavenged_share) cells.emplace_back("scavenged_share", number(*row.scavenged_share));
  return cells;
}

Cells recovery_cells(const RecoveryEstimate& r) {
  Cells cells = {{"port", r.port},
                 {"copy_steps", r.copy_steps},
                 {"downtime_steps", r.downtime_steps},
                 {"elastic_downtime_steps", r.elastic_downtime_steps}};
  if (r.limit_steps <= 0) return cells;
  const Cells more = {{"load", number(r.load)},
                      {"steps_traffic_first", number(r.steps_traffic_first)},
                      {"steps_fair_share", number(r.steps_fair_share)},
                      {"limit_steps", r.limit_steps},
                      {"needed_for_limit_gbps", gbps(r.needed_for_limit_Bps)},
                      {"limit_met", r.limit_met}};
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

Cells checkpoint_cells(const CheckpointEstimate& c) {
  Cells cells = {{"mtbf_s", number(c.mtbf_s)},
                 {"save_s", c.save_s},
                 {"restart_s", c.restart_s},
                 {"period_s", number(c.period_s)}};
  if (!std::isfinite(c.mtbf_s)) return cells;
  cells.emplace_back("period_waste", c.period_waste);
  if (c.efficiency > 0) cells.emplace_back("efficiency", c.efficiency);
  if (c.save_s <= 0) return cells;
  const Cells rules = {{"young_s", c.young_s},
                       {"young_waste", c.young_waste},
                       {"daly_s", c.daly_s},
                       {"daly_waste", c.daly_waste}};
  cells.insert(cells.end(), rules.begin(), rules.end());
  return cells;
}

Sections sections_of(const RowEstimate& row) {
  Sections out = {{"step", step_cells(row)}, {"bounds", bound_cells(row)}};
  if (!row.ports.empty()) {
    out.push_back({"sync",
                   {{"bytes_mean", row.sync_bytes_mean},
                    {"bytes_largest", row.sync_bytes_largest},
                    {"syncs_per_step", row.syncs_per_step},
                    {"wan_bytes_per_step", row.wan_bytes_per_step}}});
    out.push_back({"ideal",
                   {{"latency_s", row.latency_s},
                    {"sync_s_mean", row.sync_s_mean},
                    {"sync_s_largest", row.sync_s_largest},
                    {"all_reduce_s", row.all_reduce_s},
                    {"first_phase_s", row.first_phase_s},
                    {"copy_s", row.copy_s}}});
    out.push_back({"round",
                   {{"steps", row.round_steps},
                    {"round_s", row.round_s},
                    {"chip_h", row.round_chip_h},
                    {"wan_bytes", row.round_wan_bytes},
                    {"flop", row.round_flop}}});
  }
  out.push_back(
      {"money",
       {{"chips_usd_per_hour", row.chips_usd_per_hour ? Json(*row.chips_usd_per_hour) : Json()},
        {"wan_usd_per_hour", row.wan_usd_per_hour}}});
  out.push_back({"stop", stop_cells(row)});
  if (row.recovery) out.push_back({"recovery", recovery_cells(*row.recovery)});
  if (row.checkpoint) out.push_back({"checkpoint", checkpoint_cells(*row.checkpoint)});
  return out;
}

Cells port_cells(const PortEstimate& port) {
  return {{"port_gbps", gbps(port.capacity_Bps)},
          {"bytes_per_step", port.bytes_per_step},
          {"needed_gbps", gbps(port.needed_Bps)},
          {"load", number(port.load)},
          {"headroom_gbps", gbps(port.headroom_Bps)}};
}

Cells link_cells(const LinkEstimate& link) {
  Cells cells = {{"gbps", gbps(link.rate_Bps)},
                 {"rtt_ms", link.round_trip_s * 1e3},
                 {"bdp_bytes", number(link.in_flight_bytes)},
                 {"bdp_packets", number(link.in_flight_packets)},
                 {"queue_packets", number(link.queue_packets)}};
  if (std::isfinite(link.flow_cap_Bps))
    cells.emplace_back("flow_cap_gbps", gbps(link.flow_cap_Bps));
  return cells;
}

Cells memory_cells(const MemoryEstimate& memory) {
  Cells cells = {{"chips_per_slice", memory.chips_per_slice},
                 {"needed_gb", memory.fit.needed_per_chip_bytes / 1e9}};
  if (memory.fit.available_per_chip_bytes <= 0) return cells;
  cells.emplace_back("chip_gb", memory.fit.available_per_chip_bytes / 1e9);
  cells.emplace_back("least_chips", memory.fit.least_chips_per_slice);
  cells.emplace_back("exactly_full", memory.fit.exactly_full);
  return cells;
}

Cells model_cells(const ChargedModel& model) {
  return {{"parameters", model.parameters},
          {"wire_bytes", model_wire_bytes(model)},
          {"recovery_bytes", recovery_bytes(model)},
          {"tokens_per_learner_step", model.tokens_per_learner_step}};
}

template <typename Item, typename CellsOf, typename NameOf>
std::vector<std::pair<std::string, Cells>> listed(const std::vector<Item>& items, CellsOf cells,
                                                  NameOf name) {
  std::vector<std::pair<std::string, Cells>> out;
  for (const Item& item : items)
    out.emplace_back(name(item), cells(item));
  return out;
}

Sections ports_of(const RowEstimate& row) {
  return listed(row.ports, port_cells, [](const PortEstimate& port) { return port.name; });
}
Sections links_of(const Estimate& estimate) {
  return listed(estimate.links, link_cells, [](const LinkEstimate& link) { return link.name; });
}
Sections memory_of(const Estimate& estimate) {
  return listed(estimate.memory, memory_cells, [](const MemoryEstimate& m) { return m.island; });
}

// ---------------------------------------------------------------- text

std::string value_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  return fmt::format("{:.5g}", value.get<double>());
}

std::string line_of(const std::string& prefix, const Cells& cells) {
  std::vector<std::string> items;
  for (const auto& [key, value] : cells)
    items.push_back(key + " " + value_text(value));
  return wrapped(prefix, items);
}

// Columns under their names; the first `kListed` rows.
std::string table_of(const std::string& title, const Sections& rows) {
  if (rows.empty()) return "";
  std::size_t cells_width = 2;
  for (const auto& [key, value] : rows.front().second)
    cells_width += 2 + std::max<std::size_t>(7, key.size());
  const std::size_t widest = kColumns - cells_width;
  std::size_t name_width = title.size();
  for (const auto& [name, cells] : rows)
    name_width = std::max(name_width, std::min(name.size(), widest));
  std::string text = fmt::format("  {:<{}}", title, name_width);
  for (const auto& [key, value] : rows.front().second)
    text += fmt::format("  {:>7}", key);
  text += "\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kListed); ++i) {
    std::string name = rows[i].first;
    if (name.size() > name_width) name = name.substr(0, name_width - 1) + "~";
    text += fmt::format("  {:<{}}", name, name_width);
    const Cells& heads = rows.front().second;
    for (const auto& [key, value] : heads) {
      const auto cell = std::find_if(rows[i].second.begin(), rows[i].second.end(),
                                     [&key = key](const auto& c) { return c.first == key; });
      const std::string shown = cell == rows[i].second.end() ? "" : value_text(cell->second);
      text += fmt::format("  {:>{}}", shown, std::max<std::size_t>(7, key.size()));
    }
    text += "\n";
  }
  if (rows.size() > kListed) {
    text += fmt::format("  {} more with --json\n", rows.size() - kListed);
  }
  return text;
}

// Both ways of a port on one line when they have the same numbers.
Sections joined(const Sections& ports) {
  Sections out;
  for (const auto& [name, cells] : ports) {
    const std::size_t dot = name.rfind(".down");
    const std::string up = name.substr(0, dot) + ".up";
    const auto twin =
        dot == std::string::npos
            ? out.end()
            : std::find_if(out.begin(), out.end(), [&up, &same = cells](const auto& port) {
                return port.first == up && port.second == same;
              });
    if (twin == out.end()) {
      out.emplace_back(name, cells);
    } else {
      twin->first += " and .down";
    }
  }
  return out;
}

const char* collective_name(const Protocol& row) {
  if (row.ideal_network) return "one place, nothing sent";
  if (!row.exchange) return "exchange off, nothing sent";
  if (row.family == Family::kDiloco && row.syncer == SyncerPlace::kCentral) return "central syncer";
  return row.all_reduce == AllReduce::kStar   ? "star"
         : row.all_reduce == AllReduce::kRing ? "ring"
                                              : "hierarchical ring";
}

std::string head_of(const Protocol& row, const ChargedModel& model) {
  std::string text = row.name;
  if (row.preset != row.name) text += " (" + row.preset + ")";
  text += std::string(": ") + collective_name(row);
  if (row.family == Family::kDiloco) {
    text += fmt::format(", H {}, {} fragments, overlap {} steps", row.sync_period_steps,
                        row.fragments, row.overlap_steps);
  }
  if (row.exchange && !row.ideal_network) text += wire_text(row, model);
  return wrapped_sentence(text);
}

std::string explanations(const Estimate& estimate) {
  std::string text = wrapped_sentence(
      "Ideal: idle fluid ports, every chip there, no fault. sync: one collective. "
      "needed_port_gbps: rho V / (H T), bytes "
      "are conserved. tokens_per_s_limit: no more with these ports" +
      (estimate.data_parallel_row.empty()
           ? std::string(".")
           : "; ratio_limit: over that of " + estimate.data_parallel_row +
                 ", both without faults.") +
      " data_parallel_port_gbps: equal ports at which lock-step over the same learners does 95 % "
      "of "
      "it (- : none is enough).");
  const bool recovers = std::any_of(estimate.rows.begin(), estimate.rows.end(),
                                    [](const RowEstimate& row) { return bool(row.recovery); });
  if (recovers) {
    text += wrapped_sentence(
        "recovery: c = copy_steps of one model copy into the slowest port; traffic first 3c / (1 - "
        "load), fair share at least a flow's part; downtime max(0, 4c - H) against 3c (arXiv "
        "2604.21428, Fig. 12 and appendix E.3); needed for the limit L: (3V + L x bytes per step) "
        "/ "
        "(L x step), 4.5 V / (H T) for a ring of four and L = H.");
  }
  const bool saves = std::any_of(estimate.rows.begin(), estimate.rows.end(),
                                 [](const RowEstimate& row) { return bool(row.checkpoint); });
  if (saves) {
    text += wrapped_sentence(
        "checkpoint: waste d/t + t/2M; Young 1974 sqrt(2dM); Daly 2006; efficiency t / (M e^(R/M) "
        "(e^((t+d)/M) - 1)), exponential failures also during restarts.");
  }
  return text;
}

}  // namespace

std::string estimate_text(const Scenario& scenario, const Estimate& estimate) {
  std::string text = wrapped_sentence(scenario.name + ": estimate, nothing is simulated; " +
                                      transport_text(scenario.transport));
  if (scenario.charged.parameters > 0) text += line_of("model:", model_cells(scenario.charged));
  text += table_of("memory per island", memory_of(estimate));
  for (std::size_t i = 0; i < estimate.rows.size(); ++i) {
    text += "\n" + head_of(scenario.protocols[i], scenario.charged);
    for (const auto& [section, cells] : sections_of(estimate.rows[i]))
      text += line_of(section + ":", cells);
    text += table_of("port or link", joined(ports_of(estimate.rows[i])));
  }
  if (!estimate.links.empty()) text += "\n" + table_of("links in use", links_of(estimate));
  text += "\n" + explanations(estimate);
  for (const std::string& warning : scenario.warnings)
    text += wrapped_sentence("warning " + warning);
  return text;
}

std::string estimate_json(const Scenario& scenario, const Estimate& estimate) {
  const auto object = [](const Cells& cells) {
    Json out = Json::object();
    for (const auto& [key, value] : cells)
      out[key] = value;
    return out;
  };
  const auto objects = [&object](const Sections& sections) {
    Json out = Json::object();
    for (const auto& [name, cells] : sections)
      out[name] = object(cells);
    return out;
  };
  Json rows = Json::object();
  for (const RowEstimate& row : estimate.rows) {
    Json one = objects(sections_of(row));
    one["preset"] = row.preset;
    one["ports"] = objects(ports_of(row));
    rows[row.protocol] = one;
  }
  Json out = {{"skerry", "estimate/1"},
              {"scenario", scenario.name},
              {"data_parallel_row", estimate.data_parallel_row},
              {"model", object(model_cells(scenario.charged))},
              {"memory", objects(memory_of(estimate))},
              {"rows", rows},
              {"links", objects(links_of(estimate))},
              {"warnings", scenario.warnings}};
  return out.dump(1) + "\n";
}

}  // namespace skerry
