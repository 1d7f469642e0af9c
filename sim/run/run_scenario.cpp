#include "sim/run/run_scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "kernels/isa.hpp"
#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/learning.hpp"
#include "sim/report/sweep_manifest.hpp"
#include "sim/run/children.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/one_run.hpp"
#include "sim/run/progress.hpp"

namespace skerry {

namespace {

namespace fs = std::filesystem;

constexpr double kTrainedWeight = 20;  // a trained run against one that is only simulated

// One call of run_scenario or train_run on its way.
struct Work {
  Loaded loaded;
  std::string target;
  std::string tapes_from;  // run folder; empty: simulate
  std::string tapes_hash;  // of its scenario
  bool resumes = false;    // from its snapshots
  bool expect_applied = true;
  std::vector<OneRun> runs;
};

std::vector<ChildResult> play_all(const Work& work, const std::string& folder, PoolOptions pool,
                                  const RunOptions& options) {
  const Scenario& scenario = work.loaded.scenario;
  ProgressLine line(scenario.name, options.quiet);
  pool.progress = [&line](const HowFar& now) { line.update(now); };
  std::vector<ChildTask> tasks;
  for (const OneRun& run : work.runs) {
    const Protocol& protocol = scenario.protocols.at(std::size_t(run.protocol));
    const double simulation = protocol.family == Family::kDiloco ? 1.0 : 0.5;
    tasks.push_back({run_name(scenario, run), simulation + (run.trained ? kTrainedWeight : 0)});
  }
  const ChildBody body = [&](std::size_t i, int threads, const OnProgress& progress) {
    Earlier earlier;
    const std::string from = work.tapes_from + "/" + tasks[i].label;
    if (!work.tapes_from.empty()) earlier = {from + "/tape.jsonl", work.tapes_hash, {}};
    if (work.resumes) earlier.snapshot = from + "/snapshot.bin";
    play_one(work.loaded, work.runs[i], earlier, folder + "/" + tasks[i].label, threads,
             options.keep_tapes, progress);
  };
  return run_children(tasks, body, pool);
}

RunRecord failed_record(const Scenario& scenario, const OneRun& run, const std::string& message) {
  const Protocol& protocol = scenario.protocols.at(std::size_t(run.protocol));
  RunRecord record;
  record.summary.protocol = protocol.name;
  record.summary.preset = protocol.preset;
  record.summary.seed = scenario.seeds.at(run.seed);
  record.summary.status = "failed";
  record.failure = message;
  return record;
}

std::string plans_of(const Scenario& scenario, const std::vector<RunRecord>& records) {
  std::vector<SeededPlan> plans;
  for (const std::uint64_t seed : scenario.seeds) {
    double longest = 0;
    for (const RunRecord& record : records) {
      if (record.summary.seed == seed && !failed(record)) {
        longest = std::max(longest, record.summary.simulated_s);
      }
    }
    plans.push_back({seed, concrete_plan(scenario, seed, longest)});
  }
  return seeded_plans_csv(scenario, plans);
}

// Reads what the children wrote, completes the summaries and writes the files of the whole.
Results complete(const Work& work, const std::vector<ChildResult>& children,
                 const std::string& folder) {
  Results results;
  results.scenario = work.loaded.scenario;
  results.hash = work.loaded.hash8;
  results.folder = work.target;
  results.expect_applied = work.expect_applied;
  const Scenario& scenario = results.scenario;
  auto& curves = results.curves;
  for (std::size_t i = 0; i < work.runs.size(); ++i) {
    const std::string place = folder + "/" + run_name(scenario, work.runs[i]);
    curves.emplace_back();
    if (children[i].exit_code != 0) {
      fs::remove_all(place);
      results.records.push_back(failed_record(scenario, work.runs[i], children[i].message));
      continue;
    }
    results.records.push_back(
        summary_from_json(read_text(place + "/summary.json"), place + "/summary.json"));
    curves.back() = loss_from_csv(read_text(place + "/loss.csv"), place + "/loss.csv");
  }
  set_times_to_loss(scenario, curves, results.records);
  for (std::size_t i = 0; i < work.runs.size(); ++i) {
    write_text(folder + "/" + run_name(scenario, work.runs[i]) + "/summary.json",
               summary_to_json(results.records[i]));
  }
  const std::string plan = plans_of(scenario, results.records);
  results.plan = count_plan(scenario, results.records, plan);
  write_text(folder + "/plan.csv", plan);
  write_text(folder + "/table.csv", table_csv(results.records, results.hash));
  write_text(folder + "/comparison.json", comparison_json(results));
  if (scenario.training.on) {
    write_text(folder + "/curves.csv", curves_csv(results));
    write_text(folder + "/learning.csv", learning_csv(results));
  }
  write_text(folder + "/scenario.resolved.json", work.loaded.resolved_json);
  return results;
}

std::vector<Failure> failures_of(const Work& work, const std::vector<ChildResult>& children) {
  std::vector<Failure> out;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].exit_code == 0) continue;
    if (children[i].exit_code == 2) throw BadInput("", "", children[i].message);
    const std::string log = children[i].log.empty() ? "" : "\nlog:\n" + children[i].log;
    out.push_back({run_name(work.loaded.scenario, work.runs[i]), children[i].exit_code,
                   children[i].message + log});
  }
  return out;
}

