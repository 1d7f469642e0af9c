// Presets, recovery, training per row.
#include <algorithm>

#include <doctest/doctest.h>

#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

Protocol only(Json document, const char* name, const Json& entry) {
  document["protocols"] = Json::object();
  document["protocols"][name] = entry;
  document["stop"]["tokens"] = 1e8;
  return load(document).scenario.protocols[0];
}

}  // namespace

TEST_CASE("data-parallel presets") {
  const Protocol plain = only(base(), "data_parallel", Json::object());
  CHECK(plain.family == Family::kDataParallel);
  CHECK_FALSE(plain.elastic);
  CHECK(plain.recovery.resume == Resume::kFromCheckpoint);
  CHECK(plain.buckets == 64);
  CHECK(plain.backward_share == doctest::Approx(2.0 / 3.0));
  CHECK(plain.all_reduce == AllReduce::kHierarchicalRing);
  CHECK(plain.learners == std::vector<int>{0, 1, 2});
  CHECK(only(base(), "data_parallel_elastic", Json::object()).elastic);
  const Protocol ideal = only(base(), "ideal", Json::object());
  CHECK(ideal.ideal_network);
  CHECK_FALSE(ideal.faults);
  CHECK(ideal.family == Family::kDataParallel);
}

TEST_CASE("DiLoCo presets follow their papers") {
  const Protocol diloco = only(base(), "diloco", Json::object());
  CHECK(diloco.sync_period_steps == 500);
  CHECK(diloco.fragments == 1);
  CHECK(diloco.overlap_steps == 0);
  CHECK(diloco.quorum == 3);
  CHECK(diloco.grace == Grace::kOff);
  CHECK(diloco.learner_waits == LearnerWaits::kAtOverlap);
  CHECK(diloco.on_loss == OnLoss::kWait);
  const Protocol streaming = only(base(), "streaming_diloco", Json::object());
  CHECK(streaming.sync_period_steps == 100);
  CHECK(streaming.fragments == 24);
  CHECK(streaming.overlap_steps == 1);
  CHECK(streaming.quorum == 3);
  const Protocol decoupled = only(base(), "decoupled_diloco", Json::object());
  CHECK(decoupled.sync_period_steps == 24);
  CHECK(decoupled.fragments == 24);
  CHECK(decoupled.overlap_steps == 2);
  CHECK(decoupled.quorum == 1);
  CHECK(decoupled.grace == Grace::kSlack);
  CHECK(decoupled.learner_waits == LearnerWaits::kNoWait);
  CHECK(decoupled.on_loss == OnLoss::kContinue);
}

TEST_CASE("presets shrink to the period, the tensors and the learners; written values do not") {
  const Protocol short_period = only(base(), "decoupled_diloco", {{"sync_period_steps", 2}});
  CHECK(short_period.fragments == 2);
  CHECK(short_period.overlap_steps == 1);
  const Protocol each_step = only(base(), "decoupled_diloco", {{"sync_period_steps", 1}});
  CHECK(each_step.fragments == 1);
  CHECK(each_step.overlap_steps == 0);
  Json document = base();
  document["charged_model"]["layers"] = 1;  // 10 tensors: embedding, 8 of the layer, final norm
  CHECK(only(document, "decoupled_diloco", Json::object()).fragments == 10);
  CHECK(only(base(), "diloco", {{"only_islands", {"west"}}}).quorum == 2);
  CHECK(only(base(), "x", {{"preset", "diloco"}, {"quorum", "all"}}).quorum == 3);
}

TEST_CASE("grace, syncer and all-reduce in their short and long forms") {
  const Protocol off = only(base(), "decoupled_diloco", {{"grace", "off"}});
  CHECK(off.grace == Grace::kOff);
  const Protocol own =
      only(base(), "decoupled_diloco", {{"grace", {{"margin", 0.5}, {"limit_steps", 2}}}});
  CHECK(own.grace == Grace::kSlack);
  CHECK(own.grace_margin == 0.5);
  CHECK(own.grace_limit_steps == 2.0);
  CHECK(own.moving_average_weight == 0.1);
  const Protocol central =
      only(base(), "decoupled_diloco", {{"syncer", {{"central", "us-east5"}}}});
  CHECK(central.syncer == SyncerPlace::kCentral);
  CHECK(central.syncer_region == 1);
  const Protocol star = only(base(), "data_parallel", {{"all_reduce", {{"star_at", "us-east5"}}}});
  CHECK(star.all_reduce == AllReduce::kStar);
  CHECK(star.star_region == 1);
  CHECK(only(base(), "data_parallel", {{"all_reduce", "star"}}).star_region == 0);
  CHECK(only(base(), "data_parallel", {{"all_reduce", "ring"}}).all_reduce == AllReduce::kRing);
}

