#include "sim/run/solve_search.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "sim/base/error.hpp"

namespace skerry {

namespace {

double rounded(double value, int digits) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::general, digits);
  double out = value;
  std::from_chars(text.data(), end.ptr, out);
  return out;
}

std::string at(const std::pair<double, double>& sample) {
  return fmt::format("{} at {}", number_of(sample.second), number_of(sample.first));
}

}  // namespace

std::string number_of(double value) {
  return fmt::format("{:.9g}", value);
}

Search::Search(const SearchRange& range, const std::vector<double>& targets)
    : range_(range), states_(targets.size()) {
  SKERRY_CHECK(range.low < range.high && (range.whole ? range.low >= 0 : range.low > 0),
               "a search without a range");
  for (const double target : targets) {
    results_.emplace_back();
    results_.back().target = target;
  }
}

double Search::scale(double x) const {
  return range_.whole ? std::log1p(x) : std::log(x);
}

double Search::unscale(double place) const {
  if (range_.whole) return std::round(std::expm1(place));
  const int digits = std::clamp(3 - int(std::floor(std::log10(range_.tolerance))), 4, 15);
  return rounded(std::exp(place), digits);
}

std::vector<double> Search::next() {
  if (!began_) {
    began_ = true;
    const double low = scale(range_.low), high = scale(range_.high);
    std::vector<double> out = {range_.low};
    for (int i = 1; i + 1 < kProbes; ++i) {
      const double x = unscale(low + (high - low) * i / (kProbes - 1));
      if (x > out.back() && x < range_.high) out.push_back(x);
    }
    out.push_back(range_.high);
    return out;
  }
  judge();
  std::set<double> asked;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!states_[i].open) continue;
    for (const double x : ask(i)) {
      if (asked.insert(x).second) results_[i].points += 1;
    }
  }
  return {asked.begin(), asked.end()};
}

void Search::tell(double x, double value) {
  samples_[x] = value;
}

void Search::tell_failure(double x, const std::string& why) {
  failures_[x] = why;
}

void Search::refuse_open(const std::string& reason) {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!states_[i].open) continue;
    states_[i].open = false;
    results_[i].reason = reason;
  }
}

// Samples lie between the first and the last that did not fail; what failed outside is given up.
void Search::give_up_ends() {
  if (!range_.may_shrink || samples_.empty()) return;
  for (auto failure = failures_.begin(); failure != failures_.end();) {
    const bool outside =
        failure->first < samples_.begin()->first || failure->first > samples_.rbegin()->first;
    if (!outside) {
      ++failure;
      continue;
    }
    notes_.push_back(fmt::format("no run at {}: {}", number_of(failure->first), failure->second));
    failure = failures_.erase(failure);
  }
}

void Search::judge_failures() {
  if (failures_.empty()) return;
  const auto& [x, why] = *failures_.begin();
  refuse_open(samples_.empty() ? fmt::format("no run gives it; at {}: {}", number_of(x), why)
                               : fmt::format("the run at {} failed: {}", number_of(x), why));
}

double Search::allowed_dip(double value) const {
  return 1e-6 * std::abs(value) + range_.dip * span_;
}

// Along the samples, turned so that the metric rises: none may lie below an earlier one.
bool Search::judge_monotone() {
  std::vector<std::pair<double, double>> way(samples_.begin(), samples_.end());
  if (!rises_) std::reverse(way.begin(), way.end());
  std::size_t peak = 0;
  for (std::size_t i = 1; i < way.size(); ++i) {
    if (way[i].second >= way[peak].second) {
      peak = i;
      continue;
    }
    const double dip = way[peak].second - way[i].second;
    if (dip <= allowed_dip(way[peak].second)) continue;
    const std::string third = peak > 0 ? at(way.front()) : at(way.back());
    const std::string fall = at(way[peak]) + ", " + at(way[i]);
    refuse_open(fmt::format(
        "the metric is not monotone: {}; that is {} back, allowed {}. A range nearer to the answer "
        "(--times, --between) may leave it out; --dip {:.1g} takes it, for a coarser answer",
        peak > 0 ? third + ", " + fall : fall + ", " + third, number_of(dip),
        number_of(allowed_dip(way[peak].second)), std::min(1.5 * dip / span_, 1.0)));
    return false;
  }
  return true;
}

