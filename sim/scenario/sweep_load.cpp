// From a combination to its scenario, and what of it decides the numbers.
#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/scenario/bind.hpp"
#include "sim/scenario/sweep_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

using reader::Json;

namespace {

void drop_texts(Json& value) {
  if (value.is_object() && value.contains("about") && value["about"].is_string()) {
    value.erase("about");
  }
  if (!value.is_structured()) return;
  for (Json& below : value)
    drop_texts(below);
}

std::string words_of(const Sweep& sweep, const Combination& combination) {
  std::string text;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    text += (a == 0 ? "" : ", ") + sweep.axes[a].name + " = " + combination.values[a];
  }
  return text;
}

}  // namespace

Loaded load_combination(const Sweep& sweep, const Combination& combination,
                        const std::vector<std::string>& rows,
                        const std::vector<std::uint64_t>& seeds, bool no_train) {
  LoadOptions options;
  options.settings = combination.settings;
  options.only_protocols = rows;
  options.seeds = seeds;
  options.no_train = no_train;
  try {
    return load_scenario_text(sweep.scenario_text, sweep.scenario_label, sweep.scenario_folder,
                              options);
  } catch (const BadInput& error) {
    throw BadInput("", "", "at " + words_of(sweep, combination) + ": " + error.what());
  }
}

std::vector<RowKey> row_keys(const Loaded& loaded) {
  Json document = Json::parse(loaded.resolved_json);
  drop_texts(document);
  for (const char* key : {"name", "expect", "baseline", "seeds"})
    document.erase(key);
  const Json protocols = document["protocols"];
  document.erase("protocols");
  Json training = document["training"];
  document.erase("training");
  Json own = Json::object();
  if (training.is_object()) {
    training.erase("seeds");
    if (training.contains("protocols")) own = training["protocols"];
    training.erase("protocols");
    if (loaded.scenario.training.corpus.starts_with('/')) training["corpus"] = "";
  }
  const std::uint64_t shared = hash64(document.dump(), loaded.files_hash);
  const std::uint64_t shared_training = hash64(training.dump(), loaded.files_hash);
  std::vector<RowKey> keys;
  for (const Protocol& protocol : loaded.scenario.protocols) {
    const Json* row = reader::member(own, protocol.name);
    keys.push_back({hash64(protocols[protocol.name].dump(), shared),
                    hash64(row == nullptr ? "" : row->dump(), shared_training)});
  }
  return keys;
}

Sweep sensitivity_of(const Sweep& sweep, std::vector<std::string>& notes) {
  Sweep out = sweep;
  out.name += "-sensitivity";
  out.until.reset();
  if (sweep.until) out.seeds.resize(std::size_t(sweep.until->min_seeds));
  out.keep_tapes = false;
  out.table = {{"key", "factor"}, "protocol", {"tokens_per_s"}};
  for (const SweepAxis& axis : sweep.axes) {
    notes.push_back("the axis '" + axis.name +
                    "' of the sweep, and its skip and table: this is about the scenario as it is");
  }
  out.axes = {{"key", {}, {}}, {"factor", {}, {}}};
  out.combinations = {{{"\"none\"", "1"}, {}, std::vector<bool>(sweep.protocols.size(), false)}};
  const Loaded base = load_combination(out, out.combinations[0], {}, out.seeds, false);
  const Json document = Json::parse(base.resolved_json);
  for (const std::string& pointer : base.scenario.calibrated_keys) {
    if (reader::is_money_key(pointer)) {
      notes.push_back(pointer + ": moves cost or energy alone");
      continue;
    }
    const Json::json_pointer place(pointer);
    if (!document.contains(place) || !document[place].is_number()) {
      notes.push_back(pointer + ": is no number");
      continue;
    }
    const Json& value = document[place];
    std::vector<Combination> pair;
    for (const double factor : {0.8, 1.2}) {
      double changed = value.get<double>() * factor;
      if (value.is_number_integer()) changed = std::round(changed);
      if (changed == value.get<double>()) {
        notes.push_back(pointer + ": " + reader::number_text(factor) + " times it is the same");
        continue;
      }
      Combination one = out.combinations[0];
      one.values = {Json(pointer).dump(), Json(factor).dump()};
      one.settings = {{pointer, Json(changed).dump()}};
      try {
        load_combination(out, one, {}, out.seeds, false);
        pair.push_back(std::move(one));
      } catch (const BadInput& error) {
        notes.push_back(pointer + ": " + error.what());
      }
    }
    if (!pair.empty()) out.axes[0].values.push_back(pair[0].values[0]);
    std::move(pair.begin(), pair.end(), std::back_inserter(out.combinations));
  }
  out.axes[0].values.insert(out.axes[0].values.begin(), "\"none\"");
  out.axes[1].values = {"0.8", "1", "1.2"};
  Json resolved{{"skerry", "sensitivity/1"},
                {"scenario", Json::parse(sweep.scenario_text)},
                {"seeds", out.seeds},
                {"axes", Json::object()}};
  for (const SweepAxis& axis : out.axes) {
    for (const std::string& value : axis.values)
      resolved["axes"][axis.name]["values"].push_back(Json::parse(value));
  }
  out.resolved_json = resolved.dump(2) + "\n";
  return out;
}

}  // namespace skerry
