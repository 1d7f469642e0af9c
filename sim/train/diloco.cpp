#include "sim/train/diloco.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "kernels/parallel.hpp"
#include "sim/base/error.hpp"
#include "sim/scenario/balanced.hpp"
#include "sim/cost/cost.hpp"
#include "sim/train/curve.hpp"
#include "sim/train/plan.hpp"

namespace skerry::train {

namespace {

using Fragment = std::vector<kernels::TensorInfo>;

std::vector<Fragment> trained_fragments(const kernels::ModelShape& shape,
                                        const Protocol& protocol) {
  const std::vector<kernels::TensorInfo> tensors = kernels::tensors(shape);
  if (static_cast<std::size_t>(protocol.fragments) > tensors.size()) {
    throw BadInput("", "/training/model",
                   "found a model of " + std::to_string(tensors.size()) +
                       " tensors; allowed: at least the " + std::to_string(protocol.fragments) +
                       " fragments of " + protocol.name);
  }
  std::vector<double> sizes;
  for (const auto& tensor : tensors)
    sizes.push_back(static_cast<double>(tensor.size));
  const std::vector<int> fragment_of = balanced_fragments(sizes, protocol.fragments);
  std::vector<Fragment> fragments(static_cast<std::size_t>(protocol.fragments));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    fragments[static_cast<std::size_t>(fragment_of[i])].push_back(tensors[i]);
  }
  return fragments;
}

// The fragment's tensors, one after the other.
std::vector<float> gather(const Fragment& fragment, const std::vector<float>& parameters) {
  std::size_t size = 0;
  for (const auto& tensor : fragment)
    size += tensor.size;
  std::vector<float> flat;
  flat.reserve(size);
  for (const auto& tensor : fragment) {
    const float* begin = parameters.data() + tensor.offset;
    flat.insert(flat.end(), begin, begin + tensor.size);
  }
  return flat;
}

void scatter(const Fragment& fragment, const std::vector<float>& flat,
             std::vector<float>& parameters) {
  const float* from = flat.data();
  for (const auto& tensor : fragment) {
    std::copy(from, from + tensor.size, parameters.data() + tensor.offset);
    from += tensor.size;
  }
}

// Learners and syncer take turns: all learners go on, side by side, until each waits for a version
// or a copy that is not there; then the syncer takes every next round whose pulls are there. Who
// computes what from what is fixed by the plan, so turns and threads change the order of work but
// no bit of it.
class Diloco {
 public:
  Diloco(const Scenario& scenario, const Protocol& protocol, const Tape& tape, Trainer& trainer)
      : protocol_(protocol),
        trainer_(trainer),
        fragments_(trained_fragments(trainer.shape(), protocol)),
        plan_(make_plan(scenario, tape)),
        clock_(scenario, trainer, tape),
        curve_(trainer, clock_.total(), scenario.training.evaluations, result_),
        cursors_(scenario.learners.size()),
        rounds_(plan_.rounds.size()),
        copies_(plan_.copies.size()) {
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      rounds_[i].pulled.resize(plan_.rounds[i].contributions.size());
      rounds_[i].readers = plan_.rounds[i].readers;
    }
  }

  TrainResult run(const std::function<void(double)>& progress);

 private:
  struct Cursor {  // where a learner is in its plan, and its state there
    std::size_t life = 0, command = 0, span = 0;
    std::int64_t done_in_span = 0;
    std::int64_t step = 0;
    bool begun = false;  // the life
    State state;
  };
  struct RoundState {
    std::vector<std::vector<float>>
        pulled;                  // per contribution; empty until pulled and after the merge
    std::vector<float> version;  // until its last reader has it
    std::atomic<int> readers = 0;
    bool done = false;  // written between the learners' turns only
  };
  struct CopyState {
    State state;
    std::atomic<bool> ready = false;
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
  void merge(std::size_t round);
  void outer_step(std::size_t round);

  const Fragment& fragment(int p) const { return fragments_[static_cast<std::size_t>(p)]; }

  const Protocol& protocol_;
  Trainer& trainer_;
  std::vector<Fragment> fragments_;
  Plan plan_;
  TrainResult result_;
  TokenClock clock_;
  Curve curve_;
  State start_;                                            // after the warm start
  std::vector<float> global_, momentum_, outer_gradient_;  // syncer
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
    scatter(p, gather(p, start_.parameters), c.state.parameters);
    return true;
  }
  RoundState& round = rounds_[static_cast<std::size_t>(command.round)];
  if (!round.done) return false;
  scatter(p, round.version, c.state.parameters);
  if (round.readers.fetch_sub(1) == 1) std::vector<float>().swap(round.version);
  return true;
}

void Diloco::copy(int to, const State& state) {
  CopyState& copy = copies_[static_cast<std::size_t>(to)];
  copy.state = state;
  copy.ready = true;
}

// ---------------------------------------------------------------- syncer

