#include "sim/run/timeline_command.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/report/timeline.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/one_run.hpp"
#include "sim/run/run_scenario.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

TimelineLevel level_of(const std::string& name) {
  for (const auto level : {TimelineLevel::kFaults, TimelineLevel::kSyncs, TimelineLevel::kSteps,
                           TimelineLevel::kTransfers}) {
    if (name == level_name(level)) return level;
  }
  throw BadInput("--level", "", "found '" + name + "', allowed faults, syncs, steps, transfers");
}

const Protocol& row_of(const Scenario& scenario, const std::string& name) {
  if (name.empty() && scenario.protocols.size() == 1) return scenario.protocols.front();
  std::vector<std::string> names;
  for (const Protocol& row : scenario.protocols) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw BadInput("--protocol", "",
                 (name.empty() ? std::string("the run has several rows") : "found '" + name + "'") +
                     ", allowed " + reader::join(names));
}

}  // namespace

int timeline_command(const TimelineCommand& options) {
  for (const auto& [name, value] :
       {std::pair{"--from", options.from_s}, {"--until", options.until_s}}) {
    if (!std::isnan(value)) continue;
    throw BadInput(name, "", "found nan, allowed a number of seconds of simulated time");
  }
  if (!(options.until_s > options.from_s)) {
    throw BadInput(
        "--until", "",
        fmt::format("found {:g}, allowed above --from = {:g}", options.until_s, options.from_s));
  }
  const Results results = read_results(options.run);
  const Protocol& row = row_of(results.scenario, options.protocol);
  const auto& seeds = results.scenario.seeds;
  const std::uint64_t seed = options.seed.value_or(seeds.front());
  const auto found = std::find(seeds.begin(), seeds.end(), seed);
  if (found == seeds.end())
    throw BadInput("--seed", "", fmt::format("the run has no seed {}", seed));
  const OneRun run{static_cast<int>(&row - results.scenario.protocols.data()),
                   static_cast<std::size_t>(found - seeds.begin())};
  const TimelineLevel level = level_of(options.level);
  const std::string place = options.run + "/" + run_name(results.scenario, run);
  const Tape tape = read_tape(results.scenario, results.hash, run, place + "/tape.jsonl");
  const std::string out = options.out.empty() ? place + "/timeline.json" : options.out;
  TimelineWritten written;
  write_whole(out, [&](const TapeSink& sink) {
    written = write_timeline(results.scenario, row, tape,
                             {level, options.from_s, options.until_s, kMostTimelineEvents}, sink);
  });
  fmt::print("{}: {} events, level {}\n", out, written.events, level_name(written.level));
  if (!written.left_out.empty()) fmt::print("left out: {}\n", written.left_out);
  if (!written.about.empty()) fmt::print("note: {}\n", written.about);
  fmt::print("open it in Perfetto (ui.perfetto.dev) or chrome://tracing\n");
  return 0;
}

}  // namespace skerry
