#include "sim/scenario/sweep.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/error.hpp"
#include "sim/scenario/metrics.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/resolve.hpp"
#include "sim/scenario/sweep_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

using namespace reader;

std::string name_of(const std::string& label) {
  std::string name = std::filesystem::path(label).filename().string();
  for (const char* ending : {".json", ".sweep"}) {
    if (name.ends_with(ending)) name.resize(name.size() - std::string(ending).size());
  }
  if (name.size() > 48) name.resize(48);
  for (char& c : name) {
    if (!is_name(std::string("x") + c)) c = '-';
  }
  if (!name.empty() && name[0] == '.') name[0] = '-';
  return name.empty() ? "study" : name;
}

// Puts placeholders where the tree has no type, and checks the rest.
void resolve_document(Reading& r) {
  Json plain = r.written;
  if (plain.is_object() && plain.contains("scenario")) {
    Json& scenario = plain["scenario"];
    if (scenario.is_object()) {
      scenario = "inline";
    } else if (!scenario.is_string()) {
      r.refuse("/scenario",
               "found " + shown(scenario) +
                   ", allowed the scenario itself or its path from this file's folder");
    }
  }
  const auto hide = [&r](Json& object, const char* key, const std::string& pointer) {
    if (!object.is_object() || !object.contains(key)) return;
    Json& value = object[key];
    if (!value.is_array()) {
      r.refuse(under(pointer, key), "found " + shown(value) + ", allowed an array");
    }
    value = Json(value.size(), 0);
  };
  hide(plain, "skip", "");
  if (plain.is_object() && plain.contains("axes") && plain["axes"].is_object()) {
    for (auto& [name, axis] : plain["axes"].items())
      hide(axis, "values", under("/axes", name));
  }
  Resolution out{r.sweep.label, {}};
  r.document = resolve(sweep_spec(), plain, "", out);
}

// The one mistake that a list of unknown keys would not explain.
void refuse_scenario(const Reading& r) {
  const Json* format = r.written.is_object() ? member(r.written, "skerry") : nullptr;
  if (format == nullptr || !format->is_string()) return;
  if (!format->get<std::string>().starts_with("scenario/")) return;
  r.refuse("/skerry", "found " + shown(*format) +
                          ", which is a scenario: `skerry run` takes it; allowed \"sweep/1\", a "
                          "study that names a scenario");
}

void read_scenario(Reading& r, const std::string& folder, const std::vector<Setting>& settings) {
  Sweep& s = r.sweep;
  const Json& given = r.written["scenario"];
  if (given.is_object()) {
    r.scenario = given;
    s.scenario_label = s.label + "#/scenario";
    s.scenario_folder = folder;
  } else {
    const std::filesystem::path path = std::filesystem::path(folder) / given.get<std::string>();
    s.scenario_label = path.lexically_normal().string();
    s.scenario_folder = path.parent_path().string();
    const std::string text =
        read_bounded_file(s.scenario_label, kMaxFileBytes, s.label, "/scenario");
    r.scenario = parse_strict(text, s.scenario_label);
    const Json* format = r.scenario.is_object() ? member(r.scenario, "skerry") : nullptr;
    if (format != nullptr && *format == "sweep/1") {
      r.refuse("/scenario", "found " + s.scenario_label +
                                ", which is itself a sweep, allowed a "
                                "scenario/1");
    }
  }
  apply_settings(r.scenario, settings);
  const bool rows = r.scenario.is_object() && r.scenario.contains("protocols") &&
                    r.scenario["protocols"].is_object() && !r.scenario["protocols"].empty();
  if (!rows) {
    load_scenario_text(r.scenario.dump(), s.scenario_label,
                       s.scenario_folder);  // says what is wrong
    r.refuse("/scenario", "has no rows in /protocols");
  }
  for (const auto& [name, row] : r.scenario["protocols"].items())
    s.protocols.push_back(name);
  if (!r.scenario.contains("name")) r.scenario["name"] = s.name;
  s.scenario_text = r.scenario.dump();
  for (const Json& kept : r.document["keep"]) {
    s.keep_tapes = true;
    s.keep_timelines = s.keep_timelines || kept == "timeline";
  }
}

// The rule of the scenario's own baseline.
std::string baseline_of(const Json& scenario) {
  if (scenario.contains("baseline") && scenario["baseline"].is_string()) {
    return scenario["baseline"].get<std::string>();
  }
  std::string first;
  for (const auto& [name, row] : scenario["protocols"].items()) {
    const std::string preset =
        row.is_object() && row.contains("preset") && row["preset"].is_string()
            ? row["preset"].get<std::string>()
            : name;
    if (preset.starts_with("data_parallel")) return name;
    if (first.empty()) first = name;
  }
  return first;
}

void check_axis_name(const Reading& r, const std::string& name) {
  static const std::vector<std::string> kTaken = {"id",     "protocol", "seed",
                                                  "status", "preset",   "about"};
  if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end() || is_known_metric(name)) {
    r.refuse(under("/axes", name), "is the name of a column of table.csv, allowed any other name");
  }
}

