// Random runs of a toy Decoupled DiLoCo, replayed as they are and, beside it, by a slow reference
// that follows the facts one by one in order of dates.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <doctest/doctest.h>

#include "kernels/isa.hpp"
#include "kernels/quantise.hpp"
#include "sim/base/random.hpp"
#include "sim/cost/cost.hpp"
#include "sim/scenario/balanced.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;
using test::kTokensPerStep;

namespace {

constexpr int kFragments = 5;
constexpr int kTicks = 60;

struct Flight {  // a round on the wire
  std::int64_t clock;
  int fragment, participants, arrives;
};
struct Island {
  int period = 1;  // ticks a step
  std::int64_t step = 0;
  bool present = true;
  int back = 0;    // tick at which a lost one has its copy
  int donor = -1;  // of that copy; −1 = the global parameters
  std::int64_t donor_step = 0;
  int life = 0, donor_life = 0;
  int began = 0;  // tick at which its step did
  bool reported = false;
  std::vector<std::pair<std::int64_t, int>> inbox;  // clock, fragment
};

// Facts in order of dates, one Steps fact a step, a tick a second.
class ToyRun {
 public:
  ToyRun(int learners, std::uint64_t seed) : random_(seed, "toy", 0) {
    for (int m = 0; m < learners; ++m) {
      islands_.emplace_back().period = 1 + below(3);
    }
    for (int tick = 1; tick <= kTicks; ++tick) {
      now_ = tick;
      for (int m = 0; m < learners; ++m)
        island(m);
      land();
      syncer();
    }
  }
  const std::vector<Fact>& facts() const { return facts_; }

 private:
  int below(int n) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(n))); }
  Island& at(int m) { return islands_[static_cast<std::size_t>(m)]; }

  void island(int m) {
    Island& me = at(m);
    if (!me.present) {
      if (now_ == me.back) come_back(m);
      return;
    }
    if (now_ - me.began == me.period) step(m);
    if (below(25) == 0) crash(m);
  }

  void step(int m) {
    Island& me = at(m);
    me.step += 1;
    me.began = now_;
    me.reported = true;
    const double tokens = below(6) == 0 ? 600 : kTokensPerStep;
    facts_.push_back(
        fact::Steps{now_ - me.period + 0.0, now_ + 0.0, 1, 0, 0, tokens, me.step, 1, m, 0});
    for (const auto& [clock, p] : me.inbox) {
      facts_.push_back(fact::Overwrite{now_ + 0.0, clock, me.step, me.step, m, p, true});
    }
    me.inbox.clear();
  }

  // Its copy is of the donor's step now, and arrives later, when the donor has gone on.
  void crash(int m) {
    Island& me = at(m);
    me.present = me.reported = false;
    me.inbox.clear();
    me.back = now_ + 2 + below(6);
    me.donor = below(static_cast<int>(islands_.size()));
    if (!at(me.donor).present) me.donor = -1;
    if (me.donor >= 0) me.donor_life = at(me.donor).life;
    me.donor_step = me.donor < 0 ? me.step : at(me.donor).step;
    facts_.push_back(fact::Leave{now_ + 0.0, me.step, m});
  }

  void come_back(int m) {
    Island& me = at(m);
    if (me.donor >= 0 &&
        (!at(me.donor).present ||
         at(me.donor).life != me.donor_life)) {  // the donor died: the global parameters then
      me.donor = -1;
      me.donor_step = me.step;
    }
    me.present = true;
    me.life += 1;
    me.began = now_;
    me.step = me.donor_step;
    facts_.push_back(fact::Copy{now_ + 0.0, me.donor_step, m, me.donor});
    for (const auto& [clock, p] : me.inbox) {
      facts_.push_back(fact::Overwrite{now_ + 0.0, clock, me.step, -1, m, p, false});
    }
    me.inbox.clear();
    facts_.push_back(fact::Join{now_ + 0.0, me.step, m});
  }

  void land() {
    while (!flights_.empty() && flights_.front().arrives <= now_) {
      const Flight f = flights_.front();
      flights_.erase(flights_.begin());
      facts_.push_back(fact::Merge{now_ + 0.0, 0, f.clock, f.fragment, f.participants});
      facts_.push_back(fact::OuterStep{now_ + 0.0, f.clock, f.fragment});
      for (Island& island : islands_) {
        if (below(8) > 0) island.inbox.emplace_back(f.clock, f.fragment);
      }
    }
  }

  void syncer() {
    std::vector<int> reporters;
    for (int m = 0; m < static_cast<int>(islands_.size()); ++m) {
      if (at(m).reported) reporters.push_back(m);
    }
    if (reporters.empty() || below(3) == 0) return;
    clock_ += 1;
    const int p = static_cast<int>(clock_ % kFragments);
    for (const int m : reporters) {
      at(m).reported = false;
      facts_.push_back(fact::Pull{now_ + 0.0, clock_, at(m).step, m, p});
      facts_.push_back(fact::Weigh{clock_, 1, 1, 0.5 * below(4), m, p});
    }
    const int arrives = now_ + 1 + below(3);
    const int last = flights_.empty() ? 0 : flights_.back().arrives;
    flights_.push_back({clock_, p, static_cast<int>(reporters.size()), std::max(arrives, last)});
  }

  RandomStream random_;
  std::vector<Island> islands_;
  std::vector<Flight> flights_;
  std::vector<Fact> facts_;
  std::int64_t clock_ = 0;
  int now_ = 0;
};

