#include "sim/train/data_parallel.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/train/causality.hpp"
#include "sim/train/curve.hpp"

namespace skerry::train {

namespace {

struct Span {  // n equal steps of all its learners, after `before` steps
  double t0 = 0, t1 = 0;
  std::int64_t before = 0, n = 0;
  int learners = 0;                             // as announced
  double tokens = 0;                            // charged, each step, all learners
  std::vector<std::pair<int, double>> charged;  // learner and its tokens of a step
};

// The steps that count, in order.
class NetSteps {
 public:
  explicit NetSteps(const std::string& label) : label_(label) {}

  void next() { fact_ += 1; }

  template <class F>
  void read(const F&) {}  // the shared state does not notice who leaves, joins or saves
  void read(const fact::Reduce& f) { reduce(f); }
  void read(const fact::Steps& f) { step(f); }
  void read(const fact::RollBack& f) { roll_back(f); }

  std::vector<Span> finish() {
    check_last();
    return std::move(spans_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { refuse_fact(label_, fact_, what); }
  std::int64_t done() const { return spans_.empty() ? 0 : spans_.back().before + spans_.back().n; }

  void check_last() const {
    if (spans_.empty()) return;
    const Span& span = spans_.back();
    if (static_cast<int>(span.charged.size()) == span.learners) return;
    refuse("a reduction over " + std::to_string(span.learners) + " learners with steps of " +
           std::to_string(span.charged.size()));
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
    span.charged.emplace_back(f.learner, f.tokens);
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

  const std::string& label_;
  std::size_t fact_ = 0;
  std::vector<Span> spans_;
};

std::vector<Span> net_steps(const Tape& tape, const std::string& label) {
  NetSteps net(label);
  for (const Fact& any : tape.facts) {
    std::visit([&](const auto& f) { net.read(f); }, any);
    net.next();
  }
  return net.finish();
}

// Pass by pass, in learner order.
std::vector<Batch> batches_of(const Span& span, const Trainer& trainer) {
  std::vector<Batch> batches;
  for (const auto& [learner, tokens] : span.charged) {
    for (int pass = 0; pass < trainer.passes(); ++pass)
      batches.push_back({learner, trainer.trained_tokens(tokens / trainer.passes()), pass});
  }
  std::sort(batches.begin(), batches.end(), [](const Batch& a, const Batch& b) {
    return std::pair(a.pass, a.learner) < std::pair(b.pass, b.learner);
  });
  return batches;
}

}  // namespace

void check_data_parallel(const Tape& tape, const std::string& label) {
  net_steps(tape, label);
}

TrainResult replay_data_parallel(const Scenario& scenario, const Protocol& protocol,
                                 const Tape& tape, Trainer& trainer, const OnProgress& progress,
                                 const std::string& label, Archive* from) {
  const std::vector<Span> spans = net_steps(tape, label);
  double total = 0;
  std::int64_t steps = 0, done = 0;
  for (const Span& span : spans) {
    total += span.tokens * static_cast<double>(span.n);
    steps += span.n;
  }

  TrainResult result;
  Curve curve(trainer, total, scenario.training, result);
  State state;
  Progress now;
  const auto describe = [&](Archive& a) { a(done, state, now, curve); };
  if (from != nullptr) {
    describe(*from);
    from->end();
  } else {
    state = trainer.warm_start();
    curve.start(state.parameters);
  }
  for (const Span& span : spans) {
    const std::vector<Batch> batches = batches_of(span, trainer);
    double trained = 0;
    for (const Batch& batch : batches)
      trained += batch.tokens;
    for (std::int64_t i = 1; i <= span.n && !curve.ended(); ++i) {
      if (span.before + i <= done) continue;
      done = span.before + i;
      trainer.synchronous_step(state, trainer.warm_start_steps() + done, batches,
                               protocol.learners.size());
      now.simulated_s =
          span.t0 + (span.t1 - span.t0) * static_cast<double>(i) / static_cast<double>(span.n);
      now.tokens += span.tokens;
      now.trained_tokens += trained;
      curve.state(now, state.parameters);
      if (progress) {
        progress({static_cast<double>(done) / static_cast<double>(steps), now.simulated_s,
                  curve.loss()});
      }
    }
  }
  result.stopped = result.stopped && done < steps;
  if (result.stopped) {
    Archive to;
    describe(to);
    result.snapshot = to.take();
  } else if (!curve.ended()) {
    curve.end(state.parameters);
  }
  result.parameters = std::move(state.parameters);
  return result;
}

}  // namespace skerry::train
