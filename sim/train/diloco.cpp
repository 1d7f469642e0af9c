#include "sim/train/diloco.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "kernels/parallel.hpp"
#include "sim/base/error.hpp"
#include "sim/train/curve.hpp"
#include "sim/train/plan.hpp"
#include "sim/train/syncer.hpp"

namespace skerry::train {

namespace {

// Learners and syncer take turns: all learners go on, side by side, until each waits for a version
// or a copy that is not there; then the syncer takes every next round whose pulls are there. Who
// computes what from what is fixed by the plan, so turns and threads change the order of work but
// no bit of it.
class Diloco {
 public:
  Diloco(const Scenario& scenario, const Protocol& protocol, const Tape& tape, Trainer& trainer,
         const std::string& label)
      : protocol_(protocol),
        trainer_(trainer),
        label_(label),
        fragments_(trained_fragments(trainer.shape(), protocol)),
        plan_(make_plan(scenario, tape, label)),
        clock_(scenario, trainer, tape),
        curve_(trainer, clock_.total(), scenario.training, result_),
        syncer_(trainer.optimizers(), scenario.learners.size(), fragments_.size(),
                trainer.threads()),
        cursors_(scenario.learners.size()),
        rounds_(plan_.rounds.size()),
        copies_(plan_.copies.size()) {
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      rounds_[i].pulled.resize(plan_.rounds[i].contributions.size());
      rounds_[i].readers = plan_.rounds[i].readers;
    }
  }

  TrainResult run(const OnProgress& progress, Archive* from);

 private:
  struct Cursor {  // where a learner is in its plan, and its state there
    std::size_t life = 0, command = 0, span = 0;
    std::int64_t done_in_span = 0;
    std::int64_t step = 0;
    bool begun = false;  // the life
    State state;
    void describe(Archive& a) { a(life, command, span, done_in_span, step, begun, state); }
  };
  struct RoundState {
    std::vector<std::vector<float>>
        pulled;                  // per contribution; empty until pulled and after the merge
    std::vector<float> version;  // until its last reader has it
    std::atomic<int> readers = 0;
    bool done = false;  // written between the learners' turns only
    void describe(Archive& a) {
      int left = readers;
      a(pulled, version, left, done);
      readers = left;
    }
  };
  struct CopyState {
    State state;
    bool given = false;  // by its donor
    bool ready = false;  // from the next turn on, so that how far learners get in a turn is no race
    void describe(Archive& a) { a(state, given); }
  };

  bool advance(int learner, int worker);  // false when nothing could be done
  bool begin(Cursor& cursor, const Life& life);
  bool step(Cursor& cursor, int learner, const Life& life, std::int64_t until, int worker);
  bool obey(Cursor& cursor, const Command& command);
  void pull(const Cursor& cursor, const Command& command);
  bool overwrite(Cursor& cursor, const Command& command);
  void copy(int to, const State& state);

  bool syncer_turn();  // false when nothing could be done
  void copy_global();
  void start();
  void describe(Archive& a);

  const Fragment& fragment(int p) const { return fragments_[static_cast<std::size_t>(p)]; }

