// --set: pointers are checked against the tree of keys.
#include <doctest/doctest.h>

#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

LoadOptions set(std::vector<Setting> settings) {
  LoadOptions options;
  options.settings = std::move(settings);
  return options;
}

}  // namespace

TEST_CASE("a setting replaces, adds, and reaches keys left to their defaults") {
  const Json document = base();
  CHECK(load(document, set({{"/stop/tokens", "2e9"}})).scenario.stop.tokens == 2e9);
  const Scenario scenario = load(document, set({{"/recovery/slice_down_s", "99"},
                                                {"/protocols/decoupled_diloco/quorum", "2"},
                                                {"/baseline", "decoupled_diloco"},
                                                {"/regions/us-west1/port_gbps", "8"},
                                                {"/training/model", "quick"}}))
                                .scenario;
  CHECK(scenario.protocols[0].recovery.slice_down_s == 99.0);
  CHECK(scenario.protocols[1].quorum == 2);
  CHECK(scenario.baseline == 1);
  CHECK(scenario.regions[0].up_Bps == 1e9);
  CHECK(scenario.training.on);
}

TEST_CASE("a setting gives the same as the same words in the file") {
  Json document = base();
  const std::string by_setting =
      load(document, set({{"/protocols/decoupled_diloco/grace/margin", "0.5"}})).resolved_json;
  document["protocols"]["decoupled_diloco"]["grace"] = {{"margin", 0.5}};
  CHECK(load(document).resolved_json == by_setting);
}

TEST_CASE("a duration replaces the other spelling of itself") {
  Json document = base();
  document["stop"]["max_simulated_h"] = 5;
  CHECK(load(document, set({{"/stop/max_simulated_min", "1"}})).scenario.stop.simulated_s == 60.0);
}

TEST_CASE("a setting takes the place of a key that excludes it, a default of a resolved copy too") {
  Json document = base();
  document["training"] = {{"model", "quick"}};
  const Json resolved = Json::parse(load(document).resolved_json);
  REQUIRE(resolved["training"].contains("target_loss_over_baseline"));
  const Loaded set_loss = load(resolved, set({{"/training/target_loss", "3"}}));
  CHECK(set_loss.scenario.training.target_loss == 3.0);
  CHECK_FALSE(
      Json::parse(set_loss.resolved_json)["training"].contains("target_loss_over_baseline"));
  document["training"]["target_loss"] = 3;
  document["training"]["target_loss_over_baseline"] = 0.1;
  CHECK(has(refusal(document), "target_loss"));  // in one file it stays a contradiction
}

TEST_CASE("'*' stands for all names that are there") {
  const Scenario s = load(base(), set({{"/islands/*/step_s", "7"}})).scenario;
  REQUIRE(s.learners.size() > 1);
  for (const Learner& learner : s.learners)
    CHECK(learner.step_s == 7.0);
  CHECK_THROWS_AS(load(base(), set({{"/faults/*/factor", "0.5"}})), BadInput);  // there are none
  CHECK_THROWS_AS(load(base(), set({{"/islands/*/stepp_s", "7"}})), BadInput);
  CHECK_THROWS_AS(load(base(), set({{"/stop/*", "7"}})), BadInput);
}

TEST_CASE("a setting that a later one takes away is refused; of two for one key the later one wins") {
  Json document = base();
  document["training"] = {{"model", "quick"}};
  const auto refused = [&](std::vector<Setting> settings, const std::string& lost) {
    try {
      load(document, set(std::move(settings)));
    } catch (const BadInput& error) {
      return std::string(error.what()).starts_with("--set: " + lost + ": found ");
    }
    return false;
  };
  CHECK(refused({{"/training/target_loss", "3"}, {"/training/target_loss_over_baseline", "0.1"}},
                "/training/target_loss"));
  CHECK(refused({{"/stop/max_simulated_h", "3"}, {"/stop/max_simulated_min", "1"}},
                "/stop/max_simulated_h"));
  CHECK(refused({{"/training/seeds", "2"}, {"/training", R"({"model": "quick"})"}}, "/training/seeds"));
  CHECK(load(document, set({{"/training/target_loss", "3"}, {"/training/target_loss", "2"}}))
            .scenario.training.target_loss == 2.0);
}

TEST_CASE("whole objects, new map entries, array entries and short forms") {
  Json document = base();
  CHECK(load(document, set({{"/protocols/x", R"({"preset": "diloco"})"}}))
            .scenario.protocols.size() == 3);
  CHECK(load(document, set({{"/stop", R"({"simulated_h": 1})"}})).scenario.stop.simulated_s ==
        3600.0);
  document["expect"] = {
      {{"protocol", "data_parallel"}, {"metric", "goodput"}, {"min", 0.1}, {"why", "x"}}};
  CHECK(load(document, set({{"/expect/0/min", "0.2"}})).scenario.expect[0].min == 0.2);
  document["training"] = {{"model", "large"}, {"merge", "mean"}};
  const Scenario scenario =
      load(document,
           set({{"/training/model/batch", "4"}, {"/training/merge/body", "radial_directional"}}))
          .scenario;
  CHECK(scenario.training.model.layers == 4);
  CHECK(scenario.training.model.batch == 4);
  CHECK(scenario.training.of_protocol[1].merge_body == Merge::kRadialDirectional);
  CHECK(scenario.training.of_protocol[1].merge_embedding == Merge::kMean);
}

TEST_CASE("a shared value set in a resolved copy still reaches every row") {
  Json document = base();
  document["training"] = {{"model", "quick"}};
  const std::string resolved = load(document).resolved_json;
  const Scenario scenario = load_scenario_text(resolved, "r.json", ".",
                                               set({{"/training/inner/rate", "0.01"},
                                                    {"/training/outer/rate", "0.5"},
                                                    {"/recovery/slice_down_s", "7"}}))
                                .scenario;
  for (const TrainingOfProtocol& row : scenario.training.of_protocol)
    CHECK(row.inner.rate == 0.01);
  CHECK(scenario.training.of_protocol[1].outer.rate == 0.5);
  for (const Protocol& row : scenario.protocols)
    CHECK(row.recovery.slice_down_s == 7.0);
}

TEST_CASE("settings that cannot be meant are refused with their pointer") {
  const auto refused = [](const char* pointer, const char* value) {
    return refusal(base(), set({{pointer, value}}));
  };
  CHECK(has(refused("/stop/tokns", "1"), "--set: /stop/tokns: found an unknown key"));
  CHECK(has(refused("/stop/tokns", "1"), "did you mean 'tokens'?"));
  CHECK(has(refused("stop", "1"), "found no JSON pointer"));
  CHECK(has(refused("", "1"), "found no JSON pointer"));
  CHECK(has(refused("/stop/tokens/x", "1"), "there are no keys below /stop/tokens"));
  CHECK(has(refused("/expect/3/min", "1"), "the file has no such entry"));
  CHECK(has(refused("/islands/a b/count", "1"), "found a name that is not allowed"));
  CHECK(has(refused("/stop", "{\"tokens\": 1, \"tokens\": 2}"), "found the key twice"));
  CHECK(has(refused("/stop/tokens", "many"), "/stop/tokens: found \"many\", allowed a number"));
  CHECK(has(refused("/stop/tokens", "1e999"), "/stop/tokens: found \"1e999\", allowed a number"));
}
