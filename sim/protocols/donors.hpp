// Whom to copy state from.
#pragma once

#include <vector>

#include "sim/net/network.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

// A candidate in `region` itself, else the one with the smallest latency to it whose path is up (ties: learner order; when no path
// is up, the nearest anyway: its transfer waits for the path). −1 without candidates.
int nearest(const Scenario& scenario, const Network& network, const std::vector<int>& candidates,
            int region);

}  // namespace skerry
