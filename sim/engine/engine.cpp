#include "sim/engine/engine.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Engine.hpp>

#include "sim/base/error.hpp"
#include "sim/engine/process.hpp"
#include "sim/engine/queue.hpp"
#include "sim/engine/simgrid_engine.hpp"

namespace skerry {

namespace {

using SimgridEngine = simgrid::s4u::Engine;
using simgrid::kernel::timer::Timer;

struct Stopped {};  // thrown through SimGrid's loop, which has no other way to end early

// SimGrid reads the command line of the program it is in; it gets one of its own. It keeps the
// pointers.
std::unique_ptr<SimgridEngine> make_simgrid() {
  static char program[] = "skerry";
  static char log[] = "--log=root.thresh:warning";
  static char model[] = "--cfg=network/model:CM02";
  static char gamma[] = "--cfg=network/TCP-gamma:1e15";
  static char cross[] = "--cfg=network/crosstraffic:no";
  // The configuration freezes with the first engine of a process.
  static bool configured = false;
  std::array<char*, 6> argv{program, log, model, gamma, cross, nullptr};
  int argc = configured ? 1 : 5;
  if (configured) argv[1] = nullptr;
  configured = true;
  return std::make_unique<SimgridEngine>(&argc, argv.data());
}

}  // namespace

struct Engine::State {
  explicit State(Engine& engine) : self(engine), simgrid(make_simgrid()) {
    origin = SimgridEngine::get_clock();  // a second engine of one process does not start at 0
  }
  ~State() {
    if (timer != nullptr) timer->remove();
  }

  void need_platform();
  void arm();
  void fire();
  void check_alive();

  Engine& self;
  std::unique_ptr<SimgridEngine> simgrid;
  double origin = 0.0;
  double now = 0.0;
  EventQueue queue;
  Timer* timer = nullptr;
  double timer_date = 0.0;  // of `timer`, on SimGrid's axis
  Timer* firing = nullptr;  // SimGrid deletes it after its callback, unless that throws
  bool stopped = false;
  std::uint64_t events_run = 0;
  std::function<std::string()> explain;
};

// SimGrid does not run without a root zone; without a network nothing has made one.
void Engine::State::need_platform() {
  if (simgrid->get_netzone_root() == nullptr) simgrid::s4u::create_full_zone("nowhere")->seal();
}

void Engine::State::arm() {
  if (queue.empty()) return;
  const double date = std::max(origin + queue.first_date(), SimgridEngine::get_clock());
  if (timer != nullptr) {
    if (timer_date <= date) return;
    timer->remove();
  }
  timer_date = date;
  timer = Timer::set(date, [this] {
    firing = std::exchange(timer, nullptr);
    fire();
    firing = nullptr;
  });
}

void Engine::State::fire() {
  const double clock = SimgridEngine::get_clock();
  check_alive();
  while (!queue.empty() && origin + queue.first_date() <= clock) {
    if (stopped && queue.first_date() > now) break;
    const EventQueue::Event event = queue.pop();
    now = std::max(now, event.date);
    events_run += 1;
    event.callback(event.context);
    if (!stopped) check_alive();
  }
  if (stopped) throw Stopped{};
  arm();
}

void Engine::State::check_alive() {
  if (queue.busy() > 0 || self.held_ > 0) return;
  std::string text = fmt::format("nothing can happen any more after {} s of simulated time", now);
  for (const std::string& part : {explain ? explain() : std::string(), waiting_report(self)}) {
    if (!part.empty()) text += "; " + part;
  }
  throw CannotGoOn(text);
}

Engine::Engine() : state_(std::make_unique<State>(*this)) {}
Engine::~Engine() = default;

double Engine::now() const {
  return state_->now;
}

EventId Engine::at(double date, Callback callback, void* context, bool idle) {
  SKERRY_CHECK(date >= state_->now,
               fmt::format("event for {} s scheduled at {} s", date, state_->now));
  const EventId id = state_->queue.push(date, callback, context, idle);
  if (state_->firing == nullptr) state_->arm();  // else fire() arms at its end
  return id;
}

void Engine::cancel(EventId id) {
  state_->queue.cancel(id);
}

void Engine::run() {
  try {
    if (!state_->stopped) {
      state_->check_alive();
      state_->need_platform();
      state_->arm();
      state_->simgrid->run();
      // SimGrid ran out of timers and flows: whatever is held will never come.
      held_ = 0;
      state_->check_alive();
      SKERRY_CHECK(false, "SimGrid ended with events in the queue");
    }
  } catch (const Stopped&) {
    delete std::exchange(state_->firing, nullptr);
  } catch (...) {
    delete std::exchange(state_->firing, nullptr);
    throw;
  }
  state_->stopped = false;
}

void Engine::stop() {
  state_->stopped = true;
}

void Engine::explain_deadlock(std::function<std::string()> report) {
  state_->explain = std::move(report);
}

std::uint64_t Engine::events_run() const {
  return state_->events_run;
}

void catch_up_with_simgrid(Engine& engine) {
  Engine::State& state = engine.state();
  state.now = std::max(state.now, SimgridEngine::get_clock() - state.origin);
}

}  // namespace skerry
