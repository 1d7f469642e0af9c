// The terminal table and its Markdown twin: head, rows. What stands below the rows is in notes.cpp.
#include <fmt/format.h>

#include "kernels/model.hpp"
#include "sim/report/layout.hpp"
#include "sim/report/money.hpp"
#include "sim/report/notes.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/results.hpp"
#include "sim/report/row_text.hpp"

namespace skerry {

namespace {

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.3f}", *loss) : "-";
}

std::string interval_text(const Interval& ratio) {
  if (ratio.n == 1) return "n = 1";
  if (!ratio.low || !ratio.high) return "-";
  return fmt::format("[{} {}]", three_digits(*ratio.low), three_digits(*ratio.high));
}

std::string difference_text(const Row& row) {
  if (row.baseline) return row.loss ? "base" : "-";
  return row.loss_difference.n > 0 ? fmt::format("{:+.3f}", row.loss_difference.mean) : "-";
}

// Cells of one row in the order of kHeads; the loss columns are empty strings without training.
struct Cells {
  std::string name, speed, ratio, interval, good, wan, wait, fault, merged, stale, loss, difference;
};

Cells cells_of(const Row& row, const Protocol& protocol) {
  Cells c;
  c.name = row.protocol;
  if (row.seeds == 0) {
    c.speed = "failed";
    return c;
  }
  const double thousand = row.tokens_per_s / 1e3;
  c.speed = three_digits(thousand);
  c.ratio = row.baseline ? "base" : (row.ratio.n > 0 ? three_digits(row.ratio.mean) : "-");
  c.interval = row.baseline ? "" : interval_text(row.ratio);
  c.good = percent(row.goodput);
  c.wan = percent(row.wan_share) + (never_waits(protocol) ? "*" : " ");
  c.wait = percent(row.wait_share);
  c.fault = percent(row.fault_share);
  c.merged = row.merged_share ? percent(*row.merged_share) : "-";
  c.stale = row.stale_steps && protocol.family == Family::kDiloco
                ? fmt::format("{:.1f}", *row.stale_steps)
                : "-";
  c.loss = loss_text(row.loss);
  c.difference = difference_text(row);
  return c;
}

const Cells kHeads{"protocol", "ktok/s", "x base",  "[95 %]", "good%", "wan% ",
                   "wait%",    "fault%", "merged%", "stale",  "loss",  "-base"};

std::string line_of(const Cells& c, bool trained) {
  std::string name = c.name;
  if (name.size() > 21) name = name.substr(0, 20) + "~";
  std::string line =
      fmt::format("{:<21}{:>7}{:>7} {:>11}{:>6}{:>7}{:>6}{:>7}{:>8}{:>6}", name, c.speed, c.ratio,
                  c.interval, c.good, c.wan, c.wait, c.fault, c.merged, c.stale);
  if (trained) line += fmt::format("{:>6}{:>7}", c.loss, c.difference);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string bits_text(const ChargedModel& model) {
  return fmt::format("{:g}-bit wire", model.wire_bits_per_parameter);
}

std::string head_line(const Scenario& s) {
  std::int64_t chips = 0;
  for (const Learner& learner : s.learners)
    chips += learner.chips;
  std::vector<std::string> items;
  if (s.charged.parameters > 0) {
    items.push_back("charged: " + giga(s.charged.parameters) + " parameters, " +
                    bits_text(s.charged));
  }
  if (s.stop.tokens) items.push_back(giga(*s.stop.tokens) + " tokens");
  items.push_back(fmt::format("{} learners, {} chips, {} regions", s.learners.size(),
                              thousands(double(chips)), s.regions.size()));
  return wrapped(s.name + " ", items);
}

std::string settings_text(const Protocol& p, const ChargedModel& model) {
  if (!p.exchange) return "exchange off";
  if (p.ideal_network) return "";
  const std::string wire = wire_text(p, model);
  if (p.family == Family::kDataParallel) {
    return wire == ", 64 buckets" ? "" : wire.substr(2);   // the usual way
  }
  return fmt::format("H {} P {} overlap {} quorum {} grace {}{}{}", p.sync_period_steps, p.fragments,
                     p.overlap_steps, p.quorum, p.grace == Grace::kOff ? "off" : "slack",
                     never_waits(p) ? "" : " waits", wire);
}

// One line a group of protocols with the same settings.
std::string settings_lines(const Scenario& s) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const Protocol& p : s.protocols) {
    const std::string text = settings_text(p, s.charged);
    if (text.empty()) continue;
    bool known = false;
    for (auto& [settings, names] : groups) {
      if (settings == text) names += ", " + p.name;
      known = known || settings == text;
    }
    if (!known) groups.emplace_back(text, p.name);
  }
  std::vector<std::string> items;
  for (const auto& [settings, names] : groups)
    items.push_back(names + ": " + settings + ";");
  if (items.empty()) return "";
  items.back().pop_back();
  return wrapped("settings", items);
}

