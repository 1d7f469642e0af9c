// Small scenarios made by hand, and what tests ask of the tapes they give.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/measure/summary.hpp"
#include "sim/protocols/protocols.hpp"
#include "sim/scenario/scenario.hpp"

namespace worlds {

using namespace skerry;

// `regions` regions "r0", "r1", … with ports of `gbps` (0 = ideal) and links of `latency_s` one way.
inline Scenario regions(int count, double gbps, double latency_s) {
  Scenario s;
  s.name = "test";
  s.seeds = {1};
  for (int r = 0; r < count; ++r) {
    const double rate = gbps > 0 ? bytes_per_s_from_gbps(gbps) : kUnlimited;
    s.regions.push_back({std::string("r").append(std::to_string(r)), rate, rate});
  }
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      if (a != b) s.links.push_back({a, b, latency_s, kUnlimited});
    }
  }
  s.stop.simulated_s = 1000;
  return s;
}

// One learner of 8 chips in `slices` slices.
inline int add_learner(Scenario* s, int region, double step_s, int slices = 2) {
  Learner learner;
  const int m = static_cast<int>(s->learners.size());
  learner.name.append("isl.").append(std::to_string(m + 1));
  learner.group = "isl";
  learner.index_in_group = m;
  learner.region = region;
  learner.chips = 8;
  learner.slices = slices;
  learner.first_global_slice = static_cast<std::int64_t>(m) * slices;
  learner.step_s = step_s;
  s->learners.push_back(learner);
  return m;
}

// A model of `bits` bits on the wire, in equal fragments; 1,000 charged tokens a step.
inline void model(Scenario* s, double bits) {
  s->charged.parameters = bits / 16.0;
  s->charged.wire_bits_per_parameter = 16.0;
  s->charged.tokens_per_learner_step = 1000.0;
}

inline Protocol protocol(const Scenario& s, const std::string& preset) {
  Protocol p;
  p.name = p.preset = preset;
  for (std::size_t m = 0; m < s.learners.size(); ++m) p.learners.push_back(static_cast<int>(m));
  p.quorum = 1;
  if (preset == "data_parallel" || preset == "data_parallel_elastic") {
    p.family = Family::kDataParallel;
    p.anatomy = Anatomy::kBuckets;
    p.elastic = preset == "data_parallel_elastic";
  }
  if (preset == "decoupled_diloco") p.on_loss = OnLoss::kContinue;
  if (preset == "diloco" || preset == "streaming_diloco") {
    p.quorum = static_cast<int>(p.learners.size());
    p.grace = Grace::kOff;
    p.learner_waits = LearnerWaits::kAtOverlap;
    p.overlap_steps = preset == "diloco" ? 0 : 1;
    p.fragments = preset == "diloco" ? 1 : 24;
  }
  return p;
}

inline Fault scripted(FaultKind kind, Target target, double at_s, double for_s, double factor = 1.0) {
  Fault fault;
  fault.name = "f";
  fault.kind = kind;
  fault.targets = {target};
  fault.at_s = at_s;
  fault.for_s = for_s;
  fault.factor = factor;
  return fault;
}

// `learners` learners of two slices and 8 chips in regions of their own, step 10 s, a model of 8 Gbit.
inline Scenario apart(int learners, double gbps) {
  Scenario s = regions(learners, gbps, 0.0);
  for (int m = 0; m < learners; ++m) add_learner(&s, m, 10.0);
  model(&s, 8e9);
  return s;
}

inline Target whole(int learner) { return {TargetKind::kLearner, learner, 0}; }

// The same fault, announced so long before.
inline Fault announced(Fault fault, double notice_s) {
  fault.at_s -= notice_s;
  fault.notice_s = notice_s;
  return fault;
}

struct Run {
  Tape tape;
  Summary summary;
};

inline Run run(Scenario s, const Protocol& p, std::uint64_t seed = 1) {
  s.protocols = {p};
  Run result;
  result.tape = simulate(s, 0, seed, "hash", {});
  result.summary = fold(s, p, result.tape);
  return result;
}

template <class F>
std::vector<F> facts(const Tape& tape) {
  std::vector<F> found;
  for (const Fact& fact : tape.facts) {
    if (const F* f = std::get_if<F>(&fact)) found.push_back(*f);
  }
  return found;
}

inline double lost(const Summary& summary, Cause cause) {
  return summary.chip_seconds_lost[static_cast<std::size_t>(cause)];
}

}  // namespace worlds
