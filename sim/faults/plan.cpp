#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <system_error>
#include <tuple>

#include "sim/base/error.hpp"
#include "sim/faults/faults.hpp"

namespace skerry {

namespace {

constexpr std::string_view kHeader = "at_s,for_s,kind,target,factor,source";
constexpr std::array kKinds{FaultKind::kSliceDown, FaultKind::kIslandDown, FaultKind::kRegionDark,
                            FaultKind::kLinkCut,   FaultKind::kLinkSlow,   FaultKind::kStraggler};

void append_number(std::string& text, double value) {
  std::array<char, 32> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + 32, value).ptr);
}

// Whether a fault of this kind can hit a target of that kind.
bool can_hit(FaultKind kind, TargetKind target) {
  switch (kind) {
    case FaultKind::kSliceDown:
      return target == TargetKind::kSlice;
    case FaultKind::kIslandDown:
    case FaultKind::kStraggler:
      return target == TargetKind::kLearner;
    case FaultKind::kRegionDark:
      return target == TargetKind::kRegion;
    case FaultKind::kLinkCut:
    case FaultKind::kLinkSlow:
      break;
  }
  return target == TargetKind::kPort || target == TargetKind::kLink;
}

bool is_name(std::string_view text) {
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-') return false;
  }
  return !text.empty();
}

class PlanReader {
 public:
  PlanReader(const Scenario& scenario, const std::string& label)
      : scenario_(scenario), label_(label) {
    for (std::size_t i = 0; i < scenario.learners.size(); ++i) {
      learners_[scenario.learners[i].name] = {TargetKind::kLearner, static_cast<int>(i), 0};
    }
    for (std::size_t i = 0; i < scenario.regions.size(); ++i) {
      const std::string& name = scenario.regions[i].name;
      const int index = static_cast<int>(i);
      places_[name] = {TargetKind::kRegion, index, 0};
      places_[name + ".up"] = {TargetKind::kPort, index, 0};
      places_[name + ".down"] = {TargetKind::kPort, index, 1};
    }
    for (std::size_t i = 0; i < scenario.links.size(); ++i) {
      const Target link{TargetKind::kLink, static_cast<int>(i), 0};
      places_[target_name(scenario, link)] = link;
    }
  }

  std::vector<PlanLine> read(std::string_view text) {
    std::vector<PlanLine> plan;
    for (line_ = 1; !text.empty() || line_ == 1; ++line_) {
      const std::size_t size = text.find('\n');
      const std::string_view row = text.substr(0, size);
      text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
      if (line_ > 1) {
        plan.push_back(plan_line(row));
      } else if (row != kHeader) {
        refuse("found '" + shown(row) + "', expected '" + std::string(kHeader) + "'");
      }
    }
    return plan;
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw BadInput(label_, "line " + std::to_string(line_), message);
  }

  static std::string shown(std::string_view text) {
    std::string safe;
    for (const char c : text.substr(0, 60))
      safe += c >= ' ' && c <= '~' ? c : '?';
    return safe;
  }

