#include "sim/report/compare.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/sim/report/support.hpp"

using namespace skerry;

namespace {

KeptRun run(const std::string& row, std::uint64_t seed, double goodput, double hits) {
  return {row, seed, "ok", {{"goodput", goodput}, {"faults.hit", hits}, {"loss.final", {}}}, ""};
}

Numbers baseline() {
  Numbers out;
  out.label = "base.json";
  out.schema = "baseline/1";
  out.scenario = "pair";
  out.hash = "01234567";
  out.seeds = {1, 2};
  out.runs = {run("a", 1, 0.5, 3), run("a", 2, 0.25, 4)};
  return out;
}

std::string shown(const Compared& compared) {
  const std::string text = compared_text(compared);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    CHECK(end - at <= 100);
    at = end + 1;
  }
  return text;
}

}  // namespace

TEST_CASE("equal numbers are inside and nothing moved") {
  const Compared same = compare_numbers(baseline(), baseline(), {});
  CHECK(exit_code_of(same) == 0);
  CHECK(same.runs == 2);
  CHECK(same.values == 6);
  CHECK(shown(same) == "pair: 2 runs, 6 values: nothing moved\n");
}

TEST_CASE("counts are exact, simulated numbers relative 1e-9, losses relative 1e-6") {
  CHECK(default_tolerance("faults.hit").kind == ToleranceKind::kExact);
  CHECK(default_tolerance("faults.by_kind.hang").kind == ToleranceKind::kExact);
  CHECK(default_tolerance("learner_steps").kind == ToleranceKind::kExact);
  CHECK(tolerance_text(default_tolerance("goodput")) == "rel 1e-09");
  CHECK(tolerance_text(default_tolerance("loss.final")) == "rel 1e-06");
  CHECK(tolerance_text(default_tolerance("closure_bytes")) == "abs 1e-09");

  // 0.5 × (1 + 0.9e-9) is inside 1e-9 of the larger, 0.5 × (1 + 1.1e-9) is not.
  Numbers now = baseline();
  now.runs[0].metrics[0].second = 0.5 * (1 + 0.9e-9);
  Compared compared = compare_numbers(baseline(), now, {});
  CHECK(compared.moved.size() == 1);
  CHECK(exit_code_of(compared) == 0);
  now.runs[0].metrics[0].second = 0.5 * (1 + 1.1e-9);
  compared = compare_numbers(baseline(), now, {});
  CHECK(exit_code_of(compared) == 1);
  now = baseline();
  now.runs[1].metrics[1].second = 4 + 1e-12;  // a count
  compared = compare_numbers(baseline(), now, {});
  CHECK(outside_of(compared) == 1);
  CHECK(compared.moved[0].metric == "faults.hit");
}

TEST_CASE("a null against a number is outside whatever the tolerance") {
  Numbers now = baseline();
  now.runs[0].metrics[2].second = 2.5;
  const Tolerances loose{{"*", {ToleranceKind::kAbsolute, 1e9}}};
  const Compared compared = compare_numbers(baseline(), now, loose);
  CHECK(exit_code_of(compared) == 1);
  CHECK(shown(compared).find("null") != std::string::npos);
  now.runs[0].metrics[2].second = {};
  now.runs[0].status = "time_cap";
  CHECK(exit_code_of(compare_numbers(baseline(), now, loose)) == 1);
}

TEST_CASE("zero moves away under a relative tolerance and may under an absolute one") {
  Numbers before = baseline(), now = baseline();
  before.runs[0].metrics[0].second = 0.0;
  now.runs[0].metrics[0].second = 1e-12;
  CHECK(exit_code_of(compare_numbers(before, now, {})) == 1);
  CHECK(exit_code_of(
            compare_numbers(before, now, {{"goodput", {ToleranceKind::kAbsolute, 1e-12}}})) == 0);
}

