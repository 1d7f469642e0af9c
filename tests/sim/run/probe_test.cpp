// What the probe changes and how it judges.
#include "sim/run/probe.hpp"

#include <sstream>

#include <doctest/doctest.h>

using namespace skerry;

namespace {

ProbedRow row(const std::string& name, double tokens_per_s, double goodput, double hidden,
              double merged) {
  ProbedRow r;
  r.protocol = name;
  r.values = {tokens_per_s, goodput, hidden, merged, 1.0, 0.5};
  r.wan_bytes = 1e9;
  r.chance_hits = 3;
  return r;
}

}  // namespace

TEST_CASE("changes touch their numbers and nothing else") {
  Scenario s;
  s.regions = {{"a", 1e9, kUnlimited}, {"b", kUnlimited, kUnlimited}};
  s.links = {{0, 1, 0.1, 5e8}, {1, 0, 0.0, kUnlimited}};
  s.transport.class_cap_Bps = {kUnlimited, 3e8, kUnlimited};
  s.transport.control.reserved_Bps = 1e6;
  Fault drawn, scripted;
  drawn.scripted = false;
  drawn.gap.mean_s = 100;
  drawn.events_per_s_nominal = 0.5;
  scripted.at_s = 7;
  s.faults = {drawn, scripted};

  Scenario wide = s;
  CHECK(apply_change(wide, Change::kBandwidthDoubled));
  CHECK(wide.regions[0].up_Bps == 2e9);
  CHECK(wide.regions[0].down_Bps == kUnlimited);
  CHECK(wide.links[0].capacity_Bps == 1e9);
  CHECK(wide.links[0].latency_one_way_s == 0.1);
  CHECK(wide.transport.class_cap_Bps == std::array<double, 3>{kUnlimited, 6e8, kUnlimited});
  CHECK(wide.transport.control.reserved_Bps == 2e6);
  CHECK(wide.faults[0].gap.mean_s == 100);

  Scenario safe = s;
  CHECK(apply_change(safe, Change::kFailuresHalved));
  CHECK(safe.faults[0].gap.mean_s == 200);
  CHECK(safe.faults[0].events_per_s_nominal == 0.25);
  CHECK(safe.faults[1].at_s == 7);
  CHECK(safe.regions[0].up_Bps == 1e9);

  Scenario near = s;
  CHECK(apply_change(near, Change::kLatencyHalved));
  CHECK(near.links[0].latency_one_way_s == 0.05);
  CHECK(near.links[0].capacity_Bps == 5e8);

  Scenario bare;
  bare.regions = {{"a", kUnlimited, kUnlimited}};
  bare.faults = {scripted};
  for (const Change change :
       {Change::kBandwidthDoubled, Change::kFailuresHalved, Change::kLatencyHalved}) {
    CHECK_FALSE(apply_change(bare, change));
  }
}

TEST_CASE("more bandwidth must not cost tokens, hidden or merged shares") {
  const ProbedRow was = row("d", 1000, 0.9, 0.8, 0.7);
  const auto missed = [&was](const ProbedRow& is) {
    return misjudged(Change::kBandwidthDoubled, {was}, {is});
  };
  CHECK(missed(row("d", 996, 0.5, 0.796, 0.696)).empty());    // goodput is not asked here
  CHECK(missed(row("d", 994, 0.9, 0.8, 0.7)).size() == 1);    // 0.6 % fewer tokens
  CHECK(missed(row("d", 994, 0.9, 0.79, 0.69)).size() == 1);  // a point less of the shares is noise
  CHECK(missed(row("d", 994, 0.9, 0.77, 0.67)).size() == 3);
  const auto sentences = missed(row("d", 994, 0.9, 0.8, 0.7));
  CHECK(sentences.front() == "d: tokens_per_s fell from 1000 to 994, allowed down to 995");
}

