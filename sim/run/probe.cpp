#include "sim/run/probe.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/report/layout.hpp"
#include "sim/run/children.hpp"
#include "sim/run/commands.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/one_run.hpp"
#include "sim/run/progress.hpp"

namespace skerry {

namespace {

constexpr double kNoise = 0.005;      // of tokens/s and goodput
constexpr double kShareNoise = 0.02;  // of shares of merges: which steps they fall on changes too
enum Probed : std::size_t {
  kTokensPerS,
  kGoodput,
  kHiddenShare,
  kMergedShare,
  kComputeUtilization,
  kBusiestLoad
};

// What must not fall, and what may (a fault hits at another moment) but is named when it does.
struct Directions {
  std::vector<Probed> judged, noted;
};

Directions directions_of(Change change) {
  switch (change) {
    case Change::kBandwidthDoubled:
      return {{kTokensPerS, kHiddenShare, kMergedShare}, {kGoodput, kComputeUtilization}};
    case Change::kFailuresHalved:
      return {{kGoodput}, {kTokensPerS, kMergedShare, kComputeUtilization}};
    case Change::kSpeedDoubled:
      return {{kTokensPerS}, {}};
    case Change::kLatencyHalved:
      return {{kTokensPerS}, {kGoodput, kHiddenShare, kMergedShare, kComputeUtilization}};
  }
  raise_bug("a change", __FILE__, __LINE__, "unknown");
}

// Least value that is no miss.
double allowed_down_to(Probed which, double was) {
  if (which == kTokensPerS) return was * (1.0 - kNoise);
  return was - (which == kHiddenShare || which == kMergedShare ? kShareNoise : kNoise);
}

std::string tolerance_of(Probed which) {
  if (which == kTokensPerS) return fmt::format("{:g} %", 100.0 * kNoise);
  return fmt::format("{:g}", which == kHiddenShare || which == kMergedShare ? kShareNoise : kNoise);
}

bool doubled(double& rate_Bps) {
  if (rate_Bps >= kUnlimited) return false;
  rate_Bps *= 2.0;
  return true;
}

// Fault lines of the entries whose dates are written, not drawn, that a run of this length meets.
double scripted_lines(const Scenario& scenario, double simulated_s) {
  double lines = 0.0;
  for (const Fault& fault : scenario.faults) {
    if (fault.scripted && fault.at_s <= simulated_s) {
      lines += static_cast<double>(fault.targets.size());
    }
  }
  for (const PlanLine& line : scenario.plan)
    lines += line.at_s <= simulated_s ? 1.0 : 0.0;
  return lines;
}

void judge_loss(const ProbedRow& before, const ProbedRow& after, Probed which,
                std::vector<std::string>& missed) {
  const auto& was = before.values.at(which);
  const auto& is = after.values.at(which);
  if (!was || !is) return;
  const double allowed = allowed_down_to(which, *was);
  if (*is >= allowed) return;
  missed.push_back(fmt::format("{}: {} fell from {:.6g} to {:.6g}, allowed down to {:.6g}",
                               before.protocol, kProbed.at(which), *was, *is, allowed));
}

// More bandwidth must move a row that sends bytes, unless they are hidden behind its steps already
// or wait for a window.
bool waits_for_bytes(const ProbedRow& row) {
  const auto& hidden = row.values.at(kHiddenShare);
  return row.wan_bytes > 0.0 && !row.tcp_capped && (!hidden || *hidden < 1.0);
}

bool has_moved(Change change, const ProbedRow& before, const ProbedRow& after) {
  auto was = before.values, is = after.values;
  // Its denominator doubles: it moves whatever the simulator does.
  if (change == Change::kBandwidthDoubled) was.at(kBusiestLoad) = is.at(kBusiestLoad) = 0.0;
  return was != is;
}

struct Variant {
  std::string title;
  std::optional<Change> change;  // none: the scenario as it is
  Loaded loaded;
  std::vector<ProbedRow> rows;
};

std::vector<Variant> variants_of(const Loaded& loaded, std::vector<std::string>& notes) {
  std::vector<Variant> variants;
  variants.push_back({"as it is", std::nullopt, loaded, {}});
  const std::array<std::pair<Change, const char*>, 4> changes = {
      {{Change::kBandwidthDoubled, "every bandwidth doubled"},
       {Change::kFailuresHalved, "every random failure rate halved"},
       {Change::kSpeedDoubled, "every learner twice as fast"},
       {Change::kLatencyHalved, "every latency halved"}}};
  for (const auto& [change, title] : changes) {
    Variant variant{title, change, loaded, {}};
    if (apply_change(variant.loaded.scenario, change)) {
      variants.push_back(std::move(variant));
      continue;
    }
    const bool planned = change == Change::kFailuresHalved && !loaded.scenario.plan.empty();
    notes.push_back(std::string(title) + ": skipped, " +
                    (planned ? "the faults come from a plan" : "the scenario has no such number"));
  }
  return variants;
}

PoolOptions pool_of(int jobs) {
  PoolOptions pool;
  pool.cores = usable_cores();
  pool.jobs = jobs > 0 ? jobs : pool.cores;
  pool.threads = 1;
  if (pool.jobs > pool.cores) {
    throw BadInput("", "", fmt::format("--jobs {} is more than the {} cores", jobs, pool.cores));
  }
  return pool;
}

// Simulates every variant, row and seed; an exit code other than 0 when one of them failed.
int play(std::vector<Variant>& variants, PoolOptions pool, bool quiet) {
  const Scenario& scenario = variants.front().loaded.scenario;
  const TemporaryFolder scratch((std::filesystem::temp_directory_path() / "skerry-probe").string());
  ProgressLine line("probe of " + scenario.name, quiet);
  pool.progress = [&line](const HowFar& now) { line.update(now); };
  const std::vector<OneRun> runs = runs_of(scenario);
  std::vector<ChildTask> tasks;
  for (std::size_t i = 0; i < variants.size() * runs.size(); ++i) {
    tasks.push_back(
        {variants[i / runs.size()].title + ", " + run_name(scenario, runs[i % runs.size()])});
  }
  const auto place = [&](std::size_t task) { return scratch.path() + "/" + std::to_string(task); };
  const ChildBody body = [&](std::size_t i, int threads, const OnProgress& progress) {
    play_one(variants[i / runs.size()].loaded, runs[i % runs.size()], {}, place(i), threads, false,
             progress);
  };
  const std::vector<ChildResult> results = run_children(tasks, body, pool);
  int code = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].exit_code == 0) continue;
    fmt::print(stderr, "{} failed (exit {}): {}\n", tasks[i].label, results[i].exit_code,
               results[i].message);
    code = std::max(code, results[i].exit_code);
  }
  for (std::size_t v = 0; v < variants.size() && code == 0; ++v) {
    std::vector<RunRecord> records;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const std::string path = place(v * runs.size() + r) + "/summary.json";
      records.push_back(summary_from_json(read_text(path), path));
    }
    variants[v].rows = probed_rows(scenario, records);
  }
  return code;
}

