#include "sim/report/learning.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "sim/report/csv.hpp"
#include "sim/report/layout.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/rows.hpp"

namespace skerry {

namespace {

using Points = std::vector<LossPoint>;

struct Curve {  // of one trained run
  const RunRecord* record = nullptr;
  const Points* points = nullptr;
};

// By seed, in the scenario's order; null record where the run has no curve.
std::vector<Curve> curves_of(const Results& results, const std::string& protocol) {
  std::vector<Curve> out(results.scenario.seeds.size());
  for (std::size_t i = 0; i < results.records.size(); ++i) {
    const Summary& run = results.records[i].summary;
    if (run.protocol != protocol || i >= results.curves.size() || results.curves[i].empty()) continue;
    const auto& seeds = results.scenario.seeds;
    const auto seed = std::find(seeds.begin(), seeds.end(), run.seed);
    if (seed == seeds.end() || run.status == "diverged") continue;
    out[static_cast<std::size_t>(seed - seeds.begin())] = {&results.records[i], &results.curves[i]};
  }
  return out;
}

double at(const Points& curve, double where, double LossPoint::* axis) {
  const auto after = std::find_if(curve.begin(), curve.end(),
                                  [&](const LossPoint& point) { return point.*axis >= where; });
  if (after == curve.begin()) return curve.front().loss;
  if (after == curve.end()) return curve.back().loss;
  const LossPoint& before = *(after - 1);
  const double span = (*after).*axis - before.*axis;
  const double share = span > 0 ? (where - before.*axis) / span : 1.0;
  return before.loss + share * (after->loss - before.loss);
}

using Value = std::function<std::optional<double>(const Curve& row, const Curve& base)>;

std::pair<std::vector<double>, std::vector<double>> paired(const std::vector<Curve>& rows,
                                                           const std::vector<Curve>& bases,
                                                           const Value& of_row, const Value& of_base) {
  std::pair<std::vector<double>, std::vector<double>> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].record == nullptr || bases[i].record == nullptr) continue;
    const auto a = of_row(rows[i], bases[i]), b = of_base(rows[i], bases[i]);
    if (!a || !b) continue;
    out.first.push_back(*a);
    out.second.push_back(*b);
  }
  return out;
}

Learned learned(const std::string& protocol, const std::vector<Curve>& rows,
                const std::vector<Curve>& bases, double mid_s) {
  Learned out;
  out.protocol = protocol;
  for (const Curve& curve : rows) {
    if (curve.record == nullptr) continue;
    out.trained += 1;
    out.reached += curve.record->time_to_loss_s ? 1 : 0;
    out.loss_final += curve.points->back().loss;
    out.loss_at_time += loss_at_date(*curve.points, mid_s);
  }
  out.loss_final /= std::max(1, out.trained);
  out.loss_at_time /= std::max(1, out.trained);
  const auto fewer = [](const Curve& a, const Curve& b) {
    return std::min(a.points->back().tokens, b.points->back().tokens);
  };
  const auto tokens = paired(
      rows, bases,
      [&](const Curve& a, const Curve& b) { return loss_at_tokens(*a.points, fewer(a, b)); },
      [&](const Curve& a, const Curve& b) { return loss_at_tokens(*b.points, fewer(a, b)); });
  out.final_difference = difference_interval(tokens.first, tokens.second);
  const auto date = paired(
      rows, bases, [&](const Curve& a, const Curve&) { return loss_at_date(*a.points, mid_s); },
      [&](const Curve&, const Curve& b) { return loss_at_date(*b.points, mid_s); });
  out.time_difference = difference_interval(date.first, date.second);
  const auto hours = paired(rows, bases,
                            [](const Curve& a, const Curve&) { return a.record->time_to_loss_s; },
                            [](const Curve&, const Curve& b) { return b.record->time_to_loss_s; });
  out.sooner = ratio_interval(hours.second, hours.first);
  const auto need = paired(rows, bases,
                           [](const Curve& a, const Curve&) { return a.record->tokens_to_loss; },
                           [](const Curve&, const Curve& b) { return b.record->tokens_to_loss; });
  out.token_efficiency = ratio_interval(need.second, need.first);
  return out;
}

std::string cells(const Interval& interval) {
  if (interval.n == 0) return ",,,,0";
  const auto end = [](const std::optional<double>& value) { return value ? shortest(*value) : ""; };
  return fmt::format(",{},{},{},{}", shortest(interval.mean), end(interval.low), end(interval.high),
                     interval.n);
}

