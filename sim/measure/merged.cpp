#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/cost/anatomy.hpp"
#include "sim/measure/folds.hpp"

namespace skerry::measure {

void TokenFate::add(const TokenFate& other) {
  merged.add(other.merged);
  erased.add(other.erased);
  pending.add(other.pending);
}

std::optional<double> TokenFate::merged_share() const {
  const double all = merged.value() + erased.value() + pending.value();
  if (!(all > 0)) return std::nullopt;
  return merged.value() / all;
}

double TokenFate::pending_share() const {
  const double all = merged.value() + erased.value() + pending.value();
  return all > 0 ? pending.value() / all : 0;
}

namespace {

constexpr std::int64_t kBeforeAllSteps = std::numeric_limits<std::int64_t>::min();
using Clock = std::pair<std::int64_t, int>;  // of the syncer, with the fragment that was due

// Tokens of the steps of one life: between two dates at which the learner lost or took over a
// state.
class Life {
 public:
  bool empty() const { return runs_.empty(); }
  std::int64_t last_step() const { return runs_.back().before + runs_.back().n; }

  void append(const fact::Steps& steps) {
    SKERRY_CHECK(empty() || steps.first == last_step() + 1,
                 "learner " + std::to_string(steps.learner) + " at " + std::to_string(steps.t0) +
                     " s: step " + std::to_string(steps.first) + " follows step " +
                     std::to_string(last_step()));
    runs_.push_back({steps.first - 1, steps.n, steps.tokens, total_});
    total_ += steps.tokens * double(steps.n);
  }

  // Tokens of the life's steps up to and with `step`.
  double until(std::int64_t step) const {
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), step,
                         [](std::int64_t value, const Run& run) { return value <= run.before; });
    if (after == runs_.begin()) return 0;
    const Run& run = *std::prev(after);
    return run.tokens_before + double(std::min(step - run.before, run.n)) * run.tokens;
  }

 private:
  struct Run {
    std::int64_t before = 0, n = 0;
    double tokens = 0, tokens_before = 0;
  };
  std::vector<Run> runs_;
  double total_ = 0;
};

// A learner's state or step number may become another one: its Leave, Copy and Join facts.
struct Change {
  double t = 0;
  int learner = 0;
  std::int64_t joined_at_step = -1;  // −1: not a Join
};

std::optional<Change> change_of(const Fact& fact) {
  if (const auto* join = std::get_if<fact::Join>(&fact)) {
    return Change{join->t, join->learner, join->step};
  }
  if (const auto* leave = std::get_if<fact::Leave>(&fact)) return Change{leave->t, leave->learner};
  if (const auto* copy = std::get_if<fact::Copy>(&fact)) return Change{copy->t, copy->learner};
  return std::nullopt;
}

struct Lives {
  std::vector<Life> lives{1};
  std::vector<bool> begins_life;  // for each of the learner's changes, in order
};

// A Join that goes on with the state and number it had (nothing lost) begins no new life.
Lives lives_of(const Timeline& line, const std::vector<Change>& changes) {
  Lives out;
  std::size_t next = 0;
  const auto append_until = [&](double t) {
    for (; next < line.spans.size() && line.spans[next].middle() < t; ++next) {
      if (line.spans[next].steps != nullptr) out.lives.back().append(*line.spans[next].steps);
    }
  };
  for (const Change& change : changes) {
    append_until(change.t);
    const Life& life = out.lives.back();
    const bool goes_on = !life.empty() && life.last_step() == change.joined_at_step;
    out.begins_life.push_back(!goes_on);
    if (!goes_on) out.lives.emplace_back();
  }
  append_until(kNever);
  return out;
}

// Index of a fact's learner among the timelines.
class LineOf {
 public:
  explicit LineOf(const std::vector<Timeline>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      line_of_.emplace(lines[i].learner, i);
    }
  }
  std::size_t operator()(int learner) const {
    const auto found = line_of_.find(learner);
    SKERRY_CHECK(found != line_of_.end(),
                 "a fact of learner " + std::to_string(learner) + ", which takes no part");
    return found->second;
  }

 private:
  std::map<int, std::size_t> line_of_;
};

// For each Pull of the tape, in order: did it enter a merge that ended?
class Pulls {
 public:
  Pulls(const Tape& tape, const LineOf& line_of, std::size_t learners)
      : of_learner_(learners), losses_(learners, 0) {
    for (const Fact& fact : tape.facts)
      read(fact, line_of);
    for (const Entry& entry : entries_) {
      entered_.push_back(merged_.contains(entry.clock) && entry.valid && !entry.left_out);
    }
  }
  bool entered(std::size_t pull) const { return entered_[pull]; }

 private:
  struct Entry {
    Clock clock;
    int losses = 0;  // times that the learner had lost its state by then
    bool valid = true;
    bool left_out = false;  // the round was restarted and has not weighed it again
  };

  void read(const Fact& fact, const LineOf& line_of) {
    if (const auto* pull = std::get_if<fact::Pull>(&fact)) {
      pulled({pull->clock, pull->fragment}, line_of(pull->learner));
    } else if (const auto* leave = std::get_if<fact::Leave>(&fact)) {
      ++losses_[line_of(leave->learner)];
    } else if (const auto* copy = std::get_if<fact::Copy>(&fact)) {
      ++losses_[line_of(copy->learner)];
    } else if (const auto* merge = std::get_if<fact::Merge>(&fact)) {
      merged_.insert({merge->clock, merge->fragment});
    } else if (const auto* weigh = std::get_if<fact::Weigh>(&fact)) {
      leave_out({weigh->clock, weigh->fragment}, line_of(weigh->learner), false);
    } else if (const auto* abandon = std::get_if<fact::Abandon>(&fact)) {
      for (std::size_t i = 0; i < of_learner_.size(); ++i) {
        leave_out({abandon->clock, abandon->fragment}, i, true);
      }
    } else if (const auto* overwrite = std::get_if<fact::Overwrite>(&fact)) {
      overwritten(*overwrite, line_of(overwrite->learner));
    }
  }

