#include <cmath>
#include <sstream>

#include <doctest/doctest.h>

#include "tests/sim/report/support.hpp"

using namespace skerry;
using testing::record;
using testing::trained;

namespace {

Results results_of(const Scenario& s, std::vector<RunRecord> records) {
  Results r;
  r.scenario = s;
  r.hash = "89abcdef";
  r.records = std::move(records);
  r.folder = "results/runs/pair-89abcdef";
  return r;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("rows: means, shares by cause, ratios paired by seed") {
  const Scenario s = testing::scenario({1, 2});
  // Ratios 2/1 and 8/1: geometric mean 4; a mean of the ratios would be 5.
  const auto rows =
      rows_of(s, {record("data_parallel", 1, 1), record("data_parallel", 2, 1),
                  record("decoupled_diloco", 2, 8), record("decoupled_diloco", 1, 2)});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].baseline);
  CHECK(rows[1].tokens_per_s == doctest::Approx(5));
  CHECK(rows[1].ratio.n == 2);
  CHECK(rows[1].ratio.mean == doctest::Approx(4));
  // log ratios ln 2, ln 8: deviation ln 4/√2, over √2 → ln 2; t(1) = 12.706: interval 4 ×
  // 2^±12.706.
  REQUIRE(rows[1].ratio.high);
  CHECK(*rows[1].ratio.high == doctest::Approx(4 * std::pow(2, 12.7062)).epsilon(1e-4));
  CHECK(rows[1].wan_share == doctest::Approx(0.20));
  CHECK(rows[1].wait_share == doctest::Approx(0.10));
  CHECK(rows[1].fault_share == doctest::Approx(0.10));
  CHECK(rows[1].goodput + 0.4 == doctest::Approx(1));
}

TEST_CASE("a failed run leaves the pairs, not the row") {
  const Scenario s = testing::scenario({1, 2});
  RunRecord gone = record("data_parallel", 2, 1e9);
  gone.summary.status = "failed";
  const auto rows =
      rows_of(s, {record("data_parallel", 1, 2), gone, record("decoupled_diloco", 1, 6),
                  record("decoupled_diloco", 2, 60)});
  CHECK(rows[0].failed == 1);
  CHECK(rows[0].seeds == 1);
  CHECK(rows[1].seeds == 2);
  CHECK(rows[1].ratio.n == 1);
  CHECK(rows[1].ratio.mean == doctest::Approx(3));
}

TEST_CASE("time to loss: first point at or below 1.05 x the baseline's final loss, else null") {
  Scenario s = testing::scenario({1});
  s.training.on = true;
  std::vector<RunRecord> records{trained(record("data_parallel", 1, 1), 2.0),
                                 trained(record("decoupled_diloco", 1, 1), 2.2)};
  // Target 1.05 × 2.0 = 2.1: the baseline is there at 20 s, the other never.
  set_times_to_loss(
      s, {{{0, 0, 0, 3}, {20, 5, 5, 2.05}, {30, 9, 9, 2.0}}, {{0, 0, 0, 3}, {30, 9, 9, 2.2}}},
      records);
  CHECK(records[0].target_loss == doctest::Approx(2.1));
  CHECK(records[0].time_to_loss_s == 20.0);
  CHECK(records[0].tokens_to_loss == 5.0);
  CHECK(records[1].target_loss == doctest::Approx(2.1));
  CHECK_FALSE(records[1].time_to_loss_s);
  CHECK(holds(terminal_table(results_of(s, records)), "decoupled_diloco not reached by 1.0"));
  s.training.target_loss = 2.2;
  set_times_to_loss(s, {{{20, 5, 5, 2.0}}, {{30, 9, 9, 2.2}}}, records);
  CHECK(records[1].time_to_loss_s == 30.0);
}

