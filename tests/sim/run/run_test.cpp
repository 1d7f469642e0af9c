#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cstdio>
#include <filesystem>
#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/report/manifest.hpp"
#include "sim/run/children.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/one_run.hpp"
#include "sim/run/run_scenario.hpp"

using namespace skerry;

namespace fs = std::filesystem;

namespace {

PoolOptions pool(int cores, int jobs) {
  PoolOptions options;
  options.cores = cores;
  options.jobs = jobs;
  return options;
}

class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "skerry-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Scratch() { fs::remove_all(path); }
  std::string path;
};

std::string manifest_of(const std::string& hash, bool complete) {
  Manifest m;
  m.hash = hash;
  m.complete = complete;
  return manifest_to_json(m);
}

}  // namespace

TEST_CASE("each kind of end of a child is a value, and the others go on") {
  const std::vector<ChildTask> tasks{{"ok"},    {"bad"},  {"stuck"}, {"bug"},
                                     {"crash"}, {"exit"}, {"ok too"}};
  const ChildBody body = [](std::size_t i, int, const OnProgress& progress) {
    progress({0.5, 0, {}});
    if (i == 1) throw BadInput("file", "/key", "no");
    if (i == 2) throw CannotGoOn("west.1 waits for ring");
    if (i == 3) {
      std::fputs("last words", stderr);
      std::fflush(stderr);
      throw Bug("broken\nin two lines");
    }
    if (i == 4) raise(SIGKILL);
    if (i == 5) _exit(77);
  };
  for (const int jobs : {1, 3}) {
    const auto results = run_children(tasks, body, pool(4, jobs));
    std::vector<int> codes;
    for (const ChildResult& result : results)
      codes.push_back(result.exit_code);
    CHECK(codes == std::vector<int>{0, 2, 3, 4, 4, 4, 0});
    CHECK(results[1].message == "file: /key: no");
    CHECK(results[2].message == "west.1 waits for ring");
    CHECK(results[3].message == "broken\nin two lines");
    CHECK(results[3].log == "last words");
    CHECK(results[4].message.starts_with("killed by signal 9"));
    CHECK(results[5].message == "ended with exit code 77");
  }
}

TEST_CASE("heavier tasks start first; progress is weighted, never falls and ends at 1") {
  Scratch scratch;
  const std::string order = scratch.path + "/order";
  std::vector<double> shares;
  PoolOptions options = pool(1, 1);
  options.progress = [&shares](const HowFar& now) { shares.push_back(now.share); };
  run_children(
      {{"light", 1}, {"heavy", 9}, {"light too", 1}},
      [&order](std::size_t i, int, const OnProgress&) {
        std::FILE* file = std::fopen(order.c_str(), "a");
        std::fprintf(file, "%zu", i);
        std::fclose(file);
      },
      options);
  CHECK(read_text(order) == "102");
  REQUIRE_FALSE(shares.empty());
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.back() == 1);
}

TEST_CASE("date and loss come through the pipe, and stay until there are newer ones") {
  std::vector<HowFar> told;
  PoolOptions options = pool(1, 1);
  options.progress = [&told](const HowFar& now) { told.push_back(now); };
  run_children(
      {{"one", 1}},
      [](std::size_t, int, const OnProgress& progress) {
        progress({0.25, 5400.5, {}});
        progress({0.5, 7200, 1.625});
      },
      options);
  REQUIRE(told.size() == 3);
  CHECK(told[0].simulated_s == 5400.5);
  CHECK_FALSE(told[0].loss.has_value());
  CHECK(told[1].share == 0.5);
  CHECK(told[1].loss == 1.625);
  CHECK(told[2].share == 1);
  CHECK(told[2].simulated_s == 7200);
}

TEST_CASE("threads: what is free, shared between those that may still start") {
  CHECK(threads_for(2, 2, 35) == 1);
  CHECK(threads_for(16, 16, 4) == 4);
  CHECK(threads_for(16, 16, 35) == 1);
  CHECK(threads_for(2, 2, 1) == 2);  // the only task gets all
  CHECK(threads_for(1, 1, 1) == 1);
  CHECK(threads_for(0, 1, 1) == 1);  // never none
}

