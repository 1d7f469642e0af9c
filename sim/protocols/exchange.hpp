// One exchange over the wire in the pieces in which a step makes it: copy to the host and quantise, lead,
// flows, merge. Shared by both families; knows nothing of protocols.
#pragma once

#include <functional>
#include <vector>

#include "sim/cost/anatomy.hpp"
#include "sim/cost/cost.hpp"
#include "sim/engine/process.hpp"
#include "sim/net/network.hpp"

namespace skerry {

struct PieceOnWire {
  double ready = 0.0;      // date at which the slowest of those that take part has made it
  Collective collective;   // its lead counts from when it is prepared
  double before_s = 0.0;   // of the stage before the wire, one piece after the other
  double behind_s = 0.0;   // of the stage behind it, likewise
};

// Ends when the last piece's result is there; `done(k)`, in the order in which they are there, at the
// date of each. One after the other on the wire, or (shared) each as soon as it can. Pieces come in order
// of `ready`. Killing the awaiting coroutine stops all of it.
Task<void> send_pieces(Engine& engine, Network& network, std::vector<PieceOnWire> pieces, bool shared,
                       std::function<void(std::size_t)> done);

}  // namespace skerry
