// Small scenarios and tapes for the cases of sim/measure.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/measure/summary.hpp"

namespace skerry::test {

// Learners 0 … n−1, "west.1" …, of 8 chips in 4 slices, learner i in region i; all protocols use
// all.
inline Scenario scenario_of(int learners) {
  Scenario scenario;
  for (int i = 0; i < learners; ++i) {
    Learner learner;
    learner.name = "west." + std::to_string(i + 1);
    learner.chips = 8;
    learner.slices = 4;
    learner.region = i;
    scenario.learners.push_back(learner);
    scenario.regions.push_back({"region-" + std::to_string(i), kUnlimited, kUnlimited});
  }
  return scenario;
}

inline Protocol protocol_of(const Scenario& scenario, Family family, int fragments = 1) {
  Protocol protocol;
  protocol.name = "row";
  protocol.preset = family == Family::kDiloco ? "decoupled_diloco" : "data_parallel";
  protocol.family = family;
  protocol.fragments = fragments;
  for (int i = 0; i < int(scenario.learners.size()); ++i)
    protocol.learners.push_back(i);
  return protocol;
}

struct StepParts {
  double compute_s = 1, straggler_wait_s = 0, exposed_s = 0;
};

// Steps first … first+n−1 from t0 on.
inline fact::Steps steps(int learner, double t0, std::int64_t first, std::int64_t n,
                         StepParts parts, double tokens, int slices_away = 0) {
  fact::Steps out;
  out.t0 = t0;
  out.t1 = t0 + double(n) * (parts.compute_s + parts.straggler_wait_s + parts.exposed_s);
  out.compute_s = parts.compute_s;
  out.straggler_wait_s = parts.straggler_wait_s;
  out.exposed_s = parts.exposed_s;
  out.tokens = tokens;
  out.first = first;
  out.n = n;
  out.learner = learner;
  out.slices_away = slices_away;
  return out;
}

inline fact::Phase phase(int learner, double t0, double t1, Cause cause, int slices_away = 0) {
  return {t0, t1, learner, slices_away, cause};
}

inline fact::Pull pull(int learner, double t, std::int64_t clock, int fragment,
                       std::int64_t pulled_step) {
  return {t, clock, pulled_step, learner, fragment};
}

inline fact::Merge merge(double t, std::int64_t clock, int fragment, int participants = 1) {
  return {t, t, clock, fragment, participants};
}

// pulled_step −1: the learner was away when the fragment was pulled.
inline fact::Overwrite overwrite(int learner, double t, std::int64_t clock, int fragment,
                                 std::int64_t step, std::int64_t pulled_step, bool participated) {
  return {t, clock, step, pulled_step, learner, fragment, participated};
}

inline void end(Tape& tape, double t, double tokens, std::string reason = "tokens") {
  tape.end = {t, tokens, std::move(reason)};
}

inline double lost(const Summary& summary, Cause cause) {
  return summary.chip_seconds_lost[std::size_t(cause)];
}

}  // namespace skerry::test
