// A small scenario and runs of it, made by hand.
#pragma once

#include <string>

#include "sim/report/results.hpp"

namespace skerry::testing {

inline Protocol protocol(const std::string& name, Family family) {
  Protocol p;
  p.name = name;
  p.preset = name;
  p.family = family;
  if (family == Family::kDataParallel) p.anatomy = Anatomy::kBuckets;
  p.learners = {0, 1};
  return p;
}

// Two regions, two learners of 32 chips, 12e9 parameters; data_parallel is the baseline.
inline Scenario scenario(std::vector<std::uint64_t> seeds) {
  Scenario s;
  s.name = "pair";
  s.seeds = std::move(seeds);
  s.stop.tokens = 1e9;
  s.regions = {{"a", 1e9, 1e9}, {"b", 1e9, 1e9}};
  s.links = {{0, 1, 0.01, kUnlimited}, {1, 0, 0.01, kUnlimited}};
  for (int i = 0; i < 2; ++i) {
    Learner learner;
    learner.name = i == 0 ? "x.1" : "y.1";
    learner.region = i;
    learner.chips = 32;
    learner.step_s = 7;
    s.learners.push_back(learner);
  }
  s.charged.parameters = 12e9;
  s.charged.tokens_per_learner_step = 1e6;
  s.protocols = {protocol("data_parallel", Family::kDataParallel),
                 protocol("decoupled_diloco", Family::kDiloco)};
  s.training.of_protocol.resize(2);
  return s;
}

inline RunRecord record(const std::string& protocol, std::uint64_t seed, double tokens_per_s) {
  RunRecord r;
  r.summary.protocol = r.summary.preset = protocol;
  r.summary.status = "ok";
  r.summary.seed = seed;
  r.summary.simulated_s = 3600;
  r.summary.tokens_per_s = tokens_per_s;
  r.summary.tokens = 3600 * tokens_per_s;
  r.summary.chip_seconds_total = 100;
  r.summary.chip_seconds_productive = 60;
  r.summary.goodput = 0.6;
  r.summary.chip_seconds_lost[std::size_t(Cause::kExposedCommunication)] = 20;
  r.summary.chip_seconds_lost[std::size_t(Cause::kStragglerWait)] = 7;
  r.summary.chip_seconds_lost[std::size_t(Cause::kWaitingForQuorum)] = 3;
  r.summary.chip_seconds_lost[std::size_t(Cause::kDown)] = 10;
  return r;
}

inline RunRecord trained(RunRecord r, double final_loss) {
  r.loss = TrainedLoss{3.0, final_loss, final_loss, 3, 2.5, "0123456789abcdef", {}, {}};
  return r;
}

}  // namespace skerry::testing