TEST_CASE("tolerances: the command's before the baseline's, the first that fits, checked") {
  Numbers before = baseline(), now = baseline();
  now.runs[0].metrics[0].second = 0.55;  // 10 % off the larger is 0.055
  before.tolerances = {{"good*", {ToleranceKind::kRelative, 0.1}}};
  CHECK(exit_code_of(compare_numbers(before, now, {})) == 0);
  CHECK(exit_code_of(compare_numbers(before, now, {{"goodput", {}}})) == 1);
  CHECK(exit_code_of(compare_numbers(
            before, now, {{"goodput", {ToleranceKind::kAbsolute, 0.06}}, {"*", {}}})) == 0);
  CHECK_THROWS_AS(compare_numbers(before, now, {{"godput", {}}}), BadInput);
}

TEST_CASE("other inputs are not comparable, and no number is shown") {
  Numbers now = baseline();
  now.runs[0].metrics[0].second = 0.9;
  for (int change = 0; change < 3; ++change) {
    Numbers other = now;
    if (change == 0) other.seeds = {1, 3};
    if (change == 1) other.hash = "89abcdef";
    if (change == 2) other.scenario = "triple";
    const Compared compared = compare_numbers(baseline(), other, {});
    CHECK(exit_code_of(compared) == 2);
    CHECK(compared.differs.size() == 1);
    CHECK(compared.moved.empty());
  }
  Numbers before = baseline();
  before.inputs = R"({"stop":{"tokens":5},"x":1})";
  now.inputs = R"({"stop":{"tokens":6},"x":1})";
  now.hash = "89abcdef";
  const std::string text = shown(compare_numbers(before, now, {}));
  CHECK(text.find("/stop/tokens: 5 against 6") != std::string::npos);
}

TEST_CASE("a metric, a row or a seed on one side alone is not comparable") {
  Numbers now = baseline();
  now.runs[0].metrics.emplace_back("novel", 1.0);
  now.runs[1].metrics.emplace_back("novel", 2.0);
  Compared compared = compare_numbers(baseline(), now, {});
  CHECK(exit_code_of(compared) == 2);
  REQUIRE(compared.differs.size() == 1);
  CHECK(compared.differs[0] == "novel is only in the result (2 runs)");
  compared = compare_numbers(now, baseline(), {});
  CHECK(compared.differs.at(0) == "novel is only in the baseline (2 runs)");
  now = baseline();
  now.runs.pop_back();
  CHECK(compare_numbers(baseline(), now, {}).differs.at(0) == "a/seed-2 is only in the baseline");
  CHECK(compare_numbers(now, baseline(), {}).differs.at(0) == "a/seed-2 is only in the result");
}

TEST_CASE("a baseline comes back from its file as it was written") {
  Numbers before = baseline();
  before.runs[0].metrics[0].second = 1.0 / 3.0;
  before.runs[1].metrics[0].second = std::nextafter(0.1, 1.0);
  before.tolerances = {{"loss.*", {ToleranceKind::kRelative, 1e-3}},
                       {"faults.hit", {}},
                       {"goodput", {ToleranceKind::kAbsolute, 0.01}}};
  const std::string text = baseline_to_json(before);
  const Numbers back = baseline_from_json(text, "base.json");
  CHECK(baseline_to_json(back) == text);
  CHECK(back.runs[0].metrics[0].second == 1.0 / 3.0);
  CHECK(back.runs[1].metrics[0].second == std::nextafter(0.1, 1.0));
  CHECK(back.tolerances[2].second.size == 0.01);
  CHECK(compare_numbers(before, back, {}).moved.empty());
}

