// Plays the fault plan against the fleet: applies each fault at its date, repairs it after its time away,
// and writes both on the tape.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/faults/faults.hpp"
#include "sim/protocols/fleet.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

class FaultPlayer {
 public:
  FaultPlayer(Engine& engine, const Scenario& scenario, const Protocol& protocol, std::uint64_t seed,
              Fleet& fleet, Tape& tape);
  ~FaultPlayer();
  FaultPlayer(const FaultPlayer&) = delete;
  FaultPlayer& operator=(const FaultPlayer&) = delete;

  // The axis of stepping-exposure faults runs for this learner while it steps.
  void stepping(int learner, bool on);

  // Earliest date at which a fault or a repair will change anything, if learners go on as they do now.
  double next_change_date() const;

 private:
  struct Axis {                 // of one learner
    FaultPlayer* player = nullptr;
    int learner = 0;
    bool on = false;
    double value = 0;           // seconds of stepping up to `since`
    double since = 0;
    double date = kNever;       // at which the next stepping fault falls, while on
    EventId event;
  };
  struct Pending {              // a repair to come
    FaultPlayer* player = nullptr;
    PlanLine line;
    int source = 0;
    std::multiset<double>::iterator date;
  };
  void arm_wall();
  void arm_stepping(Axis& axis);
  double axis_now(const Axis& axis) const;
  void play(const PlanLine& line, int source);
  void schedule_repair(const PlanLine& line, int source);
  void slices_changed(const Target& target);
  static void on_wall(void* self);
  static void on_stepping(void* axis);
  static void on_repair(void* pending);

  Engine& engine_;
  const Scenario& scenario_;
  Fleet& fleet_;
  Tape& tape_;
  FaultSource source_;
  EventId wall_event_;
  std::vector<Axis> axes_;
  std::vector<std::vector<char>> slice_was_present_;   // per learner, empty without stepping faults
  std::vector<std::unique_ptr<Pending>> pending_;
  std::vector<Pending*> free_;
  std::multiset<double> repair_dates_;
};

}  // namespace skerry