  // A learner's second pull for one clock takes the place of its first.
  void pulled(const Clock& clock, std::size_t i) {
    const auto [place, fresh] = of_learner_[i].try_emplace(clock, entries_.size());
    if (!fresh) entries_[std::exchange(place->second, entries_.size())].valid = false;
    entries_.push_back({clock, losses_[i]});
  }

  void leave_out(const Clock& clock, std::size_t i, bool left_out) {
    const auto place = of_learner_[i].find(clock);
    if (place != of_learner_[i].end()) entries_[place->second].left_out = left_out;
  }

  void overwritten(const fact::Overwrite& overwrite, std::size_t i) {
    const Clock clock{overwrite.clock, overwrite.fragment};
    const auto place = of_learner_[i].find(clock);
    if (overwrite.participated) {
      SKERRY_CHECK(place != of_learner_[i].end() && merged_.contains(clock),
                   "learner " + std::to_string(overwrite.learner) + " at " +
                       std::to_string(overwrite.t) + " s took part in clock " +
                       std::to_string(overwrite.clock) + ", which has no pull or merge of it");
    } else if (place != of_learner_[i].end()) {
      Entry& entry = entries_[place->second];
      if (entry.losses == losses_[i]) entry.valid = false;
    }
  }

  std::vector<std::map<Clock, std::size_t>> of_learner_;  // the pull for each clock
  std::vector<int> losses_;
  std::vector<Entry> entries_;
  std::vector<bool> entered_;
  std::set<Clock> merged_;
};

// One learner's tokens, fragment by fragment, while the tape is read a second time.
class Follower {
 public:
  Follower(Lives lives, const std::vector<double>& weights)
      : lives_(std::move(lives)), weights_(&weights), open_(weights.size()) {}

  void pulled(int fragment, std::int64_t step) {
    open_.at(std::size_t(fragment)).saved = step;  // later pulls are of later steps
  }
  void overwritten(int fragment, std::int64_t step) {
    settle(std::size_t(fragment), step, fate_.erased);
    open_[std::size_t(fragment)] = {step, step};
  }
  void changed() {
    if (lives_.begins_life[change_++]) {
      settle_all(fate_.erased);
      open_.assign(open_.size(), {});
      ++life_;
    }
  }
  TokenFate ended() {
    settle_all(fate_.pending);
    return fate_;
  }

 private:
  struct Open {
    std::int64_t base = kBeforeAllSteps;   // tokens up to here have had their fate
    std::int64_t saved = kBeforeAllSteps;  // and up to here entered a merge
  };

  void settle(std::size_t fragment, std::int64_t step, Sum& rest) {
    const Open& open = open_.at(fragment);
    const Life& life = lives_.lives[life_];
    const double base = life.until(open.base);
    const double all = std::max(base, life.until(step));
    const double saved = std::clamp(life.until(open.saved), base, all);
    fate_.merged.add((*weights_)[fragment] * (saved - base));
    rest.add((*weights_)[fragment] * (all - saved));
  }
  void settle_all(Sum& rest) {
    for (std::size_t p = 0; p < open_.size(); ++p) {
      settle(p, std::numeric_limits<std::int64_t>::max(), rest);
    }
  }

  Lives lives_;
  const std::vector<double>* weights_;
  std::vector<Open> open_;
  TokenFate fate_;
  std::size_t life_ = 0, change_ = 0;
};

// Each fragment's share of the model; equal when the model has none.
std::vector<double> fragment_weights(const ChargedModel& model, const Protocol& row) {
  std::vector<double> weights = fragment_parameters(model, row);
  Sum total;
  for (const double bytes : weights)
    total.add(bytes);
  if (!(total.value() > 0)) return std::vector<double>(std::size_t(row.fragments), 1.0 / row.fragments);
  for (double& weight : weights)
    weight /= total.value();
  return weights;
}

}  // namespace

std::vector<TokenFate> follow_tokens(const Scenario& scenario, const Protocol& protocol,
                                     const std::vector<Timeline>& lines, const Tape& tape) {
  const std::vector<double> weights = fragment_weights(scenario.charged, protocol);
  const LineOf line_of(lines);
  const Pulls pulls(tape, line_of, lines.size());
  std::vector<std::vector<Change>> changes(lines.size());
  for (const Fact& fact : tape.facts) {
    if (const auto change = change_of(fact)) changes[line_of(change->learner)].push_back(*change);
  }
  std::vector<Follower> followers;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    followers.emplace_back(lives_of(lines[i], changes[i]), weights);
  }
  std::size_t pull_index = 0;
  for (const Fact& fact : tape.facts) {
    if (const auto* pull = std::get_if<fact::Pull>(&fact)) {
      if (pulls.entered(pull_index++)) {
        followers[line_of(pull->learner)].pulled(pull->fragment, pull->pulled_step);
      }
    } else if (const auto* overwrite = std::get_if<fact::Overwrite>(&fact)) {
      followers[line_of(overwrite->learner)].overwritten(overwrite->fragment, overwrite->step);
    } else if (const auto change = change_of(fact)) {
      followers[line_of(change->learner)].changed();
    }
  }
  std::vector<TokenFate> fates;
  for (Follower& follower : followers)
    fates.push_back(follower.ended());
  return fates;
}

}  // namespace skerry::measure
