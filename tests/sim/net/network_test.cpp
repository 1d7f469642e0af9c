// Transfers over a network that does not change.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "sim/net/network.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/sim/net/lab.hpp"

using namespace skerry;

namespace {
constexpr double kGbps = 125e6;  // bytes/s
}

TEST_CASE("1 GB over 2 Gbit/s at 30 ms one way takes 4.030000000 s") {
  Lab lab(mesh({2 * kGbps, kUnlimited}, {kUnlimited, 2 * kGbps}, 0.030));
  lab.move(0.0, 0, 1, 1e9);
  lab.run(10.0);
  CHECK(lab.ends[0] == about(4.03));  // 0.03 + 1e9 / 250e6
  CHECK(lab.wire("a.up").bytes == 1e9);
  CHECK(lab.wire("b.down").bytes == 1e9);
  CHECK(lab.wire("a>b").bytes == 1e9);
  CHECK(lab.wire("a>b").capacity_bytes == kUnlimited);
  CHECK(lab.wire("a.up").capacity_bytes == 2500e6);  // 10 s
  CHECK(lab.net.wires().size() == 3);  // ports without limit and links never used are not listed
}

TEST_CASE("one sync of a 7B model over 1 Gbit/s, rings of 2, 4 and 8") {
  const double parameters = 7e9;
  // Ring of 2: 2·(1/2) × payload per direction = the payload; 28 GB / 125 MB/s = 224 s for fp32.
  for (const auto& [bits, seconds] :
       std::vector<std::pair<double, double>>{{32, 224}, {16, 112}, {8, 56}, {4, 28}}) {
    Lab lab(mesh({kGbps, kGbps}, {kGbps, kGbps}, 0.0));
    lab.move(0.0, 0, 1, parameters * bits / 8);
    lab.move(0.0, 1, 0, parameters * bits / 8);
    lab.run(1000.0);
    CHECK(lab.ends[0] == about(seconds));
    CHECK(lab.ends[1] == about(seconds));
  }
  // bf16: 2·(3/4) × 14 GB = 21 GB → 168 s; 2·(7/8) × 14 GB = 24.5 GB → 196 s.
  for (const auto& [members, seconds] : std::vector<std::pair<int, double>>{{4, 168}, {8, 196}}) {
    const std::vector<double> ports(static_cast<std::size_t>(members), kGbps);
    Lab lab(mesh(ports, ports, 0.0));
    for (int i = 0; i < members; ++i) {
      lab.move(0.0, i, (i + 1) % members, 2.0 * (members - 1) / members * 14e9);
    }
    lab.run(1000.0);
    for (double end : lab.ends)
      CHECK(end == about(seconds));
  }
}

TEST_CASE("a star: four learners behind the hub's one port") {
  const std::vector<double> wide(5, 10 * kGbps);
  Scenario scenario = mesh(wide, wide, 0.0);
  scenario.regions[0].up_Bps = scenario.regions[0].down_Bps = kGbps;
  Lab lab(scenario);
  Collective star{.lead_s = 0.5, .first = {}, .second = {}};
  for (int i = 1; i <= 4; ++i) {
    star.first.push_back({i, 0, 14e9});
    star.second.push_back({0, i, 7e9});
  }
  double end = -1.0;
  Process p(lab.engine, "star", run_collective(lab.engine, lab.net, star, &end));
  lab.run(1000.0);
  // 4 × 14 GB / 125 MB/s = 448 s up, then half as much down, after a lead of 0.5 s.
  CHECK(end == about(0.5 + 448.0 + 224.0));
  CHECK(lab.wire("a.down").bytes == 56e9);
  CHECK(lab.wire("a.up").bytes == 28e9);
  CHECK(lab.wire("c.up").bytes == 14e9);
}

