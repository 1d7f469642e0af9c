#include "sim/run/sweep_points.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "kernels/model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/run/numbers_version.hpp"
#include "sim/run/run_scenario.hpp"
#include "sim/scenario/metrics.hpp"

namespace skerry {

namespace {

// Order of magnitude alone: for a dry run without any finished point.
double guessed_s(const Scenario& s, const Protocol& protocol, bool trained) {
  double steps_per_s = 0, tokens_per_s = 0;
  for (const int learner : protocol.learners) {
    const double rate = 1 / s.learners[std::size_t(learner)].step_s;
    steps_per_s += rate;
    tokens_per_s += s.charged.tokens_per_learner_step * rate;
  }
  double span_s = s.stop.simulated_s;
  if (s.stop.tokens && tokens_per_s > 0) span_s = std::min(span_s, *s.stop.tokens / tokens_per_s);
  double events = 0;
  for (const Fault& fault : s.faults)
    events += fault.events_per_s_nominal * span_s;
  const double steps = steps_per_s * span_s;
  double out = 0.005 + (protocol.exchange ? 2e-6 * steps : 0) + 1e-5 * events;
  if (!trained) return out;
  const TrainedModel& m = s.training.model;
  const kernels::ModelShape shape{m.layers, m.width, m.heads, m.context, m.vocabulary, m.batch};
  const double flops = 6.0 * double(kernels::parameter_count(shape)) * m.batch * m.context;
  return out + flops * (steps + s.training.warm_start_steps) / 2e10;
}

int trained_seeds_of(const Scenario& scenario, const Protocol& protocol) {
  return scenario.training.on && protocol.preset != "ideal" ? scenario.training.seeds : 0;
}

// A table is made from the columns of table.csv.
void check_columns(const Sweep& sweep) {
  const auto check = [&sweep](const std::string& metric, const std::string& pointer) {
    const int column = column_of(metric);
    if (column >= 0 && point_columns()[std::size_t(column)].is_number) return;
    throw BadInput(sweep.label, pointer,
                   "found '" + metric + "', allowed a number that is a column of table.csv");
  };
  for (std::size_t i = 0; i < sweep.table.cells.size(); ++i)
    check(sweep.table.cells[i], "/table/cells/" + std::to_string(i));
  if (sweep.until) check(sweep.until->metric, "/until/metric");
}

// Seeds beyond the trained ones have no loss: seeds would be added in vain.
void check_until(const Sweep& sweep, const PointGroup& group) {
  if (!sweep.until || !needs_training(sweep.until->metric)) return;
  const std::string& row = sweep.protocols[group.row];
  if (!sweep.until->protocol.empty() && sweep.until->protocol != row) return;
  if (group.trained_seeds >= sweep.until->max_seeds) return;
  throw BadInput(
      sweep.label, "/until/metric",
      fmt::format("found '{}', but of '{}' only the first {} seeds are trained, allowed "
                  "/training/seeds of at least max_seeds = {}, or in /until/protocol a "
                  "row that is",
                  sweep.until->metric, row, group.trained_seeds, sweep.until->max_seeds));
}

// What the baseline row would be in a combination that skips it.
struct SkippedBaseline {
  RowKey key;
  int trained_seeds = 0;
};

std::optional<SkippedBaseline> skipped_baseline(const Sweep& sweep, std::size_t combination) {
  try {
    const Loaded loaded = with_plans(load_combination(sweep, sweep.combinations[combination],
                                                      {sweep.baseline}, sweep.seeds, false));
    return SkippedBaseline{row_keys(loaded).at(0),
                           trained_seeds_of(loaded.scenario, loaded.scenario.protocols.at(0))};
  } catch (const BadInput&) {
    return std::nullopt;  // it cannot stand there at all
  }
}

// Fills PointGroup::baseline.
void pair_up(const Sweep& sweep, Design& design) {
  std::map<std::size_t, std::size_t> own;                     // combination → itself
  std::multimap<std::uint64_t, const PointGroup*> by_timing;  // baseline rows
  for (const PointGroup& group : design.groups) {
    if (sweep.protocols[group.row] != sweep.baseline) continue;
    own[group.combination] = group.combination;
    by_timing.emplace(group.key.timing, &group);
  }
  if (own.empty()) return;
  for (PointGroup& group : design.groups) {
    const auto found = own.find(group.combination);
    if (found != own.end()) {
      group.baseline = found->second;
      continue;
    }
    const bool same_as_before =
        &group != design.groups.data() && (&group - 1)->combination == group.combination;
    if (same_as_before) {
      group.baseline = (&group - 1)->baseline;
      continue;
    }
    const std::optional<SkippedBaseline> there = skipped_baseline(sweep, group.combination);
    if (!there) continue;
    const auto [from, to] = by_timing.equal_range(there->key.timing);
    for (auto like = from; like != to && !group.baseline; ++like) {
      const PointGroup& other = *like->second;
      if (other.trained_seeds != there->trained_seeds) continue;
      if (other.trained_seeds > 0 && other.key.training != there->key.training) continue;
      group.baseline = other.combination;
    }
  }
}

}  // namespace

Design design_of(const Sweep& sweep) {
  check_columns(sweep);
  Design design;
  for (std::size_t c = 0; c < sweep.combinations.size(); ++c) {
    const Combination& combination = sweep.combinations[c];
    std::vector<std::string> names;
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < sweep.protocols.size(); ++row) {
      if (combination.skipped[row]) continue;
      rows.push_back(row);
      names.push_back(sweep.protocols[row]);
    }
    design.targets.emplace_back();
    if (names.empty()) continue;
    const Loaded loaded =
        with_plans(load_combination(sweep, combination, names, sweep.seeds, false));
    const Scenario& scenario = loaded.scenario;
    if (scenario.training.on) {
      design.targets.back() = {
          scenario.training.target_loss, scenario.training.target_loss_over_baseline, {}};
    }
    const std::vector<RowKey> keys = row_keys(loaded);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Protocol& protocol = scenario.protocols.at(i);
      SKERRY_CHECK(protocol.name == names[i], "rows in another order");
      const auto chips = chip_costs(scenario, protocol, scenario.prices.pricing);
      if (chips) design.targets.back().chips[rows[i]] = *chips;
      const int trained = trained_seeds_of(scenario, protocol);
      design.groups.push_back(
          {c, rows[i], keys[i], trained, guessed_s(scenario, protocol, trained > 0), {}});
      check_until(sweep, design.groups.back());
    }
    design.claims = std::max(design.claims, scenario.expect.size());
    if (design.groups.size() * (sweep.until ? 1 : sweep.seeds.size()) > kMaxPoints) {
      throw BadInput(sweep.label, "",
                     fmt::format("has more than {} points, allowed at most that", kMaxPoints));
    }
  }
  pair_up(sweep, design);
  return design;
}

