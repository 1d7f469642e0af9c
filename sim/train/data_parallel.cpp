#include "sim/train/data_parallel.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/train/curve.hpp"

namespace skerry::train {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw BadInput("", "", "the tape does not fit together: " + what);
}

struct Span {  // n equal steps of all its learners, after `before` steps
  double t0 = 0, t1 = 0;
  std::int64_t before = 0, n = 0;
  int learners = 0;   // as announced
  double tokens = 0;  // charged, each step, all learners
  std::vector<Batch> batches;
};

// The steps that count, in order.
class NetSteps {
 public:
  explicit NetSteps(const Trainer& trainer) : trainer_(trainer) {}

  template <class F>
  void read(const F&) {}  // the shared state does not notice who leaves, joins or saves
  void read(const fact::Reduce& f) { reduce(f); }
  void read(const fact::Steps& f) { step(f); }
  void read(const fact::RollBack& f) { roll_back(f); }

  const std::vector<Span>& finish() {
    check_last();
    return spans_;
  }

 private:
  std::int64_t done() const { return spans_.empty() ? 0 : spans_.back().before + spans_.back().n; }

  void check_last() const {
    if (!spans_.empty() &&
        static_cast<int>(spans_.back().batches.size()) != spans_.back().learners) {
      refuse("a reduction over " + std::to_string(spans_.back().learners) +
             " learners with steps of " + std::to_string(spans_.back().batches.size()));
    }
  }

  void reduce(const fact::Reduce& f) {
    check_last();
    if (f.first != done() + 1 || f.n < 1) {
      refuse("step " + std::to_string(f.first) + " follows step " + std::to_string(done()));
    }
    spans_.push_back({f.t0, f.t0, f.first - 1, f.n, f.learners, 0, {}});
  }

  void step(const fact::Steps& f) {
    if (spans_.empty() || spans_.back().before + 1 != f.first || spans_.back().n != f.n) {
      refuse("steps from " + std::to_string(f.first) + " without a reduction");
    }
    Span& span = spans_.back();
    span.t1 = std::max(span.t1, f.t1);
    span.tokens += f.tokens;
    span.batches.push_back({f.learner, trainer_.trained_tokens(f.tokens)});
    std::sort(span.batches.begin(), span.batches.end(),
              [](const Batch& a, const Batch& b) { return a.learner < b.learner; });
  }

  void roll_back(const fact::RollBack& f) {
    check_last();
    if (f.to_step < 0 || f.to_step > done()) {
      refuse("a roll back from step " + std::to_string(done()) + " to step " +
             std::to_string(f.to_step));
    }
    while (!spans_.empty() && spans_.back().before >= f.to_step)
      spans_.pop_back();
    if (spans_.empty()) return;
    Span& span = spans_.back();
    const std::int64_t kept = f.to_step - span.before;
    span.t1 =
        span.t0 + (span.t1 - span.t0) * static_cast<double>(kept) / static_cast<double>(span.n);
    span.n = kept;
  }

  const Trainer& trainer_;
  std::vector<Span> spans_;
};

}  // namespace

TrainResult replay_data_parallel(const Scenario& scenario, const Tape& tape, Trainer& trainer,
                                 const std::function<void(double)>& progress) {
  NetSteps net(trainer);
  for (const Fact& any : tape.facts) {
    std::visit([&](const auto& f) { net.read(f); }, any);
  }
  const std::vector<Span>& spans = net.finish();
  double total = 0;
  double steps = 0;
  for (const Span& span : spans) {
    total += span.tokens * static_cast<double>(span.n);
    steps += static_cast<double>(span.n);
  }

  TrainResult result;
  Curve curve(trainer, total, scenario.training.evaluations, result);
  State state = trainer.warm_start();
  curve.start(state.parameters);
  Progress now;
  for (const Span& span : spans) {
    double trained = 0;
    for (const Batch& batch : span.batches)
      trained += batch.tokens;
    for (std::int64_t i = 1; i <= span.n && !curve.diverged(); ++i) {
      const std::int64_t step = span.before + i;
      trainer.synchronous_step(state, trainer.warm_start_steps() + step, span.batches);
      now.simulated_s =
          span.t0 + (span.t1 - span.t0) * static_cast<double>(i) / static_cast<double>(span.n);
      now.tokens += span.tokens;
      now.trained_tokens += trained;
      curve.state(now, state.parameters);
      if (progress) progress(static_cast<double>(step) / steps);
    }
  }
  if (!curve.diverged()) curve.end(state.parameters);
  result.parameters = std::move(state.parameters);
  return result;
}

}  // namespace skerry::train
