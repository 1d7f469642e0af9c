#include "sim/report/diff.hpp"

#include <doctest/doctest.h>

using namespace skerry;

namespace {

using Values = std::vector<std::pair<std::string, std::optional<double>>>;

KeptRun run(std::uint64_t seed, Values metrics) {
  return {"a", seed, "ok", std::move(metrics), "t"};
}

Numbers numbers(std::vector<KeptRun> runs) {
  Numbers out;
  out.label = "folder";
  out.scenario = "s";
  out.hash = "01234567";
  out.inputs = "{}";
  out.runs = std::move(runs);
  return out;
}

}  // namespace

TEST_CASE("inputs by pointer: changed, gone, new, in arrays, with odd names") {
  const auto changed =
      changed_inputs(R"({"a":1,"b":{"x/y":[1,2],"t":true},"gone":{"k":1},"same":[1],"list":[1]})",
                     R"({"a":2,"b":{"x/y":[1,3],"t":true},"same":[1],"list":[1,2],"new":"n"})");
  REQUIRE(changed.size() == 5);
  CHECK(changed[0].pointer == "/a");
  CHECK(changed[0].a == "1");
  CHECK(changed[0].b == "2");
  CHECK(changed[1].pointer == "/b/x~1y/1");
  CHECK(changed[2].pointer == "/gone");
  CHECK(changed[2].a == R"({"k":1})");
  CHECK(changed[2].b == "-");
  CHECK(changed[3].pointer == "/list");
  CHECK(changed[4].pointer == "/new");
  CHECK(changed[4].b == "\"n\"");
  CHECK(changed_inputs("{\"a\":1}", "{\"a\":1}").empty());
}

TEST_CASE("nothing differs between equal results, and it says so") {
  const Numbers a = numbers({run(1, {{"goodput", 0.5}, {"loss.final", {}}})});
  CHECK(diff_text(a, a) == "nothing differs\n");
}

TEST_CASE("differences are paired by seed, with the interval of the difference") {
  // b − a = 1, 2, 3 over seeds that lie far apart: mean 2, standard error 1/√3, t(2) = 4.302653:
  // 2 ± 4.302653 / √3 = 2 ± 2.484138. Relative to the mean of a, 200: 1 %.
  const Numbers a =
      numbers({run(1, {{"m", 100.0}}), run(2, {{"m", 200.0}}), run(3, {{"m", 300.0}})});
  const Numbers b =
      numbers({run(3, {{"m", 303.0}}), run(1, {{"m", 101.0}}), run(2, {{"m", 202.0}})});
  const auto rows = changed_rows(a, b);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].notes.empty());
  REQUIRE(rows[0].changed.size() == 1);
  const ChangedMetric& m = rows[0].changed[0];
  CHECK(m.a == 200);
  CHECK(m.b == 202);
  CHECK(m.difference.n == 3);
  CHECK(*m.difference.low == doctest::Approx(2 - 2.484138).epsilon(1e-6));
  CHECK(*m.difference.high == doctest::Approx(2 + 2.484138).epsilon(1e-6));
  CHECK(*m.relative == doctest::Approx(0.01));
  CHECK(diff_text(a, b).find("(n = 3)") != std::string::npos);
}

TEST_CASE("sorted by the size of the relative change, from zero first; one seed has no interval") {
  const Numbers a =
      numbers({run(1, {{"same", 7.0}, {"tenth", 10.0}, {"half", -2.0}, {"zero", 0.0}})});
  const Numbers b =
      numbers({run(1, {{"same", 7.0}, {"tenth", 9.0}, {"half", -1.0}, {"zero", 3.0}})});
  const auto rows = changed_rows(a, b);
  REQUIRE(rows.at(0).changed.size() == 3);
  CHECK(rows[0].changed[0].metric == "zero");
  CHECK_FALSE(rows[0].changed[0].relative);
  CHECK(rows[0].changed[1].metric == "half");
  CHECK(*rows[0].changed[1].relative == 0.5);  // up by 1 of |−2|
  CHECK(*rows[0].changed[2].relative == doctest::Approx(-0.1));
  CHECK_FALSE(rows[0].changed[2].difference.low);
  CHECK(diff_text(a, b).find("n = 1, no interval") != std::string::npos);
}

TEST_CASE("what has no pair is said: seeds, rows, metrics, nulls, status") {
  Numbers a = numbers({run(1, {{"m", 1.0}, {"old", 1.0}, {"t", {}}}), run(2, {{"m", 1.0}})});
  Numbers b = numbers({run(1, {{"m", 1.0}, {"new", 1.0}, {"t", 5.0}})});
  b.runs[0].status = "time_cap";
  b.runs.push_back({"other", 1, "ok", {}, ""});
  const auto rows = changed_rows(a, b);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].notes == std::vector<std::string>{"seed 1: status ok, time_cap", "seed 2 only in a",
                                                  "old only in a (1 of 1 seeds)",
                                                  "new only in b (1 of 1 seeds)"});
  REQUIRE(rows[0].changed.size() == 1);
  CHECK(rows[0].changed[0].null_in_a == 1);
  CHECK(rows[0].changed[0].difference.n == 0);
  CHECK(rows[1].notes == std::vector<std::string>{"only in b"});
  CHECK(diff_text(a, b).find("t: null on one side") != std::string::npos);
}

TEST_CASE("another tape with the same numbers is a difference") {
  const Numbers a = numbers({run(1, {{"m", 1.0}})});
  Numbers b = a;
  b.runs[0].tape = "u";
  CHECK(diff_text(a, b).find("another tape") != std::string::npos);
  b.runs[0].tape = "";  // a baseline keeps none
  CHECK(diff_text(a, b) == "nothing differs\n");
}

TEST_CASE("inputs that differ come first; lines fit") {
  Numbers a = numbers({run(1, {{"recoveries.inner_state_age_steps.mean", -1.23456789e300}})});
  Numbers b = numbers({run(1, {{"recoveries.inner_state_age_steps.mean", 9e-300}})});
  a.inputs = R"({"x":1})";
  b.inputs = R"({"x":2})";
  b.hash = "89abcdef";
  const std::string text = diff_text(a, b);
  CHECK(text.find("input /x: 1, 2") < text.find("recoveries"));
  a.inputs.clear();
  CHECK(diff_text(a, b).find("a baseline does not keep them") != std::string::npos);
  const std::string one =
      diff_text(numbers({run(1, {{"recoveries.inner_state_age_steps.mean", 1e9}}),
                         run(2, {{"recoveries.inner_state_age_steps.mean", 3e9}})}),
                numbers({run(1, {{"recoveries.inner_state_age_steps.mean", 9e11}}),
                         run(2, {{"recoveries.inner_state_age_steps.mean", 1.0}})}));
  for (std::size_t at = 0; at < one.size();) {
    const std::size_t end = one.find('\n', at);
    CHECK(end - at <= 100);
    at = end + 1;
  }
}