std::string cell_text(std::size_t which, std::optional<double> was, std::optional<double> is) {
  if (!was || !is) return was.has_value() == is.has_value() ? "-" : (is ? "new" : "gone");
  if (*was == *is) return "=";
  if (which == kTokensPerS && *was > 0.0) return fmt::format("{:+.3f} %", 100.0 * (*is / *was - 1));
  return fmt::format("{:+.5f}", *is - *was);
}

std::string values_text(const std::vector<ProbedRow>& rows) {
  std::string text;
  for (const ProbedRow& row : rows) {
    std::vector<std::string> items;
    for (std::size_t i = 0; i < kProbed.size(); ++i) {
      items.push_back(std::string(kProbed.at(i)) + " " +
                      (row.values.at(i) ? fmt::format("{:.5g}", *row.values.at(i)) : "-"));
    }
    text += wrapped("  " + row.protocol + ":", items);
  }
  return text;
}

}  // namespace

bool apply_change(Scenario& scenario, Change change) {
  bool any = false;
  if (change == Change::kBandwidthDoubled) {
    for (Region& region : scenario.regions) {
      any |= doubled(region.up_Bps);
      any |= doubled(region.down_Bps);
    }
    for (Link& link : scenario.links)
      any |= doubled(link.capacity_Bps);
    for (double& cap_Bps : scenario.transport.class_cap_Bps)
      any |= doubled(cap_Bps);
    any |= doubled(scenario.transport.control.reserved_Bps);
  } else if (change == Change::kFailuresHalved) {
    for (Fault& fault : scenario.faults) {
      if (fault.scripted) continue;
      fault.gap.mean_s *= 2.0;
      fault.events_per_s_nominal /= 2.0;
      any = true;
    }
  } else if (change == Change::kSpeedDoubled) {
    for (Learner& learner : scenario.learners)
      learner.step_s /= 2.0;
    any = !scenario.learners.empty();
  } else {
    for (Link& link : scenario.links) {
      any |= link.latency_one_way_s > 0.0;
      link.latency_one_way_s /= 2.0;
    }
  }
  return any;
}

