// What names a point, and how many seeds a row needs.
#include <set>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/run/sweep_points.hpp"

using namespace skerry;

namespace {

const char* const kScenario = R"({
  "skerry": "scenario/1", "name": "one", "about": "first",
  "stop": {"simulated_h": 1},
  "regions": {"us-west1": {"port_gbps": 5}, "us-east5": {"port_gbps": 2}},
  "islands": {"west": {"region": "us-west1", "chips": 8, "step_s": 1},
              "east": {"region": "us-east5", "chips": 8, "step_s": 1}},
  "charged_model": {"parameters": 1e9, "tokens_per_learner_step": 1000},
  "protocols": {"data_parallel": {}, "diloco": {"sync_period_steps": 20}, "ideal": {}},
  "training": {"model": "quick", "seeds": 2, "warm_start_steps": 5}
})";

// A sweep over the port with changes to the text of its scenario.
Sweep study(const std::string& from = "", const std::string& to = "",
            const std::string& at = "/regions/us-west1/port_gbps",
            const std::string& values = "[1, 2]") {
  std::string scenario = kScenario;
  if (!from.empty()) {
    REQUIRE(scenario.find(from) != std::string::npos);
    scenario.replace(scenario.find(from), from.size(), to);
  }
  return load_sweep_text(R"({"skerry": "sweep/1", "seeds": 3, "scenario": )" + scenario +
                             R"(, "axes": {"x": {"at": ")" + at + R"(", "values": )" + values +
                             "}}}",
                         "s.sweep.json", ".", {});
}

// Ids of all points, row by row of the first combination.
std::vector<std::uint64_t> ids(const Sweep& sweep) {
  std::vector<std::uint64_t> out;
  for (const PointGroup& group : design_of(sweep).groups) {
    for (std::size_t i = 0; i < sweep.seeds.size(); ++i)
      out.push_back(point_id(group, sweep, i));
  }
  return out;
}

std::vector<SeedValue> seen(std::initializer_list<double> values) {
  std::vector<SeedValue> out;
  for (const double value : values)
    out.push_back({true, value});
  return out;
}

}  // namespace

TEST_CASE("an id is the same for what cannot change a number, and another for what can") {
  const std::vector<std::uint64_t> base = ids(study());
  CHECK(base.size() == 2 * 3 * 3);
  CHECK(std::set<std::uint64_t>(base.begin(), base.end()).size() == base.size());
  CHECK(ids(study("\"one\", \"about\": \"first\"", "\"two\", \"about\": \"second\"")) == base);
  CHECK(ids(study("\"simulated_h\": 1", "\"simulated_min\": 60")) == base);
  CHECK(ids(study("\"data_parallel\": {}", "\"data_parallel\": {\"buckets\": 64}")) == base);
  const std::vector<std::uint64_t> longer = ids(study("\"simulated_h\": 1", "\"simulated_h\": 2"));
  for (std::size_t i = 0; i < base.size(); ++i)
    CHECK(longer[i] != base[i]);
}

TEST_CASE("a row's id does not know the other rows") {
  const std::vector<std::uint64_t> base = ids(study());
  const std::vector<std::uint64_t> changed =
      ids(study("\"sync_period_steps\": 20", "\"sync_period_steps\": 10"));
  for (std::size_t i = 0; i < base.size(); ++i) {
    const bool is_diloco = i / 3 % 3 == 1;
    CHECK((changed[i] == base[i]) == !is_diloco);
  }
  const std::vector<std::uint64_t> fewer = ids(study(", \"ideal\": {}", ""));
  CHECK(fewer[0] == base[0]);
  CHECK(fewer[3] == base[3]);
  CHECK(fewer[6] == base[9]);
}

TEST_CASE("only trained seeds know /training; all of them share the tape") {
  const Sweep sweep = study("", "", "/training/inner/rate", "[0.001, 0.002]");
  const Design design = design_of(sweep);
  REQUIRE(design.groups.size() == 6);
  for (std::size_t row = 0; row < 3; ++row) {
    const PointGroup &a = design.groups[row], &b = design.groups[row + 3];
    CHECK(a.trained_seeds == (row == 2 ? 0 : 2));  // `ideal` never trains
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(tape_id(a, sweep, i) == tape_id(b, sweep, i));
      CHECK((point_id(a, sweep, i) != point_id(b, sweep, i)) == (row < 2 && i < 2));
    }
  }
}

