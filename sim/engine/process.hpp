// Processes in simulated time as C++20 coroutines, and what they can wait for.
//
//   Task<T>    a lazily started coroutine; `co_await task` runs it inside the awaiting one
//   Process    owner of a root Task<void>; destroying it kills the coroutine: destructors run, its
//              timers and flows go with it
//   until(date) · Channel<T>::next() · Signal::wait() · Signal::until_or(date) · all_of · any_of
//
// Every resumption goes through the engine's queue, so a coroutine may kill any process but its own
// and may not be resumed while another runs. Pass values as parameters; no capturing lambdas as
// coroutines. An exception that leaves a root task comes out of Engine::run().
//
// What is awaited lies in the coroutine's frame and costs no allocation. Engine, Channel and Signal
// do not move and must outlive the processes that wait for them. Waiting for a channel, a signal or
// an infinite date does not keep the simulation alive; a finite date does.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/frames.hpp"
#include "sim/engine/ring.hpp"

namespace skerry {

template <class T = void>
class Task;
class Resumer;
class Join;

// ---------------------------------------------------------------- tasks

// The process that a coroutine belongs to.
struct ProcessState {
  std::string name;
  bool running = false;  // one of its coroutines is on the stack
};

class PromiseBase {
 public:
  static void* operator new(std::size_t bytes) { return frames::take(bytes); }
  static void operator delete(void* frame, std::size_t bytes) { frames::give_back(frame, bytes); }

  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept { return Final{}; }
  // A root has nobody to tell: the exception goes up through resume() and out of Engine::run().
  void unhandled_exception() {
    if (!awaiting_ && join_ == nullptr) throw;
    error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  template <class T>
  friend class Task;
  friend class Process;
  friend class Resumer;
  friend class Join;

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      return self.promise().finish();
    }
    void await_resume() noexcept {}
  };
  std::coroutine_handle<> finish() noexcept;

  ProcessState* process_ = nullptr;
  std::coroutine_handle<> awaiting_;  // goes on when this task has ended; null for a root …
  Join* join_ = nullptr;              // … and for a child of all_of or any_of
  std::exception_ptr error_;
};

template <class T>
class ValuePromise : public PromiseBase {
 public:
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class ValuePromise<void> : public PromiseBase {
 public:
  void return_void() {}
  void take() { rethrow(); }
};

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : ValuePromise<T> {
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // `co_await std::move(task)`: runs it to its end; → its value, or its exception.
  auto operator co_await() && { return Awaiter(handle_); }

 private:
  friend class Process;
  friend class Join;
  using Handle = std::coroutine_handle<promise_type>;

  class Awaiter {
   public:
    explicit Awaiter(Handle task) : task_(task) {}
    bool await_ready() const { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) {
      PromiseBase& promise = task_.promise();
      promise.awaiting_ = awaiting;
      promise.process_ = static_cast<PromiseBase&>(awaiting.promise()).process_;
      return task_;
    }
    T await_resume() { return task_.promise().take(); }

   private:
    Handle task_;
  };

  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
};

// ---------------------------------------------------------------- waiting

// Base of what is awaited: at most one event in the queue that resumes the coroutine. Dying with
// the coroutine's frame, it takes the event with it.
class Resumer {
 public:
  explicit Resumer(Engine& engine) : engine_(&engine) {}
  ~Resumer() { engine_->cancel(event_); }
  Resumer(const Resumer&) = delete;
  Resumer& operator=(const Resumer&) = delete;

  template <class Promise>
  void bind(std::coroutine_handle<Promise> coroutine) {
    coroutine_ = coroutine;
    process_ = static_cast<PromiseBase&>(coroutine.promise()).process_;
  }
  // Resumes at `date`, or now when that is past; replaces an earlier date.
  void schedule(double date) {
    engine_->cancel(event_);
    event_ = engine_->at(std::max(date, engine_->now()), &Resumer::run, this);
  }
  Engine& engine() const { return *engine_; }
  ProcessState* process() const { return process_; }

 private:
  static void run(void* self);

  Engine* engine_;
  std::coroutine_handle<> coroutine_;
  ProcessState* process_ = nullptr;
  EventId event_;
};

// One coroutine in the line of a WaitPlace.
struct Waiter : RingNode {
  ProcessState* waiting_process = nullptr;
};

// Something with a name at which coroutines wait in line; known to the engine for waiting_report.
class WaitPlace : public RingNode {
 public:
  WaitPlace(Engine& engine, std::string name) : engine_(&engine), name_(std::move(name)) {
    engine.wait_places().append(*this);
  }
  Engine& engine() const { return *engine_; }
  const std::string& name() const { return name_; }
  Ring<Waiter>& line() { return line_; }
  const Ring<Waiter>& line() const { return line_; }

 private:
  Engine* engine_;
  std::string name_;
  Ring<Waiter> line_;
};

// "west.1 waits for clock; …": every process that is suspended on a Channel or Signal (or on a cut
// transfer), by names; part of the deadlock message. Order: places as they were made, each in line.
std::string waiting_report(Engine& engine);

class [[nodiscard]] Until : public Resumer {
 public:
  Until(Engine& engine, double date) : Resumer(engine), date_(date) {}
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> coroutine) {
    bind(coroutine);
    schedule(date_);
  }
  void await_resume() const {}

 private:
  double date_;
};