TEST_CASE("what is no baseline is refused with its place") {
  const auto refused = [](const std::string& text, const std::string& place) {
    try {
      baseline_from_json(text, "b.json");
    } catch (const BadInput& error) {
      return std::string(error.what()).find(place) != std::string::npos;
    }
    return false;
  };
  const std::string head =
      R"({"skerry":"baseline/1","scenario":"s","hash":"h","seeds":[1],"rows":{"a":)";
  CHECK(refused("", "b.json"));
  CHECK(refused("[]", "b.json"));
  CHECK(refused(R"({"skerry":"baseline/2"})", "/skerry"));
  CHECK(refused(R"({"skerry":"baseline/1"})", "b.json"));
  CHECK(refused(head + R"({"seed-2":{"status":"ok"}}}})", "/rows/a/seed-2"));
  CHECK(
      refused(head + R"({"seed-1":{"status":"ok","goodput":"high"}}}})", "/rows/a/seed-1/goodput"));
  CHECK(refused(head + R"({"seed-1":{"goodput":1}}}})", "/rows/a/seed-1"));
  CHECK(refused(head + R"(3}})", "/rows/a"));
  CHECK(refused(head + R"({}},"tolerance":{}})", "tolerances"));
  for (const char* bad : {"\"near\"", "{}", "{\"relative\":-1}", "{\"relative\":1,\"absolute\":1}",
                          "{\"about\":1}", "1", "{\"relative\":\"x\"}"}) {
    CHECK(refused(head + R"({}},"tolerances":{"goodput":)" + bad + "}}", "/tolerances/goodput"));
  }
}

TEST_CASE("summaries give numbers and nulls; rows per learner and fingerprints stay out") {
  Results results;
  results.scenario = testing::scenario({7});
  results.hash = "01234567";
  RunRecord record = testing::trained(testing::record("data_parallel", 7, 2.0), 0.5);
  record.summary.by_learner = {{"x.1", 32, 10, 1e7, 0.5, 0.25, 0.75}};
  record.summary.wires = {{"b.up", 1e12, 2e12}};
  record.summary.tape_fingerprint = "fedcba9876543210";
  results.records = {record};
  const std::string comparison = comparison_json(results);
  CHECK(runs_of_comparison(comparison, "c") ==
        std::vector<std::string>{"data_parallel/seed-7", "decoupled_diloco/seed-7"});
  const Numbers numbers = numbers_of_run(comparison, {summary_to_json(record)}, "{}", "f");
  CHECK(numbers.scenario == "pair");
  CHECK(numbers.hash == "01234567");
  CHECK(numbers.seeds == std::vector<std::uint64_t>{7});
  CHECK_THROWS_AS(numbers_of_run(comparison, {"{}"}, "{}", "f"), BadInput);
  CHECK_THROWS_AS(numbers_of_run("{}", {}, "{}", "f"), BadInput);
  CHECK_THROWS_AS(numbers_of_run(comparison, {}, "", "f"), BadInput);
  CHECK_THROWS_AS(runs_of_comparison("{}", "c"), BadInput);
  REQUIRE(numbers.runs.size() == 1);
  CHECK(numbers.runs[0].tape == "fedcba9876543210");
  bool goodput = false, nulls = false;
  for (const auto& [metric, value] : numbers.runs[0].metrics) {
    goodput = goodput || (metric == "goodput" && value == 0.6);
    nulls = nulls || (metric == "time_to_loss_s" && !value);
    for (const char* word : {"by_learner", "links", "fingerprint", "seed", "protocol"})
      CHECK(metric.find(word) == std::string::npos);
  }
  CHECK(goodput);
  CHECK(nulls);
  CHECK(baseline_to_json(numbers).find("fedcba") == std::string::npos);
}

TEST_CASE("of very many moves the first are shown and the rest counted") {
  Numbers before = baseline(), now = baseline();
  for (int i = 0; i < 500; ++i) {
    before.runs[0].metrics.emplace_back("m" + std::to_string(i), 1.0);
    now.runs[0].metrics.emplace_back("m" + std::to_string(i), 2.0);
  }
  const Compared compared = compare_numbers(before, now, {});
  CHECK(outside_of(compared) == 500);
  CHECK(shown(compared).find("... and 100 more that moved") != std::string::npos);
  CHECK(compared_junit({compared}).find("m499") != std::string::npos);
}