std::vector<ProbedRow> probed_rows(const Scenario& scenario,
                                   const std::vector<RunRecord>& records) {
  std::vector<ProbedRow> rows;
  for (const Protocol& protocol : scenario.protocols) {
    ProbedRow row;
    row.protocol = protocol.name;
    const Transport& transport = scenario.transport;
    row.tcp_capped = transport.kind == TransportKind::kTcp &&
                     (transport.window_bytes > 0.0 || transport.loss_rate > 0.0);
    std::array<std::pair<double, int>, kProbed.size()> sums{};
    for (const RunRecord& record : records) {
      if (record.summary.protocol != protocol.name) continue;
      for (std::size_t i = 0; i < kProbed.size(); ++i) {
        const Metric metric = metric_of(record, kProbed.at(i));
        if (!metric.value) continue;
        sums.at(i).first += *metric.value;
        sums.at(i).second += 1;
      }
      row.wan_bytes += record.summary.wan.bytes;
      row.chance_hits += std::max(
          0.0, record.summary.faults.hit - scripted_lines(scenario, record.summary.simulated_s));
    }
    for (std::size_t i = 0; i < kProbed.size(); ++i) {
      const auto& [sum, n] = sums.at(i);
      if (n > 0) row.values.at(i) = sum / n;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> misjudged(Change change, const std::vector<ProbedRow>& before,
                                   const std::vector<ProbedRow>& after) {
  SKERRY_CHECK(before.size() == after.size(), "rows of two scenarios");
  std::vector<std::string> missed;
  bool must_move = false, moved = false;
  std::string rows;
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const Probed which : directions_of(change).judged)
      judge_loss(before[i], after[i], which, missed);
    const bool concerned = change == Change::kBandwidthDoubled ? waits_for_bytes(before[i])
                           : change == Change::kFailuresHalved ? before[i].chance_hits > 0.0
                                                               : change == Change::kSpeedDoubled;
    if (!concerned) continue;
    must_move = true;
    moved |= has_moved(change, before[i], after[i]);
    rows += (rows.empty() ? "" : ", ") + before[i].protocol;
  }
  if (must_move && !moved) {
    missed.push_back(rows +
                     (change == Change::kBandwidthDoubled ? ": bytes were sent"
                      : change == Change::kFailuresHalved ? ": faults were hit by chance"
                                                          : ": learners are twice as fast") +
                     ", and no output moved");
  }
  return missed;
}

std::vector<std::string> wrong_ways(Change change, const std::vector<ProbedRow>& before,
                                    const std::vector<ProbedRow>& after) {
  SKERRY_CHECK(before.size() == after.size(), "rows of two scenarios");
  const Directions directions = directions_of(change);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const bool judged : {true, false}) {
      for (const Probed which : judged ? directions.judged : directions.noted) {
        const auto &was = before[i].values.at(which), &is = after[i].values.at(which);
        if (!was || !is || *is >= *was) continue;
        if (judged && *is < allowed_down_to(which, *was)) continue;  // missed
        out.push_back(fmt::format("{}: {} fell from {:.8g} to {:.8g}, {}", before[i].protocol,
                                  kProbed.at(which), *was, *is,
                                  judged ? "inside the tolerance of " + tolerance_of(which)
                                         : std::string("which is not judged here")));
      }
    }
  }
  return out;
}

