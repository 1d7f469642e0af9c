// What breaks: targets, laws, dates.
#include <cmath>

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

TEST_CASE("each chip: a slice of n chips breaks n times as often, one Fault per count") {
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
  CHECK(faults[0].gap.mean_s == 16.0 * 86400.0);  // of one chip
  CHECK(faults[0].units == 8);
  CHECK(faults[0].targets.size() == 8);
  CHECK(faults[1].units == 16);
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

TEST_CASE("laws of gaps: parameters, and the mean from a scale, a median or values") {
  const auto gap_of = [](const Json& law, const Json& mean = nullptr) {
    Json entry = {
        {"kind", "slice_down"}, {"each", "slice"}, {"law", law}, {"away", {{"mean_s", 1}}}};
    if (!mean.is_null()) entry["mean_between_h"] = mean;
    return faults_of(entry).at(0).gap;
  };
  Law law = gap_of({{"kind", "weibull"}, {"shape", 0.5}}, 2);
  CHECK(law.kind == LawKind::kWeibull);
  CHECK(law.shape == 0.5);
  CHECK(law.mean_s == 7200.0);
  // Γ(1 + 1/0.5) = Γ(3) = 2.
  CHECK(gap_of({{"kind", "weibull"}, {"shape", 0.5}, {"scale_min", 3}}).mean_s ==
        doctest::Approx(360.0));
  // The largest of two exponentials: 1 + 1/2.
  law = gap_of({{"kind", "exponentiated_weibull"}, {"shape", 1}, {"power", 2}, {"scale_s", 10}});
  CHECK(law.mean_s == doctest::Approx(15.0));
  CHECK(law.power == 2.0);
  // Median × exp(σ²/2).
  law = gap_of({{"kind", "lognormal"}, {"sigma", 2}, {"median_min", 1}});
  CHECK(law.mean_s == doctest::Approx(60.0 * std::exp(2.0)));
  CHECK(law.shape == 2.0);
  CHECK(gap_of({{"kind", "gamma"}, {"shape", 3}}, 1).kind == LawKind::kGamma);
  CHECK(gap_of("constant", 1).kind == LawKind::kConstant);
  law = gap_of({{"kind", "empirical"}, {"values", {3, 1, 0, 4}}, {"unit", "min"}});
  CHECK(law.mean_s == doctest::Approx(120.0));
  CHECK(*law.values == std::vector<double>{0.0, 0.5, 1.5, 2.0});
  CHECK(gap_of({{"kind", "empirical"}, {"values", {3, 1}}, {"unit", "min"}}, 5).mean_s == 18000.0);
}

TEST_CASE("laws of times away read the same") {
  Json entry = {{"kind", "slice_down"}, {"each", "slice"}, {"mean_between_h", 1}};
  entry["away"] = {{"law", {{"kind", "weibull"}, {"shape", 0.45}, {"scale_h", 51}}}};
  // InfiniteHBD's repairs: 51 h · Γ(1 + 1/0.45) = 126.4 h.
  CHECK(faults_of(entry)[0].away.mean_s ==
        doctest::Approx(51.0 * 3600.0 * std::tgamma(1.0 + 1.0 / 0.45)));
  entry["away"] = {{"law", {{"kind", "lognormal"}, {"sigma", 1.4}}}, {"mean_min", 355}};
  CHECK(faults_of(entry)[0].away.kind == LawKind::kLognormal);
  CHECK(faults_of(entry)[0].away.mean_s == 21300.0);
}

TEST_CASE("parameters of laws that cannot be") {
  const auto of = [](const Json& law, bool mean = true) {
    Json entry = {
        {"kind", "slice_down"}, {"each", "slice"}, {"law", law}, {"away", {{"mean_s", 1}}}};
    if (mean) entry["mean_between_h"] = 2;
    return fault_refusal(entry);
  };
  CHECK(has(of("weibull"), "/faults/f/law: lacks the key 'shape', which weibull needs"));
  CHECK(has(of({{"kind", "weibull"}, {"shape", 0}}), "/faults/f/law/shape: found 0"));
  CHECK(has(of({{"kind", "gamma"}, {"shape", -1}}), "/faults/f/law/shape: found -1"));
  CHECK(has(of({{"kind", "lognormal"}, {"sigma", 0}}), "/faults/f/law/sigma: found 0"));
  CHECK(has(of({{"kind", "exponentiated_weibull"}, {"shape", 1}, {"power", 0}}),
            "/faults/f/law/power: found 0"));
  CHECK(has(of({{"kind", "exponentiated_weibull"}, {"shape", 1}}), "lacks the key 'power'"));
  CHECK(has(of({{"kind", "exponential"}, {"shape", 1}}),
            "/law/shape: has no meaning for exponential"));
  CHECK(has(of({{"kind", "gamma"}, {"shape", 1}, {"scale_s", 1}}), "has no meaning for gamma"));
  CHECK(has(of({{"kind", "weibull"}, {"shape", 1}, {"scale_s", 1}}), "scale_s and mean_between_s"));
  CHECK(
      has(of({{"kind", "lognormal"}, {"sigma", 9}, {"median_s", 1e9}}, false), "gives a mean of"));
  CHECK(has(of({{"kind", "weibull"}, {"shape", 1}}, false), "does not say when"));
  CHECK(has(of({{"kind", "empirical"}, {"unit", "s"}}), "needs values, or trace and column"));
  CHECK(has(of({{"kind", "empirical"}, {"unit", "s"}, {"values", Json::array()}}), "0 entries"));
  CHECK(has(of({{"kind", "empirical"}, {"unit", "s"}, {"values", {1, -1}}}), "values/1: found -1"));
  CHECK(
      has(of({{"kind", "empirical"}, {"unit", "s"}, {"values", {0, 0}}}, false), "a mean of 0 s"));
  CHECK(has(of({{"kind", "empirical"}, {"values", {1, 2}}}), "lacks the key 'unit'"));
  CHECK(has(of({{"kind", "empirical"}, {"unit", "s"}, {"trace", "x.csv"}}),
            "trace and column together"));
  Json entry = {{"kind", "slice_down"},
                {"each", "slice"},
                {"mean_between_h", 1},
                {"away", {{"law", "constant"}}}};
  CHECK(has(fault_refusal(entry), "/faults/f/away: lacks its mean: give mean_<unit>"));
}

TEST_CASE("chips, hosts and slices of what breaks") {
  const auto units = [](const char* kind, const char* each) {
    Json entry = {{"kind", kind}, {"each", each}, {"mean_between_h", 1}, {"away", {{"mean_s", 1}}}};
    if (std::string(kind) == "straggler") entry["factor"] = 2;
    return faults_of(entry).at(0).units;
  };
  // 32 chips in 4 slices; v5p has 4 chips a host.
  CHECK(units("slice_down", "chip") == 8);
  CHECK(units("slice_down", "host") == 2);
  CHECK(units("hang", "host") == 2);
  CHECK(units("slice_down", "slice") == 1);
  CHECK(units("straggler", "chip") == 32);
  CHECK(units("straggler", "host") == 8);
  CHECK(units("corruption", "slice") == 4);
  CHECK(units("corruption", "island") == 1);
  Json document = base();
  document["islands"]["west"]["chips_per_host"] = 2;
  document["faults"]["f"] = {{"kind", "slice_down"},
                             {"each", "host"},
                             {"target", "west"},
                             {"mean_between_h", 1},
                             {"away", {{"mean_s", 1}}}};
  CHECK(load(document).scenario.faults[0].units == 4);
  CHECK(load(document).scenario.faults[0].events_per_s_nominal ==
        doctest::Approx(8.0 * 4.0 / 3600.0));
  document["islands"]["west"]["chips_per_host"] = 3;
  CHECK(has(refusal(document), "the 8 chips of a slice of west do not fill hosts of 3"));
}

TEST_CASE("two million processes: more are refused, unless they superpose") {
  Json document = base();
  document["islands"]["west"] = {
      {"region", "us-west1"}, {"count", 4}, {"chips", 2400000}, {"slices", 240}, {"step_s", 1000}};
  document["faults"]["f"] = {{"kind", "slice_down"},
                             {"each", "chip"},
                             {"target", "west"},
                             {"mean_between_years", 100},
                             {"away", {{"mean_s", 1}}}};
  CHECK(load(document).scenario.faults[0].units == 10000);
  document["faults"]["f"]["law"] = {{"kind", "weibull"}, {"shape", 0.7}};
  CHECK(has(refusal(document),
            "needs 9600000 chips or hosts that age by themselves, allowed at most "
            "2000000 in all faults: take the exponential law, or each: slice"));
}

TEST_CASE("together, racks and repeat offenders") {
  Json entry = {{"kind", "slice_down"},
                {"each", "rack"},
                {"rack_slices", 2},
                {"mean_between_h", 1},
                {"away", {{"mean_s", 1}}}};
  CHECK(faults_of(entry)[0].together == 2);
  entry["rack_slices"] = 3;
  CHECK(has(fault_refusal(entry),
            "/rack_slices: found 3, which does not divide the 4 slices of west.1"));
  entry.erase("rack_slices");
  CHECK(has(fault_refusal(entry), "lacks the key 'rack_slices'"));
  entry["each"] = "slice";
  entry["together"] = 4;
  CHECK(faults_of(entry)[0].together == 4);
  // 12 slices, each once an hour.
  CHECK(faults_of(entry)[0].events_per_s_nominal == doctest::Approx(12.0 / 3600.0));
  entry["together"] = "all";
  CHECK(faults_of(entry)[0].together == 0);
  entry["exposure"] = "stepping";
  CHECK(has(fault_refusal(entry), "what fails together steps apart"));
  entry.erase("exposure");
  entry["each"] = "chip";
  CHECK(has(fault_refusal(entry), "/together: has no meaning with each: chip"));
  entry.erase("together");
  entry["repeat_offenders"] = {{"share_of_hosts", 0.1}, {"share_of_failures", 0.4}};
  CHECK(faults_of(entry)[0].offender_share == 0.1);
  CHECK(faults_of(entry)[0].offender_events == 0.4);
  entry["repeat_offenders"]["share_of_failures"] = 0.1;
  CHECK(has(fault_refusal(entry), "share_of_failures: found 0.1, allowed above share_of_hosts"));
  Json region = {{"kind", "region_dark"},
                 {"each", "region"},
                 {"mean_between_h", 1},
                 {"away", {{"mean_s", 1}}},
                 {"together", 2}};
  CHECK(has(fault_refusal(region), "only slices stand in groups of n"));
}

TEST_CASE("notice: scripted chips go at `at`; announced at t = 0 at the earliest") {
  Json entry = scripted("island_down", "west.1");
  entry["at_s"] = 100;
  entry["notice_s"] = 30;
  CHECK(faults_of(entry)[0].at_s == 70.0);
  CHECK(faults_of(entry)[0].notice_s == 30.0);
  entry["notice_min"] = 5;
  entry.erase("notice_s");
  CHECK(faults_of(entry)[0].at_s == 0.0);
  CHECK(faults_of(entry)[0].notice_s == 100.0);
  Json cut = scripted("link_cut", "us-east5");
  cut["notice_s"] = 1;
  CHECK(has(fault_refusal(cut), "/notice_s: has no meaning for link_cut"));
  Json random = {{"kind", "slice_down"},
                 {"each", "slice"},
                 {"mean_between_h", 1},
                 {"notice_s", 30},
                 {"away", {{"mean_s", 1}}}};
  CHECK(faults_of(random)[0].notice_s == 30.0);
}

TEST_CASE("hang, shard_lost, corruption, storage_slow, partition") {
  CHECK(faults_of(scripted("hang", "west.1/slice.2"))[0].targets[0].kind == TargetKind::kSlice);
  CHECK(faults_of(scripted("shard_lost", "us-east5"))[0].targets[0].kind == TargetKind::kRegion);
  CHECK(faults_of(scripted("corruption", "west.1"))[0].targets[0].kind == TargetKind::kLearner);
  Json storage = {{"kind", "storage_slow"}, {"at_s", 5}, {"factor", 10}};
  CHECK(faults_of(storage)[0].targets.at(0).kind == TargetKind::kStorage);
  storage["factor"] = 1;
  CHECK(has(fault_refusal(storage), "/factor: found 1, allowed > 1"));
  storage["factor"] = 2;
  storage["target"] = "west";
  CHECK(has(fault_refusal(storage), "/target: has no meaning for storage_slow"));
  const auto cut = faults_of(scripted("partition", "us-east5"));
  CHECK(cut[0].kind == FaultKind::kPartition);
  REQUIRE(cut[0].targets.size() == 2);
  CHECK(cut[0].targets[0].kind == TargetKind::kLink);
  CHECK(has(fault_refusal(scripted("partition", "us-*")), "cuts nothing"));
  Json random = {{"kind", "partition"},
                 {"target", "us-east5"},
                 {"mean_between_days", 1},
                 {"away", {{"mean_min", 10}}}};
  CHECK(faults_of(random)[0].together == 0);
  random["each"] = "region";
  CHECK(has(fault_refusal(random), "/each: has no meaning for partition"));
}

TEST_CASE("spares of an island") {
  Json document = base();
  document["islands"]["west"]["spares"] = 2;
  const auto loaded = load(document);
  CHECK(loaded.scenario.learners[0].spares == 2);
  CHECK(loaded.scenario.learners[0].chips == 32);
  CHECK(loaded.scenario.learners[2].spares == 0);
}
