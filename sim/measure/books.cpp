#include <string>

#include "sim/base/error.hpp"
#include "sim/measure/folds.hpp"

namespace skerry::measure {

void Books::add(const Books& other) {
  allocated += other.allocated;
  productive.add(other.productive);
  for (std::size_t cause = 0; cause < lost.size(); ++cause)
    lost[cause].add(other.lost[cause]);
  compute_s.add(other.compute_s);
  exposed_s.add(other.exposed_s);
  steps.add(other.steps);
  tokens.add(other.tokens);
  tokens_computed.add(other.tokens_computed);
  busy.add(other.busy);
  idle.add(other.idle);
}

double Books::booked() const {
  Sum total = productive;
  for (const Sum& cause : lost)
    total.add(cause);
  return total.value();
}

double Books::waiting() const {
  Sum total;
  for (const Cause cause :
       {Cause::kStragglerWait, Cause::kWaitingForQuorum, Cause::kExposedCommunication}) {
    total.add(lost[std::size_t(cause)]);
  }
  return total.value();
}

namespace {

Sum& lost(Books& books, Cause cause) {
  return books.lost[std::size_t(cause)];
}

// The parts of a step are scaled to the span, which differs from n steps by the rounding of dates
// only (checked in timelines()): rounding must not add up over millions of steps.
void book_steps(const Span& span, double present_chips, Books& books) {
  const fact::Steps& steps = *span.steps;
  const StepParts parts(steps);
  const double scale = (span.t1 - span.t0) / parts.total_s();  // of one step's part to the span's
  const double kept_share = double(span.kept()) / double(steps.n);
  const auto book = [&](double part_s, Sum& kept) {
    kept.add(present_chips * part_s * scale * kept_share);
    lost(books, Cause::kWastedProgress).add(present_chips * part_s * scale * (1 - kept_share));
  };
  book(parts.compute_s, books.productive);
  book(parts.straggler_wait_s, lost(books, Cause::kStragglerWait));
  book(parts.exposed_s, lost(books, Cause::kExposedCommunication));
  books.busy.add(present_chips * parts.compute_s * scale);
  books.idle.add(present_chips * (parts.straggler_wait_s + parts.exposed_s) * scale);
  books.compute_s.add(parts.compute_s * scale);
  books.exposed_s.add(parts.exposed_s * scale);
  books.steps.add(double(span.kept()));
  books.tokens.add(double(span.kept()) * steps.tokens);
  books.tokens_computed.add(double(steps.n) * steps.tokens);
}

void book_span(const Span& span, const Learner& learner, Books& books) {
  const double span_s = span.t1 - span.t0;
  const double chips = double(learner.chips);
  if (span.phase != nullptr && span.phase->cause == Cause::kDown) {
    lost(books, Cause::kDown).add(chips * span_s);
    return;
  }
  const double away_chips = chips * span.slices_away / learner.slices;
  const double present_chips = chips - away_chips;
  lost(books, Cause::kDegraded).add(away_chips * span_s);
  if (span.steps != nullptr) {
    book_steps(span, present_chips, books);
  } else if (span.phase != nullptr) {
    lost(books, span.phase->cause).add(present_chips * span_s);
    books.idle.add(present_chips * span_s);
    if (span.phase->cause == Cause::kExposedCommunication) books.exposed_s.add(span_s);
  } else {
    (span.lost ? lost(books, Cause::kWastedProgress) : books.productive)
        .add(present_chips * span_s);
    books.busy.add(present_chips * span_s);
    books.compute_s.add(span_s);
  }
}

void book_lost(const fact::Lost& fact, Books& books) {
  books.productive.add(-fact.chip_seconds);
  lost(books, Cause::kWastedProgress).add(fact.chip_seconds);
  books.steps.add(-fact.steps);
  books.tokens.add(-fact.tokens);
}

}  // namespace

std::vector<Books> keep_books(const std::vector<Timeline>& lines, const Tape& tape) {
  std::vector<Books> all(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Learner& learner = *lines[i].learner_info;
    if (tape.end.t > learner.start_s) {
      all[i].allocated = double(learner.chips) * (tape.end.t - learner.start_s);
    }
    for (const Span& span : lines[i].spans)
      book_span(span, learner, all[i]);
  }
  for (const Fact& fact : tape.facts) {
    const auto* loss = std::get_if<fact::Lost>(&fact);
    if (loss == nullptr) continue;
    std::size_t i = 0;
    while (i < lines.size() && lines[i].learner != loss->learner)
      ++i;
    SKERRY_CHECK(i < lines.size(), "loss of learner " + std::to_string(loss->learner) + " at " +
                                       std::to_string(loss->t) + " s, which takes no part");
    book_lost(*loss, all[i]);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double productive = all[i].productive.value();
    SKERRY_CHECK(productive >= -1e-9 * all[i].allocated,
                 "learner " + lines[i].learner_info->name + " lost more than it did: " +
                     std::to_string(productive) + " productive chip-seconds are left");
  }
  return all;
}

}  // namespace skerry::measure
