// Every island, slice, region, port and link of a small run fails at every date at which something happens
// in it: each run reaches its tokens (a deadlock would be thrown), its ledger closes and its bytes fit its
// ports (fold throws otherwise).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <set>

#include "tests/sim/protocols/worlds.hpp"

using namespace worlds;

namespace {

Scenario small() {
  Scenario s = regions(3, 1.0, 0.05);
  add_learner(&s, 0, 10.0);
  add_learner(&s, 0, 10.5);
  add_learner(&s, 1, 11.0);
  add_learner(&s, 2, 10.0);
  model(&s, 8e9);
  s.stop.tokens = 1e5;
  s.stop.simulated_s = 1e5;
  return s;
}

// Dates of the facts of the calm run, and a moment after each.
std::set<double> dates(const Tape& tape) {
  std::set<double> found;
  const auto add = [&](double t) {
    if (t <= 0 || t >= 250) return;
    found.insert(t);
    found.insert(t + 0.01);
  };
  for (const Fact& fact : tape.facts) {
    if (const auto* f = std::get_if<fact::Close>(&fact)) add(f->t);
    if (const auto* f = std::get_if<fact::Pull>(&fact)) add(f->t);
    if (const auto* f = std::get_if<fact::Merge>(&fact)) add(f->t), add(0.5 * (f->began + f->t));
    if (const auto* f = std::get_if<fact::Overwrite>(&fact)) add(f->t);
    if (const auto* f = std::get_if<fact::Reduce>(&fact)) {
      for (int k = 0; k < 20; ++k) add(f->t0 + 1.37 * k);
    }
    if (const auto* f = std::get_if<fact::Save>(&fact)) add(f->t);
  }
  return found;
}

struct Blow {
  FaultKind kind;
  Target target;
};

std::vector<Blow> blows(const Scenario& s) {
  std::vector<Blow> all;
  for (int m = 0; m < 4; ++m) all.push_back({FaultKind::kIslandDown, {TargetKind::kLearner, m, 0}});
  for (int m : {0, 2}) all.push_back({FaultKind::kSliceDown, {TargetKind::kSlice, m, 0}});
  for (int r = 0; r < 3; ++r) all.push_back({FaultKind::kRegionDark, {TargetKind::kRegion, r, 0}});
  for (int r = 0; r < 3; ++r) all.push_back({FaultKind::kLinkCut, {TargetKind::kPort, r, r % 2}});
  all.push_back({FaultKind::kLinkCut, {TargetKind::kLink, s.link_between(0, 1), 0}});
  return all;
}

// Every `stride`-th date: protocols with many events have thousands.
void beat(const std::string& preset, int stride) {
  const Scenario s = small();
  Protocol p = protocol(s, preset);
  p.sync_period_steps = 8;
  p.fragments = std::min(p.fragments, 8);
  p.recovery.checkpoint_rule = p.elastic ? CheckpointRule::kNone : CheckpointRule::kPeriod;
  p.recovery.checkpoint_every_s = 60;
  p.recovery.restart_s = 20;
  p.recovery.detection_s = 3;
  const Run calm = run(s, p);
  int number = 0;
  for (double t : dates(calm.tape)) {
    for (const Blow& blow : blows(s)) {
      if (number++ % stride != 0) continue;
      Scenario hit = s;
      hit.faults = {scripted(blow.kind, blow.target, t, 40.0)};
      CAPTURE(preset);
      CAPTURE(t);
      CAPTURE(static_cast<int>(blow.kind));
      CAPTURE(blow.target.index);
      const Run r = run(hit, p);
      CHECK(r.tape.end.reason == "tokens");
      CHECK(r.summary.closure_chip_seconds < 1e-9);
      const double other = lost(r.summary, Cause::kOther);
      CHECK(other <= 0.01 * r.summary.chip_seconds_total);
    }
  }
  CHECK(number >= 26);
}

}  // namespace

TEST_CASE("data-parallel under every blow") { beat("data_parallel", 3); }
TEST_CASE("elastic data-parallel under every blow") { beat("data_parallel_elastic", 3); }
TEST_CASE("DiLoCo under every blow") { beat("diloco", 3); }
TEST_CASE("Streaming DiLoCo under every blow") { beat("streaming_diloco", 7); }
TEST_CASE("Decoupled DiLoCo under every blow") { beat("decoupled_diloco", 7); }

TEST_CASE("two blows at once, Decoupled and elastic") {
  const Scenario s = small();
  const std::vector<Blow> all = blows(s);
  for (const char* preset : {"decoupled_diloco", "streaming_diloco", "data_parallel_elastic"}) {
    const Protocol p = protocol(s, preset);
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t b = 0; b < all.size(); ++b) {
        Scenario hit = s;
        hit.faults = {scripted(all[a].kind, all[a].target, 95.3, 60.0),
                      scripted(all[b].kind, all[b].target, 120.0 + static_cast<double>(a), 50.0)};
        CAPTURE(preset);
        CAPTURE(a);
        CAPTURE(b);
        const Run r = run(hit, p);
        CHECK(r.tape.end.reason == "tokens");
        CHECK(r.summary.closure_chip_seconds < 1e-9);
      }
    }
  }
}
