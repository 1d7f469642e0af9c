// Whole scenarios: the shipped examples, resolved copies, options.
#include <cmath>
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

std::string source(const std::string& path) {
  return std::string(SKERRY_SOURCE) + "/" + path;
}

const Protocol& row(const Scenario& scenario, const std::string& name) {
  for (const Protocol& protocol : scenario.protocols) {
    if (protocol.name == name) return protocol;
  }
  throw std::runtime_error("no row " + name);
}

// Reading the resolved copy gives the same copy, hash, warnings and assumptions.
void check_stable(const Loaded& loaded, const std::string& folder) {
  const Loaded again = load_scenario_text(loaded.resolved_json, "other.json", folder);
  CHECK(again.resolved_json == loaded.resolved_json);
  CHECK(again.hash8 == loaded.hash8);
  CHECK(again.scenario.warnings == loaded.scenario.warnings);
  CHECK(again.scenario.calibrated_keys == loaded.scenario.calibrated_keys);
  CHECK(again.scenario.name == loaded.scenario.name);
  REQUIRE(again.scenario.learners.size() == loaded.scenario.learners.size());
  for (std::size_t i = 0; i < again.scenario.learners.size(); ++i) {
    CHECK(again.scenario.learners[i].step_s == loaded.scenario.learners[i].step_s);
  }
  REQUIRE(again.scenario.protocols.size() == loaded.scenario.protocols.size());
  for (std::size_t i = 0; i < again.scenario.protocols.size(); ++i) {
    const Protocol& a = again.scenario.protocols[i];
    const Protocol& b = loaded.scenario.protocols[i];
    CHECK(a.learners == b.learners);
    CHECK(a.fragments == b.fragments);
    CHECK(a.quorum == b.quorum);
    CHECK(a.recovery.slice_down_s == b.recovery.slice_down_s);
    CHECK(a.recovery.checkpoint_rule == b.recovery.checkpoint_rule);
    CHECK(again.scenario.training.of_protocol[i].merge_body ==
          loaded.scenario.training.of_protocol[i].merge_body);
    CHECK(again.scenario.training.of_protocol[i].inner.rate ==
          loaded.scenario.training.of_protocol[i].inner.rate);
  }
  CHECK(again.scenario.faults.size() == loaded.scenario.faults.size());
}

}  // namespace

