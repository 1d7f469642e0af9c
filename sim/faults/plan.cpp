#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"

namespace skerry {

namespace {

constexpr std::string_view kHeader = "at_s,for_s,kind,target,factor,notice_s,source";

void append_number(std::string& text, double value) {
  std::array<char, 32> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + 32, value).ptr);
}

}  // namespace

std::vector<PlanLine> concrete_plan(const Scenario& scenario, std::uint64_t seed, double until_s) {
  SKERRY_CHECK(std::isfinite(until_s), "a plan without end");
  std::vector<int> learners(scenario.learners.size());
  std::iota(learners.begin(), learners.end(), 0);
  std::vector<int> regions(scenario.regions.size());
  std::iota(regions.begin(), regions.end(), 0);

  FaultSource source(scenario, seed, learners, regions);
  std::vector<PlanLine> plan;
  while (source.next_wall_date() < until_s)
    plan.push_back(source.pop_wall());
  return plan;
}

std::string plan_to_csv(const Scenario& scenario, const std::vector<PlanLine>& plan) {
  std::string text = std::string(kHeader) + "\n";
  for (const PlanLine& line : plan) {
    append_number(text, line.at_s);
    text += ',';
    if (line.for_s != kNever) append_number(text, line.for_s);
    text += ',';
    text += kind_name(line.kind);
    text += ',';
    text += target_name(scenario, line.target);
    text += ',';
    append_number(text, line.factor);
    text += ',';
    append_number(text, line.notice_s);
    text += ',';
    text += line.source;
    text += '\n';
  }
  return text;
}

}  // namespace skerry