TEST_CASE("one copy of 12B in bf16 and int4 over 2 and 5 Gbit/s") {
  // 24 GB / 0.25 GB/s = 96 s; / 0.625 GB/s = 38.4 s; a quarter of it with 4 bits.
  for (const auto& [gbps, bits, seconds] : std::vector<std::tuple<double, double, double>>{
           {2, 16, 96}, {5, 16, 38.4}, {2, 4, 24}, {5, 4, 9.6}}) {
    Lab lab(mesh({gbps * kGbps, kUnlimited}, {kUnlimited, kUnlimited}, 0.0));
    lab.move(0.0, 0, 1, 12e9 * bits / 8);
    lab.run(1000.0);
    CHECK(lab.ends[0] == about(seconds));
  }
}

TEST_CASE("asymmetric ports: each direction has its own") {
  Lab lab(mesh({1 * kGbps, 4 * kGbps}, {2 * kGbps, 3 * kGbps}, 0.0));
  lab.move(0.0, 0, 1, 1e9);  // a.up 1, b.down 3 → 8 s
  lab.move(0.0, 1, 0, 1e9);  // b.up 4, a.down 2 → 4 s
  lab.run(100.0);
  CHECK(lab.ends[0] == about(8.0));
  CHECK(lab.ends[1] == about(4.0));
}

TEST_CASE("a link with its own capacity limits its pair and direction only") {
  Scenario scenario =
      mesh({8 * kGbps, 8 * kGbps, 8 * kGbps}, {8 * kGbps, 8 * kGbps, 8 * kGbps}, 0.0);
  scenario.links[0].capacity_Bps = kGbps;  // a>b
  Lab lab(scenario);
  lab.move(0.0, 0, 1, 1e9);
  lab.move(0.0, 1, 0, 1e9);
  lab.move(0.0, 0, 2, 7e9);
  lab.run(100.0);
  CHECK(lab.ends[0] == about(8.0));  // 1 Gbit/s
  CHECK(lab.ends[1] == about(1.0));  // 8 Gbit/s
  CHECK(lab.ends[2] == about(8.0));  // what a>b leaves of a.up: 7 Gbit/s
  CHECK(lab.wire("a>b").capacity_bytes == about(100 * kGbps));
}

TEST_CASE("three flows over two links get the max-min shares, and new ones when one ends") {
  // a.up = 3 Gbit/s carries x and y, b.down = 1 Gbit/s carries y and z; z comes from c (wide).
  // Max-min: b.down is tightest: y = z = 0.5; x = 3 − 0.5 = 2.5.
  // z has 0.5 Gbit: ends at 1 s. Then y = 1 (b.down alone), x = 2.
  // y has 2.5 Gbit: 0.5 in the first second, 2 left at 1 Gbit/s: ends at 3 s. Then x has 3.
  // x has 12.5 Gbit: 2.5 by 1 s, 4 more by 3 s, 6 left at 3 Gbit/s: ends at 5 s.
  Lab lab(mesh({3 * kGbps, kUnlimited, kUnlimited, kUnlimited},
               {kUnlimited, 1 * kGbps, kUnlimited, kUnlimited}, 0.0));
  lab.move(0.0, 0, 3, 12.5 * kGbps);
  lab.move(0.0, 0, 1, 2.5 * kGbps);
  lab.move(0.0, 2, 1, 0.5 * kGbps);
  lab.run(100.0);
  CHECK(lab.ends[0] == about(5.0));
  CHECK(lab.ends[1] == about(3.0));
  CHECK(lab.ends[2] == about(1.0));
}

TEST_CASE("latency does not change a flow's share") {
  Scenario scenario =
      mesh({2 * kGbps, kUnlimited, kUnlimited}, {kUnlimited, kUnlimited, kUnlimited}, 0.0);
  scenario.links[0].latency_one_way_s = 0.060;  // a>b; a>c has none
  Lab lab(scenario);
  lab.move(0.0, 0, 1, 1e9);
  lab.move(0.06, 0, 2, 1e9);
  lab.run(100.0);
  // Both start at 0.06 s and share 250 MB/s: 2 GB in 8 s.
  CHECK(lab.ends[0] == about(8.06));
  CHECK(lab.ends[1] == about(8.06));
}

