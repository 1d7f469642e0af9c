// Wall faults: rates, pairing, order, and who is left out.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"
#include "tests/sim/faults/islands.hpp"

using namespace skerry;
using namespace skerry::test;

namespace {

constexpr double kDay = 86400.0;

std::vector<PlanLine> chips_plan(int count, int slices_total, double mean_gap_s, double until_s,
                                 std::uint64_t seed = 1) {
  Scenario scenario = west(count, slices_total);
  scenario.faults.push_back(
      random_fault(FaultKind::kSliceDown, all_slices(scenario), mean_gap_s, 300.0));
  return concrete_plan(scenario, seed, until_s);
}

}  // namespace

TEST_CASE("the number of faults is that of the rate, the away times have their mean") {
  // 64 slices, one fault in 10 days each, 1,000 days: 6,400 expected, deviation √6400 = 80.
  const std::vector<PlanLine> plan = chips_plan(4, 64, 10 * kDay, 1000 * kDay);
  const double n = static_cast<double>(plan.size());
  CHECK(std::abs(n - 6400.0) < 3 * 80.0);
  double away = 0.0;
  std::map<int, int> of_learner;
  for (const PlanLine& line : plan) {
    away += line.for_s;
    of_learner[line.target.index] += 1;
    CHECK(line.kind == FaultKind::kSliceDown);
    CHECK(line.source == "chips");
    CHECK(line.factor == 1.0);
  }
  CHECK(std::abs(away / n - 300.0) < 3 * 300.0 / std::sqrt(n));
  for (int learner = 0; learner < 4; ++learner) {
    CHECK(std::abs(of_learner[learner] - 1600.0) < 4 * 40.0);
  }
}

TEST_CASE("a plan is in order of date and a function of the seed") {
  const std::vector<PlanLine> plan = chips_plan(2, 16, kDay, 100 * kDay);
  CHECK(std::is_sorted(plan.begin(), plan.end(),
                       [](const PlanLine& a, const PlanLine& b) { return a.at_s < b.at_s; }));
  CHECK(plan.back().at_s < 100 * kDay);
  const std::vector<PlanLine> again = chips_plan(2, 16, kDay, 100 * kDay);
  REQUIRE(again.size() == plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    CHECK(again[i].at_s == plan[i].at_s);
    CHECK(again[i].for_s == plan[i].for_s);
  }
  CHECK(chips_plan(2, 16, kDay, 100 * kDay, 2).at(0).at_s != plan[0].at_s);
}

TEST_CASE("a longer plan begins with the shorter one") {
  const std::vector<PlanLine> shorter = chips_plan(2, 16, kDay, 50 * kDay);
  const std::vector<PlanLine> longer = chips_plan(2, 16, kDay, 100 * kDay);
  REQUIRE(longer.size() > shorter.size());
  for (std::size_t i = 0; i < shorter.size(); ++i)
    CHECK(longer[i].at_s == shorter[i].at_s);
}

TEST_CASE("half the rate: the same faults at twice the date, away as long as before") {
  const std::vector<PlanLine> full = chips_plan(2, 16, kDay, 100 * kDay);
  const std::vector<PlanLine> half = chips_plan(2, 16, 2 * kDay, 100 * kDay);
  // In the same 100 days the halved rate plays what the full rate plays in 50.
  CHECK(half.size() < full.size());
  CHECK(std::abs(static_cast<double>(half.size()) - 800.0) < 4 * std::sqrt(800.0));
  for (std::size_t i = 0; i < half.size(); ++i) {
    CHECK(half[i].at_s == 2.0 * full[i].at_s);  // exact: a factor of two
    CHECK(half[i].for_s == full[i].for_s);
    CHECK(half[i].target.part == full[i].target.part);
  }
}

TEST_CASE("1, 2 and 4 learners on the same slices: one list of (date, global slice)") {
  const auto dates = [](int count) {
    Scenario scenario = west(count, 16);
    scenario.faults.push_back(
        random_fault(FaultKind::kSliceDown, all_slices(scenario), kDay, 300.0));
    std::vector<std::pair<double, std::int64_t>> list;
    for (const PlanLine& line : concrete_plan(scenario, 3, 100 * kDay)) {
      list.emplace_back(line.at_s, global_slice(scenario, line.target));
    }
    return list;
  };
  const auto one = dates(1);
  CHECK(one.size() > 1000);
  CHECK(dates(2) == one);
  CHECK(dates(4) == one);
}

