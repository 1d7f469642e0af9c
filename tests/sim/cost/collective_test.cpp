// Collectives: flows, leads and ideal seconds, with the arithmetic of the published bounds.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/cost/anatomy.hpp"
#include "sim/cost/cost.hpp"

using namespace skerry;

namespace {

// `gbps.size()` regions with these ports both ways, a link for every ordered pair.
Scenario places(const std::vector<double>& gbps, double latency_s = 0.0) {
  Scenario scenario;
  const int n = static_cast<int>(gbps.size());
  for (int i = 0; i < n; ++i) {
    const double rate = bytes_per_s_from_gbps(gbps[static_cast<std::size_t>(i)]);
    scenario.regions.push_back({std::to_string(i) + "r", rate, rate});
    for (int j = 0; j < n; ++j) {
      if (i != j) scenario.links.push_back({i, j, latency_s, kUnlimited});
    }
  }
  return scenario;
}

std::vector<int> one_in_each(int regions) {
  std::vector<int> members(static_cast<std::size_t>(regions));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

double payload(double parameters, double bits) {
  return parameters * bits / 8.0;
}

double ring_s(int p, double gbps, double bytes) {
  const Scenario scenario = places(std::vector<double>(static_cast<std::size_t>(p), gbps));
  return ideal_seconds(scenario, all_reduce(scenario, AllReduce::kRing, 0, one_in_each(p), bytes));
}

double total(const std::vector<CollectiveFlow>& flows) {
  double bytes = 0.0;
  for (const CollectiveFlow& f : flows)
    bytes += f.bytes;
  return bytes;
}

void check_flow(const CollectiveFlow& flow, int from, int to, double bytes) {
  CHECK(flow.from_region == from);
  CHECK(flow.to_region == to);
  CHECK(flow.bytes == doctest::Approx(bytes).epsilon(1e-15));
}

}  // namespace

TEST_CASE("T1: one sync of 7B parameters over 1 Gbit/s") {
  // Ring of 2 moves 2·(1/2) = 1 payload per direction: 7e9 × 32 bits / 1e9 = 224 s; 16, 8, 4 bits
  // in step.
  CHECK(ring_s(2, 1.0, payload(7e9, 32)) == doctest::Approx(224.0).epsilon(1e-12));
  CHECK(ring_s(2, 1.0, payload(7e9, 16)) == doctest::Approx(112.0).epsilon(1e-12));
  CHECK(ring_s(2, 1.0, payload(7e9, 8)) == doctest::Approx(56.0).epsilon(1e-12));
  CHECK(ring_s(2, 1.0, payload(7e9, 4)) == doctest::Approx(28.0).epsilon(1e-12));
  // Ring of 4: 2·(3/4) = 1.5 × 112; ring of 8: 2·(7/8) = 1.75 × 112.
  CHECK(ring_s(4, 1.0, payload(7e9, 16)) == doctest::Approx(168.0).epsilon(1e-12));
  CHECK(ring_s(8, 1.0, payload(7e9, 16)) == doctest::Approx(196.0).epsilon(1e-12));

  // Star, four learners, 1 Gbit/s at the hub: 4 × 112 s through its port up, as much again down.
  Scenario star = places({kUnlimited, kUnlimited, kUnlimited, kUnlimited, 1.0});
  Collective collective = all_reduce(star, AllReduce::kStar, 4, one_in_each(4), payload(7e9, 16));
  CHECK(ideal_seconds(star, collective) == doctest::Approx(896.0).epsilon(1e-12));
  collective.second.clear();
  CHECK(ideal_seconds(star, collective) == doctest::Approx(448.0).epsilon(1e-12));
}

TEST_CASE("T2: one copy of 12B parameters over 2 and 5 Gbit/s") {
  // 12e9 × 16 = 192 Gbit: 96 s and 38.4 s; int4 48 Gbit: 24 s and 9.6 s. A ring of 2 is one copy
  // each way.
  CHECK(ring_s(2, 2.0, payload(12e9, 16)) == doctest::Approx(96.0).epsilon(1e-12));
  CHECK(ring_s(2, 5.0, payload(12e9, 16)) == doctest::Approx(38.4).epsilon(1e-12));
  CHECK(ring_s(2, 2.0, payload(12e9, 4)) == doctest::Approx(24.0).epsilon(1e-12));
  CHECK(ring_s(2, 5.0, payload(12e9, 4)) == doctest::Approx(9.6).epsilon(1e-12));
}

TEST_CASE("B3: a fragment every step at H = 24 cannot need less than its bytes") {
  // 5B, bf16: 80 Gbit / 24 = 3.333 Gbit each way per step. At utilization CU a step of 1 s may last
  // 1/CU: 3.333 × CU Gbit/s = 1.67, 2.5, 3.0, 3.17, 3.3 for 50, 75, 90, 95, 99 %.
  const struct {
    double utilization, gbps;
  } rows[] = {{0.50, 5.0 / 3.0}, {0.75, 2.5}, {0.90, 3.0}, {0.95, 19.0 / 6.0}, {0.99, 3.3}};
  const double fragment = wire_bytes({}, 5e9 / 24);
  for (const auto& row : rows) {
    CHECK(ring_s(2, row.gbps, fragment) == doctest::Approx(1.0 / row.utilization).epsilon(1e-9));
    CHECK(ring_s(2, row.gbps * 0.99, fragment) > 1.0 / row.utilization);
  }
}

TEST_CASE("B4: 12B, H = P = 24, a star whose hub does not limit, one learner a region") {
  const double bf16 = wire_bytes({}, 12e9 / 24);
  CHECK(bf16 == 1e9);  // 192 Gbit / 24 = 8 Gbit
  const double int4 = wire_bytes({.bits_per_parameter = 4.0}, 12e9 / 24);

  // Up and down are different directions of a port: in a steady run they overlap, so the longer one
  // counts.
  const auto longer_phase = [](double gbps, const std::vector<int>& members, double bytes) {
    const Scenario scenario = places({gbps, gbps, gbps, gbps, kUnlimited});
    Collective up = all_reduce(scenario, AllReduce::kStar, 4, members, bytes);
    Collective down = up;
    up.second.clear();
    down.first.clear();
    return std::max(ideal_seconds(scenario, up), ideal_seconds(scenario, down));
  };
  CHECK(longer_phase(2.0, one_in_each(4), bf16) == doctest::Approx(4.0).epsilon(1e-12));  // 8 / 2
  CHECK(longer_phase(5.0, one_in_each(4), bf16) == doctest::Approx(1.6).epsilon(1e-12));  // 8 / 5
  CHECK(longer_phase(2.0, one_in_each(4), int4) == doctest::Approx(1.0).epsilon(1e-12));
  CHECK(longer_phase(5.0, one_in_each(4), int4) == doctest::Approx(0.4).epsilon(1e-12));
  // Two learners behind each regional port: double.
  CHECK(longer_phase(2.0, {0, 0, 1, 1, 2, 2, 3, 3}, bf16) == doctest::Approx(8.0).epsilon(1e-12));
  CHECK(longer_phase(5.0, {0, 0, 1, 1, 2, 2, 3, 3}, bf16) == doctest::Approx(3.2).epsilon(1e-12));
}

TEST_CASE("ring: learner order, local edges left out, parallel edges kept apart") {
  // Members in regions 0 0 1 0 1: p = 5, edges 0→0 (free), 0→1, 1→0, 0→1, 1→0; each 2·4/5 × 100 =
  // 160.
  Scenario scenario = places({1, 1});
  scenario.links[0].latency_one_way_s = 0.010;  // 0 → 1
  scenario.links[1].latency_one_way_s = 0.025;  // 1 → 0: the slowest hop
  const Collective ring = all_reduce(scenario, AllReduce::kRing, 0, {0, 0, 1, 0, 1}, 100.0);
  REQUIRE(ring.first.size() == 4);
  check_flow(ring.first[0], 0, 1, 160.0);
  check_flow(ring.first[1], 1, 0, 160.0);
  check_flow(ring.first[2], 0, 1, 160.0);
  check_flow(ring.first[3], 1, 0, 160.0);
  CHECK(ring.second.empty());
  CHECK(ring.lead_s == doctest::Approx(8 * 0.025).epsilon(1e-15));  // 2(p − 1) = 8 rounds
  // Two flows of 160 bytes through each port of 1.25e8 bytes/s.
  CHECK(ideal_seconds(scenario, ring) == doctest::Approx(0.2 + 320.0 / 1.25e8).epsilon(1e-12));
}

TEST_CASE("hierarchical ring: distinct regions, first seen first") {
  // Members in 2 0 2 1 0: regions 2, 0, 1; p = 3, 2·2/3 × 300 = 400 per edge, 4 rounds of latency.
  const Scenario scenario = places({1, 1, 1}, 0.03);
  const Collective ring =
      all_reduce(scenario, AllReduce::kHierarchicalRing, 0, {2, 0, 2, 1, 0}, 300.0);
  REQUIRE(ring.first.size() == 3);
  check_flow(ring.first[0], 2, 0, 400.0);
  check_flow(ring.first[1], 0, 1, 400.0);
  check_flow(ring.first[2], 1, 2, 400.0);
  CHECK(ring.lead_s == doctest::Approx(0.12).epsilon(1e-15));
}

TEST_CASE("the latency that counts is that of the edges in use") {
  Scenario scenario = places({1, 1, 1}, 0.01);
  for (Link& link : scenario.links) {
    if (link.from == 2 || link.to == 2) link.latency_one_way_s = 9.0;
  }
  CHECK(all_reduce(scenario, AllReduce::kRing, 2, {0, 1}, 1.0).lead_s ==
        doctest::Approx(0.02).epsilon(1e-15));
}

TEST_CASE("star: all but the hub's own members pay up and down") {
  Scenario scenario = places({1, 1, 1}, 0.02);
  for (Link& link : scenario.links) {
    if (link.from == 1 && link.to == 2) link.latency_one_way_s = 0.05;  // only on the way down
  }
  const Collective star = all_reduce(scenario, AllReduce::kStar, 1, {0, 1, 2, 2}, 10.0);
  REQUIRE(star.first.size() == 3);
  REQUIRE(star.second.size() == 3);
  check_flow(star.first[0], 0, 1, 10.0);
  check_flow(star.first[1], 2, 1, 10.0);
  check_flow(star.first[2], 2, 1, 10.0);
  check_flow(star.second[0], 1, 0, 10.0);
  check_flow(star.second[2], 1, 2, 10.0);
  CHECK(star.lead_s == doctest::Approx(0.1).epsilon(1e-15));  // 2 × 0.05
  // A single member away from the hub (a central syncer with a quorum of one) still sends and
  // receives.
  CHECK(all_reduce(scenario, AllReduce::kStar, 1, {0}, 10.0).first.size() == 1);
  CHECK(all_reduce(scenario, AllReduce::kStar, 1, {0}, 10.0).second.size() == 1);
}

TEST_CASE("nothing to send: one member, one region, no regions") {
  const Scenario scenario = places({1, 1}, 0.1);
  for (const AllReduce kind : {AllReduce::kRing, AllReduce::kHierarchicalRing, AllReduce::kStar}) {
    const std::vector<std::vector<int>> nothing{{}, {1}, {1, 1, 1}, {-1}, {-1, -1}};
    for (const std::vector<int>& members : nothing) {
      const Collective none = all_reduce(scenario, kind, 1, members, 1e9);
      CHECK(none.lead_s == 0.0);
      CHECK(none.first.empty());
      CHECK(none.second.empty());
      CHECK(ideal_seconds(scenario, none) == 0.0);
    }
  }
}

TEST_CASE("a missing route is a bug of the reader, not a free transfer") {
  Scenario scenario = places({1, 1, 1});
  scenario.links.erase(scenario.links.begin());  // 0 → 1
  CHECK_THROWS_AS(all_reduce(scenario, AllReduce::kRing, 0, {0, 1, 2}, 1.0), Bug);
}

TEST_CASE("the slowest of ports and links decides") {
  Scenario scenario = places({4, 2});
  const double gbit = 1e9 / 8.0;
  const auto seconds = [&] {
    return ideal_seconds(scenario, all_reduce(scenario, AllReduce::kRing, 0, {0, 1}, 8 * gbit));
  };
  CHECK(seconds() == doctest::Approx(4.0));  // 8 Gbit through 2 Gbit/s
  scenario.links[1].capacity_Bps = gbit;     // 1 → 0
  CHECK(seconds() == doctest::Approx(8.0));
  scenario.regions[0].down_Bps = gbit / 2.0;
  CHECK(seconds() == doctest::Approx(16.0));
  scenario.regions[0].up_Bps = gbit / 4.0;
  CHECK(seconds() == doctest::Approx(32.0));
}

TEST_CASE("any placement: bytes of a ring are p edges less the local ones, and never beat a port") {
  RandomStream random(3, "placements", 0);
  for (int round = 0; round < 300; ++round) {
    const int regions = 2 + static_cast<int>(random.below(5));
    std::vector<double> gbps;
    for (int r = 0; r < regions; ++r)
      gbps.push_back(0.5 + 5.0 * random.uniform());
    const Scenario scenario = places(gbps, 0.02 * random.uniform());
    std::vector<int> members(1 + random.below(12));
    for (int& m : members) {
      m = static_cast<int>(random.below(static_cast<std::uint64_t>(regions)));
    }
    int crossing = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      crossing += members[i] != members[(i + 1) % members.size()] ? 1 : 0;
    }
    const double p = static_cast<double>(members.size());
    const Collective ring = all_reduce(scenario, AllReduce::kRing, 0, members, 1e9);
    CHECK(total(ring.first) ==
          doctest::Approx(crossing * 2.0 * (p - 1.0) / p * 1e9).epsilon(1e-12));
    const double seconds = ideal_seconds(scenario, ring);
    for (const CollectiveFlow& flow : ring.first) {
      const Region& from = scenario.regions[static_cast<std::size_t>(flow.from_region)];
      CHECK(seconds >= ring.lead_s + flow.bytes / from.up_Bps - 1e-9);
    }
    // Going by regions never sends more than going by members.
    const Collective by_region =
        all_reduce(scenario, AllReduce::kHierarchicalRing, 0, members, 1e9);
    CHECK(total(by_region.first) <= total(ring.first) * (1.0 + 1e-12) + 1e-6);
  }
}

