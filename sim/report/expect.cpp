#include "sim/report/expect.hpp"

#include <cmath>
#include <fmt/format.h>

#include "sim/report/rows.hpp"

namespace skerry {

namespace {

bool about_training(const std::string& metric) {
  return metric.starts_with("loss.") || metric == "time_to_loss_s" || metric == "tokens_to_loss" ||
         metric == "target_loss" || metric == "cost_to_loss_usd";
}

std::string null_reason(const std::string& metric) {
  if (metric == "cost_to_loss_usd") return "not reached, or a chip without a price";
  if (metric.starts_with("cost") || metric == "wasted_cost_usd") return "a chip without a price";
  return metric == "energy_kwh" ? "a chip without power_w" : "not reached";
}

// Values of one metric, one a seed; the note says why there are none.
struct Values {
  std::vector<double> values;
  std::string note;
};

Values values_of(const Scenario& scenario, const std::vector<RunRecord>& records,
                 const std::string& protocol, const std::string& metric) {
  Values out;
  const auto runs = by_seed(scenario, records, protocol);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i] == nullptr) {
      out.note = fmt::format("{} has no result for seed {}", protocol, scenario.seeds[i]);
      return out;
    }
    if (about_training(metric) && !runs[i]->loss) continue;
    const Metric found = metric_of(*runs[i], metric);
    if (!found.found) {
      out.note = fmt::format("the summary has no number '{}'", metric);
      return out;
    }
    if (!found.value) {
      out.note = fmt::format("{} is null ({}) for seed {}", metric, null_reason(metric),
                             scenario.seeds[i]);
      return out;
    }
    out.values.push_back(*found.value);
  }
  if (out.values.empty()) out.note = fmt::format("no run of {} has {}", protocol, metric);
  return out;
}

bool holds(const Expect& expect, double value) {
  if (!std::isfinite(value)) return false;
  if (expect.min && value < *expect.min) return false;
  if (expect.max && value > *expect.max) return false;
  if (expect.equal) {
    const double scale = *expect.equal == 0 ? 1.0 : std::abs(*expect.equal);
    if (std::abs(value - *expect.equal) > expect.tolerance * scale) return false;
  }
  return true;
}

void judge_one(const Scenario& scenario, const std::vector<RunRecord>& records, Judged& out) {
  const Expect& expect = out.expect;
  const Values own = values_of(scenario, records, expect.protocol, expect.metric);
  const std::string& other = expect.ratio_to.empty() ? expect.minus : expect.ratio_to;
  out.verdict = Verdict::kMissed;
  out.note = own.note;
  if (!out.note.empty()) return;
  if (other.empty()) {
    out.value = mean_interval(own.values).mean;
  } else {
    const Values base = values_of(scenario, records, other, expect.metric);
    out.note = base.note;
    if (out.note.empty() && base.values.size() != own.values.size()) out.note = "seeds do not pair";
    if (!out.note.empty()) return;
    const Interval pairs = expect.ratio_to.empty() ? difference_interval(own.values, base.values)
                                                   : ratio_interval(own.values, base.values);
    if (pairs.n == 0) out.note = fmt::format("{} is zero in every run of {}", expect.metric, other);
    if (pairs.n == 0) return;
    out.value = pairs.mean;
  }
  out.verdict = holds(expect, *out.value) ? Verdict::kMet : Verdict::kMissed;
}

std::string allowed(const Expect& expect) {
  std::string text;
  if (expect.equal)
    text = fmt::format("equal {:.10g} within {:g}", *expect.equal, expect.tolerance);
  if (expect.min) text += fmt::format("{}at least {:.10g}", text.empty() ? "" : ", ", *expect.min);
  if (expect.max) text += fmt::format("{}at most {:.10g}", text.empty() ? "" : ", ", *expect.max);
  return text;
}

}  // namespace

std::vector<Judged> judge(const Scenario& scenario, const std::vector<RunRecord>& records,
                          bool applied) {
  std::vector<Judged> out;
  for (const Expect& expect : scenario.expect) {
    Judged judged;
    judged.expect = expect;
    if (!applied) {
      judged.note = "the command changed the scenario";
    } else if (about_training(expect.metric) && !scenario.training.on) {
      judged.note = "not trained";
    } else {
      judge_one(scenario, records, judged);
    }
    out.push_back(std::move(judged));
  }
  return out;
}

std::string verdict_name(Verdict verdict) {
  if (verdict == Verdict::kMet) return "met";
  return verdict == Verdict::kMissed ? "missed" : "not applied";
}

std::string judged_line(const Judged& judged) {
  const Expect& expect = judged.expect;
  std::string what = expect.protocol + " " + expect.metric;
  if (!expect.ratio_to.empty()) what += " / " + expect.ratio_to;
  if (!expect.minus.empty()) what += " - " + expect.minus;
  std::string value = judged.value ? fmt::format(" = {:.10g}", *judged.value) : "";
  if (!judged.note.empty()) value += fmt::format(" ({})", judged.note);
  std::string line = fmt::format("expect {}: {}{}; allowed {}", verdict_name(judged.verdict), what,
                                 value, allowed(expect));
  if (judged.verdict == Verdict::kMissed) line += "\n  why: " + expect.why;
  return line;
}

}  // namespace skerry
