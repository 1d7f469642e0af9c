// What every protocol of a run stands on: clock, network, hardware, faults, tape, books and the stop rule.
#pragma once

#include <string>
#include <vector>

#include "sim/base/how_far.hpp"
#include "sim/engine/process.hpp"
#include "sim/net/network.hpp"
#include "sim/protocols/books.hpp"
#include "sim/protocols/fault_player.hpp"
#include "sim/protocols/fleet.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

class World {
 public:
  World(const Scenario& scenario, int protocol, std::uint64_t seed, const std::string& scenario_hash,
        const OnProgress& progress);

  const Scenario& scenario;
  const Protocol& protocol;
  Tape tape;
  Engine engine;
  Network network;
  Fleet fleet;
  FaultPlayer faults;
  Books books;

  // Seconds of a step of this learner that starts now, and the charged tokens of one.
  double step_s(int learner) const;
  double tokens(int learner, int slices_in_mesh) const;
  double compute_chips(int learner, int slices_in_mesh) const;   // chips at work

  // Seconds from now until a loss of chips of this learner is acted upon: none when it was announced, the
  // watchdog's time-out for a hang, else recovery.detection_s.
  double detection_s(int learner) const;
  // Why a learner without chips stands still: it hangs, or they are off.
  Cause absence(int learner) const {
    return fleet.hung(learner) ? Cause::kInfrastructureRecovery : Cause::kDown;
  }

  // Net tokens of the run. The run ends at the date on which the target is reached, after every event of
  // that date.
  void earn(double tokens);
  void lose(double tokens) { net_tokens_ -= tokens; }
  double tokens_wanted() const;    // until the stop rule; kNever without one
  // Sums of shrunken batches carry rounding.
  double token_slack() const { return 1e-9 * scenario.stop.tokens.value_or(0.0); }

  // Runs the engine until the stop rule; close() then ends the books, the wires and the tape.
  void run();
  void close();

  const Learner& learner(int m) const { return scenario.learners[static_cast<std::size_t>(m)]; }
  bool stop_reached() const { return finished_; }   // the run ends at this date

 private:
  void finish(const char* reason);
  static void on_date(void* self);

  std::vector<double> step_s_;     // per learner, spread applied
  double net_tokens_ = 0;
  std::uint64_t earnings_ = 0;
  bool finished_ = false;
  OnProgress progress_;
};

}  // namespace skerry