std::vector<Json> values_of(Reading& r, const std::string& name,
                            const std::vector<AxisPlace>& places) {
  const Json& axis = r.document["axes"][name];
  const std::string pointer = under("/axes", name);
  if (axis.contains("values")) {
    const Json& given = r.written["axes"][name]["values"];
    return {given.begin(), given.end()};
  }
  for (const char* kind : {"range", "log_range"}) {
    if (!axis.contains(kind)) continue;
    const std::string here = under(pointer, kind);
    std::vector<Json> values = range_values(axis[kind], std::string(kind) == "log_range",
                                            wants_integer(places[0]), r.sweep.label, here);
    if (values.empty() && !r.random) {
      r.refuse(here, "lacks the number of values: give " +
                         std::string(kind[0] == 'r' ? "step or count" : "count"));
    }
    return values;
  }
  r.refuse(pointer, "lacks its values: give values, range or log_range");
}

void read_axis(Reading& r, const std::string& name) {
  check_axis_name(r, name);
  const std::string pointer = under("/axes", name);
  const Json& axis = r.document["axes"][name];
  SweepAxis out{name, {}, {}};
  std::vector<AxisPlace> places;
  const auto add = [&](const std::string& pattern, const std::string& here) {
    for (AxisPlace& place : axis_places(r.scenario, pattern, r.sweep.label, here)) {
      out.at.push_back(place.pointer);
      places.push_back(std::move(place));
    }
  };
  if (axis["at"].is_string()) {
    add(axis["at"].get<std::string>(), pointer + "/at");
  } else {
    for (std::size_t i = 0; i < axis["at"].size(); ++i)
      add(axis["at"][i].get<std::string>(), pointer + "/at/" + std::to_string(i));
  }
  std::set<std::string> met;
  const std::vector<Json> values = values_of(r, name, places);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string here = place_of_value(axis, pointer, i);
    std::string first;
    for (const AxisPlace& place : places) {
      const std::string resolved = checked_value(place, values[i], r.sweep.label, here).dump();
      if (first.empty()) first = resolved;
    }
    if (!met.insert(first).second && r.document["design"] != "zip") {
      r.refuse(here, "found " + shown(values[i]) + " twice, allowed once");
    }
    out.values.push_back(values[i].dump());
  }
  r.places.push_back(std::move(places));
  r.sweep.axes.push_back(std::move(out));
}

// One key of the scenario under two axes, or one inside the other.
void check_overlaps(const Reading& r) {
  std::vector<std::pair<std::size_t, const AxisPlace*>> all;
  for (std::size_t a = 0; a < r.places.size(); ++a) {
    for (const AxisPlace& place : r.places[a]) {
      for (const auto& [other_axis, other] : all) {
        if (!overlap(place.parts, other->parts)) continue;
        r.refuse(under("/axes", r.sweep.axes[a].name) + "/at",
                 "found " + place.pointer + ", which the axis '" + r.sweep.axes[other_axis].name +
                     "' varies too (" + other->pointer + "), allowed one axis a key");
      }
      all.emplace_back(a, &place);
    }
  }
}

// A setting that a sweep would overrule.
void check_settings(const Reading& r, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    const std::vector<std::string> parts = resolved_parts(setting.pointer);
    for (std::size_t a = 0; a < r.places.size(); ++a) {
      for (const AxisPlace& place : r.places[a]) {
        if (!overlap(parts, place.parts)) continue;
        throw BadInput("--set", setting.pointer,
                       "is what the axis '" + r.sweep.axes[a].name + "' varies (" + place.pointer +
                           "), allowed what no axis varies");
      }
    }
    for (const char* key : {"seeds", "until"}) {
      if (parts[0] != "seeds" || !r.document.contains(key)) continue;
      throw BadInput("--set", setting.pointer,
                     "is what the sweep's own /" + std::string(key) + " decides: change it there");
    }
  }
}

std::vector<std::uint64_t> seeds_from(const Json& value) {
  std::vector<std::uint64_t> out;
  if (value.is_array()) {
    for (const Json& seed : value)
      out.push_back(seed.get<std::uint64_t>());
    return out;
  }
  for (std::uint64_t seed = 1; seed <= value.get<std::uint64_t>(); ++seed)
    out.push_back(seed);
  return out;
}

void check_metric(const Reading& r, const std::string& metric, const std::string& pointer) {
  if (!is_known_metric(metric)) {
    r.refuse(pointer, "found the unknown metric '" + metric + "'" +
                          did_you_mean(metric, known_metrics()) +
                          (nearest(metric, known_metrics()).empty()
                               ? ", allowed a number of summary.json such as goodput, tokens_per_s"
                               : ""));
  }
  if (metric.find('*') != std::string::npos || metric.starts_with("by_") ||
      metric.starts_with("wan.links.")) {
    r.refuse(pointer, "found '" + metric + "', allowed a number of the whole run");
  }
  const bool untrained = r.scenario.contains("training") && r.scenario["training"] == false;
  bool trained_by_axis = false;
  for (const auto& places : r.places) {
    for (const AxisPlace& place : places)
      trained_by_axis = trained_by_axis || place.parts[0] == "training";
  }
  if (needs_training(metric) && untrained && !trained_by_axis) {
    r.refuse(pointer, "found '" + metric + "', but the scenario's /training is false");
  }
}

