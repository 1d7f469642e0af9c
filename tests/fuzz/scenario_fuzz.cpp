// Any bytes: the scenario reader accepts or refuses them, and what it accepts reads the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/base/error.hpp"
#include "sim/scenario/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  skerry::Loaded loaded;
  try {
    loaded = skerry::load_scenario_text(text, "fuzz.json", "/nonexistent");
  } catch (const skerry::BadInput&) {
    return 0;
  }
  const skerry::Loaded again =
      skerry::load_scenario_text(loaded.resolved_json, "again.json", "/nonexistent");
  const bool same = again.resolved_json == loaded.resolved_json && again.hash8 == loaded.hash8 &&
                    again.scenario.warnings == loaded.scenario.warnings;
  if (!same) std::abort();
  return 0;
}
