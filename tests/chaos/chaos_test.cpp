// Whatever breaks, and whenever: a small run reaches its tokens (a deadlock would be thrown), its ledger
// closes and its bytes fit its ports (fold throws otherwise), no outer step is lost or taken twice, and no
// learner waits for ever. Every run is made from one line of JSON; a failing one prints it, to be kept in a
// file and given to `skerry run`.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <map>
#include <set>

#include "sim/base/random.hpp"
#include "sim/scenario/load.hpp"
#include "sim/train/plan.hpp"
#include "tests/sim/protocols/worlds.hpp"

using namespace worlds;

namespace {

// Presets, and what they send before their steps have ended.
const std::vector<std::string> kRows{
    "data_parallel", "data_parallel_elastic", "diloco", "streaming_diloco", "decoupled_diloco",
    R"(data_parallel_elastic "anatomy":"layers","channel":"shared")",
    R"(streaming_diloco "anatomy":"layers","fragmentation":"strided_layers","fragments":8)",
    R"(streaming_diloco "anatomy":"layers","channel":"shared","overlap_steps":0,"fragments":4)",
    R"(diloco "anatomy":"buckets","buckets":5)",
    R"(decoupled_diloco "anatomy":"layers")"};

// What can break, as JSON without its dates.
const std::vector<std::string> kBlows{
    R"("kind":"island_down","target":"a.1")",
    R"("kind":"island_down","target":"a.2")",
    R"("kind":"island_down","target":"b.1")",
    R"("kind":"island_down","target":"c.1")",
    R"("kind":"island_down","target":"b.1","notice_s":25)",
    R"("kind":"slice_down","target":"a.1/slice.1")",
    R"("kind":"slice_down","target":"b.1/slice.1")",
    R"("kind":"hang","target":"a.2/slice.2")",
    R"("kind":"hang","target":"c.1/slice.1")",
    R"("kind":"region_dark","target":"ra")",
    R"("kind":"region_dark","target":"rb")",
    R"("kind":"region_dark","target":"rc","notice_s":25)",
    R"("kind":"link_cut","target":"ra.up")",
    R"("kind":"link_cut","target":"rb.down")",
    R"("kind":"link_cut","target":"rc.up")",
    R"("kind":"link_cut","target":"ra>rb")",
    R"("kind":"partition","target":["rc"])",
    R"("kind":"partition","target":["ra"])",
    R"("kind":"link_slow","target":"rb.up","factor":0.2)",
    R"("kind":"shard_lost","target":"ra")",
    R"("kind":"shard_lost","target":"rb")",
    R"("kind":"shard_lost","target":"rc")",
    R"("kind":"corruption","target":"b.1")",
    R"("kind":"straggler","target":"a.1","factor":3)",
    R"("kind":"storage_slow","factor":5)",
};

std::string fault(std::size_t blow, double at_s, double for_s) {
  return fmt::format("{{{},\"at_s\":{},\"for_s\":{}}}", kBlows[blow], at_s, for_s);
}

// One line: three regions, four learners of which two share a region, 40 steps of each.
std::string scenario(const std::string& row, const std::string& faults) {
  const std::string preset = row.substr(0, row.find(' '));
  const std::string keys = preset == row ? "" : row.substr(preset.size() + 1);
  const bool diloco = preset.find("diloco") != std::string::npos;
  const std::string period = std::string(diloco ? R"("sync_period_steps":8)" : "") +
                             (diloco && !keys.empty() ? "," : "") + keys;
  const std::string saves =
      preset == "data_parallel" ? R"("checkpoint_every_s":60,)" : R"("checkpoint_every":"never",)";
  return R"({"skerry":"scenario/1","stop":{"tokens":1.6e5,"max_simulated_h":28},)"
         R"("regions":{"ra":{"port_gbps":1},"rb":{"port_gbps":1},"rc":{"port_gbps":1}},)"
         R"("links":{"ra<>rb":{"latency_one_way_ms":50},"ra<>rc":{"latency_one_way_ms":50},)"
         R"("rb<>rc":{"latency_one_way_ms":50}},)"
         R"("islands":{"a":{"region":"ra","count":2,"chips":8,"slices":2,"step_s":10},)"
         R"("b":{"region":"rb","count":1,"chips":8,"slices":2,"step_s":11},)"
         R"("c":{"region":"rc","count":1,"chips":8,"slices":2,"step_s":10}},)"
         R"("charged_model":{"parameters":5e8,)" + std::string(keys.empty() ? "" : R"("layers":12,)") +
         R"("tokens_per_learner_step":1000},)"
         R"("protocols":{")" + preset + R"(":{)" + period + R"(}},)"
         R"("recovery":{"detection_s":3,"hang_detection_s":30,"restart_s":20,"checkpoint_save_s":5,)" +
         saves + R"("checkpoint_restore_s":10},)" +
         (faults.empty() ? "" : "\"faults\":{" + faults + "},") + R"("training":false})";
}

// Of each fragment: every collection that closed has one outer step, but for those in flight at the end;
// clocks rise, in the syncer and in every life of a learner.
std::string outer_steps_are_whole(const Tape& tape, int most_in_flight) {
  std::set<std::pair<std::int64_t, int>> open, taken;
  std::map<std::pair<int, int>, std::int64_t> newest;   // by learner and fragment
  for (const Fact& any : tape.facts) {
    if (const auto* close = std::get_if<fact::Close>(&any)) {
      if (close->fragment >= 0) open.insert({close->clock, close->fragment});
    } else if (const auto* step = std::get_if<fact::OuterStep>(&any)) {
      if (!taken.insert({step->clock, step->fragment}).second) return "an outer step was taken twice";
      if (open.erase({step->clock, step->fragment}) != 1) return "an outer step without a collection";
    } else if (const auto* over = std::get_if<fact::Overwrite>(&any)) {
      std::int64_t& last = newest[{over->learner, over->fragment}];
      if (over->clock <= last) return "a learner took an older fragment";
      if (!taken.contains({over->clock, over->fragment})) return "a fragment before its outer step";
      last = over->clock;
    } else if (const auto* leave = std::get_if<fact::Leave>(&any)) {
      std::erase_if(newest, [&](const auto& entry) { return entry.first.first == leave->learner; });
    }
  }
  return std::ssize(open) <= most_in_flight ? "" : "an outer step was lost";
}

// A learner that has not ended a step for so long after all is repaired waits for ever.
constexpr double kPatience_s = 200;

std::string everybody_goes_on(const Tape& tape, double repaired_s) {
  if (tape.end.t < repaired_s + kPatience_s) return "";
  std::map<int, double> last;
  for (const fact::Steps& steps : facts<fact::Steps>(tape)) {
    last[steps.learner] = std::max(last[steps.learner], steps.t1);
  }
  for (int m = 0; m < 4; ++m) {
    if (last[m] < tape.end.t - kPatience_s) return fmt::format("learner {} waits for ever", m);
  }
  return "";
}

void survives(const std::string& row, const std::string& faults, double repaired_s) {
  const std::string line = scenario(row, faults);
  CAPTURE(line);
  try {
    const Scenario s = load_scenario_text(line, "chaos", ".").scenario;
    const Protocol& p = s.protocols[0];
    const Tape tape = simulate(s, 0, 1, "hash", {});
    const Summary summary = fold(s, p, tape);
    CHECK(tape.end.reason == "tokens");
    CHECK(summary.closure_chip_seconds < 1e-9);
    CHECK(lost(summary, Cause::kOther) <= 0.01 * summary.chip_seconds_total);
    const int in_steps = p.anatomy == Anatomy::kWholeStep ? 0 : 1;
    CHECK(outer_steps_are_whole(tape, std::max(1, p.overlap_steps + in_steps)) == "");
    if (p.family == Family::kDiloco) train::make_plan(s, tape, "chaos");   // throws when facts do not fit together
    CHECK(everybody_goes_on(tape, repaired_s) == "");
  } catch (const std::exception& error) {
    FAIL_CHECK(std::string(error.what()));
  }
}

// Dates of the facts of the calm run, the middles of its merges, and a moment after each.
std::vector<double> dates(const std::string& row) {
  const Scenario s = load_scenario_text(scenario(row, ""), "calm", ".").scenario;
  const Tape tape = simulate(s, 0, 1, "hash", {});
  std::set<double> found;
  const auto add = [&](double t) {
    if (t <= 30 || t >= 250) return;
    found.insert(t);
    found.insert(t + 0.01);
  };
  for (const Fact& any : tape.facts) {
    if (const auto* f = std::get_if<fact::Close>(&any)) add(f->t);
    if (const auto* f = std::get_if<fact::Pull>(&any)) add(f->t);
    if (const auto* f = std::get_if<fact::Merge>(&any)) add(f->t), add(0.5 * (f->began + f->t));
    if (const auto* f = std::get_if<fact::Overwrite>(&any)) add(f->t);
    if (const auto* f = std::get_if<fact::Reduce>(&any)) {
      for (int k = 0; k < 20; ++k) add(f->t0 + 1.37 * k);
    }
    if (const auto* f = std::get_if<fact::Save>(&any)) add(f->t);
  }
  return {found.begin(), found.end()};
}

// About `runs` of all pairs of a date and a blow, evenly.
void beat(const std::string& row, std::size_t runs) {
  const std::vector<double> all = dates(row);
  const std::size_t pairs = all.size() * kBlows.size();
  REQUIRE(pairs >= 300);
  for (std::size_t i = 0; i < runs; ++i) {
    const std::size_t pair = i * pairs / runs;
    const double at_s = all[pair / kBlows.size()];
    survives(row, "\"x\":" + fault(pair % kBlows.size(), at_s, 40), at_s + 70);
  }
}

void two_blows(const std::string& row, std::size_t a, double at_a, std::size_t b, double at_b,
               double for_s) {
  survives(row, "\"x\":" + fault(a, at_a, for_s) + ",\"y\":" + fault(b, at_b, for_s),
           std::max(at_a, at_b) + for_s + 30);
}

}  // namespace