Outcome carry_out(Work& work, const RunOptions& options) {
  Outcome outcome;
  select_isa(options.isa);
  PoolOptions pool = pool_options(options);
  const Scenario& scenario = work.loaded.scenario;
  if (!options.out.empty()) {
    work.target = options.out;
  } else {
    work.target = "results/runs/" + scenario.name + "-" + work.loaded.hash8;
  }
  if (standing_at(work.target, work.loaded.hash8) == Standing::kComplete && !options.again) {
    outcome.results = read_results(work.target);
    outcome.results.expect_applied = work.expect_applied;
    const std::string manifest = work.target + "/manifest.json";
    outcome.stored = manifest_from_json(read_text(manifest), manifest);
    outcome.was_stored = outcome.written = true;
    return outcome;
  }
  work.runs = runs_of(scenario);
  Manifest manifest;
  manifest.began = utc_now();
  TemporaryFolder folder(work.target);
  const std::vector<ChildResult> children = play_all(work, folder.path(), pool, options);
  outcome.failures = failures_of(work, children);
  if (outcome.failures.size() == children.size()) {
    outcome.results.scenario = scenario;
    return outcome;
  }
  outcome.results = complete(work, children, folder.path());
  manifest.scenario = scenario.name;
  manifest.hash = work.loaded.hash8;
  manifest.complete = outcome.failures.empty();
  manifest.failures = outcome.failures;
  manifest.command = options.command;
  manifest.machine = this_machine();
  manifest.isa = kernels::isa_name(kernels::current_isa());
  manifest.tapes_from = work.tapes_from;
  manifest.ended = utc_now();
  for (std::size_t i = 0; i < children.size(); ++i) {
    manifest.wall_s.emplace_back(run_name(scenario, work.runs[i]), children[i].wall_s);
  }
  write_text(folder.path() + "/manifest.json", manifest_to_json(manifest));
  folder.publish(work.loaded.hash8);
  outcome.written = true;
  return outcome;
}

}  // namespace

void select_isa(const std::string& name) {
  if (name.empty()) return;
  const kernels::Isa isa = name == "avx512" ? kernels::Isa::kAvx512 : kernels::Isa::kAvx2;
  if (!kernels::supported(isa)) throw BadInput("", "", "--isa " + name + ": not on this processor");
  kernels::select_isa(isa);
}

PoolOptions pool_options(const RunOptions& options) {
  PoolOptions pool;
  pool.cores = usable_cores();
  pool.threads = options.threads;
  pool.jobs =
      options.jobs > 0 ? options.jobs : std::max(1, pool.cores / std::max(1, options.threads));
  if (pool.jobs * std::max(1, pool.threads) > pool.cores) {
    throw BadInput("", "",
                   fmt::format("--jobs {} x --threads {} is more than the {} cores", pool.jobs,
                               std::max(1, pool.threads), pool.cores));
  }
  return pool;
}

Loaded load_with_plans(const std::string& path, const LoadOptions& options) {
  return with_plans(load_scenario(path, options));
}

Loaded with_plans(Loaded loaded) {
  for (const PlanFile& file : loaded.scenario.plan_files) {
    std::vector<PlanLine> lines =
        plan_from_csv(loaded.scenario, read_text(file.path), file.path, file.name);
    auto& plan = loaded.scenario.plan;
    plan.insert(plan.end(), std::make_move_iterator(lines.begin()),
                std::make_move_iterator(lines.end()));
  }
  return loaded;
}

double plan_horizon_s(const Scenario& scenario) {
  if (!scenario.stop.tokens) return scenario.stop.simulated_s;
  double tokens_per_s = 0;
  for (const Learner& learner : scenario.learners) {
    tokens_per_s += scenario.charged.tokens_per_learner_step / learner.step_s;
  }
  return std::min(scenario.stop.simulated_s, *scenario.stop.tokens / tokens_per_s);
}

Outcome run_scenario(const std::string& path, const RunOptions& options) {
  Work work;
  work.loaded = load_with_plans(path, options.load);
  LoadOptions plain;
  plain.no_train = options.load.no_train;
  work.expect_applied = load_scenario(path, plain).hash8 == work.loaded.hash8;
  return carry_out(work, options);
}

