// Estimates of small scenarios, with the arithmetic beside the numbers.
#include "sim/cost/estimate.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/cost/bounds.hpp"

using namespace skerry;

namespace {

Protocol row(const std::string& name, Family family, int learners) {
  Protocol p;
  p.name = p.preset = name;
  p.family = family;
  if (family == Family::kDataParallel) p.anatomy = Anatomy::kBuckets;
  for (int m = 0; m < learners; ++m)
    p.learners.push_back(m);
  return p;
}

// One learner of 8 chips in each of `gbps.size()` regions with these ports, every pair linked.
Scenario places(const std::vector<double>& gbps, double parameters, double step_s,
                double latency_s = 0.0) {
  Scenario s;
  s.name = "places";
  s.seeds = {1};
  s.stop.tokens = 1e6;
  s.charged.parameters = parameters;
  s.charged.tokens_per_learner_step = 1000.0;
  const int n = static_cast<int>(gbps.size());
  for (int i = 0; i < n; ++i) {
    const double rate = bytes_per_s_from_gbps(gbps[static_cast<std::size_t>(i)]);
    s.regions.push_back({"r" + std::to_string(i), rate, rate});
    Learner learner;
    learner.name = "x" + std::to_string(i) + ".1";
    learner.group = "x" + std::to_string(i);
    learner.region = i;
    learner.chips = 8;
    learner.step_s = step_s;
    s.learners.push_back(learner);
    for (int j = 0; j < n; ++j) {
      if (i != j) s.links.push_back({i, j, latency_s, kUnlimited});
    }
  }
  s.protocols = {row("data_parallel", Family::kDataParallel, n),
                 row("decoupled_diloco", Family::kDiloco, n)};
  return s;
}

void set_bits(Scenario& s, double bits) {
  s.charged.wire_bits_per_parameter = bits;
  for (Protocol& row : s.protocols) row.wire.bits_per_parameter = bits;
}

double gbps(double rate_Bps) {
  return gbps_from_bytes_per_s(rate_Bps);
}

// The port of that name.
const PortEstimate& port(const RowEstimate& estimate, const std::string& name) {
  for (const PortEstimate& p : estimate.ports) {
    if (p.name == name) return p;
  }
  FAIL("no port " << name);
  return estimate.ports.front();
}

}  // namespace

TEST_CASE("one sync of a 7B model at 1 Gbit/s") {
  // 7e9 x 32, 16, 8, 4 bits = 224, 112, 56, 28 Gbit; ring of 2: x 1; of 4: x 1.5; of 8: x 1.75.
  for (const auto& [sites, bits, seconds] : std::vector<std::tuple<std::size_t, double, double>>{
           {2, 32, 224}, {2, 16, 112}, {2, 8, 56}, {2, 4, 28}, {4, 16, 168}, {8, 16, 196}}) {
    Scenario s = places(std::vector<double>(sites, 1.0), 7e9, 1.0);
    set_bits(s, bits);
    const Estimate known = estimate(s);
    CHECK(known.rows[1].all_reduce_s == doctest::Approx(seconds).epsilon(1e-12));
    CHECK(known.rows[0].sync_s_mean == doctest::Approx(seconds).epsilon(1e-12));
    CHECK(known.rows[1].sync_s_mean == doctest::Approx(seconds / 24.0).epsilon(1e-12));
    CHECK(known.rows[1].sync_bytes_mean * 24.0 == doctest::Approx(7e9 * bits / 8.0).epsilon(1e-12));
  }
  // Star, four learners with wide ports behind one 1 Gbit/s port: 4 x 112 = 448 s up, as much down.
  Scenario s = places({1.0, 100.0, 100.0, 100.0, 100.0}, 7e9, 1.0);
  s.protocols[1].learners = {1, 2, 3, 4};
  s.protocols[1].syncer = SyncerPlace::kCentral;
  s.protocols[1].syncer_region = 0;
  const Estimate known = estimate(s);
  CHECK(known.rows[1].first_phase_s == doctest::Approx(448.0).epsilon(1e-12));
  CHECK(known.rows[1].all_reduce_s == doctest::Approx(896.0).epsilon(1e-12));
}

