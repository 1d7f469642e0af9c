#include "sim/report/notes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <sstream>

#include "sim/cost/anatomy.hpp"
#include "sim/cost/cost.hpp"
#include "sim/cost/estimate.hpp"
#include "sim/report/layout.hpp"
#include "sim/report/learning.hpp"
#include "sim/report/number_text.hpp"

namespace skerry {

namespace {

const Row& base_row(const std::vector<Row>& rows) {
  return *std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.baseline; });
}

std::string hours(double seconds) {
  return small_digits(seconds / 3600);
}

std::string hours_to_loss(const Results& results) {
  const Scenario& s = results.scenario;
  if (!s.training.on) return "";
  std::vector<std::string> items;
  std::optional<double> target;
  for (const Protocol& p : s.protocols) {
    double sum = 0, longest = 0;
    int reached = 0, asked = 0;
    for (const RunRecord* run : by_seed(s, results.records, p.name)) {
      if (run == nullptr || !run->target_loss) continue;
      if (!target) target = run->target_loss;
      asked += 1;
      longest = std::max(longest, run->summary.simulated_s);
      if (!run->time_to_loss_s) continue;
      reached += 1;
      sum += *run->time_to_loss_s;
    }
    if (asked == 0) continue;
    const std::string count = asked > 1 ? fmt::format(" ({} of {})", reached, asked) : "";
    items.push_back(reached > 0 ? fmt::format("{} {}{}", p.name, hours(sum / reached), count)
                                : fmt::format("{} not reached by {}", p.name, hours(longest)));
  }
  if (items.empty()) return "hours to loss: no target, since the baseline has no final loss\n";
  const std::string of =
      s.training.target_loss
          ? std::string()
          : fmt::format(" (base + {:g} %)", 100 * s.training.target_loss_over_baseline);
  return wrapped(fmt::format("hours to loss {:.3f}{}:", *target, of), items);
}

std::string tuned_rates(const Scenario& s) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < s.training.of_protocol.size(); ++i) {
    const InnerOptimizer& inner = s.training.of_protocol[i].inner;
    if (inner.tuned) items.push_back(fmt::format("{} {:g}", s.protocols[i].name, inner.rate));
  }
  return items.empty() ? "" : wrapped("inner rates, tuned (scenarios/catalog/rates.json):", items);
}

std::string statistics(const Results& results, const std::vector<Row>& rows) {
  int n = 0, trained = 0;
  for (const Row& row : rows) {
    if (!row.baseline) n = std::max(n, row.ratio.n);
    trained = std::max(trained, row.trained);
  }
  std::string out = "x base: no pair of seeds gives a ratio.";
  if (n == 1) out = "x base: n = 1, no interval.";
  if (n > 1) {
    out = fmt::format("x base and [95 %]: paired by seed, n = {} (Student t on log ratios).", n);
  }
  if (rows.size() < 2) out.clear();
  if (results.scenario.training.on) {
    out += trained > 1
               ? fmt::format(" Loss: mean of {} trained seeds, -base paired by seed.", trained)
               : std::string(" Loss: n = 1, no interval.");
  }
  return out.empty() ? "" : wrapped_sentence(out);
}

std::string busiest_port(const Results& results) {
  const Summary* most = nullptr;
  for (const RunRecord& record : results.records) {
    const Summary& s = record.summary;
    if (failed(record) || s.wan.busiest_port.empty()) continue;
    if (most == nullptr || s.wan.busiest_load > most->wan.busiest_load) most = &s;
  }
  if (most == nullptr) return "";
  return fmt::format("busiest port: {}, {:.1f} % full over {} (seed {})\n", most->wan.busiest_port,
                     100 * most->wan.busiest_load, most->protocol, most->seed);
}

// Messages that found no room among the flows: their reports and decisions never came.
std::string starved_control(const Results& results) {
  const Scenario& s = results.scenario;
  std::vector<std::string> items;
  for (const Protocol& p : s.protocols) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_pair;  // sent, timed out
    for (const RunRecord* run : by_seed(s, results.records, p.name)) {
      if (run == nullptr) continue;
      for (const fact::Control& control : run->summary.controls) {
        by_pair[control.name].first += control.sent;
        by_pair[control.name].second += control.timed_out;
      }
    }
    for (const auto& [pair, count] : by_pair) {
      if (count.second == 0) continue;
      items.push_back(fmt::format("{} of {} on {} ({})", thousands(double(count.second)),
                                  thousands(double(count.first)), pair, p.name));
    }
  }
  if (items.empty()) return "";
  return wrapped(fmt::format("control messages starved, timed out after {:g} s:",
                             s.transport.control.timeout_s),
                 items);
}

