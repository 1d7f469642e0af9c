#include "sim/run/one_run.hpp"

#include <filesystem>
#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/protocols/protocols.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/record.hpp"
#include "sim/run/folder.hpp"
#include "sim/train/replay.hpp"

namespace skerry {

namespace {

constexpr double kSimulationShare = 0.2;  // of a trained run's time; for progress alone

Tape saved_tape(const Loaded& loaded, const OneRun& run, const Earlier& earlier) {
  Tape tape = read_tape(loaded.scenario, earlier.hash, run, earlier.tape);
  check_causality(loaded.scenario, run.protocol, tape, earlier.tape);
  tape.start.scenario_hash = loaded.hash8;
  return tape;
}

}  // namespace

std::vector<OneRun> runs_of(const Scenario& scenario) {
  std::vector<OneRun> runs;
  for (std::size_t p = 0; p < scenario.protocols.size(); ++p) {
    for (std::size_t s = 0; s < scenario.seeds.size(); ++s) {
      const bool trained = scenario.training.on && int(s) < scenario.training.seeds &&
                           scenario.protocols[p].preset != "ideal";
      runs.push_back({int(p), s, trained});
    }
  }
  return runs;
}

Tape read_tape(const Scenario& scenario, const std::string& hash, const OneRun& run,
               const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw BadInput(path, "",
                   "there is no tape: the run was made with --no-tape, run it again without");
  }
  Tape tape = tape_from_jsonl(read_text(path), path);
  const Protocol& row = scenario.protocols.at(std::size_t(run.protocol));
  const std::uint64_t seed = scenario.seeds.at(run.seed);
  if (tape.start.protocol != row.name || tape.start.seed != seed) {
    throw BadInput(path, "",
                   fmt::format("is the tape of {}, seed {}, and stands for {}, seed {}",
                               tape.start.protocol, tape.start.seed, row.name, seed));
  }
  if (tape.start.scenario_hash != hash) {
    throw BadInput(path, "",
                   fmt::format("is the tape of a run of scenario {}, and stands in a folder of {}",
                               tape.start.scenario_hash, hash));
  }
  check_tape_fits(tape, scenario, path);
  return tape;
}

std::string run_name(const Scenario& scenario, const OneRun& run) {
  return scenario.protocols.at(std::size_t(run.protocol)).name + "/seed-" +
         std::to_string(scenario.seeds.at(run.seed));
}

Played play(const Loaded& loaded, const OneRun& run, const Earlier& earlier, int threads,
            const std::function<void(const Tape&)>& simulated, const OnProgress& progress) {
  const Scenario& scenario = loaded.scenario;
  const double first = run.trained ? kSimulationShare : 1.0;
  Played out;
  out.tape = earlier.tape.empty()
                 ? simulate(scenario, run.protocol, scenario.seeds.at(run.seed), loaded.hash8,
                            [&](const HowFar& now) {
                              progress({first * now.share, now.simulated_s, {}});
                            })
                 : saved_tape(loaded, run, earlier);
  if (simulated) simulated(out.tape);
  try {
    out.record.summary = fold(scenario, scenario.protocols.at(std::size_t(run.protocol)), out.tape);
  } catch (const Bug& bug) {  // of a tape from a file, its facts are to blame
    if (earlier.tape.empty()) throw;
    const std::string what = bug.what();  // "file:line: broken invariant '…': detail"
    throw BadInput(earlier.tape, "",
                   "its facts do not add up: " + what.substr(what.find("': ") + 3));
  }
  out.record.warnings = scenario.warnings;
  if (run.trained) {
    ReplayOptions options;
    if (!earlier.tape.empty()) options.label = earlier.tape;
    if (std::filesystem::exists(earlier.snapshot)) {
      options.snapshot = read_text(earlier.snapshot);
      options.snapshot_label = earlier.snapshot;
    }
    TrainResult trained = replay(
        scenario, run.protocol, out.tape, threads,
        [&](const HowFar& now) {
          progress({first + (1 - first) * now.share, now.simulated_s, now.loss});
        },
        options);
    set_training(out.record, trained, scenario.protocols.at(std::size_t(run.protocol)));
    out.curve = std::move(trained.curve);
    out.rounds = std::move(trained.rounds);
    out.snapshot = std::move(trained.snapshot);
  }
  return out;
}

void play_one(const Loaded& loaded, const OneRun& run, const Earlier& earlier,
              const std::string& folder, int threads, bool keep_tape, const OnProgress& progress) {
  const auto keep = [&](const Tape& tape) {
    write_parts(folder + "/tape.jsonl", [&tape](const TapeSink& sink) { write_tape(tape, sink); });
  };
  const Played played =
      play(loaded, run, earlier, threads,
           keep_tape ? std::function<void(const Tape&)>(keep) : nullptr, progress);
  write_text(folder + "/outer_steps.csv", outer_steps_csv(played.tape, played.rounds));
  if (!played.snapshot.empty()) write_text(folder + "/snapshot.bin", played.snapshot);
  write_text(folder + "/loss.csv", loss_csv(played.curve));
  write_text(folder + "/summary.json", summary_to_json(played.record));
}

}  // namespace skerry
