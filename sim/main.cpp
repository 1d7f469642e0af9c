// The command line. Everything that decides anything is in sim/run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <system_error>

#include "sim/base/error.hpp"
#include "sim/run/children.hpp"
#include "sim/run/commands.hpp"
#include "sim/run/compare_command.hpp"
#include "sim/run/export_command.hpp"
#include "sim/run/solve.hpp"
#include "sim/run/sweep.hpp"
#include "sim/run/timeline_command.hpp"
#include "sim/scenario/text.hpp"

namespace {

using namespace skerry;

constexpr const char* kCommands =
    "skerry: bandwidth, faults and loss of multi-region training, before anyone pays for it\n"
    "\n"
    "  skerry run SCENARIO       all protocols and seeds of a scenario; prints the table\n"
    "  skerry train RUN          train the saved tapes of a run again with other /training "
    "settings\n"
    "  skerry sweep SWEEP        a study: axes, rows, seeds; goes on and grows by itself\n"
    "  skerry solve SCENARIO     the value of a key at which a metric reaches a target\n"
    "  skerry show RUN           the table of a run folder again, or as csv, md or json\n"
    "  skerry timeline RUN       one run on a time axis, for Perfetto and chrome://tracing\n"
    "  skerry export RUN         a run for Prometheus (OpenMetrics) or TensorBoard\n"
    "  skerry plan SCENARIO      the fault plan of the first seed as CSV\n"
    "  skerry estimate SCENARIO  bytes, bounds, ideal times, room for recoveries; no simulation\n"
    "  skerry probe SCENARIO     more bandwidth, fewer failures: does the right thing move?\n"
    "  skerry compare BASE RUN   regression: every number within its tolerance of a baseline?\n"
    "  skerry diff A B           two results: inputs that differ, then numbers\n"
    "  skerry check SCENARIO...  read strictly, run nothing\n"
    "  skerry test PATH...       run scenarios that carry `expect` and judge them\n"
    "  skerry explain POINTER    what a key means: skerry explain '/protocols/*/quorum'\n"
    "  skerry schema             JSON Schema of a scenario\n"
    "\n"
    "skerry COMMAND --help lists the options of a command, with an example.\n"
    "README.md says how to read the table, scenarios/README.md has every key,\n"
    "results/README.md every file and column.\n"
    "\n"
    "Exit codes: 0 done, 1 an `expect` or a comparison was missed, 2 bad input, nothing written,\n"
    "3 the simulation cannot go on, 4 a bug, 5 some points failed, 130 and 143 interrupted.\n";

// What stands below the options of a command: an example, and what one must know to use it.
std::string lesson_of(const std::string& command) {
  static const std::map<std::string, std::string> lessons = {
      {"run",
       "skerry run scenarios/four-us-regions.json --seeds 2 --set /regions/us-east5/port_gbps=5\n"
       "Writes results/runs/NAME-HASH; the same scenario again prints the stored table.\n"
       "README.md says how to read it."},
      {"train",
       "skerry train RUN --set /training/outer/rate=0.5\n"
       "The schedule stays, so only keys of /training may change. Writes a new folder."},
      {"sweep",
       "skerry sweep scenarios/sweeps/period-and-fragments.sweep.json --dry-run\n"
       "Runs what is missing; may be stopped and started again. scenarios/sweeps/README.md\n"
       "Exit codes: 0 all points are there, 2 bad input, 5 some points failed."},
      {"show", "skerry show RUN --format md"},
      {"timeline",
       "skerry timeline RUN --protocol decoupled_diloco --level syncs\n"
       "Open the file in Perfetto or chrome://tracing."},
      {"export",
       "skerry export RUN --format openmetrics --out run.prom\n"
       "Gauges with the labels scenario, protocol and seed; units are in the names."},
      {"plan",
       "skerry plan scenarios/four-us-regions.json --hours 12 > mine.csv\n"
       "To replay it: {\"plan\": \"mine.csv\"} in /faults. scenarios/traces/README.md"},
      {"estimate",
       "skerry estimate scenarios/four-us-regions.json --set /protocols/diloco/wire=int4"},
      {"probe",
       "skerry probe scenarios/smoke/link-slows.json\n"
       "Runs it again with one thing changed: more bandwidth must not slow anything, and so on.\n"
       "Exit codes: 0 all moved the right way, 1 some did not."},
      {"compare",
       "skerry compare results/baseline/link-slows.json RUN\n"
       "Exit codes: 0 inside, 1 outside, 2 not comparable. results/baseline/README.md"},
      {"diff", "skerry diff RUN OTHER"},
      {"check",
       "skerry check scenarios/smoke/link-slows.json --print-resolved\n"
       "Exit codes: 0 all are right, 2 some are not: place, found, allowed, nearest name."},
      {"test",
       "skerry test scenarios/smoke -k link --junit results.xml\n"
       "Exit codes: 0 all claims were met, 1 some were missed, 2 bad input."},
      {"explain",
       "skerry explain '/protocols/*/quorum'\n"
       "'*' stands for any name; '' lists the keys of a scenario. All keys: scenarios/README.md"},
      {"schema", "skerry schema > scenario.schema.json"},
  };
  const auto found = lessons.find(command);
  return found == lessons.end() ? "" : "Example: " + found->second;
}

// What the options write into before a command runs.
struct Typed {
  Shared shared;
  TestOptions test;
  CompareOptions compare;
  SolveOptions solve;
  TimelineCommand timeline;
  ExportCommand exported;
  SweepOptions sweep;
  std::vector<std::string> files, settings;
  std::string file, pointer, format = "table";
  std::vector<std::uint64_t> one_seed;
  std::uint64_t seeds = 0;
  double hours = 0;
  bool print_resolved = false;
  bool resume = false;
};

Setting parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (!text.starts_with('/') || equals == std::string::npos) {
    throw BadInput("--set", "", "found '" + text + "', allowed /pointer=value");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// The options that were typed, as the reader takes them.
void settle(Typed& typed) {
  LoadOptions& load = typed.shared.run.load;
  for (const std::string& text : typed.settings)
    load.settings.push_back(parse_setting(text));
  load.seeds = typed.one_seed;
  for (std::uint64_t seed = 1; seed <= typed.seeds; ++seed)
    load.seeds.push_back(seed);
}

void add_setting_options(CLI::App& command, Typed& typed) {
  command
      .add_option("--set", typed.settings,
                  "/pointer=value: changes one key, defaults too; '*' for all names")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--protocol", typed.shared.run.load.only_protocols,
                  "only this protocol; may be repeated")
      ->allow_extra_args(false);
}

void add_seed_options(CLI::App& command, Typed& typed) {
  auto* one = command.add_option("--seed", typed.one_seed, "only this seed; may be repeated")
                  ->allow_extra_args(false);
  command.add_option("--seeds", typed.seeds, "seeds 1 to N")
      ->check(CLI::Range(1, 100000))
      ->excludes(one);
}

void add_scenario_options(CLI::App& command, Typed& typed) {
  add_setting_options(command, typed);
  add_seed_options(command, typed);
  command.add_flag("--no-train", typed.shared.run.load.no_train, "simulate only: no loss");
}

void add_run_options(CLI::App& command, Typed& typed) {
  RunOptions& run = typed.shared.run;
  command.add_option("--out", run.out, "folder for the results");
  command.add_option("--jobs", run.jobs, "runs at once (default: cores)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--threads", run.threads, "threads of each run")->check(CLI::Range(1, 4096));
  command.add_option("--isa", run.isa, "kernels to use; the bits are the same")
      ->check(CLI::IsMember({"avx2", "avx512"}));
  command.add_flag("--quiet", run.quiet, "no progress on stderr");
  command.add_flag("--again", run.again, "run although the result is stored");
  command.add_flag("--json", typed.shared.json, "results as JSON on stdout");
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what,
                      std::function<int()>& chosen, std::function<int()> action) {
  CLI::App* command = app.add_subcommand(name, what);
  command->callback([&chosen, action = std::move(action)] { chosen = action; });
  command->footer(lesson_of(name));
  return command;
}

void add_study_commands(CLI::App& app, Typed& typed, std::function<int()>& chosen) {
  RunOptions& options = typed.shared.run;
  CLI::App* estimate =
      add_command(app, "estimate", "Bytes, bounds and ideal times, without simulation", chosen,
                  [&] { return estimate_command(typed.file, options.load, typed.shared.json); });
  estimate->add_option("scenario", typed.file, "scenario file")->required();
  estimate->add_flag("--json", typed.shared.json, "as JSON on stdout");
  add_setting_options(*estimate, typed);

  CLI::App* probe = add_command(app, "probe", "Change one thing: does the right thing move?",
                                chosen, [&] { return probe_command(typed.file, options); });
  probe->add_option("scenario", typed.file, "scenario file")->required();
  probe->add_option("--jobs", options.jobs, "runs at once (default: cores)")
      ->check(CLI::Range(1, 4096));
  probe->add_flag("--quiet", options.quiet, "no progress on stderr");
  add_setting_options(*probe, typed);
  add_seed_options(*probe, typed);
}

void add_timeline_command(CLI::App& app, Typed& typed, std::function<int()>& chosen) {
  TimelineCommand& options = typed.timeline;
  CLI::App* timeline = add_command(app, "timeline", "Trace events of one run for Perfetto", chosen,
                                   [&] { return timeline_command(options); });
  timeline->add_option("run", options.run, "run folder")->required();
  timeline->add_option("--protocol", options.protocol, "row; needed when there are several");
  timeline->add_option("--seed", options.seed, "seed (default: the first)");
  timeline->add_option("--level", options.level, "faults, syncs, steps or transfers (default: all)");
  timeline->add_option("--from", options.from_s, "first second of simulated time to show")
      ->check(CLI::Range(0.0, 1e12));
  timeline->add_option("--until", options.until_s, "last second to show")->check(CLI::Range(0.0, 1e12));
  timeline->add_option("--out", options.out, "file (default: timeline.json beside the tape)");
}

void add_export_command(CLI::App& app, Typed& typed, std::function<int()>& chosen) {
  ExportCommand& options = typed.exported;
  CLI::App* command = add_command(app, "export", "A run folder for other programs", chosen,
                                  [&] { return export_command(options); });
  command->add_option("run", options.run, "run folder")->required();
  command->add_option("--format", options.format, "openmetrics or tensorboard")
      ->required()
      ->check(CLI::IsMember({"openmetrics", "tensorboard"}));
  command->add_option("--out", options.out,
                      "openmetrics: file (default: stdout); tensorboard: folder (default: "
                      "RUN/tensorboard)");
}

void add_solve_command(CLI::App& app, Typed& typed, std::function<int()>& chosen) {
  SolveOptions& options = typed.solve;
  RunOptions& run = typed.shared.run;
  CLI::App* solve = add_command(
      app, "solve", "The value of a key at which a metric reaches a target", chosen, [&] {
        options.scenario = typed.file;
        options.program = typed.shared.program;
        options.run = run;
        return solve_command(options);
      });
  solve->add_option("scenario", typed.file, "scenario file")->required();
  solve->add_option("--vary", options.vary,
                    "pointer to a number, '*' for all names; several keys keep their ratios")
      ->required()
      ->allow_extra_args(false);
  solve->add_option("--between", options.bounds.between,
                    "LO:HI of the value (several keys: one common value)");
  solve->add_option("--times", options.bounds.times,
                    "LO:HI as factors on the scenario's values (default 1e-4:1e4)");
  solve->add_option("--metric", options.metric, "number of summary.json, or CU: mean over the seeds")
      ->required();
  solve->add_option("--target", options.targets, "what the metric must reach; one or several")
      ->required();
  solve->add_option("--tolerance", options.tolerance, "relative width of the answer's bracket")
      ->check(CLI::Range(1e-7, 0.5));
  solve->add_option("--dip", options.dip,
                    "a metric that falls back by this share of its range is still monotone")
      ->check(CLI::Range(0.0, 0.5));
  solve->add_option("--jobs", run.jobs, "runs at once (default: cores); changes no number")
      ->check(CLI::Range(1, 4096));
  solve->add_flag("--quiet", run.quiet, "no progress on stderr");
  solve->add_flag("--json", options.json, "as JSON on stdout, with every point");
  add_setting_options(*solve, typed);
  add_seed_options(*solve, typed);
  solve->footer(
      "Example: skerry solve scenarios/smoke/four-us-regions-quiet.json --protocol data_parallel\n"
      "           --vary '/regions/*/port_gbps' --metric CU --target 0.5 0.95\n"
      "CU is the compute utilization of whole periods: without faults, of learners that wait.\n"
      "Each row (but ideal and best_region, unless --protocol names them) is solved by itself,\n"
      "untrained. The answer reaches the target, the other end of its bracket misses it.\n"
      "Exit codes: 0 all solved, 5 some were refused, 2 nothing was solved or bad input.");
}

void add_sweep_command(CLI::App& app, Typed& typed, std::function<int()>& chosen) {
  SweepOptions& options = typed.sweep;
  RunOptions& run = typed.shared.run;
  CLI::App* sweep = add_command(app, "sweep", "All points of a study that are not there yet", chosen, [&] {
    options.run = run;
    return sweep_command(options);
  });
  sweep->add_option("sweep", options.file, "sweep file")->required();
  sweep->add_option("--out", run.out, "folder for the results (default: results/runs/NAME-sweep)");
  sweep->add_option("--shard", options.shard, "I/N: only every Nth point, from the Ith");
  sweep->add_flag("--dry-run", options.dry_run, "how many points, how long; runs nothing");
  sweep->add_flag("--status", options.status, "what the folder has by now; runs nothing");
  sweep->add_flag("--retry-failed", options.retry_failed, "run failed points again");
  sweep->add_flag("--fail-fast", options.fail_fast, "stop at the first failure");
  sweep->add_flag("--sensitivity", options.sensitivity,
                  "instead: each calibrated or assumed key of the scenario x 0.8 and x 1.2");
  sweep->add_option("--limit", options.limit_s, "seconds of wall time for one point, then it has failed")
      ->check(CLI::Range(1e-3, 1e9))
      ->check(CLI::Validator(
          [](const std::string& text) {  // nan is in every range
            return text.find_first_of("nN") == std::string::npos ? std::string() : "found " + text;
          },
          ""));
  sweep->add_option("--jobs", run.jobs, "points at once (default: cores)")->check(CLI::Range(1, 4096));
  sweep->add_option("--threads", run.threads, "threads of each point")->check(CLI::Range(1, 4096));
  sweep->add_option("--isa", run.isa, "kernels to use; the bits are the same")
      ->check(CLI::IsMember({"avx2", "avx512"}));
  sweep->add_flag("--quiet", run.quiet, "no progress on stderr");
  sweep->add_flag("--json", options.json, "counts as JSON on stdout");
  sweep->add_option("--set", typed.settings, "/pointer=value: changes one key of the scenario")
      ->take_all()
      ->allow_extra_args(false);
}

void add_comparing_commands(CLI::App& app, Typed& typed, std::function<int()>& chosen) {
  CompareOptions& options = typed.compare;
  CLI::App* compare = add_command(app, "compare", "Numbers of a result against a baseline", chosen,
                                  [&] { return compare_command(options); });
  compare
      ->add_option("baseline", options.baseline,
                   "baseline file, run or sweep folder, or a folder of baselines")
      ->required();
  compare->add_option("result", options.result, "run or sweep folder, or a folder of them")
      ->required();
  compare->add_option("--tolerances", options.tolerances, "file of tolerances by metric");
  auto* junit = compare->add_option("--junit", options.junit, "write JUnit XML here");
  auto* json = compare->add_flag("--json", options.json, "as JSON on stdout");
  compare->add_flag("--update", options.update, "rewrite the baseline file from the result")
      ->excludes(junit)
      ->excludes(json);

  CLI::App* diff = add_command(app, "diff", "What differs between two results", chosen,
                               [&] {
                                return diff_command(options.baseline, options.result, options.json);
                              });
  diff->add_option("a", options.baseline, "run or sweep folder, or baseline file")->required();
  diff->add_option("b", options.result, "the same")->required();
  diff->add_flag("--json", options.json, "as JSON on stdout");
}

void add_commands(CLI::App& app, Typed& typed, std::function<int()>& chosen) {
  Shared& shared = typed.shared;
  LoadOptions& load = shared.run.load;

  CLI::App* run = add_command(app, "run", "All protocols and seeds of a scenario", chosen,
                              [&] { return run_command(typed.file, shared); });
  run->add_option("scenario", typed.file, "scenario file")->required();
  run->add_flag_callback(
      "--no-tape", [&shared] { shared.run.keep_tapes = false; },
      "keep no tapes: a small folder that cannot be trained again");
  add_scenario_options(*run, typed);
  add_run_options(*run, typed);

  CLI::App* train = add_command(app, "train", "Train the tapes of a run again", chosen,
                                [&] { return train_command(typed.file, shared, typed.resume); });
  train->add_option("run", typed.file, "run folder")->required();
  train->add_option("--set", typed.settings, "/training/…=value")->allow_extra_args(false);
  train->add_flag("--resume", typed.resume,
                  "go on from the snapshots of trainings that ended at /training/stop_at_loss");
  add_run_options(*train, typed);

  CLI::App* show = add_command(app, "show", "The table of a run folder", chosen,
                               [&] { return show_command(typed.file, typed.format); });
  show->add_option("run", typed.file, "run folder")->required();
  show->add_option("--format", typed.format, "how to print it (default: table)")
      ->check(CLI::IsMember({"table", "csv", "md", "json"}));

  CLI::App* plan = add_command(app, "plan", "The fault plan of the first seed as CSV", chosen,
                               [&] { return plan_command(typed.file, load, typed.hours); });
  plan->add_option("scenario", typed.file, "scenario file")->required();
  plan->add_option("--hours", typed.hours,
                   "simulated hours to cover (default: to the end, or the tokens at full strength)")
      ->check(CLI::Range(1e-6, 1e9));
  add_scenario_options(*plan, typed);

  CLI::App* check = add_command(app, "check", "Read scenarios strictly", chosen, [&] {
    return check_command(typed.files, load, typed.print_resolved);
  });
  check->add_option("scenarios", typed.files, "scenario files")->required();
  check->add_flag("--print-resolved", typed.print_resolved, "print the resolved copy");
  add_scenario_options(*check, typed);

  CLI::App* test = add_command(app, "test", "Run scenarios that carry `expect`", chosen, [&] {
    typed.test.paths = typed.files;
    return test_command(typed.test, shared);
  });
  test->add_option("paths", typed.files, "scenario files and folders")->required();
  test->add_option("-k", typed.test.only, "only paths that hold this word");
  test->add_flag("-x", typed.test.stop_at_first, "stop at the first failure");
  test->add_option("--junit", typed.test.junit, "write JUnit XML here");
  add_scenario_options(*test, typed);
  add_run_options(*test, typed);

  CLI::App* explain = add_command(app, "explain", "What a key means", chosen, [&] {
    fmt::print("{}\n", explain_pointer(typed.pointer));
    return 0;
  });
  explain->add_option("pointer", typed.pointer, "such as /protocols/*/quorum")->required();

  add_command(app, "schema", "JSON Schema of a scenario", chosen, [] {
    fmt::print("{}\n", scenario_schema_json());
    return 0;
  });
}

// CLI11 takes an unknown first word for a stray argument, or answers --help as if it were not
// there.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  if (std::find(known.begin(), known.end(), argv[1]) != known.end()) return;
  throw BadInput(
      "skerry", "",
      fmt::format("found the command '{}', allowed {}{}", argv[1], skerry::reader::join(known),
                  skerry::reader::did_you_mean(argv[1], known)));
}

int run_program(int argc, char** argv) {
  CLI::App app;
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", version_text());
  Typed typed;
  typed.shared.program = argv[0];
  typed.shared.run.command.assign(argv, argv + argc);
  std::function<int()> chosen;
  add_commands(app, typed, chosen);
  add_study_commands(app, typed, chosen);
  add_comparing_commands(app, typed, chosen);
  add_solve_command(app, typed, chosen);
  add_timeline_command(app, typed, chosen);
  add_export_command(app, typed, chosen);
  add_sweep_command(app, typed, chosen);
  refuse_unknown_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0 && app.get_subcommands().empty() && !app.count("--version")) {
      fmt::print("{}", kCommands);
      return 0;
    }
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!chosen) {
    fmt::print("{}", kCommands);
    return 0;
  }
  settle(typed);
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_program(argc, argv);
  } catch (const BadInput& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  } catch (const CannotGoOn& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  } catch (const Interrupted& interrupted) {
    fmt::print(stderr, "interrupted\n");
    return 128 + interrupted.signal;
  } catch (const std::system_error& error) {  // files, the standard output
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
}
