// Simulated time: one (date, sequence) queue in front of SimGrid's clock, and nothing else.
//
// One Engine at a time per process (SimGrid allows one; it must outlive everything that uses it).
// Exactly one SimGrid timer is armed, for the earliest own event; events of one date run in the
// order in which they were scheduled. Completion callbacks of SimGrid only schedule at (now, next
// sequence): no coroutine is ever resumed, and none destroyed, inside a SimGrid callback or inside
// another coroutine's resumption.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/engine/ring.hpp"

namespace skerry {

class WaitPlace;

struct EventId {  // 0 = none
  std::uint64_t slot = 0;
  std::uint64_t generation = 0;
  explicit operator bool() const { return generation != 0; }
};

class Engine {
 public:
  using Callback = void (*)(void* context);

  Engine();  // makes the SimGrid engine: CM02, TCP-gamma 1e15, crosstraffic off
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Seconds since this Engine was made. In an event's callback: exactly the date that it was
  // scheduled for. Never goes back.
  double now() const;

  // Runs callback(context) at `date` (≥ now; Bug otherwise, NaN too). `idle`: the event alone does
  // not keep the simulation alive (random faults: when only they are left, nothing can happen any
  // more). An infinite date never comes; such an event is idle and may only be cancelled.
  EventId at(double date, Callback callback, void* context, bool idle = false);
  void cancel(EventId id);  // harmless after it ran

  // Work outside the queue that will schedule something later (a flow in SimGrid): begin and end.
  void hold() { held_ += 1; }
  void release() { held_ -= 1; }

  // Runs until stop() or until nothing but idle events is left and nothing is held. In the second
  // case throws CannotGoOn with the report of `explain_deadlock` and who waits for what
  // (waiting_report). Exceptions thrown by callbacks come out of run() unchanged.
  void run();
  // run() returns when every event of this date has run, those scheduled meanwhile included.
  void stop();

  // What stands in the deadlock message: "learner west.1 waits for …; syncer waits for …".
  void explain_deadlock(std::function<std::string()> report);

  std::uint64_t events_run() const;

  // Places with a name at which coroutines wait (process.hpp); they enter and leave by themselves.
  Ring<WaitPlace>& wait_places() { return wait_places_; }

  struct State;
  State& state() { return *state_; }  // for simgrid_engine.hpp

 private:
  std::unique_ptr<State> state_;
  Ring<WaitPlace> wait_places_;
  int held_ = 0;
};

}  // namespace skerry
