// Reading a sweep: designs, ranges, places. What is refused stands in tests/cli/sweep_test.py.
#include "sim/scenario/sweep.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

Sweep read(const std::string& axes, const std::string& more = "",
           const std::vector<Setting>& settings = {}) {
  const std::string text = R"({"skerry": "sweep/1", "scenario": )" + base().dump() +
                           R"(, "axes": {)" + axes + "}" + more + "}";
  return load_sweep_text(text, "folder/s.sweep.json", "folder", settings);
}

std::vector<double> numbers(const SweepAxis& axis) {
  std::vector<double> out;
  for (const std::string& value : axis.values)
    out.push_back(Json::parse(value).get<double>());
  return out;
}

}  // namespace

TEST_CASE("ranges") {
  CHECK(numbers(read(R"("x": {"at": "/stop/tokens", "range": {"from": 1, "to": 2, "step": 0.3}})")
                    .axes[0]) == std::vector<double>{1, 1.3, 1.6, 1.9});
  CHECK(
      numbers(read(R"("x": {"at": "/stop/tokens", "range": {"from": 0.1, "to": 0.4, "step": 0.1}})")
                  .axes[0]) == std::vector<double>{0.1, 0.2, 0.3, 0.4});
  CHECK(numbers(read(R"("x": {"at": "/stop/tokens", "range": {"from": 1, "to": 9, "count": 5}})")
                    .axes[0]) == std::vector<double>{1, 3, 5, 7, 9});
  CHECK(numbers(
            read(R"("x": {"at": "/stop/tokens", "log_range": {"from": 1, "to": 1000, "count": 4}})")
                .axes[0]) == std::vector<double>{1, 10, 100, 1000});
  // Whole numbers where the key wants them: 1, 2.15, 4.64, 10.
  CHECK(
      numbers(
          read(
              R"("x": {"at": "/islands/east/count", "log_range": {"from": 1, "to": 10, "count": 4}})")
              .axes[0]) == std::vector<double>{1, 2, 5, 10});
}