std::string control_text(const Control& control) {
  if (control.rate == ControlRate::kLatencyOnly) return "";
  if (control.rate == ControlRate::kShared) {
    return fmt::format(", control messages of {} bytes among the flows", thousands(control.bytes));
  }
  return fmt::format(", control messages of {} bytes at {:g} Gbit/s", thousands(control.bytes),
                     gbps_from_bytes_per_s(control.reserved_Bps));
}

// What bytes alone allow: data-parallel sends the whole model each step, this family once in H
// steps.
std::string byte_bound(const Scenario& s) {
  const Protocol& base = s.protocols.at(std::size_t(s.baseline));
  if (base.family != Family::kDataParallel || base.ideal_network || s.regions.size() < 2) return "";
  std::vector<std::string> items;
  for (const Protocol& p : s.protocols) {
    if (p.family != Family::kDiloco || p.ideal_network) continue;
    const double per_period = wire_bytes(p.wire, s.charged.parameters);
    if (!(per_period > 0)) continue;
    const double bound = wire_bytes(base.wire, s.charged.parameters) / base.accumulate_steps /
                         (per_period / p.sync_period_steps);
    items.push_back(fmt::format("{} {:.1f}", p.name, bound));
  }
  if (items.empty()) return "";
  return wrapped("bytes alone bound x base, without faults, by:", items);
}

// What stands beside every ratio: the network that lock-step would need instead.
std::string lock_step_ports(const Scenario& s, const std::vector<Row>& rows) {
  std::vector<std::string> items;
  for (const Row& row : rows) {
    const Protocol& p = s.protocols.at(std::size_t(row.index));
    if (row.seeds == 0 || p.family != Family::kDiloco || !(row.tokens_per_s > 0)) continue;
    const auto port_Bps = lock_step_port_Bps(s, p, row.tokens_per_s);
    if (!port_Bps) continue;
    items.push_back(*port_Bps < kUnlimited
                        ? fmt::format("{} {:.3g}", row.protocol, gbps_from_bytes_per_s(*port_Bps))
                        : row.protocol + " none is enough");
  }
  if (items.empty()) return "";
  return wrapped("Gbit/s of equal ports at which data-parallel does 95 % of their tokens/s:", items);
}

std::string best_region(const Results& results, const std::vector<Row>& rows) {
  const Row* single = nullptr;
  const Row* best = nullptr;
  for (const Row& row : rows) {
    const Protocol& p = results.scenario.protocols.at(std::size_t(row.index));
    if (row.seeds == 0) continue;
    if (p.preset == "best_region" || row.protocol.starts_with("best_region")) {
      single = &row;
    } else if (!p.ideal_network && (best == nullptr || row.tokens_per_s > best->tokens_per_s)) {
      best = &row;
    }
  }
  if (single == nullptr || best == nullptr || !(best->tokens_per_s > 0)) return "";
  return wrapped_sentence(fmt::format(
      "best single region: {} ktok/s on {} of {} learners, {:.2f} of {}, the fastest over the WAN",
      three_digits(single->tokens_per_s / 1e3),
      results.scenario.protocols.at(std::size_t(single->index)).learners.size(),
      results.scenario.learners.size(), single->tokens_per_s / best->tokens_per_s, best->protocol));
}

std::string checks(const Results& results) {
  double chip_seconds = 0, bytes = 0, cost = 0, other = 0;
  std::string flagged;
  for (const RunRecord& record : results.records) {
    if (failed(record)) continue;
    chip_seconds = std::max(chip_seconds, record.summary.closure_chip_seconds);
    bytes = std::max(bytes, record.summary.closure_bytes);
    cost = std::max(cost, record.summary.closure_cost);
    const double share = lost_share(record.summary, Cause::kOther);
    other = std::max(other, share);
    if (share <= kOtherFlag) continue;
    flagged += fmt::format("FLAGGED: {} seed {}: {:.1f} % of chip-seconds are 'other', above 1 %\n",
                           record.summary.protocol, record.summary.seed, 100 * share);
  }
  const std::string closed = fmt::format(
      "{}: chip-seconds {:.0e}, bytes {:.0e}, cost {:.0e}, other {:.1f} %",
      flagged.empty() ? "all checks closed" : "checks", chip_seconds, bytes, cost, 100 * other);
  return flagged + wrapped(closed, {" " + results.folder});
}

}  // namespace