TEST_CASE("one copy of a 12B model, and latency on top") {
  // 12e9 x 16 = 192 Gbit at 2 and 5 Gbit/s: 96 and 38.4 s; int4: 24 and 9.6 s. One way: + 50 ms.
  for (const auto& [rate, bits, seconds] : std::vector<std::tuple<double, double, double>>{
           {2, 16, 96}, {5, 16, 38.4}, {2, 4, 24}, {5, 4, 9.6}}) {
    Scenario s = places({rate, rate}, 12e9, 1.0, 0.05);
    set_bits(s, bits);
    const Estimate known = estimate(s);
    CHECK(known.rows[0].copy_s == doctest::Approx(seconds + 0.05).epsilon(1e-12));
    // Ring of two: 2 (2 - 1) hops of 50 ms ahead of the bytes.
    CHECK(known.rows[0].latency_s == doctest::Approx(0.1));
    CHECK(known.rows[0].all_reduce_s == doctest::Approx(seconds + 0.1).epsilon(1e-12));
  }
}

TEST_CASE("what must be in flight") {
  // 1 Gbit/s x 100 ms there and back = 1e8 bit = 12.5 MB = 8,333 packets of 1,500 B; x 1.5 =
  // 12,500.
  Scenario s = places({1.0, 4.0}, 1e9, 1.0, 0.05);
  s.transport = {TransportKind::kTcp, 4194304.0, 2, 0.5};
  const Estimate known = estimate(s);
  REQUIRE(known.links.size() == 2);
  CHECK(known.links[0].name == "r0>r1");
  CHECK(known.links[0].in_flight_bytes == doctest::Approx(12.5e6).epsilon(1e-12));
  CHECK(std::floor(known.links[0].in_flight_packets) == 8333.0);
  CHECK(known.links[0].queue_packets == doctest::Approx(12500.0).epsilon(1e-12));
  // Two streams of 4 MiB per 100 ms: 8,388,608 B / 0.1 s = 0.671 Gbit/s.
  CHECK(gbps(known.links[0].flow_cap_Bps) == doctest::Approx(0.67108864).epsilon(1e-12));
  // 2 GB behind that cap: 23.84 s, 0.1 s of hops and 0.5 s of set-up; its port alone would take 16.
  CHECK(known.rows[0].all_reduce_s == doctest::Approx(2e9 / 83886080.0 + 0.6).epsilon(1e-12));
}

TEST_CASE("smallest port by conservation: the published setting at H = 24") {
  // 5e9 x 16 bit = 80 Gbit, two sites, T = 1 s: 80 / 24 = 3.33 Gbit/s for full utilization, so 50,
  // 75, 90, 95 and 99 % need 1.67, 2.5, 3.0, 3.17 and 3.3.
  Scenario s = places({100.0, 100.0}, 5e9, 1.0);
  s.protocols[1].learner_waits = LearnerWaits::kAtOverlap;
  s.protocols[1].quorum = 2;
  CHECK(gbps(estimate(s).rows[1].needed_Bps) == doctest::Approx(80.0 / 24.0).epsilon(1e-12));
  for (const double share : {0.5, 0.75, 0.9, 0.95, 0.99}) {
    for (Region& region : s.regions)
      region.up_Bps = region.down_Bps = bytes_per_s_from_gbps(share * 80.0 / 24.0);
    const RowEstimate known = estimate(s).rows[1];
    CHECK(known.compute_utilization_limit == doctest::Approx(share).epsilon(1e-12));
    CHECK(port(known, "r0.up").load == doctest::Approx(1.0 / share).epsilon(1e-12));
    CHECK(port(known, "r0.up").headroom_Bps == 0.0);
  }
  // Headline cell: eight sites, int4: 1.75 x 20 / 24 = 1.458; x 0.95 = 1.39 Gbit/s.
  Scenario eight = places(std::vector<double>(8, 1.0), 5e9, 1.0);
  set_bits(eight, 4.0);
  CHECK(gbps(estimate(eight).rows[1].needed_Bps) * 0.95 == doctest::Approx(1.3854).epsilon(1e-4));
}

TEST_CASE("below the bytes, waiting learners slow down and others merge less") {
  // V/(HT) = 80/24 Gbit/s; at half of it.
  Scenario s = places({40.0 / 24.0, 40.0 / 24.0}, 5e9, 1.0);
  const RowEstimate never = estimate(s).rows[1];
  CHECK(never.tokens_per_s_limit == never.tokens_per_s_full);
  CHECK(*never.syncs_carried_limit == doctest::Approx(0.5).epsilon(1e-12));
  s.protocols[1].learner_waits = LearnerWaits::kAtOverlap;  // quorum 1 of 2: no lock-step
  const RowEstimate waits = estimate(s).rows[1];
  CHECK(waits.compute_utilization_limit == doctest::Approx(0.5).epsilon(1e-12));
  CHECK_FALSE(waits.syncs_carried_limit.has_value());
}

