// Faults that age only while their learner steps.
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"
#include "tests/sim/faults/islands.hpp"

using namespace skerry;
using namespace skerry::test;

namespace {

Scenario stepping(int count, int slices_total, double mean_gap_s) {
  Scenario scenario = west(count, slices_total);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), mean_gap_s,
                                         60.0, Exposure::kStepping));
  return scenario;
}

// Axis values of the first faults of one slice of learner 0 that nobody freezes.
std::vector<double> unfrozen(const Scenario& scenario, int slice, std::size_t n) {
  FaultSource source(scenario, 1, everyone(scenario));
  std::vector<double> axes;
  while (axes.size() < n) {
    const PlanLine line = source.pop_stepping(0);
    if (line.target.part == slice) axes.push_back(line.at_s);
  }
  return axes;
}

}  // namespace

TEST_CASE("stepping faults have no wall date and stay out of the plan") {
  const Scenario scenario = stepping(2, 8, 100.0);
  FaultSource source(scenario, 1, {0, 1});
  CHECK(source.next_wall_date() == kNever);
  CHECK(source.next_stepping_axis(0) < kNever);
  CHECK(source.next_stepping_axis(1) < kNever);
  CHECK(concrete_plan(scenario, 1, 1e6).empty());
  FaultSource west_1(scenario, 1, {0});
  CHECK(west_1.next_stepping_axis(0) == source.next_stepping_axis(0));
  CHECK(west_1.next_stepping_axis(1) == kNever);
}

TEST_CASE("on the axis the rate is the law's") {
  // 8 slices, one fault in 100 s of stepping each, 100,000 s: 8,000 ± √8000 = 89.
  const Scenario scenario = stepping(1, 8, 100.0);
  FaultSource source(scenario, 1, {0});
  int n = 0;
  double last = 0.0;
  while (source.next_stepping_axis(0) < 1e5) {
    const double axis = source.next_stepping_axis(0);
    const PlanLine line = source.pop_stepping(0);
    REQUIRE(line.at_s == axis);
    REQUIRE(axis >= last);
    CHECK(line.source == "chips");
    CHECK(source.last_source() == 0);
    last = axis;
    n += 1;
  }
  CHECK(std::abs(n - 8000.0) < 3 * 89.4);
}

TEST_CASE("learners age apart") {
  const Scenario scenario = stepping(2, 8, 100.0);
  FaultSource source(scenario, 1, {0, 1});
  const double second = source.next_stepping_axis(1);
  for (int i = 0; i < 100; ++i)
    source.pop_stepping(0);
  CHECK(source.next_stepping_axis(1) == second);
}

TEST_CASE("a slice that is away does not age; the others do") {
  const Scenario scenario = stepping(1, 2, 100.0);
  const std::vector<double> slice0 = unfrozen(scenario, 0, 1);
  const std::vector<double> slice1 = unfrozen(scenario, 1, 3);

  // Slice 0 is away from axis 0 to just behind the third fault of slice 1.
  FaultSource source(scenario, 1, {0});
  source.slice_leaves(0, 0, 0.0);
  for (const double axis : slice1)
    CHECK(source.pop_stepping(0).at_s == axis);
  const double back = slice1[2];
  source.slice_returns(0, 0, back);
  source.slice_leaves(0, 1, back);
  CHECK(source.next_stepping_axis(0) == back + slice0[0]);
  CHECK(source.pop_stepping(0).target.part == 0);
}

TEST_CASE("a gap that was begun goes on with what was left of it") {
  // One slice, one constant gap of 100 s: away at 30 and back at 130 puts the fault to 200.
  Scenario scenario = stepping(1, 1, 100.0);
  scenario.faults[0].gap.kind = LawKind::kConstant;
  FaultSource source(scenario, 1, {0});
  CHECK(source.next_stepping_axis(0) == 100.0);
  source.slice_leaves(0, 0, 30.0);
  CHECK(source.next_stepping_axis(0) == kNever);
  CHECK_THROWS_AS(source.pop_stepping(0), Bug);
  source.slice_leaves(0, 0, 50.0);  // already away
  source.slice_returns(0, 0, 130.0);
  CHECK(source.next_stepping_axis(0) == 200.0);
  source.slice_returns(0, 0, 150.0);  // already back
  CHECK(source.next_stepping_axis(0) == 200.0);
  CHECK(source.pop_stepping(0).at_s == 200.0);
  // Away at the very date of its fault: the next gap is whole when it returns.
  source.slice_leaves(0, 0, 200.0);
  source.slice_returns(0, 0, 200.0);
  CHECK(source.next_stepping_axis(0) == 300.0);
}

