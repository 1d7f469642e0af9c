// What data-parallel training does about lost and returning chips.
#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/cost/cost.hpp"
#include "sim/protocols/data_parallel.hpp"
#include "sim/protocols/donors.hpp"

namespace skerry {

void DataParallel::sort_absent(Cause cause) {
  for (int m : w_.protocol.learners) {
    if (member(m).joined || w_.learner(m).start_s > w_.engine.now()) continue;
    const int present = w_.fleet.slices_present(m);
    w_.books.slices_away(m, present > 0 ? w_.learner(m).slices - present : 0);
    w_.books.phase(m, present > 0 ? cause : w_.absence(m));
  }
}

void DataParallel::all(Cause cause) {
  sort_absent(cause);
  for (int m : w_.protocol.learners) {
    if (member(m).joined) w_.books.phase(m, w_.fleet.up(m) ? cause : w_.absence(m));
  }
}

bool DataParallel::all_here() const {
  return std::all_of(w_.protocol.learners.begin(), w_.protocol.learners.end(), [&](int m) {
    return w_.learner(m).start_s > w_.engine.now() ||
           w_.fleet.slices_present(m) == w_.learner(m).slices;
  });
}

bool DataParallel::anybody_here() const {
  return std::any_of(w_.protocol.learners.begin(), w_.protocol.learners.end(),
                     [&](int m) { return member(m).joined; });
}

// Meshes shrink to the chips that are there; an island without any leaves the job.
void DataParallel::drop_losses() {
  for (int m : w_.protocol.learners) {
    Member& me = member(m);
    if (!me.joined) continue;
    me.mesh.note_losses(w_.fleet);
    me.mesh.drop();
    me.joined = me.mesh.size() > 0;
    if (me.joined) w_.books.slices_away(m, me.mesh.out());
  }
}

// A pause of everybody. Another loss ends it early.
Task<void> DataParallel::pause(double seconds, Cause cause, bool* disturbed) {
  const double end = w_.engine.now() + seconds;
  for (;;) {
    all(cause);
    if (w_.engine.now() >= end) co_return;
    const bool signalled = co_await event_.until_or(end);
    if (signalled && lost_anything()) {
      *disturbed = true;
      co_return;
    }
  }
}

Task<void> DataParallel::recover() {
  if (!w_.protocol.elastic) {
    // Only a learner that joins later can be new while nothing is lost: the job saves before it restarts.
    const bool restarts = w_.protocol.recovery.resume == Resume::kFromCheckpoint;
    if (restarts && !lost_anything()) co_await save();
    co_await wait_for_all();
    co_return;
  }
  if (lost_anything()) co_await shrink();
  if (!lost_anything() && anything_back()) co_await grow();
}

// The longest of those whose loss is new.
double DataParallel::detection_s() const {
  double longest = 0;
  for (int m : w_.protocol.learners) {
    if (member(m).joined && member(m).mesh.broken()) longest = std::max(longest, w_.detection_s(m));
  }
  return longest;
}

Task<void> DataParallel::shrink() {
  const Recovery& r = w_.protocol.recovery;
  for (;;) {
    lost_anything();   // notes them
    const double silence_s = detection_s();
    drop_losses();
    if (!anybody_here()) {
      co_await restart();
      co_return;
    }
    bool disturbed = false;
    co_await pause(silence_s, Cause::kInfrastructureRecovery, &disturbed);
    if (!disturbed) co_await pause(r.slice_down_s, Cause::kSliceDown, &disturbed);
    if (!disturbed) co_return;
  }
}

Task<void> DataParallel::grow() {
  std::vector<int> newcomers;
  for (int m : w_.protocol.learners) {
    if (!member(m).joined && w_.fleet.up(m) && w_.learner(m).start_s <= w_.engine.now()) {
      newcomers.push_back(m);
    }
  }
  bool disturbed = false;
  if (!newcomers.empty()) co_await copy_state(newcomers, &disturbed);
  if (disturbed) co_return;
  for (int m : w_.protocol.learners) {
    const bool newcomer = std::find(newcomers.begin(), newcomers.end(), m) != newcomers.end();
    if (member(m).joined || newcomer) adopt(m);
  }
  co_await pause(w_.protocol.recovery.scale_up_s, Cause::kScaleUp, &disturbed);
}

// 3 × the model to every returning island while all wait; given up when donor or newcomer is lost.
Task<void> DataParallel::copy_state(std::vector<int> newcomers, bool* disturbed) {
  all(Cause::kScaleUp);
  waits_ = "the state of a returning island";
  Process copies(w_.engine, "state copy", copy_over_wan(newcomers));
  while (!copies.done()) {
    co_await event_.wait();
    if (copies.done()) co_return;
    const bool gone = std::any_of(newcomers.begin(), newcomers.end(),
                                  [&](int m) { return !w_.fleet.up(m); });
    if (gone || lost_anything()) {
      copies.kill();
      *disturbed = true;
      co_return;
    }
  }
}

// One copy per region that has no member yet; inside a region the fan-out is free.
Task<void> DataParallel::copy_over_wan(std::vector<int> newcomers) {
  std::vector<int> members;
  if (!w_.protocol.exchange) newcomers.clear();
  for (int m : w_.protocol.learners) {
    if (member(m).joined) members.push_back(m);
  }
  std::vector<int> regions;
  std::vector<Task<void>> copies;
  for (int m : newcomers) {
    const int region = w_.learner(m).region;
    if (std::find(regions.begin(), regions.end(), region) != regions.end()) continue;
    regions.push_back(region);
    const int donor = nearest(w_.scenario, w_.network, members, region);
    copies.push_back(w_.network.transfer(w_.learner(donor).region, region,
                                         recovery_bytes(w_.scenario.charged), FlowClass::kRecovery));
  }
  co_await all_of(w_.engine, std::move(copies));
  event_.notify();
}

// Everything stands still until every chip is back.
Task<void> DataParallel::wait_for_all() {
  const Recovery& r = w_.protocol.recovery;
  bool detected = false;
  for (;;) {
    while (!all_here()) {
      lost_anything();   // notes them
      const double silence_s = detection_s();
      drop_losses();
      all(Cause::kInfrastructureRecovery);
      waits_ = "all chips to be back";
      if (detected) {
        co_await event_.wait();
        continue;
      }
      const double acted = w_.engine.now() + silence_s;
      while (w_.engine.now() < acted) co_await event_.until_or(acted);
      detected = true;
    }
    bool disturbed = false;
    drop_losses();
    if (r.resume == Resume::kFromCheckpoint) {
      co_await restart();
      if (all_here()) co_return;
      continue;
    }
    for (int m : w_.protocol.learners) {
      if (w_.learner(m).start_s <= w_.engine.now()) adopt(m);
    }
    co_await pause(r.slice_down_s, Cause::kSliceDown, &disturbed);
    if (!disturbed) co_await pause(r.scale_up_s, Cause::kScaleUp, &disturbed);
    if (!disturbed) co_return;
  }
}

// The job starts again from its last save with the chips that are there (at least one island).
Task<void> DataParallel::restart() {
  const Recovery& r = w_.protocol.recovery;
  waits_ = "an island to restart on";
  const auto up = [&](int m) { return w_.fleet.up(m) && w_.learner(m).start_s <= w_.engine.now(); };
  for (;;) {
    drop_losses();
    all(Cause::kInfrastructureRecovery);
    const auto& learners = w_.protocol.learners;
    if (std::none_of(learners.begin(), learners.end(), up)) {
      co_await event_.wait();
      continue;
    }
    for (int m : learners) {
      if (up(m)) adopt(m);
    }
    bool disturbed = false;
    co_await pause(r.restart_s, Cause::kInfrastructureRecovery, &disturbed);
    if (!disturbed) {
      co_await pause(r.checkpoint_restore_s * w_.fleet.storage_slowdown(),
                     Cause::kCheckpointRestore, &disturbed);
    }
    if (disturbed && w_.protocol.elastic) continue;
    if (disturbed) co_return;
    w_.tape.add(fact::RollBack{w_.engine.now(), saves_.back().step});
    steps_ = saves_.back().step;
    w_.lose(tokens_ - saves_.back().tokens);
    tokens_ = saves_.back().tokens;
    worked_since_save_s_ = 0;
    restart_pending_ = false;
    co_return;
  }
}

// Results were wrong from the found date on: what was saved since is worthless too.
void DataParallel::forget_corrupt_saves() {
  const double since = w_.fleet.take_found_corruption_s();
  while (saves_.size() > 1 && saves_.back().t > since) saves_.pop_back();
  restart_pending_ = true;
}

double DataParallel::save_s() const {
  return w_.protocol.recovery.checkpoint_save_s * w_.fleet.storage_slowdown();
}

double DataParallel::announced_loss_s() const {
  double earliest = kNever;
  if (w_.protocol.elastic || checkpoint_every_s_ >= kNever) return earliest;
  for (int m : w_.protocol.learners) {
    if (member(m).joined) earliest = std::min(earliest, w_.fleet.announced_loss_s(m));
  }
  return earliest;
}

// The period is over, or another step would leave no time to save before an announced loss.
bool DataParallel::save_is_due() const {
  if (worked_since_save_s_ >= checkpoint_every_s_ * (1.0 - 1e-12)) return true;
  const double loss = announced_loss_s();
  if (loss >= kNever || worked_since_save_s_ <= 0) return false;
  const double step = known_s_ > 0 ? known_s_ : shape_now().longest_s;
  const double ends = w_.engine.now() + save_s();
  return ends < loss && ends + step >= loss;
}

Task<void> DataParallel::save() {
  bool disturbed = false;
  waits_ = "a checkpoint";
  co_await pause(save_s(), Cause::kCheckpointSave, &disturbed);
  if (disturbed) co_return;
  saves_.push_back({w_.engine.now(), steps_, tokens_});
  worked_since_save_s_ = 0;
  w_.tape.add(fact::Save{w_.engine.now(), steps_});
}

}  // namespace skerry
