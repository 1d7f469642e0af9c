#include <algorithm>
#include <initializer_list>

#include "sim/measure/folds.hpp"

namespace skerry::measure {

namespace {

// Steps from, up to: the learner's steps with numbers in (from, upto], counted from its first.
struct Window {
  std::int64_t from = 0, upto = 0;
  bool holds(std::int64_t step) const { return step > from && step <= upto; }
};

// As many whole periods as fit before the start of the last step, behind the first half of the run and
// the first period with its overlap (just below what its bytes need, a run uses up its overlap slowly);
// in a shorter run behind that period.
std::optional<Window> whole_periods(std::int64_t steps, std::int64_t period, std::int64_t overlap) {
  const std::int64_t last = steps - 1;
  const std::int64_t first = period + overlap + 1;
  for (const std::int64_t settled : {std::max(first, steps / 2), first}) {
    const std::int64_t periods = last > settled ? (last - settled) / period : 0;
    if (periods >= 1) return Window{last - periods * period, last};
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> utilization_of_whole_periods(const Protocol& protocol,
                                                   const std::vector<Timeline>& lines) {
  const bool diloco = protocol.family == Family::kDiloco && protocol.exchange;
  Sum compute_s, exposed_s;
  for (const Timeline& line : lines) {
    std::int64_t steps = 0;
    for (const Span& span : line.spans) steps += span.steps != nullptr ? span.steps->n : 0;
    const auto window = whole_periods(steps, diloco ? protocol.sync_period_steps : 1,
                                      diloco ? protocol.overlap_steps : 0);
    if (!window) return std::nullopt;
    std::int64_t done = 0;
    for (const Span& span : line.spans) {
      if (span.steps != nullptr) {
        const std::int64_t first = std::max(done, window->from);
        const std::int64_t last = std::min(done + span.steps->n, window->upto);
        const double inside = double(std::max<std::int64_t>(0, last - first));
        const StepParts parts(*span.steps);
        compute_s.add(inside * parts.compute_s);
        exposed_s.add(inside * parts.exposed_s);
        done += span.steps->n;
      } else if (span.phase != nullptr && window->holds(done) &&
                 span.phase->cause == Cause::kExposedCommunication) {
        exposed_s.add(span.t1 - span.t0);
      }
    }
  }
  if (!(compute_s.value() > 0)) return std::nullopt;
  return compute_s.value() / (compute_s.value() + exposed_s.value());
}

}  // namespace skerry::measure