TEST_CASE(
    "another entry, group or target draws other numbers; one name over two entries does not mix") {
  Scenario scenario = west(1, 8);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), kDay, 60.0));
  const double first = concrete_plan(scenario, 1, 1000 * kDay).at(0).at_s;
  Scenario renamed = scenario;
  renamed.faults[0].name = "other";
  CHECK(concrete_plan(renamed, 1, 1000 * kDay).at(0).at_s != first);
  Scenario regrouped = scenario;
  regrouped.learners[0].group = "east";
  CHECK(concrete_plan(regrouped, 1, 1000 * kDay).at(0).at_s != first);

  // Slices 0…3 and 4…7 in two entries of one name: the same faults as in one entry.
  Scenario split = scenario;
  split.faults.push_back(split.faults[0]);
  split.faults[0].targets.resize(4);
  split.faults[1].targets.erase(split.faults[1].targets.begin(),
                                split.faults[1].targets.begin() + 4);
  const auto whole = concrete_plan(scenario, 1, 100 * kDay);
  const auto parts = concrete_plan(split, 1, 100 * kDay);
  REQUIRE(parts.size() == whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CHECK(parts[i].at_s == whole[i].at_s);
    CHECK(parts[i].target.part == whole[i].target.part);
  }

  // A learner, a region, a port and a link of like names draw apart.
  Scenario places = west(1, 1);
  const std::vector<Target> targets{{TargetKind::kSlice, 0, 0},  {TargetKind::kLearner, 0, 0},
                                    {TargetKind::kRegion, 0, 0}, {TargetKind::kPort, 0, 0},
                                    {TargetKind::kPort, 0, 1},   {TargetKind::kLink, 0, 0},
                                    {TargetKind::kLink, 1, 0}};
  places.faults.push_back(random_fault(FaultKind::kStraggler, targets, kDay, 60.0));
  std::vector<double> firsts;
  for (const PlanLine& line : concrete_plan(places, 1, kDay))
    firsts.push_back(line.at_s);
  std::sort(firsts.begin(), firsts.end());
  CHECK(std::adjacent_find(firsts.begin(), firsts.end()) == firsts.end());
}

TEST_CASE("constant laws: every gap and every absence the same") {
  Scenario scenario = west(1, 1);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), 100.0, 7.0));
  scenario.faults[0].gap.kind = LawKind::kConstant;
  scenario.faults[0].away.kind = LawKind::kConstant;
  const std::vector<PlanLine> plan = concrete_plan(scenario, 1, 450.0);
  REQUIRE(plan.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(plan[i].at_s == 100.0 * static_cast<double>(i + 1));
    CHECK(plan[i].for_s == 7.0);
  }
  // The absence keeps its own draw when only the gap is constant.
  scenario.faults[0].away.kind = LawKind::kExponential;
  const std::vector<PlanLine> constant_gap = concrete_plan(scenario, 1, 450.0);
  scenario.faults[0].gap.kind = LawKind::kExponential;
  const std::vector<PlanLine> random_gap = concrete_plan(scenario, 1, 10'000.0);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(constant_gap[i].for_s == random_gap.at(i).for_s);
}

TEST_CASE("arrivals do not wait for repairs: faults of one slice nest") {
  // Away ten times as long as the gap: most faults come while the last is not repaired.
  Scenario scenario = west(1, 1);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), 10.0, 100.0));
  const std::vector<PlanLine> plan = concrete_plan(scenario, 1, 10'000.0);
  CHECK(std::abs(static_cast<double>(plan.size()) - 1000.0) < 4 * std::sqrt(1000.0));
  int nested = 0;
  for (std::size_t i = 1; i < plan.size(); ++i) {
    nested += plan[i].at_s < plan[i - 1].at_s + plan[i - 1].for_s ? 1 : 0;
  }
  CHECK(nested > 800);
}

TEST_CASE("equal dates: order of entries, then of targets, planned lines last") {
  Scenario scenario = west(1, 2);
  const Target link{TargetKind::kLink, 0, 0};
  const Target region{TargetKind::kRegion, 0, 0};
  scenario.plan.push_back({100.0, 1.0, FaultKind::kLinkCut, link, 1.0, "planned"});
  scenario.faults.push_back(scripted_fault("late", FaultKind::kRegionDark, region, 200.0, 1.0));
  Fault random = random_fault(FaultKind::kSliceDown, all_slices(scenario), 100.0, 1.0);
  random.gap.kind = LawKind::kConstant;
  scenario.faults.push_back(random);
  Fault both =
      scripted_fault("both", FaultKind::kSliceDown, {TargetKind::kSlice, 0, 1}, 100.0, 1.0);
  both.targets.push_back({TargetKind::kSlice, 0, 0});
  scenario.faults.push_back(both);

  FaultSource source(scenario, 1, {0});
  const struct {
    double at;
    int source, part;
    const char* name;
  } expected[] = {{100, 1, 0, "chips"}, {100, 1, 1, "chips"},   {100, 2, 1, "both"},
                  {100, 2, 0, "both"},  {100, 3, 0, "planned"}, {200, 0, 0, "late"},
                  {200, 1, 0, "chips"}, {200, 1, 1, "chips"},   {300, 1, 0, "chips"}};
  for (const auto& e : expected) {
    CHECK(source.next_wall_date() == e.at);
    const PlanLine line = source.pop_wall();
    CHECK(line.at_s == e.at);
    CHECK(line.source == e.name);
    CHECK(line.target.part == e.part);
    CHECK(source.last_source() == e.source);
  }
}

