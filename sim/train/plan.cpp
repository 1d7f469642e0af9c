#include "sim/train/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sim/train/causality.hpp"

namespace skerry::train {

namespace {

// Dates at which a life's steps ended; asked in the order of steps, or one step back.
class StepEnds {
 public:
  explicit StepEnds(const Life& life) : life_(life), before_(life.start) {}

  double of(std::int64_t step) {
    if (step <= life_.start) return life_.began;
    while (step <= before_)
      before_ -= life_.spans[--span_].n;
    while (step > before_ + life_.spans[span_].n)
      before_ += life_.spans[span_++].n;
    const StepSpan& span = life_.spans[span_];
    return span.t0 +
           (span.t1 - span.t0) * static_cast<double>(step - before_) / static_cast<double>(span.n);
  }

 private:
  const Life& life_;
  std::size_t span_ = 0;
  std::int64_t before_;  // steps done before that span
};

class Planner {
 public:
  Planner(const Scenario& scenario, const std::string& label)
      : scenario_(scenario), label_(label), current_(scenario.learners.size(), 0) {
    plan_.lives.resize(scenario.learners.size());
    for (auto& lives : plan_.lives)
      lives.emplace_back();
  }

  void next() { order_ += 1; }

  template <class F>
  void read(const F&) {}  // facts that move no parameter

  void read(const fact::Steps& f) { step(f); }
  void read(const fact::Pull& f) { pull(f); }
  void read(const fact::Weigh& f) { weigh(f); }
  void read(const fact::Abandon& f) { abandon(f); }
  void read(const fact::Merge& f) { merge(f); }
  void read(const fact::OuterStep& f) { outer_step(f); }
  void read(const fact::Overwrite& f) { overwrite(f); }
  void read(const fact::Copy& f) { copy(f); }
  void read(const fact::Join& f) { join(f); }
  void read(const fact::Leave& f) { current_[at(f.learner)] = kAway; }
  void read(const fact::Reduce&) { refuse("a gradient reduction in a run of the DiLoCo family"); }
  void read(const fact::RollBack&) { refuse("a roll back in a run of the DiLoCo family"); }

  Plan finish();

 private:
  static constexpr int kAway = -1;
  using Key = std::pair<int, std::int64_t>;  // fragment, clock

  struct Pulled {
    int life = 0;
    std::int64_t step = 0;
    std::size_t order = 0;
    double t = 0;
  };
  struct Open {                     // a round before its outer step
    std::map<int, Pulled> pulled;   // by learner
    std::map<int, double> weights;  // by learner
    bool stale_weights = false;     // it begins again: the next weight replaces all
    int participants = -1;          // of its merge; −1: not merged yet
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  [[noreturn]] void refuse(const std::string& what) const { refuse_fact(label_, order_, what); }
  std::string name(int learner) const { return scenario_.learners[at(learner)].name; }
  static std::string round_name(int fragment, std::int64_t clock) {
    return "fragment " + std::to_string(fragment) + " at clock " + std::to_string(clock);
  }
  Life& life(int learner, const char* what);

  void step(const fact::Steps& f);
  void pull(const fact::Pull& f);
  void weigh(const fact::Weigh& f);
  void abandon(const fact::Abandon& f);
  void merge(const fact::Merge& f);
  void outer_step(const fact::OuterStep& f);
  void overwrite(const fact::Overwrite& f);
  void copy(const fact::Copy& f);
  void join(const fact::Join& f);
  void close(int learner, Life& life);

  void check_done(int learner, const Life& life, StepEnds& ends, const Command& command) const;