std::string transport_text(const Transport& t) {
  std::string out = "transport fluid (no window, no loss";
  if (t.kind == TransportKind::kTcp) {
    out = "transport tcp (";
    if (t.window_bytes > 0) out += fmt::format("window {} bytes, ", thousands(t.window_bytes));
    if (t.loss_rate > 0) {
      out += fmt::format("loss {:g} of packets of {:g} bytes, ", t.loss_rate, t.mss_bytes);
    }
    out += fmt::format("{} stream{}, set-up {:g} s", t.streams, t.streams == 1 ? "" : "s",
                       t.setup_s);
  }
  if (t.rtt_bias) out += ", shares by round trip";
  for (std::size_t of = 0; of < kFlowClassNames.size(); ++of) {
    if (t.class_cap_Bps[of] >= kUnlimited) continue;
    out += fmt::format(", {} flows at most {:g} Gbit/s", kFlowClassNames[of],
                       gbps_from_bytes_per_s(t.class_cap_Bps[of]));
  }
  return out + control_text(t.control) + ")";
}

std::string fault_lines(const Results& results) {
  const Scenario& s = results.scenario;
  if (s.faults.empty() && s.plan.empty() && s.plan_files.empty()) return "faults: none\n";
  std::vector<std::string> items;
  const auto by_stepping = [&](const std::string& name) {
    return std::any_of(
        results.scenario.faults.begin(), results.scenario.faults.end(), [&](const Fault& fault) {
          return fault.name == name && !fault.scripted && fault.exposure == Exposure::kStepping;
        });
  };
  for (const auto& [name, count] : results.plan) {
    if (by_stepping(name)) {
      items.push_back(name + " as learners step");
      continue;
    }
    items.push_back(count.expected > 0
                        ? fmt::format("{} {} against {} at the nominal rate", name,
                                      thousands(count.planned), three_digits(count.expected))
                        : fmt::format("{} {}", name, thousands(count.planned)));
  }
  std::string out = wrapped(fmt::format("faults planned, {} seed{}:", results.scenario.seeds.size(),
                                        results.scenario.seeds.size() == 1 ? "" : "s"),
                            items);
  items.clear();
  for (const Row& row : rows_of(results.scenario, results.records)) {
    if (row.seeds == 0 || !results.scenario.protocols.at(std::size_t(row.index)).faults) continue;
    items.push_back(fmt::format("{} {}/{}", row.protocol, three_digits(row.faults_planned),
                                three_digits(row.faults_hit)));
  }
  return out + wrapped("  planned/hit a run:", items);
}

namespace {

// Where faults strike, how far the seeds disagree.
std::string goodput_intervals(const Results& results, const std::vector<Row>& rows) {
  std::vector<std::string> items;
  for (const Row& row : rows) {
    const Interval& g = row.goodput_interval;
    if (g.n == 0 || row.faults_planned <= 0) continue;
    items.push_back(g.low && g.high ? fmt::format("{} [{:.1f} {:.1f}]", row.protocol, 100 * *g.low,
                                                  100 * *g.high)
                                    : fmt::format("{} {:.1f}", row.protocol, 100 * g.mean));
  }
  if (items.empty()) return "";
  const std::size_t n = results.scenario.seeds.size();
  return wrapped(n > 1 ? fmt::format("good% over {} seeds [95 %]:", n)
                       : std::string("good%, n = 1, no interval:"),
                 items);
}

}  // namespace

std::string notes(const Results& results, const std::vector<Row>& rows) {
  const Scenario& s = results.scenario;
  std::string out =
      hours_to_loss(results) + learning_lines(results) + tuned_rates(s) + statistics(results, rows) + goodput_intervals(results, rows);
  const bool starred = std::any_of(s.protocols.begin(), s.protocols.end(), never_waits);
  if (starred) {
    out += wrapped_sentence(
        "* learners never wait in this protocol, so wan% is 0 by rule; its cost is in merged% and "
        "stale.");
  }
  if (base_row(rows).seeds == 0) out += "no ratios: the baseline has no result\n";
  out += busiest_port(results) + starved_control(results) + byte_bound(s) +
         lock_step_ports(s, rows) + best_region(results, rows);
  out += wrapped_sentence("goodput here includes the WAN; the paper's 27, 58 and 88 % do not.");
  if (!s.calibrated_keys.empty()) out += wrapped("calibrated or assumed:", s.calibrated_keys);
  for (const std::string& warning : s.warnings)
    out += wrapped_sentence("warning " + warning);
  for (const Judged& judged : judge(s, results.records, results.expect_applied)) {
    std::istringstream lines(judged_line(judged));
    for (std::string line; std::getline(lines, line);)
      out += wrapped_sentence(line);
  }
  out += checks(results);
  return out;
}

}  // namespace skerry