TEST_CASE("nothing planned: no date, and nothing to pop") {
  const Scenario scenario = west(1, 1);
  FaultSource source(scenario, 1, {0});
  CHECK(source.next_wall_date() == kNever);
  CHECK(source.next_stepping_axis(0) == kNever);
  CHECK_THROWS_AS(source.pop_wall(), Bug);
  CHECK_THROWS_AS(source.pop_stepping(0), Bug);
}

TEST_CASE("faults of who takes no part are left out, and nothing else moves") {
  Scenario scenario = west(2, 4);
  scenario.regions.push_back({"us-south1", kUnlimited, kUnlimited});
  scenario.links.push_back({1, 2, 0.0, kUnlimited});
  scenario.links.push_back({2, 0, 0.0, kUnlimited});
  scenario.learners[1].region = 1;
  const auto add = [&](FaultKind kind, TargetKind target, int index, double at) {
    scenario.faults.push_back(scripted_fault("f", kind, {target, index, 0}, at, 1.0));
  };
  add(FaultKind::kSliceDown, TargetKind::kSlice, 0, 1);     // kept
  add(FaultKind::kSliceDown, TargetKind::kSlice, 1, 2);     // its learner is not in
  add(FaultKind::kIslandDown, TargetKind::kLearner, 1, 3);  // neither
  add(FaultKind::kRegionDark, TargetKind::kRegion, 0, 4);   // kept
  add(FaultKind::kRegionDark, TargetKind::kRegion, 1, 5);   // nobody there
  add(FaultKind::kLinkCut, TargetKind::kPort, 0, 6);        // kept
  add(FaultKind::kLinkCut, TargetKind::kPort, 2, 7);        // nobody there
  add(FaultKind::kLinkCut, TargetKind::kLink, 1, 8);        // kept: 1 → 0
  add(FaultKind::kLinkCut, TargetKind::kLink, 2, 9);        // 1 → 2: nobody at either end
  add(FaultKind::kLinkCut, TargetKind::kLink, 3, 10);       // kept: 2 → 0
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), 5.0, 1.0));
  scenario.plan.push_back({11, 1, FaultKind::kIslandDown, {TargetKind::kLearner, 1, 0}, 1, "p"});

  const auto played = [&](const std::vector<int>& learners, const std::vector<int>& hubs) {
    FaultSource source(scenario, 1, learners, hubs);
    std::pair<std::vector<double>, std::vector<double>> dates;  // scripted, random of learner 0
    while (source.next_wall_date() < 50.0) {
      const PlanLine line = source.pop_wall();
      if (line.source != "chips") dates.first.push_back(line.at_s);
      if (line.source == "chips" && line.target.index == 0) dates.second.push_back(line.at_s);
    }
    return dates;
  };
  const auto west_only = played({0}, {});
  CHECK(west_only.first == std::vector<double>{1, 4, 6, 8, 10});
  CHECK(played({0}, {2}).first == std::vector<double>{1, 4, 6, 7, 8, 9, 10});
  const auto all = played({0, 1}, {});
  CHECK(all.first == std::vector<double>{1, 2, 3, 4, 5, 6, 8, 9, 10, 11});
  CHECK(all.second == west_only.second);
  CHECK(all.second.size() > 5);
}

TEST_CASE("a learner without a region has no region faults") {
  Scenario scenario = west(1, 1);
  scenario.learners[0].region = -1;
  scenario.faults.push_back(
      scripted_fault("dark", FaultKind::kRegionDark, {TargetKind::kRegion, 0, 0}, 1.0, 1.0));
  CHECK(FaultSource(scenario, 1, {0}).next_wall_date() == kNever);
}

TEST_CASE("a mean gap must be positive; one without end never comes") {
  Scenario scenario = west(1, 1);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), 0.0, 1.0));
  CHECK_THROWS_AS(FaultSource(scenario, 1, {0}), Bug);
  scenario.faults[0].gap.mean_s = kNever;
  CHECK(FaultSource(scenario, 1, {0}).next_wall_date() == kNever);
  CHECK_THROWS_AS(concrete_plan(scenario, 1, kNever), Bug);
}

TEST_CASE("a million slices: the earliest fault of all, one after another") {
  // 1,000 learners of 1,000 slices; the k-th fault of n slices with mean gap g comes near k·g/n.
  Scenario scenario = west(1000, 1'000'000);
  scenario.faults.push_back(
      random_fault(FaultKind::kSliceDown, all_slices(scenario), 1e6 * 100.0, 60.0));
  FaultSource source(scenario, 1, everyone(scenario));
  double last = 0.0;
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(source.next_wall_date() >= last);
    last = source.pop_wall().at_s;
  }
  CHECK(std::abs(last / 100.0 - 10'000.0) < 4 * 100.0);  // deviation √10,000
}
