#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/manifest.hpp"
#include "sim/report/number_text.hpp"
#include "sim/scenario/metrics.hpp"
#include "tests/sim/report/support.hpp"

using namespace skerry;

namespace {

RunRecord full_record() {
  RunRecord r = testing::trained(testing::record("decoupled_diloco", 7, 1.0 / 3.0), 0.1 + 0.2);
  r.summary.merged_share = 0.875;
  r.summary.wan = {1e12, "b.up", 0.5};
  r.summary.wires = {{"b.up", 1e12, 2e12}, {"a>b", 5, kUnlimited}};
  r.summary.controls = {{"a>b", 3400, 12}, {"b>a", 3400, 0}};
  r.summary.faults.planned = 3;
  r.summary.faults.hit = 2;
  r.summary.faults.by_kind = {{"slice_down", 3}};
  r.summary.by_learner = {{"x.1", 32, 10, 1e7, 0.5, 0.25, 0.75},
                          {"y.1", 32, 9, 9e6, 0.5, 0.25, {}}};
  r.summary.by_device = {{"v5p", 64, 19, 1.9e7, 0.5, 0.25, {}}};
  r.summary.tape_fingerprint = "fedcba9876543210";
  r.target_loss = 0.5;
  Summary::Cost& cost = r.summary.cost.emplace();
  cost.chips_usd = 100.1;
  cost.wan_usd = 1.0 / 3.0;
  cost.productive_usd = 60.3;
  cost.lost_usd[std::size_t(Cause::kDown)] = 39.8;
  r.summary.cost_spot_usd = 30.7;
  r.summary.cost_usd_per_1e9_tokens = 0.7;
  r.summary.energy_kwh = 12.1;
  r.summary.closure_cost = 1e-16;
  r.cost_to_loss_usd = 51.2;
  r.warnings = {"W07: one event"};
  return r;
}

}  // namespace

TEST_CASE("a summary that was read is written as the same bytes") {
  const std::string text = summary_to_json(full_record());
  CHECK(summary_to_json(summary_from_json(text, "s")) == text);
  const RunRecord untrained = testing::record("data_parallel", 1, 2);
  const std::string plain = summary_to_json(untrained);
  CHECK(summary_to_json(summary_from_json(plain, "s")) == plain);
  RunRecord gone = untrained;
  gone.summary.status = "failed";
  gone.failure = "west.1 waits for the ring";
  const RunRecord back = summary_from_json(summary_to_json(gone), "s");
  CHECK(failed(back));
  CHECK(back.failure == gone.failure);
}

TEST_CASE("what is not a summary is bad input") {
  for (const char* text : {"", "{", "[]", "{}", "{\"skerry\": \"summary/1\"}", "{\"skerry\": 1}"}) {
    CHECK_THROWS_AS(summary_from_json(text, "s"), BadInput);
  }
}

TEST_CASE("metrics are found by dotted paths, names with dots too") {
  const RunRecord r = full_record();
  CHECK(metric_of(r, "goodput").value == 0.6);
  CHECK(metric_of(r, "chip_seconds.lost.down").value == 10.0);
  CHECK(metric_of(r, "by_learner.x.1.steps").value == 10.0);
  CHECK(metric_of(r, "wan.links.a>b.bytes").value == 5.0);
  CHECK(metric_of(r, "faults.by_kind.link_cut").value == 0.0);
  CHECK(metric_of(r, "cost_usd").value == 100.1 + 1.0 / 3.0);
  CHECK(metric_of(r, "cost.lost_usd.down").value == 39.8);
  CHECK(metric_of(r, "wasted_cost_usd").value == 39.8);
  CHECK(metric_of(r, "wasted_chip_hours").value == 40.0 / 3600);
  CHECK(metric_of(r, "time_to_loss_s").found);
  CHECK_FALSE(metric_of(r, "time_to_loss_s").value);
  for (const char* path :
       {"", "good", "loss", "protocol", "goodput.x", "by_learner.z.1.steps", "loss."}) {
    CHECK_FALSE(metric_of(r, path).found);
  }
}

TEST_CASE("a cost that is not known is null in JSON and empty in CSV, never 0") {
  RunRecord r = testing::record("data_parallel", 1, 2);
  for (const char* path :
       {"cost_usd", "cost_spot_usd", "cost_usd_per_1e9_tokens", "wasted_cost_usd",
        "cost_to_loss_usd", "energy_kwh", "cost.chips_usd", "cost.lost_usd.down"}) {
    CAPTURE(path);
    CHECK(metric_of(r, path).found);
    CHECK_FALSE(metric_of(r, path).value);
    CHECK(is_known_metric(path));
    for (const auto& [name, text] : scalars_of(r))
      CHECK((name != path || text.empty()));
  }
}