TEST_CASE("the main job reads as its authors mean it") {
  const Loaded loaded = load_scenario(source("scenarios/four-us-regions.json"));
  const Scenario& scenario = loaded.scenario;
  CHECK(scenario.name == "four-us-regions");
  CHECK(scenario.seeds == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  REQUIRE(scenario.learners.size() == 8);
  CHECK(scenario.learners[0].name == "west.1");
  CHECK(scenario.learners[2].first_global_slice == 8);  // two learners of four slices before it
  // 38 layers of 4·5120² + 2·5120·20480 + 2·5120 = 314,583,040, embedding 32,000·5120 =
  // 163,840,000, final norm 5120: 11,954,155,520 + 163,840,000 + 5,120
  CHECK(scenario.charged.parameters == 12118000640.0);
  CHECK(scenario.charged.tensors.size() == 38 * 8 + 2);
  // 6 · 12.118e9 · 917,504 / (32 · 459e12 · 0.65) and / (24 · 918e12 · 0.45)
  CHECK(scenario.learners[0].step_s == doctest::Approx(6.98738).epsilon(1e-6));
  CHECK(scenario.learners[4].step_s == doctest::Approx(6.72859).epsilon(1e-6));
  // ports 5, 4, 3, 2 Gbit/s in the order of the file
  CHECK(scenario.regions[0].up_Bps == 6.25e8);
  CHECK(scenario.regions[3].down_Bps == 2.5e8);
  CHECK(scenario.links.size() == 12);
  // us-west1 – us-central1: round trip 38.4 ms
  CHECK(scenario.links[static_cast<std::size_t>(scenario.link_between(0, 1))].latency_one_way_s ==
        doctest::Approx(0.0192));
  CHECK(scenario.link_between(2, 2) == -1);
  REQUIRE(scenario.protocols.size() == 6);
  CHECK(row(scenario, "best_region").learners == std::vector<int>{0, 1, 2});
  CHECK(row(scenario, "diloco").quorum == 8);
  CHECK(row(scenario, "streaming_diloco").fragments == 24);
  CHECK(row(scenario, "decoupled_diloco").grace == Grace::kSlack);
  CHECK(scenario.baseline == 0);
  REQUIRE(scenario.faults.size() == 2);
  // 4 slices × 4 learners + 3 slices × 4 learners; 8 chips a slice: 4 days / 8
  CHECK(scenario.faults[0].targets.size() == 28);
  CHECK(scenario.faults[0].gap.mean_s == 4.0 * 86400.0);
  CHECK(scenario.faults[0].units == 8);
  // 224 chips / 4 days over 4 hours: 9.3 events
  CHECK(scenario.faults[0].events_per_s_nominal * 4.0 * 3600.0 == doctest::Approx(224.0 / 24.0));
  CHECK(scenario.faults[1].at_s == 7200.0);
  CHECK(scenario.training.on);
  CHECK(scenario.training.model.width == 32);
  CHECK(warns(scenario, "W07"));
}

TEST_CASE("mixed devices read as their authors mean it") {
  const Loaded loaded = load_scenario(source("scenarios/study/mixed-devices.json"));
  const Scenario& scenario = loaded.scenario;
  CHECK(scenario.learners.size() == 8);
  CHECK(scenario.learners[7].step_s == doctest::Approx(1.298));
  CHECK(scenario.spread_relative == 0.01);
  CHECK(row(scenario, "k8").quorum == 8);
  CHECK(row(scenario, "k8").learner_waits == LearnerWaits::kAtOverlap);
  CHECK(row(scenario, "k1").grace == Grace::kOff);
  CHECK(scenario.baseline == 2);
  CHECK(scenario.charged.tensors.empty());
  CHECK(warns(scenario, "W10"));
  CHECK(warns(scenario, "W02"));
}

TEST_CASE("every shipped scenario loads, and its resolved copy is a fixed point") {
  int loaded_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source("scenarios"))) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".json") || has(path, "/catalog/")) continue;
    const Json document = Json::parse(file_text(path));
    if (!document.is_object() || document.value("skerry", "") != "scenario/1") continue;
    CAPTURE(path);
    const Loaded loaded = load_scenario(path);
    check_stable(loaded, entry.path().parent_path().string());
    ++loaded_files;
  }
  CHECK(loaded_files >= 2);
}

TEST_CASE("the resolved copy does not depend on how durations and counts were written") {
  Json a = base(), b = base();
  a["faults"]["f"] = {{"kind", "region_dark"}, {"target", "us-west1"}, {"at_min", 1.5}};
  b["faults"]["f"] = {{"at_s", 90}, {"kind", "region_dark"}, {"target", "us-west1"}};
  a["islands"]["west"]["count"] = 2.0;
  CHECK(load(a).resolved_json == load(b).resolved_json);
  CHECK(load(a).hash8 == load(b).hash8);
  b["faults"]["f"]["at_s"] = 91;
  CHECK(load(a).hash8 != load(b).hash8);
}

TEST_CASE("the hash covers the bytes of the files that a scenario names") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "skerry-scenario-hash-test";
  std::filesystem::create_directories(folder);
  Json document = base();
  document["faults"]["f"] = {{"plan", "plan.csv"}};
  std::vector<std::string> hashes;
  for (const char* text : {"one", "two", "one"}) {
    std::ofstream(folder / "plan.csv") << text;
    const Loaded loaded = load_scenario_text(document.dump(), "t.json", folder.string());
    REQUIRE(loaded.scenario.plan_files.size() == 1);
    CHECK(loaded.scenario.plan_files[0].path == (folder / "plan.csv").string());
    hashes.push_back(loaded.hash8);
  }
  std::filesystem::remove_all(folder);
  CHECK(hashes[0] == hashes[2]);
  CHECK(hashes[0] != hashes[1]);
  CHECK(hashes[0].size() == 8);
}

