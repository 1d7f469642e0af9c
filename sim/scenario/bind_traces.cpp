// Entries of `faults` that replay a recorded trace.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/scenario/bind_faults.hpp"
#include "sim/scenario/text.hpp"
#include "sim/scenario/traces.hpp"

namespace skerry::reader {

namespace {

// Keys of `trace` and beside it that this format does not read.
void check_keys(const Binder& binder, const FaultEntry& entry, const std::string& format) {
  for (const auto& [key, value] : entry.given.items()) {
    const bool known =
        key == "trace" || key == "target" || key == "about" || (key == "each" && format != "share");
    if (!known) {
      binder.refuse(under(entry.pointer, key), "has no meaning beside a trace of format " + format);
    }
  }
  const Json& trace = entry.given["trace"];
  const auto only = [&](const char* key, bool fits) {
    if (fits || !trace.contains(key)) return;
    binder.refuse(entry.pointer + "/trace/" + key, "has no meaning for the format " + format);
  };
  only("system", format == "lanl");
  only("nodes", format != "share");
  only("repeat_every_s", format == "share");
  if (format == "lanl" && !trace.contains("system")) {
    binder.refuse(entry.pointer + "/trace", "lacks the key 'system', which lanl needs");
  }
  const std::string each = text_at(entry.given, "each", "slice");
  if (each != "slice" && each != "host") {
    binder.refuse(
        entry.pointer + "/each",
        "found \"" + each + "\", allowed slice, host: what a node of the trace stands for");
  }
}

void check_window(const Binder& binder, const std::string& pointer, double from_s, double until_s) {
  if (from_s < until_s) return;
  binder.refuse(pointer, "ends before it begins: from " + number_text(from_s) + " s, until " +
                             number_text(until_s) + " s");
}

// The part of the trace that is played, and what it becomes.
struct Window {
  double from_s, until_s, scale;

  explicit Window(const Json& trace)
      : from_s(number_at(trace, "from_s")),
        until_s(number_at(trace, "until_s", kNever)),
        scale(number_at(trace, "time_scale", 1.0)) {}

