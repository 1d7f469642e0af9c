#include "sim/report/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "sim/report/version.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

std::string build_commit() {
  return std::string(kCommit);
}

std::string version_text() {
  return fmt::format("skerry {} (commit {}), SimGrid {}, oneTBB {}, compiler {}",
                     SKERRY_VERSION, kCommit, SKERRY_SIMGRID, SKERRY_TBB, __VERSION__);
}

std::string manifest_to_json(const Manifest& manifest) {
  Json out;
  out["skerry"] = "run/1";
  out["scenario"] = manifest.scenario;
  out["hash"] = manifest.hash;
  out["complete"] = manifest.complete;
  out["failures"] = Json::array();
  for (const Failure& failure : manifest.failures) {
    out["failures"].push_back(
        {{"run", failure.run}, {"exit_code", failure.exit_code}, {"message", failure.message}});
  }
  out["command"] = manifest.command;
  if (!manifest.tapes_from.empty()) out["tapes_from"] = manifest.tapes_from;
  out["began"] = manifest.began;
  out["ended"] = manifest.ended;
  out["machine"] = manifest.machine;
  out["isa"] = manifest.isa;
  out["commit"] = kCommit;
  out["versions"] = {{"skerry", SKERRY_VERSION},
                     {"simgrid", SKERRY_SIMGRID},
                     {"onetbb", SKERRY_TBB},
                     {"compiler", __VERSION__}};
  out["wall_s"] = Json::object();
  for (const auto& [run, seconds] : manifest.wall_s)
    out["wall_s"][run] = seconds;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

StoredRun manifest_from_json(const std::string& text, const std::string& label) {
  try {
    const Json tree = Json::parse(text);
    if (tree.at("skerry") != "run/1") throw BadInput(label, "/skerry", "not a run/1");
    return {tree.at("hash"), tree.at("commit"), tree.at("ended"), tree.at("complete")};
  } catch (const Json::exception& error) {
    throw BadInput(label, "", std::string("not a manifest that Skerry wrote: ") + error.what());
  }
}

}  // namespace skerry
