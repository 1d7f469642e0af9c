// skerry timeline: trace events of one run of a run folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/units.hpp"

namespace skerry {

struct TimelineCommand {
  std::string run, protocol, level = "transfers",
                             out;  // out: empty = timeline.json beside the tape
  std::optional<std::uint64_t> seed;
  double from_s = 0.0, until_s = kNever;
};

// Prints where it is, how many events of which level, and what was left out. BadInput: no such run,
// row or seed, --until not behind --from, a tape that does not fit.
int timeline_command(const TimelineCommand& options);

}  // namespace skerry