  const Protocol& protocol_;
  Trainer& trainer_;
  const std::string& label_;
  std::vector<Fragment> fragments_;
  Plan plan_;
  TrainResult result_;
  TokenClock clock_;
  Curve curve_;
  State start_;  // after the warm start
  Syncer syncer_;
  std::size_t next_round_ = 0, next_copy_ = 0;
  std::vector<Cursor> cursors_;  // per scenario learner
  std::vector<RoundState> rounds_;
  std::vector<CopyState> copies_;
};

// ---------------------------------------------------------------- learners

bool Diloco::advance(int learner, int worker) {
  Cursor& c = cursors_[static_cast<std::size_t>(learner)];
  const std::vector<Life>& lives = plan_.lives[static_cast<std::size_t>(learner)];
  bool moved = false;
  for (; c.life < lives.size(); ++c.life) {
    const Life& life = lives[c.life];
    if (life.commands.empty()) continue;
    if (!c.begun) {
      if (!begin(c, life)) return moved;
      moved = true;
    }
    for (; c.command < life.commands.size(); ++c.command) {
      const Command& command = life.commands[c.command];
      if (step(c, learner, life, command.step, worker)) moved = true;
      if (!obey(c, command)) return moved;
      moved = true;
    }
    c.begun = false;
  }
  return moved;
}

bool Diloco::begin(Cursor& c, const Life& life) {
  if (life.copy < 0) {
    c.state = start_;
  } else {
    CopyState& copy = copies_[static_cast<std::size_t>(life.copy)];
    if (!copy.ready) return false;
    c.state = std::move(copy.state);
    if (plan_.copies[static_cast<std::size_t>(life.copy)].donor < 0) {
      c.state.full_steps = static_cast<double>(trainer_.warm_start_steps() + life.start);
    }
  }
  c.command = c.span = 0;
  c.done_in_span = 0;
  c.step = life.start;
  c.begun = true;
  return true;
}

bool Diloco::step(Cursor& c, int learner, const Life& life, std::int64_t until, int worker) {
  const bool any = c.step < until;
  while (c.step < until) {
    const StepSpan& span = life.spans[c.span];
    c.step += 1;
    trainer_.step(c.state, trainer_.warm_start_steps() + c.step,
                  {learner, trainer_.trained_tokens(span.tokens)}, worker);
    c.done_in_span += 1;
    if (c.done_in_span == span.n) {
      c.span += 1;
      c.done_in_span = 0;
    }
  }
  return any;
}

bool Diloco::obey(Cursor& c, const Command& command) {
  switch (command.op) {
    case Op::kPull:
      pull(c, command);
      return true;
    case Op::kOverwrite:
      return overwrite(c, command);
    case Op::kCopyOut:
      copy(command.part, c.state);
      return true;
  }
  return false;
}

void Diloco::pull(const Cursor& c, const Command& command) {
  rounds_[static_cast<std::size_t>(command.round)].pulled[static_cast<std::size_t>(command.part)] =
      gather(fragment(command.fragment), c.state.parameters);
}

bool Diloco::overwrite(Cursor& c, const Command& command) {
  const Fragment& p = fragment(command.fragment);
  if (command.round < 0) {
    mix(p, gather(p, start_.parameters), trainer_.optimizers().mixing_alpha, c.state.parameters);
    return true;
  }
  RoundState& round = rounds_[static_cast<std::size_t>(command.round)];
  if (!round.done) return false;
  mix(p, round.version, trainer_.optimizers().mixing_alpha, c.state.parameters);
  if (round.readers.fetch_sub(1) == 1) std::vector<float>().swap(round.version);
  return true;
}

void Diloco::copy(int to, const State& state) {
  CopyState& copy = copies_[static_cast<std::size_t>(to)];
  copy.state = state;
  copy.given = true;
}

// ---------------------------------------------------------------- syncer

// Copies of the global parameters that are due between the last round and the next.
void Diloco::copy_global() {
  for (; next_copy_ < plan_.copies.size(); ++next_copy_) {
    const Copy& planned = plan_.copies[next_copy_];
    if (planned.rounds > next_round_) return;
    if (planned.donor >= 0) continue;
    const std::vector<float> zero(syncer_.parameters().size());
    copy(static_cast<int>(next_copy_), {syncer_.parameters(), zero, zero, 0, 0});
  }
}

bool Diloco::syncer_turn() {
  const std::size_t first = next_round_ + next_copy_;
  copy_global();
  while (next_round_ < rounds_.size() && !curve_.ended()) {
    const Round& planned = plan_.rounds[next_round_];
    RoundState& round = rounds_[next_round_];
    auto& pulled = round.pulled;
    if (std::any_of(pulled.begin(), pulled.end(), [](const auto& p) { return p.empty(); })) break;
    if (!pulled.empty()) {
      result_.rounds.push_back(syncer_.step(fragment(planned.fragment), planned, pulled));
      result_.outer_rounds += 1.0 / protocol_.fragments;
      std::vector<std::vector<float>>().swap(pulled);
    }
    if (planned.readers > 0) {
      round.version = gather(fragment(planned.fragment), syncer_.parameters());
    }
    round.done = true;
    next_round_ += 1;
    curve_.state(clock_.at(planned.t), syncer_.parameters());
    copy_global();
  }
  return next_round_ + next_copy_ > first;
}

// ---------------------------------------------------------------- both

void Diloco::describe(Archive& a) {
  a(next_round_, next_copy_, start_, syncer_, cursors_, curve_);
  for (RoundState& round : rounds_)
    a(round);
  for (CopyState& one : copies_)
    a(one);
}

void Diloco::start() {
  start_ = trainer_.warm_start();
  syncer_.start(start_.parameters);
  curve_.start(syncer_.parameters());
}

TrainResult Diloco::run(const OnProgress& progress, Archive* from) {
  if (from == nullptr) {
    start();
  } else {
    describe(*from);
    from->end();
  }
  const std::vector<int>& learners = protocol_.learners;
  std::vector<char> moved(learners.size());
  while (next_round_ < rounds_.size() && !curve_.ended()) {
    for (CopyState& copy : copies_)
      copy.ready = copy.given;
    kernels::parallel_for(static_cast<int>(learners.size()), trainer_.threads(),
                          [&](int i, int worker) {
                            const auto at = static_cast<std::size_t>(i);
                            moved[at] = advance(learners[at], worker);
                          });
    const bool any = std::find(moved.begin(), moved.end(), char{1}) != moved.end();
    if (!syncer_turn() && !any) {
      throw BadInput(label_, "", "the tape does not fit together: facts that wait for each other");
    }
    if (progress) {
      progress({static_cast<double>(next_round_) / static_cast<double>(rounds_.size()),
                next_round_ == 0 ? 0.0 : plan_.rounds[next_round_ - 1].t, curve_.loss()});
    }
  }
  result_.stopped = result_.stopped && next_round_ < rounds_.size();
  if (result_.stopped) {
    Archive to;
    describe(to);
    result_.snapshot = to.take();
  } else if (!curve_.ended()) {
    curve_.end(syncer_.parameters());
  }
  result_.parameters = syncer_.take();
  return std::move(result_);
}

}  // namespace

TrainResult replay_diloco(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                          Trainer& trainer, const OnProgress& progress, const std::string& label,
                          Archive* from) {
  return Diloco(scenario, protocol, tape, trainer, label).run(progress, from);
}

}  // namespace skerry::train
