#include "sim/run/sweep_work.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/base/error.hpp"
#include "sim/report/timeline.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/one_run.hpp"
#include "sim/run/run_scenario.hpp"

namespace skerry {

namespace fs = std::filesystem;

namespace {

void put(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) throw std::runtime_error("the result cannot be handed over");
    done += std::size_t(n);
  }
}

std::string taken(int fd) {
  std::string text(std::size_t(std::max<off_t>(0, lseek(fd, 0, SEEK_END))), '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  text.resize(std::size_t(std::max<ssize_t>(0, n)));
  return text;
}

}  // namespace

SweepWork::SweepWork(const Sweep& sweep, const Design& design, SweepStore& store,
                     const Shard& shard, bool retry_failed)
    : sweep_(sweep),
      design_(design),
      store_(store),
      shard_(shard),
      retry_failed_(retry_failed),
      wanted_(design.groups.size()),
      values_(design.groups.size()) {
  const std::size_t n = design.groups.size();
  std::map<std::size_t, std::size_t> deciders;  // by combination
  for (std::size_t g = 0; g < n && sweep.until; ++g) {
    const PointGroup& group = design.groups[g];
    if (sweep.protocols[group.row] == sweep.until->protocol) deciders[group.combination] = g;
    alike_[{group.key.timing, group.row}].push_back(g);
  }
  decided_.resize(n);
  for (std::size_t g = 0; g < n; ++g) {
    first_.push_back(g * sweep.seeds.size());
    const auto other = deciders.find(design.groups[g].combination);
    decider_.push_back(other == deciders.end() ? g : other->second);
    decided_[decider_.back()].push_back(g);
  }
  refresh();
}

namespace {

// Of the tape's name.jsonl: name.timeline.json.
std::string timeline_path(const std::string& tape) {
  return fs::path(tape).replace_extension(".timeline.json").string();
}

}  // namespace

void SweepWork::refresh() {
  if (sweep_.keep_tapes) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(store_.folder() + "/tapes", ignored)) {
      const std::string name = entry.path().filename().string();
      std::uint64_t id = 0;
      const auto parsed = std::from_chars(name.data(), name.data() + name.size(), id, 16);
      const bool whole = !sweep_.keep_timelines || fs::exists(timeline_path(entry.path().string()));
      if (std::string_view(parsed.ptr) == ".jsonl" && whole) kept_tapes_.insert(id);
    }
  }
  for (std::size_t g = 0; g < wanted_.size(); ++g)
    read_values(g);
  for (std::size_t g = 0; g < wanted_.size(); ++g)
    want(g);
}

// With `until` a shard must see all seeds of what decides: whole combinations go to one shard.
bool SweepWork::in_shard(std::size_t group, std::size_t index) const {
  if (shard_.count == 1) return true;
  const std::size_t number =
      sweep_.until ? design_.groups[group].combination : first_[group] + index;
  return number % shard_.count == shard_.index;
}

bool SweepWork::is_missing(std::uint64_t id) const {
  const SweepStore::State state = store_.state(id);
  return state == SweepStore::State::kMissing ||
         (retry_failed_ && state == SweepStore::State::kFailed && queued_.count(id) == 0);
}

bool SweepWork::lacks_tape(std::size_t group, std::size_t index) const {
  return sweep_.keep_tapes && kept_tapes_.count(tape_id(design_.groups[group], sweep_, index)) == 0;
}

SweepStore::State SweepWork::state_of(std::size_t group, std::size_t index) const {
  const SweepStore::State state = store_.state(point_id(design_.groups[group], sweep_, index));
  return state == SweepStore::State::kOk && lacks_tape(group, index) ? SweepStore::State::kMissing
                                                                     : state;
}

