// The plan as CSV: the same bits back, and strict about everything else.
#include <bit>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"
#include "tests/sim/faults/islands.hpp"

using namespace skerry;
using namespace skerry::test;

namespace {

// Files from before there was a notice.
const std::string kHeader = "at_s,for_s,kind,target,factor,source\n";
const std::string kWritten = "at_s,for_s,kind,target,factor,notice_s,source\n";

std::string refusal(const std::string& text) {
  try {
    plan_from_csv(west(2, 8), text, "plan.csv");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

void check_refused(const std::string& text, const std::string& place, const std::string& part) {
  const std::string message = refusal(text);
  INFO(message);
  CHECK(message.find("plan.csv: " + place + ": ") == 0);
  CHECK(message.find(part) != std::string::npos);
}

void check_row_refused(const std::string& row, const std::string& part) {
  check_refused(kHeader + row + "\n", "line 2", part);
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

TEST_CASE("names of kinds and targets; slices and learners count from one") {
  const Scenario scenario = west(2, 8);
  CHECK(kind_name(FaultKind::kSliceDown) == "slice_down");
  CHECK(kind_name(FaultKind::kIslandDown) == "island_down");
  CHECK(kind_name(FaultKind::kRegionDark) == "region_dark");
  CHECK(kind_name(FaultKind::kLinkCut) == "link_cut");
  CHECK(kind_name(FaultKind::kLinkSlow) == "link_slow");
  CHECK(kind_name(FaultKind::kStraggler) == "straggler");
  CHECK(target_name(scenario, {TargetKind::kSlice, 1, 2}) == "west.2/slice.3");
  CHECK(target_name(scenario, {TargetKind::kLearner, 0, 0}) == "west.1");
  CHECK(target_name(scenario, {TargetKind::kRegion, 1, 0}) == "us-east5");
  CHECK(target_name(scenario, {TargetKind::kPort, 1, 0}) == "us-east5.up");
  CHECK(target_name(scenario, {TargetKind::kPort, 1, 1}) == "us-east5.down");
  CHECK(target_name(scenario, {TargetKind::kLink, 1, 0}) == "us-east5>us-west1");
}

TEST_CASE("one plan, line by line") {
  const std::vector<PlanLine> plan{
      {0.1, 300, FaultKind::kSliceDown, {TargetKind::kSlice, 1, 0}, 1, "chips"},
      {7200, kNever, FaultKind::kRegionDark, {TargetKind::kRegion, 1, 0}, 1, "dark", 30},
      {7300, 60, FaultKind::kLinkSlow, {TargetKind::kPort, 0, 1}, 0.25, "congestion.1"},
      {7400, 0, FaultKind::kStraggler, {TargetKind::kLearner, 0, 0}, 1.5, "slow"},
      {7400, 1, FaultKind::kHang, {TargetKind::kSlice, 0, 3}, 1, "h"},
      {7400, 2, FaultKind::kShardLost, {TargetKind::kRegion, 0, 0}, 1, "l"},
      {7400, 3, FaultKind::kCorruption, {TargetKind::kLearner, 1, 0}, 1, "c"},
      {7400, 4, FaultKind::kStorageSlow, {TargetKind::kStorage, 0, 0}, 8, "s"}};
  const std::string text = kWritten +
                           "0.1,300,slice_down,west.2/slice.1,1,0,chips\n"
                           "7200,,region_dark,us-east5,1,30,dark\n"
                           "7300,60,link_slow,us-west1.down,0.25,0,congestion.1\n"
                           "7400,0,straggler,west.1,1.5,0,slow\n"
                           "7400,1,hang,west.1/slice.4,1,0,h\n"
                           "7400,2,shard_lost,us-west1,1,0,l\n"
                           "7400,3,corruption,west.2,1,0,c\n"
                           "7400,4,storage_slow,storage,8,0,s\n";
  CHECK(plan_to_csv(west(2, 8), plan) == text);
  const std::vector<PlanLine> again = plan_from_csv(west(2, 8), text, "plan.csv");
  REQUIRE(again.size() == 8);
  CHECK(again[1].for_s == kNever);
  CHECK(again[1].notice_s == 30.0);
  CHECK(again[2].target.kind == TargetKind::kPort);
  CHECK(again[2].target.part == 1);
  CHECK(again[3].factor == 1.5);
  CHECK(again[3].source == "slow");
  CHECK(plan_from_csv(west(2, 8), text.substr(0, text.size() - 1), "p").size() == 8);
  CHECK(plan_from_csv(west(2, 8), kHeader, "p").empty());
}

TEST_CASE("a plan of random faults comes back bit for bit and plays the same") {
  Scenario scenario = west(2, 8);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), 1e4, 300.0));
  scenario.faults.push_back(random_fault(FaultKind::kStraggler, all_learners(scenario), 2e4, 50.0));
  scenario.faults[1].name = "slow";
  scenario.faults[1].factor = 1.0 + 1.0 / 3.0;
  scenario.faults.push_back(random_fault(
      FaultKind::kLinkSlow, {{TargetKind::kPort, 0, 1}, {TargetKind::kLink, 1, 0}}, 3e4, 20.0));
  scenario.faults[2].factor = 0.1;
  scenario.faults[2].name = "weather";
  const std::vector<PlanLine> plan = concrete_plan(scenario, 9, 1e6);
  CHECK(plan.size() > 800);
  const std::string text = plan_to_csv(scenario, plan);
  const std::vector<PlanLine> read = plan_from_csv(scenario, text, "plan.csv");
  CHECK(plan_to_csv(scenario, read) == text);

  Scenario replay = west(2, 8);
  replay.plan = read;
  FaultSource source(replay, 1234, {0, 1});
  for (const PlanLine& line : plan) {
    const PlanLine played = source.pop_wall();
    REQUIRE(same_bits(played.at_s, line.at_s));
    REQUIRE(same_bits(played.for_s, line.for_s));
    REQUIRE(same_bits(played.factor, line.factor));
    REQUIRE(played.kind == line.kind);
    REQUIRE(played.target.kind == line.target.kind);
    REQUIRE(played.target.index == line.target.index);
    REQUIRE(played.target.part == line.target.part);
    REQUIRE(played.source == line.source);
  }
  CHECK(source.next_wall_date() == kNever);
}

TEST_CASE("the header and the columns") {
  check_refused("", "line 1", "expected a header");
  check_refused("at_s,for_s,kind,target,weight\n", "line 1",
                "expected the columns at_<unit>, kind");
  check_refused("at_s,kind\n", "line 1", "found 'at_s,kind'");
  check_refused("at_s,at_h,kind,target\n", "line 1", "two columns of at_<unit>");
  check_refused("at_s,kind,kind,target\n", "line 1", "found the column 'kind' twice");
  check_refused("0,1,slice_down,west.1/slice.1,5,a\n", "line 1", "found '0,1");
  check_refused("\n" + kHeader, "line 1", "found ''");
  check_row_refused("", "1 columns");
  check_row_refused("1,2,slice_down,west.1/slice.1,1", "5 columns");
  check_row_refused("1,2,slice_down,west.1/slice.1,1,a,", "7 columns");
  check_row_refused("1,2,slice_down,west.1/slice.1,1,a\r", "carriage return");
  check_refused(kHeader + "1,2,slice_down,west.1/slice.1,1,a\n\n", "line 3", "1 columns");
}

TEST_CASE("numbers are finite and not negative") {
  for (const char* v : {"", "-1", "-0", "nan", "inf", "1e999", "1e-999", "0x1", " 1", "1 ", "+1"}) {
    check_row_refused(std::string(v) + ",2,slice_down,west.1/slice.1,1,a", "at_s is");
  }
  check_row_refused("1,-2,slice_down,west.1/slice.1,1,a", "for_s is '-2'");
  check_row_refused("1,inf,slice_down,west.1/slice.1,1,a", "for_s is 'inf'");
  check_row_refused("1,2,slice_down,west.1/slice.1,x,a", "factor is 'x'");
  CHECK(refusal(kHeader + "0,0,slice_down,west.1/slice.1,1,a\n") == "");
}

TEST_CASE("kinds, targets, and which kind hits what") {
  check_row_refused("1,2,slice,west.1/slice.1,1,a", "expected one of slice_down, island_down");
  check_row_refused("1,2,slice_down,west.3/slice.1,1,a", "'west.3/slice.1' is not in");
  check_row_refused("1,2,slice_down,west.1/slice.5,1,a", "expected slice.1 to slice.4");
  check_row_refused("1,2,slice_down,west.1/slice.0,1,a", "expected slice.1 to slice.4");
  check_row_refused("1,2,slice_down,west.1/slice.01,1,a", "expected slice.1 to slice.4");
  check_row_refused("1,2,slice_down,west.1/slice.,1,a", "expected slice.1 to slice.4");
  check_row_refused("1,2,slice_down,west.1/slice.99999999999,1,a", "expected slice.1");
  check_row_refused("1,2,slice_down,west.1/,1,a", "expected slice.1 to slice.4");
  check_row_refused("1,2,slice_down,west.1,1,a", "slice_down cannot hit 'west.1'");
  check_row_refused("1,2,slice_down,us-east5,1,a", "not in the scenario");
  check_row_refused("1,2,island_down,west.1/slice.1,1,a", "cannot hit");
  check_row_refused("1,2,region_dark,us-east5.up,1,a", "cannot hit");
  check_row_refused("1,2,region_dark,west.1,1,a", "not in the scenario");
  check_row_refused("1,2,link_cut,us-east5,1,a", "cannot hit");
  check_row_refused("1,2,link_cut,us-east5>us-east5,1,a", "not in the scenario");
  check_row_refused("1,2,link_cut,,1,a", "target ''");
  CHECK(refusal(kHeader + "1,2,link_cut,us-east5>us-west1,1,a\n") == "");
  CHECK(refusal(kHeader + "1,2,island_down,west.2,1,a\n") == "");
  check_row_refused("1,2,straggler,west.2/slice.4,2,a", "straggler cannot hit");
}

TEST_CASE("factors: where the kind has one, in its range, and one value at a date") {
  check_row_refused("1,2,slice_down,west.1/slice.1,0.5,a", "must be 1");
  check_row_refused("1,2,region_dark,us-east5,0,a", "must be 1");
  check_row_refused("1,2,link_slow,us-east5.up,0,a", "above 0 and at most 1");
  check_row_refused("1,2,link_slow,us-east5.up,1.5,a", "above 0 and at most 1");
  check_row_refused("1,2,straggler,west.1,0,a", "above 0");
  check_row_refused("1,2,straggler,west.1,,a", "straggler needs a factor");
  check_row_refused("1,2,storage_slow,storage,1,a", "storage_slow must be above 1");
  check_row_refused("1,2,storage_slow,west.1,2,a", "cannot hit 'west.1', expected storage");
  check_row_refused("1,2,slice_down,storage,1,a", "'storage' is not in");
  CHECK(refusal(kHeader + "1,2,slice_down,west.1/slice.1,,a\n") == "");

  const std::string slow = kHeader + "5,2,link_slow,us-east5.up,0.5,a\n";
  check_refused(slow + "5,2,link_cut,us-east5.up,1,a\n5,3,link_slow,us-east5.up,0.25,b\n", "line 4",
                "line 2");
  CHECK(refusal(slow + "5,3,link_slow,us-east5.up,0.5,b\n") == "");
  CHECK(refusal(slow + "6,3,link_slow,us-east5.up,0.25,b\n") == "");
  CHECK(refusal(slow + "5,3,link_slow,us-east5.down,0.25,b\n") == "");
  CHECK(refusal(slow + "5,3,straggler,west.1,2,b\n5,3,straggler,west.2,3,b\n") == "");
}

TEST_CASE("sources are names") {
  check_row_refused("1,2,slice_down,west.1/slice.1,1,", "source is ''");
  check_row_refused("1,2,slice_down,west.1/slice.1,1,a b", "source is 'a b'");
  check_row_refused("1,2,slice_down,west.1/slice.1,1,\"a", "a quote that is not closed");
  check_row_refused("1,2,slice_down,west.1/slice.1,1,\"a\"b", "text behind a quoted cell");
  CHECK(refusal(kHeader + "1,2,slice_down,west.1/slice.1,1,Chips_2.x-y\n") == "");
}

TEST_CASE("any bytes: refused or read, never worse, and the message stays short and printable") {
  Scenario scenario = west(2, 8);
  scenario.faults.push_back(random_fault(FaultKind::kSliceDown, all_slices(scenario), 1e4, 300.0));
  const std::string good = plan_to_csv(scenario, concrete_plan(scenario, 1, 1e4));
  RandomStream random(6, "damage", 0);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    const std::size_t at = kWritten.size() + random.below(text.size() - kWritten.size());
    if (random.below(2) == 0) {
      text[at] = static_cast<char>(random.below(256));
    } else {
      text.erase(at, 1 + random.below(30));
    }
    const std::string message = [&] {
      try {
        plan_from_csv(scenario, text, "p");
      } catch (const BadInput& error) {
        return std::string(error.what());
      }
      return std::string();
    }();
    refused += message.empty() ? 0 : 1;
    REQUIRE(message.size() < 250);
  }
  CHECK(refused > 1000);
}