TEST_CASE("expect: bounds, ratios, null is missed, changed scenarios are not judged") {
  Scenario s = testing::scenario({1, 2});
  const std::vector<RunRecord> records{record("data_parallel", 1, 1), record("data_parallel", 2, 1),
                                       record("decoupled_diloco", 1, 2),
                                       record("decoupled_diloco", 2, 8)};
  const auto add = [&s](const char* metric, const char* ratio_to, std::optional<double> min,
                        std::optional<double> max, std::optional<double> equal) {
    s.expect.push_back(
        {"decoupled_diloco", metric, ratio_to, "", min, max, equal, 1e-6, "arithmetic"});
  };
  add("tokens_per_s", "", 4.9, 5.1, {});              // mean 5
  add("tokens_per_s", "data_parallel", {}, {}, 4.0);  // geometric mean
  add("tokens_per_s", "data_parallel", {}, {}, 4.00001);
  add("tokens_per_s", "", 5.1, {}, {});
  add("hidden_share", "", {}, 1.0, {});  // null
  add("wings", "", {}, 1.0, {});
  add("loss.final", "", {}, 1.0, {});  // not trained
  const auto judged = judge(s, records, true);
  const std::vector<Verdict> wanted{Verdict::kMet,       Verdict::kMet,    Verdict::kMissed,
                                    Verdict::kMissed,    Verdict::kMissed, Verdict::kMissed,
                                    Verdict::kNotApplied};
  REQUIRE(judged.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO(i, " ", judged_line(judged[i]));
    CHECK(judged[i].verdict == wanted[i]);
  }
  CHECK(holds(judged_line(judged[3]), "why: arithmetic"));
  for (const Judged& j : judge(s, records, false))
    CHECK(j.verdict == Verdict::kNotApplied);
  s.expect.resize(1);
  s.expect[0].minus = "data_parallel";
  s.expect[0].max = 4.1;
  s.expect[0].min = 3.9;  // mean of 2 − 1 and 8 − 1
  CHECK(judge(s, records, true)[0].verdict == Verdict::kMet);
}

TEST_CASE("a missing run misses the claim instead of shrinking the mean") {
  Scenario s = testing::scenario({1, 2});
  s.expect.push_back({"decoupled_diloco", "goodput", "", "", 0.0, {}, {}, 1e-6, "w"});
  CHECK(judge(s, {record("decoupled_diloco", 1, 2)}, true)[0].verdict == Verdict::kMissed);
}

TEST_CASE("the terminal table fits 100 columns and says what it must") {
  Scenario s = testing::scenario({1});
  s.training.on = true;
  s.training.corpus_label = "kjv";
  s.protocols[0].name = "a_name_that_is_longer_than_its_column";
  s.warnings = {"W07: " + std::string(60, 'w') + " " + std::string(60, 'v')};
  s.calibrated_keys = {"/devices/v5p/mfu", "/recovery/slice_down_s"};
  RunRecord capped = trained(record(s.protocols[0].name, 1, 73e3), 1.561);
  capped.summary.status = "time_cap";
  capped.summary.wan = {1e12, "b.up", 0.9};
  const RunRecord decoupled = trained(record("decoupled_diloco", 1, 2580e3), 1.607);
  Results r = results_of(s, {capped, decoupled});
  const std::string table = terminal_table(r);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);)
    CHECK(line.size() <= 100);
  CHECK(holds(table, "2,580"));
  CHECK(holds(table, "35.3"));  // 2580 / 73
  CHECK(holds(table, " 20.0*"));
  CHECK(holds(table, "wan% is 0 by rule"));
  CHECK(holds(table, "n = 1, no interval"));
  CHECK(holds(table, "+0.046"));                     // 1.607 − 1.561
  CHECK(holds(table, "by: decoupled_diloco 24.0"));  // H = 24
  CHECK(holds(table, "1 of 1 runs stopped by the time cap at 1.0 h with 26.3 % of the tokens"));
  CHECK(holds(table, "busiest port: b.up, 90.0 % full"));
  CHECK(holds(table, "all checks closed"));
  CHECK(holds(table, "/devices/v5p/mfu"));
  CHECK(holds(table, "warning W07"));
  // A claim's line and its arithmetic are broken too.
  r.scenario.expect.push_back({"decoupled_diloco",
                               "goodput",
                               "",
                               "",
                               1.5,
                               {},
                               {},
                               1e-6,
                               std::string(60, 'a') + " " + std::string(60, 'b')});
  std::istringstream more(terminal_table(r));
  for (std::string line; std::getline(more, line);)
    CHECK(line.size() <= 100);
  r.records[1].summary.chip_seconds_lost[std::size_t(Cause::kOther)] = 3;
  CHECK(holds(terminal_table(r), "FLAGGED: decoupled_diloco seed 1: 3.0 %"));
}

