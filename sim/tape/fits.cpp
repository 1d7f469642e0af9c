#include <algorithm>
#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

namespace {

// Looks at every member that is an index, by its name.
class Fit {
 public:
  Fit(const Scenario& scenario, const Protocol& protocol, const std::string& label)
      : scenario_(scenario), protocol_(protocol), label_(label) {}

  template <class F>
  void check(const F& f) const {
    if constexpr (requires { f.learner; }) learner(f.learner);
    if constexpr (requires { f.fragment; }) below(f.fragment, protocol_.fragments, "fragment");
    if constexpr (requires { f.target; }) target(f.target);
    if constexpr (requires { f.source; }) {
      below(f.source, count(scenario_.faults) + count(scenario_.plan), "fault");
    }
    if constexpr (requires { f.donor; }) {
      if (f.donor >= 0) learner(f.donor);
    }
    if constexpr (requires { f.slices_away; }) {
      below(f.slices_away, slices_of(f.learner) + 1, "number of slices away");
    }
    if constexpr (std::is_same_v<F, fact::Steps>) {
      const double full = scenario_.charged.tokens_per_learner_step * protocol_.accumulate_steps;
      amount(f.tokens, full * (1 + 1e-9), "tokens of a step");
    }
    if constexpr (std::is_same_v<F, fact::Lost>) {
      amount(f.steps, kNever, "lost steps");
      amount(f.tokens, kNever, "lost tokens");
      amount(f.chip_seconds, kNever, "lost chip-seconds");
    }
  }

 private:
  template <class T>
  static int count(const std::vector<T>& list) {
    return static_cast<int>(list.size());
  }

  int slices_of(int learner) const {
    return scenario_.learners[static_cast<std::size_t>(learner)].slices;
  }

  void below(int index, int bound, const char* what) const {
    if (index >= bound) {
      throw BadInput(label_, "",
                     "the tape has " + std::string(what) + " " + std::to_string(index) +
                         ", the scenario has " + std::to_string(bound) + " (counted from 0)");
    }
  }

  void amount(double found, double most, const char* what) const {
    if (found >= 0 && found <= most) return;
    throw BadInput(label_, "",
                   fmt::format("the tape has {} {}, allowed 0 to {}", found, what, most));
  }

  void learner(int index) const {
    below(index, count(scenario_.learners), "learner");
    if (!std::binary_search(protocol_.learners.begin(), protocol_.learners.end(), index)) {
      throw BadInput(label_, "",
                     "the tape has learner " + std::to_string(index) + ", which takes no part in " +
                         protocol_.name);
    }
  }

  void target(const Target& target) const {
    switch (target.kind) {
      case TargetKind::kSlice:
        below(target.index, count(scenario_.learners), "learner");
        return below(target.part, slices_of(target.index), "slice");
      case TargetKind::kLearner:
        return below(target.index, count(scenario_.learners), "learner");
      case TargetKind::kRegion:
        return below(target.index, count(scenario_.regions), "region");
      case TargetKind::kPort:
        below(target.index, count(scenario_.regions), "region");
        return below(target.part, 2, "port");
      case TargetKind::kLink:
        return below(target.index, count(scenario_.links), "link");
      case TargetKind::kStorage:
        return below(target.index, 1, "storage");
    }
  }

  const Scenario& scenario_;
  const Protocol& protocol_;
  const std::string& label_;
};

}  // namespace

void check_tape_fits(const Tape& tape, const Scenario& scenario, const std::string& label) {
  const auto protocol =
      std::find_if(scenario.protocols.begin(), scenario.protocols.end(),
                   [&](const Protocol& p) { return p.name == tape.start.protocol; });
  if (protocol == scenario.protocols.end()) {
    throw BadInput(label, "", "protocol '" + tape.start.protocol + "' is not in the scenario");
  }
  const Fit fit(scenario, *protocol, label);
  for (const Fact& any : tape.facts) {
    std::visit([&](const auto& f) { fit.check(f); }, any);
  }
}

}  // namespace skerry