TEST_CASE("ratio to data-parallel and the port it would need") {
  // Two sites at 8 Gbit/s, V = 80 Gbit, T = 1 s. Data-parallel: 10 s of bytes behind the forward
  // third and the first of 64 buckets: 1/3 + 2/192 + 10 = 10.34375 s a step of 2,000 tokens.
  const Scenario s = places({8.0, 8.0}, 5e9, 1.0);
  const Estimate known = estimate(s);
  CHECK(known.data_parallel_row == "data_parallel");
  CHECK(known.rows[0].tokens_per_s_limit == doctest::Approx(2000.0 / 10.34375).epsilon(1e-12));
  CHECK(*known.rows[0].ratio_limit == 1.0);
  CHECK(*known.rows[1].ratio_limit == doctest::Approx(10.34375).epsilon(1e-12));
  // 95 % of 2,000 tokens/s: 80 / (1/0.95 - 1/3 - 2/192) = 112.9 Gbit/s.
  CHECK(gbps(*known.rows[1].data_parallel_port_Bps) ==
        doctest::Approx(80.0 / (1.0 / 0.95 - 1.0 / 3.0 - 2.0 / 192.0)).epsilon(1e-12));
  // A learner twice as fast: the sum of rates, 3,000/s, is out of reach of a lock-step at 2,000/s.
  Scenario mixed = s;
  mixed.learners[0].step_s = 0.5;
  const Estimate faster = estimate(mixed);
  CHECK(faster.rows[1].tokens_per_s_full == doctest::Approx(3000.0));
  CHECK(*faster.rows[1].data_parallel_port_Bps == kUnlimited);
}

TEST_CASE("room for a recovery") {
  // Star at a wide hub, one learner a region, H = 24, T = 1 s, V = 24 Gbit: 1 Gbit a step each way.
  // At 4 Gbit/s c = 6: load 6/24, 18 / 0.75 = 24 steps = H, no downtime; the limit is just met.
  Scenario s = places({1000.0, 4.0, 8.0}, 1.5e9, 1.0);
  Protocol& diloco = s.protocols[1];
  diloco.learners = {1, 2};
  diloco.syncer = SyncerPlace::kCentral;
  diloco.syncer_region = 0;
  const auto known = estimate(s).rows[1].recovery;
  REQUIRE(known.has_value());
  CHECK(known->port == "r1.down");
  CHECK(known->copy_steps == doctest::Approx(6.0).epsilon(1e-12));
  CHECK(known->load == doctest::Approx(0.25).epsilon(1e-12));
  CHECK(known->steps_traffic_first == doctest::Approx(24.0).epsilon(1e-12));
  CHECK(known->steps_fair_share == doctest::Approx(24.0).epsilon(1e-12));
  CHECK(known->downtime_steps == doctest::Approx(0.0));
  CHECK(known->elastic_downtime_steps == doctest::Approx(18.0).epsilon(1e-12));
  CHECK(known->limit_steps == 24.0);
  CHECK(gbps(known->needed_for_limit_Bps) == doctest::Approx(4.0).epsilon(1e-12));

  // Load 0.8 of a slower port: a flow of its own still gets half. c = 24/1.25 = 19.2 steps.
  s.regions[1].up_Bps = s.regions[1].down_Bps = bytes_per_s_from_gbps(1.25);
  diloco.recovery.limit_steps = 48;
  const auto slow = estimate(s).rows[1].recovery;
  CHECK(slow->steps_traffic_first == doctest::Approx(3.0 * 19.2 / 0.2).epsilon(1e-12));
  CHECK(slow->steps_fair_share == doctest::Approx(3.0 * 19.2 / 0.5).epsilon(1e-12));
  CHECK(slow->downtime_steps == doctest::Approx(4.0 * 19.2 - 24.0).epsilon(1e-12));
  // 3 x 24 Gbit and 48 steps of 1 Gbit in 48 s: 2.5 Gbit/s.
  CHECK(gbps(slow->needed_for_limit_Bps) == doctest::Approx(2.5).epsilon(1e-12));
  CHECK_FALSE(slow->limit_met);
}

