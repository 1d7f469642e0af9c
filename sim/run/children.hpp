// A pool of forked children: one simulation each, since SimGrid allows one engine a process.
//
// The parent touches neither SimGrid nor oneTBB. A child that throws, exits or is killed is a
// value; the others go on. Children die with their parent.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/how_far.hpp"

namespace skerry {

struct ChildTask {
  std::string label;
  double weight = 1;  // share of the work, for progress; heavier ones start first
};

struct ChildResult {
  int exit_code = 0;    // 0, 2 (BadInput), 3 (CannotGoOn), 4 (anything else)
  std::string message;  // why it failed
  std::string log;      // the end of what a failed child printed
  double wall_s = 0;
};

// Runs in the child.
using ChildBody = std::function<void(std::size_t task, int threads, const OnProgress& progress)>;

struct PoolOptions {  // of run_children, and (but for `progress`) of stream_children
  int cores = 1;
  int jobs = 1;  // children at once, ≥ 1
  int threads =
      0;  // of each child; 0: the free cores shared between this and the tasks still waiting
  // Share of all work done; date and loss are those of the child that told last. May be empty.
  OnProgress progress;
};

// Thrown by run_children after SIGINT or SIGTERM, when all children are gone. Exit code 128 +
// signal.
struct Interrupted {
  int signal = 0;
};

std::vector<ChildResult> run_children(const std::vector<ChildTask>& tasks, const ChildBody& body,
                                      const PoolOptions& options);

// Work that is found while other work runs. All are called in the parent.
struct ChildStream {
  // A task to start now; none: nothing until a running one has finished. The end: none running.
  std::function<std::optional<std::size_t>()> next;
  std::function<std::size_t()> waiting;  // tasks that `next` may still give, for the share of cores
  // May throw: then the running children are killed first.
  std::function<void(std::size_t task, ChildResult result)> finished;
  std::function<void(std::size_t task, const HowFar&)> progress;  // of one task; may be empty
  std::function<void()> tick;  // at least every 50 ms; may be empty
  double limit_s = 0;          // wall time of one child, then it is killed; 0: none
};
void stream_children(const ChildStream& stream, const ChildBody& body, const PoolOptions& options);

// Threads of a child that starts now: fixed at the fork. `free_cores` are those that no running
// child was given, `waiting` the tasks not started (this one too), `free_slots` the children that
// may still start.
int threads_for(int free_cores, int free_slots, int waiting);

}  // namespace skerry