TEST_CASE("signals, a second one too, kill the children and come out as Interrupted") {
  const pid_t parent = getpid();
  const ChildBody body = [parent](std::size_t, int, const OnProgress&) {
    kill(parent, SIGTERM);
    for (;;)
      pause();
  };
  int caught = 0;
  try {
    run_children({{"a"}, {"b"}}, body, pool(2, 2));
  } catch (const Interrupted& interrupted) {
    caught = interrupted.signal;
  }
  CHECK(caught == SIGTERM);
  CHECK(run_children(
            {{"a"}}, [](std::size_t, int, const auto&) {}, pool(1, 1))[0]
            .exit_code == 0);
}

TEST_CASE("a target is free, a run of this hash, or refused") {
  Scratch scratch;
  const std::string target = scratch.path + "/run";
  CHECK(standing_at(target, "aa") == Standing::kFree);
  fs::create_directory(target);
  CHECK(standing_at(target, "aa") == Standing::kFree);
  write_text(target + "/manifest.json", manifest_of("aa", true));
  CHECK(standing_at(target, "aa") == Standing::kComplete);
  CHECK_THROWS_AS(standing_at(target, "bb"), BadInput);
  write_text(target + "/manifest.json", manifest_of("aa", false));
  CHECK(standing_at(target, "aa") == Standing::kIncomplete);
  write_text(target + "/manifest.json", "{}");
  CHECK_THROWS_AS(standing_at(target, "aa"), BadInput);
  write_text(scratch.path + "/file", "x");
  CHECK_THROWS_AS(standing_at(scratch.path + "/file", "aa"), BadInput);
}

TEST_CASE("a temporary folder becomes its target by rename, or vanishes") {
  Scratch scratch;
  const std::string target = scratch.path + "/deep/run/";
  {
    TemporaryFolder folder(target);
    write_text(folder.path() + "/a/b", "x");
    CHECK_FALSE(fs::exists(target));
  }
  CHECK(fs::is_empty(scratch.path + "/deep"));
  for (const char* text : {"first", "second"}) {
    TemporaryFolder folder(target);
    write_text(folder.path() + "/value", text);
    write_text(folder.path() + "/manifest.json", manifest_of("aa", true));
    folder.publish("aa");
    CHECK(read_text(target + "value") == text);
  }
  CHECK(std::distance(fs::directory_iterator(scratch.path + "/deep"), {}) == 1);
  TemporaryFolder other(target);
  CHECK_THROWS_AS(other.publish("bb"), BadInput);
  CHECK(read_text(target + "value") == "second");
}

TEST_CASE("the first seeds are trained, the ideal row never") {
  Scenario s;
  s.seeds = {4, 5};
  s.protocols.resize(2);
  s.protocols[0].name = s.protocols[0].preset = "ideal";
  s.protocols[1].name = "d";
  s.training.on = true;
  s.training.seeds = 1;
  const auto runs = runs_of(s);
  REQUIRE(runs.size() == 4);
  CHECK(run_name(s, runs[3]) == "d/seed-5");
  std::vector<bool> trained;
  for (const OneRun& run : runs)
    trained.push_back(run.trained);
  CHECK(trained == std::vector<bool>{false, false, true, false});
}

TEST_CASE("the plan covers the cap, or what the tokens take at full strength") {
  Scenario s;
  s.stop.tokens = 1e9;
  s.charged.tokens_per_learner_step = 1e6;
  s.learners.resize(2);
  for (Learner& learner : s.learners)
    learner.step_s = 4;
  CHECK(plan_horizon_s(s) == doctest::Approx(2000));  // 1e9 / (2 × 1e6 / 4)
  s.stop.simulated_s = 50;                            // the cap
  CHECK(plan_horizon_s(s) == 50);
  s.stop.tokens.reset();
  s.stop.simulated_s = 5000;
  CHECK(plan_horizon_s(s) == 5000);
}

TEST_CASE("exit code: failures before claims") {
  Outcome outcome;
  CHECK(exit_code_of(outcome) == 0);
  outcome.results.scenario.expect.push_back({"p", "goodput", "", "", 1.0, {}, {}, 1e-6, "w"});
  outcome.results.scenario.seeds = {1};
  CHECK(exit_code_of(outcome) == 1);
  outcome.results.expect_applied = false;
  CHECK(exit_code_of(outcome) == 0);
  outcome.failures = {{"p/seed-1", 3, "m"}, {"p/seed-2", 4, "m"}};
  CHECK(exit_code_of(outcome) == 4);
}