void SweepWork::read_values(std::size_t group) {
  if (!sweep_.until) return;
  values_[group].resize(sweep_.seeds.size());
  for (std::size_t i = 0; i < sweep_.seeds.size(); ++i) {
    const std::uint64_t id = point_id(design_.groups[group], sweep_, i);
    if (values_[group][i].there || is_missing(id)) continue;
    if (store_.cells(id) == nullptr) continue;  // damaged: to be run again
    values_[group][i].there = true;
    if (store_.state(id) == SweepStore::State::kOk) {
      values_[group][i].value = metric_in(store_.line(id), sweep_.until->metric);
    }
  }
}

void SweepWork::want(std::size_t group) {
  wanted_[group] = sweep_.until ? std::size_t(seeds_wanted(*sweep_.until, values_[decider_[group]]))
                                : sweep_.seeds.size();
}

void SweepWork::want_all_of(std::size_t group) {
  for (const std::size_t g : decided_[group]) {
    want(g);
    enqueue(g);
  }
}

// A point may stand in several groups, where an axis changes nothing of their row: each of them
// waits for its value.
void SweepWork::saw(const std::vector<std::size_t>& alike, std::uint64_t id, std::size_t index,
                    const SeedValue& value) {
  for (const std::size_t g : alike) {
    if (point_id(design_.groups[g], sweep_, index) != id) continue;
    values_[g][index] = value;
    want_all_of(g);
  }
}

SweepWork::Counts SweepWork::counts() const {
  Counts out;
  for (std::size_t g = 0; g < wanted_.size(); ++g) {
    for (std::size_t i = 0; i < wanted_[g]; ++i) {
      const SweepStore::State state = state_of(g, i);
      out.points += 1;
      out.ok += state == SweepStore::State::kOk ? 1 : 0;
      out.failed += state == SweepStore::State::kFailed ? 1 : 0;
      out.missing += state == SweepStore::State::kMissing ? 1 : 0;
    }
  }
  return out;
}

std::size_t SweepWork::to_run() const {
  std::set<std::uint64_t> ids;
  for (std::size_t g = 0; g < wanted_.size(); ++g) {
    for (std::size_t i = 0; i < wanted_[g]; ++i) {
      const std::uint64_t id = point_id(design_.groups[g], sweep_, i);
      if (in_shard(g, i) && (is_missing(id) || lacks_tape(g, i))) ids.insert(id);
    }
  }
  return ids.size();
}

double SweepWork::guessed_left_s() const {
  double total = 0;
  for (std::size_t g = 0; g < wanted_.size(); ++g) {
    for (std::size_t i = 0; i < wanted_[g]; ++i) {
      const bool missing = is_missing(point_id(design_.groups[g], sweep_, i)) || lacks_tape(g, i);
      if (in_shard(g, i) && missing) total += design_.groups[g].guess_s;
    }
  }
  return total;
}

bool SweepWork::shard_has_missing() const {
  for (std::size_t g = 0; g < wanted_.size(); ++g) {
    for (std::size_t i = 0; i < wanted_[g]; ++i) {
      if (in_shard(g, i) && state_of(g, i) == SweepStore::State::kMissing) return true;
    }
  }
  return false;
}

bool SweepWork::shard_has_failed() const {
  for (std::size_t g = 0; g < wanted_.size(); ++g) {
    for (std::size_t i = 0; i < wanted_[g]; ++i) {
      if (in_shard(g, i) &&
          store_.state(point_id(design_.groups[g], sweep_, i)) == SweepStore::State::kFailed) {
        return true;
      }
    }
  }
  return false;
}

void SweepWork::enqueue(std::size_t group) {
  const PointGroup& g = design_.groups[group];
  for (std::size_t i = 0; i < wanted_[group]; ++i) {
    const std::uint64_t id = point_id(g, sweep_, i);
    if (!in_shard(group, i)) continue;
    const bool for_tape = !is_missing(id) && store_.state(id) == SweepStore::State::kOk &&
                          lacks_tape(group, i) &&
                          queued_tapes_.insert(tape_id(g, sweep_, i)).second;
    if ((!for_tape && !is_missing(id)) || !queued_.insert(id).second) continue;
    Task task;
    task.group = group;
    task.index = i;
    task.id = id;
    task.tape = tape_id(g, sweep_, i);
    if (int(i) < g.trained_seeds) tapes_[task.tape].users += 1;
    queue_.push_back(tasks_.size());
    tasks_.push_back(task);
  }
}