TEST_CASE("only_islands takes groups, learners and wildcards") {
  const auto learners = [](const Json& patterns) {
    return only(base(), "data_parallel", {{"only_islands", patterns}}).learners;
  };
  CHECK(learners({"west"}) == std::vector<int>{0, 1});
  CHECK(learners({"west.2"}) == std::vector<int>{1});
  CHECK(learners({"east", "w*.1"}) == std::vector<int>{0, 2});
  CHECK(learners({"*"}) == std::vector<int>{0, 1, 2});
}

TEST_CASE("best_region takes the region with most tokens a second and says so") {
  Json document = base();
  document["protocols"] = {{"best_region", Json::object()}};
  Loaded loaded = load(document);
  CHECK(loaded.scenario.protocols[0].learners == std::vector<int>{0, 1});
  CHECK(has(loaded.resolved_json, "\"west.1\",\n        \"west.2\""));
  CHECK(loaded.scenario.protocols[0].elastic);
  // west in lock-step: two learners at the slower one's 9 s are 2/9 a second; east alone 1/4
  document["islands"]["west"]["step_s"] = 1;
  document["islands"]["west"]["step_time_factor"] = {1, 9};
  document["islands"]["east"]["step_s"] = 4;
  loaded = load(document);
  CHECK(loaded.scenario.protocols[0].learners == std::vector<int>{2});
}

TEST_CASE("recovery: shared values, overrides, and a period that replaces the rule") {
  Json document = base();
  document["faults"]["f"] = {{"kind", "region_dark"}, {"target", "us-west1"}, {"at_s", 1}};
  document["recovery"] = {{"slice_down_s", 20}, {"resume", "all_slices_back"}, {"restart_s", 24}};
  document["protocols"]["decoupled_diloco"]["recovery"] = {
      {"slice_down_min", 1}, {"checkpoint_every_min", 5}, {"restart_s", 48}};
  const Scenario scenario = load(document).scenario;
  const Recovery& shared = scenario.protocols[0].recovery;
  CHECK(shared.slice_down_s == 20.0);
  CHECK(shared.resume == Resume::kAllSlicesBack);
  CHECK(shared.checkpoint_rule == CheckpointRule::kYoung);
  CHECK(shared.restart_s == 24.0);
  const Recovery& own = scenario.protocols[1].recovery;
  CHECK(own.slice_down_s == 60.0);
  CHECK(own.resume == Resume::kAllSlicesBack);
  CHECK(own.checkpoint_rule == CheckpointRule::kPeriod);
  CHECK(own.checkpoint_every_s == 300.0);
  CHECK(own.restart_s == 48.0);
}

TEST_CASE("recovery out of reach of the slowest port is warned of") {
  Json document = base();
  document["islands"]["west"]["step_s"] = 1;
  document["islands"]["east"]["step_s"] = 1;
  document["charged_model"] = {{"parameters", 1e9}, {"tokens_per_learner_step", 65536}};
  document["faults"]["f"] = {
      {"kind", "island_down"}, {"target", "east"}, {"at_s", 1}, {"for_s", 1}};
  // 4.5 · 16 Gbit / (24 · 1 s) = 3 Gbit/s against 2
  CHECK(warns(load(document).scenario, "W06"));
  document["regions"]["us-east5"]["port_gbps"] = 3.01;
  CHECK_FALSE(warns(load(document).scenario, "W06"));
}

TEST_CASE("outer sync of one learner, idle grace") {
  Json document = base();
  document["protocols"] = {{"decoupled_diloco", {{"only_islands", {"east"}}}}};
  CHECK(warns(load(document).scenario, "W01"));
  CHECK(warns(load(document).scenario, "W02"));
  document["protocols"] = {{"decoupled_diloco", {{"overlap_steps", 0}}}};
  CHECK(warns(load(document).scenario, "W12"));
}

