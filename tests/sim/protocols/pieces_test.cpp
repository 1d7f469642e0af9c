// Steps in buckets and layers, with the arithmetic beside the number.
#include <algorithm>

#include <doctest/doctest.h>

#include "sim/base/random.hpp"
#include "sim/scenario/load.hpp"
#include "tests/sim/protocols/worlds.hpp"

using namespace skerry;
using namespace worlds;

namespace {

// Two regions on ports of so many Gbit/s without latency, one learner each, steps of 1 s.
Run two_sites(const std::string& rows, const std::string& model, double gbps, int steps) {
  const std::string text =
      R"({"skerry":"scenario/1","regions":{"a":{"port_gbps":)" + std::to_string(gbps) +
      R"(},"b":{"port_gbps":)" + std::to_string(gbps) +
      R"(}},"links":{"a<>b":{"latency_one_way_ms":0}},"islands":{"a":{"region":"a","step_s":1},)"
      R"("b":{"region":"b","step_s":1}},"charged_model":{)" + model +
      R"(,"tokens_per_learner_step":1},"stop":{"tokens":)" + std::to_string(2 * steps) +
      R"(},"protocols":{)" + rows + R"(},"training":false})";
  const Scenario s = load_scenario_text(text, "sites", ".").scenario;
  return run(s, s.protocols[0]);
}

double utilization(const std::string& rows, const std::string& model, double gbps, int steps) {
  return two_sites(rows, model, gbps, steps).summary.compute_utilization_whole_periods.value();
}

// 3 layers of 1 Gbit each (16 bits).
const char* kThreeLayers = R"("parameters":187500000,"layers":3)";

}  // namespace

TEST_CASE("data-parallel in layers: FIFO drains before the first layer") {
  // 8 slices of 1/8 s; layers ready at 5/8, 7/8, 1 s. At 1 Gbit/s each takes 1 s: done at 1.625, 2.625,
  // 3.625 s; the next step begins then. CU = 1 / 3.625.
  const std::string row = R"("data_parallel":{"anatomy":"layers"})";
  CHECK(utilization(row, kThreeLayers, 1.0, 10) == doctest::Approx(1 / 3.625).epsilon(1e-9));
  // At 8 Gbit/s a layer takes 1/8 s: done at 6/8, 1, 9/8 s: only the last shows.
  CHECK(utilization(row, kThreeLayers, 8.0, 10) == doctest::Approx(8.0 / 9.0).epsilon(1e-9));
}

TEST_CASE("data-parallel in layers that share the links ends when FIFO does") {
  // Whatever the sizes, the first layer's piece is the last there: embedding and head are as large.
  const char* model = R"("layers":4,"width":64,"vocabulary":262144,"tied":false)";
  const std::string fifo = R"("data_parallel":{"anatomy":"layers"})";
  const std::string shared = R"("data_parallel":{"anatomy":"layers","channel":"shared"})";
  const double a = utilization(fifo, model, 0.4, 12), b = utilization(shared, model, 0.4, 12);
  CHECK(a == doctest::Approx(b).epsilon(1e-9));
  // Bytes cannot be created: 2 x 16.8 M and 4 x 49 k parameters at 16 bits over 0.4 Gbit/s.
  const Run r = two_sites(shared, model, 0.4, 12);
  const double bits = 16.0 * (2 * 262144 * 64.0 + 4 * (12 * 64 * 64 + 2 * 64) + 64);
  CHECK(1.0 / b >= bits / 0.4e9 - 1e-9);
  CHECK(r.summary.closure_bytes == 0.0);
}

TEST_CASE("accumulated passes: only the last one's backward hides the reduction") {
  // 1 Gbit in one bucket, ready at the end of the second pass; at 1 Gbit/s 2 s of compute, 1 s exposed.
  const Run r = two_sites(R"("data_parallel":{"buckets":1,"accumulate_steps":2})",
                             R"("parameters":62500000)", 1.0, 20);
  CHECK(r.summary.compute_utilization == doctest::Approx(2.0 / 3.0).epsilon(1e-9));
  CHECK(r.summary.tokens == 40);
  CHECK(r.summary.step_interval_s.mean == doctest::Approx(3.0));
}

