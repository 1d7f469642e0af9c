// The two forms of an estimate: the same names, lines that fit.
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "sim/report/estimate_text.hpp"
#include "tests/sim/report/support.hpp"

using namespace skerry;
using Json = nlohmann::json;

namespace {

// Two regions at 8 Gbit/s, 50 ms apart, with a fault and a warning.
Scenario linked() {
  Scenario s = testing::scenario({1});
  s.learners[0].group = "x";
  s.learners[1].group = "y";
  s.links = {{0, 1, 0.05, kUnlimited}, {1, 0, 0.05, kUnlimited}};
  Fault fault;
  fault.scripted = false;
  fault.targets = {{TargetKind::kSlice, 0, 0}};
  fault.events_per_s_nominal = 1e-4;
  s.faults = {fault};
  s.warnings = {"W07: one event"};
  return s;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the text fits 100 columns and has every name of the JSON") {
  Scenario s = linked();
  s.protocols[1].name = std::string(130, 'n');
  s.regions[0].name = std::string(70, 'r');
  const Estimate known = estimate(s);
  const std::string text = estimate_text(s, known);
  for (const std::string& line : lines_of(text)) {
    if (has(line, "nnnn")) continue;  // one word, wider than the page
    CHECK_MESSAGE(line.size() <= 100, line);
  }
  CHECK(text.back() == '\n');
  CHECK(has(text, "warning W07"));
  const Json tree = Json::parse(estimate_json(s, known));
  std::size_t names = 0;
  for (const auto& [name, row] : tree.at("rows").items()) {
    for (const auto& [section, cells] : row.items()) {
      if (section == "preset" || section == "ports") continue;
      CHECK(has(text, section + ":"));
      for (const auto& [key, value] : cells.items()) {
        CHECK_MESSAGE(has(text, key + " "), key);
        ++names;
      }
    }
  }
  CHECK(names > 50);
}

TEST_CASE("values of the JSON") {
  const Scenario s = linked();
  const Json tree = Json::parse(estimate_json(s, estimate(s)));
  CHECK(tree.at("skerry") == "estimate/1");
  CHECK(tree.at("data_parallel_row") == "data_parallel");
  // 12e9 x 2 B = 24 GB over 1e9 B/s, and two hops of 50 ms.
  const Json& row = tree.at("rows").at("data_parallel");
  CHECK(row.at("ideal").at("all_reduce_s").get<double>() == doctest::Approx(24.1));
  CHECK(row.at("ports").at("a.up").at("port_gbps").get<double>() == doctest::Approx(8.0));
  CHECK(row.at("ports").at("a.up").at("bytes_per_step").get<double>() == doctest::Approx(24e9));
  CHECK(row.at("checkpoint").at("mtbf_s").get<double>() == doctest::Approx(1e4));
  // 8 Gbit/s x 100 ms = 100 MB.
  CHECK(tree.at("links").at("a>b").at("bdp_bytes").get<double>() == doctest::Approx(1e8));
  CHECK(tree.at("memory").at("x").at("chips_per_slice") == 32);
  CHECK(tree.at("warnings").at(0) == "W07: one event");
}

TEST_CASE("a row's chips and bytes have a price an hour, or null") {
  Scenario s = testing::scenario({1});
  const auto money = [&s] {
    return Json::parse(estimate_json(s, estimate(s))).at("rows").at("decoupled_diloco").at("money");
  };
  CHECK(money().at("chips_usd_per_hour").is_null());
  for (Learner& learner : s.learners)
    learner.usd_per_chip_hour = 4.2;
  CHECK(money().at("chips_usd_per_hour") == doctest::Approx(64 * 4.2));  // 2 learners of 32 chips
  const double once = money().at("wan_usd_per_hour");
  CHECK(once > 0);
  s.prices.wan_usd_per_gib *= 3;
  CHECK(money().at("wan_usd_per_hour") == doctest::Approx(3 * once));
}

TEST_CASE("no limit is null, no meaning is absent") {
  Scenario s = linked();
  for (Region& region : s.regions)
    region.up_Bps = region.down_Bps = kUnlimited;
  s.learners[0].step_s = 1;  // decoupled: 1 + 1/7 steps/s, out of reach of a lock-step at 2/7
  const Json tree = Json::parse(estimate_json(s, estimate(s)));
  const Json& row = tree.at("rows").at("decoupled_diloco");
  CHECK(row.at("ports").at("a.up").at("port_gbps").is_null());
  CHECK(row.at("bounds").at("data_parallel_port_gbps").is_null());
  CHECK(tree.at("links").at("a>b").at("gbps").is_null());
  CHECK_FALSE(row.contains("checkpoint"));
  CHECK_FALSE(tree.at("links").at("a>b").contains("flow_cap_gbps"));
}

TEST_CASE("long lists are cut in the text and whole in the JSON") {
  Scenario s = linked();
  s.regions.clear();
  s.links.clear();
  s.learners.resize(1);
  for (int i = 0; i < 12; ++i) {
    s.regions.push_back({"r" + std::to_string(i), 1e9 + i, 2e9 + i});
    s.learners.push_back(s.learners.front());
    s.learners.back().region = i;
    for (int j = 0; j < 12; ++j) {
      if (i != j) s.links.push_back({i, j, 0.01, kUnlimited});
    }
  }
  s.learners.erase(s.learners.begin());
  for (Protocol& p : s.protocols) {
    p.learners.clear();
    for (int m = 0; m < 12; ++m)
      p.learners.push_back(m);
  }
  const Estimate known = estimate(s);
  CHECK(has(estimate_text(s, known), "16 more with --json"));  // 24 ways, 8 shown
  CHECK(has(estimate_text(s, known), "4 more with --json"));   // ring of 12 pairs
  const Json tree = Json::parse(estimate_json(s, known));
  CHECK(tree.at("rows").at("data_parallel").at("ports").size() == 24);
}
