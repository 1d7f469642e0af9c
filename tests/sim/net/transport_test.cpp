// What limits one flow besides ports and links, and how flows share a bottleneck by round trip.
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/net/lab.hpp"

using namespace skerry;

namespace {

constexpr double kGbps = 125e6;  // bytes/s

// Region a with one port, behind which b is 15 ms and c 60 ms there and back.
Scenario near_and_far(double port_gbps) {
  Scenario scenario =
      mesh({port_gbps * kGbps, kUnlimited, kUnlimited}, std::vector<double>(3, kUnlimited), 0.0075);
  scenario.links[1].latency_one_way_s = 0.030;  // a>c
  scenario.links[4].latency_one_way_s = 0.030;  // c>a
  scenario.transport.rtt_bias = true;
  return scenario;
}

}  // namespace

TEST_CASE("loss: 1,460 B, 65 ms and one packet in 10,000 give one stream 22 Mbit/s") {
  // 1460 × 8 × √1.5 / (0.065 × 0.01) = 11680 × 1.224745 / 0.00065 = 22.0078e6 bit/s.
  Scenario scenario = mesh({5 * kGbps, kUnlimited}, {kUnlimited, kUnlimited}, 0.0325);
  scenario.transport = {.kind = TransportKind::kTcp, .loss_rate = 1e-4};
  const auto rate_bps = [&scenario] {
    Lab lab(scenario);
    lab.move(0.0, 0, 1, 1e8);
    lab.run(1000.0);
    return 8e8 / (lab.ends[0] - 0.0325);
  };
  CHECK(rate_bps() == doctest::Approx(22.0078e6).epsilon(1e-5));
  scenario.transport.streams = 8;
  CHECK(rate_bps() == doctest::Approx(8 * 22.0078e6).epsilon(1e-5));
  scenario.transport.loss_rate = 4e-4;  // half
  CHECK(rate_bps() == doctest::Approx(4 * 22.0078e6).epsilon(1e-5));
  scenario.transport.mss_bytes = 8960;
  CHECK(rate_bps() == doctest::Approx(4 * 22.0078e6 * 8960 / 1460).epsilon(1e-5));
  // The smaller of both caps: 1 MB / 65 ms × 8 streams = 123.08 MB/s; 100 kB: a tenth.
  scenario.transport.loss_rate = 1e-8;
  scenario.transport.window_bytes = 1e6;
  CHECK(rate_bps() == doctest::Approx(8 * 8 * 1e6 / 0.065).epsilon(1e-9));
  scenario.transport.window_bytes = 1e5;
  CHECK(rate_bps() == doctest::Approx(8 * 8 * 1e5 / 0.065).epsilon(1e-9));
}

TEST_CASE("a cap of a class holds for each of its flows, with either kind") {
  Scenario scenario = mesh({5 * kGbps, kUnlimited}, {kUnlimited, kUnlimited}, 0.010);
  scenario.transport.class_cap_Bps = {kUnlimited, 1 * kGbps, kUnlimited};
  {
    // Two recoveries of 1 Gbit/s each leave the exchange 3: 3 Gbit take 1 s. They take 8 s.
    Lab lab(scenario);
    lab.move(0.0, 0, 1, 1e9, FlowClass::kRecovery);
    lab.move(0.0, 0, 1, 1e9, FlowClass::kRecovery);
    lab.move(0.0, 0, 1, 3 * kGbps);
    lab.run(100.0);
    CHECK(lab.ends[0] == about(8.01));
    CHECK(lab.ends[1] == about(8.01));
    CHECK(lab.ends[2] == about(1.01));
    CHECK(lab.wire("a.up").bytes == 2e9 + 3 * kGbps);
  }
  // Window 2.5 MB / 20 ms = 1 Gbit/s binds the exchange, 0.5 Gbit/s the recovery.
  scenario.transport.kind = TransportKind::kTcp;
  scenario.transport.window_bytes = 2.5e6;
  scenario.transport.class_cap_Bps = {2 * kGbps, 0.5 * kGbps, kUnlimited};
  Lab lab(scenario);
  lab.move(0.0, 0, 1, kGbps);
  lab.move(0.0, 0, 1, kGbps, FlowClass::kRecovery);
  double end = -1.0;
  const Collective copies{.lead_s = 0.0, .first = {{0, 1, kGbps}}, .second = {}};
  const auto body = [](Engine& e, Network& net, Collective what, double* at) -> Task<void> {
    co_await net.collective(what, FlowClass::kRecovery);
    *at = e.now();
  };
  Process p(lab.engine, "p", body(lab.engine, lab.net, copies, &end));
  lab.run(100.0);
  CHECK(lab.ends[0] == about(1.01));
  CHECK(lab.ends[1] == about(2.01));
  CHECK(end == about(2.0));
}

