// Capacity that changes, cuts, and processes that are killed in mid-transfer.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/sim/net/lab.hpp"

using namespace skerry;

namespace {

constexpr double kGbps = 125e6;  // bytes/s

Scenario two_regions(double gbps) {
  return mesh({gbps * kGbps, kUnlimited}, {kUnlimited, kUnlimited}, 0.0);
}

}  // namespace

TEST_CASE("56 Gbit at 2 Gbit/s; at 10 s the port halves, or is cut for 30 s") {
  // Alone 28 s; 20 Gbit are through at 10 s.
  struct Case {
    double factor;
    double back_s;
    CutTransfer on_cut;
    double end_s;
    double port_bytes;
  };
  for (const Case& c : {
           Case{0.5, kNever, CutTransfer::kResume, 10 + 36, 7e9},   // 36 Gbit at 1
           Case{0.0, 40.0, CutTransfer::kResume, 40 + 18, 7e9},     // 36 Gbit at 2
           Case{0.0, 40.0, CutTransfer::kRestart, 40 + 28, 9.5e9},  // all again: 2.5 GB twice
       }) {
    Lab lab(two_regions(2), c.on_cut);
    lab.move(0.0, 0, 1, 7e9);
    lab.change(10.0, port(0, kUp), c.factor);
    lab.change(c.back_s, port(0, kUp), 1.0);
    lab.run(100.0);
    CHECK(lab.ends[0] == about(c.end_s));
    CHECK(lab.wire("a.up").bytes == c.port_bytes);
    CHECK(lab.wire("a>b").bytes == c.port_bytes);
  }
}

TEST_CASE("capacity above the nominal helps running flows too; capacity × time is exact") {
  Lab lab(two_regions(1));
  lab.move(0.0, 0, 1, 10 * kGbps);
  lab.change(2.0, port(0, kUp), 3.0);
  lab.change(3.0, port(0, kUp), 0.5);
  lab.run(20.0);
  // 10 Gbit: 2 by 2 s, 3 more by 3 s, 5 left at 0.5 Gbit/s.
  CHECK(lab.ends[0] == about(13.0));
  // 2·1 + 1·3 + 17·0.5 = 13.5 Gbit
  CHECK(lab.wire("a.up").capacity_bytes == 13.5 * kGbps);
  CHECK(lab.net.epoch() == 2);
}

TEST_CASE("a new share after a change, for all flows of the port") {
  Lab lab(mesh({4 * kGbps, kUnlimited, kUnlimited}, {kUnlimited, 1 * kGbps, kUnlimited}, 0.0));
  lab.move(0.0, 0, 1, 5 * kGbps);   // b.down allows 1
  lab.move(0.0, 0, 2, 11 * kGbps);  // the other 3
  lab.change(2.0, port(0, kUp), 0.25);
  lab.change(6.0, port(1, kDown), 2.0);
  lab.change(6.0, port(0, kUp), 1.0);
  lab.run(100.0);
  // At 2 s: 3 and 5 Gbit left. Then 0.5 each until 6 s: 1 and 3 left. Then b.down gives 2, the
  // other has 2: the first ends at 6.5 s with 2 left of the second, which has 4 then: 7 s.
  CHECK(lab.ends[0] == about(6.5));
  CHECK(lab.ends[1] == about(7.0));
}

TEST_CASE("a cut link stops its own pair only, and its share is free at once") {
  // Link a>b has no capacity of its own: it can only be cut.
  Lab lab(mesh({2 * kGbps, kUnlimited, kUnlimited}, {kUnlimited, kUnlimited, kUnlimited}, 0.0));
  lab.move(0.0, 0, 1, 4 * kGbps);
  lab.move(0.0, 0, 2, 4 * kGbps);
  lab.change(1.0, link(0), 0.0);
  lab.change(5.0, link(0), 1.0);
  lab.run(100.0);
  // 1 Gbit each at 1 s; a>c has 3 left at 2: 2.5 s. a>b goes on at 5 s, 3 left at 2: 6.5 s.
  CHECK(lab.ends[1] == about(2.5));
  CHECK(lab.ends[0] == about(6.5));
  CHECK(lab.wire("a.up").bytes == 8 * kGbps);
}