TEST_CASE("local, ideal, unlimited and empty transfers cost their lead only") {
  const Scenario scenario = mesh({kGbps, kUnlimited}, {kUnlimited, kUnlimited}, 0.030);
  {
    Lab lab(scenario);
    lab.move(1.0, 0, 0, 1e12);
    lab.move(1.0, 1, 0, 1e12);
    lab.move(1.0, 0, 1, 0.0);
    lab.run(10.0);
    CHECK(lab.ends[0] == 1.0);
    CHECK(lab.ends[1] == 1.03);
    CHECK(lab.ends[2] == 1.03);
    CHECK(lab.wire("b>a").bytes == 1e12);  // it was used: it is listed
    CHECK(lab.wire("a.up").bytes == 0.0);
    CHECK(lab.net.latency_s(0, 0) == 0.0);
    CHECK(lab.net.latency_s(0, 1) == 0.03);
  }
  Lab lab(scenario, CutTransfer::kResume, true);
  lab.move(1.0, 0, 1, 1e12);
  lab.change(1.0, port(0, kUp), 0.0);
  double end = -1.0;
  const Collective some{.lead_s = 1.0, .first = {{0, 1, 1e9}}, .second = {}};
  Process p(lab.engine, "p", run_collective(lab.engine, lab.net, some, &end));
  lab.run(10.0);
  CHECK(lab.ends[0] == 1.0);
  CHECK(end == 0.0);
  CHECK(lab.net.latency_s(0, 1) == 0.0);
  CHECK(lab.net.path_up(0, 1));
  CHECK(lab.net.wires().empty());
}

TEST_CASE("a scenario without regions has a network all the same") {
  Lab lab(Scenario{});
  lab.move(0.5, -1, -1, 1e9);
  lab.run(1.0);
  CHECK(lab.ends[0] == 0.5);
  CHECK(lab.net.wires().empty());
}

TEST_CASE("fractions of bytes are rounded up; no route, negative and infinite bytes are bugs") {
  Scenario scenario = mesh({1.0, kUnlimited, 1.0}, {1.0, 1.0, 1.0}, 0.0);
  scenario.links.erase(scenario.links.begin() + 1);  // a>c
  {
    Lab lab(scenario);
    lab.move(0.0, 0, 1, 2.25);
    lab.run(10.0);
    CHECK(lab.ends[0] == about(3.0));  // 3 bytes at 1 byte/s
    CHECK(lab.wire("a.up").bytes == 3.0);
  }
  for (const auto& [to, bytes] :
       std::vector<std::pair<int, double>>{{2, 1.0}, {7, 1.0}, {-1, 1.0}, {1, -1.0}, {1, kNever}}) {
    Lab lab(scenario);
    lab.move(0.0, 0, to, bytes);
    CHECK_THROWS_AS(lab.run(10.0), Bug);
  }
}

TEST_CASE("a collective waits for its lead, then for its last flow; without flows it is its lead") {
  Lab lab(mesh({kGbps, kGbps, kGbps}, {kGbps, kGbps, kGbps}, 0.010));
  const Collective ring{
      .lead_s = 0.040, .first = {{0, 1, 1e9}, {1, 2, 2e9}, {2, 0, 1e9}}, .second = {}};
  double end = -1.0, local_end = -1.0;
  Process p(lab.engine, "p", run_collective(lab.engine, lab.net, ring, &end));
  Process q(lab.engine, "q", run_collective(lab.engine, lab.net, Collective{}, &local_end));
  lab.run(100.0);
  CHECK(end == about(16.04));  // 2 GB / 125 MB/s after 0.04 s; the latency is in the lead
  CHECK(local_end == 0.0);
}

