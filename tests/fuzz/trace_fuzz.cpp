// Any bytes behind a first letter that chooses the format: a trace is read or refused; a plan that
// was read comes back the same from what is written of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"
#include "sim/scenario/traces.hpp"

namespace {

skerry::Scenario two_places() {
  skerry::Scenario scenario;
  scenario.regions = {{"us-west1", 625e6, 625e6}, {"us-east5", 250e6, 250e6}};
  scenario.links = {{0, 1, 0.03, 1e9}, {1, 0, 0.03, 1e9}};
  for (const char* name : {"west.1", "west.2"}) {
    skerry::Learner learner;
    learner.name = name;
    learner.group = "west";
    learner.slices = 4;
    learner.chips = 32;
    scenario.learners.push_back(learner);
  }
  return scenario;
}

void read_plan(const std::string& text) {
  static const skerry::Scenario scenario = two_places();
  const auto plan = skerry::plan_from_csv(scenario, text, "t");
  const std::string written = skerry::plan_to_csv(scenario, plan);
  if (skerry::plan_to_csv(scenario, skerry::plan_from_csv(scenario, written, "t")) != written) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0]) {
      case 'i':
        skerry::infinitehbd_outages(text, "t");
        break;
      case 'l':
        skerry::lanl_outages(text, "t", 2);
        break;
      case 's':
        skerry::capacity_shares(text, "t");
        break;
      case 'x':
        skerry::unpacked(text, "t.xz", 1u << 20);
        break;
      default:
        read_plan(text);
    }
  } catch (const skerry::BadInput&) {
    return 0;
  }
  return 0;
}