TEST_CASE("two faults on one path: it is up when both are repaired") {
  Lab lab(two_regions(1));
  lab.move(0.0, 0, 1, 4 * kGbps);
  lab.change(1.0, port(0, kUp), 0.0);
  lab.change(2.0, port(1, kDown), 0.0);
  lab.change(3.0, port(0, kUp), 1.0);
  lab.change(7.0, port(1, kDown), 1.0);
  const auto look = [](Engine& e, Network& net) -> Task<void> {
    for (const auto& [date, up] : std::vector<std::pair<double, bool>>{
             {0.5, true}, {1.5, false}, {4.0, false}, {8.0, true}}) {
      co_await until(e, date);
      CHECK(net.path_up(0, 1) == up);
      CHECK(net.path_up(1, 0));
      CHECK(net.path_up(1, 1));
    }
  };
  Process p(lab.engine, "look", look(lab.engine, lab.net));
  lab.run(100.0);
  CHECK(lab.ends[0] == about(10.0));
}

TEST_CASE("a transfer whose lead ends on a cut path waits; unlimited paths can be cut too") {
  for (double bps : {kGbps, kUnlimited}) {
    Lab lab(mesh({bps, kUnlimited}, {kUnlimited, kUnlimited}, 1.0));
    lab.move(0.0, 0, 1, kGbps);
    lab.change(0.5, port(1, kDown), 0.0);
    lab.change(3.0, port(1, kDown), 1.0);
    lab.change(3.0, port(1, kDown), 1.0);
    lab.run(100.0);
    CHECK(lab.ends[0] == about(bps == kGbps ? 4.0 : 3.0));
    CHECK(lab.wire("a>b").bytes == kGbps);
  }
}

TEST_CASE("a cut at the date at which a flow ends finds it ended") {
  for (CutTransfer rule : {CutTransfer::kResume, CutTransfer::kRestart}) {
    Lab lab(two_regions(1), rule);
    lab.move(0.1, 0, 1, 3 * kGbps);
    lab.change(3.1, port(0, kUp), 0.0);
    lab.run(100.0);
    CHECK(lab.ends[0] == about(3.1));
    CHECK(lab.wire("a.up").bytes == 3 * kGbps);
  }
}

TEST_CASE("cut and repair at one date change nothing; many cuts lose and double no byte") {
  Lab lab(mesh({kGbps, kUnlimited, kUnlimited}, {kUnlimited, kUnlimited, kUnlimited}, 0.0));
  lab.move(0.0, 0, 1, 1e9);
  lab.move(0.0, 0, 2, 1e9 + 1);
  for (int i = 1; i < 50; ++i) {
    lab.change(0.1 * i, port(0, kUp), 0.0);
    lab.change(0.1 * i, port(0, kUp), 1.0);
  }
  lab.run(100.0);
  // 2e9 + 1 bytes at 125e6 bytes/s; each cut may put off one unfinished byte of each flow (8 ns).
  CHECK(lab.ends[0] == doctest::Approx(16.0).epsilon(1e-7));
  CHECK(lab.ends[1] == doctest::Approx(16.0).epsilon(1e-7));
  CHECK(lab.wire("a.up").bytes == 2e9 + 1);
  CHECK(lab.wire("a>b").bytes == 1e9);
  CHECK(lab.wire("a>c").bytes == 1e9 + 1);
}

