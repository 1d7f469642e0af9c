#include "sim/protocols/fleet.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace skerry {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void add_or_remove(std::vector<double>& factors, double factor, int by) {
  if (by > 0) {
    factors.push_back(factor);
    return;
  }
  const auto found = std::find(factors.begin(), factors.end(), factor);
  SKERRY_CHECK(found != factors.end(), "repair of a factor that is not in force");
  factors.erase(found);
}

double product(const std::vector<double>& factors) {
  double value = 1.0;
  for (double f : factors) value *= f;
  return value;
}

}  // namespace

Fleet::Fleet(Engine& engine, const Scenario& scenario, Network& network)
    : scenario_(scenario),
      network_(network),
      islands_(scenario.learners.size()),
      dark_(scenario.regions.size(), 0),
      port_factors_(2 * scenario.regions.size()),
      link_factors_(scenario.links.size()),
      anything_changed_(engine, "any change of hardware") {
  for (std::size_t m = 0; m < islands_.size(); ++m) {
    islands_[m].held.assign(at(scenario.learners[m].slices), 0);
    islands_[m].slices_free = scenario.learners[m].slices;
    changed_.push_back(
        std::make_unique<Signal>(engine, "a change of " + scenario.learners[m].name));
  }
  for (const Region& region : scenario.regions) {
    region_changed_.push_back(std::make_unique<Signal>(engine, "a change of " + region.name));
  }
}

void Fleet::apply(const PlanLine& line) { hold(line, +1); }
void Fleet::repair(const PlanLine& line) { hold(line, -1); }

void Fleet::hold(const PlanLine& line, int by) {
  const Target& target = line.target;
  switch (line.kind) {
    case FaultKind::kSliceDown: {
      Island& island = islands_[at(target.index)];
      int& held = island.held[at(target.part)];
      if (held == 0 && by > 0) island.slices_free -= 1;
      held += by;
      if (held == 0 && by < 0) island.slices_free += 1;
      change_learner(target.index);
      break;
    }
    case FaultKind::kIslandDown:
      islands_[at(target.index)].held_whole += by;
      change_learner(target.index);
      break;
    case FaultKind::kRegionDark:
      change_region(target.index, by);
      break;
    case FaultKind::kStraggler:
      add_or_remove(islands_[at(target.index)].factors, line.factor, by);
      anything_changed_.notify();
      break;
    case FaultKind::kLinkCut:
    case FaultKind::kLinkSlow: {
      const double factor = line.kind == FaultKind::kLinkCut ? 0.0 : line.factor;
      if (target.kind == TargetKind::kPort) {
        add_or_remove(port_factors_[at(2 * target.index + target.part)], factor, by);
        set_port(target.index, target.part);
        region_changed(target.index).notify();
      } else {
        add_or_remove(link_factors_[at(target.index)], factor, by);
        network_.set_factor(target, product(link_factors_[at(target.index)]));
      }
      anything_changed_.notify();
      break;
    }
  }
}

void Fleet::change_learner(int learner) {
  changed(learner).notify();
  anything_changed_.notify();
}

void Fleet::change_region(int region, int by) {
  dark_[at(region)] += by;
  set_port(region, 0);
  set_port(region, 1);
  region_changed(region).notify();
  for (std::size_t m = 0; m < islands_.size(); ++m) {
    if (scenario_.learners[m].region == region) changed_[m]->notify();
  }
  anything_changed_.notify();
}

void Fleet::set_port(int region, int part) {
  const double factor = region_dark(region) ? 0.0 : product(port_factors_[at(2 * region + part)]);
  network_.set_factor({TargetKind::kPort, region, part}, factor);
}

bool Fleet::region_dark(int region) const { return region >= 0 && dark_[at(region)] > 0; }

bool Fleet::reachable(int region) const {
  if (region < 0) return true;
  const auto cut = [](const std::vector<double>& f) { return product(f) <= 0.0; };
  return !region_dark(region) && !cut(port_factors_[at(2 * region)]) &&
         !cut(port_factors_[at(2 * region + 1)]);
}

bool Fleet::slice_present(int learner, int slice) const {
  const Island& island = islands_[at(learner)];
  return island.held_whole == 0 && !region_dark(scenario_.learners[at(learner)].region) &&
         island.held[at(slice)] == 0;
}

int Fleet::slices_present(int learner) const {
  const Island& island = islands_[at(learner)];
  if (island.held_whole > 0 || region_dark(scenario_.learners[at(learner)].region)) return 0;
  return island.slices_free;
}

double Fleet::slowdown(int learner) const { return product(islands_[at(learner)].factors); }

}  // namespace skerry
