// Places, islands, the charged model.
#include <doctest/doctest.h>

#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

TEST_CASE("durations: every unit, a year of 365 days") {
  const std::vector<std::pair<std::string, double>> units = {
      {"_ms", 0.002}, {"_s", 2.0},         {"_min", 120.0},
      {"_h", 7200.0}, {"_days", 172800.0}, {"_years", 63072000.0}};
  for (const auto& [suffix, seconds] : units) {
    CAPTURE(suffix);
    Json document = base();
    document["stop"] = {{"simulated" + suffix, 2}};
    document["islands"]["west"]["step_s"] = 1000;
    document["islands"]["east"]["step_s"] = 1000;
    CHECK(load(document).scenario.stop.simulated_s == seconds);
  }
}

TEST_CASE("stop: tokens have a cap of ten years unless one is given") {
  CHECK(load(base()).scenario.stop.simulated_s == 3650.0 * 86400.0);
  Json document = base();
  document["stop"]["max_simulated_h"] = 2;
  CHECK(load(document).scenario.stop.simulated_s == 7200.0);
  CHECK(load(document).scenario.stop.tokens == 1e9);
}

TEST_CASE("ports: one rate, two, or none") {
  Json document = base();
  document["regions"]["us-west1"] = {{"up_gbps", 8}};
  document["regions"]["us-east5"] = Json::object();
  const Scenario scenario = load(document).scenario;
  CHECK(scenario.regions[0].up_Bps == 1e9);
  CHECK(scenario.regions[0].down_Bps == kUnlimited);
  CHECK(scenario.regions[1].up_Bps == kUnlimited);
}

TEST_CASE("links: latency from the catalog unless given; one direction by itself") {
  Json document = base();
  // round trip us-west1 – us-east5 in the catalog: 60.3 ms
  CHECK(load(document).scenario.links[0].latency_one_way_s == doctest::Approx(0.03015));
  document["links"]["us-east5>us-west1"] = {{"latency_one_way_ms", 10}, {"gbps", 1}};
  const Scenario scenario = load(document).scenario;
  const auto there = static_cast<std::size_t>(scenario.link_between(0, 1));
  const auto back = static_cast<std::size_t>(scenario.link_between(1, 0));
  CHECK(scenario.links[there].latency_one_way_s == doctest::Approx(0.03015));
  CHECK(scenario.links[there].capacity_Bps == kUnlimited);
  CHECK(scenario.links[back].latency_one_way_s == 0.01);
  CHECK(scenario.links[back].capacity_Bps == 1.25e8);
}

TEST_CASE("a route is needed between regions of one row only") {
  Json document = base();
  document["regions"]["mars"] = {{"port_gbps", 1}};
  document["islands"]["far"] = {{"region", "mars"}, {"step_s", 1}};
  CHECK(has(refusal(document), "no route between us-west1 and mars"));
  document["protocols"] = {{"data_parallel", {{"only_islands", {"west", "east"}}}},
                           {"ideal", Json::object()}};
  CHECK(load(document).scenario.protocols.size() == 2);
  document["protocols"]["data_parallel"]["all_reduce"] = {{"star_at", "mars"}};
  CHECK(has(refusal(document), "no route between"));
}

TEST_CASE("no regions at all: one ideal place") {
  const Json document = {{"skerry", "scenario/1"},
                         {"stop", {{"simulated_h", 1}}},
                         {"islands", {{"a", {{"step_s", 2}, {"count", 3}}}}},
                         {"protocols", {{"data_parallel", Json::object()}}},
                         {"training", false}};
  const Scenario scenario = load(document).scenario;
  CHECK(scenario.regions.empty());
  CHECK(scenario.links.empty());
  CHECK(scenario.learners[2].region == -1);
  CHECK(scenario.learners[2].chips == 1);
  CHECK(scenario.charged.parameters == 0.0);
  CHECK(scenario.charged.tokens_per_learner_step == 1.0);
  CHECK(warns(scenario, "W08"));
}

