// Closed forms against published numbers and against step by step replays of what they sum up.
#include "sim/cost/anatomy.hpp"
#include "sim/cost/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "sim/cost/cost.hpp"

using namespace skerry;

namespace {

constexpr double kHour = 3600.0;

// Bucket by bucket, as the data-parallel protocol sends them.
double step_by_buckets(double step_s, double backward, int n, double bucket_s, double lead_s) {
  double wire_free = 0.0;
  for (int k = 1; k <= n; ++k) {
    const double ready = step_s * (1.0 - backward) + step_s * backward * k / n;
    wire_free = std::max(wire_free, ready + lead_s) + bucket_s;
  }
  return wire_free;
}

// Of one byte each.
std::vector<Piece> buckets(double backward, int n) {
  Protocol row;
  row.family = Family::kDataParallel;
  row.anatomy = Anatomy::kBuckets;
  row.buckets = n;
  row.backward_share = backward;
  row.wire.bits_per_parameter = 8.0;
  ChargedModel model;
  model.parameters = n;
  return exchange_pieces(model, row).front();
}

}  // namespace

TEST_CASE("a data-parallel step is the replay of its buckets") {
  RandomStream random(3, "tests/bounds", 0);
  for (int i = 0; i < 200; ++i) {
    const double step_s = 0.1 + 10.0 * random.uniform();
    const double backward = random.uniform();
    const int n = 1 + static_cast<int>(random.below(100));
    const double bucket_s = 2.0 * step_s / n * random.uniform();
    const double lead_s = random.uniform();
    CHECK(step_s + late_s(buckets(backward, n), {}, step_s, 0, {lead_s, 0.0, bucket_s}) ==
          doctest::Approx(step_by_buckets(step_s, backward, n, bucket_s, lead_s)).epsilon(1e-12));
  }
}

TEST_CASE("a data-parallel step follows the law of the published table") {
  // 5e9 parameters at 16 bits = 80 Gbit, 8 sites: rho = 2 x 7/8 = 1.75, V = 140 Gbit; T = 1 s.
  // CU 95 %: 140 / (1/0.95 - 1/3 - 2/192) = 197.5 Gbit/s (printed: 198).
  const auto step_s = [](double gbps) {
    return 1.0 + late_s(buckets(2.0 / 3.0, 64), {}, 1.0, 0, {0.0, 0.0, 140.0 / 64.0 / gbps});
  };
  const double law = 140.0 / (1.0 / 0.95 - 1.0 / 3.0 - 2.0 / 192.0);
  CHECK(step_s(law) == doctest::Approx(1.0 / 0.95).epsilon(1e-12));
  CHECK(law == doctest::Approx(197.5).epsilon(1e-3));
  // CU 99.9 %: the last bucket, 140/64 Gbit in T (1/0.999 - 1) = 1.001 ms.
  CHECK(step_s(140.0 / 64.0 * 999.0) == doctest::Approx(1.0 / 0.999).epsilon(1e-9));
}

TEST_CASE("the shortest period of learners that wait") {
  // H = 24 steps of 1 s. One fragment at tau = 0: 24 + 10 s.
  CHECK(shortest_period_s(1.0, 24, 0, true, {10.0}, {10.0}, 10.0) == doctest::Approx(34.0));
  // Two fragments, 12 steps apart, tau = 2: each is 10 - 2 s late: 24 + 16.
  CHECK(shortest_period_s(1.0, 24, 2, true, {10.0, 10.0}, {8.0, 8.0}, 20.0) == doctest::Approx(40.0));
  // 24 fragments of 0.9 s hide, of 1.5 s take turns: 36 s on the wire.
  const std::vector<double> hidden(24, 0.0);
  CHECK(shortest_period_s(1.0, 24, 2, true, std::vector<double>(24, 0.9), hidden, 21.6) ==
        doctest::Approx(24.0));
  CHECK(shortest_period_s(1.0, 24, 2, true, std::vector<double>(24, 1.5), hidden, 30.0) ==
        doctest::Approx(36.0));
  // Several at once: only their bytes count, 30 s.
  CHECK(shortest_period_s(1.0, 24, 2, false, std::vector<double>(24, 1.5), hidden, 30.0) ==
        doctest::Approx(30.0));
}