  std::array<std::string_view, 6> columns(std::string_view row) const {
    if (!row.empty() && row.back() == '\r')
      refuse("ends in a carriage return, expected '\\n' only");
    std::array<std::string_view, 6> cells;
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
      const std::size_t size = row.find(',');
      if (count < cells.size()) cells[count] = row.substr(0, size);
      more = size != std::string_view::npos;
      if (more) row.remove_prefix(size + 1);
    }
    if (count != cells.size()) refuse("has " + std::to_string(count) + " columns, expected 6");
    return cells;
  }

  double number(std::string_view text, const char* what) const {
    double value = 0.0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{} || end != last || !std::isfinite(value) || std::signbit(value)) {
      refuse(std::string(what) + " is '" + shown(text) + "', expected a finite number ≥ 0");
    }
    return value;
  }

  FaultKind kind(std::string_view text) const {
    std::string known;
    for (const FaultKind kind : kKinds) {
      if (kind_name(kind) == text) return kind;
      known += std::string(known.empty() ? "" : ", ") + std::string(kind_name(kind));
    }
    refuse("kind is '" + shown(text) + "', expected one of " + known);
  }

  // A region may be called like a learner or like a port of another: the kind decides.
  Target target(std::string_view text, FaultKind kind) const {
    const bool of_learner =
        can_hit(kind, TargetKind::kLearner) || can_hit(kind, TargetKind::kSlice);
    const std::size_t slash = of_learner ? text.find('/') : std::string_view::npos;
    const auto& names = of_learner ? learners_ : places_;
    const auto found = names.find(std::string(text.substr(0, slash)));
    if (found == names.end()) {
      refuse("target '" + shown(text) + "' is not in the scenario");
    }
    Target target = found->second;
    if (slash != std::string_view::npos) target = slice(target, text.substr(slash + 1));
    if (!can_hit(kind, target.kind)) {
      refuse(std::string(kind_name(kind)) + " cannot hit '" + shown(text) + "'");
    }
    return target;
  }

  Target slice(const Target& learner, std::string_view text) const {
    const int slices = scenario_.learners[static_cast<std::size_t>(learner.index)].slices;
    constexpr std::string_view kPrefix = "slice.";
    int number = 0;
    if (text.substr(0, kPrefix.size()) == kPrefix) {
      const char* last = text.data() + text.size();
      const auto [end, error] = std::from_chars(text.data() + kPrefix.size(), last, number);
      if (error != std::errc{} || end != last || text[kPrefix.size()] == '0') number = 0;
    }
    if (number < 1 || number > slices) {
      refuse("slice is '" + shown(text) + "', expected slice.1 to slice." + std::to_string(slices));
    }
    return {TargetKind::kSlice, learner.index, number - 1};
  }

  void check_factor(const PlanLine& line) {
    if (line.kind == FaultKind::kLinkSlow) {
      if (!(line.factor > 0.0 && line.factor <= 1.0)) {
        refuse("factor of link_slow must be above 0 and at most 1");
      }
      if (!(nominal_capacity_Bps(scenario_, line.target) < kUnlimited)) {
        refuse(target_name(scenario_, line.target) + " has no capacity of its own to slow");
      }
    } else if (line.kind == FaultKind::kStraggler) {
      if (!(line.factor > 0.0)) refuse("factor of straggler must be above 0");
    } else if (line.factor != 1.0) {
      refuse("factor of " + std::string(kind_name(line.kind)) + " must be 1: it has no effect");
    } else {
      return;
    }
    const Key key{line.kind, line.target.kind, line.target.index, line.target.part, line.at_s};
    const auto [before, is_new] = factors_.try_emplace(key, line.factor, line_);
    if (!is_new && before->second.first != line.factor) {
      refuse("another factor for the same target and date stands in line " +
             std::to_string(before->second.second));
    }
  }

  PlanLine plan_line(std::string_view row) {
    const std::array<std::string_view, 6> cells = columns(row);
    PlanLine line;
    line.at_s = number(cells[0], "at_s");
    line.for_s = cells[1].empty() ? kNever : number(cells[1], "for_s");
    line.kind = kind(cells[2]);
    line.target = target(cells[3], line.kind);
    line.factor = number(cells[4], "factor");
    check_factor(line);
    if (!is_name(cells[5])) {
      refuse("source is '" + shown(cells[5]) + "', expected letters, digits, '.', '_' and '-'");
    }
    line.source = cells[5];
    return line;
  }

  using Key = std::tuple<FaultKind, TargetKind, int, int, double>;

  const Scenario& scenario_;
  const std::string& label_;
  std::size_t line_ = 1;
  std::map<std::string, Target> learners_;
  std::map<std::string, Target> places_;  // regions, ports and links
  std::map<Key, std::pair<double, std::size_t>> factors_;
};

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
    text += line.source;
    text += '\n';
  }
  return text;
}

std::vector<PlanLine> plan_from_csv(const Scenario& scenario, const std::string& text,
                                    const std::string& label) {
  return PlanReader(scenario, label).read(text);
}

}  // namespace skerry