// A tape that several trainings share is made by the first of them; the others wait for it.
std::optional<std::size_t> SweepWork::next() {
  while (!queue_.empty()) {
    const std::size_t number = queue_.front();
    queue_.pop_front();
    Task& task = tasks_[number];
    const auto tape = tapes_.find(task.tape);
    if (tape != tapes_.end() && int(task.index) < design_.groups[task.group].trained_seeds &&
        (tape->second.users > 1 || sweep_.keep_tapes)) {
      if (tape->second.state == TapeState::kMaking) {
        tape->second.held.push_back(number);
        continue;
      }
      task.reads_tape = tape->second.state == TapeState::kReady;
      task.writes_tape = !task.reads_tape;
      if (task.writes_tape) tape->second.state = TapeState::kMaking;
    } else {
      task.writes_tape = sweep_.keep_tapes;
    }
    task.result = memfd_create("result", MFD_CLOEXEC);
    if (task.result < 0) throw std::runtime_error("no memory for a result");
    return number;
  }
  return std::nullopt;
}

std::string SweepWork::tape_path(std::uint64_t tape) const {
  const std::string name = "/" + hex16(tape) + ".jsonl";
  if (sweep_.keep_tapes) return store_.folder() + "/tapes" + name;
  return own_tapes() + name;
}

std::string SweepWork::own_tapes() const {
  return fmt::format("{}/.tapes-{}-of-{}-{}", store_.folder(), shard_.index + 1, shard_.count,
                     host_name());
}

void SweepWork::drop_tapes() const {
  std::error_code ignored;
  fs::remove_all(own_tapes(), ignored);
  const Counts all = counts();
  if (shard_.count > 1 || all.ok < all.points) return;
  // Nobody needs a tape any more: those of machines that went down too.
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(store_.folder(), ignored)) {
    if (entry.path().filename().string().starts_with(".tapes-")) left.push_back(entry.path());
  }
  for (const fs::path& tapes : left)
    fs::remove_all(tapes, ignored);
}

void SweepWork::body(std::size_t number, int threads, const OnProgress& progress) {
  store_.close_in_child();
  const Task& task = tasks_[number];
  const PointGroup& group = design_.groups[task.group];
  const bool trained = int(task.index) < group.trained_seeds;
  Combination combination = sweep_.combinations[group.combination];
  if (trained) combination.settings.push_back({"/training/seeds", "1"});
  Loaded loaded = with_plans(load_combination(sweep_, combination, {sweep_.protocols[group.row]},
                                              {sweep_.seeds[task.index]}, !trained));
  loaded.hash8 = hex16(task.tape).substr(0, 8);  // the same for all that share the tape
  const std::string path = tape_path(task.tape);
  const auto keep = [&](const Tape& tape) {
    const std::string half =
        fmt::format("{}.{}-of-{}-{}-{}", path, shard_.index + 1, shard_.count, host_name(), number);
    write_parts(half, [&tape](const TapeSink& sink) { write_tape(tape, sink); });
    if (sweep_.keep_timelines) {  // first, since a tape says that both are there
      const std::string half_timeline = half + ".timeline";
      write_parts(half_timeline, [&](const TapeSink& sink) {
        write_timeline(loaded.scenario, loaded.scenario.protocols[0], tape, {}, sink);
      });
      fs::rename(half_timeline, timeline_path(path));
    }
    fs::rename(half, path);
  };
  const Played played =
      play(loaded, {0, 0, trained}, {task.reads_tape ? path : "", loaded.hash8, ""}, threads,
           task.writes_tape ? std::function<void(const Tape&)>(keep) : nullptr, progress);
  put(task.result, point_result_json(played.record, played.curve));
}