TEST_CASE("baseline: the first data-parallel row, else the first row") {
  Json document = base();
  document["protocols"] = {{"ideal", Json::object()},
                           {"diloco", Json::object()},
                           {"data_parallel_elastic", Json::object()},
                           {"data_parallel", Json::object()}};
  CHECK(load(document).scenario.baseline == 2);
  document["protocols"] = {{"ideal", Json::object()}, {"diloco", Json::object()}};
  CHECK(load(document).scenario.baseline == 0);
  document["baseline"] = "diloco";
  CHECK(load(document).scenario.baseline == 1);
}

TEST_CASE("training: presets, shared values, overrides, merge rules of the preset") {
  Json document = base();
  document["training"] = {
      {"model", "large"},
      {"inner", {{"beta2", 0.99}}},
      {"protocols",
       {{"decoupled_diloco", {{"inner", {{"rate", 1e-3}}}, {"outer", {{"momentum", 0.8}}}}}}}};
  Scenario scenario = load(document).scenario;
  CHECK(scenario.training.model.layers == 4);
  CHECK(scenario.training.model.width == 128);
  CHECK(scenario.training.model.preset == "large");
  REQUIRE(scenario.training.of_protocol.size() == 2);
  const TrainingOfProtocol& plain = scenario.training.of_protocol[0];
  const TrainingOfProtocol& decoupled = scenario.training.of_protocol[1];
  CHECK(plain.inner.rate == 2e-3);
  CHECK(plain.inner.beta2 == 0.99);
  CHECK(decoupled.inner.rate == 1e-3);
  CHECK(decoupled.inner.beta2 == 0.99);
  CHECK(decoupled.outer.rate == 0.7);
  CHECK(decoupled.outer.momentum == 0.8);
  CHECK(decoupled.merge_body == Merge::kRadialDirectional);
  CHECK(decoupled.merge_embedding == Merge::kMean);
  document["training"]["merge"] = "mean";
  document["training"]["model"] = {{"preset", "quick"}, {"width", 48}};
  scenario = load(document).scenario;
  CHECK(scenario.training.of_protocol[1].merge_body == Merge::kMean);
  CHECK(scenario.training.model.preset.empty());
  CHECK(scenario.training.model.width == 48);
  CHECK(scenario.training.model.context == 32);
  CHECK(scenario.training.of_protocol[0].inner.rate == 4e-3);
}

TEST_CASE("training: a corpus relative to the scenario, with its size checked") {
  Json document = base();
  document["training"] = {{"corpus", "LICENSE"}};
  const Loaded loaded = load_scenario_text(document.dump(), "t.json", SKERRY_SOURCE);
  CHECK(loaded.scenario.training.corpus == std::string(SKERRY_SOURCE) + "/LICENSE");
  CHECK(loaded.scenario.training.corpus_label == "LICENSE");
  document["training"]["corpus"] = ".clang-format";  // a few hundred bytes: 5 % is no window
  try {
    load_scenario_text(document.dump(), "t.json", SKERRY_SOURCE);
    FAIL("accepted");
  } catch (const BadInput& error) {
    CHECK(has(error.what(), "/training/corpus: found"));
  }
}

TEST_CASE("assumed values in use are listed where they can matter") {
  const auto lists = [](const Scenario& scenario, const std::string& pointer) {
    const auto& keys = scenario.calibrated_keys;
    return std::find(keys.begin(), keys.end(), pointer) != keys.end();
  };
  Json document = base();
  Scenario scenario = load(document).scenario;
  CHECK(lists(scenario, "/protocols/decoupled_diloco/grace/margin"));
  CHECK_FALSE(lists(scenario, "/recovery/slice_down_s"));
  CHECK_FALSE(lists(scenario, "/training/outer/rate"));
  document["faults"]["f"] = {{"kind", "region_dark"}, {"target", "us-west1"}, {"at_s", 1}};
  document["training"] = Json::object();
  document["islands"]["east"]["device"] = "h200";  // its MFU is an estimate
  document["protocols"]["decoupled_diloco"]["grace"] = {{"margin", 0.5}};
  scenario = load(document).scenario;
  CHECK_FALSE(lists(scenario, "/protocols/decoupled_diloco/grace/margin"));
  CHECK(lists(scenario, "/protocols/decoupled_diloco/grace/moving_average_weight"));
  CHECK(lists(scenario, "/recovery/slice_down_s"));
  CHECK(lists(scenario, "/training/outer/rate"));
  CHECK(lists(scenario, "/islands/east/mfu"));
}
