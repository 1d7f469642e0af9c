// What breaks: targets, laws, dates.
#include <doctest/doctest.h>

#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

// west.1 and west.2 (4 slices of 8 chips), east.1 (4 slices of 8 chips); us-west1 is region 0.
std::vector<Fault> faults_of(const Json& entry) {
  Json document = base();
  document["faults"]["f"] = entry;
  return load(document).scenario.faults;
}

std::string fault_refusal(const Json& entry) {
  Json document = base();
  document["faults"]["f"] = entry;
  return refusal(document);
}

Json scripted(const char* kind, const Json& target) {
  return {{"kind", kind}, {"target", target}, {"at_s", 5}};
}

}  // namespace

TEST_CASE("slices: one, all of a learner, of a group, by wildcard, each once") {
  auto faults = faults_of(scripted("slice_down", "west.2/slice.3"));
  REQUIRE(faults.size() == 1);
  REQUIRE(faults[0].targets.size() == 1);
  CHECK(faults[0].targets[0].kind == TargetKind::kSlice);
  CHECK(faults[0].targets[0].index == 1);
  CHECK(faults[0].targets[0].part == 2);  // slices count from 1 in text
  CHECK(faults[0].for_s == kNever);
  CHECK(faults_of(scripted("slice_down", "west.2"))[0].targets.size() == 4);
  CHECK(faults_of(scripted("slice_down", "west"))[0].targets.size() == 8);
  CHECK(faults_of(scripted("slice_down", "*.1/slice.1"))[0].targets.size() == 2);
  CHECK(faults_of(scripted("slice_down", "west.1/slice.*"))[0].targets.size() == 4);
  CHECK(faults_of(scripted("slice_down", {"west.1", "west"}))[0].targets.size() == 8);
}

TEST_CASE("learners, regions, ports and pairs") {
  CHECK(faults_of(scripted("island_down", "west"))[0].targets.size() == 2);
  const auto region = faults_of(scripted("region_dark", "us-east5"))[0].targets;
  REQUIRE(region.size() == 1);
  CHECK(region[0].kind == TargetKind::kRegion);
  CHECK(region[0].index == 1);
  const auto ports = faults_of(scripted("link_cut", "us-east5"))[0].targets;
  REQUIRE(ports.size() == 2);
  CHECK(ports[0].kind == TargetKind::kPort);
  CHECK(ports[0].part == 0);
  CHECK(ports[1].part == 1);
  const auto down = faults_of(scripted("link_cut", "us-*.down"))[0].targets;
  REQUIRE(down.size() == 2);
  CHECK(down[0].part == 1);
  const auto pair = faults_of(scripted("link_cut", "us-west1<>us-east5"))[0].targets;
  REQUIRE(pair.size() == 2);
  CHECK(pair[0].kind == TargetKind::kLink);
  CHECK(faults_of(scripted("link_cut", "us-west1>us-east5"))[0].targets.size() == 1);
  Json slow = scripted("link_slow", "us-west1.up");
  slow["factor"] = 0.25;
  CHECK(faults_of(slow)[0].factor == 0.25);
  Json straggler = scripted("straggler", "west.2");
  straggler["factor"] = 3;
  CHECK(faults_of(straggler)[0].targets[0].kind == TargetKind::kLearner);
}

TEST_CASE("each: all of a kind, or those that match the target") {
  const Json away = {{"mean_min", 5}};
  const auto random = [&](const char* kind, const char* each) {
    return Json{{"kind", kind}, {"each", each}, {"mean_between_h", 1}, {"away", away}};
  };
  CHECK(faults_of(random("slice_down", "slice"))[0].targets.size() == 12);
  CHECK(faults_of(random("island_down", "island"))[0].targets.size() == 3);
  CHECK(faults_of(random("region_dark", "region"))[0].targets.size() == 2);
  CHECK(faults_of(random("link_cut", "link"))[0].targets.size() == 2);
  Json some = random("slice_down", "slice");
  some["target"] = "east";
  CHECK(faults_of(some)[0].targets.size() == 4);
}