TEST_CASE("leaving and returning at once, again and again, changes nothing") {
  // Constant gaps of 128 s and dates in whole seconds: subtraction and addition are exact.
  Scenario scenario = stepping(1, 4, 128.0);
  scenario.faults[0].gap.kind = LawKind::kConstant;
  FaultSource source(scenario, 1, {0});
  for (int i = 1; i <= 400; ++i) {
    for (int slice = 0; slice < 4; ++slice) {
      source.slice_leaves(0, slice, 128.0 * (i - 1) + i % 128);
      source.slice_returns(0, slice, 128.0 * (i - 1) + i % 128);
    }
    for (int slice = 0; slice < 4; ++slice) {
      const PlanLine line = source.pop_stepping(0);
      CHECK(line.at_s == 128.0 * i);
      CHECK(line.target.part == slice);
    }
  }
}

TEST_CASE("all entries of a slice freeze with it; its learner's own do not") {
  Scenario scenario = stepping(1, 2, 100.0);
  scenario.faults[0].gap.kind = LawKind::kConstant;
  Fault second = scenario.faults[0];
  second.name = "second";
  second.gap.mean_s = 70.0;
  scenario.faults.push_back(second);
  Fault slow =
      random_fault(FaultKind::kStraggler, all_learners(scenario), 90.0, 5.0, Exposure::kStepping);
  slow.name = "slow";
  slow.gap.kind = LawKind::kConstant;
  slow.factor = 1.5;
  scenario.faults.push_back(slow);
  Fault island = slow;
  island.name = "island";
  island.kind = FaultKind::kIslandDown;
  island.gap.mean_s = 95.0;
  island.factor = 1.0;
  scenario.faults.push_back(island);

  FaultSource source(scenario, 1, {0});
  source.slice_leaves(0, 0, 10.0);
  source.slice_leaves(0, 1, 10.0);
  PlanLine line = source.pop_stepping(0);
  CHECK(line.at_s == 90.0);
  CHECK(line.kind == FaultKind::kStraggler);
  CHECK(line.factor == 1.5);
  CHECK(source.last_source() == 2);
  CHECK(source.pop_stepping(0).at_s == 95.0);
  CHECK(source.last_source() == 3);
  source.slice_returns(0, 1, 95.0);
  line = source.pop_stepping(0);
  CHECK(line.at_s == 155.0);  // 70 + 85 s away
  CHECK(line.source == "second");
  CHECK(line.target.part == 1);
}

TEST_CASE("with repairs, faults per second of presence stay at the rate") {
  // Each slice is away for 50 s of axis after each fault, gaps mean 100 s: 1/150 per second and
  // slice. 4 slices, 300,000 s: 8,000 cycles; a cycle's deviation is 100 s of a mean of 150, so ±
  // 89 · 2/3.
  const Scenario scenario = stepping(1, 4, 100.0);
  FaultSource source(scenario, 1, {0});
  std::vector<double> back(4, kNever);
  int n = 0;
  for (double axis = 0.0; axis < 3e5;) {
    std::size_t first = 0;
    for (std::size_t s = 1; s < 4; ++s) {
      if (back[s] < back[first]) first = s;
    }
    if (back[first] <= source.next_stepping_axis(0)) {
      axis = back[first];
      source.slice_returns(0, static_cast<int>(first), axis);
      back[first] = kNever;
      continue;
    }
    const PlanLine line = source.pop_stepping(0);
    axis = line.at_s;
    const auto slice = static_cast<std::size_t>(line.target.part);
    REQUIRE(back[slice] == kNever);  // a slice that is away does not fail
    source.slice_leaves(0, line.target.part, axis);
    back[slice] = axis + 50.0;
    n += 1;
  }
  CHECK(std::abs(n - 8000.0) < 3 * 89.4 * 2.0 / 3.0);
}

TEST_CASE("what does not step cannot age by stepping") {
  Scenario scenario = west(1, 1);
  scenario.faults.push_back(random_fault(FaultKind::kRegionDark, {{TargetKind::kRegion, 0, 0}}, 9.0,
                                         1.0, Exposure::kStepping));
  CHECK_THROWS_AS(FaultSource(scenario, 1, {0}), Bug);
}
