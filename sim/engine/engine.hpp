// Simulated time: one (time, sequence) queue in front of SimGrid's clock, and nothing else.
//
// One Engine per process (SimGrid allows one; it must outlive everything that uses it). Exactly one
// SimGrid timer is armed, for the earliest own event; events of one date run in the order in which they
// were scheduled. Completion callbacks of SimGrid only schedule at (now, next sequence): no coroutine is
// ever resumed, and none destroyed, inside a SimGrid callback or inside another coroutine's resumption.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace skerry {

struct EventId {               // 0 = none
  std::uint64_t slot = 0;
  std::uint64_t generation = 0;
  explicit operator bool() const { return generation != 0; }
};

class Engine {
 public:
  using Callback = void (*)(void* context);

  Engine();                    // makes the SimGrid engine: CM02, TCP-gamma 1e15, crosstraffic off
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  double now() const;          // seconds since this Engine was made

  // Runs callback(context) at `date` (≥ now; Bug otherwise, NaN too). `idle`: the event alone does not
  // keep the simulation alive (random faults: when only they are left, nothing can happen any more).
  EventId at(double date, Callback callback, void* context, bool idle = false);
  void cancel(EventId id);     // harmless after it ran

  // Work outside the queue that will schedule something later (a flow in SimGrid): begin and end.
  void hold() { held_ += 1; }
  void release() { held_ -= 1; }

  // Runs until stop() or until nothing but idle events is left. In the second case throws CannotGoOn
  // with the report of who waits for whom (`explain_deadlock`). Exceptions thrown by callbacks come out
  // of run() unchanged.
  void run();
  void stop();                 // run() returns after the current callback

  // What stands in the deadlock message: "learner west.1 waits for …; syncer waits for …".
  void explain_deadlock(std::function<std::string()> report);

  std::uint64_t events_run() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  int held_ = 0;
  friend struct State;
};

}  // namespace skerry
