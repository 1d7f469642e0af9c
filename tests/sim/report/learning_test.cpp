// Loss curves beside each other.
#include <cmath>

#include <doctest/doctest.h>

#include "sim/report/learning.hpp"
#include "tests/sim/report/support.hpp"

using namespace skerry;
using testing::record;
using testing::scenario;

namespace {

RunRecord run_of(const std::string& protocol, std::uint64_t seed, double end_s, double time_to_loss_s,
                  double tokens_to_loss) {
  RunRecord r = record(protocol, seed, 1.0);
  r.summary.simulated_s = end_s;
  if (time_to_loss_s > 0) {
    r.time_to_loss_s = time_to_loss_s;
    r.tokens_to_loss = tokens_to_loss;
  }
  return r;
}

// Base: 100 h, 4 → 2 in a line; the other: 10 h, 4 → 2.5; both read 1,000 tokens.
Results two_rows() {
  Results results;
  results.scenario = scenario({1, 2});
  for (const std::uint64_t seed : {1ULL, 2ULL}) {
    results.records.push_back(run_of("data_parallel", seed, 360000, 200000, 500));
    results.curves.push_back({{0, 0, 0, 4}, {360000, 1000, 10, 2}});
  }
  for (const std::uint64_t seed : {1ULL, 2ULL}) {
    const double better = seed == 1 ? 0.0 : 0.1;
    results.records.push_back(run_of("decoupled_diloco", seed, 36000, 20000, seed == 1 ? 500 : 250));
    results.curves.push_back({{0, 0, 0, 4}, {36000, 1000, 10, 2.5 - better}});
  }
  return results;
}

}  // namespace

TEST_CASE("a curve is linear between its points and flat outside") {
  const std::vector<LossPoint> curve{{0, 0, 0, 4}, {10, 100, 1, 3}, {30, 200, 2, 1}};
  CHECK(loss_at_date(curve, 5) == 3.5);
  CHECK(loss_at_date(curve, 20) == 2.0);
  CHECK(loss_at_date(curve, -1) == 4.0);
  CHECK(loss_at_date(curve, 31) == 1.0);
  CHECK(loss_at_tokens(curve, 150) == 2.0);
}

TEST_CASE("equal tokens, equal time, times sooner and token efficiency") {
  const Learning learning = learning_of(two_rows());
  CHECK(learning.first == "decoupled_diloco");
  CHECK(learning.mid_s == 36000);
  REQUIRE(learning.rows.size() == 2);
  const Learned& row = learning.rows[1];
  CHECK(row.trained == 2);
  CHECK(row.loss_final == doctest::Approx(2.45));
  // At equal tokens 2.5 − 2 and 2.4 − 2; at 36,000 s the base has 4 − 2/10 = 3.8.
  CHECK(row.final_difference.mean == doctest::Approx(0.45));
  CHECK(row.final_difference.n == 2);
  CHECK(row.time_difference.mean == doctest::Approx(2.45 - 3.8));
  CHECK(row.sooner.mean == doctest::Approx(10.0));
  CHECK(row.token_efficiency.mean == doctest::Approx(std::sqrt(1.0 * 2.0)));
}

TEST_CASE("what did not reach the target, diverged or was not trained gives no pair") {
  Results results = two_rows();
  results.records[2].time_to_loss_s.reset();
  results.records[2].tokens_to_loss.reset();
  CHECK(learning_of(results).rows[1].sooner.n == 1);
  results.records[3].summary.status = "diverged";
  const Learning learning = learning_of(results);
  CHECK(learning.rows[1].trained == 1);
  CHECK(learning.rows[1].sooner.n == 0);
  const std::string csv = learning_csv(results);
  CHECK(csv.find(",,,,0,,,,0\n") != std::string::npos);
  const auto commas = [](const std::string& text) { return std::count(text.begin(), text.end(), ','); };
  CHECK(commas(csv) == 3 * commas(csv.substr(0, csv.find('\n'))));
  results.curves.assign(4, {});
  CHECK(learning_of(results).rows.empty());
  CHECK(learning_lines(results).empty());
}

TEST_CASE("curves.csv holds every point") {
  const std::string csv = curves_csv(two_rows());
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 8);
  CHECK(csv.find("decoupled_diloco,2,36000,1000,10,2.4\n") != std::string::npos);
}