TEST_CASE("a row whose baseline is skipped is paired where the baseline would be the same points") {
  // Axes: the port, which data_parallel feels, and the period of diloco, which it does not.
  const auto with_skip = [](const std::string& skip) {
    return load_sweep_text(
        R"({"skerry": "sweep/1", "seeds": 1, "scenario": )" + std::string(kScenario) +
            R"(, "axes": {"port": {"at": "/regions/us-west1/port_gbps", "values": [1, 2]},
                "H": {"at": "/protocols/diloco/sync_period_steps", "values": [10, 20]}},
                "skip": [)" +
            skip + "]}",
        "s.sweep.json", ".", {});
  };
  const auto baselines = [](const Sweep& sweep) {
    std::vector<int> out;  // of diloco, combination by combination
    for (const PointGroup& group : design_of(sweep).groups) {
      if (sweep.protocols[group.row] == "diloco")
        out.push_back(group.baseline ? int(*group.baseline) : -1);
    }
    return out;
  };
  CHECK(baselines(with_skip(R"({"protocol": "ideal"})")) == std::vector<int>{0, 1, 2, 3});
  CHECK(baselines(with_skip(R"({"protocol": "data_parallel", "H": 20})")) ==
        std::vector<int>{0, 0, 2, 2});
  // Never with the baseline at another port.
  CHECK(baselines(with_skip(R"({"protocol": "data_parallel", "port": 2})")) ==
        std::vector<int>{0, 1, -1, -1});
  CHECK(baselines(with_skip(R"({"protocol": "data_parallel"})")) ==
        std::vector<int>{-1, -1, -1, -1});
}

TEST_CASE("until looks at what its points have") {
  const auto until = [](const std::string& metric, const std::string& more) {
    return design_of(load_sweep_text(
        R"({"skerry": "sweep/1", "scenario": )" + std::string(kScenario) +
            R"(, "axes": {"x": {"at": "/regions/us-west1/port_gbps", "values": [1]}},
                "until": {"half_width": 1, "min_seeds": 2, "metric": ")" +
            metric + "\", " + more + "}}",
        "s.sweep.json", ".", {}));
  };
  // Two seeds are trained; `ideal` never is.
  CHECK_NOTHROW(until("loss.final", R"("max_seeds": 2, "protocol": "diloco")"));
  CHECK_THROWS_AS(until("loss.final", R"("max_seeds": 3, "protocol": "diloco")"), BadInput);
  CHECK_THROWS_AS(until("loss.final", R"("max_seeds": 2)"), BadInput);
  CHECK_THROWS_AS(until("time_to_loss_s", R"("max_seeds": 2)"), BadInput);
  CHECK_NOTHROW(until("goodput", R"("max_seeds": 3)"));
}

TEST_CASE("seeds are added until the interval is narrow") {
  const Until until{"goodput", 1.0, 3, 10, ""};
  CHECK(seeds_wanted(until, {}) == 3);
  CHECK(seeds_wanted(until, seen({1, 2})) == 3);
  // 1, 2, 3: deviation 1, half width 4.303 / sqrt(3) = 2.484: n (2.484 / 1)^2 = 18.5, at most 3
  // + 1.
  CHECK(seeds_wanted(until, seen({1, 2, 3})) == 4);
  // Half width 0.4303 / sqrt(3) = 0.248.
  CHECK(seeds_wanted(until, seen({1, 1.1, 1.2})) == 3);
  // Deviation 0.408, half width 3.182 x 0.408 / 2 = 0.65 at the second look.
  CHECK(seeds_wanted(until, seen({1, 2, 3, 2})) == 6);
  CHECK(seeds_wanted(until, seen({0, 9, 0, 9, 0, 9, 0, 9, 0, 9})) == 10);
  // Looks are at 3, 4, 6, 9, 10, whatever else is there already.
  CHECK(seeds_wanted(until, seen({1, 5, 9, 2, 4, 8, 1})) == 9);
  // Failed points and nulls are no values; without two there is no interval.
  std::vector<SeedValue> none(3, {true, std::nullopt});
  CHECK(seeds_wanted(until, none) == 4);
  none[2].there = false;
  CHECK(seeds_wanted(until, none) == 3);
}

TEST_CASE("shards") {
  CHECK(parse_shard("").count == 1);
  CHECK(parse_shard("2/5").index == 1);
  CHECK(parse_shard("5/5").count == 5);
  for (const char* bad : {"0/5", "6/5", "1", "1/", "/2", "1/2/3", "1 /2", "-1/2", "1/0"})
    CHECK_THROWS_AS(parse_shard(bad), BadInput);
}