TEST_CASE("tcp: a flow is capped at streams × window / round trip, after its set-up") {
  // 4 MiB / 65 ms = 64.53 MB/s = 0.516 Gbit/s; a port of 5 Gbit/s = 625 MB/s holds 9.7 of them.
  const double cap = 4194304.0 / 0.065;
  Scenario scenario = mesh({5 * kGbps, kUnlimited}, {kUnlimited, kUnlimited}, 0.0325);
  scenario.transport = {TransportKind::kTcp, 4194304.0, 1, 0.2};
  const auto seconds = [&scenario](int flows) {
    Lab lab(scenario);
    for (int i = 0; i < flows; ++i)
      lab.move(0.0, 0, 1, 1e9);
    lab.run(1000.0);
    for (double end : lab.ends)
      CHECK(end == lab.ends[0]);
    return lab.ends[0] - 0.2325;
  };
  CHECK(8e9 / seconds(1) / 1e9 == doctest::Approx(0.516).epsilon(1e-3));
  CHECK(seconds(1) == about(1e9 / cap));
  CHECK(seconds(9) == about(1e9 / cap));
  CHECK(seconds(10) == about(10e9 / 625e6));  // the port
  scenario.transport.streams = 10;
  CHECK(seconds(1) == about(1e9 / 625e6));
  // `streams` multiplies the cap, not the share.
  CHECK(seconds(2) == about(2e9 / 625e6));

  // A port without limit leaves the cap alone.
  scenario.transport.streams = 2;
  scenario.regions[0].up_Bps = kUnlimited;
  CHECK(seconds(20) == about(1e9 / (2 * cap)));
}

TEST_CASE("tcp: round trips are the sum of both directions, set-up is paid once per collective") {
  Scenario scenario = mesh({kUnlimited, kUnlimited}, {kUnlimited, kUnlimited}, 0.050);
  scenario.links[1].latency_one_way_s = 0.150;  // b>a
  scenario.transport = {TransportKind::kTcp, 1e6, 1, 0.3};
  Lab lab(scenario);
  lab.move(0.0, 0, 1, 10e6);  // 1 MB / 0.2 s = 5 MB/s
  lab.move(0.0, 1, 1, 10e6);  // local: no set-up
  double end = -1.0;
  const Collective both{.lead_s = 0.1, .first = {{1, 0, 5e6}}, .second = {{1, 0, 5e6}}};
  Process p(lab.engine, "p", run_collective(lab.engine, lab.net, both, &end));
  lab.run(10.0);
  CHECK(lab.ends[0] == about(0.05 + 0.3 + 2.0));
  CHECK(lab.ends[1] == 0.0);
  CHECK(end == about(0.1 + 0.3 + 2.0));
}

TEST_CASE("mark and repeat add copies of what moved in between") {
  Lab lab(mesh({kGbps, kGbps}, {kGbps, kGbps}, 0.0));
  lab.move(0.0, 0, 1, 1e9);  // 8 s
  const auto body = [](Engine& e, Network& net) -> Task<void> {
    co_await until(e, 4.0);
    net.mark();                          // in the middle of the first flow
    co_await net.transfer(1, 0, 250e6);  // 2 s
    net.note_moved();
    net.repeat(4.0);  // nine copies of the step, not of the copies
    net.repeat(5.0);
  };
  Process p(lab.engine, "p", body(lab.engine, lab.net));
  lab.run(10.0);
  // Between 4 s and 6 s b.up moved 250 MB, a.up 2 s × 125 MB/s; nine more of each.
  CHECK(lab.wire("b.up").bytes == 2500e6);
  CHECK(lab.wire("a.up").bytes == 1e9 + 9 * 250e6);
  CHECK(lab.wire("a>b").bytes == 1e9 + 9 * 250e6);
}

TEST_CASE("flows that end at one date wake their processes in an order that repeats") {
  const auto order = [] {
    Lab lab(mesh({kGbps, kGbps}, {kGbps, kGbps}, 0.0));
    std::vector<int> woken;
    const auto body = [](Engine& e, Network& net, int number, std::vector<int>* out) -> Task<void> {
      co_await net.transfer(number % 2, 1 - number % 2, 1e9);
      CHECK(e.now() == about(32.0));  // four a way
      out->push_back(number);
    };
    for (int i = 0; i < 8; ++i) {
      lab.processes.emplace_back(lab.engine, "p", body(lab.engine, lab.net, i, &woken));
    }
    lab.run(100.0);
    return woken;
  };
  const std::vector<int> first = order();
  CHECK(first.size() == 8);
  CHECK(first == order());
}