TEST_CASE("seeds: a count, a list, or the command line's") {
  Json document = base();
  CHECK(load(document).scenario.seeds == std::vector<std::uint64_t>{1});
  document["seeds"] = 3;
  CHECK(load(document).scenario.seeds == std::vector<std::uint64_t>{1, 2, 3});
  document["seeds"] = {7, 5};
  CHECK(load(document).scenario.seeds == std::vector<std::uint64_t>{7, 5});
  LoadOptions options;
  options.seeds = {9};
  CHECK(load(document, options).scenario.seeds == std::vector<std::uint64_t>{9});
  options.seeds = {1ULL << 60};
  CHECK(has(refusal(document, options), "--seed: found 1152921504606846976"));
}

TEST_CASE("--protocol keeps rows and what refers to them; --no-train drops losses") {
  Json document = base();
  document["protocols"]["diloco"] = Json::object();
  document["baseline"] = "diloco";
  document["training"] = {{"model", "quick"}, {"protocols", {{"diloco", Json::object()}}}};
  document["expect"] = {
      {{"protocol", "decoupled_diloco"}, {"metric", "goodput"}, {"min", 0}, {"why", "x"}},
      {{"protocol", "decoupled_diloco"},
       {"metric", "goodput"},
       {"ratio_to", "diloco"},
       {"min", 0},
       {"why", "x"}},
      {{"protocol", "decoupled_diloco"}, {"metric", "loss.final"}, {"max", 2}, {"why", "x"}}};
  LoadOptions options;
  options.only_protocols = {"decoupled_diloco"};
  const Scenario some = load(document, options).scenario;
  CHECK(some.protocols.size() == 1);
  CHECK(some.baseline == 0);
  CHECK(some.expect.size() == 2);
  options.no_train = true;
  const Scenario untrained = load(document, options).scenario;
  CHECK_FALSE(untrained.training.on);
  CHECK(untrained.expect.size() == 1);
  options.only_protocols = {"dilco"};
  CHECK(has(refusal(document, options), "did you mean 'diloco'?"));
}

TEST_CASE("a missing file and a folder are refused by name") {
  CHECK_THROWS_WITH_AS(load_scenario("/none/such.json"),
                       "/none/such.json: found no file '/none/such.json'", BadInput);
  CHECK_THROWS_AS(load_scenario(SKERRY_SOURCE), BadInput);
}

TEST_CASE("the speed spread is uniform in [1, 1 + relative], paired over counts") {
  Json document = base();
  document["speed_spread"] = {{"relative", 0.1}};
  const Scenario few = load(document).scenario;
  document["islands"]["west"]["count"] = 50;
  const Scenario many = load(document).scenario;
  CHECK(spread_factor(few, 3, 1) == spread_factor(many, 3, 1));
  CHECK(spread_factor(few, 3, 1) != spread_factor(few, 4, 1));
  // learner 2 of `few` is east.1, learner 50 of `many`
  CHECK(spread_factor(few, 3, 2) == spread_factor(many, 3, 50));
  double sum = 0.0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (int i = 0; i < 50; ++i) {
      const double factor = spread_factor(many, seed, i);
      CHECK(factor > 1.0);
      CHECK(factor < 1.1);
      sum += factor;
    }
  }
  // mean 1.05, deviation 0.1/√12/√5000 = 0.0004
  CHECK(std::abs(sum / 5000.0 - 1.05) < 0.002);
  document.erase("speed_spread");
  CHECK(spread_factor(load(document).scenario, 3, 1) == 1.0);
}
