// Plays the fault plan against the fleet: applies each fault at its date, repairs it after its time away,
// and writes both on the tape.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <utility>
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

  // A step counted. A run in which faults strike for ever without one cannot go on (CannotGoOn).
  void note_progress() { hits_since_progress_ = 0; }

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
  enum class Next { kStrike, kReturn, kMend };
  struct Pending {              // something that will happen to a line's target
    FaultPlayer* player = nullptr;
    PlanLine line;
    int source = 0;
    Next next = Next::kReturn;
    std::multiset<double>::iterator date;
  };
  // Stand-ins of one learner. All broken hardware and all spares are alike: who waits longest gets the next
  // that is free.
  struct Spares {
    int free = 0;
    std::deque<std::pair<PlanLine, int>> waiting;   // lines whose slice is away without a stand-in
  };
  void arm_wall();
  void arm_stepping(Axis& axis);
  double axis_now(const Axis& axis) const;
  void play(const PlanLine& line, int source);      // announced, or at once
  void strike(const PlanLine& line, int source);    // the chips go
  void give_back(const PlanLine& line, int source); // they are there again
  void mended(const PlanLine& line);                // a broken slice of a learner with spares is whole
  void schedule(double date, Next next, const PlanLine& line, int source);
  void slices_changed(const Target& target);
  void slices_changed(int learner);
  static void on_wall(void* self);
  static void on_stepping(void* axis);
  static void on_pending(void* pending);

  Engine& engine_;
  const Scenario& scenario_;
  const Recovery& recovery_;
  Fleet& fleet_;
  Tape& tape_;
  FaultSource source_;
  EventId wall_event_;
  std::vector<Axis> axes_;
  std::vector<char> watched_;                 // per learner: has stepping faults
  std::vector<std::size_t> changes_read_;     // per learner, of Fleet::changes()
  std::vector<Spares> spares_;                // per learner
  std::vector<std::unique_ptr<Pending>> pending_;
  std::vector<Pending*> free_;
  std::multiset<double> pending_dates_;
  int hits_since_progress_ = 0;
};

}  // namespace skerry
