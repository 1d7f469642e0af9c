// The parts of fold(), for sim/measure and its tests only: a namespace of its own, so that their
// names cannot meet those of other folders. Every function is pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/measure/sums.hpp"

namespace skerry::measure {

// What a learner did over [t0, t1]: steps, a phase, or (both null) a cut step. Pointers into the
// tape.
struct Span {
  double t0 = 0, t1 = 0;
  int slices_away = 0;
  const fact::Steps* steps = nullptr;
  const fact::Phase* phase = nullptr;
  bool lost = false;             // of a cut step
  std::int64_t rolled_back = 0;  // of the steps: the last so many never were

  double middle() const { return t0 + (t1 - t0) / 2; }
  std::int64_t kept() const { return steps == nullptr ? 0 : steps->n - rolled_back; }
};

// Spans of one participating learner in order of date.
struct Timeline {
  int learner = 0;
  const Learner* learner_info = nullptr;
  std::vector<Span> spans;
};

// Seconds of one step by what they were. Waits that rounding left below zero are none.
struct StepParts {
  double compute_s = 0, straggler_wait_s = 0, exposed_s = 0;

  explicit StepParts(const fact::Steps& steps);
  double total_s() const { return compute_s + straggler_wait_s + exposed_s; }
};

// Slack for two dates that should be equal: 1e-9 · max(1, t).
double date_tolerance_s(double t);

// One per Protocol::learners, same order, rolled-back steps marked. Throws Bug when a learner's
// spans do not tile [start_s, end], a span is malformed or belongs to a learner that takes no part.
std::vector<Timeline> timelines(const Scenario& scenario, const Protocol& protocol,
                                const Tape& tape);

// Chip-seconds, learner-seconds, steps and tokens of one learner.
struct Books {
  double allocated = 0;  // chips × (end − start_s)
  Sum productive;
  std::array<Sum, 12> lost;  // by Cause
  Sum compute_s, exposed_s;  // rolled back and lost ones too: the chips did compute
  Sum steps, tokens;         // net
  Sum tokens_computed;       // gross
  Sum busy, idle;  // chip-seconds up: stepping, lost steps too; all other. The rest is away

  void add(const Books& other);
  double booked() const;   // productive + Σ lost
  double waiting() const;  // straggler_wait + waiting_for_quorum + exposed_communication
};

// One per timeline. Throws Bug when Lost facts take more than a learner has done.
std::vector<Books> keep_books(const std::vector<Timeline>& lines, const Tape& tape);

// Cost and energy of the whole: `books` one per timeline, out.wan and out.tokens known. Null
// wherever a chip has no price or no power. Throws Bug when the cost does not close to 1e-9, or
// chips that step, idle and are away are not all allocated ones.
void fold_money(const Scenario& scenario, const std::vector<Timeline>& lines,
                const std::vector<Books>& books, Summary& out);

// Tokens × share of the model's bytes, by what became of them.
struct TokenFate {
  Sum merged, erased, pending;

  void add(const TokenFate& other);
  std::optional<double> merged_share() const;  // merged / all; null without any
  double pending_share() const;                // pending / all
};

// DiLoCo family; one per timeline. Per learner and fragment, tokens wait for a fate from the step
// at which the learner last took the fragment (its base). A pull that entered a finished merge
// saves those up to its pulled_step; an overwrite, a loss of state or a copied state erases the
// rest. A pull entered the merge of its clock unless the learner's overwrite says that it did not
// take part, or the round was restarted (Abandon) and did not weigh the learner again. Throws Bug when
// the steps of one life of a learner are not numbered one after the other, or a learner is overwritten
// by a round that it took part in without a pull or merge.
std::vector<TokenFate> follow_tokens(const Scenario& scenario, const Protocol& protocol,
                                     const std::vector<Timeline>& lines, const Tape& tape);

double uptime_share(const std::vector<Timeline>& lines, double end_s);
// Compute over compute and exposed communication, as compute_utilization, but over a whole number of
// periods of H steps (data-parallel: steps) in steady state: from the start of a step to the start of the
// same step of the period so many periods later, in the second half of the run and behind the first
// period. Null when a learner has not done enough steps. A run too short to use up an overlap of tau steps
// reads too high, by up to tau steps over those counted.
std::optional<double> utilization_of_whole_periods(const Protocol& protocol,
                                                   const std::vector<Timeline>& lines);
Distribution step_intervals(const std::vector<Timeline>& lines);

// When the run was not disturbed by faults: outside [start of a fault, its last recovery + settle_s]. A
// recovery is the repair, or the Join of a learner that has left (a fault without one never ends).
class Calm {
 public:
  Calm(const Tape& tape, double settle_s);
  bool at(double t) const;

 private:
  std::vector<std::pair<double, double>> disturbed_;   // disjoint, ascending
};

// Each fills its own fields of `out`.
void fold_rounds(const Scenario& scenario, const Protocol& protocol, const Tape& tape, Summary& out);
void fold_faults(const Scenario& scenario, const std::vector<Timeline>& lines, const Tape& tape,
                 Summary& out);
void fold_recoveries(const Tape& tape, Summary& out);
void fold_wires(const Tape& tape, Summary& out);

}  // namespace skerry::measure
