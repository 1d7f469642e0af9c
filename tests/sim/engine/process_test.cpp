#include "sim/engine/process.hpp"

#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/engine/helpers.hpp"

using namespace skerry;

namespace {

using Dates = std::vector<double>;

Task<void> ticks(Engine& engine, double period, int n, Dates* seen) {
  for (int i = 1; i <= n; ++i) {
    co_await until(engine, period * i);
    seen->push_back(engine.now());
  }
}

Task<void> fail_at(Engine& engine, double date, std::string what) {
  co_await until(engine, date);
  throw std::runtime_error(what);
}

Task<double> doubled(Engine& engine, double value) {
  co_await until(engine, engine.now() + value);
  co_return 2.0 * value;
}

Task<std::string> failing_value(Engine& engine) {
  co_await until(engine, engine.now());
  throw std::runtime_error("no value");
}

// Leaves a mark when the frame that holds it is destroyed.
struct Mark {
  Mark(std::string* where, char letter) : where_(where), letter_(letter) {}
  ~Mark() { where_->push_back(letter_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  std::string* where_;
  char letter_;
};

Task<void> marked(Engine& engine, double date, std::string* where, char letter) {
  const Mark mark(where, letter);
  co_await until(engine, date);
  where->push_back(static_cast<char>(letter - 'a' + 'A'));
}

Task<void> marked_twice(Engine& engine, double date, std::string* where) {
  const Mark mark(where, 'x');
  co_await marked(engine, date, where, 'a');
}

}  // namespace

TEST_CASE("a process starts through the queue and steps at exact dates") {
  Engine engine;
  Dates seen;
  Process a(engine, "a", ticks(engine, 6.99, 3, &seen));
  Process end(engine, "end", stop_at(engine, 30.0));
  CHECK_FALSE(a.done());
  CHECK(seen.empty());
  engine.run();
  CHECK(seen == Dates{6.99, 6.99 * 2, 6.99 * 3});
  CHECK(a.done());
  CHECK(a.name() == "a");
}

TEST_CASE("an empty process is done; kill is idempotent and a moved process stays alive") {
  Process empty;
  CHECK(empty.done());
  empty.kill();
  Engine engine;
  Dates seen;
  Process first(engine, "first", ticks(engine, 1.0, 2, &seen));
  Process second = std::move(first);
  CHECK(second.name() == "first");
  Process end(engine, "end", stop_at(engine, 5.0));
  engine.run();
  CHECK(seen.size() == 2);
  second.kill();
  second.kill();
  CHECK(second.done());
}

TEST_CASE("until a past date still goes through the queue") {
  Engine engine;
  std::string order;
  const auto one = [](Engine& e, std::string* out) -> Task<void> {
    co_await until(e, 1.0);
    out->push_back('a');
    co_await until(e, 0.5);
    out->push_back('c');
    CHECK(e.now() == 1.0);
  };
  const auto two = [](Engine& e, std::string* out) -> Task<void> {
    co_await until(e, 1.0);
    out->push_back('b');
  };
  Process a(engine, "a", one(engine, &order));
  Process b(engine, "b", two(engine, &order));
  Process end(engine, "end", stop_at(engine, 2.0));
  engine.run();
  CHECK(order == "abc");
}

TEST_CASE("tasks nest, give values, and pass errors up") {
  Engine engine;
  const auto body = [](Engine& e, std::string* out) -> Task<void> {
    const double four = co_await doubled(e, 2.0);
    Task<double> later = doubled(e, four);
    *out += fmt::format("{}", co_await std::move(later));
    try {
      *out += co_await failing_value(e);
    } catch (const std::runtime_error& error) {
      *out += error.what();
    }
    CHECK(e.now() == 6.0);  // 2 + 4 + 0
  };
  std::string out;
  Process a(engine, "a", body(engine, &out));
  Process end(engine, "end", stop_at(engine, 9.0));
  engine.run();
  CHECK(out == "8no value");
}

TEST_CASE("an exception that leaves a root task comes out of run()") {
  Engine engine;
  Process a(engine, "a", fail_at(engine, 3.0, "broken"));
  Process end(engine, "end", stop_at(engine, 9.0));
  CHECK_THROWS_WITH_AS(engine.run(), "broken", std::runtime_error);
  CHECK(engine.now() == 3.0);
  CHECK(a.done());
}

TEST_CASE("a kill destroys nested frames, innermost last awaited, and takes their events away") {
  Engine engine;
  std::string where;
  Process victim(engine, "victim", marked_twice(engine, 5.0, &where));
  const auto killer = [](Engine& e, Process* target, std::string* out) -> Task<void> {
    co_await until(e, 2.0);
    target->kill();
    out->push_back('!');
    co_await until(e, 9.0);
    e.stop();
  };
  Process b(engine, "killer", killer(engine, &victim, &where));
  engine.run();
  CHECK(where == "ax!");
}

TEST_CASE("a process killed before it started never runs") {
  Engine engine;
  Dates seen;
  { Process a(engine, "a", ticks(engine, 1.0, 1, &seen)); }
  Process end(engine, "end", stop_at(engine, 5.0));
  engine.run();
  CHECK(seen.empty());
}

TEST_CASE("a process may not kill itself") {
  Engine engine;
  Process suicide;
  const auto body = [](Engine& e, Process* self) -> Task<void> {
    co_await until(e, 1.0);
    self->kill();
  };
  suicide = Process(engine, "suicide", body(engine, &suicide));
  CHECK_THROWS_AS(engine.run(), Bug);
}

// ---------------------------------------------------------------- several at once

namespace {

Task<void> all(Engine& engine, std::vector<double> dates, double* end) {
  std::vector<Task<void>> children;
  for (double date : dates)
    children.push_back(wait_until(engine, date));
  co_await all_of(engine, std::move(children));
  *end = engine.now();
}

}  // namespace

TEST_CASE("all_of ends with the last") {
  Engine engine;
  double end_a = -1.0, end_b = -1.0;
  Process a(engine, "a", all(engine, {3.0, 7.0, 5.0}, &end_a));
  Process b(engine, "b", all(engine, {}, &end_b));
  Process end(engine, "end", stop_at(engine, 8.0));
  engine.run();
  CHECK(end_a == 7.0);
  CHECK(end_b == 0.0);
}

TEST_CASE("children that end without suspending") {
  Engine engine;
  const auto nothing = []() -> Task<void> { co_return; };
  const auto body = [](Engine& e, std::vector<Task<void>> some, std::vector<Task<void>> any,
                       std::size_t* first) -> Task<void> {
    co_await all_of(e, std::move(some));
    *first = co_await any_of(e, std::move(any));
    CHECK(e.now() == 0.0);
    e.stop();
  };
  std::vector<Task<void>> some, any;
  some.push_back(nothing());
  some.push_back(nothing());
  any.push_back(wait_until(engine, 1.0));
  any.push_back(nothing());
  any.push_back(wait_until(engine, 2.0));
  std::size_t first = 9;
  Process a(engine, "a", body(engine, std::move(some), std::move(any), &first));
  engine.run();
  CHECK(first == 1);
}

TEST_CASE("any_of gives the first, kills the others") {
  Engine engine;
  std::string where;
  const auto body = [](Engine& e, std::string* out) -> Task<void> {
    std::vector<Task<void>> children;
    children.push_back(marked(e, 9.0, out, 'a'));
    children.push_back(marked(e, 4.0, out, 'b'));
    children.push_back(marked(e, 9.0, out, 'c'));
    const std::size_t first = co_await any_of(e, std::move(children));
    *out += fmt::format("{}@{}", first, e.now());
    co_await until(e, 20.0);
    e.stop();
  };
  Process a(engine, "a", body(engine, &where));
  engine.run();
  CHECK(where == "Bbac1@4");
}

TEST_CASE("errors of children reach the awaiting coroutine and kill the others") {
  for (bool any : {false, true}) {
    Engine engine;
    std::string where;
    const auto body = [](Engine& e, std::string* out, bool first_ends) -> Task<void> {
      std::vector<Task<void>> children;
      children.push_back(marked(e, 9.0, out, 'a'));
      children.push_back(fail_at(e, 2.0, "two"));
      children.push_back(fail_at(e, 3.0, "three"));
      try {
        if (first_ends) {
          co_await any_of(e, std::move(children));
        } else {
          co_await all_of(e, std::move(children));
        }
      } catch (const std::runtime_error& error) {
        *out += error.what();
      }
      CHECK(e.now() == 2.0);
    };
    Process a(engine, "a", body(engine, &where, any));
    Process end(engine, "end", stop_at(engine, 20.0));
    engine.run();
    CHECK(where == "atwo");
  }
}

TEST_CASE("any_of without children is a bug") {
  Engine engine;
  const auto body = [](Engine& e) -> Task<void> { co_await any_of(e, {}); };
  Process a(engine, "a", body(engine));
  CHECK_THROWS_AS(engine.run(), Bug);
}

TEST_CASE("a kill reaches the children of all_of and any_of, waiting or just woken") {
  for (bool woken : {false, true}) {
    Engine engine;
    Channel<int> channel(engine, "clock");
    std::string out, where;
    const auto body = [](Engine& e, Channel<int>& c, std::string* o, std::string* w) -> Task<void> {
      std::vector<Task<void>> inner, outer;
      inner.push_back(receive(c, 1, o, "a"));
      inner.push_back(marked(e, 9.0, w, 'b'));
      const auto nest = [](Engine& en, std::vector<Task<void>> children) -> Task<void> {
        co_await any_of(en, std::move(children));
      };
      outer.push_back(nest(e, std::move(inner)));
      outer.push_back(marked(e, 9.0, w, 'c'));
      co_await all_of(e, std::move(outer));
    };
    Process a(engine, "a", body(engine, channel, &out, &where));
    const auto killer = [](Engine& e, Channel<int>& c, Process* victim, bool push) -> Task<void> {
      co_await until(e, 1.0);
      CHECK(waiting_report(e) == "a waits for clock");
      if (push) c.push(3);
      victim->kill();
      co_await until(e, 20.0);
      e.stop();
    };
    Process b(engine, "b", killer(engine, channel, &a, woken));
    engine.run();
    CHECK(out.empty());
    CHECK(where == "bc");
    CHECK(channel.empty() == !woken);  // a value that was on its way is not lost
  }
}

TEST_CASE("a deadlock names who waits for what") {
  Engine engine;
  Channel<int> clock(engine, "clock");
  Signal repair(engine, "repair of us-east5");
  std::string out;
  const auto ask = [](Signal& s) -> Task<void> { co_await s.wait(); };
  Process a(engine, "west.1", receive(clock, 1, &out, ""));
  Process b(engine, "syncer", ask(repair));
  Process c(engine, "west.2", receive(clock, 1, &out, ""));
  Process d(engine, "east.1", wait_until(engine, kNever));
  CHECK_THROWS_WITH_AS(engine.run(),
                       "nothing can happen any more after 0 s of simulated time; west.1 waits for "
                       "clock; west.2 waits for clock; syncer waits for repair of us-east5",
                       CannotGoOn);
}

TEST_CASE("a thousand processes in a ring pass a token, deterministically") {
  Engine engine;
  std::deque<Channel<int>> channels;
  std::vector<Process> processes;
  constexpr int kProcesses = 1000;
  for (int i = 0; i < kProcesses; ++i)
    channels.emplace_back(engine, fmt::format("c{}", i));
  const auto body = [](Engine& e, Channel<int>& in, Channel<int>& out) -> Task<void> {
    for (;;) {
      const int token = co_await in.next();
      if (token == 5000) e.stop();
      co_await until(e, e.now() + 0.25);
      out.push(token + 1);
    }
  };
  for (std::size_t i = 0; i < kProcesses; ++i) {
    processes.emplace_back(engine, fmt::format("p{}", i),
                           body(engine, channels[i], channels[(i + 1) % kProcesses]));
  }
  channels[0].push(0);
  engine.run();
  CHECK(engine.now() == 1250.0);  // 5,000 hops of 0.25 s
}
