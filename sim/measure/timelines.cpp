#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/measure/folds.hpp"

namespace skerry::measure {

double date_tolerance_s(double t) {
  return 1e-9 * std::max(1.0, std::abs(t));
}

StepParts::StepParts(const fact::Steps& steps)
    : compute_s(std::max(0.0, steps.compute_s)),
      straggler_wait_s(std::max(0.0, steps.straggler_wait_s)),
      exposed_s(std::max(0.0, steps.exposed_s)) {}

namespace {

std::string dates(const Span& span) {
  return "span [" + std::to_string(span.t0) + ", " + std::to_string(span.t1) + "] s";
}

std::string place(const Span& span, const Learner& learner) {
  return "learner " + learner.name + ", " + dates(span) + ": ";
}

void check_steps(const Span& span, const Learner& learner) {
  const fact::Steps& steps = *span.steps;
  SKERRY_CHECK(steps.n >= 1 && steps.first >= 1, place(span, learner) + std::to_string(steps.n) +
                                                     " steps from step " +
                                                     std::to_string(steps.first));
  const double shortest_s = std::min({steps.compute_s, steps.straggler_wait_s, steps.exposed_s});
  SKERRY_CHECK(shortest_s >= -date_tolerance_s(span.t1) && steps.tokens >= 0,
               place(span, learner) + "a negative part of a step");
  const double step_s = StepParts(steps).total_s();
  SKERRY_CHECK(step_s > 0, place(span, learner) + "a step of no length");
  // Every one of the n dates may have been rounded once, to 2^-53 of itself.
  const double slack_s = date_tolerance_s(span.t1) * (1 + 1.2e-7 * double(steps.n));
  SKERRY_CHECK(std::abs(double(steps.n) * step_s - (span.t1 - span.t0)) <= slack_s,
               place(span, learner) + std::to_string(steps.n) + " steps of " +
                   std::to_string(step_s) + " s do not fill it");
}

void check_span(const Span& span, const Learner& learner) {
  SKERRY_CHECK(span.t1 >= span.t0, place(span, learner) + "runs backwards");
  SKERRY_CHECK(span.slices_away >= 0 && span.slices_away <= learner.slices,
               place(span, learner) + std::to_string(span.slices_away) + " of " +
                   std::to_string(learner.slices) + " slices away");
  if (span.steps != nullptr) check_steps(span, learner);
  if (span.phase != nullptr) {
    SKERRY_CHECK(
        span.phase->cause != Cause::kDegraded && span.phase->cause != Cause::kWastedProgress,
        place(span, learner) + "a cause that is booked from other facts");
  }
}

void check_tiling(const Timeline& line, double end_s) {
  const Learner& learner = *line.learner_info;
  double reached_s = std::min(learner.start_s, end_s);
  for (const Span& span : line.spans) {
    check_span(span, learner);
    SKERRY_CHECK(
        std::abs(span.t0 - reached_s) <= date_tolerance_s(span.t0),
        place(span, learner) + "the one before ends at " + std::to_string(reached_s) + " s");
    reached_s = span.t1;
  }
  SKERRY_CHECK(std::abs(end_s - reached_s) <= date_tolerance_s(end_s),
               "learner " + learner.name + ": spans end at " + std::to_string(reached_s) +
                   " s, the run at " + std::to_string(end_s) + " s");
}

// Marks the steps after to_step that were done before each rollback and not rolled back earlier.
// The stack holds spans with kept steps, in growing step numbers: each is pushed and popped once.
void mark_rolled_back(Timeline& line, const std::vector<const fact::RollBack*>& rollbacks) {
  std::vector<Span*> stack;
  std::size_t next = 0;
  for (const fact::RollBack* rollback : rollbacks) {
    for (; next < line.spans.size() && line.spans[next].middle() < rollback->t; ++next) {
      if (line.spans[next].steps != nullptr) stack.push_back(&line.spans[next]);
    }
    while (!stack.empty()) {
      Span& span = *stack.back();
      const std::int64_t kept =
          std::clamp<std::int64_t>(rollback->to_step - span.steps->first + 1, 0, span.kept());
      span.rolled_back = span.steps->n - kept;
      if (kept > 0) break;
      stack.pop_back();
    }
  }
}

}  // namespace

std::vector<Timeline> timelines(const Scenario& scenario, const Protocol& protocol,
                                const Tape& tape) {
  std::vector<Timeline> lines;
  std::vector<int> line_of(scenario.learners.size(), -1);
  for (const int learner : protocol.learners) {
    line_of.at(std::size_t(learner)) = int(lines.size());
    lines.push_back({learner, &scenario.learners[std::size_t(learner)], {}});
  }
  const auto add = [&](int learner, const Span& span) {
    const bool known =
        learner >= 0 && std::size_t(learner) < line_of.size() && line_of[std::size_t(learner)] >= 0;
    SKERRY_CHECK(known,
                 dates(span) + " of learner " + std::to_string(learner) + ", which takes no part");
    lines[std::size_t(line_of[std::size_t(learner)])].spans.push_back(span);
  };
  std::vector<const fact::RollBack*> rollbacks;
  for (const Fact& fact : tape.facts) {
    if (const auto* steps = std::get_if<fact::Steps>(&fact)) {
      add(steps->learner, {steps->t0, steps->t1, steps->slices_away, steps, nullptr, false, 0});
    } else if (const auto* phase = std::get_if<fact::Phase>(&fact)) {
      add(phase->learner, {phase->t0, phase->t1, phase->slices_away, nullptr, phase, false, 0});
    } else if (const auto* cut = std::get_if<fact::CutStep>(&fact)) {
      add(cut->learner, {cut->t0, cut->t1, cut->slices_away, nullptr, nullptr, cut->lost, 0});
    } else if (const auto* rollback = std::get_if<fact::RollBack>(&fact)) {
      rollbacks.push_back(rollback);
    }
  }
  for (Timeline& line : lines) {
    std::stable_sort(line.spans.begin(), line.spans.end(), [](const Span& a, const Span& b) {
      return std::pair(a.t0, a.t1) < std::pair(b.t0, b.t1);
    });
    check_tiling(line, tape.end.t);
    mark_rolled_back(line, rollbacks);
  }
  return lines;
}

double uptime_share(const std::vector<Timeline>& lines, double end_s) {
  std::vector<std::pair<double, double>> stepping;
  for (const Timeline& line : lines) {
    for (const Span& span : line.spans) {
      if (span.phase == nullptr) stepping.emplace_back(span.t0, span.t1);
    }
  }
  std::sort(stepping.begin(), stepping.end());
  Sum covered;
  double reached_s = 0;
  for (const auto& [from, until] : stepping) {
    const double begin = std::max(from, reached_s);
    if (until > begin) covered.add(until - begin);
    reached_s = std::max(reached_s, until);
  }
  return end_s > 0 ? std::min(1.0, covered.value() / end_s) : 0;
}

Distribution step_intervals(const std::vector<Timeline>& lines) {
  std::vector<Weighted> samples;
  for (const Timeline& line : lines) {
    bool stepped = false;
    double last_end_s = 0;
    for (const Span& span : line.spans) {
      if (span.kept() == 0) continue;
      const double step_s = (span.t1 - span.t0) / double(span.steps->n);
      const double gap_s = span.t0 - last_end_s;
      const bool waited = stepped && gap_s > date_tolerance_s(span.t0);
      if (waited) samples.push_back({gap_s + step_s, 1});
      const double rest = double(span.kept()) - (waited || !stepped ? 1 : 0);
      if (rest > 0) samples.push_back({step_s, rest});
      last_end_s = span.t0 + double(span.kept()) * step_s;
      stepped = true;
    }
  }
  return distribution(std::move(samples));
}

}  // namespace skerry::measure