TEST_CASE("random faults: laws, exposure, expected events") {
  const auto faults = faults_of({{"kind", "slice_down"},
                                 {"each", "slice"},
                                 {"law", "constant"},
                                 {"mean_between_h", 2},
                                 {"away", {{"mean_min", 5}}},
                                 {"exposure", "stepping"}});
  REQUIRE(faults.size() == 1);
  CHECK_FALSE(faults[0].scripted);
  CHECK(faults[0].gap.kind == LawKind::kConstant);
  CHECK(faults[0].gap.mean_s == 7200.0);
  CHECK(faults[0].away.kind == LawKind::kExponential);
  CHECK(faults[0].away.mean_s == 300.0);
  CHECK(faults[0].exposure == Exposure::kStepping);
  CHECK(faults[0].events_per_s_nominal == doctest::Approx(12.0 / 7200.0));
}

TEST_CASE("each chip: a slice of n chips breaks n times as often, one Fault per gap") {
  Json document = base();
  document["islands"]["east"]["chips"] = 64;  // 16 chips a slice; west has 8
  document["faults"]["chips"] = {{"kind", "slice_down"},
                                 {"each", "chip"},
                                 {"mean_between_days", 16},
                                 {"away", {{"mean_min", 5}}}};
  const auto faults = load(document).scenario.faults;
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].name == "chips");
  CHECK(faults[1].name == "chips");
  CHECK(faults[0].gap.mean_s == 2.0 * 86400.0);
  CHECK(faults[0].targets.size() == 8);
  CHECK(faults[1].gap.mean_s == 86400.0);
  CHECK(faults[1].targets.size() == 4);
  // 64 + 64 chips, one event a chip in 16 days
  CHECK((faults[0].events_per_s_nominal + faults[1].events_per_s_nominal) * 16.0 * 86400.0 ==
        doctest::Approx(128.0));
}

TEST_CASE("one date and one link may be slowed twice to the same value only") {
  Json document = base();
  document["faults"]["a"] = {
      {"kind", "link_slow"}, {"target", "us-west1"}, {"at_s", 5}, {"factor", 0.5}};
  document["faults"]["b"] = {
      {"kind", "link_slow"}, {"target", "us-west1.up"}, {"at_s", 5}, {"factor", 0.5}};
  CHECK(load(document).scenario.faults.size() == 2);
  document["faults"]["b"]["factor"] = 0.25;
  CHECK(has(refusal(document), "gives a second value to a link at the date of 'a'"));
  document["faults"]["b"]["at_s"] = 6;
  CHECK(load(document).scenario.faults.size() == 2);
}

TEST_CASE("targets of the wrong kind are refused") {
  CHECK(has(fault_refusal(scripted("region_dark", "west.1")), "unknown region 'west.1'"));
  CHECK(has(fault_refusal(scripted("island_down", "us-west1")), "matches no learner"));
  CHECK(has(fault_refusal(scripted("slice_down", "west.1/slice.5")), "matches no slice"));
  CHECK(has(fault_refusal(scripted("link_cut", "us-west1>us-west1")), "two different regions"));
  CHECK(has(fault_refusal({{"kind", "slice_down"}, {"each", "chip"}, {"at_s", 1}}), "not chips"));
}

TEST_CASE("many entries of many targets are refused before they are made too many") {
  Json document = base();
  document["islands"]["west"] = {
      {"region", "us-west1"}, {"count", 4000}, {"chips", 240}, {"slices", 240}, {"step_s", 1000}};
  for (const char* name : {"a", "b", "c", "d"}) {
    document["faults"][name] = scripted("slice_down", "west");
  }
  CHECK(has(refusal(document), "targets in all faults, allowed at most 2000000"));
}
