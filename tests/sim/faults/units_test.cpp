// Chips and hosts of a slice, repeat offenders, and what fails together.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"
#include "tests/sim/faults/islands.hpp"

using namespace skerry;
using namespace skerry::test;

namespace {

constexpr double kDay = 86400.0;

// Slices of `units` chips, each with the given law and mean gap.
Scenario chips(int count, int slices, std::int64_t units, LawKind kind, double shape,
               double mean_gap_s) {
  Scenario scenario = west(count, slices);
  Fault fault = random_fault(FaultKind::kSliceDown, all_slices(scenario), mean_gap_s, 300.0);
  fault.units = units;
  fault.gap.kind = kind;
  fault.gap.shape = shape;
  scenario.faults.push_back(fault);
  return scenario;
}

}  // namespace

TEST_CASE("exponential chips superpose: one stream of n times the rate, bit for bit") {
  const Scenario of_chips = chips(1, 4, 8, LawKind::kExponential, 1.0, 80 * kDay);
  const Scenario of_slices = chips(1, 4, 1, LawKind::kExponential, 1.0, 10 * kDay);
  const auto a = concrete_plan(of_chips, 1, 1000 * kDay),
             b = concrete_plan(of_slices, 1, 1000 * kDay);
  CHECK(a.size() > 300);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(a[i].at_s == b[i].at_s);
}

TEST_CASE("constant chips: all of a slice at each date; their slice takes them all") {
  const auto plan = concrete_plan(chips(1, 2, 3, LawKind::kConstant, 1.0, 100.0), 1, 250.0);
  // Two dates, two slices, three chips.
  REQUIRE(plan.size() == 12);
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(plan[i].at_s == (i < 6 ? 100.0 : 200.0));
}

TEST_CASE("Weibull chips: the merged process against the chips played one by one") {
  // Chip u of the slice draws from the stream of its global index.
  const Scenario scenario = chips(1, 2, 4, LawKind::kWeibull, 0.6, 5 * kDay);
  const auto plan = concrete_plan(scenario, 3, 200 * kDay);
  const LawDraw gap(scenario.faults[0].gap);
  const LawDraw away(scenario.faults[0].away);
  std::vector<std::pair<double, double>> expected[2];
  for (std::uint64_t unit = 0; unit < 8; ++unit) {
    RandomStream random(3, "faults.chips/west/units", unit);
    for (double at = gap.unit(random) * 5 * kDay; at < 200 * kDay;
         at += gap.unit(random) * 5 * kDay) {
      expected[unit / 4].emplace_back(at, away.unit(random) * 300.0);
    }
  }
  for (int slice = 0; slice < 2; ++slice) {
    std::sort(expected[slice].begin(), expected[slice].end());
    std::size_t i = 0;
    for (const PlanLine& line : plan) {
      if (line.target.part != slice) continue;
      REQUIRE(i < expected[slice].size());
      CHECK(line.at_s == doctest::Approx(expected[slice][i].first).epsilon(1e-12));
      CHECK(line.for_s == expected[slice][i].second);
      ++i;
    }
    CHECK(i == expected[slice].size());
    CHECK(i > 50);
  }
}

TEST_CASE("half the rate and other counts of learners keep the chips' faults, whatever the law") {
  const auto full = concrete_plan(chips(2, 8, 4, LawKind::kWeibull, 0.7, kDay), 1, 20 * kDay);
  const auto half = concrete_plan(chips(2, 8, 4, LawKind::kWeibull, 0.7, 2 * kDay), 1, 40 * kDay);
  REQUIRE(half.size() == full.size());
  CHECK(full.size() > 300);
  for (std::size_t i = 0; i < full.size(); ++i) {
    CHECK(half[i].at_s == 2.0 * full[i].at_s);
    CHECK(half[i].for_s == full[i].for_s);
  }
  const Scenario four = chips(4, 8, 4, LawKind::kWeibull, 0.7, kDay);
  const Scenario two = chips(2, 8, 4, LawKind::kWeibull, 0.7, kDay);
  const auto other = concrete_plan(four, 1, 20 * kDay);
  REQUIRE(other.size() == full.size());
  for (std::size_t i = 0; i < full.size(); ++i) {
    CHECK(other[i].at_s == full[i].at_s);
    CHECK(global_slice(four, other[i].target) == global_slice(two, full[i].target));
  }
}

