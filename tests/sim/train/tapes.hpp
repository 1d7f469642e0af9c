// Small scenarios and hand-made tapes for the replay's cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry::test {

inline constexpr double kTokensPerStep = 1000;  // charged, of a full learner step

// `learners` learners of one tiny model (64 windowed tokens a step: B 4, T 16) and one protocol.
inline Scenario small_scenario(int learners, Family family, int fragments) {
  Scenario s;
  s.name = "small";
  s.charged.tokens_per_learner_step = kTokensPerStep;
  Protocol protocol;
  protocol.name = "row";
  protocol.family = family;
  protocol.fragments = fragments;
  for (int m = 0; m < learners; ++m) {
    Learner learner;
    learner.name = "west." + std::to_string(m + 1);
    learner.chips = 1;
    learner.step_s = 1;
    s.learners.push_back(learner);
    protocol.learners.push_back(m);
  }
  s.protocols.push_back(protocol);
  Training& t = s.training;
  t.on = true;
  t.corpus = t.corpus_label = "kjv";
  t.model = {"", 1, 16, 1, 16, 128, 4};
  t.evaluation_windows = 16;
  t.evaluations = 4;
  t.warm_start_steps = 3;
  TrainingOfProtocol row;
  row.inner.warm_up_steps = 5;
  t.of_protocol.push_back(row);
  return s;
}

class TapeBuilder {
 public:
  explicit TapeBuilder(double horizon_steps) {
    tape_.start = {"row", 7, "hash", horizon_steps};
    tape_.end.reason = "tokens";
  }

  // Every call happens at a later date than the one before.
  TapeBuilder& steps(int learner, std::int64_t first, std::int64_t n,
                     double tokens = kTokensPerStep) {
    fact::Steps f;
    f.t0 = now_;
    f.t1 = now_ + static_cast<double>(n);
    f.compute_s = 1;
    f.tokens = tokens;
    f.first = first;
    f.n = n;
    f.learner = learner;
    return add(f, static_cast<double>(n));
  }
  TapeBuilder& pull(int learner, int fragment, std::int64_t clock, std::int64_t step,
                    double weight = 1) {
    add(fact::Pull{now_, clock, step, learner, fragment}, 0);
    return add(fact::Weigh{clock, 1, 1, weight, learner, fragment}, 0);
  }
  TapeBuilder& merge(int fragment, std::int64_t clock, int participants) {
    add(fact::Merge{now_, now_, clock, fragment, participants}, 0);
    return add(fact::OuterStep{now_, clock, fragment});
  }
  TapeBuilder& overwrite(int learner, int fragment, std::int64_t clock, std::int64_t step) {
    return add(fact::Overwrite{now_, clock, step, step, learner, fragment, true});
  }
  TapeBuilder& leave(int learner) { return add(fact::Leave{now_, 0, learner}); }
  TapeBuilder& copy(int learner, int donor, std::int64_t donor_step) {
    return add(fact::Copy{now_, donor_step, learner, donor});
  }
  TapeBuilder& join(int learner, std::int64_t step) { return add(fact::Join{now_, step, learner}); }
  TapeBuilder& roll_back(std::int64_t step) { return add(fact::RollBack{now_, step}); }

  // One data-parallel span: (learner, charged tokens) of each.
  TapeBuilder& reduce(std::int64_t first, std::int64_t n,
                      const std::vector<std::pair<int, double>>& learners) {
    add(fact::Reduce{now_, first, n, static_cast<int>(learners.size())}, 0);
    const double t0 = now_;
    for (const auto& [learner, tokens] : learners) {
      now_ = t0;
      steps(learner, first, n, tokens);
    }
    return *this;
  }

  template <class F>
  TapeBuilder& add(const F& f, double seconds = 0.25) {
    tape_.add(f);
    now_ += seconds;
    tape_.end.t = now_;
    return *this;
  }

  double now() const { return now_; }
  const Tape& tape() const { return tape_; }

 private:
  Tape tape_;
  double now_ = 0;
};

}  // namespace skerry::test