std::string probe_table(const std::vector<ProbedRow>& before, const std::vector<ProbedRow>& after) {
  std::string text = fmt::format("  {:<16}", "protocol");
  for (const char* name : kProbed) {
    const std::string head = std::string(name).substr(std::string(name).find('.') + 1);
    text += fmt::format(" {:>{}}", head, std::max<std::size_t>(9, head.size()));
  }
  text += "\n";
  for (std::size_t r = 0; r < before.size(); ++r) {
    std::string name = before[r].protocol;
    if (name.size() > 16) name = name.substr(0, 15) + "~";
    text += fmt::format("  {:<16}", name);
    for (std::size_t i = 0; i < kProbed.size(); ++i) {
      const std::string head = std::string(kProbed.at(i));
      const std::size_t width = std::max<std::size_t>(9, head.size() - (head.find('.') + 1));
      text += fmt::format(" {:>{}}", cell_text(i, before[r].values.at(i), after[r].values.at(i)),
                          width);
    }
    text += "\n";
  }
  return text;
}

int probe_command(const std::string& path, const RunOptions& options) {
  LoadOptions load = options.load;
  load.no_train = true;
  Loaded loaded = load_with_plans(path, load);
  if (load.seeds.empty()) loaded.scenario.seeds.resize(1);
  std::vector<std::string> notes;
  std::vector<Variant> variants = variants_of(loaded, notes);
  const int failed = play(variants, pool_of(options.jobs), options.quiet);
  if (failed != 0) return failed;
  const std::vector<ProbedRow>& before = variants.front().rows;
  fmt::print("probe of {}: {} seed{}, not trained\nas it is\n{}", loaded.scenario.name,
             loaded.scenario.seeds.size(), loaded.scenario.seeds.size() == 1 ? "" : "s",
             values_text(before));
  std::size_t missed = 0;
  for (const Variant& variant : variants) {
    if (!variant.change) continue;
    fmt::print("{}\n{}", variant.title, probe_table(before, variant.rows));
    for (const std::string& sentence : misjudged(*variant.change, before, variant.rows)) {
      fmt::print("{}", wrapped_sentence("missed " + variant.title + ": " + sentence));
      ++missed;
    }
    std::string still;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (has_moved(*variant.change, before[i], variant.rows[i])) continue;
      still += (still.empty() ? "" : ", ") + before[i].protocol;
    }
    if (!still.empty()) fmt::print("{}", wrapped_sentence("does not move: " + still));
    for (const std::string& sentence : wrong_ways(*variant.change, before, variant.rows))
      fmt::print("{}", wrapped_sentence("wrong way: " + sentence));
  }
  fmt::print("tolerances: tokens_per_s {}, goodput {}, hidden_share and merged_share {}\n",
             tolerance_of(kTokensPerS), tolerance_of(kGoodput), tolerance_of(kHiddenShare));
  for (const std::string& note : notes)
    fmt::print("{}\n", note);
  fmt::print("{} changes, {} judgements missed\n", variants.size() - 1, missed);
  return missed == 0 ? 0 : 1;
}

}  // namespace skerry
