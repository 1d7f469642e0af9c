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

std::string sweep_counts_json(const SweepCounts& counts) {
  const Json out{{"skerry", "sweep-status/1"},
                 {"sweep", counts.sweep},
                 {"folder", counts.folder},
                 {"points", counts.points},
                 {"ok", counts.ok},
                 {"failed", counts.failed},
                 {"missing", counts.missing},
                 {"left_s", counts.left_s},
                 {"left_s_is", counts.measured ? "measured" : "guessed"}};
  return out.dump(2) + "\n";
}

}  // namespace skerry
