// Private to engine.cpp and sim/net: the seam between own time and SimGrid's.
#pragma once

#include "sim/engine/engine.hpp"

namespace skerry {

// Inside a completion callback of SimGrid: brings now() to SimGrid's clock, which has moved on.
void catch_up_with_simgrid(Engine& engine);

}  // namespace skerry