TEST_CASE("factors that cannot be meant are bugs") {
  Scenario scenario = two_regions(1);
  Lab lab(scenario);
  CHECK_THROWS_AS(lab.net.set_factor(port(0, kUp), -0.5), Bug);
  CHECK_THROWS_AS(lab.net.set_factor(port(0, kUp), kNever), Bug);
  CHECK_THROWS_AS(lab.net.set_factor(port(0, kDown), 0.5), Bug);  // no capacity to scale
  CHECK_THROWS_AS(lab.net.set_factor(link(0), 0.5), Bug);
  CHECK_THROWS_AS(lab.net.set_factor(link(2), 0.0), Bug);
  CHECK_THROWS_AS(lab.net.set_factor(port(2, kUp), 0.0), Bug);
  CHECK_THROWS_AS(lab.net.set_factor({TargetKind::kRegion, 0, 0}, 0.0), Bug);
  CHECK(lab.net.epoch() == 0);
}

// ---------------------------------------------------------------- kills

TEST_CASE("a kill in the lead or in the flow frees the share at once; what moved stays counted") {
  struct Case {
    double kill_s;
    double other_end_s;
    double bytes;
  };
  // Two flows of 1 GB over 250 MB/s, latency 30 ms. Killed in its lead or at its start, the first
  // leaves the other alone: 4.03 s. Killed at 1.03 s, with 125 MB of each through: 875 MB are
  // left, 4.53 s.
  for (const Case& c : {Case{0.01, 4.03, 0.0}, Case{0.03, 4.03, 0.0}, Case{1.03, 4.53, 125e6}}) {
    Lab lab(mesh({2 * kGbps, kUnlimited, kUnlimited}, {kUnlimited, kUnlimited, kUnlimited}, 0.03));
    lab.move(0.0, 0, 1, 1e9);
    lab.move(0.0, 0, 2, 1e9);
    lab.kill(c.kill_s, 0);
    lab.run(100.0);
    CHECK(lab.ends[0] == -1.0);
    CHECK(lab.ends[1] == about(c.other_end_s));
    CHECK(lab.wire("a.up").bytes == about(1e9 + c.bytes));
    if (c.bytes > 0.0) CHECK(lab.wire("a>b").bytes == about(c.bytes));
  }
}

TEST_CASE("a kill while the path is cut: the flow does not come back with it") {
  Lab lab(mesh({2 * kGbps, kUnlimited, kUnlimited}, {kUnlimited, kUnlimited, kUnlimited}, 0.0));
  lab.move(0.0, 0, 1, 1e9);
  lab.move(0.0, 0, 2, 2e9);
  lab.change(1.0, link(0), 0.0);
  lab.kill(2.0, 0);
  lab.change(3.0, link(0), 1.0);
  lab.run(100.0);
  CHECK(lab.ends[0] == -1.0);
  CHECK(lab.ends[1] == about(8.5));  // 125 MB by 1 s, 1,875 MB left at 250 MB/s
  CHECK(lab.wire("a>b").bytes == 125e6);
}

TEST_CASE("a kill between the end of the flow and its process: nothing happens, all bytes count") {
  Lab lab(mesh({2 * kGbps, kUnlimited, kUnlimited}, {kUnlimited, kUnlimited, kUnlimited}, 0.0));
  // Three flows end at one date; the one that is woken first kills the other two.
  int woken = 0;
  const auto body = [](Engine& e, Network& net, std::deque<Process>& all, std::size_t self,
                       int* count) -> Task<void> {
    co_await net.transfer(0, self == 0 ? 1 : 2, 1e9);
    CHECK(e.now() == about(12.0));
    *count += 1;
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != self) all[i].kill();
    }
  };
  for (std::size_t i = 0; i < 3; ++i) {
    lab.processes.emplace_back(lab.engine, "p",
                               body(lab.engine, lab.net, lab.processes, i, &woken));
  }
  lab.run(100.0);
  CHECK(woken == 1);
  CHECK(lab.wire("a.up").bytes == 3e9);
}

