// Syncer rounds, faults and wires: what is read off the tape without the learners' books.
#include <algorithm>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"
#include "sim/measure/folds.hpp"

namespace skerry::measure {

namespace {

// H steps of the mean learner.
double settle_s(const Scenario& scenario, const Protocol& protocol) {
  double sum = 0;
  for (int m : protocol.learners) sum += scenario.learners.at(std::size_t(m)).step_s;
  return protocol.sync_period_steps * sum / double(protocol.learners.size());
}

}  // namespace

void fold_rounds(const Scenario& scenario, const Protocol& protocol, const Tape& tape, Summary& out) {
  const Calm calm(tape, settle_s(scenario, protocol));
  std::vector<Weighted> participants, stale;
  double alone = 0, hidden = 0, calm_hidden = 0, calm_received = 0;
  for (const Fact& fact : tape.facts) {
    if (const auto* close = std::get_if<fact::Close>(&fact)) {
      out.syncer_steps += 1;
      if (close->fragment < 0) continue;
      participants.push_back({double(close->participants), 1});
      alone += close->participants == 1 ? 1 : 0;
    } else if (const auto* overwrite = std::get_if<fact::Overwrite>(&fact)) {
      if (overwrite->pulled_step < 0) continue;
      const std::int64_t age = overwrite->step - overwrite->pulled_step;
      SKERRY_CHECK(age >= 0, "learner " + std::to_string(overwrite->learner) + " at " +
                                 std::to_string(overwrite->t) + " s: overwritten after step " +
                                 std::to_string(overwrite->step) + ", pulled after step " +
                                 std::to_string(overwrite->pulled_step));
      stale.push_back({double(age), 1});
      const bool in_time = age <= protocol.overlap_steps;
      hidden += in_time ? 1 : 0;
      if (!calm.at(overwrite->t)) continue;
      calm_received += 1;
      calm_hidden += in_time ? 1 : 0;
    }
  }
  if (!participants.empty()) {
    out.participants.mean = mean(participants);
    out.participants.p10 = quantile(participants, 0.10);
    out.participants.one_share = alone / double(participants.size());
  }
  if (!stale.empty()) out.hidden_share = hidden / double(stale.size());
  if (calm_received > 0) out.hidden_share_outside_faults = calm_hidden / calm_received;
  out.stale_steps = distribution(std::move(stale));
}

namespace {

bool in_reach(const Scenario& scenario, const Target& target, int index, const Learner& learner) {
  switch (target.kind) {
    case TargetKind::kSlice:
    case TargetKind::kLearner:
      return target.index == index;
    case TargetKind::kRegion:
    case TargetKind::kPort:
      return target.index == learner.region;
    case TargetKind::kLink: {
      const Link& link = scenario.links.at(std::size_t(target.index));
      return link.from == learner.region || link.to == learner.region;
    }
    case TargetKind::kStorage:
      return true;
  }
  return false;
}

bool down_at(const Timeline& line, double t) {
  const auto after = std::upper_bound(line.spans.begin(), line.spans.end(), t,
                                      [](double date, const Span& span) { return date < span.t0; });
  if (after == line.spans.begin()) return false;
  const Span& span = *std::prev(after);
  return span.phase != nullptr && span.phase->cause == Cause::kDown && t <= span.t1;
}

// Joined, and not down already: down on both sides of the date (a fault's own effect begins at it).
bool struck(const Timeline& line, double t, double end_s) {
  const double start_s = line.learner_info->start_s;
  const double margin = 2 * date_tolerance_s(t);
  if (t < start_s - margin) return false;
  return !(down_at(line, std::max(start_s, t - margin)) &&
           down_at(line, std::min(end_s, t + margin)));
}

}  // namespace

void fold_faults(const Scenario& scenario, const std::vector<Timeline>& lines, const Tape& tape,
                 Summary& out) {
  for (const Fact& fact : tape.facts) {
    const auto* fault = std::get_if<fact::FaultHit>(&fact);
    if (fault == nullptr) continue;
    ++out.faults.planned;
    ++out.faults.by_kind[std::string(kind_name(fault->kind))];
    const bool hit = std::any_of(lines.begin(), lines.end(), [&](const Timeline& line) {
      return in_reach(scenario, fault->target, line.learner, *line.learner_info) &&
             struck(line, fault->t, tape.end.t);
    });
    out.faults.hit += hit ? 1 : 0;
  }
}

namespace {

bool ends_with(std::string_view name, std::string_view suffix) {
  return name.size() >= suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
}
bool is_link(std::string_view name) {
  return name.find('>') != std::string_view::npos;
}

}  // namespace

void fold_recoveries(const Tape& tape, Summary& out) {
  Sum seconds, ages;
  auto& all = out.recoveries;
  for (const Fact& fact : tape.facts) {
    const auto* copy = std::get_if<fact::Copy>(&fact);
    if (copy == nullptr) continue;
    all.count += 1;
    seconds.add(copy->t - copy->began);
    ages.add(double(copy->age_steps));
    all.max_s = std::max(all.max_s, copy->t - copy->began);
    all.age_steps_max = std::max(all.age_steps_max, double(copy->age_steps));
  }
  if (all.count == 0) return;
  all.mean_s = seconds.value() / all.count;
  all.age_steps_mean = ages.value() / all.count;
}

void fold_wires(const Tape& tape, Summary& out) {
  out.wires = tape.wires;
  out.controls = tape.controls;
  Sum over_ports, over_links;
  bool limited_ports = false, links = false;
  for (const fact::Wire& wire : tape.wires) {
    const double excess = wire.bytes - wire.capacity_bytes;
    SKERRY_CHECK(
        wire.bytes >= 0 && wire.capacity_bytes >= 0 && excess <= 1e-9 * wire.capacity_bytes + 1,
        wire.name + " carried " + std::to_string(wire.bytes) + " bytes of " +
            std::to_string(wire.capacity_bytes) + " that it could");
    if (is_link(wire.name)) {
      over_links.add(wire.bytes);
      links = true;
    } else if (ends_with(wire.name, ".up")) {
      over_ports.add(wire.bytes);
    }
    if (!(wire.capacity_bytes > 0 && wire.capacity_bytes < kUnlimited)) continue;
    limited_ports = limited_ports || !is_link(wire.name);
    out.closure_bytes = std::max(out.closure_bytes, excess / wire.capacity_bytes);
    const double load = wire.bytes / wire.capacity_bytes;
    if (out.wan.busiest_port.empty() || load > out.wan.busiest_load) {
      out.wan.busiest_port = wire.name;
      out.wan.busiest_load = load;
    }
  }
  out.wan.bytes = limited_ports || !links ? over_ports.value() : over_links.value();
}

}  // namespace skerry::measure
