#include "sim/report/openmetrics.hpp"

#include <cmath>
#include <fmt/format.h>
#include <functional>

#include "sim/report/number_text.hpp"

namespace skerry {

namespace {

using Value = std::function<std::optional<double>(const RunRecord&)>;

// `name` ends in "_" + unit.
struct Gauge {
  const char* name;
  const char* unit;
  const char* help;
  Value value;
};

const std::vector<Gauge>& gauges() {
  using Run = const RunRecord&;
  static const std::vector<Gauge> all{
      {"skerry_simulated_seconds", "seconds", "Simulated time of the run.",
       [](Run r) { return r.summary.simulated_s; }},
      {"skerry_tokens", "tokens", "Charged tokens of steps that count.",
       [](Run r) { return r.summary.tokens; }},
      {"skerry_speed_tokens_per_second", "tokens_per_second", "Charged tokens a simulated second.",
       [](Run r) { return r.summary.tokens_per_s; }},
      {"skerry_goodput_ratio", "ratio", "Productive of all allocated chip-seconds.",
       [](Run r) { return r.summary.goodput; }},
      {"skerry_uptime_ratio", "ratio", "Time in which some learner steps.",
       [](Run r) { return r.summary.uptime; }},
      {"skerry_compute_utilization_ratio", "ratio",
       "Compute over compute and exposed communication.",
       [](Run r) { return r.summary.compute_utilization; }},
      {"skerry_merged_ratio", "ratio", "Tokens x fragment bytes that entered a merge, of all.",
       [](Run r) { return r.summary.merged_share; }},
      {"skerry_allocated_chip_seconds", "chip_seconds", "Chips x seconds from joining to the end.",
       [](Run r) { return r.summary.chip_seconds_total; }},
      {"skerry_productive_chip_seconds", "chip_seconds", "Of them, those of steps that count.",
       [](Run r) { return r.summary.chip_seconds_productive; }},
      {"skerry_wan_bytes", "bytes", "What left the regions.",
       [](Run r) { return r.summary.wan.bytes; }},
      {"skerry_cost_usd", "usd", "Chips and wide area at the scenario's prices.",
       [](Run r) -> std::optional<double> {
         if (!r.summary.cost) return std::nullopt;
         return r.summary.cost->usd();
       }},
      {"skerry_wasted_cost_usd", "usd", "Of the cost, chips that did nothing that counts.",
       [](Run r) -> std::optional<double> {
         if (!r.summary.cost) return std::nullopt;
         return r.summary.cost->wasted_usd();
       }},
      {"skerry_cost_to_loss_usd", "usd", "Cost up to the target loss.",
       [](Run r) { return r.cost_to_loss_usd; }},
      {"skerry_energy_kilowatt_hours", "kilowatt_hours", "Energy of the chips.",
       [](Run r) { return r.summary.energy_kwh; }},
      {"skerry_loss_nats_per_byte", "nats_per_byte", "Final loss on held-out text.",
       [](Run r) -> std::optional<double> {
         if (!r.loss) return std::nullopt;
         return r.loss->final;
       }},
      {"skerry_time_to_loss_seconds", "seconds", "Simulated time to the target loss.",
       [](Run r) { return r.time_to_loss_s; }},
  };
  return all;
}

std::string head(const char* name, const char* unit, const char* help) {
  return fmt::format("# TYPE {0} gauge\n# UNIT {0} {1}\n# HELP {0} {2}\n", name, unit, help);
}

std::string labels(const Results& results, const RunRecord& record) {
  return fmt::format(R"(scenario="{}",protocol="{}",seed="{}")",
                     escaped_label(results.scenario.name), escaped_label(record.summary.protocol),
                     record.summary.seed);
}

std::string by_cause(const Results& results) {
  const char* name = "skerry_badput_chip_seconds";
  std::string out =
      head(name, "chip_seconds", "Allocated chip-seconds that did nothing that counts, by cause.");
  for (const RunRecord& record : results.records) {
    if (failed(record)) continue;
    for (std::size_t i = 0; i < kCauseNames.size(); ++i) {
      out += fmt::format("{}{{{},cause=\"{}\"}} {}\n", name, labels(results, record),
                         kCauseNames[i], shortest(record.summary.chip_seconds_lost[i]));
    }
  }
  return out;
}

}  // namespace

std::string escaped_label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string openmetrics_text(const Results& results) {
  std::string out = "# TYPE skerry_run gauge\n# HELP skerry_run 1 for each run; how it ended.\n";
  for (const RunRecord& record : results.records) {
    out += fmt::format("skerry_run{{{},status=\"{}\"}} 1\n", labels(results, record),
                       escaped_label(record.summary.status));
  }
  for (const Gauge& gauge : gauges()) {
    std::string samples;
    for (const RunRecord& record : results.records) {
      if (failed(record)) continue;
      const std::optional<double> value = gauge.value(record);
      if (!value || !std::isfinite(*value)) continue;
      samples +=
          fmt::format("{}{{{}}} {}\n", gauge.name, labels(results, record), shortest(*value));
    }
    if (!samples.empty()) out += head(gauge.name, gauge.unit, gauge.help) + samples;
  }
  return out + by_cause(results) + "# EOF\n";
}

}  // namespace skerry
