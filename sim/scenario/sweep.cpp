#include "sim/scenario/sweep.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/scenario/metrics.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/resolve.hpp"
#include "sim/scenario/sweep_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

using namespace reader;

// One call of load_sweep_text.
struct Reading {
  Sweep sweep;
  Json written;                                // as parsed
  Json document;                               // resolved, placeholders in it
  Json scenario;                               // as written, with --set
  std::vector<std::vector<AxisPlace>> places;  // per axis
  bool random = false;

  [[noreturn]] void refuse(const std::string& pointer, const std::string& message) const {
    throw BadInput(sweep.label, pointer, message);
  }
};

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
  if (plain.is_object() && plain.contains("scenario") && plain["scenario"].is_object()) {
    plain["scenario"] = "inline";
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
  }
  for (const Setting& setting : settings)
    apply_setting(r.scenario, setting);
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
  s.keep_tapes = !r.document["keep"].empty();
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
    const std::string here = pointer + "/values/" + std::to_string(i);
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
        const std::size_t n = std::min(place.parts.size(), other->parts.size());
        if (!std::equal(place.parts.begin(), place.parts.begin() + std::ptrdiff_t(n),
                        other->parts.begin())) {
          continue;
        }
        r.refuse(under("/axes", r.sweep.axes[a].name) + "/at",
                 "found " + place.pointer + ", which the axis '" + r.sweep.axes[other_axis].name +
                     "' varies too (" + other->pointer + "), allowed one axis a key");
      }
      all.emplace_back(a, &place);
    }
  }
}

std::vector<std::vector<std::string>> grid(const Reading& r) {
  std::vector<std::vector<std::string>> out{{}};
  for (const SweepAxis& axis : r.sweep.axes) {
    if (out.size() * axis.values.size() > kMaxPoints) {
      r.refuse("/axes", "would give more than " + std::to_string(kMaxPoints) +
                            " combinations, allowed at most that");
    }
    std::vector<std::vector<std::string>> next;
    for (const auto& head : out) {
      for (const std::string& value : axis.values) {
        next.push_back(head);
        next.back().push_back(value);
      }
    }
    out = std::move(next);
  }
  return out;
}

std::vector<std::vector<std::string>> zip(const Reading& r) {
  const SweepAxis& first = r.sweep.axes[0];
  std::vector<std::vector<std::string>> out(first.values.size());
  for (const SweepAxis& axis : r.sweep.axes) {
    if (axis.values.size() != first.values.size()) {
      r.refuse(under("/axes", axis.name), "found " + std::to_string(axis.values.size()) +
                                              " values, but '" + first.name + "' has " +
                                              std::to_string(first.values.size()) +
                                              ", allowed as many on every axis of a zip");
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i].push_back(axis.values[i]);
  }
  std::set<std::vector<std::string>> met;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!met.insert(out[i]).second) {
      r.refuse(under("/axes", first.name) + "/values/" + std::to_string(i),
               "gives a combination of values a second time, allowed once");
    }
  }
  return out;
}

// Draw i of an axis is a function of (seed, axis, i): a larger n keeps the first ones.
std::vector<std::vector<std::string>> drawn(Reading& r, std::size_t n, std::uint64_t seed) {
  std::vector<std::vector<std::string>> out;
  std::set<std::vector<std::string>> met;
  std::vector<std::vector<std::string>> used(r.sweep.axes.size());
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::string> one;
    for (std::size_t a = 0; a < r.sweep.axes.size(); ++a) {
      const SweepAxis& axis = r.sweep.axes[a];
      RandomStream stream(seed, "sweep." + axis.name, i);
      if (!axis.values.empty()) {
        one.push_back(axis.values[stream.below(axis.values.size())]);
        continue;
      }
      const Json& spec = r.document["axes"][axis.name];
      const bool logarithmic = spec.contains("log_range");
      const Json value = drawn_value(spec[logarithmic ? "log_range" : "range"], logarithmic,
                                     wants_integer(r.places[a][0]), stream.uniform());
      for (const AxisPlace& place : r.places[a])
        checked_value(place, value, r.sweep.label, under("/axes", axis.name));
      one.push_back(value.dump());
      used[a].push_back(one.back());
    }
    if (met.insert(one).second) out.push_back(std::move(one));
  }
  for (std::size_t a = 0; a < used.size(); ++a) {
    if (!used[a].empty()) r.sweep.axes[a].values = used[a];
  }
  return out;
}

void combine(Reading& r) {
  const Json& design = r.document["design"];
  std::vector<std::vector<std::string>> all;
  if (r.random) {
    all = drawn(r, design["random"].get<std::size_t>(), design["seed"].get<std::uint64_t>());
  } else {
    all = design == "zip" ? zip(r) : grid(r);
  }
  const std::vector<SkipRule> rules =
      skip_rules(r.written.contains("skip") ? r.written["skip"] : Json::array(), r.sweep, r.random);
  const auto listed = [](const std::vector<std::string>& words, const std::string& word) {
    return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
  };
  bool any = false;
  for (std::vector<std::string>& values : all) {
    Combination one;
    std::vector<std::string> plain;
    for (std::size_t a = 0; a < values.size(); ++a) {
      plain.push_back(canonical(Json::parse(values[a])));
      for (const std::string& pointer : r.sweep.axes[a].at)
        one.settings.push_back({pointer, values[a]});
    }
    for (const std::string& row : r.sweep.protocols) {
      const bool skipped = std::any_of(rules.begin(), rules.end(), [&](const SkipRule& rule) {
        bool fits = listed(rule.protocols, row);
        for (std::size_t a = 0; a < plain.size(); ++a)
          fits = fits && listed(rule.values[a], plain[a]);
        return fits;
      });
      one.skipped.push_back(skipped);
      any = any || !skipped;
    }
    one.values = std::move(values);
    r.sweep.combinations.push_back(std::move(one));
  }
  if (!any) r.refuse("/skip", "leaves no point, allowed an entry less");
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

void read_seeds(Reading& r) {
  Sweep& s = r.sweep;
  if (r.document.contains("until")) {
    const Json& u = r.document["until"];
    Until until{u["metric"], u["half_width"], u["min_seeds"], u["max_seeds"],
                u.contains("protocol") ? u["protocol"].get<std::string>() : ""};
    check_metric(r, until.metric, "/until/metric");
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
  resolve_document(r);
  read_scenario(r, folder, settings);
  r.random = r.document["design"].is_object();
  for (const auto& [name, axis] : r.document["axes"].items())
    read_axis(r, name);
  check_overlaps(r);
  for (const Setting& setting : settings) {
    for (const SweepAxis& axis : r.sweep.axes) {
      if (std::find(axis.at.begin(), axis.at.end(), setting.pointer) == axis.at.end()) continue;
      throw BadInput("--set", setting.pointer, "is what the axis '" + axis.name + "' varies");
    }
  }
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
