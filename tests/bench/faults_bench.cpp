// What failures cost the simulator: 2.4 million chips in 16 learners, 30 simulated days of 10 s steps, exchange
// and training off, against the same run without faults and against 150 thousand chips with as many fault
// events. Runs alternate, medians of five count, processor seconds; simulation and fold are counted.
//
//   faults_bench
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sim/measure/summary.hpp"
#include "sim/protocols/protocols.hpp"
#include "sim/scenario/load.hpp"

namespace {

using namespace skerry;

// `chip_years` between two failures of a chip; 0: no faults.
std::string text(const char* chips, const char* chip_years) {
  std::string faults;
  if (std::atof(chip_years) > 0) {
    faults = std::string(R"("faults":{"chips":{"kind":"slice_down","each":"chip","mean_between_years":)") +
             chip_years + R"(,"exposure":"stepping","away":{"mean_s":63}}},)"
                          R"("recovery":{"step_in_progress":"kept"},)";
  }
  return std::string(R"({"skerry":"scenario/1","stop":{"simulated_days":30},"regions":{"one":{}},)"
                     R"("islands":{"pod":{"region":"one","count":16,"slices_total":240,"step_s":10,)"
                     R"("chips_total":)") +
         chips + R"(}},"protocols":{"decoupled_diloco":{"exchange":"off"}},)" + faults +
         R"("training":false})";
}

struct Result {
  double seconds = 0, hits = 0;
};

// In a process of its own: SimGrid allows one engine.
Result play(const std::string& scenario_text) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const Scenario scenario = load_scenario_text(scenario_text, "bench", ".").scenario;
    const Tape tape = simulate(scenario, 0, 1, "hash", {});
    Result result;
    result.hits = fold(scenario, scenario.protocols[0], tape).faults.hit;
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    for (const timeval& t : {used.ru_utime, used.ru_stime}) {
      result.seconds += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    }
    std::_Exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  Result result;
  int status = 0;
  const bool whole = read(ends[0], &result, sizeof result) == sizeof result;
  waitpid(child, &status, 0);
  close(ends[0]);
  close(ends[1]);
  if (!whole || status != 0) std::exit(1);
  return result;
}

}  // namespace

int main() {
  const std::vector<std::string> texts{text("2.4e6", "1"), text("150000", "0.0625"), text("2.4e6", "0")};
  std::vector<std::vector<double>> seconds(texts.size());
  std::vector<double> hits(texts.size());
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Result result = play(texts[i]);
      seconds[i].push_back(result.seconds);
      hits[i] = result.hits;
    }
  }
  for (auto& values : seconds) std::sort(values.begin(), values.end());
  const double large = seconds[0][2], small = seconds[1][2], calm = seconds[2][2];
  std::printf("faults: %.0f of 2.4 million chips, %.0f of 150 thousand\n", hits[0], hits[1]);
  std::printf("2.4 million chips: %.2f s, without faults %.2f s: %.2f s more (asked: at most 2)\n", large,
              calm, large - calm);
  std::printf("over 150 thousand chips with as many events: %.3f (asked: 0.9 to 1.1)\n", large / small);
}