TEST_CASE("a slice of chips freezes and goes on with what was left of every chip's gap") {
  // Two chips, constant gaps of 128 s; whole seconds, so that sums are exact.
  Scenario scenario = chips(1, 1, 2, LawKind::kConstant, 1.0, 128.0);
  scenario.faults[0].exposure = Exposure::kStepping;
  FaultSource source(scenario, 1, {0});
  CHECK(source.next_stepping_axis(0) == 128.0);
  source.slice_leaves(0, 0, 28.0);
  CHECK(source.next_stepping_axis(0) == kNever);
  source.slice_returns(0, 0, 1000.0);
  CHECK(source.pop_stepping(0).at_s == 1100.0);
  CHECK(source.pop_stepping(0).at_s == 1100.0);
  CHECK(source.pop_stepping(0).at_s == 1228.0);
}

TEST_CASE("a learner of chips: a straggling chip slows its learner") {
  Scenario scenario = west(2, 8);
  Fault fault = random_fault(FaultKind::kStraggler, all_learners(scenario), 32 * kDay, 60.0);
  fault.units = 32;
  fault.gap.kind = LawKind::kGamma;
  fault.gap.shape = 2.0;
  scenario.faults.push_back(fault);
  // A gamma of shape 2 begins slower than its rate: a chip has t/m − 1/4 renewals in the long run.
  // 64 chips, 100 mean gaps: 64·(100 − 1/4) = 6384, deviation √(6400/2) = 57.
  const auto plan = concrete_plan(scenario, 1, 3200 * kDay);
  CHECK(std::abs(static_cast<double>(plan.size()) - 6384.0) < 3 * 57.0);
}

TEST_CASE("repeat offenders: a tenth of the hosts carries four tenths of the failures") {
  // 2,000 slices, each its own unit, one fault in 100 days on average, 10,000 days.
  for (const LawKind kind : {LawKind::kExponential, LawKind::kWeibull}) {
    Scenario scenario = chips(4, 2000, 1, kind, 0.9, 100 * kDay);
    scenario.faults[0].offender_share = 0.1;
    scenario.faults[0].offender_events = 0.4;
    std::vector<double> counts(2000, 0.0);
    const auto plan = concrete_plan(scenario, 1, 10000 * kDay);
    for (const PlanLine& line : plan)
      counts[static_cast<std::size_t>(global_slice(scenario, line.target))] += 1.0;
    std::sort(counts.begin(), counts.end());
    // Offenders have 400 faults, the others 67: nothing lies between 150 and 250.
    const auto first = std::lower_bound(counts.begin(), counts.end(), 150.0);
    CHECK(first == std::lower_bound(counts.begin(), counts.end(), 250.0));
    const auto offenders = static_cast<double>(counts.end() - first);
    CHECK(std::abs(offenders - 200.0) < 3 * 13.4);  // √(2000 · 0.1 · 0.9)
    double theirs = 0.0;
    for (auto i = first; i != counts.end(); ++i)
      theirs += *i;
    CHECK(theirs / offenders == doctest::Approx(400.0).epsilon(0.02));
    const double rest = static_cast<double>(plan.size()) - theirs;
    CHECK(rest / (2000.0 - offenders) == doctest::Approx(100.0 * 0.6 / 0.9).epsilon(0.02));
  }
}

TEST_CASE("offenders among exponential chips: the slice adds their weights") {
  // 64 slices of 16 chips: a slice with k offenders has weight 4k + (16 − k)·2/3.
  Scenario scenario = chips(1, 64, 16, LawKind::kExponential, 1.0, 16.0 * kDay);
  scenario.faults[0].offender_share = 0.1;
  scenario.faults[0].offender_events = 0.4;
  std::vector<double> counts(64, 0.0);
  for (const PlanLine& line : concrete_plan(scenario, 1, 2000 * kDay))
    counts[static_cast<std::size_t>(line.target.part)] += 1.0;
  double all = 0.0;
  for (int slice = 0; slice < 64; ++slice) {
    double weight = 0.0;
    for (int chip = 0; chip < 16; ++chip) {
      RandomStream random(1, "faults.chips/west/offenders",
                          static_cast<std::uint64_t>(16 * slice + chip));
      weight += random.uniform() < 0.1 ? 4.0 : 0.6 / 0.9;
    }
    const double expected = 2000.0 * weight / 16.0;
    CHECK(std::abs(counts[static_cast<std::size_t>(slice)] - expected) < 4.5 * std::sqrt(expected));
    all += counts[static_cast<std::size_t>(slice)];
  }
  // 1,024 chips, 125 mean gaps: 128,000; the number of offenders moves it by √(1024·0.09)·125·3.33.
  CHECK(std::abs(all - 128000.0) < 3 * std::sqrt(128000.0 + 4000.0 * 4000.0));
}

