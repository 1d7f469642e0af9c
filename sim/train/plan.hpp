// A DiLoCo tape, turned around: what each learner does in the order of its steps, and what the
// syncer does in the order of its outer steps. The tape is in order of dates and writes a span of
// steps when it ends, so pulls and overwrites stand before the steps they cut in two; and step
// numbers begin again when a learner comes back. A life is a learner's time between two such
// breaks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry::train {

struct StepSpan {  // n equal steps over [t0, t1]
  std::int64_t n = 0;
  double t0 = 0, t1 = 0;
  double tokens = 0;  // charged, each
};

enum class Op {
  kPull,       // copy the round's fragment into its contribution `part`
  kOverwrite,  // take the round's new version of the fragment; round −1 is the start of the run
  kCopyOut,    // give the whole state to copy `part`
};

struct Command {  // after the life's step `step`
  double t = 0;   // of its fact
  std::int64_t step = 0;
  std::size_t order = 0;  // place on the tape: order among commands of one step
  Op op = Op::kPull;
  int round = -1;
  int fragment = 0;
  int part = 0;
};

struct Life {
  double began = 0;
  int copy = -1;           // its first state: index into `copies`, −1 = the warm start
  std::int64_t start = 0;  // steps done when it begins
  std::int64_t done = 0;   // steps of `spans`
  std::vector<StepSpan> spans;
  std::vector<Command> commands;  // ends with the last whose outcome somebody uses
};

struct Contribution {
  int learner = 0;
  std::uint64_t life = 0;  // of the learner, whose copy it is
  double weight = 0;       // > 0
};

struct Round {  // one merge and its outer step
  double t = 0;
  std::int64_t clock = 0;
  int fragment = 0;
  std::vector<Contribution> contributions;  // in learner order; empty: the round changes nothing
  int readers = 0;                          // overwrites that take its version
};

struct Copy {
  int donor = -1;  // −1: the global parameters after `rounds` outer steps, fresh inner state
  std::size_t rounds = 0;
};

struct Plan {
  std::vector<std::vector<Life>> lives;  // per scenario learner
  std::vector<Round> rounds;             // in order of their outer steps on the tape
  std::vector<Copy> copies;
};

// Requires check_tape_fits and check_dates. BadInput "label: line N: …" when the facts do not fit
// together: steps missing or twice, a merge of fragments nobody pulled, an overwrite before its
// outer step, a pull, overwrite or copy of a step that had not been done by then, …
Plan make_plan(const Scenario& scenario, const Tape& tape, const std::string& label);

}  // namespace skerry::train
