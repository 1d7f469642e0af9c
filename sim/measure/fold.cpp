#include <algorithm>
#include <cmath>
#include <string>

#include "sim/base/error.hpp"
#include "sim/measure/folds.hpp"
#include "sim/measure/summary.hpp"

namespace skerry {

using namespace measure;

namespace {

std::string status_of(const std::string& reason) {
  if (reason == "cap") return "time_cap";
  SKERRY_CHECK(reason == "tokens" || reason == "simulated", "a run ended by '" + reason + "'");
  return "ok";
}

double over(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

// What one row, or the whole run, is summed from.
struct Account {
  std::string name;
  double chips = 0;
  Books books;
  TokenFate fate;

  void add(const Account& other) {
    chips += other.chips;
    books.add(other.books);
    fate.add(other.fate);
  }
};

// Data-parallel merges every step that counts: 1 with any step, by definition. Without exchange there is
// nothing to say.
std::optional<double> merged_share(const Protocol& protocol, const Account& account) {
  if (!protocol.exchange) return std::nullopt;
  if (protocol.family == Family::kDiloco) return account.fate.merged_share();
  if (account.books.tokens_computed.value() > 0) return 1.0;
  return std::nullopt;
}

Share row(const Protocol& protocol, const Account& account) {
  Share out;
  out.name = account.name;
  out.chips = account.chips;
  out.steps = account.books.steps.value();
  out.tokens = account.books.tokens.value();
  out.goodput = over(account.books.productive.value(), account.books.allocated);
  out.waiting_share = over(account.books.waiting(), account.books.allocated);
  out.merged_share = merged_share(protocol, account);
  return out;
}

std::vector<Account> by_device(const std::vector<Timeline>& lines,
                               const std::vector<Account>& learners) {
  std::vector<Account> devices;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& device = lines[i].learner_info->device;
    const std::string name = device.empty() ? "custom" : device;
    std::size_t place = 0;
    while (place < devices.size() && devices[place].name != name)
      ++place;
    if (place == devices.size()) {
      devices.emplace_back();
      devices.back().name = name;
    }
    devices[place].add(learners[i]);
  }
  return devices;
}

void fold_books(const Protocol& protocol, const Account& all, const Tape& tape, Summary& out) {
  const Books& books = all.books;
  out.tokens = books.tokens.value();
  out.tokens_computed = books.tokens_computed.value();
  SKERRY_CHECK(std::abs(out.tokens - tape.end.tokens) <= 1e-9 * out.tokens_computed,
               "steps give " + std::to_string(out.tokens) + " net tokens, the end says " +
                   std::to_string(tape.end.tokens));
  out.tokens_per_s = over(out.tokens, tape.end.t);
  out.learner_steps = books.steps.value();
  out.chip_seconds_total = books.allocated;
  out.chip_seconds_productive = books.productive.value();
  for (std::size_t cause = 0; cause < books.lost.size(); ++cause) {
    out.chip_seconds_lost[cause] = books.lost[cause].value();
  }
  out.goodput = over(out.chip_seconds_productive, out.chip_seconds_total);
  out.closure_chip_seconds =
      over(std::abs(books.booked() - out.chip_seconds_total), out.chip_seconds_total);
  SKERRY_CHECK(out.closure_chip_seconds <= 1e-9,
               "booked " + std::to_string(books.booked()) + " of " +
                   std::to_string(out.chip_seconds_total) + " chip-seconds");
  out.compute_utilization =
      over(books.compute_s.value(), books.compute_s.value() + books.exposed_s.value());
  out.merged_share = merged_share(protocol, all);
  out.merged_pending_share = all.fate.pending_share();
}

}  // namespace

Summary fold(const Scenario& scenario, const Protocol& protocol, const Tape& tape) {
  Summary out;
  out.protocol = protocol.name;
  out.preset = protocol.preset;
  out.seed = tape.start.seed;
  out.status = status_of(tape.end.reason);
  out.simulated_s = tape.end.t;
  out.tape_fingerprint = tape_fingerprint(tape);

  const std::vector<Timeline> lines = timelines(scenario, protocol, tape);
  const std::vector<Books> books = keep_books(lines, tape);
  const std::vector<TokenFate> fates = protocol.family == Family::kDiloco && protocol.exchange
                                           ? follow_tokens(scenario, protocol, lines, tape)
                                           : std::vector<TokenFate>(lines.size());
  std::vector<Account> learners;
  Account all;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Learner& learner = *lines[i].learner_info;
    learners.push_back({learner.name, double(learner.chips), books[i], fates[i]});
    all.add(learners.back());
    out.by_learner.push_back(row(protocol, learners.back()));
  }
  for (const Account& device : by_device(lines, learners)) {
    out.by_device.push_back(row(protocol, device));
  }
  fold_books(protocol, all, tape, out);
  const bool steady = std::none_of(tape.facts.begin(), tape.facts.end(), [](const Fact& fact) {
    return std::holds_alternative<fact::FaultHit>(fact);
  });
  if (steady) {
    out.compute_utilization_whole_periods = utilization_of_whole_periods(protocol, lines);
  }
  out.uptime = uptime_share(lines, tape.end.t);
  out.step_interval_s = step_intervals(lines);
  fold_rounds(scenario, protocol, tape, out);
  if (out.syncer_steps > 0 && out.learner_steps > 0) {
    out.syncer_steps_per_learner_step =
        out.syncer_steps / (out.learner_steps / double(lines.size()));
  }
  fold_faults(scenario, lines, tape, out);
  fold_recoveries(tape, out);
  fold_wires(tape, out);
  fold_money(scenario, lines, books, out);
  return out;
}

}  // namespace skerry