TEST_CASE("a kill in the middle of a collective takes all its flows away") {
  Lab lab(mesh({1 * kGbps, 1 * kGbps, kUnlimited}, {kUnlimited, kUnlimited, kUnlimited}, 0.0));
  double end = -1.0;
  // a>b ends at 1 s, b>c runs, c>a is cut when the kill comes at 2 s.
  const Collective what{.lead_s = 0.0,
                        .first = {{0, 1, kGbps}, {1, 2, 9 * kGbps}, {2, 0, 1e9}},
                        .second = {{0, 2, 1e9}}};
  lab.net.set_factor(port(0, kDown), 0.0);
  lab.processes.emplace_back(lab.engine, "ring", run_collective(lab.engine, lab.net, what, &end));
  lab.kill(2.0, 0);
  lab.change(3.0, port(0, kDown), 1.0);
  lab.move(2.0, 1, 0, kGbps);
  lab.run(100.0);
  CHECK(end == -1.0);
  CHECK(lab.ends[0] == about(4.0));  // waits for the repair of a.down, then has b.up alone
  CHECK(lab.wire("b>c").bytes == 2 * kGbps);
  CHECK(lab.wire("a>b").bytes == kGbps);
  CHECK(lab.wire("c>a").bytes == 0.0);
}

TEST_CASE("a flow that is cut, killed or ended ten thousand times leaves nothing behind") {
  Lab lab(mesh({kGbps, kUnlimited}, {kUnlimited, kUnlimited}, 0.0));
  const auto churn = [](Engine& e, Network& net, Process* victim) -> Task<void> {
    for (int i = 0; i < 3000; ++i) {
      double end = -1.0;
      *victim = Process(e, "victim", move_at(e, net, e.now(), 0, 1, 1e9, &end));
      co_await until(e, e.now() + 0.5);
      if (i % 3 == 0) {
        net.set_factor(port(0, kUp), 0.0);
        co_await until(e, e.now() + 0.5);
        net.set_factor(port(0, kUp), 1.0);
      }
      victim->kill();
    }
  };
  Process victim;
  Process p(lab.engine, "churn", churn(lab.engine, lab.net, &victim));
  lab.run(3000.0);
  CHECK(p.done());
  // Half a second of 125 MB/s each time.
  CHECK(lab.wire("a.up").bytes == doctest::Approx(3000 * 0.5 * kGbps).epsilon(1e-9));
}

TEST_CASE("the engine may end, and processes die, with flows in every phase") {
  Lab lab(mesh({kGbps, kUnlimited, kUnlimited}, {kUnlimited, kUnlimited, kUnlimited}, 0.5));
  lab.move(0.0, 0, 1, 1e12);
  lab.move(0.0, 0, 2, 1e12);
  lab.move(9.9, 0, 1, 1e12);
  lab.change(5.0, link(1), 0.0);
  lab.run(10.0);
  CHECK(lab.ends == std::deque<double>{-1.0, -1.0, -1.0});
  // 4.5 s shared, then 5 s alone, running still.
  CHECK(lab.wire("a.up").bytes == about(9.5 * kGbps));
  CHECK(lab.wire("a>c").bytes == about(2.25 * kGbps));
}

TEST_CASE("waiting for a cut path that nobody repairs is a deadlock with a name") {
  Lab lab(two_regions(1));
  lab.move(0.0, 0, 1, 1e9);
  lab.change(1.0, port(0, kUp), 0.0);
  CHECK_THROWS_WITH_AS(
      lab.engine.run(),
      "nothing can happen any more after 1 s of simulated time; move waits for the "
      "cut path a>b",
      CannotGoOn);
}

TEST_CASE("a running flow keeps the simulation alive through idle events") {
  Lab lab(two_regions(1));
  lab.move(0.0, 0, 1, 3 * kGbps);
  int idle = 0;
  for (int i = 1; i < 6; ++i) {
    lab.engine.at(
        i + 0.5, [](void* count) { *static_cast<int*>(count) += 1; }, &idle, true);
  }
  CHECK_THROWS_AS(lab.engine.run(), CannotGoOn);
  CHECK(lab.ends[0] == about(3.0));
  CHECK(idle == 2);
}
