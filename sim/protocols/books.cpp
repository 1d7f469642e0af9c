#include "sim/protocols/books.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

namespace skerry {

Books::Books(const Engine& engine, const Scenario& scenario, const Protocol& protocol, Tape& tape)
    : engine_(engine), tape_(tape), learners_(protocol.learners), books_(scenario.learners.size()) {
  for (std::size_t m = 0; m < books_.size(); ++m) books_[m].start_s = scenario.learners[m].start_s;
}

void Books::close_phase_at(int learner, double t1) {
  Book& book = books_[index(learner)];
  if (!book.open_phase) return;
  book.open_phase = false;
  SKERRY_CHECK(t1 >= book.since, "phase of learner " + std::to_string(learner) + " ends early");
  if (t1 > book.since) {
    tape_.add(fact::Phase{book.since, t1, learner, book.slices_away, book.cause});
  }
}

void Books::close_phase(int learner) { close_phase_at(learner, engine_.now()); }

void Books::close_run(int learner) {
  Book& book = books_[index(learner)];
  if (book.run.n > 0) tape_.add(book.run);
  book.run = {};
}

void Books::phase(int learner, Cause cause) {
  Book& book = books_[index(learner)];
  SKERRY_CHECK(!book.in_step, "a step of learner " + std::to_string(learner) + " is open");
  if (book.open_phase && book.cause == cause) return;
  close_run(learner);
  close_phase(learner);
  book.since = book.joined ? engine_.now() : book.start_s;
  book.joined = book.open_phase = true;
  book.cause = cause;
}

void Books::start_step(int learner) {
  Book& book = books_[index(learner)];
  SKERRY_CHECK(!book.in_step, "two steps of learner " + std::to_string(learner));
  close_phase(learner);
  book.joined = book.in_step = true;
  book.since = engine_.now();
}

void Books::stand_still(int learner, Cause cause) {
  Book& book = books_[index(learner)];
  SKERRY_CHECK(book.in_step, "no step of learner " + std::to_string(learner) + " is open");
  book.still = true;
  book.still_since = engine_.now();
  book.still_for = cause;
}

void Books::go_on(int learner) {
  Book& book = books_[index(learner)];
  if (!std::exchange(book.still, false)) return;
  double& sum =
      book.still_for == Cause::kExposedCommunication ? book.exposed_s : book.straggler_wait_s;
  sum += engine_.now() - book.still_since;
}

void Books::end_step(int learner, std::int64_t step, double compute_s, double tokens) {
  Book& book = books_[index(learner)];
  if (book.straggler_wait_s <= 0 && book.exposed_s <= 0) {
    return end_steps(learner, 1, step, compute_s, tokens, engine_.now());
  }
  SKERRY_CHECK(book.in_step, "no step of learner " + std::to_string(learner) + " is open");
  close_run(learner);
  tape_.add(fact::Steps{.t0 = book.since, .t1 = engine_.now(), .compute_s = compute_s,
                        .straggler_wait_s = std::exchange(book.straggler_wait_s, 0.0),
                        .exposed_s = std::exchange(book.exposed_s, 0.0), .tokens = tokens,
                        .first = step, .n = 1, .learner = learner,
                        .slices_away = book.slices_away});
  book.in_step = false;
}

void Books::end_steps(int learner, std::int64_t n, std::int64_t step, double compute_s, double tokens,
                      double t1) {
  Book& book = books_[index(learner)];
  SKERRY_CHECK(book.in_step, "no step of learner " + std::to_string(learner) + " is open");
  fact::Steps& run = book.run;
  const bool same = run.n > 0 && run.t1 == book.since && run.compute_s == compute_s &&
                    run.tokens == tokens && run.slices_away == book.slices_away &&
                    run.first + run.n == step - n + 1;
  if (!same) {
    close_run(learner);
    run = {.t0 = book.since, .t1 = t1, .compute_s = compute_s, .tokens = tokens,
           .first = step - n + 1, .n = 0, .learner = learner, .slices_away = book.slices_away};
  }
  run.t1 = t1;
  run.n += n;
  book.since = t1;
  book.in_step = t1 < engine_.now();
}

// What it computed first, then what it stood still, wherever that was.
// A step that stood still: what it computed first, then what it waited, wherever that was.
void Books::cut_step(int learner, bool lost) {
  go_on(learner);
  Book& book = books_[index(learner)];
  SKERRY_CHECK(book.in_step, "no step of learner " + std::to_string(learner) + " to cut");
  close_run(learner);
  book.in_step = false;
  const double now = engine_.now();
  const double exposed_s = std::exchange(book.exposed_s, 0.0);
  const double waited_s = std::exchange(book.straggler_wait_s, 0.0);
  const double until_exposed = std::max(book.since, now - exposed_s);
  const double computed = std::max(book.since, until_exposed - waited_s);
  if (computed > book.since) {
    tape_.add(fact::CutStep{book.since, computed, learner, book.slices_away, lost});
  }
  const auto rest = [&](double t0, double t1, Cause cause) {
    if (t1 > t0) tape_.add(fact::Phase{t0, t1, learner, book.slices_away, cause});
  };
  rest(computed, until_exposed, Cause::kStragglerWait);
  rest(until_exposed, now, Cause::kExposedCommunication);
}

void Books::lock_step(int learner, double t0, const fact::Steps& steps) {
  Book& book = books_[index(learner)];
  close_phase_at(learner, t0);
  book.joined = true;
  fact::Steps fact = steps;
  fact.t0 = t0;
  fact.t1 = engine_.now();
  fact.learner = learner;
  fact.slices_away = book.slices_away;
  tape_.add(fact);
}

void Books::cut_lock_step(int learner, double t0, double compute_s, double longest_s, bool lost) {
  Book& book = books_[index(learner)];
  close_phase_at(learner, t0);
  book.joined = true;
  const double now = engine_.now();
  if (now <= t0) return;
  const double computed = std::min(now, t0 + compute_s);
  tape_.add(fact::CutStep{t0, computed, learner, book.slices_away, lost});
  const double waited = std::min(now, t0 + longest_s);
  const auto rest = [&](double from, double to, Cause cause) {
    if (to <= from) return;
    tape_.add(fact::Phase{from, to, learner, book.slices_away, cause});
  };
  rest(computed, waited, Cause::kStragglerWait);
  rest(std::max(computed, waited), now, Cause::kExposedCommunication);
}

void Books::slices_away(int learner, int count) {
  Book& book = books_[index(learner)];
  if (book.slices_away == count) return;
  SKERRY_CHECK(!book.in_step, "slices of learner " + std::to_string(learner) + " change in mid-step");
  const bool open = book.open_phase;
  const Cause cause = book.cause;
  close_phase(learner);
  book.slices_away = count;
  if (open) phase(learner, cause);
}

void Books::finish() {
  for (int learner : learners_) {
    Book& book = books_[index(learner)];
    if (!book.joined) continue;
    if (book.in_step) cut_step(learner, false);
    close_run(learner);
    close_phase(learner);
  }
}

}  // namespace skerry