// The same run as a protocol writes it: equal consecutive steps are one fact, written when the span
// ends.
std::vector<Fact> in_spans(const std::vector<Fact>& facts, int learners) {
  std::vector<Fact> out;
  std::vector<std::optional<fact::Steps>> open(static_cast<std::size_t>(learners));
  const auto close = [&](int m) {
    auto& span = open[static_cast<std::size_t>(m)];
    if (span) out.push_back(*span);
    span.reset();
  };
  for (const Fact& any : facts) {
    if (const auto* leave = std::get_if<fact::Leave>(&any)) {
      out.push_back(any);
      close(leave->learner);
    } else if (const auto* steps = std::get_if<fact::Steps>(&any)) {
      auto& span = open[static_cast<std::size_t>(steps->learner)];
      if (span && span->tokens == steps->tokens) {
        span->t1 = steps->t1;
        span->n += 1;
      } else {
        close(steps->learner);
        span = *steps;
      }
    } else {
      out.push_back(any);
    }
  }
  for (int m = 0; m < learners; ++m)
    close(m);
  return out;
}

// Follows the facts in order, keeping every learner's state after every step.
class Reference {
 public:
  Reference(const Scenario& s, const Tape& tape)
      : row_(s.training.of_protocol[0]),
        trainer_(s, 0, tape.start.seed, tape.start.horizon_steps, 1),
        learners_(s.learners.size()),
        start_(trainer_.warm_start()) {
    const auto tensors = kernels::tensors(trainer_.shape());
    std::vector<double> sizes;
    for (const auto& t : tensors)
      sizes.push_back(static_cast<double>(t.size));
    const std::vector<int> of = balanced_fragments(sizes, kFragments);
    fragments_.resize(kFragments);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      fragments_[static_cast<std::size_t>(of[i])].push_back(tensors[i]);
    }
    global_ = start_.parameters;
    momentum_.assign(global_.size(), 0.0f);
    for (auto& history : learners_)
      history[0] = start_;
    for (const Fact& any : tape.facts) {
      std::visit([&](const auto& f) { read(f); }, any);
    }
  }
  const std::vector<float>& global() const { return global_; }

 private:
  using History = std::map<std::int64_t, train::State>;
  History& of(int m) { return learners_[static_cast<std::size_t>(m)]; }

  template <class F>
  void read(const F&) {}
  void read(const fact::Steps& f) {
    train::State state = of(f.learner).at(f.first - 1);
    trainer_.step(state, trainer_.warm_start_steps() + f.first,
                  {f.learner, trainer_.trained_tokens(f.tokens)}, 0);
    of(f.learner)[f.first] = state;
  }
  void read(const fact::Pull& f) {
    pulled_[f.clock][f.learner] = {of(f.learner).at(f.pulled_step).parameters, lives_[f.learner]};
  }
  void read(const fact::Weigh& f) { weights_[f.clock][f.learner] = f.weight; }
  void read(const fact::OuterStep& f) {
    std::vector<double> weights;
    for (const auto& [m, weight] : weights_[f.clock])
      weights.push_back(weight);
    if (*std::max_element(weights.begin(), weights.end()) > 0) {
      for (const auto& t : fragments_[static_cast<std::size_t>(f.fragment)])
        move(t, f.clock, weights);
    }
    versions_[f.clock] = global_;
  }
  void move(const kernels::TensorInfo& t, std::int64_t clock, const std::vector<double>& weights) {
    const auto own = std::span(global_).subspan(t.offset, t.size);
    std::vector<std::vector<float>> gradients;
    for (const auto& [m, pulled] : pulled_[clock]) {
      std::vector<float>& g = gradients.emplace_back();
      std::vector<float>& left = residuals_[{m, pulled.life, t.name}];
      left.resize(t.size);
      for (std::size_t i = 0; i < t.size; ++i)
        g.push_back(own[i] - pulled.parameters[t.offset + i]);
      if (row_.error_feedback) {
        for (std::size_t i = 0; i < t.size; ++i)
          g[i] += left[i];
      }
      const std::vector<float> whole = g;
      kernels::quantise(row_.wire, g);
      if (weights_[clock][m] <= 0) continue;
      for (std::size_t i = 0; i < t.size; ++i)
        left[i] = whole[i] - g[i];
    }
    std::vector<float> gradient(t.size);
    const auto merge = t.embedding ? kernels::merge_mean : kernels::merge_radial_directional;
    merge({gradients.begin(), gradients.end()}, weights, gradient);
    kernels::nesterov_step(0.7f, 0.9f, gradient, own,
                           std::span(momentum_).subspan(t.offset, t.size));
  }
  void read(const fact::Overwrite& f) {
    std::vector<float>& parameters = of(f.learner).at(f.step).parameters;
    const std::vector<float>& version = versions_.at(f.clock);
    const auto alpha = static_cast<float>(row_.mixing_alpha);
    for (const auto& t : fragments_[static_cast<std::size_t>(f.fragment)]) {
      for (std::size_t i = t.offset; i < t.offset + t.size; ++i) {
        parameters[i] = alpha == 0 ? version[i] : alpha * parameters[i] + (1 - alpha) * version[i];
      }
    }
  }
  void read(const fact::Copy& f) {
    const std::vector<float> zero(global_.size());
    const train::State state =
        f.donor >= 0 ? of(f.donor).at(f.donor_step)
                     : train::State{global_, zero, zero, 0,
                                    static_cast<double>(trainer_.warm_start_steps() +
                                                        f.donor_step)};
    lives_[f.learner] += 1;
    of(f.learner).clear();
    of(f.learner)[f.donor_step] = state;
  }

  TrainingOfProtocol row_;
  train::Trainer trainer_;
  std::vector<History> learners_;
  train::State start_;
  std::vector<std::vector<kernels::TensorInfo>> fragments_;
  std::vector<float> global_, momentum_;
  struct Pulled {
    std::vector<float> parameters;
    int life = 0;
  };
  std::map<int, int> lives_;  // by learner
  std::map<std::tuple<int, int, std::string>, std::vector<float>> residuals_;
  std::map<std::int64_t, std::map<int, Pulled>> pulled_;
  std::map<std::int64_t, std::map<int, double>> weights_;
  std::map<std::int64_t, std::vector<float>> versions_;
};

}  // namespace

