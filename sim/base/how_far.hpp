// How far a run is: for people who wait, never for results.
#pragma once

#include <functional>
#include <optional>

namespace skerry {

struct HowFar {
  double share = 0;            // done, in [0, 1]
  double simulated_s = 0;      // date that simulation or training has reached
  std::optional<double> loss;  // held-out, nats per byte: the newest, once there is one
};
using OnProgress = std::function<void(const HowFar&)>;

}  // namespace skerry