std::string trained_line(const Scenario& s, const std::vector<RunRecord>& records) {
  if (!s.training.on) return "not trained: no loss\n";
  const TrainedModel& m = s.training.model;
  const kernels::ModelShape shape{m.layers, m.width, m.heads, m.context, m.vocabulary, m.batch};
  std::vector<std::string> items{
      fmt::format("{} parameters ({} x {}), text {}, {} of {} seeds;",
                  thousands(double(kernels::parameter_count(shape))), m.layers, m.width,
                  s.training.corpus_label, std::min(std::size_t(s.training.seeds), s.seeds.size()),
                  s.seeds.size())};
  std::vector<std::string> rounds;
  for (const Protocol& p : s.protocols) {
    if (p.family != Family::kDiloco) continue;
    for (const RunRecord* run : by_seed(s, records, p.name)) {
      if (run == nullptr || !run->loss) continue;
      rounds.push_back(fmt::format("{} {}", p.name, three_digits(run->loss->outer_rounds)));
      break;
    }
  }
  if (!rounds.empty()) items.push_back("outer rounds a fragment:");
  items.insert(items.end(), rounds.begin(), rounds.end());
  return wrapped("trained:", items);
}

// A line below a row whose runs did not end as asked.
std::string shortfall(const Scenario& s, const Row& row) {
  std::string out;
  const auto say = [&](int n, const std::string& text) {
    if (n > 0) out += fmt::format("  ^ {} of {} runs {}\n", n, row.seeds + row.failed, text);
  };
  const std::string share =
      s.stop.tokens ? fmt::format(" with {} % of the tokens", percent(row.tokens / *s.stop.tokens))
                    : "";
  say(row.capped,
      fmt::format("stopped by the time cap at {:.1f} h{}", row.simulated_s / 3600, share));
  say(row.diverged, "diverged in training: no loss");
  say(row.failed, "failed");
  return out;
}

}  // namespace

bool never_waits(const Protocol& protocol) {
  return protocol.family == Family::kDiloco && protocol.learner_waits == LearnerWaits::kNoWait;
}

std::string terminal_table(const Results& results) {
  const Scenario& s = results.scenario;
  const std::vector<Row> rows = rows_of(s, results.records);
  std::string out = head_line(s) + wrapped_sentence(transport_text(s.transport)) +
                    settings_lines(s) + fault_lines(results) + trained_line(s, results.records) +
                    "\n";
  out += line_of(kHeads, s.training.on);
  for (const Row& row : rows) {
    out += line_of(cells_of(row, s.protocols.at(std::size_t(row.index))), s.training.on);
    out += shortfall(s, row);
  }
  return out + "\n" + money_lines(results, rows) + "\n" + notes(results, rows);
}

std::string markdown_table(const Results& results) {
  const Scenario& s = results.scenario;
  const auto line = [&s](const Cells& c) {
    std::string out =
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |", c.name, c.speed, c.ratio,
                    c.interval, c.good, c.wan, c.wait, c.fault, c.merged, c.stale);
    if (s.training.on) out += fmt::format(" {} | {} |", c.loss, c.difference);
    return out + "\n";
  };
  std::string out = line(kHeads) + "|---";
  for (int i = 0; i < (s.training.on ? 11 : 9); ++i)
    out += "|--:";
  out += "|\n";
  const std::vector<Row> rows = rows_of(s, results.records);
  for (const Row& row : rows)
    out += line(cells_of(row, s.protocols.at(std::size_t(row.index))));
  const auto money = money_cells(results, rows);
  for (std::size_t i = 0; i < money.size(); ++i) {
    if (i == 0) out += "\n";
    for (const std::string& cell : money[i])
      out += "| " + cell + " ";
    out += "|\n";
    if (i > 0) continue;
    out += "|---";
    for (std::size_t k = 1; k < money[0].size(); ++k)
      out += "|--:";
    out += "|\n";
  }
  return out;
}

}  // namespace skerry
