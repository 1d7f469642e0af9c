#include "sim/run/solve.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/base/error.hpp"
#include "sim/report/record.hpp"
#include "sim/run/children.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/one_run.hpp"
#include "sim/run/progress.hpp"
#include "sim/scenario/metrics.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

bool is_reference(const Protocol& row) {
  return row.preset == "ideal" || row.preset == "best_region";
}

std::string metric_name(const std::string& typed) {
  const std::string name = typed == "CU" ? "compute_utilization_whole_periods" : typed;
  if (!is_known_metric(name) || name.find('*') != std::string::npos) {
    throw BadInput("--metric", "",
                   "found '" + typed + "', allowed a number of summary.json such as CU, goodput, " +
                       "merged_share" + reader::did_you_mean(name, known_metrics()));
  }
  if (needs_training(name)) {
    throw BadInput("--metric", "",
                   "found '" + typed +
                       "': solve simulates and never trains, allowed a metric that " +
                       "needs no training, such as tokens_per_s");
  }
  return name;
}

void check_numbers(const SolveOptions& options) {
  std::vector<double> sorted = options.targets;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!std::isfinite(sorted[i])) throw BadInput("--target", "", "allowed finite numbers");
    if (i > 0 && sorted[i] == sorted[i - 1]) {
      throw BadInput("--target", "", fmt::format("found {:g} twice, allowed once", sorted[i]));
    }
  }
  if (!options.bounds.between.empty() && !options.bounds.times.empty()) {
    throw BadInput("--between", "", "found beside --times, allowed one of them");
  }
}

// Why a row may be blind to what is varied.
std::string hint_for(const Protocol& row, const std::string& metric) {
  const bool blind = metric.starts_with("compute_utilization") || metric == "goodput";
  if (row.family == Family::kDiloco && row.learner_waits == LearnerWaits::kNoWait && blind) {
    return "its learners never wait for the network (learner_waits: never): solve for merged_share "
           "or hidden_share, or let them wait at_overlap";
  }
  if (!row.exchange) return "the row exchanges nothing (exchange: off)";
  return "another limit decides in the whole range, or the row has no use for the key";
}

// A row's searches, one evaluation a child.
class Solver {
 public:
  Solver(const SolveOptions& options, std::string text, SolveReport& report)
      : options_(options), text_(std::move(text)), report_(report), open_(report.rows.size()) {}

  void run() {
    ProgressLine line("solve of " + report_.scenario, options_.run.quiet);
    line_ = &line;
    for (std::size_t row = 0; row < report_.rows.size(); ++row)
      begin_round(row);
    ChildStream stream;
    stream.next = [this]() -> std::optional<std::size_t> { return next(); };
    stream.waiting = [this] { return queue_.size(); };
    stream.finished = [this](std::size_t task, const ChildResult& result) { finish(task, result); };
    stream_children(
        stream,
        [this](std::size_t task, int, const OnProgress& progress) { body(tasks_[task], progress); },
        pool());
  }

 private:
  struct Task {
    std::size_t row = 0, seed = 0;
    double x = 0;
    int answer = -1;  // memory file for the child's number
  };
  struct Round {  // of one row
    std::size_t left = 0;
    std::map<double, std::vector<double>> values;                   // by seed
    std::map<double, std::map<std::size_t, std::string>> failures;  // by seed, of those that failed
  };

  PoolOptions pool() const {
    RunOptions run = options_.run;
    run.threads = 1;
    return pool_options(run);
  }

  void begin_round(std::size_t row) {
    Round& round = open_[row];
    round = {};
    for (const double x : report_.rows[row].search.next()) {
      for (std::size_t seed = 0; seed < report_.seeds.size(); ++seed) {
        queue_.push_back(tasks_.size());
        tasks_.push_back({row, seed, x, -1});
        round.left += 1;
      }
      round.values[x].resize(report_.seeds.size());
    }
    tell_progress();
  }

