// Random edits of whole scenarios: each is refused as bad input, or reads the same again.
#include <doctest/doctest.h>

#include "sim/base/random.hpp"
#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

// Everything that a scenario can say, at least once.
Json rich() {
  Json document = base();
  document["links"]["us-west1<>us-east5"] = {{"latency_one_way_ms", 30}, {"gbps", 1}};
  document["transport"] = {{"kind", "tcp"}, {"window_bytes", 4194304}, {"streams", 8}};
  document["speed_spread"] = {{"relative", 0.1}};
  document["islands"]["east"]["step_time_factor"] = {1.5};
  document["protocols"]["best_region"] = Json::object();
  document["protocols"]["x"] = {
      {"preset", "decoupled_diloco"},   {"quorum", "all"},
      {"grace", {{"margin", 0.5}}},     {"syncer", {{"central", "us-east5"}}},
      {"only_islands", {"w*", "east"}}, {"recovery", {{"checkpoint_every_min", 5}}}};
  document["faults"] = {
      {"a",
       {{"kind", "slice_down"},
        {"each", "chip"},
        {"mean_between_days", 90},
        {"away", {{"mean_min", 5}}},
        {"exposure", "stepping"}}},
      {"b",
       {{"kind", "link_slow"},
        {"target", {"us-west1.up", "us-west1>us-east5"}},
        {"at_min", 5},
        {"factor", 0.5}}},
      {"c", {{"kind", "straggler"}, {"target", "w*.1"}, {"at_s", 5}, {"factor", 3}}},
      {"d",
       {{"kind", "hang"},
        {"each", "host"},
        {"law", {{"kind", "weibull"}, {"shape", 0.7}, {"scale_days", 90}}},
        {"repeat_offenders", {{"share_of_hosts", 0.1}, {"share_of_failures", 0.4}}},
        {"away", {{"law", {{"kind", "lognormal"}, {"sigma", 1.4}, {"median_h", 1}}}}}}},
      {"e",
       {{"kind", "slice_down"},
        {"each", "rack"},
        {"rack_slices", 2},
        {"notice_min", 5},
        {"law", {{"kind", "empirical"}, {"values", {1, 2, 6}}, {"unit", "days"}}},
        {"away", {{"law", {{"kind", "gamma"}, {"shape", 2}}}, {"mean_h", 1}}}}},
      {"f",
       {{"kind", "partition"},
        {"target", "us-east5"},
        {"mean_between_days", 9},
        {"together", "all"},
        {"away", {{"law", "constant"}, {"mean_min", 5}}}}},
      {"g", {{"kind", "storage_slow"}, {"at_s", 5}, {"factor", 3}}}};
  document["recovery"] = {{"restart_s", 24}, {"detection_s", 5}};
  document["training"] = {{"model", {{"preset", "quick"}, {"batch", 4}}},
                          {"merge", "mean"},
                          {"protocols", {{"x", {{"outer", {{"rate", 1}}}}}}}};
  document["expect"] = {{{"protocol", "x"},
                         {"metric", "loss.final"},
                         {"minus", "data_parallel"},
                         {"max", 1},
                         {"why", "w"}}};
  return document;
}

void collect(Json& value, std::vector<Json*>& places) {
  places.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& below : value)
    collect(below, places);
}

Json odd_value(RandomStream& random) {
  static const std::vector<Json> values = {0,
                                           1,
                                           -1,
                                           2,
                                           0.5,
                                           1e18,
                                           1e-300,
                                           24,
                                           nullptr,
                                           true,
                                           false,
                                           "",
                                           "*",
                                           "all",
                                           "x",
                                           "us-west1",
                                           "west.1",
                                           "data_parallel",
                                           "off",
                                           "star",
                                           "auto",
                                           "../..",
                                           "a\nb",
                                           1000000,
                                           Json::object(),
                                           Json::array(),
                                           {1, 2, 3},
                                           {"west"},
                                           {{"rate", 1}},
                                           {{"central", "us-west1"}},
                                           {{"star_at", "us-east5"}}};
  return values[random.below(values.size())];
}

void edit(Json& document, RandomStream& random) {
  std::vector<Json*> places;
  collect(document, places);
  Json& place = *places[random.below(places.size())];
  const std::uint64_t choice = random.below(4);
  if (choice == 0 && place.is_object() && !place.empty()) {
    auto member = place.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(random.below(place.size())));
    place.erase(member.key());
  } else if (choice == 1 && place.is_object()) {
    static const std::vector<std::string> keys = {"quorum", "fragments", "at_s",        "for_h",
                                                  "each",   "preset",    "chips_total", "slices",
                                                  "step_s", "about",    "together",    "kind",
                                                  "shape",  "notice_s",  "rack_slices", "median_s"};
    place[keys[random.below(keys.size())]] = odd_value(random);
  } else if (choice == 2 && place.is_number()) {
    place = place.get<double>() * (random.uniform() < 0.5 ? 2.0 : 0.5);
  } else {
    place = odd_value(random);
  }
}

}  // namespace

TEST_CASE("random edits are refused as bad input, or read the same again") {
  const Json start = rich();
  CHECK(refusal(start) == "(accepted)");
  RandomStream random(1, "scenario mutations", 0);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Json document = start;
    const std::uint64_t edits = 1 + random.below(3);
    for (std::uint64_t e = 0; e < edits; ++e)
      edit(document, random);
    CAPTURE(document.dump());
    try {
      const Loaded loaded = load(document);
      const Loaded again = load_scenario_text(loaded.resolved_json, "again.json", ".");
      CHECK(again.resolved_json == loaded.resolved_json);
      CHECK(again.hash8 == loaded.hash8);
      CHECK(again.scenario.warnings == loaded.scenario.warnings);
      CHECK(again.scenario.calibrated_keys == loaded.scenario.calibrated_keys);
      ++accepted;
    } catch (const BadInput& error) {
      const std::string message = error.what();
      CHECK(message.rfind("t.json: ", 0) == 0);
      ++refused;
    }
  }
  CHECK(accepted > 100);
  CHECK(refused > 100);
}