TEST_CASE("what has no capacity of its own cannot be slowed") {
  Scenario scenario = west(1, 2);
  scenario.regions[1].up_Bps = kUnlimited;
  const std::string head = "at_s,for_s,kind,target,factor,source\n";
  CHECK_THROWS_AS(plan_from_csv(scenario, head + "5,3,link_slow,us-east5.up,0.5,b\n", "p"),
                  BadInput);
  CHECK_NOTHROW(plan_from_csv(scenario, head + "5,3,link_slow,us-east5.down,0.5,b\n", "p"));
}

TEST_CASE("columns in any order and unit; what is absent has its default") {
  const auto plan = plan_from_csv(west(2, 8),
                                  "kind,target,at_min,for_h,notice_min\n"
                                  "island_down,west.2,1,,2\n"
                                  "slice_down,west.1/slice.2,1.5,0.5,\n",
                                  "p", "trace");
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].at_s == 60.0);
  CHECK(plan[0].for_s == kNever);
  CHECK(plan[0].notice_s == 120.0);
  CHECK(plan[0].source == "trace");
  CHECK(plan[1].at_s == 90.0);
  CHECK(plan[1].for_s == 1800.0);
  CHECK(plan[1].notice_s == 0.0);
  CHECK(plan[1].factor == 1.0);
  const auto least = plan_from_csv(west(1, 2), "at_days,kind,target\n2,island_down,west.1\n", "p");
  REQUIRE(least.size() == 1);
  CHECK(least[0].at_s == 172800.0);
  CHECK(least[0].source == "plan");
}

TEST_CASE("lines in order of date; notice where chips go away") {
  check_refused(kHeader + "5,2,island_down,west.1,1,a\n4.5,2,island_down,west.2,1,a\n", "line 3",
                "trace out of order");
  CHECK(refusal(kHeader + "5,2,island_down,west.1,1,a\n5,2,island_down,west.2,1,a\n") == "");
  check_refused("at_s,kind,target,notice_s\n5,link_cut,us-east5.up,3\n", "line 2",
                "notice of link_cut must be 0");
  check_refused("at_s,kind,target,notice_s\n5,island_down,west.1,-3\n", "line 2",
                "notice_s is '-3'");
}
