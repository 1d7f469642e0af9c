#include "sim/run/export_command.hpp"

#include <filesystem>
#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/report/openmetrics.hpp"
#include "sim/report/tensorboard.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/one_run.hpp"
#include "sim/run/run_scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEvents = "events.out.tfevents.0.skerry";

void export_events(const Results& results, const std::string& out) {
  int files = 0, without_tape = 0;
  const std::vector<OneRun> runs = runs_of(results.scenario);  // in the order of the records
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (failed(results.records.at(i))) continue;
    const std::string name = run_name(results.scenario, runs[i]);
    std::vector<Scalar> scalars = scalars_of_curve(results.curves.at(i));
    const std::string source = results.folder + "/" + name + "/tape.jsonl";
    if (fs::exists(source)) {
      const Tape tape = read_tape(results.scenario, results.hash, runs[i], source);
      const Protocol& row = results.scenario.protocols.at(std::size_t(runs[i].protocol));
      const std::vector<Scalar> more = scalars_of_tape(results.scenario, row, tape);
      scalars.insert(scalars.end(), more.begin(), more.end());
    } else {
      without_tape += 1;
    }
    const std::string text = event_file(std::move(scalars));
    write_whole(out + "/" + name + "/" + kEvents, [&text](const TapeSink& sink) { sink(text); });
    files += 1;
  }
  fmt::print("{}: {} event file{}\n", out, files, files == 1 ? "" : "s");
  if (without_tape > 0) {
    fmt::print("left out: goodput and participants of {} runs without a tape\n", without_tape);
  }
}

}  // namespace

int export_command(const ExportCommand& options) {
  const bool events = options.format == "tensorboard";
  if (!options.out.empty() && fs::exists(options.out) && fs::is_directory(options.out) != events) {
    throw BadInput("--out", "",
                   options.out + (events ? " is no folder" : " is a folder, allowed a file"));
  }
  const Results results = read_results(options.run);
  if (events) {
    export_events(results, options.out.empty() ? options.run + "/tensorboard" : options.out);
    return 0;
  }
  const std::string text = openmetrics_text(results);
  if (options.out.empty()) {
    print(text);
  } else {
    write_whole(options.out, [&text](const TapeSink& sink) { sink(text); });
  }
  return 0;
}

}  // namespace skerry
