#include "sim/run/commands.hpp"

#include <fmt/format.h>
#include <set>

#include "sim/base/error.hpp"
#include "sim/cost/cost.hpp"
#include "sim/faults/faults.hpp"
#include "sim/run/folder.hpp"

namespace skerry {

namespace {

void report_failures(const Outcome& outcome) {
  for (const Failure& failure : outcome.failures) {
    fmt::print(stderr, "{} failed (exit {}): {}\n", failure.run, failure.exit_code,
               failure.message);
  }
}

// The table or the JSON of a run, then the line with the next command.
int present(const Outcome& outcome, const Shared& shared, const std::string& again) {
  report_failures(outcome);
  if (!outcome.written) {
    fmt::print(stderr, "no run succeeded: nothing was written\n");
    return exit_code_of(outcome);
  }
  if (shared.json) {
    print(results_json(outcome.results));
    return exit_code_of(outcome);
  }
  std::string text = terminal_table(outcome.results);
  if (outcome.was_stored) {
    text += fmt::format("stored result of {}", outcome.stored.ended);
    if (outcome.stored.commit != build_commit()) {
      text += fmt::format(", by build {} (this is {})", outcome.stored.commit, build_commit());
    }
    text += "; to run it again:\nnext: " + shared.program + " " + again + "\n";
  } else {
    text += fmt::format("next: {} show {} --format csv\n", shared.program, outcome.results.folder);
  }
  print(text);
  return exit_code_of(outcome);
}

// The arguments of this command once more, with --again.
std::string again_with(const RunOptions& options) {
  std::string out;
  for (std::size_t i = 1; i < options.command.size(); ++i) {
    const std::string& word = options.command[i];
    const bool plain = word.find_first_of(" '\"\\*?[]{}$&;|<>()~#`") == std::string::npos;
    out += plain ? word : "'" + word + "'";
    out += " ";
  }
  return out + "--again";
}

}  // namespace

int run_command(const std::string& scenario, const Shared& shared) {
  return present(run_scenario(scenario, shared.run), shared, again_with(shared.run));
}

int train_command(const std::string& run, const Shared& shared, bool resume) {
  return present(train_run(run, shared.run, resume), shared, again_with(shared.run));
}

int check_command(const std::vector<std::string>& scenarios, const LoadOptions& options,
                  bool print_resolved) {
  bool bad = false;
  for (const std::string& path : scenarios) {
    try {
      const Loaded loaded = load_with_plans(path, options);
      if (print_resolved) {
        print(loaded.resolved_json);
        continue;
      }
      print(fmt::format("ok {} (hash {}; {} protocols, {} seeds)\n", path, loaded.hash8,
                        loaded.scenario.protocols.size(), loaded.scenario.seeds.size()));
      for (const std::string& warning : loaded.scenario.warnings)
        print("warning " + warning + "\n");
    } catch (const BadInput& error) {
      fmt::print(stderr, "{}\n", error.what());
      bad = true;
    }
  }
  return bad ? 2 : 0;
}

namespace {

// How many entries of /faults there are: one may be several Faults or many planned lines.
std::size_t entries_of(const Scenario& scenario) {
  std::set<std::string> names;
  for (const Fault& fault : scenario.faults)
    names.insert(fault.name);
  for (const PlanLine& line : scenario.plan)
    names.insert(line.source);
  return names.size();
}

}  // namespace

int plan_command(const std::string& scenario, const LoadOptions& options, double hours) {
  const Loaded loaded = load_with_plans(scenario, options);
  const Scenario& s = loaded.scenario;
  const double until_s = hours > 0 ? 3600 * hours : plan_horizon_s(s);
  print(plan_to_csv(s, concrete_plan(s, s.seeds.front(), until_s)));
  if (s.stop.tokens && hours <= 0) {
    fmt::print(
        stderr,
        "covers {:.3g} h, what the tokens take at full strength: a run that faults slow down meets "
        "more of them (--hours)\n",
        until_s / 3600);
  }
  for (const Protocol& row : s.protocols) {
    const CheckpointRule rule = row.recovery.checkpoint_rule;
    const bool by_rate = rule == CheckpointRule::kYoung || rule == CheckpointRule::kDaly;
    const double period_s = checkpoint_period_s(s, row);
    if (row.family != Family::kDataParallel || row.elastic || !by_rate || period_s >= kNever)
      continue;
    if (row.recovery.resume != Resume::kFromCheckpoint) continue;
    fmt::print(stderr,
               "{} saves every {:.17g} s by the rate of these laws; beside the replayed plan set "
               "/protocols/{}/recovery/checkpoint_every_s to it\n",
               row.name, period_s, row.name);
  }
  std::set<std::string> left_out;
  for (const Fault& fault : s.faults) {
    if (!fault.scripted && fault.exposure == Exposure::kStepping) left_out.insert(fault.name);
  }
  if (!left_out.empty()) {
    fmt::print(stderr,
               "left out: {} of {} entries of /faults ({}) fail by stepping time, so that their "
               "dates are known only when played\n",
               left_out.size(), entries_of(s), fmt::join(left_out, ", "));
  }
  return 0;
}

int show_command(const std::string& run, const std::string& format) {
  if (format == "csv") {
    read_results(run);  // refuses what is not a run
    print(read_text(run + "/table.csv"));
    return 0;
  }
  const Results results = read_results(run);
  if (format == "json") {
    print(results_json(results));
  } else {
    print(format == "md" ? markdown_table(results) : terminal_table(results));
  }
  return 0;
}

}  // namespace skerry
