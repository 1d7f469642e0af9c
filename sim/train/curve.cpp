#include "sim/train/curve.hpp"

#include <algorithm>
#include <cmath>

namespace skerry::train {

namespace {
constexpr double kRounding = 1e-9;  // relative: sums of tokens and step ends are rounded
}

TokenClock::TokenClock(const Scenario& scenario, const Trainer& trainer, const Tape& tape)
    : learners_(scenario.learners.size()) {
  for (const Fact& any : tape.facts) {
    if (const auto* steps = std::get_if<fact::Steps>(&any)) {
      learners_[static_cast<std::size_t>(steps->learner)].spans.push_back(
          {steps->t0, steps->t1, static_cast<double>(steps->n), steps->tokens,
           static_cast<double>(trainer.trained_tokens(steps->tokens))});
      total_ += steps->tokens * static_cast<double>(steps->n);
    } else if (const auto* lost = std::get_if<fact::Lost>(&any)) {
      lost_.push_back(*lost);
      total_ -= lost->tokens;
    }
  }
  for (Learner& learner : learners_) {
    std::stable_sort(learner.spans.begin(), learner.spans.end(),
                     [](const Span& a, const Span& b) { return a.t0 < b.t0; });
  }
  const double full = scenario.charged.tokens_per_learner_step;
  if (full > 0) trained_per_charged_ = trainer.trained_tokens(full) / full;
}

Progress TokenClock::at(double date) {
  Progress progress{date, 0, 0};
  for (Learner& l : learners_) {
    for (; l.next < l.spans.size() && l.spans[l.next].t1 <= date; ++l.next) {
      l.tokens += l.spans[l.next].n * l.spans[l.next].tokens;
      l.trained_tokens += l.spans[l.next].n * l.spans[l.next].trained_tokens;
    }
    double ended = 0;
    if (l.next < l.spans.size() && l.spans[l.next].t0 < date) {
      const Span& span = l.spans[l.next];
      ended = std::floor(span.n * (date - span.t0) / (span.t1 - span.t0) * (1 + kRounding));
    }
    const Span none;
    const Span& span = l.next < l.spans.size() ? l.spans[l.next] : none;
    progress.tokens += l.tokens + ended * span.tokens;
    progress.trained_tokens += l.trained_tokens + ended * span.trained_tokens;
  }
  for (; next_lost_ < lost_.size() && lost_[next_lost_].t <= date; ++next_lost_) {
    lost_tokens_ += lost_[next_lost_].tokens;
  }
  progress.tokens -= lost_tokens_;
  progress.trained_tokens -= lost_tokens_ * trained_per_charged_;
  return progress;
}

void Curve::stop_when_reached() {
  result_.stopped = stop_at_loss_ && !result_.diverged && result_.final <= *stop_at_loss_;
}

void Curve::start(std::span<const float> global) {
  evaluate({}, global);
  stop_when_reached();
}

void Curve::state(const Progress& progress, std::span<const float> global) {
  newest_ = progress;
  evaluated_ = false;
  const double due = total_ * next_ / evaluations_;
  if (total_ <= 0 || progress.tokens < due * (1 - kRounding)) return;
  evaluate(progress, global);
  stop_when_reached();
}

void Curve::end(std::span<const float> global) {
  if (!evaluated_) evaluate(newest_, global);
}

void Curve::describe(Archive& a) {
  a(next_, evaluated_, newest_);
  a(result_.curve, result_.start, result_.final, result_.best, result_.rounds,
    result_.outer_rounds);
}

void Curve::evaluate(const Progress& progress, std::span<const float> global) {
  evaluated_ = true;
  while (total_ > 0 && progress.tokens >= total_ * next_ / evaluations_ * (1 - kRounding))
    ++next_;
  const double loss = trainer_.held_out_loss(global);
  const LossPoint point{progress.simulated_s, progress.tokens, progress.trained_tokens, loss};
  if (!std::isfinite(loss)) {
    result_.diverged = true;
    result_.not_finite = point;
    return;
  }
  if (result_.curve.empty()) result_.start = result_.best = loss;
  result_.best = std::min(result_.best, loss);
  result_.final = loss;
  result_.curve.push_back(point);
}

}  // namespace skerry::train
