// Tapes as a hand may have edited them, and snapshots of something else.
#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/train/replay.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;
using test::TapeBuilder;

namespace {

// What the replay of the tape, written and read again, complains about.
std::string complaint(const Scenario& s, Tape tape,
                      const ReplayOptions& options = {"t.jsonl", "", "s.bin"}) {
  try {
    replay(s, 0, tape_from_jsonl(tape_to_jsonl(tape), "t.jsonl"), 1, {}, options);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

// Line 1 is the start; 2 and 3 steps, 4 … 7 pulls with weights, 8 the merge, 9 the outer step, 10
// and 11 overwrites, 12 the steps behind them.
TapeBuilder good() {
  TapeBuilder tape(10);
  tape.steps(0, 1, 2);
  tape.steps(1, 1, 2).pull(0, 0, 1, 2).pull(1, 0, 1, 2).merge(0, 1, 2);
  tape.overwrite(0, 0, 1, 2).overwrite(1, 0, 1, 2).steps(0, 3, 2).pull(0, 0, 2, 4).merge(0, 2, 1);
  return tape;
}

template <class F>
F& at_line(Tape& tape, std::size_t line) {
  return std::get<F>(tape.facts.at(line - 2));
}

}  // namespace

TEST_CASE("a tape that breaks causality is refused with its line") {
  const Scenario s = test::small_scenario(2, Family::kDiloco, 1);
  CHECK(complaint(s, good().tape()) == "");
  const std::string why = ": the tape does not fit together: ";

  Tape tape = good().tape();
  std::swap(tape.facts[9 - 2], tape.facts[10 - 2]);
  at_line<fact::Overwrite>(tape, 9).t = at_line<fact::OuterStep>(tape, 10).t;
  CHECK(complaint(s, tape) ==
        "t.jsonl: line 9" + why + "an overwrite before its outer step: fragment 0 at clock 1");

  tape = good().tape();
  at_line<fact::Pull>(tape, 6).pulled_step = 3;
  CHECK(complaint(s, tape) ==
        "t.jsonl: line 6" + why + "step 3 of west.2 is referred to but was not done");

  tape = good().tape();
  at_line<fact::Pull>(tape, 4).pulled_step = 3;  // done, but later
  CHECK(complaint(s, tape) ==
        "t.jsonl: line 4" + why + "step 3 of west.1 is referred to before it was done");

  tape = good().tape();
  tape.facts.erase(tape.facts.begin() + 4);  // the pull of line 6
  CHECK(complaint(s, tape) ==
        "t.jsonl: line 6" + why + "a weight without a pull: west.2, fragment 0 at clock 1");

  tape = good().tape();
  tape.facts.erase(tape.facts.begin() + 4, tape.facts.begin() + 6);
  CHECK(complaint(s, tape) ==
        "t.jsonl: line 6" + why + "a merge of 2 with 1 weights: fragment 0 at clock 1");

  tape = good().tape();
  at_line<fact::OuterStep>(tape, 9).t = 1;
  CHECK(complaint(s, tape) == "t.jsonl: line 9" + why + "time runs backwards: 1 s after 4 s");

  tape = good().tape();
  at_line<fact::Steps>(tape, 12).t0 = 0.5;
  CHECK(complaint(s, tape) ==
        "t.jsonl: line 12" + why +
            "time runs backwards: steps from 0.5 s, the learner's last ones ended at 2 s");

  tape = good().tape();
  at_line<fact::Steps>(tape, 12).t1 = 3;
  CHECK(complaint(s, tape).starts_with("t.jsonl: line 12" + why + "it ends at 3 s and begins at"));

  tape = good().tape();
  at_line<fact::Overwrite>(tape, 10).step = 1;  // step 2 had ended before the version was there
  CHECK(complaint(s, tape) == "t.jsonl: line 10" + why +
                                  "an overwrite after step 1 of west.1, which had done the next "
                                  "one by then");

  tape = good().tape();
  tape.facts.erase(tape.facts.begin());
  CHECK(complaint(s, tape) == "t.jsonl: line 11" + why + "step 3 of west.1 follows step 0");
}

TEST_CASE("a horizon and weights that no schedule and no mean can have") {
  const Scenario s = test::small_scenario(2, Family::kDiloco, 1);
  Tape tape = good().tape();
  for (const double horizon : {0.0, -5.0}) {
    tape.start.horizon_steps = horizon;
    CHECK(complaint(s, tape).starts_with("t.jsonl: line 1: found horizon_steps "));
  }
  tape = good().tape();
  for (Fact& any : tape.facts) {
    if (auto* weigh = std::get_if<fact::Weigh>(&any)) weigh->weight = 1e308;
  }
  CHECK(complaint(s, tape).find("weights that add up to infinity: fragment 0 at clock 1") !=
        std::string::npos);
}

TEST_CASE("data-parallel: the line of a step that follows nothing") {
  const Scenario s = test::small_scenario(2, Family::kDataParallel, 1);
  TapeBuilder tape(10);
  tape.reduce(1, 2, {{0, 1000.0}, {1, 1000.0}}).reduce(4, 1, {{0, 1000.0}});
  CHECK(complaint(s, tape.tape()) ==
        "t.jsonl: line 5: the tape does not fit together: step 4 follows step 2");
}

TEST_CASE("a tape of too many steps is refused with both numbers") {
  Scenario s = test::small_scenario(2, Family::kDiloco, 1);
  s.training.steps_at_most = 3;
  CHECK(complaint(s, good().tape()) ==
        "t.jsonl: found 4 steps of a learner of row, allowed 3 to be trained: shorten the run, or "
        "raise /training/steps_at_most");
  s.training.steps_at_most = 4;
  CHECK(complaint(s, good().tape()) == "");
}

TEST_CASE("a tape of another schema is refused") {
  std::string text = tape_to_jsonl(good().tape());
  text.replace(text.find("tape/1"), 6, "tape/2");
  CHECK_THROWS_WITH_AS(tape_from_jsonl(text, "t.jsonl"), doctest::Contains("tape/1"), BadInput);
}

TEST_CASE("a snapshot of something else is refused") {
  Scenario s = test::small_scenario(2, Family::kDiloco, 1);
  s.training.stop_at_loss = 100;  // at t = 0
  const Tape tape = good().tape();
  const TrainResult stopped = replay(s, 0, tape, 1, {});
  REQUIRE(stopped.stopped);
  CHECK(stopped.curve.size() == 1);
  s.training.stop_at_loss.reset();
  ReplayOptions options{"t.jsonl", stopped.snapshot, "s.bin"};
  CHECK(complaint(s, tape, options) == "");

  Scenario other = s;
  other.training.model.layers = 2;
  CHECK(complaint(other, tape, options) ==
        "s.bin: is a snapshot of another model: layers, width, heads, context, vocabulary, batch "
        "are 1, 16, 1, 16, 128, 4; wanted 2, 16, 1, 16, 128, 4");
  other = s;
  other.training.of_protocol[0].inner.rate *= 2;
  CHECK(complaint(other, tape, options) ==
        "s.bin: is a snapshot of training with other settings or another corpus");
  other = s;
  other.training.held_out_share = 0.06;
  CHECK(complaint(other, tape, options) ==
        "s.bin: is a snapshot of training with other settings or another corpus");
  Tape longer = tape;
  longer.facts.pop_back();
  longer.facts.pop_back();
  CHECK(complaint(s, longer, options) == "s.bin: is a snapshot of training on another tape");
  longer = tape;
  longer.start.seed = 8;
  CHECK(complaint(s, longer, options) == "s.bin: is a snapshot of row, seed 7; wanted row, seed 8");

  for (const std::size_t cut : {0UL, 5UL, 17UL, 18UL, 30UL, options.snapshot.size() - 1}) {
    CAPTURE(cut);
    if (cut == 0) continue;  // no snapshot at all: from the start
    const ReplayOptions broken{"t.jsonl", stopped.snapshot.substr(0, cut), "s.bin"};
    CHECK(complaint(s, tape, broken).starts_with("s.bin: is "));
  }
  for (std::size_t at = 0; at < stopped.snapshot.size(); at += stopped.snapshot.size() / 50) {
    CAPTURE(at);
    ReplayOptions broken = options;
    broken.snapshot[at] = static_cast<char>(broken.snapshot[at] ^ 4);
    CHECK(complaint(s, tape, broken).starts_with("s.bin: is "));
  }
  options.snapshot.replace(options.snapshot.find("/2"), 2, "/1");
  CHECK(complaint(s, tape, options) ==
        "s.bin: is a snapshot of another form, allowed skerry snapshot/2");
}