TEST_CASE("a cap is all that limits a path without ports") {
  Scenario scenario = mesh({kUnlimited, kUnlimited}, {kUnlimited, kUnlimited}, 0.0);
  scenario.transport.class_cap_Bps = {kUnlimited, kGbps, kUnlimited};
  Lab lab(scenario);
  lab.move(0.0, 0, 1, 1e12);
  lab.move(0.0, 0, 1, kGbps, FlowClass::kRecovery);
  lab.change(0.5, link(0), 0.0);  // a cut of half a second
  lab.change(1.0, link(0), 1.0);
  lab.run(10.0);
  CHECK(lab.ends[0] == 0.0);
  CHECK(lab.ends[1] == about(1.5));
}

TEST_CASE("rtt_bias: 15 and 60 ms on one port of 2 Gbit/s get 1.6 and 0.4") {
  {
    Lab lab(near_and_far(2.0));
    lab.move(0.0225, 0, 1, 1.6 * kGbps);  // both first bytes leave at 0.03 s
    lab.move(0.0, 0, 2, 1.6 * kGbps);
    lab.run(10.0);
    CHECK(lab.ends[0] == about(1.03));
    // 0.4 Gbit in the first second, then all of the port: 1.2 Gbit in 0.6 s. The latency is paid
    // once.
    CHECK(lab.ends[1] == about(1.63));
  }
  // Equal flows to one place still get equal shares, and one flow alone gets all.
  Lab same(near_and_far(2.0));
  same.move(0.0, 0, 2, kGbps);
  same.move(0.0, 0, 2, kGbps);
  same.move(5.0, 0, 2, 2 * kGbps);
  same.run(10.0);
  CHECK(same.ends[0] == about(1.03));
  CHECK(same.ends[1] == about(1.03));
  CHECK(same.ends[2] == about(6.03));
}

TEST_CASE("rtt_bias: weights outlive changes of capacity and cuts") {
  // 2 Gbit/s: 1.6 and 0.4 for 1 s; 1 Gbit/s: 0.8 and 0.2 for 1 s; cut for 1 s; then 1.6 and 0.4.
  Lab lab(near_and_far(2.0));
  lab.move(0.0225, 0, 1, 4.0 * kGbps);  // 1.6 + 0.8 + 1.6
  lab.move(0.0, 0, 2, 2.0 * kGbps);     // 0.4 + 0.2 + 0.4, then 1 Gbit at 2 Gbit/s
  lab.change(1.03, port(0, kUp), 0.5);
  lab.change(2.03, port(0, kUp), 0.0);
  lab.change(3.03, port(0, kUp), 1.0);
  lab.run(10.0);
  CHECK(lab.ends[0] == doctest::Approx(4.03).epsilon(1e-8));  // the cut rounds to whole bytes
  CHECK(lab.ends[1] == doctest::Approx(4.53).epsilon(1e-8));
}

TEST_CASE("rtt_bias: a cap binds before the share does") {
  // Window 0.75 MB: 0.75 MB / 15 ms = 0.4 Gbit/s near, 0.1 far; on 0.4 Gbit/s 4 : 1 give 0.32,
  // 0.08.
  Scenario scenario = near_and_far(2.0);
  scenario.transport.kind = TransportKind::kTcp;
  scenario.transport.window_bytes = 0.75e6;
  {
    Lab wide(scenario);
    wide.move(0.0, 0, 1, 0.4 * kGbps);
    wide.move(0.0, 0, 2, 0.1 * kGbps);
    wide.run(10.0);
    CHECK(wide.ends[0] == about(1.0075));
    CHECK(wide.ends[1] == about(1.03));
  }
  scenario.regions[0].up_Bps = 0.4 * kGbps;
  Lab narrow(scenario);
  narrow.move(0.0225, 0, 1, 0.32 * kGbps);
  narrow.move(0.0, 0, 2, 0.08 * kGbps);
  narrow.run(10.0);
  CHECK(narrow.ends[0] == about(1.03));
  CHECK(narrow.ends[1] == about(1.03));
}
