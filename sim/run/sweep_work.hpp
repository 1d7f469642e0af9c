// Running what is missing of a sweep.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/run/children.hpp"
#include "sim/run/sweep_points.hpp"
#include "sim/run/sweep_store.hpp"

namespace skerry {

struct FailedFast {};  // thrown by SweepWork::run after the first failure, when that was asked

// Finds the points to run, and with `until` those that the results ask for. Owns no results: they
// are in the store.
class SweepWork {
 public:
  // `retry_failed`: failed points count as missing.
  SweepWork(const Sweep& sweep, const Design& design, SweepStore& store, const Shard& shard,
            bool retry_failed);

  // All points of the design as far as it is known, this shard's or not.
  struct Counts {
    std::size_t points = 0, ok = 0, failed = 0, missing = 0;
  };
  Counts counts() const;
  std::size_t to_run() const;  // points of this shard that `run` would start with
  std::size_t seeds_of(std::size_t group) const { return wanted_[group]; }
  double guessed_left_s() const;  // of what is missing, on one core

  struct Options {
    PoolOptions pool;
    bool fail_fast = false;
    double limit_s = 0;
    std::function<void(double)> progress;  // share of this shard's work
  };
  void run(const Options& options);
  void refresh();           // after the store was read again: other shards' values count too
  void drop_tapes() const;  // those that were shared and not asked for

  bool shard_has_missing() const;
  bool shard_has_failed() const;

 private:
  struct Task {
    std::size_t group = 0, index = 0;  // index: of the seed
    std::uint64_t id = 0, tape = 0;
    bool writes_tape = false, reads_tape = false;
    int result = -1;  // memory file for the child's answer
    double share = 0;
  };
  enum class TapeState { kNone, kMaking, kReady };
  struct SharedTape {
    int users = 0;  // trained tasks that can use it
    TapeState state = TapeState::kNone;
    std::vector<std::size_t> held;  // tasks that wait for it
  };

  bool in_shard(std::size_t group, std::size_t index) const;
  bool is_missing(std::uint64_t id) const;
  // Of a point: one that lacks the tape that it was to keep is missing too.
  SweepStore::State state_of(std::size_t group, std::size_t index) const;
  bool lacks_tape(std::size_t group, std::size_t index) const;
  // Seed `index` of those of the groups `alike` that have the point `id` has ended (with until).
  void saw(const std::vector<std::size_t>& alike, std::uint64_t id, std::size_t index,
           const SeedValue& value);
  void drop_half_tapes() const;         // of a process of this shard that was killed
  void read_values(std::size_t group);  // metric of `until`, of all seeds that have ended
  void want(std::size_t group);         // sets wanted_ of the group
  void want_all_of(std::size_t group);  // and of those that it decides for
  void enqueue(std::size_t group);
  std::optional<std::size_t> next();
  void body(std::size_t task, int threads, const OnProgress& progress);
  void finished(std::size_t task, ChildResult result, const Options& options);
  std::string tape_path(std::uint64_t tape) const;
  std::string own_tapes() const;  // folder of those that this process shares
  std::string log_file(const Task& task, const ChildResult& result, const PointLine& line);

  const Sweep& sweep_;
  const Design& design_;
  SweepStore& store_;
  Shard shard_;
  bool retry_failed_;
  std::vector<std::size_t>
      first_;  // per group: number of its first point in the order of the design
  std::vector<std::size_t>
      decider_;  // per group: the group whose values decide (itself without until)
  std::vector<std::vector<std::size_t>> decided_;  // per group: those whose decider it is
  // By what names a tape: groups that may share points.
  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<std::size_t>> alike_;
  std::vector<std::size_t> wanted_;             // per group: seeds
  std::vector<std::vector<SeedValue>> values_;  // per group, with until
  std::vector<Task> tasks_;
  std::deque<std::size_t> queue_;
  std::set<std::uint64_t> queued_;        // ids
  std::set<std::uint64_t> kept_tapes_;    // that stand in tapes/, when they are to be kept
  std::set<std::uint64_t> queued_tapes_;  // of points that run again for their tape alone
  std::map<std::uint64_t, SharedTape> tapes_;
  double shares_ = 0;  // sum over tasks
};

// Everything that can be said about the records in the store: table.csv, table.txt,
// statistics.json. Returns the text for people.
std::string write_sweep_tables(const Sweep& sweep, const Design& design, const SweepWork& work,
                               SweepStore& store,
                               const std::vector<std::string>* sensitivity_notes);

}  // namespace skerry
