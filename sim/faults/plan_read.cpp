#include <array>
#include <charconv>
#include <map>
#include <system_error>
#include <tuple>

#include "sim/faults/faults.hpp"
#include "sim/scenario/csv_table.hpp"

namespace skerry {

namespace {

constexpr std::array kKinds{FaultKind::kSliceDown,   FaultKind::kIslandDown, FaultKind::kRegionDark,
                            FaultKind::kLinkCut,     FaultKind::kLinkSlow,   FaultKind::kStraggler,
                            FaultKind::kHang,        FaultKind::kShardLost,  FaultKind::kCorruption,
                            FaultKind::kStorageSlow, FaultKind::kPartition};

// Whether a fault of this kind can hit a target of that kind.
bool can_hit(FaultKind kind, TargetKind target) {
  switch (kind) {
    case FaultKind::kSliceDown:
    case FaultKind::kHang:
      return target == TargetKind::kSlice;
    case FaultKind::kIslandDown:
    case FaultKind::kStraggler:
    case FaultKind::kCorruption:
      return target == TargetKind::kLearner;
    case FaultKind::kRegionDark:
    case FaultKind::kShardLost:
      return target == TargetKind::kRegion;
    case FaultKind::kStorageSlow:
      return target == TargetKind::kStorage;
    case FaultKind::kPartition:
      return target == TargetKind::kLink;
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
  PlanReader(const Scenario& scenario, const std::string& text, const std::string& label,
             const std::string& source)
      : scenario_(scenario), source_(source), table_(text, label) {
    for (std::size_t i = 0; i < scenario.learners.size(); ++i) {
      learners_[scenario.learners[i].name] = {TargetKind::kLearner, static_cast<int>(i), 0};
    }
    for (std::size_t i = 0; i < scenario.regions.size(); ++i) {
      const std::string& name = scenario.regions[i].name;
      const int index = static_cast<int>(i);
      regions_[name] = {TargetKind::kRegion, index, 0};
      ports_and_links_[name + ".up"] = {TargetKind::kPort, index, 0};
      ports_and_links_[name + ".down"] = {TargetKind::kPort, index, 1};
    }
    for (std::size_t i = 0; i < scenario.links.size(); ++i) {
      const Target link{TargetKind::kLink, static_cast<int>(i), 0};
      ports_and_links_[target_name(scenario, link)] = link;
    }
    read_header();
  }

  std::vector<PlanLine> read() {
    std::vector<PlanLine> plan;
    while (table_.next()) {
      plan.push_back(plan_line());
      if (plan.size() > 1 && plan.back().at_s < plan[plan.size() - 2].at_s) {
        table_.refuse("trace out of order: its date is before that of the line before");
      }
    }
    return plan;
  }

 private:
  void read_header() {
    at_ = find_duration(table_, "at", at_unit_s_);
    for_ = find_duration(table_, "for", for_unit_s_);
    notice_ = find_duration(table_, "notice", notice_unit_s_);
    kind_ = table_.find("kind");
    target_ = table_.find("target");
    factor_ = table_.find("factor");
    source_column_ = table_.find("source");
    int known = 0;
    for (const int column : {at_, for_, notice_, kind_, target_, factor_, source_column_})
      known += column >= 0 ? 1 : 0;
    if (at_ >= 0 && kind_ >= 0 && target_ >= 0 &&
        known == static_cast<int>(table_.header().size())) {
      return;
    }
    std::string found;
    for (const std::string& column : table_.header())
      found += (found.empty() ? "" : ",") + column;
    table_.refuse("found '" + printable(found) +
                  "', expected the columns at_<unit>, kind, target and, if need be, for_<unit>, "
                  "factor, notice_<unit>, source");
  }

  FaultKind kind() const {
    std::string known;
    for (const FaultKind kind : kKinds) {
      if (kind_name(kind) == table_.cell(kind_)) return kind;
      known += std::string(known.empty() ? "" : ", ") + std::string(kind_name(kind));
    }
    table_.refuse("kind is '" + printable(table_.cell(kind_)) + "', expected one of " + known);
  }

  // A region may be called like a learner or like a port of another: the kind decides.
  Target target(FaultKind kind) const {
    const std::string& text = table_.cell(target_);
    if (kind == FaultKind::kStorageSlow) {
      if (text == "storage") return {TargetKind::kStorage, 0, 0};
      table_.refuse("storage_slow cannot hit '" + printable(text) + "', expected storage");
    }
    const bool of_learner =
        can_hit(kind, TargetKind::kLearner) || can_hit(kind, TargetKind::kSlice);
    const std::size_t slash = of_learner ? text.find('/') : std::string::npos;
    const std::string name = text.substr(0, slash);
    const bool of_region = can_hit(kind, TargetKind::kRegion);
    const auto& names = of_learner ? learners_ : of_region ? regions_ : ports_and_links_;
    const auto found = names.find(name);
    if (found == names.end()) {
      const bool other = regions_.contains(name) || ports_and_links_.contains(name);
      if (!of_learner && other) {
        table_.refuse(std::string(kind_name(kind)) + " cannot hit '" + printable(text) + "'");
      }
      table_.refuse("target '" + printable(text) + "' is not in the scenario");
    }
    Target target = found->second;
    if (slash != std::string::npos) target = slice(target, text.substr(slash + 1));
    if (!can_hit(kind, target.kind)) {
      table_.refuse(std::string(kind_name(kind)) + " cannot hit '" + printable(text) + "'");
    }
    return target;
  }

  Target slice(const Target& learner, const std::string& text) const {
    const int slices = scenario_.learners[static_cast<std::size_t>(learner.index)].slices;
    constexpr std::string_view kPrefix = "slice.";
    int number = 0;
    if (text.starts_with(kPrefix)) {
      const char* last = text.data() + text.size();
      const auto [end, error] = std::from_chars(text.data() + kPrefix.size(), last, number);
      if (error != std::errc{} || end != last || text[kPrefix.size()] == '0') number = 0;
    }
    if (number < 1 || number > slices) {
      table_.refuse("slice is '" + printable(text) + "', expected slice.1 to slice." +
                    std::to_string(slices));
    }
    return {TargetKind::kSlice, learner.index, number - 1};
  }

  void check_factor(const PlanLine& line) {
    const std::string kind(kind_name(line.kind));
    if (line.kind == FaultKind::kLinkSlow) {
      if (!(line.factor > 0.0 && line.factor <= 1.0)) {
        table_.refuse("factor of link_slow must be above 0 and at most 1");
      }
      if (!(nominal_capacity_Bps(scenario_, line.target) < kUnlimited)) {
        table_.refuse(target_name(scenario_, line.target) + " has no capacity of its own to slow");
      }
    } else if (line.kind == FaultKind::kStraggler) {
      if (!(line.factor > 0.0 && line.factor <= 1e6)) {
        table_.refuse("factor of straggler must be above 0 and at most 1e6");
      }
    } else if (line.kind == FaultKind::kStorageSlow) {
      if (!(line.factor > 1.0 && line.factor <= 1e6)) {
        table_.refuse("factor of storage_slow must be above 1 and at most 1e6");
      }
    } else if (line.factor != 1.0) {
      table_.refuse("factor of " + kind + " must be 1: it has no effect");
    } else {
      return;
    }
    if (factor_ < 0 || table_.cell(factor_).empty()) table_.refuse(kind + " needs a factor");
    if (line.kind != FaultKind::kLinkSlow) return;  // slow things nest; a link has one capacity
    const Key key{line.kind, line.target.kind, line.target.index, line.target.part, line.at_s};
    const auto [before, is_new] = factors_.try_emplace(key, line.factor, rows_);
    if (!is_new && before->second.first != line.factor) {
      table_.refuse("another factor for the same target and date stands in line " +
                    std::to_string(before->second.second));
    }
  }

  void read_notice(PlanLine& line) const {
    if (notice_ < 0 || table_.cell(notice_).empty()) return;
    line.notice_s = table_.number(notice_) * notice_unit_s_;
    const bool fits = line.kind == FaultKind::kSliceDown || line.kind == FaultKind::kIslandDown ||
                      line.kind == FaultKind::kRegionDark;
    if (line.notice_s > 0.0 && !fits) {
      table_.refuse("notice of " + std::string(kind_name(line.kind)) +
                    " must be 0: it has no effect");
    }
  }

  PlanLine plan_line() {
    ++rows_;
    PlanLine line;
    line.at_s = table_.number(at_) * at_unit_s_;
    if (for_ >= 0 && !table_.cell(for_).empty()) line.for_s = table_.number(for_) * for_unit_s_;
    line.kind = kind();
    line.target = target(line.kind);
    if (factor_ >= 0 && !table_.cell(factor_).empty()) line.factor = table_.number(factor_);
    check_factor(line);
    read_notice(line);
    line.source = source_column_ < 0 ? source_ : table_.cell(source_column_);
    if (!is_name(line.source)) {
      table_.refuse("source is '" + printable(line.source) +
                    "', expected letters, digits, '.', '_' and '-'");
    }
    return line;
  }

  using Key = std::tuple<FaultKind, TargetKind, int, int, double>;

  const Scenario& scenario_;
  const std::string& source_;
  CsvTable table_;
  int at_ = -1, for_ = -1, notice_ = -1, kind_ = -1, target_ = -1, factor_ = -1;
  int source_column_ = -1;
  double at_unit_s_ = 1.0, for_unit_s_ = 1.0, notice_unit_s_ = 1.0;
  std::size_t rows_ = 1;  // with the header: the line that is read
  std::map<std::string, Target> learners_, regions_, ports_and_links_;
  std::map<Key, std::pair<double, std::size_t>> factors_;
};

}  // namespace

std::vector<PlanLine> plan_from_csv(const Scenario& scenario, const std::string& text,
                                    const std::string& label, const std::string& source) {
  return PlanReader(scenario, text, label, source).read();
}

}  // namespace skerry