TEST_CASE("random runs: the bits of a reference that follows the dates, on any number of threads") {
  int copies = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const int learners = 2 + static_cast<int>(seed % 4);
    Scenario s = test::small_scenario(learners, Family::kDiloco, kFragments);
    TrainingOfProtocol& row = s.training.of_protocol[0];
    row.merge_body = Merge::kRadialDirectional;
    row.wire = static_cast<kernels::Precision>(seed % 8);  // bf16, fp16, int8, fp4, int4, int2
    row.error_feedback = seed % 2 == 0;
    row.mixing_alpha = seed % 3 == 0 ? 0.25 : 0.0;
    const ToyRun run(learners, seed);
    Tape tape;
    tape.start = {"row", seed, "hash", kTicks};
    tape.facts = run.facts();
    const std::vector<float> expected = Reference(s, tape).global();
    const TrainResult one = replay(s, 0, tape, 1, {});
    CHECK(one.parameters == expected);
    CHECK(one.final < one.start);
    for (const Fact& f : tape.facts)
      copies += std::holds_alternative<fact::Copy>(f) ? 1 : 0;

    tape.facts = in_spans(run.facts(), learners);
    CHECK(tape.facts.size() < run.facts().size());
    for (const int threads : {1, 2, 16}) {
      const kernels::Isa before = kernels::current_isa();
      if (threads == 16) kernels::select_isa(kernels::Isa::kAvx2);
      const TrainResult result = replay(s, 0, tape, threads, {});
      kernels::select_isa(before);
      CHECK(result.fingerprint == one.fingerprint);
      REQUIRE(result.rounds.size() == one.rounds.size());
      for (std::size_t i = 0; i < one.rounds.size(); ++i) {
        CHECK(result.rounds[i].merged_norm == one.rounds[i].merged_norm);
        CHECK(result.rounds[i].mean_norm == one.rounds[i].mean_norm);
      }
      REQUIRE(result.curve.size() == one.curve.size());
      for (std::size_t i = 0; i < one.curve.size(); ++i) {
        CHECK(result.curve[i].loss == one.curve[i].loss);
      }
    }
  }
  CHECK(copies > 10);
}