TEST_CASE("islands: totals are shared out, factors multiply, learners join later") {
  Json document = base();
  document["islands"]["west"] = {{"region", "us-west1"}, {"count", 2},
                                 {"chips_total", 48},    {"slices_total", 6},
                                 {"step_s", 2},          {"step_time_factor", {1, 1.5}},
                                 {"start_h", 1}};
  const Scenario scenario = load(document).scenario;
  CHECK(scenario.learners[1].chips == 24);
  CHECK(scenario.learners[1].slices == 3);
  CHECK(scenario.learners[1].first_global_slice == 3);
  CHECK(scenario.learners[0].step_s == 2.0);
  CHECK(scenario.learners[1].step_s == 3.0);
  CHECK(scenario.learners[1].start_s == 3600.0);
  CHECK(scenario.learners[1].device.empty());
  CHECK(scenario.learners[1].memory_per_chip_bytes == 0.0);
}

TEST_CASE("tensors of a transformer add up, tied or not") {
  // 2 layers of width 4, ffn 16: 4·16 + 2·64 + 2·4 = 200 each; embedding 10·4 = 40; final norm 4
  double sum = 0.0;
  for (const Tensor& tensor : transformer_tensors(2, 4, 16, 10, true))
    sum += tensor.parameters;
  CHECK(sum == 444.0);
  const auto untied = transformer_tensors(2, 4, 16, 10, false);
  sum = 0.0;
  int embeddings = 0;
  for (const Tensor& tensor : untied) {
    sum += tensor.parameters;
    embeddings += tensor.embedding ? 1 : 0;
  }
  CHECK(sum == 484.0);
  CHECK(embeddings == 1);
  CHECK(untied.size() == 2 * 8 + 3);
}

TEST_CASE("ffn is four times the width unless given") {
  const Scenario scenario = load(base()).scenario;
  CHECK(scenario.charged.ffn == 4 * 2048.0);
  CHECK(scenario.charged.layers == 12);
  // 12 · (4·2048² + 2·2048·8192 + 2·2048) + 32,000·2048 + 2048
  CHECK(scenario.charged.parameters == 12.0 * (16777216 + 33554432 + 4096) + 65536000 + 2048);
}

TEST_CASE("memory: a slice holds the whole state, exactly full warns") {
  // 12e9 parameters × 16 bytes = 192 GB
  Json document = base();
  document["charged_model"] = {{"parameters", 12e9}, {"tokens_per_learner_step", 1e6}};
  const auto with = [&](const char* device, int chips) {
    document["islands"] = {{"a", {{"region", "us-west1"}, {"device", device}, {"chips", chips}}}};
    return document;
  };
  // v5p, 95 GB: two chips need 96 GB each, three need 64
  CHECK(has(refusal(with("v5p", 2)), "needs 96 GB a chip of 95 GB; allowed from 3 chips a slice"));
  CHECK_FALSE(warns(load(with("v5p", 3)).scenario, "W05"));
  // v6e, 32 GB: five need 38.4, six are exactly full, seven fit
  CHECK(
      has(refusal(with("v6e", 5)), "needs 38.4 GB a chip of 32 GB; allowed from 6 chips a slice"));
  CHECK(warns(load(with("v6e", 6)).scenario, "W05"));
  CHECK_FALSE(warns(load(with("v6e", 7)).scenario, "W05"));
  // per slice, not per island: 8 chips in 2 slices are 4 a slice
  document = with("v6e", 8);
  document["islands"]["a"]["slices"] = 2;
  CHECK(has(refusal(document), "a slice of 4 v6e chips needs 48 GB a chip of 32 GB"));
}

TEST_CASE("transport: fluid by default, tcp with its window, useless keys warned of") {
  Json document = base();
  CHECK(load(document).scenario.transport.kind == TransportKind::kFluid);
  document["transport"] = {
      {"kind", "tcp"}, {"window_bytes", 4194304}, {"streams", 8}, {"setup_ms", 50}};
  const Scenario scenario = load(document).scenario;
  CHECK(scenario.transport.kind == TransportKind::kTcp);
  CHECK(scenario.transport.window_bytes == 4194304.0);
  CHECK(scenario.transport.streams == 8);
  CHECK(scenario.transport.setup_s == 0.05);
  CHECK_FALSE(warns(scenario, "W04"));
  document["transport"]["kind"] = "fluid";
  CHECK(warns(load(document).scenario, "W04"));
}

