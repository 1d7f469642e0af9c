#include "sim/run/sweep.hpp"

#include <fmt/format.h>
#include <signal.h>

#include "kernels/isa.hpp"
#include "sim/base/error.hpp"
#include "sim/report/sweep_manifest.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/numbers_version.hpp"
#include "sim/run/progress.hpp"
#include "sim/run/sweep_work.hpp"

namespace skerry {

namespace {

// One call of sweep_command.
struct Study {
  const SweepOptions& options;
  const Sweep& sweep;
  const Design& design;
  const std::vector<std::string>* notes;  // of a sensitivity study
  SweepStore& store;
  SweepWork& work;
  SweepManifest manifest;
};

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::runtime_error("standard output cannot be written");
  }
}

// Wall time that the missing points may take, from the ones that have run where there are any.
SweepCounts counts_of(const Study& study, const PoolOptions& pool) {
  const SweepWork::Counts counts = study.work.counts();
  SweepCounts out{study.sweep.name,
                  study.store.folder(),
                  counts.points,
                  counts.ok,
                  counts.failed,
                  counts.missing,
                  0,
                  counts.ok > 0};
  if (counts.ok == 0) {
    out.left_s = study.work.guessed_left_s() / pool.jobs;
    return out;
  }
  double spent_s = 0;
  int seen = 0;
  for (std::size_t g = 0; g < study.design.groups.size(); ++g) {
    for (std::size_t i = 0; i < study.work.seeds_of(g) && i < 2; ++i) {
      const std::uint64_t id = point_id(study.design.groups[g], study.sweep, i);
      if (study.store.state(id) != SweepStore::State::kOk || seen >= 2000) continue;
      spent_s += point_cells(study.store.line(id)).wall_s;
      seen += 1;
    }
  }
  out.left_s = seen == 0 ? 0 : spent_s / seen * double(counts.missing) / pool.jobs;
  return out;
}

int say_counts(const Study& study, const PoolOptions& pool) {
  const SweepCounts counts = counts_of(study, pool);
  if (study.options.json) {
    print(sweep_counts_json(counts));
    return 0;
  }
  const Sweep& sweep = study.sweep;
  print(fmt::format("{}: {} points ({} combinations, {} rows{}): {} ok, {} failed, {} missing\n",
                    sweep.name, counts.points, sweep.combinations.size(), sweep.protocols.size(),
                    sweep.until ? "; seeds are added until the interval is narrow enough" : "",
                    counts.ok, counts.failed, counts.missing));
  if (counts.missing > 0) {
    print(fmt::format("about {:.0f} s left with {} at once ({})\n", counts.left_s, pool.jobs,
                      counts.measured ? "measured on the finished points" : "a rough guess"));
  }
  print(fmt::format("folder: {}\n", counts.folder));
  return 0;
}

void write_manifest(Study& study) {
  const SweepWork::Counts counts = study.work.counts();
  study.manifest.points = counts.points;
  study.manifest.ok = counts.ok;
  study.manifest.failed = counts.failed;
  study.store.write("manifest.json", sweep_manifest_to_json(study.manifest));
}

void prepare(Study& study, const Shard& shard) {
  study.store.make_folder();
  try {
    // Before anything else: a kill must not leave a folder that nobody knows.
    if (!study.store.exists()) {
      const FolderLock lock(study.store.folder());
      write_manifest(study);
    }
    study.store.open(shard);
    const FolderLock lock(study.store.folder());
    write_manifest(study);
    study.store.write("sweep.json", study.sweep.resolved_json);
  } catch (const CannotWrite& error) {
    throw BadInput("", "", "cannot be written: " + std::string(error.what()));
  }
}

// Tables from all that is there by now, other shards' records too.
std::string conclude(Study& study) {
  study.store.sync();
  const FolderLock lock(study.store.folder());
  study.store.scan();
  study.work.refresh();
  const std::string text =
      write_sweep_tables(study.sweep, study.design, study.work, study.store, study.notes);
  study.manifest.ended = utc_now();
  write_manifest(study);
  study.work.drop_tapes();
  return text;
}

int present(const Study& study, const std::string& text) {
  const SweepWork::Counts counts = study.work.counts();
  if (study.options.json) {
    print(sweep_counts_json({study.sweep.name, study.store.folder(), counts.points, counts.ok,
                             counts.failed, counts.missing, 0, true}));
  } else {
    print(text + fmt::format("\n{} points: {} ok, {} failed, {} missing\n", counts.points,
                             counts.ok, counts.failed, counts.missing));
    print(fmt::format("next: cat {}/table.csv\n", study.store.folder()));
  }
  return study.work.shard_has_failed() || study.work.shard_has_missing() ? 5 : 0;
}

int carry_out(Study& study, const Shard& shard, const PoolOptions& pool) {
  prepare(study, shard);
  SweepWork::Options options;
  options.pool = pool;
  options.fail_fast = study.options.fail_fast;
  options.limit_s = study.options.limit_s;
  try {
    try {
      ProgressLine line(study.sweep.name, study.options.run.quiet);
      options.progress = [&line](double share) { line.update(share); };
      study.work.run(options);
    } catch (const FailedFast&) {
      fmt::print(stderr, "a point failed: stopped (--fail-fast)\n");
    } catch (const Interrupted&) {
      conclude(study);
      fmt::print(stderr, "{} of {} points are kept; the same command goes on\n",
                 study.work.counts().ok, study.work.counts().points);
      throw;
    }
    return present(study, conclude(study));
  } catch (const CannotWrite& error) {
    fmt::print(stderr,
               "{}\n{} finished points are kept in {}; the same command goes on when it can be "
               "written\n",
               error.what(), study.work.counts().ok, study.store.folder());
    return 5;
  }
}

}  // namespace

int sweep_command(const SweepOptions& options) {
  signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of write, as a full disk is
  const Shard shard = parse_shard(options.shard);
  select_isa(options.run.isa);
  const PoolOptions pool = pool_options(options.run);
  std::vector<std::string> notes;
  Sweep sweep = load_sweep(options.file, options.run.load.settings);
  if (options.sensitivity) sweep = sensitivity_of(sweep, notes);
  const Design design = design_of(sweep);
  const std::string folder =
      options.run.out.empty() ? "results/runs/" + sweep.name + "-sweep" : options.run.out;
  SweepStore store(folder, sweep.name);
  if (options.status && !store.exists()) {
    throw BadInput(folder, "", "is no folder of a sweep: nothing has run yet");
  }
  SweepWork work(sweep, design, store, shard, options.retry_failed);
  Study study{options, sweep, design, options.sensitivity ? &notes : nullptr, store, work, {}};
  if (options.dry_run || options.status) return say_counts(study, pool);
  study.manifest.sweep = sweep.name;
  study.manifest.numbers_version = kNumbersVersion;
  study.manifest.command = options.run.command;
  study.manifest.machine = this_machine();
  study.manifest.isa = kernels::isa_name(kernels::current_isa());
  study.manifest.began = utc_now();
  return carry_out(study, shard, pool);
}

}  // namespace skerry