TEST_CASE("control messages that starved are counted over the seeds and named") {
  Scenario s = testing::scenario({1, 2});
  s.transport.control = {.rate = ControlRate::kShared, .bytes = 2048.0, .timeout_s = 2.0};
  std::vector<RunRecord> records;
  for (const std::uint64_t seed : std::vector<std::uint64_t>{1, 2}) {
    records.push_back(record(s.protocols[0].name, seed, 1e3));
    records.push_back(record("decoupled_diloco", seed, 1e3));
    records.back().summary.controls = {{"us-west1>us-central1", 1700, 6}, {"a>b", 9, 0}};
  }
  const std::string table = terminal_table(results_of(s, records));
  CHECK(holds(table, "control messages of 2,048 bytes among the flows"));
  CHECK(holds(table, "control messages starved, timed out after 2 s:"));
  CHECK(holds(table, "12 of 3,400 on us-west1>us-central1 (decoupled_diloco)"));
  CHECK_FALSE(holds(table, "a>b"));
  for (RunRecord& one : records)
    one.summary.controls.clear();
  CHECK_FALSE(holds(terminal_table(results_of(s, records)), "starved"));
}

TEST_CASE("the fault plan is counted against its nominal rate") {
  Scenario s = testing::scenario({1, 2});
  Fault chips;
  chips.name = "chips";
  chips.scripted = false;
  chips.events_per_s_nominal = 2.0 / 3600;
  s.faults = {chips};
  Results r = results_of(s, {record("data_parallel", 1, 1), record("data_parallel", 2, 1)});
  // Two seeds of one hour at two an hour: four expected; the file has three lines, one scripted.
  r.plan = count_plan(s, r.records, "seed,at_s,source\n1,5,chips\n1,6,dark\n2,7,chips\n");
  CHECK(r.plan["chips"].planned == 2);
  CHECK(r.plan["chips"].expected == doctest::Approx(4));
  CHECK(r.plan["dark"].planned == 1);
  CHECK(holds(terminal_table(r), "chips 2 against 4.00 at the nominal rate"));
}

TEST_CASE("a comparison keeps what a resolved scenario does not know") {
  Scenario s = testing::scenario({1});
  s.warnings = {"W01: x"};
  s.calibrated_keys = {"/a"};
  Results r = results_of(s, {record("data_parallel", 1, 1), record("decoupled_diloco", 1, 3)});
  r.expect_applied = false;
  const StoredComparison stored = comparison_from_json(comparison_json(r), "c");
  CHECK(stored.scenario == "pair");
  CHECK(stored.hash == "89abcdef");
  CHECK_FALSE(stored.expect_applied);
  CHECK(stored.warnings == s.warnings);
  CHECK(stored.calibrated_keys == s.calibrated_keys);
  CHECK(holds(comparison_json(r), "n = 1, no interval"));
}

namespace {

// 64 chips at 9 USD a chip-hour, all allocated for the hour: 576 USD.
RunRecord paid(RunRecord r, double lost_usd) {
  Summary::Cost& cost = r.summary.cost.emplace();
  cost.chips_usd = 576;
  cost.wan_usd = 24;
  cost.lost_usd[std::size_t(Cause::kExposedCommunication)] = lost_usd;
  cost.productive_usd = 576 - lost_usd;
  r.summary.cost_usd_per_1e9_tokens = 1e9 * 600 / r.summary.tokens;
  r.summary.energy_kwh = 12;
  return r;
}

}  // namespace