TEST_CASE("transport: loss, shares by round trip, caps of classes, control messages") {
  Json document = base();
  CHECK_FALSE(load(document).scenario.transport.rtt_bias);
  document["transport"] = {
      {"kind", "tcp"},
      {"loss_rate", 1e-4},
      {"rtt_bias", true},
      {"caps", {{"recovery_gbps", 0.5}}},
      {"control", {{"rate", "shared"}, {"timeout_s", 2}}}};
  const Loaded loaded = load(document);
  const Transport& transport = loaded.scenario.transport;
  CHECK(transport.window_bytes == 0.0);
  CHECK(transport.loss_rate == 1e-4);
  CHECK(transport.mss_bytes == 1460.0);
  CHECK(transport.rtt_bias);
  CHECK(transport.class_cap_Bps[1] == 62.5e6);
  CHECK(transport.class_cap_Bps[0] == kUnlimited);
  CHECK(transport.control.rate == ControlRate::kShared);
  CHECK(transport.control.bytes == 1024.0);
  CHECK(transport.control.timeout_s == 2.0);
  const auto& assumed = loaded.scenario.calibrated_keys;
  CHECK(std::count(assumed.begin(), assumed.end(), "/transport/control/bytes") == 1);
  // Two regions have one round trip; nobody is lost or late.
  CHECK(warns(loaded.scenario, "W28"));
  CHECK(warns(loaded.scenario, "W31"));
  CHECK_FALSE(warns(loaded.scenario, "W29"));
  CHECK_FALSE(warns(loaded.scenario, "W30"));
}

TEST_CASE("transport: caps that nothing reaches are warned of") {
  Json document = base();
  const auto warned = [&document](const char* code, const Json& transport) {
    document["transport"] = transport;
    return warns(load(document).scenario, code);
  };
  CHECK(warned("W29", {{"kind", "tcp"}, {"loss_rate", 1e-12}, {"streams", 1000}}));
  CHECK(warned("W29", {{"kind", "fluid"}, {"caps", {{"exchange_gbps", 1000}}}}));
  CHECK_FALSE(warned("W29", {{"kind", "fluid"}, {"caps", {{"exchange_gbps", 0.1}}}}));
  CHECK(warned("W31", {{"kind", "fluid"}, {"caps", {{"control_gbps", 0.1}}}}));
  CHECK(warned("W30", {{"kind", "tcp"}, {"window_bytes", 1e6}, {"mss_bytes", 9000}}));
  CHECK(warned("W04", {{"kind", "fluid"}, {"loss_rate", 1e-3}}));
  document["links"]["us-west1<>us-east5"]["latency_one_way_s"] = 0;
  CHECK(warned("W30", {{"kind", "tcp"}, {"loss_rate", 1e-3}}));
}

TEST_CASE("settings that cannot matter are warned of, others are not") {
  const Scenario quiet = load(base()).scenario;
  CAPTURE(quiet.warnings.size());
  CHECK(quiet.warnings.empty());
  Json document = base();
  document["seeds"] = 3;
  CHECK(warns(load(document).scenario, "W03"));
  document["speed_spread"] = {{"relative", 0.1}};
  CHECK_FALSE(warns(load(document).scenario, "W03"));
  document["regions"]["us-south1"] = Json::object();
  CHECK(warns(load(document).scenario, "W13"));
  document["recovery"] = {{"slice_down_s", 20}};
  CHECK(warns(load(document).scenario, "W15"));
  document["islands"]["west"]["step_s"] = 1;
  document["islands"]["west"]["mfu"] = 0.5;
  CHECK(warns(load(document).scenario, "W11"));
  document["training"] = {{"seeds", 5}};
  const Scenario trained = load(document).scenario;
  CHECK(warns(trained, "W09"));
  CHECK(trained.training.seeds == 3);
}