std::string SweepWork::log_file(const Task& task, const ChildResult& result,
                                const PointLine& line) {
  const std::string name = "failed/" + hex16(task.id) + ".log";
  std::string text;
  for (const auto& [axis, value] : line.point)
    text += axis + " = " + value + ", ";
  text += fmt::format("{}, seed {}\n{}\n", line.protocol, line.seed, result.message);
  if (!result.log.empty()) text += "\nthe end of what it printed:\n" + result.log;
  try {
    write_text(store_.folder() + "/" + name, text);
  } catch (const std::exception&) {
    return {};  // the message stands in the record
  }
  return name;
}

void SweepWork::finished(std::size_t number, ChildResult result, const Options& options) {
  Task& task = tasks_[number];
  const PointGroup& group = design_.groups[task.group];
  PointLine line;
  line.id = hex16(task.id);
  for (std::size_t a = 0; a < sweep_.axes.size(); ++a) {
    line.point.emplace_back(sweep_.axes[a].name, sweep_.combinations[group.combination].values[a]);
  }
  line.protocol = sweep_.protocols[group.row];
  line.seed = sweep_.seeds[task.index];
  line.wall_s = result.wall_s;
  if (result.exit_code == 0) {
    line.result = taken(task.result);
  } else {
    line.failure = fmt::format("exit {}: {}", result.exit_code, result.message);
    line.log = log_file(task, result, line);
  }
  ::close(task.result);
  const bool ok = !line.result.empty();
  store_.append(task.id, ok, point_line(line));
  if (ok) {
    std::error_code ignored;  // of an earlier try; the folder goes with its last one
    fs::remove(store_.folder() + "/failed/" + line.id + ".log", ignored);
    fs::remove(store_.folder() + "/failed", ignored);
  }
  shares_ += 1 - task.share;
  task.share = 1;
  if (task.writes_tape && tapes_.count(task.tape) != 0) {
    SharedTape& tape = tapes_[task.tape];
    tape.state = fs::exists(tape_path(task.tape)) ? TapeState::kReady : TapeState::kNone;
    queue_.insert(queue_.begin(), tape.held.begin(), tape.held.end());
    tape.held.clear();
  }
  if (sweep_.until) {
    SeedValue value{true, std::nullopt};
    if (ok) value.value = metric_in(line.result, sweep_.until->metric);
    const std::vector<std::size_t>& alike = alike_.at({group.key.timing, group.row});
    saw(alike, task.id, task.index, value);
  }
  if (options.progress) options.progress(shares_ / double(tasks_.size()));
  if (!ok && options.fail_fast) throw FailedFast{};
}

void SweepWork::drop_half_tapes() const {
  std::error_code ignored;
  const std::string mark =
      fmt::format(".jsonl.{}-of-{}-{}-", shard_.index + 1, shard_.count, host_name());
  std::vector<fs::path> halves;
  for (const auto& entry : fs::directory_iterator(store_.folder() + "/tapes", ignored)) {
    if (entry.path().filename().string().find(mark) == 16) halves.push_back(entry.path());
  }
  for (const fs::path& half : halves)
    fs::remove(half, ignored);
}

void SweepWork::run(const Options& options) {
  drop_half_tapes();
  for (std::size_t g = 0; g < wanted_.size(); ++g)
    enqueue(g);
  for (auto& [id, tape] : tapes_) {
    if (fs::exists(tape_path(id))) tape.state = TapeState::kReady;
  }
  ChildStream stream;
  stream.next = [this] { return next(); };
  stream.waiting = [this] { return queue_.size(); };
  stream.finished = [&](std::size_t task, ChildResult result) {
    finished(task, std::move(result), options);
  };
  stream.progress = [&](std::size_t task, const HowFar& now) {
    shares_ += now.share - tasks_[task].share;
    tasks_[task].share = now.share;
    if (options.progress) options.progress(shares_ / double(tasks_.size()));
  };
  stream.tick = [this] { store_.sync_if_due(); };
  stream.limit_s = options.limit_s;
  stream_children(
      stream,
      [this](std::size_t task, int threads, const OnProgress& progress) {
        body(task, threads, progress);
      },
      options.pool);
}

}  // namespace skerry