TEST_CASE("data-parallel under every blow") { beat("data_parallel", 400); }
TEST_CASE("elastic data-parallel under every blow") { beat("data_parallel_elastic", 400); }
TEST_CASE("DiLoCo under every blow") { beat("diloco", 400); }
TEST_CASE("Streaming DiLoCo under every blow") { beat("streaming_diloco", 500); }
TEST_CASE("Decoupled DiLoCo under every blow") { beat("decoupled_diloco", 700); }

TEST_CASE("steps in pieces under every blow") {
  for (std::size_t i = 5; i < kRows.size(); ++i) beat(kRows[i], 300);
}

TEST_CASE("a thousand random pairs of blows") {
  RandomStream random(7, "chaos", 0);
  for (int i = 0; i < 1000; ++i) {
    const std::size_t a = random.below(kBlows.size()), b = random.below(kBlows.size());
    const double at_a = 30 + 200 * random.uniform(), at_b = 30 + 200 * random.uniform();
    two_blows(kRows[static_cast<std::size_t>(i) % kRows.size()], a, at_a, b, at_b,
              5 + 115 * random.uniform());
  }
}

// Hours: chaos_test --no-skip -tc='every*'
TEST_CASE("every blow at every date" * doctest::skip()) {
  for (const std::string& row  : kRows) beat(row, dates(row).size() * kBlows.size());
}

TEST_CASE("every pair of blows at many distances" * doctest::skip()) {
  for (const std::string& row  : kRows) {
    for (std::size_t a = 0; a < kBlows.size(); ++a) {
      for (std::size_t b = 0; b < kBlows.size(); ++b) {
        for (double gap_s = -60; gap_s <= 60; gap_s += 7.3) {
          two_blows(row, a, 125.3, b, 125.3 + gap_s, 45);
        }
      }
    }
  }
}