TEST_CASE("JUnit names what is outside, escaped") {
  Numbers now = baseline();
  now.runs[0].metrics[0].second = 0.75;
  const Compared moved = compare_numbers(baseline(), now, {});
  Compared odd;
  odd.name = "a<b>&\"c";
  const std::string text = compared_junit({moved, odd});
  CHECK(text.find("<testsuite name=\"pair\" tests=\"1\" failures=\"1\">") != std::string::npos);
  CHECK(text.find("name=\"pair/a/seed-1\"") != std::string::npos);
  CHECK(text.find("a&lt;b>&amp;&quot;c") != std::string::npos);
}

TEST_CASE("a sweep: points of its table, of each the last good line that is whole") {
  const std::string summary = summary_to_json(testing::record("d", 1, 2.0));
  const auto line = [&](const char* id, const char* chips, const char* status, bool whole) {
    std::string flat;
    for (const char c : summary)
      if (c != '\n') flat += c;
    const std::string text = std::string(R"({"id":"000000000000000)") + id + R"(","status":")" +
                             status + R"(","point":{"chips":)" + chips +
                             R"(},"protocol":"d","seed":1,"summary":)" +
                             (status == std::string("ok") ? flat : "null") + "}\n";
    return whole ? text : text.substr(0, text.size() / 2);
  };
  const std::string sweep = R"({"skerry":"sweep/1","about":"x","axes":{}})";
  const std::string manifest = R"({"skerry":"sweep-run/1","sweep":"study"})";
  // Point 1 stands in two combinations, 3 is damaged, 4 is of an earlier design.
  const std::string head = "id,chips,note,protocol,seed,status,goodput\n";
  const std::string table = head + "0000000000000002,32,\"a,\"\"b\"\"\",d,1,ok,1\n" +
                            "0000000000000001,64,x,d,1,ok,1\n0000000000000001,64,y,d,1,ok,1\n" +
                            "0000000000000003,16,x,d,1,ok,1\n";
  std::string holed = line("3", "16", "ok", true);
  holed[holed.size() / 2] = '\0';
  const std::string lines = line("1", "64", "failed", true) + line("2", "32", "ok", true) +
                            line("1", "64", "ok", true) + line("2", "32", "failed", true) + holed +
                            line("4", "8", "ok", true) + line("3", "16", "ok", false);
  const Numbers numbers = numbers_of_sweep(manifest, sweep, table, lines, "f");
  REQUIRE(numbers.runs.size() == 3);
  CHECK(numbers.runs[0].row == "chips=32 note=a,\"b\" d");
  CHECK(numbers.runs[1].row == "chips=64 note=x d");
  CHECK(numbers.runs[2].row == "chips=64 note=y d");
  for (const KeptRun& kept : numbers.runs)
    CHECK(kept.status == "ok");
  CHECK(numbers.seeds == std::vector<std::uint64_t>{1});
  CHECK(numbers.scenario == "study");
  const std::string retold = R"({"skerry":"sweep/1","about":"y","axes":{}})";
  CHECK(numbers_of_sweep(manifest, retold, head, "", "f").hash == numbers.hash);
  CHECK(numbers_of_sweep(manifest, sweep, head, lines, "f").runs.empty());
  for (const char* bad : {"", "no table\n", "id,protocol,seed,status\n1,d\n",
                          "id,protocol,seed,status\n0000000000000001,d,one,ok\n"})
    CHECK_THROWS_AS(numbers_of_sweep(manifest, sweep, bad, lines, "f"), BadInput);
  const char* const running = R"({"skerry":"sweep-run/1","sweep":"study","ended":null})";
  CHECK_THROWS_AS(numbers_of_sweep(running, sweep, table, lines, "f"), BadInput);
}