TEST_CASE("a ring of four needs 4.5 model bits in H steps for the paper's rule") {
  const Scenario s = places({2.0, 3.0, 4.0, 5.0}, 12e9, 7.0);
  const auto known = estimate(s).rows[1].recovery;
  CHECK(gbps(known->needed_for_limit_Bps) ==
        doctest::Approx(4.5 * 192.0 / (24.0 * 7.0)).epsilon(1e-12));
  CHECK_FALSE(known->limit_met);
  Scenario elastic = s;
  elastic.protocols[0].elastic = true;
  const auto copy = estimate(elastic).rows[0].recovery;
  CHECK(copy->downtime_steps == doctest::Approx(3.0 * 96.0 / 7.0).epsilon(1e-12));
  CHECK_FALSE(estimate(s).rows[0].recovery.has_value());
}

TEST_CASE("checkpoint advice of a row") {
  // 16 chips, each every 16 x 3.09 h: the job every 3.09 h, of one learner's 8 chips every 6.18 h.
  Scenario s = places({10.0, 10.0}, 1e9, 1.0);
  Fault fault;
  fault.scripted = false;
  fault.gap.mean_s = 16.0 * 3.09 * 3600.0;
  fault.targets = {{TargetKind::kSlice, 0, 0}, {TargetKind::kSlice, 1, 0}};
  fault.units = 8;
  fault.events_per_s_nominal = 16.0 / fault.gap.mean_s;
  s.faults = {fault};
  Recovery& recovery = s.protocols[0].recovery;
  recovery.restart_s = 540.0;
  recovery.checkpoint_restore_s = 60.0;
  recovery.checkpoint_rule = CheckpointRule::kPeriod;
  recovery.checkpoint_every_s = 900.0;
  const auto known = estimate(s).rows[0].checkpoint;
  REQUIRE(known.has_value());
  CHECK(known->mtbf_s == doctest::Approx(3.09 * 3600.0).epsilon(1e-12));
  CHECK(known->restart_s == 600.0);
  CHECK(known->efficiency == doctest::Approx(0.8791).epsilon(1e-4));
  CHECK(known->young_s == doctest::Approx(std::sqrt(60.0 * 3.09 * 3600.0)).epsilon(1e-12));

  s.protocols[0].learners = {0};
  CHECK(estimate(s).rows[0].checkpoint->mtbf_s == doctest::Approx(6.18 * 3600.0).epsilon(1e-12));
  s.protocols[0].learners = {0, 1};
  s.faults[0].together = 0;  // both slices go at one date: half as many events
  CHECK(estimate(s).rows[0].checkpoint->mtbf_s == doctest::Approx(6.18 * 3600.0).epsilon(1e-12));
  s.faults[0].kind = FaultKind::kStraggler;  // stops nothing
  CHECK(estimate(s).rows[0].checkpoint->mtbf_s == kNever);
  s.protocols[0].elastic = true;
  CHECK_FALSE(estimate(s).rows[0].checkpoint.has_value());
  CHECK_FALSE(estimate(s).rows[1].checkpoint.has_value());
}

TEST_CASE("memory: 12B at 16 bytes a parameter is 192 GB") {
  // v5p (95 GB): three chips; v6e (32 GB): six are exactly full.
  Scenario s = places({10.0, 10.0}, 12e9, 1.0);
  s.learners[0].chips = 3;
  s.learners[0].memory_per_chip_bytes = 95e9;
  s.learners[1].chips = 12;
  s.learners[1].slices = 2;
  s.learners[1].memory_per_chip_bytes = 32e9;
  const Estimate known = estimate(s);
  REQUIRE(known.memory.size() == 2);
  CHECK(known.memory[0].fit.least_chips_per_slice == 3);
  CHECK_FALSE(known.memory[0].fit.exactly_full);
  CHECK(known.memory[1].chips_per_slice == 6);
  CHECK(known.memory[1].fit.exactly_full);
}