std::uint64_t tape_id(const PointGroup& group, const Sweep& sweep, std::size_t index) {
  return hash64(fmt::format("tape|{}|{}|{}|{}", kNumbersVersion, group.key.timing,
                            sweep.protocols[group.row], sweep.seeds[index]));
}

std::uint64_t point_id(const PointGroup& group, const Sweep& sweep, std::size_t index) {
  const bool trained = int(index) < group.trained_seeds;
  return hash64(fmt::format("point|{}|{}|{}|{}|{}", kNumbersVersion, group.key.timing,
                            trained ? fmt::format("{}", group.key.training) : "untrained",
                            sweep.protocols[group.row], sweep.seeds[index]));
}

std::string hex16(std::uint64_t id) {
  return fmt::format("{:016x}", id);
}

int seeds_wanted(const Until& until, const std::vector<SeedValue>& values) {
  int n = until.min_seeds;
  for (;;) {
    std::vector<double> found;
    for (std::size_t i = 0; i < std::size_t(n); ++i) {
      if (i >= values.size() || !values[i].there) return n;
      if (values[i].value) found.push_back(*values[i].value);
    }
    if (n >= until.max_seeds) return n;
    int next = n + 1;
    const Interval interval = mean_interval(found);
    if (interval.high) {
      const double half_width = *interval.high - interval.mean;
      if (half_width <= until.half_width) return n;
      // The width falls with the root of n; at most half as many again, since it is itself
      // uncertain.
      const double need = n * std::pow(half_width / until.half_width, 2);
      next = int(std::clamp(std::ceil(need), n + 1.0, double(n + std::max(1, n / 2))));
    }
    n = std::min(next, until.max_seeds);
  }
}

Shard parse_shard(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t slash = text.find('/');
  const auto number = [](const std::string& word) {
    std::size_t value = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() ? value : 0;
  };
  const std::size_t index = slash == std::string::npos ? 0 : number(text.substr(0, slash));
  const std::size_t count = slash == std::string::npos ? 0 : number(text.substr(slash + 1));
  if (index < 1 || count < 1 || index > count || count > 100000) {
    throw BadInput("--shard", "",
                   "found '" + text + "', allowed I/N with 1 <= I <= N, such as 2/8");
  }
  return {index - 1, count};
}

}  // namespace skerry