  const Scenario& scenario_;
  const std::string& label_;
  Plan plan_;
  std::vector<int> current_;  // life of each learner, kAway between leaving and copy
  std::map<Key, Open> open_;
  std::map<Key, int> versions_;  // index of the round that made it
  std::set<std::tuple<int, int, int, std::int64_t>> overwritten_;  // learner, life, fragment, clock
  std::size_t order_ = 0;
};

Life& Planner::life(int learner, const char* what) {
  if (current_[at(learner)] == kAway) {
    refuse(std::string(what) + " of " + name(learner) + ", which is away");
  }
  return plan_.lives[at(learner)][at(current_[at(learner)])];
}

// By date, not by place: a span may be written after its learner has left.
void Planner::step(const fact::Steps& f) {
  auto& lives = plan_.lives[at(f.learner)];
  std::size_t i = lives.size() - 1;
  while (i > 0 && lives[i].began > f.t0)
    --i;
  Life& life = lives[i];
  if (f.first != life.start + life.done + 1 || f.n < 1) {
    refuse("step " + std::to_string(f.first) + " of " + name(f.learner) + " follows step " +
           std::to_string(life.start + life.done));
  }
  life.done += f.n;
  life.spans.push_back({f.n, f.t0, f.t1, f.tokens});
}

void Planner::pull(const fact::Pull& f) {
  life(f.learner, "a pull");
  open_[{f.fragment, f.clock}].pulled[f.learner] = {current_[at(f.learner)], f.pulled_step, order_,
                                                    f.t};
}

void Planner::weigh(const fact::Weigh& f) {
  if (!(f.weight >= 0) || !std::isfinite(f.weight)) {
    refuse("a weight of " + name(f.learner) + " that is not a number of at least 0");
  }
  Open& round = open_[{f.fragment, f.clock}];
  if (!round.pulled.contains(f.learner)) {
    refuse("a weight without a pull: " + name(f.learner) + ", " + round_name(f.fragment, f.clock));
  }
  if (std::exchange(round.stale_weights, false)) round.weights.clear();
  round.weights[f.learner] = f.weight;
}

void Planner::abandon(const fact::Abandon& f) {
  const auto round = open_.find({f.fragment, f.clock});
  if (round == open_.end()) return;
  if (f.restarted) {
    round->second.stale_weights = true;
  } else {
    open_.erase(round);
  }
}

void Planner::merge(const fact::Merge& f) {
  Open& round = open_[{f.fragment, f.clock}];
  if (std::exchange(round.stale_weights, false)) round.weights.clear();
  if (f.participants != static_cast<int>(round.weights.size())) {
    refuse("a merge of " + std::to_string(f.participants) + " with " +
           std::to_string(round.weights.size()) + " weights: " + round_name(f.fragment, f.clock));
  }
  round.participants = f.participants;
}

void Planner::outer_step(const fact::OuterStep& f) {
  const auto found = open_.find({f.fragment, f.clock});
  const std::string which = round_name(f.fragment, f.clock);
  if (found == open_.end() || found->second.participants < 0) {
    refuse("an outer step without a merge: " + which);
  }
  const Open& open = found->second;
  const int index = static_cast<int>(plan_.rounds.size());
  Round round{f.t, f.clock, f.fragment, {}, 0};
  double all = 0;
  for (const auto& [learner, weight] : open.weights) {
    all += weight;
    if (!std::isfinite(all)) refuse("weights that add up to infinity: " + which);
    if (weight <= 0) continue;
    const auto& [life, step, order, t] = open.pulled.at(learner);
    const int part = static_cast<int>(round.contributions.size());
    plan_.lives[at(learner)][at(life)].commands.push_back(
        {t, step, order, Op::kPull, index, f.fragment, part});
    round.contributions.push_back({learner, static_cast<std::uint64_t>(life), weight});
  }
  plan_.rounds.push_back(std::move(round));
  if (!versions_.emplace(Key{f.fragment, f.clock}, index).second)
    refuse("two outer steps: " + which);
  open_.erase(found);
}

void Planner::overwrite(const fact::Overwrite& f) {
  int round = -1;
  if (f.clock != 0) {
    const auto version = versions_.find({f.fragment, f.clock});
    if (version == versions_.end()) {
      refuse("an overwrite before its outer step: " + round_name(f.fragment, f.clock));
    }
    round = version->second;
  }
  if (!overwritten_.emplace(f.learner, current_[at(f.learner)], f.fragment, f.clock).second) {
    refuse("two overwrites of " + name(f.learner) + " with " + round_name(f.fragment, f.clock));
  }
  life(f.learner, "an overwrite")
      .commands.push_back({f.t, f.step, order_, Op::kOverwrite, round, f.fragment, 0});
}

void Planner::copy(const fact::Copy& f) {
  const int index = static_cast<int>(plan_.copies.size());
  plan_.copies.push_back({f.donor, plan_.rounds.size()});
  if (f.donor >= 0) {
    life(f.donor, "a copy")
        .commands.push_back({f.t, f.donor_step, order_, Op::kCopyOut, -1, 0, index});
  }
  auto& lives = plan_.lives[at(f.learner)];
  current_[at(f.learner)] = static_cast<int>(lives.size());
  Life life;
  life.began = f.t;
  life.copy = index;
  life.start = f.donor_step;
  lives.push_back(std::move(life));
}

void Planner::join(const fact::Join& f) {
  Life& own = life(f.learner, "a join without a copy");
  if (own.done > 0) refuse(name(f.learner) + " joins in the middle of its steps");
  if (own.copy < 0 && f.step != 0) {
    refuse(name(f.learner) + " joins without a copy after step " + std::to_string(f.step));
  }
  own.start = f.step;
}

// Refuses what refers to a step that was not done by then. An overwrite may come while the next
// step runs, layer by layer, but not after it.
void Planner::check_done(int learner, const Life& life, StepEnds& ends,
                         const Command& command) const {
  const std::string which = "step " + std::to_string(command.step) + " of " + name(learner);
  if (command.step < life.start || command.step > life.start + life.done) {
    refuse_fact(label_, command.order, which + " is referred to but was not done");
  }
  const double rounding = kDateRounding * std::max(1.0, std::abs(command.t));
  if (ends.of(command.step) > command.t + rounding) {
    refuse_fact(label_, command.order, which + " is referred to before it was done");
  }
  if (command.op != Op::kOverwrite || command.step == life.start + life.done) return;
  if (ends.of(command.step + 1) < command.t - rounding) {
    refuse_fact(label_, command.order,
                "an overwrite after " + which + ", which had done the next one by then");
  }
}

void Planner::close(int learner, Life& life) {
  auto& commands = life.commands;
  std::stable_sort(commands.begin(), commands.end(), [](const Command& a, const Command& b) {
    return std::pair(a.step, a.order) < std::pair(b.step, b.order);
  });
  StepEnds ends(life);
  for (const Command& command : commands)
    check_done(learner, life, ends, command);
  while (!commands.empty() && commands.back().op == Op::kOverwrite)
    commands.pop_back();
  for (const Command& command : commands) {
    if (command.op == Op::kOverwrite && command.round >= 0) {
      plan_.rounds[at(command.round)].readers += 1;
    }
  }
}

Plan Planner::finish() {
  for (std::size_t learner = 0; learner < plan_.lives.size(); ++learner) {
    for (Life& life : plan_.lives[learner])
      close(static_cast<int>(learner), life);
  }
  return std::move(plan_);
}

}  // namespace

Plan make_plan(const Scenario& scenario, const Tape& tape, const std::string& label) {
  Planner planner(scenario, label);
  for (const Fact& any : tape.facts) {
    std::visit([&](const auto& f) { planner.read(f); }, any);
    planner.next();
  }
  return planner.finish();
}

}  // namespace skerry::train
