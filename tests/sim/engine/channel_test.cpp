// Channels and signals.
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/process.hpp"
#include "tests/sim/engine/helpers.hpp"

using namespace skerry;

// ---------------------------------------------------------------- channel

namespace {

Task<void> push_at(Engine& engine, Channel<int>& channel, double date, std::vector<int> values) {
  co_await until(engine, date);
  for (int value : values)
    channel.push(value);
}

}  // namespace

TEST_CASE("a channel gives values in order, to receivers in order of asking") {
  Engine engine;
  Channel<int> channel(engine, "clock");
  std::string out;
  Process a(engine, "a", receive(channel, 2, &out, "a"));
  Process b(engine, "b", receive(channel, 2, &out, "b"));
  Process p(engine, "p", push_at(engine, channel, 1.0, {1, 2, 3, 4}));
  Process end(engine, "end", stop_at(engine, 2.0));
  engine.run();
  // a and b were waiting: 1 and 2 are theirs; a, running first, finds 3 at once; then b has 2,
  // then 4.
  CHECK(out == "a1 a3 b2 b4 ");
  CHECK(channel.empty());
}

TEST_CASE("values wait for a receiver; try_next and clear") {
  Engine engine;
  Channel<int> channel(engine, "box");
  for (int i = 0; i < 4; ++i)
    channel.push(i);
  CHECK_FALSE(channel.empty());
  CHECK(channel.try_next() == 0);
  std::string out;
  Process a(engine, "a", receive(channel, 1, &out, ""));
  Process end(engine, "end", stop_at(engine, 1.0));
  engine.run();
  CHECK(out == "1 ");
  channel.clear();
  CHECK(channel.empty());
  CHECK(channel.try_next() == std::nullopt);
}

TEST_CASE("values that cannot be copied or made by default pass through a channel") {
  struct Parcel {
    explicit Parcel(int v) : value(std::make_unique<int>(v)) {}
    std::unique_ptr<int> value;
  };
  Engine engine;
  Channel<Parcel> channel(engine, "parcels");
  const auto body = [](Engine& e, Channel<Parcel>& from, int* out) -> Task<void> {
    *out = *(co_await from.next()).value;
    e.stop();
  };
  int out = 0;
  Process a(engine, "a", body(engine, channel, &out));
  const auto push = [](Engine& e, Channel<Parcel>& to) -> Task<void> {
    co_await until(e, 1.0);
    to.push(Parcel(7));
    to.push(Parcel(8));
    to.clear();  // the 7 is on its way, the 8 goes
  };
  Process b(engine, "b", push(engine, channel));
  engine.run();
  CHECK(out == 7);
  CHECK(channel.empty());
}

TEST_CASE(
    "a value for a receiver that is killed before it ran goes to the next in line, in order") {
  Engine engine;
  Channel<int> channel(engine, "clock");
  std::string out;
  Process a(engine, "a", receive(channel, 1, &out, "a"));
  Process b(engine, "b", receive(channel, 1, &out, "b"));
  Process c(engine, "c", receive(channel, 2, &out, "c"));
  const auto body = [](Engine& e, Channel<int>& to, Process* victim) -> Task<void> {
    co_await until(e, 1.0);
    to.push(1);
    to.push(2);
    victim->kill();
    CHECK(to.empty());
    CHECK(to.try_next() == std::nullopt);
    co_await until(e, 2.0);
    to.push(3);
    co_await until(e, 3.0);
    e.stop();
  };
  Process d(engine, "d", body(engine, channel, &a));
  engine.run();
  CHECK(out == "b1 c2 c3 ");
}

TEST_CASE("a killed waiter leaves the line") {
  Engine engine;
  Channel<int> channel(engine, "clock");
  Signal signal(engine, "bell");
  std::string out;
  Process a(engine, "a", receive(channel, 1, &out, "a"));
  const auto listen = [](Signal& s) -> Task<void> { co_await s.wait(); };
  Process b(engine, "b", listen(signal));
  const auto body = [](Engine& e, Channel<int>& to, Signal& s, Process* x,
                       Process* y) -> Task<void> {
    co_await until(e, 1.0);
    CHECK(waiting_report(e) == "a waits for clock; b waits for bell");
    x->kill();
    y->kill();
    to.push(5);
    s.notify();
    CHECK(waiting_report(e).empty());
    e.stop();
  };
  Process c(engine, "c", body(engine, channel, signal, &a, &b));
  engine.run();
  CHECK(out.empty());
  CHECK(channel.try_next() == 5);
}

// ---------------------------------------------------------------- signal

namespace {

Task<void> listen(Engine& engine, Signal& signal, double date, std::string* out, std::string tag) {
  const bool came = co_await signal.until_or(date);
  *out += fmt::format("{}{}{} ", tag, came ? "+" : "-", engine.now());
}

Task<void> notify_at(Engine& engine, Signal& signal, double date) {
  co_await until(engine, date);
  signal.notify();
}

}  // namespace

TEST_CASE("a signal wakes all that wait now; until_or tells who came first") {
  Engine engine;
  Signal signal(engine, "bell");
  std::string out;
  Process a(engine, "a", listen(engine, signal, 9.0, &out, "a"));
  Process b(engine, "b", listen(engine, signal, 2.0, &out, "b"));
  Process c(engine, "c", listen(engine, signal, kNever, &out, "c"));
  Process d(engine, "d", listen(engine, signal, -1.0, &out, "d"));
  Process n(engine, "n", notify_at(engine, signal, 3.0));
  Process end(engine, "end", stop_at(engine, 20.0));
  engine.run();
  CHECK(out == "d-0 b-2 a+3 c+3 ");
  CHECK(waiting_report(engine).empty());
}

TEST_CASE("signal and deadline of one date: the one that stands first in the queue wins") {
  Engine engine;
  Signal signal(engine, "bell");
  std::string out;
  // The deadline of a is scheduled before n's date, that of b after it.
  Process a(engine, "a", listen(engine, signal, 5.0, &out, "a"));
  Process n(engine, "n", notify_at(engine, signal, 5.0));
  Process b(engine, "b", listen(engine, signal, 5.0, &out, "b"));
  Process end(engine, "end", stop_at(engine, 6.0));
  engine.run();
  CHECK(out == "a-5 b+5 ");
}

TEST_CASE("a notification with nobody waiting is lost") {
  Engine engine;
  Signal signal(engine, "bell");
  signal.notify();
  std::string out;
  Process a(engine, "a", listen(engine, signal, 1.0, &out, "a"));
  Process end(engine, "end", stop_at(engine, 2.0));
  engine.run();
  CHECK(out == "a-1 ");
}