TEST_CASE("work, round and stop") {
  // 2 learners x 1,000 tokens x 6 x 1e9 FLOP; 16 chips x 24 s / 3,600 chip-hours a round.
  Scenario s = places({100.0, 100.0}, 1e9, 1.0);
  const RowEstimate known = estimate(s).rows[1];
  CHECK(known.flop_per_step == doctest::Approx(1.2e13));
  CHECK(known.round_flop == doctest::Approx(24.0 * 1.2e13));
  CHECK(known.round_chip_h == doctest::Approx(16.0 * 24.0 / 3600.0));
  CHECK(known.round_wan_bytes == doctest::Approx(2.0 * 2e9));  // ring of two: one copy each way
  CHECK(known.tokens == 1e6);
  CHECK(known.ideal_s == doctest::Approx(500.0));  // 1e6 tokens at 2,000/s
  s.stop.simulated_s = 100.0;                      // capped
  CHECK(estimate(s).rows[1].tokens == doctest::Approx(2e5));
  CHECK(estimate(s).rows[1].ideal_s == doctest::Approx(100.0));
  // The second learner joins when half of the tokens are done: 0.5 + 0.5 / 2.
  s.stop = {1e6, kNever};
  s.learners[1].start_s = 500.0;
  CHECK(*estimate(s).rows[1].scavenged_share == doctest::Approx(0.75).epsilon(1e-12));
}

TEST_CASE("nothing is sent: one region, no model, exchange off, ideal") {
  Scenario s = places({1.0, 1.0}, 1e9, 1.0);
  s.protocols[0].ideal_network = true;
  s.protocols[1].exchange = false;
  const Estimate off = estimate(s);
  CHECK(off.links.empty());
  CHECK(off.data_parallel_row.empty());
  for (const RowEstimate& known : off.rows) {
    CHECK(known.ports.empty());
    CHECK(known.tokens_per_s_limit == known.tokens_per_s_full);
    CHECK_FALSE(known.recovery.has_value());
  }
  Scenario bare = places({1.0, 1.0}, 0.0, 1.0);
  CHECK(estimate(bare).rows[1].ports.empty());
  CHECK(estimate(bare).memory.empty());
  Scenario one = places({1.0}, 1e9, 1.0);
  CHECK(estimate(one).rows[0].compute_utilization_limit == 1.0);
  one.regions.clear();
  one.learners[0].region = -1;
  CHECK(estimate(one).rows[1].regions == 0);
}

TEST_CASE("the port of lock-step counts latency, caps and the row's own wire") {
  // 1e9 x 16 bit, two sites, T = 1 s, 64 buckets, 100 ms one way: lead 0.2 s. A step of 1.3 s needs
  // 1/3 + 2/192 + 0.2 + 16/W = 1.3: W = 21.157 Gbit/s.
  Scenario s = places({10.0, 10.0}, 1e9, 1.0, 0.1);
  const double tokens_per_s = 2000.0 / (0.95 * 1.3);
  const double port = lock_step_port_Bps(s, s.protocols[1], tokens_per_s).value();
  CHECK(gbps(port) == doctest::Approx(16.0 / (1.3 - 0.2 - 1.0 / 3 - 2.0 / 192)).epsilon(1e-9));
  // A data-parallel row on int8 needs half.
  s.protocols[0].wire.bits_per_parameter = 8.0;
  CHECK(lock_step_port_Bps(s, s.protocols[0], tokens_per_s).value() ==
        doctest::Approx(port / 2).epsilon(1e-9));
  // Flows capped at 2 Gbit/s take 8 s: no port is enough.
  s.transport.class_cap_Bps[0] = bytes_per_s_from_gbps(2.0);
  CHECK(lock_step_port_Bps(s, s.protocols[1], tokens_per_s).value() == kUnlimited);
}

TEST_CASE("where nobody waits the K-th fastest sets the clock, and messages take their way") {
  // Steps of 1 and 2 s, quorum 1: a fragment every step of the fast one, 16/24 Gbit each.
  Scenario s = places({10.0, 10.0}, 1e9, 1.0, 0.05);
  s.learners[1].step_s = 2.0;
  CHECK(gbps(estimate(s).rows[1].needed_Bps) == doctest::Approx(16.0 / 24).epsilon(1e-9));
  s.protocols[1].quorum = 2;
  CHECK(gbps(estimate(s).rows[1].needed_Bps) == doctest::Approx(8.0 / 24).epsilon(1e-9));
  // Report and decision 50 ms each, the ring of two another 0.1 s; 16/24 Gbit at 10 Gbit/s.
  CHECK(estimate(s).rows[1].sync_s_mean == doctest::Approx(0.2 + 1.6 / 24).epsilon(1e-9));
}
