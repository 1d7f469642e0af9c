#include "sim/scenario/load.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/scenario/bind.hpp"
#include "sim/scenario/metrics.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/settings.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

using reader::Binder;
using reader::Json;

// --protocol: keeps the chosen rows and what refers to them.
void keep_protocols(Json& document, const std::vector<std::string>& only) {
  if (only.empty()) return;
  const Json protocols = document["protocols"];
  std::vector<std::string> names;
  for (const auto& [name, row] : protocols.items())
    names.push_back(name);
  for (const std::string& name : only) {
    if (!protocols.contains(name)) {
      throw BadInput("--protocol", "",
                     "found the unknown protocol '" + name + "', allowed " + reader::join(names) +
                         reader::did_you_mean(name, names));
    }
  }
  const auto kept = [&](const std::string& name) {
    return std::find(only.begin(), only.end(), name) != only.end();
  };
  for (const std::string& name : names) {
    if (kept(name)) continue;
    document["protocols"].erase(name);
    if (reader::text_at(document, "baseline") == name) document.erase("baseline");
    if (document["training"].is_object() && document["training"].contains("protocols")) {
      document["training"]["protocols"].erase(name);
    }
  }
  Json& training = document["training"];
  if (training.is_object() && training.contains("protocols") && training["protocols"].empty()) {
    training.erase("protocols");
  }
  if (!document.contains("expect")) return;
  Json expect = Json::array();
  for (const Json& entry : document["expect"]) {
    bool all = true;
    for (const char* key : {"protocol", "ratio_to", "minus"}) {
      const std::string name = reader::text_at(entry, key);
      all = all && (name.empty() || kept(name) || !protocols.contains(name));
    }
    if (all) expect.push_back(entry);
  }
  document["expect"] = expect;
}

// --no-train: expectations about losses go with the training.
void drop_training(Json& document) {
  document["training"] = false;
  if (!document.contains("expect")) return;
  Json expect = Json::array();
  for (const Json& entry : document["expect"]) {
    if (!needs_training(reader::text_at(entry, "metric"))) expect.push_back(entry);
  }
  document["expect"] = expect;
}

void bind_all(Binder& binder) {
  reader::bind_head(binder);
  reader::bind_regions(binder);
  reader::bind_model(binder);
  reader::bind_islands(binder);
  reader::bind_prices(binder);
  reader::bind_links(binder);
  reader::bind_protocols(binder);
  reader::bind_faults(binder);
  reader::check_facts(binder);
  reader::bind_training(binder);
  reader::bind_expect(binder);
}

// Named files count by their bytes alone, wherever they lie.
std::string hash8_of(const Binder& binder, const std::string& resolved) {
  std::uint64_t hash = 0;
  if (!binder.file_places.empty()) {
    Json placeless = binder.document;
    for (const std::string& place : binder.file_places)
      placeless[Json::json_pointer(place)] = "";
    hash = hash64(placeless.dump());
  } else {
    hash = hash64(resolved);
  }
  for (const std::string& bytes : binder.file_bytes)
    hash = hash64(bytes, hash);
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return std::string(text.data(), 8);
}

}  // namespace

Loaded load_scenario(const std::string& path, const LoadOptions& options) {
  const std::string text = reader::read_bounded_file(path, kMaxFileBytes, path, "");
  return load_scenario_text(text, path, std::filesystem::path(path).parent_path().string(),
                            options);
}

Loaded load_scenario_text(const std::string& text, const std::string& label,
                          const std::string& folder, const LoadOptions& options) {
  Json written = reader::parse_strict(text, label);
  reader::apply_settings(written, options.settings);
  Binder binder{options, label, folder, {}, {}, {}, {}, {}};
  reader::Resolution first{label, {}};
  binder.document = reader::resolve(reader::scenario_spec(), written, "", first);
  keep_protocols(binder.document, options.only_protocols);
  if (options.no_train) drop_training(binder.document);
  bind_all(binder);
  // What binding spelt out goes back into the order of the tree.
  reader::Resolution again{label, binder.assumed_devices};
  binder.document = reader::resolve(reader::scenario_spec(), binder.document, "", again);
  reader::add_warnings(binder, again.assumed);
  Loaded loaded;
  loaded.resolved_json = binder.document.dump(2) + "\n";
  loaded.hash8 = hash8_of(binder, loaded.resolved_json);
  for (const std::string& bytes : binder.file_bytes)
    loaded.files_hash = hash64(bytes, loaded.files_hash);
  loaded.scenario = std::move(binder.scenario);
  return loaded;
}

}  // namespace skerry
