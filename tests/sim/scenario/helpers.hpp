// Small scenarios as text, and the message that one is refused with.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "sim/scenario/load.hpp"

namespace skerry::testing {

using Json = nlohmann::ordered_json;

// Two regions, three learners, two rows, no training.
inline Json base() {
  return Json::parse(R"({
    "skerry": "scenario/1",
    "stop": {"tokens": 1e9},
    "regions": {"us-west1": {"port_gbps": 5}, "us-east5": {"port_gbps": 2}},
    "islands": {"west": {"region": "us-west1", "device": "v5p", "count": 2, "chips": 32, "slices": 4},
                "east": {"region": "us-east5", "device": "v5p", "chips": 32, "slices": 4}},
    "charged_model": {"layers": 12, "width": 2048, "vocabulary": 32000,
                      "tokens_per_learner_step": 65536},
    "protocols": {"data_parallel": {}, "decoupled_diloco": {}},
    "training": false
  })");
}

inline Loaded load(const Json& document, const LoadOptions& options = {}) {
  return load_scenario_text(document.dump(), "t.json", ".", options);
}

inline std::string refusal_of(const std::string& text, const LoadOptions& options = {}) {
  try {
    load_scenario_text(text, "t.json", ".", options);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "(accepted)";
}

inline std::string refusal(const Json& document, const LoadOptions& options = {}) {
  return refusal_of(document.dump(), options);
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool warns(const Scenario& scenario, const std::string& code) {
  for (const std::string& warning : scenario.warnings) {
    if (warning.compare(0, code.size(), code) == 0) return true;
  }
  return false;
}

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace skerry::testing