TEST_CASE("downtime of a recovery, the published two points") {
  // H = 24: no downtime up to c = 6, as much as elastic data-parallel at c = 24.
  CHECK(decoupled_downtime_steps(6.0, 24) == 0.0);
  CHECK(decoupled_downtime_steps(6.5, 24) == 2.0);
  CHECK(decoupled_downtime_steps(24.0, 24) == elastic_downtime_steps(24.0));
  CHECK(elastic_downtime_steps(24.0) == 72.0);
  // Regular traffic c/H = 6/24 of the port: 18 / 0.75 = 24 = H steps, the limit.
  CHECK(recovery_steps(6.0, 6.0 / 24.0) == doctest::Approx(24.0).epsilon(1e-15));
  CHECK(recovery_steps(6.0, 1.0) == kNever);
  CHECK(recovery_steps(0.0, 2.0) == 0.0);
}

TEST_CASE("checkpoint advice: two published rows") {
  // Save 60 s, MTBF 3 h: sqrt(2 x 60 x 10,800) = 1,138.4 s, waste sqrt(120 / 10,800) = 10.54 %.
  const double young = young_interval_s(3.0 * kHour, 60.0);
  CHECK(young == doctest::Approx(1138.42).epsilon(1e-5));
  CHECK(checkpoint_waste(young, 60.0, 3.0 * kHour) ==
        doctest::Approx(std::sqrt(120.0 / 10800.0)).epsilon(1e-12));
  // Save 120 s, MTBF 2.77 h = 9,972 s: 1,547 s, 15.5 %.
  const double other = young_interval_s(2.77 * kHour, 120.0);
  CHECK(other == doctest::Approx(1547.0).epsilon(1e-4));
  CHECK(checkpoint_waste(other, 120.0, 2.77 * kHour) == doctest::Approx(0.15513).epsilon(1e-4));
  // Daly's first-order waste is a little above the least: Young's interval is where it is least.
  const double daly = daly_interval_s(3.0 * kHour, 60.0);
  CHECK(checkpoint_waste(daly, 60.0, 3.0 * kHour) > checkpoint_waste(young, 60.0, 3.0 * kHour));
}

TEST_CASE("stop-restart efficiency: the four rows of the renewal formula") {
  CHECK(stop_restart_efficiency(3.09 * kHour, 0.25 * kHour, 30.0, 600.0) ==
        doctest::Approx(0.8791).epsilon(1e-4));
  CHECK(stop_restart_efficiency(29.3 * kHour, 1.0 * kHour, 60.0, 900.0) ==
        doctest::Approx(0.9584).epsilon(1e-4));
  CHECK(stop_restart_efficiency(1.8 * kHour, 0.2 * kHour, 20.0, 600.0) ==
        doctest::Approx(0.8372).epsilon(1e-4));
  CHECK(stop_restart_efficiency(0.3 * kHour, 0.05 * kHour, 10.0, 600.0) ==
        doctest::Approx(0.4971).epsilon(1e-4));
}

TEST_CASE("stop-restart efficiency against drawn failures") {
  // Work w and save d together must pass without a failure; a failure costs R, which fails too.
  const double mtbf = 1000.0, work = 300.0, save = 20.0, restart = 100.0;
  RandomStream random(5, "tests/bounds", 0);
  double clock = 0.0, done = 0.0;
  for (int i = 0; i < 200000; ++i) {
    double needed = work + save;
    for (double life = mtbf * random.exponential(); life < needed;
         life = mtbf * random.exponential()) {
      clock += life;
      for (life = mtbf * random.exponential(); life < restart; life = mtbf * random.exponential())
        clock += life;
      clock += restart;
    }
    clock += needed;
    done += work;
  }
  CHECK(done / clock ==
        doctest::Approx(stop_restart_efficiency(mtbf, work, save, restart)).epsilon(0.005));
}

TEST_CASE("scavenging: the published times") {
  // Four learners do half of the work, then s more of their number join: 0.5 + 0.5 / (1 + s).
  for (const auto& [more, share] : std::vector<std::pair<double, double>>{
           {0.25, 0.900}, {0.5, 0.5 + 0.5 / 1.5}, {1.0, 0.750}, {3.0, 0.625}}) {
    const std::vector<Phase> phases = {{0.0, 4.0}, {500.0, 4.0 * (1.0 + more)}};
    CHECK(date_of_tokens(phases, 4000.0) == doctest::Approx(1000.0 * share).epsilon(1e-12));
    CHECK(tokens_by(phases, 1000.0 * share) == doctest::Approx(4000.0).epsilon(1e-12));
  }
  CHECK(date_of_tokens({{0.0, 0.0}}, 1.0) == kNever);
  CHECK(date_of_tokens({{10.0, 2.0}}, 4.0) == 12.0);
  CHECK(tokens_by({{10.0, 2.0}}, 9.0) == 0.0);
}
