// Writes the spans of every learner: at any moment a participating learner is in exactly one open span,
// a phase or a run of steps, and the spans tile [its start, end]. Equal consecutive steps are one fact.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

class Books {
 public:
  Books(const Engine& engine, const Scenario& scenario, const Protocol& protocol, Tape& tape);

  // Not stepping from now on, because of `cause`. The same cause again changes nothing.
  void phase(int learner, Cause cause);

  // DiLoCo family. A step begins now; it ends now as step number `step` with `tokens` charged tokens;
  // or it is cut now: lost (wasted_progress), or cut by the end of the run.
  void start_step(int learner);
  void end_step(int learner, std::int64_t step, double compute_s, double tokens);
  void cut_step(int learner, bool lost);
  // Within a step: it stands still from now on, for peers or for the network, and goes on now.
  void stand_still(int learner, Cause cause);
  void go_on(int learner);
  // n steps since start_step(), the last of them number `step`, ended at t1 ≤ now. The next one began there
  // when t1 is before now.
  void end_steps(int learner, std::int64_t n, std::int64_t step, double compute_s, double tokens, double t1);
  bool stepping(int learner) const { return books_[index(learner)].in_step; }

  // Data-parallel: n whole steps over [t0, now] that the caller timed. Closes what was open at t0.
  void lock_step(int learner, double t0, const fact::Steps& steps);
  // Data-parallel: the step begun at t0 is cut now, lost or by the end of the run: compute first, then
  // straggler_wait up to `longest_s`, then exposed_communication.
  void cut_lock_step(int learner, double t0, double compute_s, double longest_s, bool lost);

  // Slices of the learner that are out of its mesh. Only between steps.
  void slices_away(int learner, int count);

  // Closes every span at now. Steps in progress are cut (not lost).
  void finish();

 private:
  struct Book {
    double start_s = 0;         // allocated from then on
    bool joined = false;        // its start date has come and it is booked
    bool in_step = false;
    bool open_phase = false;
    Cause cause = Cause::kOther;
    int slices_away = 0;
    double since = 0;           // start of the open phase or of the step in progress
    bool still = false;         // the step in progress stands still, since when and for what; and did so
    double still_since = 0;     // before, for …
    Cause still_for = Cause::kOther;
    double straggler_wait_s = 0, exposed_s = 0;
    fact::Steps run;            // n = 0: none
  };
  static std::size_t index(int learner) { return static_cast<std::size_t>(learner); }
  void close_phase(int learner);
  void close_run(int learner);
  void close_phase_at(int learner, double t1);

  const Engine& engine_;
  Tape& tape_;
  std::vector<int> learners_;
  std::vector<Book> books_;
};

}  // namespace skerry
