#include "sim/report/sweep_manifest.hpp"

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "sim/report/manifest.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

std::string sweep_manifest_to_json(const SweepManifest& m) {
  const Json out{{"skerry", "sweep-run/1"},
                 {"sweep", m.sweep},
                 {"numbers_version", m.numbers_version},
                 {"points", m.points},
                 {"ok", m.ok},
                 {"failed", m.failed},
                 {"complete", m.ok == m.points},
                 {"command", m.command},
                 {"began", m.began},
                 {"ended", m.ended.empty() ? Json(nullptr) : Json(m.ended)},
                 {"machine", m.machine},
                 {"isa", m.isa},
                 {"tables", m.tables},
                 {"commit", build_commit()},
                 {"version", version_text()}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string sweep_of_manifest(const std::string& text, const std::string& label) {
  try {
    const Json tree = Json::parse(text);
    if (tree.at("skerry") != "sweep-run/1") throw BadInput(label, "/skerry", "not a sweep-run/1");
    return tree.at("sweep");
  } catch (const Json::exception& error) {
    throw BadInput(label, "", std::string("not a manifest of a sweep: ") + error.what());
  }
}

std::string tables_of_manifest(const std::string& text) {
  const Json tree = Json::parse(text, nullptr, false);
  if (!tree.is_object() || !tree.contains("tables") || !tree["tables"].is_string()) return {};
  return tree["tables"];
}

bool same_study(const std::string& before, const std::string& now) {
  const Json a = Json::parse(before, nullptr, false), b = Json::parse(now, nullptr, false);
  if (!a.is_object() || !b.is_object()) return true;
  for (const Json* side : {&a, &b}) {
    for (const char* key : {"axes", "scenario"}) {
      if (!side->contains(key) || !(*side)[key].is_object()) return true;
    }
  }
  const auto at = [](const Json& axis) {
    return axis.is_object() ? axis.value("at", Json()) : Json();
  };
  bool axis = false;
  for (const auto& [name, own] : a["axes"].items())
    axis = axis || (b["axes"].contains(name) && at(b["axes"][name]) == at(own));
  const Json left = a["scenario"].flatten(), right = b["scenario"].flatten();
  std::size_t same = 0;
  for (const auto& [place, value] : left.items())
    same += right.contains(place) && right[place] == value ? 1U : 0U;
  return axis && 2 * same >= left.size();
}

std::string sweep_counts_json(const SweepCounts& counts) {
  const Json out{{"skerry", "sweep-status/1"},
                 {"sweep", counts.sweep},
                 {"folder", counts.folder},
                 {"points", counts.points},
                 {"ok", counts.ok},
                 {"failed", counts.failed},
                 {"missing", counts.missing},
                 {"to_run", counts.to_run},
                 {"left_s", counts.left_s ? Json(*counts.left_s) : Json(nullptr)},
                 {"left_s_is", !counts.left_s    ? Json(nullptr)
                               : counts.measured ? Json("measured")
                                                 : Json("guessed")}};
  return out.dump(2) + "\n";
}

}  // namespace skerry