// Copies of the global parameters that are due between the last round and the next.
void Diloco::copy_global() {
  for (; next_copy_ < plan_.copies.size(); ++next_copy_) {
    const Copy& planned = plan_.copies[next_copy_];
    if (planned.rounds > next_round_) return;
    if (planned.donor >= 0) continue;
    const std::vector<float> zero(global_.size());
    copy(static_cast<int>(next_copy_), {global_, zero, zero, 0});
  }
}

bool Diloco::syncer_turn() {
  const std::size_t first = next_round_ + next_copy_;
  copy_global();
  while (next_round_ < rounds_.size() && !curve_.diverged()) {
    const auto& pulled = rounds_[next_round_].pulled;
    if (std::any_of(pulled.begin(), pulled.end(), [](const auto& p) { return p.empty(); })) break;
    if (!pulled.empty()) {
      merge(next_round_);
      outer_step(next_round_);
      result_.outer_rounds += 1.0 / protocol_.fragments;
    }
    const Round& planned = plan_.rounds[next_round_];
    RoundState& round = rounds_[next_round_];
    if (planned.readers > 0) round.version = gather(fragment(planned.fragment), global_);
    round.done = true;
    next_round_ += 1;
    curve_.state(clock_.at(planned.t), global_);
    copy_global();
  }
  return next_round_ + next_copy_ > first;
}

// The outer gradient of every tensor of the fragment, anchored at the syncer's own last version.
void Diloco::merge(std::size_t index) {
  const Round& planned = plan_.rounds[index];
  const Fragment& tensors = fragment(planned.fragment);
  auto& pulled = rounds_[index].pulled;
  std::vector<double> weights;
  for (const Contribution& c : planned.contributions)
    weights.push_back(c.weight);
  std::vector<std::size_t> places;
  std::size_t end = 0;
  for (const auto& tensor : tensors) {
    places.push_back(end);
    end += tensor.size;
  }
  const TrainingOfProtocol& training = trainer_.optimizers();
  kernels::parallel_for(static_cast<int>(tensors.size()), trainer_.threads(), [&](int i, int) {
    const kernels::TensorInfo& tensor = tensors[static_cast<std::size_t>(i)];
    std::vector<std::span<const float>> learners;
    for (const auto& flat : pulled) {
      learners.push_back(std::span(flat).subspan(places[static_cast<std::size_t>(i)], tensor.size));
    }
    const auto anchor = std::span<const float>(global_).subspan(tensor.offset, tensor.size);
    const auto gradient = std::span(outer_gradient_).subspan(tensor.offset, tensor.size);
    const Merge rule = tensor.embedding ? training.merge_embedding : training.merge_body;
    if (rule == Merge::kMean) {
      kernels::merge_mean(anchor, learners, weights, gradient);
    } else {
      kernels::merge_radial_directional(anchor, learners, weights, gradient);
    }
  });
  for (auto& flat : pulled)
    std::vector<float>().swap(flat);
}

void Diloco::outer_step(std::size_t index) {
  const OuterOptimizer& outer = trainer_.optimizers().outer;
  for (const auto& tensor : fragment(plan_.rounds[index].fragment)) {
    kernels::nesterov_step(
        static_cast<float>(outer.rate), static_cast<float>(outer.momentum),
        std::span<const float>(outer_gradient_).subspan(tensor.offset, tensor.size),
        std::span(global_).subspan(tensor.offset, tensor.size),
        std::span(momentum_).subspan(tensor.offset, tensor.size));
  }
}

// ---------------------------------------------------------------- both

TrainResult Diloco::run(const std::function<void(double)>& progress) {
  start_ = trainer_.warm_start();
  global_ = start_.parameters;
  momentum_.assign(global_.size(), 0.0f);
  outer_gradient_.assign(global_.size(), 0.0f);
  curve_.start(global_);
  const std::vector<int>& learners = protocol_.learners;
  std::vector<char> moved(learners.size());
  while (next_round_ < rounds_.size() && !curve_.diverged()) {
    kernels::parallel_for(static_cast<int>(learners.size()), trainer_.threads(),
                          [&](int i, int worker) {
                            const auto at = static_cast<std::size_t>(i);
                            moved[at] = advance(learners[at], worker);
                          });
    const bool any = std::find(moved.begin(), moved.end(), char{1}) != moved.end();
    if (!syncer_turn() && !any) {
      throw BadInput("", "", "the tape does not fit together: facts that wait for each other");
    }
    if (progress) {
      progress(static_cast<double>(next_round_) / static_cast<double>(rounds_.size()));
    }
  }
  if (!curve_.diverged()) curve_.end(global_);
  result_.parameters = std::move(global_);
  return std::move(result_);
}

}  // namespace

TrainResult replay_diloco(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                          Trainer& trainer, const std::function<void(double)>& progress) {
  return Diloco(scenario, protocol, tape, trainer).run(progress);
}

}  // namespace skerry::train