// co_await until(engine, date); a date ≤ now still goes through the queue, an infinite one never
// comes.
inline Until until(Engine& engine, double date) {
  return Until(engine, date);
}

// ---------------------------------------------------------------- channel

// Messages in order; each goes to one receiver, receivers in order of asking. A value that was
// pushed for a receiver that is killed before it ran goes to the next one.
template <class T>
class Channel : public WaitPlace {
 public:
  class [[nodiscard]] Next : public Resumer, public Waiter {
   public:
    explicit Next(Channel& channel) : Resumer(channel.engine()), channel_(channel) {}
    ~Next() {
      if (woken_) channel_.give_up();
    }
    bool await_ready() const { return !channel_.empty(); }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
      bind(coroutine);
      waiting_process = process();
      channel_.line().append(*this);
    }
    T await_resume() {
      if (!std::exchange(woken_, false)) return channel_.take(channel_.promised_);
      channel_.promised_ -= 1;
      return channel_.take(0);
    }

   private:
    friend class Channel;
    Channel& channel_;
    bool woken_ = false;  // the first of the promised values is this one's
  };

  Channel(Engine& owner, std::string name) : WaitPlace(owner, std::move(name)) {}

  void push(T value) {
    values_.push_back(std::move(value));
    wake_first();
  }
  Next next() { return Next(*this); }  // co_await → T; at once when there is one
  std::optional<T> try_next() {
    if (empty()) return std::nullopt;
    return take(promised_);
  }
  // Values on their way to a woken receiver are not counted, and not dropped by clear().
  bool empty() const { return values_.size() == promised_; }
  void clear() { values_.erase(at(promised_), values_.end()); }

 private:
  auto at(std::size_t place) { return values_.begin() + static_cast<std::ptrdiff_t>(place); }
  T take(std::size_t place) {
    const auto it = at(place);
    T value = std::move(*it);
    values_.erase(it);
    return value;
  }
  void wake_first() {
    if (line().empty() || empty()) return;
    Next& first = static_cast<Next&>(line().front());
    first.unlink();
    first.woken_ = true;
    promised_ += 1;
    first.schedule(engine().now());
  }
  void give_up() {
    promised_ -= 1;
    wake_first();
  }

  std::deque<T> values_;
  std::size_t promised_ = 0;  // values at the front that belong to woken receivers
};

// ---------------------------------------------------------------- signal

// Something that happens now and then; only those who wait at that moment learn of it.
class Signal : public WaitPlace {
 public:
  class [[nodiscard]] Wait : public Resumer, public Waiter {
   public:
    Wait(Signal& signal, double date) : Resumer(signal.engine()), signal_(signal), date_(date) {}
    bool await_ready() const { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
      bind(coroutine);
      waiting_process = process();
      signal_.line().append(*this);
      schedule(date_);
    }
    bool await_resume() {
      unlink();
      return notified_;
    }

   private:
    friend class Signal;
    Signal& signal_;
    double date_;
    bool notified_ = false;
  };

  Signal(Engine& owner, std::string name) : WaitPlace(owner, std::move(name)) {}

  // Wakes all that wait now, in order of waiting.
  void notify() {
    line().each([this](Waiter& waiter) {
      Wait& wait = static_cast<Wait&>(waiter);
      wait.unlink();
      wait.notified_ = true;
      wait.schedule(engine().now());
    });
  }
  Wait wait() { return Wait(*this, kNever); }
  // co_await → true when the signal came before the date (of one date: before it in the queue).
  Wait until_or(double date) { return Wait(*this, date); }
};

// ---------------------------------------------------------------- several at once

// Children start in order inside the awaiting coroutine, each up to its first suspension, and
// belong to its process. Awaited by all_of and any_of only.
class [[nodiscard]] Join : public Resumer {
 public:
  Join(Engine& engine, std::vector<Task<void>>& children, bool first_ends);
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    bind(coroutine);
    return start();
  }
  // Kills the children. → the one that ended the wait (the first of any_of, the first with an
  // error, else the last); throws its error.
  std::size_t await_resume();

 private:
  friend class PromiseBase;
  bool start();
  void child_ended(const PromiseBase& child);

  std::vector<Task<void>>& children_;
  bool first_ends_;
  bool starting_ = false;
  std::size_t left_;  // 0 = the wait is over
  std::size_t decisive_ = 0;
};

// Ends when the last has ended. The first error ends it at once: the others are killed and the
// error goes to the awaiting coroutine.
Task<void> all_of(Engine& engine, std::vector<Task<void>> children);

// → index of the first that ended (its error, if it has one); the others are killed. Requires one
// child.
Task<std::size_t> any_of(Engine& engine, std::vector<Task<void>> children);

// ---------------------------------------------------------------- process

class Process {
 public:
  Process() = default;                                         // empty
  Process(Engine& engine, std::string name, Task<void> task);  // starts at (now, next sequence)
  ~Process() { kill(); }
  Process(Process&&) noexcept = default;
  Process& operator=(Process&& other) noexcept;

  bool done() const { return !body_ || body_->task.handle_.done(); }  // true when empty
  void kill();  // idempotent; Bug from inside the process itself
  const std::string& name() const;

 private:
  struct Body {
    Body(Engine& engine, std::string process_name, Task<void> root);
    ProcessState state;
    Task<void> task;
    Resumer start;
  };
  std::unique_ptr<Body> body_;
  std::string name_;
};

}  // namespace skerry