TEST_CASE("a final loss that is not a number is null, never a number") {
  RunRecord r = testing::trained(testing::record("data_parallel", 1, 2),
                                 std::numeric_limits<double>::quiet_NaN());
  CHECK_FALSE(metric_of(r, "loss.final").value);
  CHECK(summary_to_json(r).find("nan") == std::string::npos);
}

TEST_CASE("a diverged run says so with the loss that was found, and has no final loss") {
  TrainResult result;
  result.diverged = true;
  result.curve = {{0, 0, 0, 2.5}};
  result.start = result.best = result.final = 2.5;
  result.not_finite = {10, 4000, 256, std::numeric_limits<double>::infinity()};
  RunRecord r = testing::record("data_parallel", 1, 2);
  set_training(r, result, Protocol{});
  CHECK(r.summary.status == "diverged");
  CHECK(metric_of(r, "loss.start").value == 2.5);
  CHECK_FALSE(metric_of(r, "loss.final").value);
  REQUIRE_FALSE(r.warnings.empty());
  CHECK(r.warnings.back() ==
        "W21: diverged: found a loss of infinity after 4000 tokens, allowed a finite one; a lower "
        "/training/inner/rate helps");
  result.curve.clear();
  set_training(r, result, Protocol{});
  CHECK_FALSE(metric_of(r, "loss.start").value);
}

TEST_CASE("few outer rounds and a loss above its start are warned of when training has ended") {
  Protocol row;
  row.name = "west";
  row.family = Family::kDiloco;
  TrainResult result;
  result.start = 3.0;
  result.final = 2.0;
  result.outer_rounds = 20.0416;
  const auto warnings = [&](std::vector<std::string> said) {
    RunRecord r = testing::record("west", 1, 2);
    r.warnings = std::move(said);
    set_training(r, result, row);
    return r.warnings;
  };
  const std::string short_run =
      "W35: /protocols/west: a short run, 20 outer rounds per fragment were merged; below 50 "
      "losses say little about the protocol";
  CHECK(warnings({}) == std::vector{short_run});
  const std::string other = "W35: /protocols/west2: a short run, about 9";
  CHECK(warnings({other}) == std::vector{other, short_run});
  const std::string before = "W35: /protocols/west: a short run, about 24";
  CHECK(warnings({before}) == std::vector{before});
  result.outer_rounds = 49.9999999999;  // 50, but for rounding
  CHECK(warnings({}).empty());
  result.final = 3.25;
  CHECK(warnings({}) == std::vector<std::string>{
                            "W41: west: training ended at a loss of 3.250, above the 3.000 it "
                            "began with: lower rates, or a longer run"});
  result.stopped = true;  // W37 says that instead
  result.curve = {{0, 0, 0, 3.25}};
  CHECK(warnings({}).size() == 1);
  CHECK(warnings({}).front().starts_with("W37"));
  result.stopped = false;
  result.final = 2.0;
  result.outer_rounds = 0;
  row.family = Family::kDataParallel;
  CHECK(warnings({}).empty());
}

TEST_CASE("bytes per token are shown where a token is not a byte") {
  TrainResult result;
  RunRecord r = testing::record("data_parallel", 1, 2);
  set_training(r, result, Protocol{});
  CHECK_FALSE(metric_of(r, "loss.bytes_per_token").found);
  result.bytes_per_token = 2.5;
  set_training(r, result, Protocol{});
  CHECK(metric_of(r, "loss.bytes_per_token").value == 2.5);
  const std::string text = summary_to_json(r);
  CHECK(summary_to_json(summary_from_json(text, "s")) == text);
}

TEST_CASE("the long table has one row a run, and a column for what any run has") {
  RunRecord gone = testing::record("data_parallel", 2, 0);
  gone.summary.status = "failed";
  gone.failure = "x";
  const std::string csv = table_csv({gone, full_record()}, "89abcdef");
  const std::string head = csv.substr(0, csv.find('\n'));
  CHECK(head.starts_with("hash,protocol,preset,seed,status,simulated_s,"));
  CHECK(head.find(",loss.final,") != std::string::npos);
  CHECK(csv.find("\n89abcdef,data_parallel,data_parallel,2,failed,,") != std::string::npos);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  std::size_t commas = std::size_t(std::count(head.begin(), head.end(), ','));
  CHECK(std::size_t(std::count(csv.begin(), csv.end(), ',')) == 3 * commas);
}

