// `skerry estimate`: a scenario in, arithmetic out.
#include <fmt/format.h>

#include "sim/cost/estimate.hpp"
#include "sim/report/estimate_text.hpp"
#include "sim/run/commands.hpp"

namespace skerry {

int estimate_command(const std::string& scenario, const LoadOptions& options, bool json) {
  const Loaded loaded = load_with_plans(scenario, options);
  const Estimate known = estimate(loaded.scenario);
  fmt::print("{}",
             json ? estimate_json(loaded.scenario, known) : estimate_text(loaded.scenario, known));
  return 0;
}

}  // namespace skerry
