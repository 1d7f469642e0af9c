#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "sim/engine/engine.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <simgrid/engine.h>
#include <simgrid/version.h>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/queue.hpp"

using namespace skerry;

namespace {

// An event that runs a function, and lives as long as the test.
struct Act {
  std::function<void()> f;
  static void run(void* self) { static_cast<Act*>(self)->f(); }
};

}  // namespace

TEST_CASE("SimGrid is the version whose behaviour this folder relies on") {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  CHECK(major == 3);
  CHECK(minor == 32);
}

TEST_CASE("events run by date, equal dates in the order of scheduling") {
  Engine engine;
  std::vector<int> order;
  std::vector<Act> acts;
  for (int i = 0; i < 9; ++i)
    acts.push_back({[&order, i] { order.push_back(i); }});
  Act end{[&engine] { engine.stop(); }};
  engine.at(3.0, &Act::run, &end);
  const std::vector<double> dates{1, 2, 1, 0, 1, 2, 1, 1, 0};
  for (std::size_t i = 0; i < dates.size(); ++i)
    engine.at(dates[i], &Act::run, &acts[i]);
  engine.run();
  CHECK(order == std::vector<int>{3, 8, 0, 2, 4, 6, 7, 1, 5});
  CHECK(engine.events_run() == 10);
  CHECK(engine.now() == 3.0);
}

TEST_CASE("an event scheduled for now runs after those that stand there already") {
  Engine engine;
  std::string order;
  Act late{[&] { order += "c"; }};
  Act first{[&] {
    order += "a";
    engine.at(engine.now(), &Act::run, &late);
  }};
  Act second{[&] { order += "b"; }};
  Act end{[&] { engine.stop(); }};
  engine.at(1.0, &Act::run, &first);
  engine.at(1.0, &Act::run, &second);
  engine.at(1.5, &Act::run, &end);
  engine.run();
  CHECK(order == "abc");
}

TEST_CASE("now() is exactly the scheduled date: 10,000 steps of 6.99 s") {
  Engine engine;
  double expected = 0.0;
  int left = 10000;
  bool exact = true;
  Act step{[&] {
    exact = exact && engine.now() == expected;
    left -= 1;
    expected += 6.99;
    if (left == 0) return engine.stop();
    engine.at(expected, &Act::run, &step);
  }};
  engine.at(0.0, &Act::run, &step);
  engine.run();
  CHECK(exact);
  CHECK(left == 0);
}

TEST_CASE("dates closer than SimGrid's precision, and after a long time, keep date and order") {
  Engine engine;
  std::vector<double> seen;
  Act look{[&] { seen.push_back(engine.now()); }};
  const double far = 1e9;
  std::vector<double> dates{1.0,
                            1.0 + 4e-10,
                            1.0 + 8e-10,
                            2.0,
                            std::nextafter(2.0, 3.0),
                            far,
                            std::nextafter(far, 2 * far)};
  for (std::size_t i = dates.size(); i-- > 0;)
    engine.at(dates[i], &Act::run, &look);
  Act end{[&] { engine.stop(); }};
  engine.at(2 * far, &Act::run, &end);
  engine.run();
  CHECK(seen == dates);
}

TEST_CASE("a cancelled event does not run; cancelling again, or after it ran, is harmless") {
  Engine engine;
  int runs = 0;
  Act count{[&] { runs += 1; }};
  const EventId first = engine.at(1.0, &Act::run, &count);
  const EventId second = engine.at(2.0, &Act::run, &count);
  engine.cancel(first);
  engine.cancel(first);
  engine.cancel(EventId{});
  // The new event takes the slot of the old one; the old name must not reach it.
  engine.at(1.0, &Act::run, &count);
  engine.cancel(first);
  Act end{[&] {
    engine.cancel(second);
    engine.stop();
  }};
  engine.at(3.0, &Act::run, &end);
  engine.run();
  CHECK(runs == 2);
}