std::string bounds(const Interval& interval, const char* format) {
  if (!interval.low || !interval.high) return "";
  return fmt::format(" [{} {}]", fmt::format(fmt::runtime(format), *interval.low),
                     fmt::format(fmt::runtime(format), *interval.high));
}

}  // namespace

double loss_at_date(const Points& curve, double date_s) {
  return at(curve, date_s, &LossPoint::simulated_s);
}
double loss_at_tokens(const Points& curve, double tokens) {
  return at(curve, tokens, &LossPoint::tokens);
}

Learning learning_of(const Results& results) {
  Learning out;
  const Scenario& s = results.scenario;
  for (const Protocol& p : s.protocols) {
    double end_s = 0;
    int runs = 0;
    for (const Curve& curve : curves_of(results, p.name)) {
      if (curve.record == nullptr) continue;
      end_s += curve.points->back().simulated_s;  // before the run's end with stop_at_loss
      runs += 1;
    }
    if (runs == 0) continue;
    end_s /= runs;
    if (out.first.empty() || end_s < out.mid_s) {
      out.first = p.name;
      out.mid_s = end_s;
    }
  }
  if (out.first.empty()) return out;
  const auto bases = curves_of(results, s.protocols.at(static_cast<std::size_t>(s.baseline)).name);
  for (const Protocol& p : s.protocols) {
    out.rows.push_back(learned(p.name, curves_of(results, p.name), bases, out.mid_s));
    if (out.rows.back().trained == 0) out.rows.pop_back();
  }
  return out;
}

std::string curves_csv(const Results& results) {
  std::string out = "protocol,seed,simulated_s,tokens,trained_tokens,loss\n";
  for (std::size_t i = 0; i < results.curves.size(); ++i) {
    const Summary& run = results.records[i].summary;
    for (const LossPoint& point : results.curves[i]) {
      out += fmt::format("{},{},{},{},{},{}\n", text_cell(run.protocol), run.seed, shortest(point.simulated_s),
                         shortest(point.tokens), shortest(point.trained_tokens),
                         shortest(point.loss));
    }
  }
  return out;
}

std::string learning_csv(const Results& results) {
  std::string out = "protocol,trained,reached,loss_final,loss_at_time,at_time_s";
  for (const char* name : {"difference_at_equal_tokens", "difference_at_equal_time",
                           "times_sooner_to_target", "token_efficiency"}) {
    out += fmt::format(",{0},{0}_low,{0}_high,{0}_n", name);
  }
  out += "\n";
  const Learning learning = learning_of(results);
  for (const Learned& row : learning.rows) {
    out += fmt::format("{},{},{},{},{},{}", text_cell(row.protocol), row.trained, row.reached,
                       shortest(row.loss_final), shortest(row.loss_at_time),
                       shortest(learning.mid_s));
    out += cells(row.final_difference) + cells(row.time_difference) + cells(row.sooner) +
           cells(row.token_efficiency) + "\n";
  }
  return out;
}

std::string learning_lines(const Results& results) {
  const Learning learning = learning_of(results);
  if (learning.rows.size() < 2) return "";
  std::vector<std::string> losses, efficiency;
  for (const Learned& row : learning.rows) {
    std::string text = fmt::format("{} {:.3f}", row.protocol, row.loss_at_time);
    const bool base = row.protocol == results.scenario.protocols
                                          .at(static_cast<std::size_t>(results.scenario.baseline))
                                          .name;
    if (!base && row.time_difference.n > 0) {
      text += fmt::format(" ({:+.3f}{})", row.time_difference.mean,
                          bounds(row.time_difference, "{:+.3f}"));
    }
    losses.push_back(text);
    if (!base && row.token_efficiency.n > 0) {
      efficiency.push_back(fmt::format("{} {:.2f}{} and {:.3g}{}", row.protocol,
                                       row.token_efficiency.mean,
                                       bounds(row.token_efficiency, "{:.2f}"), row.sooner.mean,
                                       bounds(row.sooner, "{:.3g}")));
    }
  }
  std::string out =
      wrapped(fmt::format("loss at equal time, {:.3g} h, when {} ended (- base):",
                          learning.mid_s / 3600, learning.first),
              losses);
  if (!efficiency.empty()) {
    out += wrapped("token efficiency to the target loss, and times sooner, against base:", efficiency);
  }
  return out;
}

}  // namespace skerry