TEST_CASE("data-parallel: the same bits on 1, 2 and 4 threads") {
  Scenario s = test::small_scenario(3, Family::kDataParallel, 1);
  s.training.gradient_shards = 2;
  test::TapeBuilder tape(20);
  tape.reduce(1, 12, {{0, 1000.0}, {1, 1000.0}, {2, 1000.0}})
      .reduce(13, 8, {{0, 1000.0}, {2, 600.0}});
  const TrainResult one = replay(s, 0, tape.tape(), 1, {});
  for (const int threads : {2, 4}) {
    const TrainResult result = replay(s, 0, tape.tape(), threads, {});
    CHECK(result.parameters == one.parameters);
    CHECK(result.final == one.final);
  }
}

TEST_CASE("training that stops at a loss goes on to the same bits, from any point of the curve") {
  int in_flight = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const int learners = 2 + static_cast<int>(seed % 4);
    Scenario s = test::small_scenario(learners, Family::kDiloco, kFragments);
    s.training.evaluations = 8;
    TrainingOfProtocol& row = s.training.of_protocol[0];
    row.merge_body = Merge::kRadialDirectional;
    row.wire = static_cast<kernels::Precision>(seed % 8);
    row.error_feedback = true;
    row.mixing_alpha = 0.25;
    Tape tape;
    tape.start = {"row", seed, "hash", kTicks};
    tape.facts = in_spans(ToyRun(learners, seed).facts(), learners);
    const TrainResult whole = replay(s, 0, tape, 1, {});
    CHECK(!whole.stopped);
    for (const std::size_t point : {0UL, 2UL, 5UL}) {
      Scenario stopping = s;
      stopping.training.stop_at_loss = whole.curve.at(point).loss;
      const TrainResult part = replay(stopping, 0, tape, 2, {});
      REQUIRE(part.stopped);
      REQUIRE(part.curve.size() <= point + 1);  // the loss may have been as low before
      CHECK(part.curve.back().loss <= whole.curve[point].loss);
      CHECK(part.snapshot == replay(stopping, 0, tape, 1, {}).snapshot);
      in_flight += part.rounds.size() < whole.rounds.size() ? 1 : 0;
      ReplayOptions options;
      options.snapshot = part.snapshot;
      tape.start.scenario_hash = "other";  // the same facts under another scenario's name
      const TrainResult rest = replay(s, 0, tape, 2, {}, options);
      CHECK(rest.parameters == whole.parameters);
      CHECK(rest.best == whole.best);
      CHECK(rest.outer_rounds == whole.outer_rounds);
      REQUIRE(rest.curve.size() == whole.curve.size());
      for (std::size_t i = 0; i < rest.curve.size(); ++i) {
        CHECK(rest.curve[i].loss == whole.curve[i].loss);
        CHECK(rest.curve[i].tokens == whole.curve[i].tokens);
        CHECK(rest.curve[i].simulated_s == whole.curve[i].simulated_s);
      }
      REQUIRE(rest.rounds.size() == whole.rounds.size());
      CHECK(rest.rounds.back().merged_norm == whole.rounds.back().merged_norm);
    }
  }
  CHECK(in_flight == 18);
}