// Times to loss are known beside the baseline, after all points have ended.
void check_until_metric(const Reading& r, const std::string& metric) {
  for (const char* late : {"time_to_loss_s", "tokens_to_loss", "target_loss", "cost_to_loss_usd"}) {
    if (metric != late) continue;
    r.refuse("/until/metric", "found '" + metric +
                                  "', which no point has by itself: it needs the baseline's loss; "
                                  "allowed a number of one run such as loss.final");
  }
}

void read_seeds(Reading& r) {
  Sweep& s = r.sweep;
  if (r.document.contains("until")) {
    const Json& u = r.document["until"];
    Until until{u["metric"], u["half_width"], u["min_seeds"], u["max_seeds"],
                u.contains("protocol") ? u["protocol"].get<std::string>() : ""};
    check_metric(r, until.metric, "/until/metric");
    check_until_metric(r, until.metric);
    if (until.min_seeds > until.max_seeds) {
      r.refuse("/until/max_seeds", "found " + std::to_string(until.max_seeds) +
                                       ", but min_seeds is " + std::to_string(until.min_seeds));
    }
    if (!until.protocol.empty() &&
        std::find(s.protocols.begin(), s.protocols.end(), until.protocol) == s.protocols.end()) {
      r.refuse("/until/protocol", "found '" + until.protocol + "', allowed " + join(s.protocols) +
                                      did_you_mean(until.protocol, s.protocols));
    }
    s.seeds = seeds_from(Json(until.max_seeds));
    s.until = until;
    return;
  }
  if (r.document.contains("seeds")) {
    s.seeds = seeds_from(r.document["seeds"]);
    return;
  }
  const Json* own = member(r.scenario, "seeds");
  if (own == nullptr) {
    s.seeds = {1};
    return;
  }
  const Node* node = find_field(scenario_spec(), "seeds")->node.get();
  Resolution out{s.scenario_label, {}};
  s.seeds = seeds_from(resolve(*node, *own, "/seeds", out));
}

void read_table(Reading& r) {
  SweepTable& table = r.sweep.table;
  const Json& given = r.document["table"];
  std::vector<std::string> names{"protocol"};
  for (const SweepAxis& axis : r.sweep.axes)
    names.push_back(axis.name);
  std::set<std::string> used;
  const auto take = [&](const std::string& name, const std::string& pointer) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      r.refuse(pointer, "found '" + name + "', allowed " + join(names) + did_you_mean(name, names));
    }
    if (!used.insert(name).second) r.refuse(pointer, "found '" + name + "' twice, allowed once");
    return name;
  };
  if (given.contains("rows")) {
    for (std::size_t i = 0; i < given["rows"].size(); ++i)
      table.rows.push_back(take(given["rows"][i], "/table/rows/" + std::to_string(i)));
  }
  if (given.contains("columns")) {
    table.columns = take(given["columns"], "/table/columns");
  } else if (!given.contains("rows") && r.sweep.axes.back().values.size() <= 8 && !r.random) {
    table.columns = take(names.back(), "");
  }
  // A mean over axes that the table does not name would mix what differs.
  for (const std::string& name : names) {
    if (used.count(name) == 0) table.rows.push_back(name);
  }
  table.cells = {"tokens_per_s", "goodput"};
  if (!given.contains("cells")) return;
  table.cells.clear();
  for (std::size_t i = 0; i < given["cells"].size(); ++i) {
    table.cells.push_back(given["cells"][i]);
    check_metric(r, table.cells.back(), "/table/cells/" + std::to_string(i));
  }
}

}  // namespace

Sweep load_sweep(const std::string& path, const std::vector<Setting>& settings) {
  const std::string text = read_bounded_file(path, kMaxFileBytes, path, "");
  return load_sweep_text(text, path, std::filesystem::path(path).parent_path().string(), settings);
}

Sweep load_sweep_text(const std::string& text, const std::string& label, const std::string& folder,
                      const std::vector<Setting>& settings) {
  Reading r;
  r.sweep.label = label;
  r.sweep.name = name_of(label);
  r.written = parse_strict(text, label);
  refuse_scenario(r);
  resolve_document(r);
  read_scenario(r, folder, settings);
  r.random = r.document["design"].is_object();
  for (const auto& [name, axis] : r.document["axes"].items())
    read_axis(r, name);
  check_overlaps(r);
  check_settings(r, settings);
  combine(r);
  read_seeds(r);
  read_table(r);
  r.sweep.baseline = baseline_of(r.scenario);
  Json resolved = r.document;
  resolved["scenario"] = r.scenario;
  for (auto& [name, axis] : resolved["axes"].items()) {
    if (axis.contains("values")) axis["values"] = r.written["axes"][name]["values"];
  }
  if (r.written.contains("skip")) resolved["skip"] = r.written["skip"];
  r.sweep.resolved_json = resolved.dump(2) + "\n";
  return std::move(r.sweep);
}

}  // namespace skerry
