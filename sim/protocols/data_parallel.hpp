// Synchronous data-parallel training over all islands: one gradient all-reduce a step, everybody in
// lock-step. The one special case beside the DiLoCo family.
//
// A step: forward, then backward, which makes the gradient in pieces (buckets or layers, anatomy.hpp); the
// all-reduce of a piece may start when all learners have it (the slowest decides) and its lead has passed;
// pieces go one after the other, or share the links. The step ends with compute and the last piece: in
// layers too, since the first layer's, without which the next step cannot begin, is ready last and none is
// larger, so that it is the last to arrive. Law for an idle network of slowest port B (bits/s), volume factor ρ, payload V bits, n buckets, step T:
// max(T + ρV/(nB), T_fwd + T_bwd/n + ρV/B) + lead. With accumulate_steps a step is so many passes.
//
// Failures. Non-elastic: everything stops; `all_slices_back` waits for every chip and goes on;
// `from_checkpoint` restarts the job from the last save. Elastic: after slice_down_s go on with fewer
// slices or islands (batch shrinks, step time stays); a returning slice costs scale_up_s, a returning
// island 3 × the model over the WAN and scale_up_s; all learners wait meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/protocols/exchange.hpp"
#include "sim/protocols/mesh.hpp"
#include "sim/protocols/world.hpp"

namespace skerry {

class DataParallel {
 public:
  explicit DataParallel(World& world);

  // After World::run(): books the step in progress.
  void cut_at_end() { cut(false); }
  std::string waits() const;   // what the job waits for (deadlock message)

 private:
  struct Member {              // one learner's place in the job
    bool joined = false;       // its state is in the job
    Mesh mesh;
  };
  struct Shape {               // what decides the length of a step
    std::uint64_t epoch = 0;   // of the network's capacities
    std::vector<int> learners;
    std::vector<double> step_s;
    double longest_s = 0;
    bool operator==(const Shape&) const = default;
  };

  Task<void> job();
  Task<void> begin();
  Task<void> step();                            // one real step, or what is left of it after a loss
  Task<void> compute_and_send(Shape shape);     // one step
  std::vector<PieceOnWire> on_wire(const Shape& shape, double began);
  std::int64_t calm_steps() const;              // equal steps that nothing can disturb
  Task<void> stretch(std::int64_t n);           // all of them at once
  Task<void> save();
  Task<void> await_start(int m);                // a learner that joins later is an event
  bool save_is_due() const;
  double announced_loss_s() const;              // of a member, when its state would be lost; else kNever
  double save_s() const;                        // of one that begins now

  void cut(bool lost);                          // the step in progress ends here
  bool lost_anything();                         // a mesh holds a slice that is or was away
  bool abort_now();                             // … and the step in progress cannot count
  bool anything_back();                         // a chip is there that no mesh holds

  Task<void> recover();                         // one reaction; the job looks again afterwards
  Task<void> shrink();                          // elastic: go on with what is left
  Task<void> grow();                            // elastic: take back what returned
  Task<void> copy_state(std::vector<int> newcomers, bool* disturbed);
  Task<void> copy_over_wan(std::vector<int> newcomers);
  Task<void> wait_for_all();                    // non-elastic
  Task<void> restart();                         // from the last save
  void forget_corrupt_saves();                  // back to the last one before a silent corruption
  double detection_s() const;                   // until the losses that broke meshes are acted upon
  Task<void> pause(double seconds, Cause cause, bool* disturbed);
  bool all_here() const;                        // every slice of every learner that has started
  bool anybody_here() const;
  void drop_losses();
  void adopt(int learner);
  void all(Cause cause);                        // phase of everybody who is up; the rest is down
  void sort_absent(Cause cause);                // the same for those outside the job
  void stepping(bool on);
  Shape shape_now() const;
  void write_steps(double t0, std::int64_t n, const Shape& shape, double step_s);

  Member& member(int m) { return members_[static_cast<std::size_t>(m)]; }
  const Member& member(int m) const { return members_[static_cast<std::size_t>(m)]; }

  World& w_;
  std::vector<Member> members_;                 // per scenario learner
  Signal event_;                                // the step in progress ended, or hardware changed
  std::vector<Piece> pieces_;                   // of a gradient
  std::vector<int> set_up_;                     // regions of the last exchange
  bool pays_set_up_ = false;                    // the step in progress does
  Shape known_;                                 // shape of the last real step that nothing disturbed
  double known_s_ = 0;                          // and its length
  Shape current_;
  double step_began_ = kNever;                  // kNever: no step in progress
  struct SavePoint {
    double t = 0;
    std::int64_t step = 0;
    double tokens = 0;         // net, of the job
  };
  std::int64_t steps_ = 0;
  double tokens_ = 0;                           // net, of the job
  std::vector<SavePoint> saves_{1};             // the last is the newest; the first is the start
  double checkpoint_every_s_ = kNever;
  double worked_since_save_s_ = 0;
  bool restart_pending_ = false;                // a corruption was found: the state is worthless
  const char* waits_ = "nothing";
  std::vector<Process> starts_;
  Process watcher_, job_;
};

}  // namespace skerry