TEST_CASE("money stands under the rows: cost, ratio at equal tokens, waste by cause") {
  Scenario s = testing::scenario({1});
  for (Learner& learner : s.learners) {
    learner.usd_per_chip_hour = 9;
    learner.power_w = 200;
    learner.idle_power_share = 0.5;
  }
  // The same money for four times the tokens: a quarter at equal tokens.
  const Results r = results_of(
      s, {paid(record("data_parallel", 1, 1e3), 300), paid(record("decoupled_diloco", 1, 4e3), 0)});
  const std::string table = terminal_table(r);
  CHECK(holds(table, "money: on-demand prices, 0.02 USD a GiB that leaves a region"));
  CHECK(holds(table, "600    base"));
  CHECK(holds(table, "600   0.250         n = 1"));
  // 300 of 600 and 24 of 600
  CHECK(holds(table, "data_parallel exposed_communication 50.0  wide_area 4.0;"));
  CHECK(holds(table, "decoupled_diloco wide_area 4.0\n"));
  CHECK_FALSE(holds(table, "no usd_per_chip_hour"));
  const std::vector<Row> rows = rows_of(s, r.records);
  CHECK(rows[1].cost_ratio.mean == doctest::Approx(0.25));
  CHECK(rows[0].wasted_cost_usd == 300.0);
  CHECK(holds(comparison_json(r), "\"cost_usd\": 600.0"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);)
    CHECK(line.size() <= 100);
}

TEST_CASE("an island without a price gives a dash and one note, never a number") {
  Scenario s = testing::scenario({1});
  s.learners[0].group = "x";
  s.learners[1].group = "y";
  for (Learner& learner : s.learners) {
    learner.power_w = 200;
    learner.idle_power_share = 0.5;
  }
  s.learners[0].usd_per_chip_hour = 9;
  RunRecord known = record("data_parallel", 1, 1e3);
  known.summary.energy_kwh = 12e3;
  Results r = results_of(s, {known, record("decoupled_diloco", 1, 4e3)});
  std::string table = terminal_table(r);
  CHECK(holds(table, "no usd_per_chip_hour for island y: the cost of its rows is not known"));
  CHECK(holds(table, "data_parallel                 -       -"));
  CHECK(holds(table, "12.0"));  // MWh
  CHECK(holds(comparison_json(r), "\"cost_usd\": null"));
  r.scenario.prices.pricing = Pricing::kSpot;
  CHECK(holds(terminal_table(r), "no usd_per_chip_hour_spot for islands x, y:"));
}

TEST_CASE("cost to loss: chips up to that date, and the wide area's share") {
  Scenario s = testing::scenario({1});
  s.training.on = true;
  s.training.target_loss = 2.1;
  for (Learner& learner : s.learners)
    learner.usd_per_chip_hour = 9;
  std::vector<RunRecord> records{paid(trained(record("data_parallel", 1, 1), 2.0), 0),
                                 paid(trained(record("decoupled_diloco", 1, 1), 2.2), 0)};
  set_times_to_loss(s, {{{900, 5, 5, 2.05}, {3600, 9, 9, 2.0}}, {{3600, 9, 9, 2.2}}}, records);
  CHECK(*records[0].cost_to_loss_usd == doctest::Approx(144 + 6));  // 576 / 4 and 24 / 4
  CHECK_FALSE(records[1].cost_to_loss_usd);
  const std::string table = terminal_table(results_of(s, records));
  CHECK(holds(table, "to loss"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);)
    CHECK(line.size() <= 100);
  s.expect.push_back({"decoupled_diloco", "cost_to_loss_usd", "", "", {}, 1.0, {}, 1e-6, "w"});
  CHECK(holds(judged_line(judge(s, records, true)[0]), "not reached, or a chip without a price"));
}