  void tell_progress() {
    std::size_t done = 0, all = 0;
    for (const SolveRow& row : report_.rows) {
      for (const SearchResult& result : row.search.results()) {
        all += 1;
        if (result.solved || !result.reason.empty()) done += 1;
      }
    }
    line_->update({double(done) / double(all), 0, {}});
  }

  std::optional<std::size_t> next() {
    if (queue_.empty()) return std::nullopt;
    const std::size_t number = queue_.front();
    queue_.pop_front();
    tasks_[number].answer = memfd_create("answer", MFD_CLOEXEC);
    if (tasks_[number].answer < 0) throw std::runtime_error("no memory for a result");
    return number;
  }

  void body(const Task& task, const OnProgress& progress) const {
    const SolveRow& row = report_.rows[task.row];
    LoadOptions load = options_.run.load;
    for (Setting& setting : settings_at(row.unknown, task.x))
      load.settings.push_back(std::move(setting));
    load.only_protocols = {row.protocol};
    load.seeds = {report_.seeds[task.seed]};
    const std::string folder = std::filesystem::path(report_.file).parent_path().string();
    const Loaded loaded = with_plans(load_scenario_text(text_, report_.file, folder, load));
    const Played played = play(loaded, {0, 0, false}, {}, 1, nullptr, progress);
    const Metric metric = metric_of(played.record, report_.metric);
    if (!metric.found) {
      throw BadInput("--metric", "",
                     "found '" + report_.metric + "', which this row does not have");
    }
    if (!metric.value) {
      throw CannotGoOn(report_.metric +
                       " is null: some rows, runs with faults and runs that are too short do not "
                       "have it");
    }
    if (pwrite(task.answer, &*metric.value, sizeof(double), 0) != sizeof(double)) {
      throw std::runtime_error("the result cannot be handed over");
    }
  }

  void finish(std::size_t number, const ChildResult& result) {
    const Task task = tasks_[number];
    Round& round = open_[task.row];
    report_.runs += 1;
    if (result.exit_code == 0) {
      double& value = round.values[task.x][task.seed];
      if (pread(task.answer, &value, sizeof value, 0) != sizeof value) {
        throw std::runtime_error("a run left no result");
      }
    } else if (result.exit_code == 4) {
      throw std::runtime_error(fmt::format("{} at {}, seed {}: {}\n{}",
                                           report_.rows[task.row].protocol, number_of(task.x),
                                           report_.seeds[task.seed], result.message, result.log));
    } else {
      round.failures[task.x][task.seed] = result.message;
    }
    ::close(task.answer);
    if (--round.left == 0) end_round(task.row);
  }

  void end_round(std::size_t number) {
    SolveRow& row = report_.rows[number];
    for (const auto& [x, values] : open_[number].values) {
      const auto failure = open_[number].failures.find(x);
      if (failure != open_[number].failures.end()) {
        row.search.tell_failure(x, failure->second.begin()->second);
        continue;
      }
      double sum = 0;
      for (const double value : values)
        sum += value;
      row.search.tell(x, sum / double(values.size()));
      row.by_seed[x] = values;
    }
    begin_round(number);
  }

  const SolveOptions& options_;
  std::string text_;
  SolveReport& report_;
  std::vector<Round> open_;
  std::vector<Task> tasks_;
  std::deque<std::size_t> queue_;
  ProgressLine* line_ = nullptr;
};

