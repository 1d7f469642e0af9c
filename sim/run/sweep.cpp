#include "sim/run/sweep.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include "kernels/isa.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
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

SweepCounts plain_counts(const Study& study) {
  const SweepWork::Counts counts = study.work.counts();
  SweepCounts out;
  out.sweep = study.sweep.name;
  out.folder = study.store.folder();
  out.points = counts.points;
  out.ok = counts.ok;
  out.failed = counts.failed;
  out.missing = counts.missing;
  out.to_run = study.work.to_run();
  if (out.to_run == 0) out.left_s = 0;
  return out;
}

// Wall time that the missing points may take, from the ones that have run where there are any.
SweepCounts counts_of(const Study& study, const PoolOptions& pool) {
  SweepCounts out = plain_counts(study);
  out.measured = out.ok > 0;
  if (out.to_run == 0) return out;
  if (out.ok == 0) {
    out.left_s = study.work.guessed_left_s() / pool.jobs;
    return out;
  }
  double spent_s = 0;
  int seen = 0;
  for (std::size_t g = 0; g < study.design.groups.size(); ++g) {
    for (std::size_t i = 0; i < study.work.seeds_of(g) && i < 2; ++i) {
      if (seen >= 2000) break;
      const std::uint64_t id = point_id(study.design.groups[g], study.sweep, i);
      if (study.store.state(id) != SweepStore::State::kOk) continue;
      const std::shared_ptr<const PointCells> cells = study.store.cells(id);
      if (cells == nullptr) continue;
      spent_s += cells->wall_s;
      seen += 1;
    }
  }
  if (seen > 0) out.left_s = spent_s / seen * double(out.to_run) / pool.jobs;
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
  if (counts.to_run > 0) {
    const std::string whose = study.options.shard.empty() ? "" : " in this shard";
    print(fmt::format("{} to run{}: about {:.0f} s with {} at once ({})\n", counts.to_run, whose,
                      counts.left_s.value_or(0), pool.jobs,
                      counts.measured ? "measured on the finished points" : "a rough guess"));
  }
  if (study.store.damaged() > 0) {
    print(fmt::format("{} damaged records count as missing\n", study.store.damaged()));
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

// All that the tables depend on and the tables themselves, by sizes and dates: making them again
// would change no byte while this stays the same. Empty: cannot be told.
std::string tables_key(const Study& study) {
  struct stat program {};
  const std::string stamps =
      study.store.stamps({"table.csv", "table.txt", "statistics.json", "sweep.json"});
  if (stamps.empty() || stat("/proc/self/exe", &program) != 0) return {};
  const std::string all = fmt::format("{}|{} {} {}.{}|{}|{}", study.sweep.resolved_json,
                                      kNumbersVersion, program.st_size, program.st_mtim.tv_sec,
                                      program.st_mtim.tv_nsec, study.options.sensitivity, stamps);
  return hex16(hash64(all));
}

// Tables from all that is there by now, other shards' records too.
std::string conclude(Study& study) {
  study.store.sync();
  const FolderLock lock(study.store.folder());
  study.store.scan();
  study.work.refresh();
  const std::string text =
      write_sweep_tables(study.sweep, study.design, study.work, study.store, study.notes);
  study.work.refresh();  // a damaged record counts as missing once it was looked at
  study.manifest.ended = utc_now();
  study.manifest.tables = tables_key(study);
  write_manifest(study);
  study.work.drop_tapes();
  return text;
}

// Every record that the tables will need, before the first run: what is damaged is run again.
void check_records(Study& study) {
  for (std::size_t g = 0; g < study.design.groups.size(); ++g) {
    for (std::size_t i = 0; i < study.work.seeds_of(g); ++i)
      study.store.cells(point_id(study.design.groups[g], study.sweep, i));
  }
  if (study.store.damaged() == 0) return;
  fmt::print(stderr, "{} damaged records in {} count as missing\n", study.store.damaged(),
             study.store.folder());
}

// The text of the last call, when nothing has changed since; none: there is something to do.
std::optional<std::string> standing_tables(const Study& study) {
  if (!study.store.exists() || study.work.to_run() > 0) return std::nullopt;
  const std::string key = tables_key(study);
  const std::string manifest = study.store.folder() + "/manifest.json";
  if (key.empty() || tables_of_manifest(read_text(manifest)) != key) return std::nullopt;
  return read_text(study.store.folder() + "/table.txt");
}

int present(const Study& study, const std::string& text) {
  const SweepWork::Counts counts = study.work.counts();
  if (study.options.json) {
    print(sweep_counts_json(plain_counts(study)));
  } else {
    print(text + fmt::format("\n{} points: {} ok, {} failed, {} missing\n", counts.points,
                             counts.ok, counts.failed, counts.missing));
    print(fmt::format("next: cat {}/table.csv\n", study.store.folder()));
  }
  return study.work.shard_has_failed() || study.work.shard_has_missing() ? 5 : 0;
}

int carry_out(Study& study, const Shard& shard, const PoolOptions& pool) {
  if (const std::optional<std::string> text = standing_tables(study)) return present(study, *text);
  prepare(study, shard);
  check_records(study);
  SweepWork::Options options;
  options.pool = pool;
  options.fail_fast = study.options.fail_fast;
  options.limit_s = study.options.limit_s;
  try {
    try {
      ProgressLine line(study.sweep.name, study.options.run.quiet);
      options.progress = [&line](double share) { line.update({share, 0, {}}); };
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
  SweepStore store(folder, sweep.name, sweep.resolved_json);
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