TEST_CASE("together: consecutive slices of a learner, one date, one time away") {
  Scenario scenario = west(2, 8);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), kDay, 300.0));
  scenario.faults[0].together = 2;
  const auto plan = concrete_plan(scenario, 1, 200 * kDay);
  // Four racks, 200 dates each: 800 ± √800 = 28 dates of two lines.
  REQUIRE(plan.size() % 2 == 0);
  CHECK(std::abs(static_cast<double>(plan.size()) / 2.0 - 800.0) < 3 * 28.3);
  std::set<std::pair<int, int>> racks;
  for (std::size_t i = 0; i < plan.size(); i += 2) {
    CHECK(plan[i].at_s == plan[i + 1].at_s);
    CHECK(plan[i].for_s == plan[i + 1].for_s);
    CHECK(plan[i].target.index == plan[i + 1].target.index);
    CHECK(plan[i].target.part + 1 == plan[i + 1].target.part);
    CHECK(plan[i].target.part % 2 == 0);
    racks.emplace(plan[i].target.index, plan[i].target.part);
  }
  CHECK(racks.size() == 4);
  // On other learners the same racks of global slices.
  Scenario one = west(1, 8);
  one.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(one), kDay, 300.0));
  one.faults[0].together = 2;
  const auto same = concrete_plan(one, 1, 200 * kDay);
  REQUIRE(same.size() == plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    CHECK(same[i].at_s == plan[i].at_s);
    CHECK(global_slice(one, same[i].target) == global_slice(scenario, plan[i].target));
  }
}

TEST_CASE("together on the stepping axis: all lines come out although the first slice leaves") {
  Scenario scenario = west(1, 4);
  scenario.faults.push_back(
      random_fault(FaultKind::kSliceDown, all_slices(scenario), 100.0, 10.0, Exposure::kStepping));
  scenario.faults[0].gap.kind = LawKind::kConstant;
  scenario.faults[0].together = 2;
  FaultSource source(scenario, 1, {0});
  for (const int part : {0, 1, 2, 3}) {
    REQUIRE(source.next_stepping_axis(0) == 100.0);
    CHECK(source.pop_stepping(0).target.part == part);
    source.slice_leaves(0, part, 100.0);
  }
  CHECK(source.next_stepping_axis(0) == kNever);
  source.slice_returns(0, 0, 150.0);
  CHECK(source.next_stepping_axis(0) == 250.0);
}

TEST_CASE("all together: one date for all targets; those that take no part are left out") {
  Scenario scenario = west(2, 4);
  scenario.faults.push_back(random_fault(FaultKind::kRegionDark,
                                         {{TargetKind::kRegion, 0, 0}, {TargetKind::kRegion, 1, 0}},
                                         kDay, 60.0));
  scenario.faults[0].together = 0;
  const auto plan = concrete_plan(scenario, 1, 100 * kDay);
  CHECK(plan.size() > 100);
  for (std::size_t i = 0; i + 1 < plan.size(); i += 2) {
    CHECK(plan[i].at_s == plan[i + 1].at_s);
    CHECK(plan[i].target.index == 0);
    CHECK(plan[i + 1].target.index == 1);
  }
  FaultSource west_only(scenario, 1, {0});  // nobody in region 1
  for (std::size_t i = 0; i < 20; i += 2) {
    const PlanLine line = west_only.pop_wall();
    CHECK(line.at_s == plan[i].at_s);
    CHECK(line.target.index == 0);
  }
}

TEST_CASE("notice goes with the line; storage fails as long as anybody is there") {
  Scenario scenario = west(1, 2);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), kDay, 300.0));
  scenario.faults[0].notice_s = 30.0;
  Fault storage =
      scripted_fault("s", FaultKind::kStorageSlow, {TargetKind::kStorage, 0, 0}, 0.0, 9.0);
  storage.factor = 4.0;
  scenario.faults.push_back(storage);
  const auto plan = concrete_plan(scenario, 1, 10 * kDay);
  REQUIRE(plan.size() > 5);
  CHECK(plan[0].kind == FaultKind::kStorageSlow);
  CHECK(plan[0].notice_s == 0.0);
  for (std::size_t i = 1; i < plan.size(); ++i)
    CHECK(plan[i].notice_s == 30.0);
  CHECK(FaultSource(scenario, 1, {}).next_wall_date() == kNever);
}

TEST_CASE("two million chips that age by themselves") {
  const Scenario scenario = chips(4, 8000, 250, LawKind::kWeibull, 0.7, 365 * kDay);
  FaultSource source(scenario, 1, everyone(scenario));
  double last = 0.0;
  for (int i = 0; i < 1000; ++i) {
    const double at = source.pop_wall().at_s;
    CHECK(at >= last);
    last = at;
  }
}
