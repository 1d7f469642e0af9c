#include "sim/run/sweep_points.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "kernels/model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/run/numbers_version.hpp"
#include "sim/run/run_scenario.hpp"

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

}  // namespace

Design design_of(const Sweep& sweep) {
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
      design.targets.back() = {scenario.training.target_loss,
                               scenario.training.target_loss_over_baseline};
    }
    const std::vector<RowKey> keys = row_keys(loaded);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Protocol& protocol = scenario.protocols.at(i);
      SKERRY_CHECK(protocol.name == names[i], "rows in another order");
      const int trained =
          scenario.training.on && protocol.preset != "ideal" ? scenario.training.seeds : 0;
      design.groups.push_back(
          {c, rows[i], keys[i], trained, guessed_s(scenario, protocol, trained > 0)});
    }
    if (design.groups.size() * (sweep.until ? 1 : sweep.seeds.size()) > kMaxPoints) {
      throw BadInput(sweep.label, "",
                     fmt::format("has more than {} points, allowed at most that", kMaxPoints));
    }
  }
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