TEST_CASE("something must move where bytes were sent or chance has hit") {
  const std::vector<ProbedRow> was = {row("d", 1000, 0.9, 0.8, 0.7), row("e", 10, 0.9, 0.8, 0.7)};
  for (const Change change : {Change::kBandwidthDoubled, Change::kFailuresHalved}) {
    const auto same = misjudged(change, was, was);
    REQUIRE(same.size() == 1);
    CHECK(same.front().starts_with("d, e: "));
    std::vector<ProbedRow> is = was;
    is[1].values[1] = 0.91;
    CHECK(misjudged(change, was, is).empty());
    is = was;
    is[1].values[5] = 0.25;  // of twice the bandwidth: half the load whatever happens
    CHECK(misjudged(change, was, is).empty() == (change == Change::kFailuresHalved));
  }
  CHECK(misjudged(Change::kLatencyHalved, was, was).empty());
  std::vector<ProbedRow> hidden = was;  // nothing waits for bytes
  for (ProbedRow& r : hidden)
    r.values[2] = 1;
  CHECK(misjudged(Change::kBandwidthDoubled, hidden, hidden).empty());
  std::vector<ProbedRow> capped = was;  // by a window
  for (ProbedRow& r : capped)
    r.tcp_capped = true;
  CHECK(misjudged(Change::kBandwidthDoubled, capped, capped).empty());
  std::vector<ProbedRow> quiet = was;
  for (ProbedRow& r : quiet)
    r.wan_bytes = r.chance_hits = 0;
  CHECK(misjudged(Change::kBandwidthDoubled, quiet, quiet).empty());
  CHECK(misjudged(Change::kFailuresHalved, quiet, quiet).empty());
}

TEST_CASE("what falls inside the tolerance or is not judged is named") {
  const ProbedRow was = row("d", 1000, 0.9, 0.8, 0.7);
  const auto named = [&was](Change change, const ProbedRow& is) {
    return wrong_ways(change, {was}, {is});
  };
  CHECK(named(Change::kBandwidthDoubled, row("d", 1001, 0.9, 0.8, 0.75)).empty());
  const auto small = named(Change::kBandwidthDoubled, row("d", 996, 0.5, 0.79, 0.7));
  REQUIRE(small.size() == 3);
  CHECK(small[0] == "d: tokens_per_s fell from 1000 to 996, inside the tolerance of 0.5 %");
  CHECK(small[1] == "d: hidden_share fell from 0.8 to 0.79, inside the tolerance of 0.02");
  CHECK(small[2] == "d: goodput fell from 0.9 to 0.5, which is not judged here");
  // What is missed is not named twice.
  CHECK(named(Change::kBandwidthDoubled, row("d", 900, 0.9, 0.8, 0.7)).empty());
  CHECK(named(Change::kFailuresHalved, row("d", 999, 0.9, 0.1, 0.7)).size() == 1);
  CHECK(named(Change::kSpeedDoubled, row("d", 2000, 0.1, 0.1, 0.1)).empty());
}

TEST_CASE("fewer failures must not cost goodput, shorter ways no tokens") {
  const ProbedRow was = row("d", 1000, 0.9, 0.8, 0.7);
  CHECK(misjudged(Change::kFailuresHalved, {was}, {row("d", 900, 0.896, 0.1, 0.1)}).empty());
  CHECK(misjudged(Change::kFailuresHalved, {was}, {row("d", 1000, 0.894, 0.8, 0.7)}).size() == 1);
  CHECK(misjudged(Change::kLatencyHalved, {was}, {row("d", 996, 0.1, 0.1, 0.1)}).empty());
  CHECK(misjudged(Change::kLatencyHalved, {was}, {row("d", 990, 0.9, 0.8, 0.7)}).size() == 1);
}

TEST_CASE("rows are means over seeds; scripted hits are not chance") {
  Scenario s;
  s.seeds = {1, 2};
  s.protocols.resize(1);
  s.protocols[0].name = "d";
  Fault cut;
  cut.at_s = 10;
  cut.targets = {{TargetKind::kLink, 0, 0}};
  s.faults = {cut};
  s.plan.resize(1);  // a planned line at 0 s
  std::vector<RunRecord> records(2);
  for (std::size_t i = 0; i < 2; ++i) {
    records[i].summary.protocol = "d";
    records[i].summary.status = "ok";
    records[i].summary.simulated_s = 100;
    records[i].summary.tokens_per_s = i == 0 ? 10 : 20;
    records[i].summary.faults.hit = i == 0 ? 2 : 5;
  }
  const auto rows = probed_rows(s, records);
  REQUIRE(rows.size() == 1);
  CHECK(*rows[0].values[0] == 15);
  CHECK_FALSE(rows[0].values[3].has_value());  // merged_share is null in both
  CHECK(rows[0].chance_hits == 3);             // (2 − 2) + (5 − 2)
}

TEST_CASE("the table fits and shows signs") {
  std::vector<ProbedRow> was = {row(std::string(40, 'n'), 1000, 0.9, 0.8, 0.7)};
  std::vector<ProbedRow> is = {row("n", 1105, 0.85, 0.8, 0.7)};
  was[0].values[3].reset();
  is[0].values[3].reset();
  const std::string text = probe_table(was, is);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    CHECK(line.size() <= 100);
  for (const char* part : {"+10.500 %", "-0.05000", " =", " -", "busiest_load"})
    CHECK(text.find(part) != std::string::npos);
}