TEST_CASE("no text of a table is a formula to a spreadsheet, and numbers stay numbers") {
  for (const char* name : {"=1+1", "+a", "-a", "@a"})
    CHECK(text_cell(name) == "'" + std::string(name));
  CHECK(text_cell("=a,\"b\"") == "\"'=a,\"\"b\"\"\"");
  CHECK(text_cell("a-b").front() == 'a');
  CHECK(text_cell("").empty());
  RunRecord r = testing::record("-diloco", 1, -2.5);
  const std::string csv = table_csv({r}, "89abcdef");
  CHECK(csv.find("\n89abcdef,'-diloco,") != std::string::npos);
  CHECK(csv.find(",-2.5,") != std::string::npos);
  CHECK(csv.find(",'-2.5,") == std::string::npos);
}

TEST_CASE("loss curves come back from their file") {
  const std::vector<LossPoint> curve{{0, 0, 0, 5.5}, {1.0 / 3, 1e6, 256, 0.1}};
  const std::vector<LossPoint> back = loss_from_csv(loss_csv(curve), "loss.csv");
  REQUIRE(back.size() == 2);
  CHECK(back[1].simulated_s == 1.0 / 3);
  CHECK(back[1].tokens == 1e6);
  CHECK(back[1].trained_tokens == 256);
  CHECK(back[1].loss == 0.1);
  CHECK(loss_from_csv(loss_csv({}), "loss.csv").empty());
  CHECK_THROWS_AS(loss_from_csv("h\n1,2,x,4\n", "loss.csv"), BadInput);
}

TEST_CASE("outer steps: one row each, with what its collection and its merge said") {
  Tape tape;
  tape.add(fact::Close{10, 2, 0.5, 1, 3, 2});
  tape.add(fact::Weigh{1, 1, 1, 9.0, 2, 3});  // of a learner that the restarted round leaves out
  tape.add(fact::Abandon{11, 1, 3, true});
  tape.add(fact::Weigh{1, 1, 1, 3.0, 0, 3});
  tape.add(fact::Weigh{1, 1, 1, 1.0, 1, 3});
  tape.add(fact::Merge{16, 11, 1, 3, 2});
  tape.add(fact::OuterStep{16, 1, 3});
  // Taken 2 and 5 own steps after the pull; the third learner was away then.
  tape.add(fact::Overwrite{17, 1, 12, 10, 0, 3, true});
  tape.add(fact::Overwrite{18, 1, 13, 8, 1, 3, true});
  tape.add(fact::Overwrite{19, 1, 4, -1, 2, 3, false});
  tape.add(fact::Merge{26, 21, 2, 0, 0});
  tape.add(fact::OuterStep{26, 2, 0});
  const std::string header =
      "clock,fragment,participants,waited_s,grace_s,began_s,merged_s,stepped_s,"
      "smallest_weight_share,largest_weight_share,stale_steps,most_stale_steps,"
      "merged_norm,mean_norm,mean_cosine\n";
  const double none = std::nan("");
  CHECK(outer_steps_csv(tape, {}) == header +
                                         "1,3,2,2,0.5,11,16,16,0.25,0.75,3.5,5,,,\n"
                                         "2,0,0,0,0,21,26,26,,,,,,,\n");
  CHECK(outer_steps_csv(tape, {{1, 3, 1.5, 2.5, -0.125}}) ==
        header +
            "1,3,2,2,0.5,11,16,16,0.25,0.75,3.5,5,1.5,2.5,-0.125\n"
            "2,0,0,0,0,21,26,26,,,,,,,\n");
  CHECK(outer_steps_csv(tape, {{1, 3, 1.5, 2.5, none}}).find(",1.5,2.5,\n") != std::string::npos);
}

TEST_CASE("a manifest says whose run it is and whether it is whole") {
  Manifest m;
  m.hash = "0badcafe";
  m.ended = "2024-05-01T00:00:00Z";
  m.complete = false;
  m.failures = {{"p/seed-1", 3, "\xff waits"}};  // a log may hold any bytes
  const StoredRun stored = manifest_from_json(manifest_to_json(m), "m");
  CHECK(stored.hash == "0badcafe");
  CHECK(stored.ended == m.ended);
  CHECK_FALSE(stored.complete);
  CHECK_THROWS_AS(manifest_from_json("{\"skerry\": \"summary/1\"}", "m"), BadInput);
}

TEST_CASE("numbers as text") {
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(std::numeric_limits<double>::infinity()) == "");
  CHECK(thousands(1234567.4) == "1,234,567");
  CHECK(thousands(-1234) == "-1,234");
  CHECK(thousands(999) == "999");
  CHECK(three_digits(1.555) == "1.55");  // 1.555 is just below in binary
  CHECK(three_digits(34.84) == "34.8");
  CHECK(three_digits(99.96) == "100");
  CHECK(three_digits(2611.4) == "2,611");
  CHECK(giga(12.12e9) == "12.12 G");
}