TEST_CASE("rings in a given order; members of one region stay together") {
  const Scenario scenario = places({1.0, 1.0, 1.0, 1.0});
  const auto edges = [&](AllReduce kind, const std::vector<int>& members) {
    std::vector<std::pair<int, int>> found;
    for (const CollectiveFlow& flow : all_reduce(scenario, kind, 0, members, 100.0, {3, 1, 0, 2}).first)
      found.emplace_back(flow.from_region, flow.to_region);
    return found;
  };
  using Edges = std::vector<std::pair<int, int>>;
  CHECK(edges(AllReduce::kHierarchicalRing, {0, 1, 2, 3, 3}) ==
        Edges{{3, 1}, {1, 0}, {0, 2}, {2, 3}});
  CHECK(edges(AllReduce::kRing, {0, 3, 2, 3}) == Edges{{3, 0}, {0, 2}, {2, 3}});
  // A region that is away is left out, the others keep their order.
  CHECK(edges(AllReduce::kHierarchicalRing, {0, 2, 3}) == Edges{{3, 0}, {0, 2}, {2, 3}});
}

TEST_CASE("a flow's cap counts in the ideal time") {
  // Ring of two, 8 Gbit, ports of 10 Gbit/s, window 1 MB over 80 ms there and back: 0.1 Gbit/s.
  Scenario scenario = places({10.0, 10.0}, 0.04);
  scenario.transport = {.kind = TransportKind::kTcp, .window_bytes = 1e6};
  const double seconds =
      ideal_seconds(scenario, all_reduce(scenario, AllReduce::kRing, 0, {0, 1}, 1e9));
  CHECK(seconds == doctest::Approx(2 * 0.04 + 80.0).epsilon(1e-9));
}
