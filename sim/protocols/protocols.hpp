// One run: a protocol plays against the network and the fault plan, and writes the tape.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/how_far.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

// Needs a process of its own: makes the one Engine. Ends at the scenario's stop rule. Throws CannotGoOn on
// deadlock (who waits for whom) and when a stated limit on facts is passed. `progress` may be empty; it is
// called now and then with the share of the stop rule that is done.
Tape simulate(const Scenario& scenario, int protocol, std::uint64_t seed,
              const std::string& scenario_hash, const OnProgress& progress);

}  // namespace skerry
