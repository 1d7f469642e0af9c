// Processes in simulated time as C++20 coroutines, and what they can wait for.
//
//   Task<T>        a lazily started coroutine; `co_await task` runs it inside the awaiting one
//   Process        owner of a root Task<void>; destroying it kills the coroutine: destructors run, its
//                  timers and flows go with it
//   until(date)    · Channel<T>::next() · Signal::wait() · until_or(date, signal) · all_of · any_of
//
// Every resumption goes through the engine's queue, so a coroutine may kill any process but its own and
// may not be resumed while another runs. Pass values as parameters; no capturing lambdas as coroutines.
// An exception that leaves a root task comes out of Engine::run().
#pragma once

#include <coroutine>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/engine/engine.hpp"

namespace skerry {

// To be written here, exactly with this surface:
//
// template <class T = void> class [[nodiscard]] Task;        move-only; co_await std::move(task)
//
// class Process {
//  public:
//   Process() = default;                                    // empty
//   Process(Engine&, std::string name, Task<void>);         // starts at (now, next sequence)
//   bool done() const;                                      // true when empty or finished
//   void kill();                                            // idempotent
//   const std::string& name() const;
// };                                                        // move-only, destructor kills
//
// until(Engine&, double date)            awaitable; date ≤ now still goes through the queue
// template <class T> class Channel {
//  public: Channel(Engine&, std::string name);
//   void push(T);                        // wakes one waiter through the queue, FIFO
//   /*awaitable*/ next();                // → T
//   std::optional<T> try_next(); bool empty() const; void clear();
// };
// class Signal {
//  public: Signal(Engine&, std::string name);
//   void notify();                       // wakes all that wait now
//   /*awaitable*/ wait();
//   /*awaitable*/ until_or(double date); // → true when the signal came before the date
// };
// Task<void> all_of(Engine&, std::vector<Task<void>>);      // ends when the last has
// Task<std::size_t> any_of(Engine&, std::vector<Task<void>>);  // index of the first; the others are killed
//
// std::string waiting_report(Engine&);   // "west.1 waits for clock; …": every process that is suspended on
//                                        // a Channel or Signal, by names; part of the deadlock message

}  // namespace skerry