void add_rows(const SolveOptions& options, const Scenario& scenario, const std::vector<Knob>& knobs,
              SolveReport& report) {
  std::vector<std::pair<const Protocol*, std::vector<Knob>>> chosen;
  const bool named = !options.run.load.only_protocols.empty();
  for (const Protocol& row : scenario.protocols) {
    if (!named && is_reference(row)) {
      report.notes.push_back(row.name + ": a reference row, left out unless --protocol names it");
      continue;
    }
    std::vector<Knob> own;
    for (const Knob& knob : knobs) {
      if (knob.row.empty() || knob.row == row.name) own.push_back(knob);
    }
    const bool none = std::none_of(own.begin(), own.end(), [](const Knob& knob) {
      return knob.row.empty() || knob.value.has_value();
    });
    if (!named && !own.empty() && none && options.bounds.between.empty()) {
      report.notes.push_back(row.name + ": left out, it has no number at " + own.front().pointer);
    } else if (!own.empty()) {
      chosen.emplace_back(&row, std::move(own));
    } else if (named) {
      throw BadInput("--vary", "", "hits no key that the row '" + row.name + "' reads");
    } else {
      report.notes.push_back(row.name + ": left out, --vary hits keys of other rows only");
    }
  }
  if (chosen.empty()) throw BadInput("--vary", "", "no row is left to solve for");
  SearchRange range;
  range.tolerance = options.tolerance;
  range.dip = options.dip;
  // A lone search asks for two points at once: by what was typed, never by the cores, so that every
  // machine asks for the same points.
  range.points = chosen.size() * options.targets.size() * report.seeds.size() < 4 ? 2 : 1;
  for (auto& [row, own] : chosen) {
    Unknown unknown = unknown_of(std::move(own), options.bounds);
    range.low = unknown.low;
    range.high = unknown.high;
    range.whole = unknown.whole;
    range.may_shrink = unknown.by_default;
    report.rows.emplace_back(row->name, std::move(unknown), range, options.targets);
    report.rows.back().hint = hint_for(*row, report.metric);
  }
}

std::string quoted_word(const std::string& word) {
  const bool plain = word.find_first_of(" '\"\\*?[]{}$&;|<>()~#`") == std::string::npos;
  return plain ? word : "'" + word + "'";
}

// The last solved cell as a run.
std::string next_line(const SolveOptions& options, const SolveReport& report) {
  for (auto row = report.rows.rbegin(); row != report.rows.rend(); ++row) {
    const auto& results = row->search.results();
    for (auto result = results.rbegin(); result != results.rend(); ++result) {
      if (!result->solved) continue;
      std::string line = fmt::format("next: {} run {} --protocol {} --no-train", options.program,
                                     quoted_word(report.file), row->protocol);
      for (const std::uint64_t seed : options.run.load.seeds)
        line += fmt::format(" --seed {}", seed);
      std::vector<Setting> settings = options.run.load.settings;
      for (Setting& setting : settings_at(row->unknown, result->x))
        settings.push_back(std::move(setting));
      for (const Setting& setting : settings)
        line += " --set " + quoted_word(setting.pointer + "=" + setting.value);
      return line + "\n";
    }
  }
  return {};
}

}  // namespace

int solve_command(const SolveOptions& options) {
  check_numbers(options);
  SolveOptions asked = options;
  asked.run.load.no_train = true;
  SolveReport report;
  report.metric = metric_name(options.metric);
  report.file = options.scenario;
  const Loaded loaded = load_with_plans(options.scenario, asked.run.load);
  const std::string text = read_text(options.scenario);
  report.scenario = loaded.scenario.name;
  report.hash = loaded.hash8;
  report.seeds = loaded.scenario.seeds;
  const std::vector<Knob> knobs =
      knobs_of(text, options.scenario, asked.run.load.settings, loaded, options.vary);
  add_rows(asked, loaded.scenario, knobs, report);
  Solver(asked, text, report).run();

  std::size_t solved = 0, cells = 0;
  for (const SolveRow& row : report.rows) {
    for (const SearchResult& result : row.search.results()) {
      cells += 1;
      solved += result.solved ? 1 : 0;
    }
  }
  if (options.json) {
    print(solve_json(report));
  } else if (solved > 0) {
    print(solve_table(report) + next_line(asked, report));
  }
  fmt::print(stderr, "{}", solve_refusals(report));
  return solved == cells ? 0 : solved > 0 ? 5 : 2;
}

}  // namespace skerry