TEST_CASE("dates before now and NaN are bugs") {
  Engine engine;
  int refused = 0;
  Act nothing{[] {}};
  Act bad{[&] {
    for (double date : {0.5, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
      try {
        engine.at(date, &Act::run, &nothing);
      } catch (const Bug&) {
        refused += 1;
      }
    }
    engine.stop();
  }};
  engine.at(1.0, &Act::run, &bad);
  engine.run();
  CHECK(refused == 3);
}

TEST_CASE("run ends with CannotGoOn when only idle events are left") {
  Engine engine;
  int busy = 0, idle = 0;
  Act count_busy{[&] { busy += 1; }};
  Act count_idle{[&] { idle += 1; }};
  engine.explain_deadlock([] { return std::string("learner west.1 waits for a miracle"); });
  engine.at(1.0, &Act::run, &count_idle, true);
  engine.at(2.0, &Act::run, &count_busy);
  engine.at(3.0, &Act::run, &count_idle, true);
  engine.at(kNever, &Act::run, &count_busy);
  CHECK_THROWS_WITH_AS(engine.run(),
                       "nothing can happen any more after 2 s of simulated time; learner west.1 "
                       "waits for a miracle",
                       CannotGoOn);
  CHECK(busy == 1);
  CHECK(idle == 1);
}

TEST_CASE("what is held keeps the simulation alive through idle events") {
  Engine engine;
  int idle = 0;
  Act tick{[&] {
    idle += 1;
    if (idle == 3) engine.release();
  }};
  engine.hold();
  for (int i = 1; i <= 5; ++i)
    engine.at(i, &Act::run, &tick, true);
  CHECK_THROWS_AS(engine.run(), CannotGoOn);
  CHECK(idle == 3);
}

TEST_CASE("an empty engine cannot go on; a held one that nothing moves neither") {
  {
    Engine engine;
    CHECK_THROWS_AS(engine.run(), CannotGoOn);
  }
  Engine engine;
  engine.hold();
  CHECK_THROWS_AS(engine.run(), CannotGoOn);
}

TEST_CASE("an infinite date can be cancelled and never comes") {
  Engine engine;
  bool came = false;
  Act never{[&] { came = true; }};
  const EventId id = engine.at(kNever, &Act::run, &never);
  engine.at(kNever, &Act::run, &never);
  engine.cancel(id);
  Act end{[&] { engine.stop(); }};
  engine.at(1e12, &Act::run, &end);
  engine.run();
  CHECK_FALSE(came);
}

TEST_CASE("exceptions of callbacks come out of run() unchanged, and run() can go on") {
  Engine engine;
  struct Odd {
    int value;
  };
  Act bad{[] { throw Odd{42}; }};
  Act end{[&] { engine.stop(); }};
  engine.at(1.0, &Act::run, &bad);
  engine.at(1.0, &Act::run, &end);
  int seen = 0;
  try {
    engine.run();
  } catch (const Odd& odd) {
    seen = odd.value;
  }
  CHECK(seen == 42);
  engine.run();
  CHECK(engine.now() == 1.0);
}

TEST_CASE("stop() lets the events of its date run, also those made then, and no later one") {
  Engine engine;
  std::string order;
  Act made{[&] { order += "c"; }};
  Act same{[&] {
    order += "b";
    engine.at(engine.now(), &Act::run, &made);
  }};
  Act stop{[&] {
    order += "a";
    engine.stop();
  }};
  Act later{[&] {
    order += "d";
    engine.stop();
  }};
  engine.at(1.0, &Act::run, &stop);
  engine.at(1.0, &Act::run, &same);
  // So near that SimGrid's clock reaches both at once.
  engine.at(std::nextafter(1.0, 2.0), &Act::run, &later);
  engine.run();
  CHECK(order == "abc");
  CHECK(engine.now() == 1.0);
  engine.run();
  CHECK(order == "abcd");
}

TEST_CASE("each engine of one process begins at 0") {
  for (double date : {10.3, 7.1, 0.2}) {
    Engine engine;
    CHECK(engine.now() == 0.0);
    double seen = -1.0;
    Act look{[&] {
      seen = engine.now();
      engine.stop();
    }};
    engine.at(date, &Act::run, &look);
    engine.run();
    CHECK(seen == date);
  }
}

TEST_CASE("the queue agrees with a sorted list under random pushes and cancels") {
  RandomStream random(7, "test.queue", 0);
  EventQueue queue;
  struct Line {
    double date;
    std::size_t number;
    EventId id;
  };
  std::vector<Line> lines;  // in order of pushing
  std::size_t pushed = 0, popped = 0;
  std::vector<std::size_t> numbers(20000);
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t what = random.below(10);
    if (what < 5 || lines.empty()) {
      numbers[pushed] = pushed;
      const double date = static_cast<double>(random.below(50));
      lines.push_back({date, pushed, queue.push(date, nullptr, &numbers[pushed], what == 0)});
      pushed += 1;
    } else if (what < 7) {
      const std::size_t victim = random.below(lines.size());
      queue.cancel(lines[victim].id);
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      std::size_t least = 0;
      for (std::size_t i = 1; i < lines.size(); ++i) {
        if (lines[i].date < lines[least].date) least = i;
      }
      REQUIRE(queue.first_date() == lines[least].date);
      REQUIRE(*static_cast<std::size_t*>(queue.pop().context) == lines[least].number);
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(least));
      popped += 1;
    }
    REQUIRE(queue.empty() == lines.empty());
  }
  CHECK(popped > 1000);
}