void Search::judge_probes() {
  probed_ = true;
  give_up_ends();
  judge_failures();
  if (!failures_.empty()) return;
  SKERRY_CHECK(!samples_.empty(), "no probe was told");
  const auto &first = *samples_.begin(), &last = *samples_.rbegin();
  const auto by_value = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto least = std::min_element(samples_.begin(), samples_.end(), by_value);
  const auto most = std::max_element(samples_.begin(), samples_.end(), by_value);
  if (samples_.size() == 1) {
    refuse_open(
        fmt::format("only {} of the default range gives a number ({}): give --between LO:HI",
                    number_of(first.first), number_of(first.second)));
    return;
  }
  if (most->second - least->second <= 1e-9 * std::abs(most->second)) {
    refuse_open(fmt::format(
        "the key does not move the metric: it is {} at all of {} points from {} to {}",
        number_of(first.second), samples_.size(), number_of(first.first), number_of(last.first)));
    return;
  }
  rises_ = last.second >= first.second;
  span_ = std::abs(last.second - first.second);
  if (!judge_monotone()) return;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const double target = results_[i].target;
    const double low = std::min(first.second, last.second);
    const double high = std::max(first.second, last.second);
    if (target > low && target <= high) continue;
    states_[i].open = false;
    results_[i].reason = fmt::format("out of reach: the metric is {} and {}", at(first), at(last));
    if (target <= low) results_[i].reason += ": everything between reaches it";
  }
}

void Search::judge() {
  if (!probed_) {
    judge_probes();
  } else {
    judge_failures();
    if (failures_.empty()) judge_monotone();
  }
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (states_[i].open && is_narrow(bracket_of(results_[i].target))) settle(i);
  }
}

// From the last sample that misses the target, on the way up, to the next.
Search::Bracket Search::bracket_of(double target) const {
  Bracket out;
  out.low_reaches = !rises_;
  if (rises_) {
    auto above = samples_.end();
    while (std::prev(above)->second >= target)
      --above;
    out.low = std::prev(above)->first;
    out.high = above->first;
  } else {
    auto above = samples_.begin();
    while (above->second >= target)
      ++above;
    out.low = std::prev(above)->first;
    out.high = above->first;
  }
  return out;
}

bool Search::is_narrow(const Bracket& bracket) const {
  if (range_.whole) return bracket.high - bracket.low <= 1;
  return bracket.high / bracket.low <= 1 + range_.tolerance;
}

void Search::settle(std::size_t i) {
  SearchResult& result = results_[i];
  const Bracket bracket = bracket_of(result.target);
  states_[i].open = false;
  result.solved = true;
  result.x = bracket.low_reaches ? bracket.low : bracket.high;
  result.x_below = bracket.low_reaches ? bracket.high : bracket.low;
  result.value = samples_.at(result.x);
  result.value_below = samples_.at(result.x_below);
  result.first_x = result.x;
  for (const auto& [x, value] : samples_) {
    if (value < result.target) continue;
    if (rises_ ? x < result.first_x : x > result.first_x) result.first_x = x;
  }
}

// The point at `place`, or where it would not divide the bracket its middle.
double Search::inside(double place, const Bracket& bracket) const {
  double x = unscale(place);
  if (range_.whole) return std::clamp(x, bracket.low + 1, bracket.high - 1);
  if (x <= bracket.low || x >= bracket.high) x = std::sqrt(bracket.low) * std::sqrt(bracket.high);
  return x;
}

// About the place where a straight line (of the logarithms, when all are positive) meets the
// target: a little to each side, so that two good guesses leave a bracket of twice that. Asked for
// one point alone, the one towards the middle first. A bracket that does not shrink is halved.
std::vector<double> Search::ask(std::size_t i) {
  const double target = results_[i].target;
  const Bracket bracket = bracket_of(target);
  const double low = scale(bracket.low), high = scale(bracket.high), length = high - low;
  double from = samples_.at(bracket.low), to = samples_.at(bracket.high), goal = target;
  if (from > 0 && to > 0 && target > 0) {
    from = std::log(from);
    to = std::log(to);
    goal = std::log(goal);
  }
  const double middle = low + length / 2;
  const double guess = low + length * std::clamp((goal - from) / (to - from), 0.0, 1.0);
  const double finest = 0.45 * range_.tolerance;
  const double aside =
      std::max(std::min(finest, length / 4), std::min(length / 8, 0.1 * length * length));
  const double margin = std::min(2 * finest, length / 3);
  const bool stuck = length > 0.6 * states_[i].last_length && states_[i].last_length > 0;
  states_[i].last_length = length;
  const double left = std::max(guess - aside, low + margin);
  const double right = std::min(guess + aside, high - margin);
  std::vector<double> places;
  if (range_.points >= 2) {
    places = {left, right};
    if (stuck) places = {low + length / 3, high - length / 3};
  } else {
    places = {stuck ? middle : guess < middle ? right : left};
  }
  std::vector<double> out;
  for (const double place : places)
    out.push_back(inside(place, bracket));
  return out;
}

}  // namespace skerry