TEST_CASE("'*' means every name of the scenario, and a list every entry of it") {
  const Sweep sweep =
      read(R"("x": {"at": ["/regions/*/port_gbps", "/islands/west/count"], "values": [1, 2]})");
  CHECK(sweep.axes[0].at == std::vector<std::string>{"/regions/us-west1/port_gbps",
                                                     "/regions/us-east5/port_gbps",
                                                     "/islands/west/count"});
  CHECK(sweep.combinations[1].settings.size() == 3);
  const Loaded loaded = load_combination(sweep, sweep.combinations[1], {}, {7}, false);
  CHECK(loaded.scenario.learners.size() == 3);
  CHECK(loaded.scenario.regions[0].up_Bps == 2e9 / 8);
  CHECK(loaded.scenario.seeds == std::vector<std::uint64_t>{7});
}

TEST_CASE("grid: the first axis changes slowest; skip takes rows out") {
  const Sweep sweep = read(
      R"("a": {"at": "/stop/tokens", "values": [1e9, 2e9]}, "b": {"at": "/islands/east/count", "values": [1, 2, 3]})",
      R"(, "skip": [{"protocol": "data_parallel", "b": [2, 3.0]}, {"a": 2e9, "b": 3}])");
  REQUIRE(sweep.combinations.size() == 6);
  CHECK(sweep.combinations[1].values == std::vector<std::string>{"1000000000.0", "2"});
  std::string skipped;
  for (const Combination& one : sweep.combinations) {
    for (const bool is : one.skipped)
      skipped += is ? 'x' : '.';
    skipped += ' ';
  }
  CHECK(skipped == ".. x. x. .. x. xx ");
}

TEST_CASE("a random design of more draws starts with the same ones, inside the ranges") {
  const std::string axes =
      R"("a": {"at": "/stop/tokens", "log_range": {"from": 1e8, "to": 1e10}}, "b": {"at": "/islands/east/count", "range": {"from": 1, "to": 3}}, "c": {"at": "/transport", "values": ["fluid"]})";
  const Sweep few = read(axes, R"(, "design": {"random": 5, "seed": 3})");
  const Sweep many = read(axes, R"(, "design": {"random": 200, "seed": 3})");
  REQUIRE(few.combinations.size() == 5);
  std::array<int, 3> counts{};
  int low_decade = 0;
  for (std::size_t i = 0; i < many.combinations.size(); ++i) {
    if (i < 5) CHECK(few.combinations[i].values == many.combinations[i].values);
    const double a = Json::parse(many.combinations[i].values[0]).get<double>();
    CHECK(a >= 1e8);
    CHECK(a <= 1e10);
    low_decade += a < 1e9 ? 1 : 0;
    counts.at(Json::parse(many.combinations[i].values[1]).get<std::size_t>() - 1) += 1;
  }
  // Half of 200 below 1e9, deviation 7; a third each of 1, 2, 3, deviation 6.7: four of them.
  CHECK(std::abs(low_decade - 100) < 28);
  for (const int count : counts)
    CHECK(std::abs(count - 66.7) < 27);
  CHECK(read(axes, R"(, "design": {"random": 5, "seed": 4})").combinations[0].values !=
        few.combinations[0].values);
}

TEST_CASE("a setting that meets an axis by another way is refused") {
  const std::string axes =
      R"("a": {"at": "/stop/simulated_h", "values": [1, 2]}, "b": {"at": "/islands/*/count", "values": [1, 2]})";
  for (const char* pointer : {"/stop/simulated_h", "/stop/simulated_min", "/islands/west/count"})
    CHECK_THROWS_AS(read(axes, "", {{pointer, "3"}}), BadInput);
  CHECK_THROWS_AS(read(axes, "", {{"/stop", R"({"tokens": 1e9})"}}), BadInput);
  CHECK_THROWS_AS(read(axes, R"(, "seeds": 2)", {{"/seeds", "3"}}), BadInput);
  CHECK(read(axes, "", {{"/seeds", "3"}}).seeds.size() == 3);
  CHECK_NOTHROW(read(axes, "", {{"/islands/west/step_s", "3"}}));
}

TEST_CASE("the table names every axis, whatever the file says") {
  const std::string axes =
      R"("a": {"at": "/stop/tokens", "values": [1e9, 2e9]}, "b": {"at": "/islands/east/count", "values": [1, 2]})";
  CHECK(read(axes).table.rows == std::vector<std::string>{"protocol", "a"});
  CHECK(read(axes).table.columns == "b");
  const SweepTable table = read(axes, R"(, "table": {"rows": ["b"], "cells": ["uptime"]})").table;
  CHECK(table.rows == std::vector<std::string>{"b", "protocol", "a"});
  CHECK(table.columns.empty());
  CHECK(table.cells == std::vector<std::string>{"uptime"});
}

TEST_CASE("name, seeds, baseline, settings, and the copy reads as the file did") {
  const std::string axes = R"("a": {"at": "/stop/tokens", "values": [1e9, 2e9]})";
  const Sweep sweep = read(axes, R"(, "seeds": [4, 2])", {{"/islands/west/count", "1"}});
  CHECK(sweep.name == "s");
  CHECK(sweep.seeds == std::vector<std::uint64_t>{4, 2});
  CHECK(sweep.baseline == "data_parallel");
  CHECK(load_combination(sweep, sweep.combinations[0], {}, {4}, false).scenario.learners.size() ==
        2);
  const Sweep again = load_sweep_text(sweep.resolved_json, "s.sweep.json", "folder", {});
  CHECK(again.resolved_json == sweep.resolved_json);
  CHECK(again.combinations.size() == sweep.combinations.size());
  CHECK(read(axes).seeds == std::vector<std::uint64_t>{1});
  const Sweep until =
      read(axes, R"(, "until": {"metric": "goodput", "half_width": 0.1, "max_seeds": 4})");
  CHECK(until.seeds == std::vector<std::uint64_t>{1, 2, 3, 4});
  CHECK(until.until->min_seeds == 3);
}