TEST_CASE("DiLoCo in layers: every layer of the period's last step, needed one by one") {
  // H = 4: layers leave at 5/8, 7/8, 1 s of step 4 and take 1 s each; the first layer, the last on the
  // wire, is there 2.625 s after the step. CU = 4 / 6.625.
  CHECK(utilization(R"("diloco":{"anatomy":"layers","sync_period_steps":4})", kThreeLayers, 1.0, 40) ==
        doctest::Approx(4 / 6.625).epsilon(1e-9));
}

TEST_CASE("Streaming in layers: the layer's own forward pass waits, tau steps later") {
  // H = 3, one layer a step, tau = 1. Layer 2 is made at 5/8 s, needed at 2/8 s of the step after the
  // next, 1 + 5/8 s later; layers 1 and 0 are made at 7/8 and 1 s and needed at 1/8 and 0 s of it: 1.25
  // and 1 s. Each takes x s at 1/x Gbit/s. x = 1: nothing shows.
  const std::string row = R"("streaming_diloco":{"anatomy":"layers","sync_period_steps":3,)"
                          R"("fragments":3,"overlap_steps":1,"fragmentation":"strided_layers"})";
  CHECK(utilization(row, kThreeLayers, 1.0, 60) == doctest::Approx(1.0).epsilon(1e-9));
  // x = 1.25 s > the period's 3 s of compute for 3.75 s of wire: the wire decides, CU = 3 / 3.75.
  CHECK(utilization(row, kThreeLayers, 0.8, 60) == doctest::Approx(0.8).epsilon(1e-9));
}

TEST_CASE("random exchanges that do not meet: the closed form") {
  // CU = I / (I + stall), I = H/P steps of 1 s; stall as the published calculator has it (anatomy_test).
  RandomStream random(21, "tests/pieces", 0);
  for (int i = 0; i < 60; ++i) {
    const int tau = static_cast<int>(random.below(3)), fragments = 1 + static_cast<int>(random.below(4));
    const int interval = 4 + static_cast<int>(random.below(6)), period = fragments * interval;
    const int buckets = 1 + static_cast<int>(random.below(40));
    const double whole_s = (interval - 1) * random.uniform();   // of a fragment, on the wire
    const double gbps = 16e-9 * 1e9 / fragments / std::max(whole_s, 0.01);
    const double sent_s = 16.0 / fragments / gbps;
    const double stall = std::max({0.0, sent_s - 2.0 / 3 * (1 - 1.0 / buckets) - tau,
                                   sent_s / buckets - tau});
    const std::string row = R"("streaming_diloco":{"anatomy":"buckets","buckets":)" +
                            std::to_string(buckets) + R"(,"sync_period_steps":)" +
                            std::to_string(period) + R"(,"fragments":)" + std::to_string(fragments) +
                            R"(,"overlap_steps":)" + std::to_string(tau) + "}";
    CAPTURE(row);
    CAPTURE(gbps);
    CHECK(utilization(row, R"("parameters":1e9)", gbps, 4 * period + 2) ==
          doctest::Approx(interval / (interval + stall)).epsilon(1e-6));
  }
}

TEST_CASE("more fragments than steps: those of one step travel together") {
  // P = 8, H = 4 is P = 4 when the parts are equal; P = 6, H = 4 sends all bytes.
  const auto at = [](int fragments) {
    return two_sites(R"("streaming_diloco":{"sync_period_steps":4,"fragments":)" +
                         std::to_string(fragments) + R"(,"overlap_steps":0})",
                     R"("parameters":1e8)", 1.0, 40);
  };
  CHECK(at(8).summary.compute_utilization == at(4).summary.compute_utilization);
  // 1.6 Gbit a period on a wire of 1 Gbit/s.
  CHECK(at(6).summary.wan.bytes == doctest::Approx(2 * 2e8 * 39 / 4.0).epsilon(0.03));
  CHECK(at(6).summary.compute_utilization_whole_periods.value() ==
        doctest::Approx(4.0 / 5.6).epsilon(1e-6));
}