  // A wall date and duration; false when nothing of it is left.
  bool cut(double start_s, double end_s, PlanLine& line) const {
    if (start_s >= until_s || end_s < from_s) return false;
    if (start_s < from_s && end_s == from_s) return false;
    const double begin_s = std::max(start_s, from_s);
    line.at_s = (begin_s - from_s) * scale;
    line.for_s = end_s == kNever ? kNever : (end_s - begin_s) * scale;
    return true;
  }
};

void add_line(Binder& binder, const FaultEntry& entry, const PlanLine& line) {
  auto& plan = binder.scenario.plan;
  if (plan.size() >= kMaxPlanLines) {
    binder.refuse(entry.pointer + "/trace", "gives more than " + std::to_string(kMaxPlanLines) +
                                                " dated faults, which is the limit: cut a window "
                                                "(until_<unit>) or end the run earlier");
  }
  plan.push_back(line);
}

// The slice that each node stands for.
std::vector<Target> hosts_of(const Binder& binder, const FaultEntry& entry) {
  std::vector<Target> places;
  for (const Target& slice : targets_of(binder, entry, FaultKind::kSliceDown)) {
    const std::int64_t hosts = units_in(binder, entry, slice);
    if (static_cast<std::int64_t>(places.size()) + hosts > kMaxProcesses) {
      binder.refuse(entry.pointer, "found more than " + std::to_string(kMaxProcesses) +
                                       " hosts in the target, which is the limit");
    }
    places.insert(places.end(), static_cast<std::size_t>(hosts), slice);
  }
  return places;
}

void add_outages(Binder& binder, const FaultEntry& entry, const Outages& outages) {
  const Json& trace = entry.given["trace"];
  const std::string pointer = entry.pointer + "/trace";
  const std::vector<Target> places = hosts_of(binder, entry);
  const auto nodes = integer_at(trace, "nodes", outages.nodes);
  if (nodes > outages.nodes) {
    binder.refuse(pointer + "/nodes", "found " + std::to_string(nodes) + ", allowed at most " +
                                          std::to_string(outages.nodes) +
                                          ": so many nodes are in the trace");
  }
  if (nodes > static_cast<std::int64_t>(places.size())) {
    const std::string each = text_at(entry.given, "each", "slice");
    binder.refuse(pointer, "has " + std::to_string(nodes) + " nodes, but the target has " +
                               std::to_string(places.size()) + " " + each +
                               "s: give trace/nodes of at most that, or a larger target");
  }
  const Window window(trace);
  check_window(binder, pointer, window.from_s, window.until_s);
  for (const Outage& outage : outages.list) {
    if (outage.node >= nodes) continue;
    PlanLine line;
    line.kind = FaultKind::kSliceDown;
    line.target = places[static_cast<std::size_t>(outage.node)];
    line.source = entry.name;
    if (window.cut(outage.start_s, outage.end_s, line)) add_line(binder, entry, line);
  }
}

// One value of a capacity from one date of the trace to another.
void add_share(Binder& binder, const FaultEntry& entry, const std::vector<Target>& targets,
               const Window& window, const SharePoint& from, double until_s) {
  PlanLine line;
  if (from.share >= 1.0 || !window.cut(from.at_s, until_s, line)) return;
  line.kind = from.share > 0.0 ? FaultKind::kLinkSlow : FaultKind::kLinkCut;
  line.factor = from.share > 0.0 ? from.share : 1.0;
  line.source = entry.name;
  for (const Target& target : targets) {
    line.target = target;
    add_line(binder, entry, line);
  }
}

void add_shares(Binder& binder, const FaultEntry& entry, const std::vector<SharePoint>& points) {
  const Json& trace = entry.given["trace"];
  const std::string pointer = entry.pointer + "/trace";
  if (!entry.given.contains("target")) {
    binder.refuse(entry.pointer, "does not say whose capacity: give target, a port or a pair");
  }
  const auto targets = targets_of(binder, entry, FaultKind::kLinkSlow);
  if (std::any_of(points.begin(), points.end(),
                  [](const SharePoint& p) { return p.share > 0.0 && p.share < 1.0; })) {
    check_slowable(binder, entry, targets);
  }
  const Window window(trace);
  check_window(binder, pointer, window.from_s, window.until_s);
  const double period_s = number_at(trace, "repeat_every_s", kNever);
  if (points.back().at_s >= period_s) {
    binder.refuse(pointer + "/repeat_every_s", "found " + number_text(period_s) +
                                                   " s, allowed more than the last date, " +
                                                   number_text(points.back().at_s) + " s");
  }
  const double last_s =
      std::min(window.until_s, window.from_s + binder.scenario.stop.simulated_s / window.scale);
  const double size = static_cast<double>(points.size() * targets.size());
  if ((last_s / period_s + 1.0) * size > static_cast<double>(kMaxPlanLines)) {
    binder.refuse(pointer, "gives " + number_text((last_s / period_s + 1.0) * size) +
                               " dated faults until the run ends, allowed at most " +
                               std::to_string(kMaxPlanLines) +
                               ": cut a window (until_<unit>) or end the run earlier");
  }
  for (double turn = 0.0;; ++turn) {
    const double begin_s = period_s == kNever ? 0.0 : turn * period_s;
    if (begin_s > last_s) return;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool is_last = i + 1 == points.size();
      const double next_s = is_last ? period_s + points[0].at_s : points[i + 1].at_s;
      add_share(binder, entry, targets, window, {begin_s + points[i].at_s, points[i].share},
                begin_s + next_s);
    }
    if (period_s == kNever) return;
  }
}

}  // namespace

void bind_trace(Binder& binder, const FaultEntry& entry) {
  const Json& trace = entry.given["trace"];
  const std::string format = text_at(trace, "format");
  check_keys(binder, entry, format);
  const std::string path = text_at(trace, "file");
  const std::string pointer = entry.pointer + "/trace/file";
  const std::string text = named_file(binder, path, pointer);
  Outages outages;
  std::vector<SharePoint> points;
  try {
    if (format == "infinitehbd") {
      outages = infinitehbd_outages(text, path);
    } else if (format == "lanl") {
      outages = lanl_outages(text, path, static_cast<int>(integer_at(trace, "system")));
    } else {
      points = capacity_shares(text, path);
    }
  } catch (const BadInput& error) {
    binder.refuse(pointer, error.what());
  }
  if (format == "share") return add_shares(binder, entry, points);
  add_outages(binder, entry, outages);
}

}  // namespace skerry::reader