namespace {

bool holds_snapshot(const std::string& run, const Scenario& scenario) {
  const std::vector<OneRun> runs = runs_of(scenario);
  return std::any_of(runs.begin(), runs.end(), [&](const OneRun& one) {
    return fs::exists(run + "/" + run_name(scenario, one) + "/snapshot.bin");
  });
}

// What goes on goes to the end of the tape, unless told otherwise.
LoadOptions train_settings(LoadOptions load, bool resume) {
  const auto stops = [](const Setting& s) { return s.pointer == "/training/stop_at_loss"; };
  if (resume && std::none_of(load.settings.begin(), load.settings.end(), stops)) {
    load.settings.push_back({"/training/stop_at_loss", "false"});
  }
  return load;
}

}  // namespace

Outcome train_run(const std::string& run, const RunOptions& options, bool resume) {
  for (const Setting& setting : options.load.settings) {
    if (setting.pointer != "/training" && !setting.pointer.starts_with("/training/")) {
      throw BadInput(
          "--set", setting.pointer,
          "would change the tape; `train` replays saved tapes, so only /training/… may be set");
    }
  }
  const Results from = read_results(run);
  Work work;
  work.tapes_from = run;
  work.tapes_hash = from.hash;
  work.resumes = resume;
  if (resume && !holds_snapshot(run, from.scenario)) {
    throw BadInput(run, "", "holds no snapshot.bin: no training of it ended at stop_at_loss");
  }
  work.loaded =
      load_with_plans(run + "/scenario.resolved.json", train_settings(options.load, resume));
  work.loaded.scenario.name = from.scenario.name;
  work.loaded.scenario.calibrated_keys = from.scenario.calibrated_keys;
  if (!work.loaded.scenario.training.on) {
    throw BadInput(run, "/training", "is false in that run: set it, or there is nothing to train");
  }
  if (work.loaded.hash8 == from.hash && options.out.empty()) {
    throw BadInput("--set", "",
                   "changes nothing: " + run +
                       " was trained with these settings (with --out it is trained again)");
  }
  work.expect_applied = work.loaded.hash8 == from.hash && from.expect_applied;
  return carry_out(work, options);
}

namespace {

void refuse_other_folders(const std::string& folder) {
  const std::string manifest = folder + "/manifest.json";
  std::error_code error;
  const auto status = fs::status(manifest, error);
  if (status.type() == fs::file_type::not_found) {
    throw BadInput(folder, "",
                   fs::exists(folder, error) ? "is no run folder: there is no manifest.json in it"
                                             : "is no run folder: there is nothing of that name");
  }
  std::string sweep;
  try {
    sweep = sweep_of_manifest(read_text(manifest), manifest);
  } catch (const BadInput&) {
    return;
  }
  throw BadInput(folder, "",
                 "is the folder of the sweep '" + sweep + "', and no run folder: tools/report " +
                     folder +
                     " shows the sweep, and one point of it is a run by skerry run with its --set");
}

}  // namespace

Results read_results(const std::string& folder) {
  refuse_other_folders(folder);
  const std::string manifest = folder + "/manifest.json";
  const StoredRun stored = manifest_from_json(read_text(manifest), manifest);
  const std::string comparison = folder + "/comparison.json";
  const StoredComparison known = comparison_from_json(read_text(comparison), comparison);
  Results results;
  results.scenario = load_scenario(folder + "/scenario.resolved.json").scenario;
  results.scenario.name = known.scenario;
  results.scenario.warnings = known.warnings;
  results.scenario.calibrated_keys = known.calibrated_keys;
  results.hash = stored.hash;
  results.folder = folder;
  results.expect_applied = known.expect_applied;
  for (const OneRun& run : runs_of(results.scenario)) {
    const std::string path = folder + "/" + run_name(results.scenario, run) + "/summary.json";
    results.records.push_back(summary_from_json(read_text(path), path));
    const std::string loss = folder + "/" + run_name(results.scenario, run) + "/loss.csv";
    results.curves.push_back(failed(results.records.back()) ? std::vector<LossPoint>{}
                                                            : loss_from_csv(read_text(loss), loss));
  }
  results.plan = count_plan(results.scenario, results.records, read_text(folder + "/plan.csv"));
  return results;
}

int exit_code_of(const Outcome& outcome) {
  int code = 0;
  for (const Failure& failure : outcome.failures)
    code = std::max(code, failure.exit_code);
  if (code != 0) return code;
  const Results& results = outcome.results;
  for (const Judged& j : judge(results.scenario, results.records, results.expect_applied)) {
    if (j.verdict == Verdict::kMissed) code = 1;
  }
  return code;
}

}  // namespace skerry