TEST_CASE("what stands beside the wire, and the one-off set-up") {
  // 1e8 parameters: host copy 0.5 s, quantise 0.25 s each way, 4 bits x 1.25 at 1 Gbit/s 0.5 s, merge
  // 1 s, fixed 0.1 s: 2.6 s after each period of 4 steps; the set-up of 7 s once.
  const Run r = two_sites(
      R"("diloco":{"sync_period_steps":4,"wire":{"format":"int4","overhead_bytes_share":0.25,)"
      R"("sync_fixed_s":0.1,"setup_s":7,"quantise_parameters_per_s":4e8,)"
      R"("host_copy_parameters_per_s":2e8,"merge_parameters_per_s":1e8}})",
      R"("parameters":1e8)", 1.0, 41);
  CHECK(r.summary.simulated_s == doctest::Approx(41 + 10 * 2.6 + 7).epsilon(1e-9));
  CHECK(r.summary.compute_utilization_whole_periods.value() ==
        doctest::Approx(4 / 6.6).epsilon(1e-9));
}

TEST_CASE("a learner lost in the middle of a step that is being sent is left out, and nothing hangs") {
  // In chaos_test at every date; here the tape: the round of clock 4 goes on with one learner.
  const std::string text =
      R"({"skerry":"scenario/1","regions":{"a":{"port_gbps":1},"b":{"port_gbps":1}},)"
      R"("links":{"a<>b":{"latency_one_way_ms":0}},"islands":{"a":{"region":"a","step_s":1},)"
      R"("b":{"region":"b","step_s":1}},"charged_model":{"parameters":62500000,"layers":2,)"
      R"("tokens_per_learner_step":1},"stop":{"tokens":40},)"
      R"("protocols":{"decoupled_diloco":{"anatomy":"buckets","buckets":4,"sync_period_steps":4,)"
      R"("fragments":1,"overlap_steps":1,"quorum":"all"}},)"
      R"("faults":{"x":{"kind":"island_down","target":"b.1","at_s":3.9,"for_s":5}},"training":false})";
  const Scenario s = load_scenario_text(text, "lost", ".").scenario;
  const worlds::Run r = run(s, s.protocols[0]);
  CHECK(r.tape.end.reason == "tokens");
  const auto merges = facts<fact::Merge>(r.tape);
  REQUIRE(!merges.empty());
  CHECK(merges[0].clock == 4);
  CHECK(merges[0].participants == 1);
}

TEST_CASE("control messages among the flows starve, and are sent again") {
  // 1 Mbit messages on a port of 1 Mbit/s that fragments fill: those from c to the coordinator time out
  // after 0.5 s; all the same every round ends and the counts are on the tape.
  const std::string text =
      R"({"skerry":"scenario/1","regions":{"a":{},"c":{"port_gbps":0.001}},)"
      R"("links":{"a<>c":{"latency_one_way_ms":1}},"islands":{"a":{"region":"a","step_s":1},)"
      R"("c":{"region":"c","step_s":1}},"transport":{"kind":"fluid","control":{"bytes":125000,)"
      R"("rate":"shared","timeout_s":1.5}},"charged_model":{"parameters":5e5,)"
      R"("tokens_per_learner_step":1},"stop":{"tokens":200},)"
      R"("protocols":{"streaming_diloco":{"sync_period_steps":4,"fragments":4}},"training":false})";
  const Scenario s = load_scenario_text(text, "starved", ".").scenario;
  const worlds::Run r = run(s, s.protocols[0]);
  CHECK(r.tape.end.reason == "tokens");
  double timed_out = 0;
  for (const fact::Control& pair : r.tape.controls) timed_out += double(pair.timed_out);
  CHECK(timed_out > 0);
}
