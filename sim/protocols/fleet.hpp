// Hardware of one run: which slices, islands, regions, ports and links are there, and how fast learners
// are. Faults nest: a thing is away while at least one fault holds it. Says who changed by signals; knows
// nothing of protocols.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/process.hpp"
#include "sim/faults/faults.hpp"
#include "sim/net/network.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

class Fleet {
 public:
  Fleet(Engine& engine, const Scenario& scenario, Network& network);

  void apply(const PlanLine& line);
  void repair(const PlanLine& line);

  bool slice_present(int learner, int slice) const;
  int slices_present(int learner) const;       // 0 while island or region is off
  bool up(int learner) const { return slices_present(learner) > 0; }
  double slowdown(int learner) const;          // product of straggler factors
  bool region_dark(int region) const;
  bool reachable(int region) const;            // not dark and neither port cut; −1 (no regions): true

  // Signals: chips of a learner changed; chips of anybody changed; a region's reachability changed.
  Signal& changed(int learner) { return *changed_[static_cast<std::size_t>(learner)]; }
  Signal& anything_changed() { return anything_changed_; }
  Signal& region_changed(int region) { return *region_changed_[static_cast<std::size_t>(region)]; }

 private:
  void hold(const PlanLine& line, int by);     // by = +1 applies, −1 repairs
  void change_learner(int learner);
  void change_region(int region, int by);
  void set_port(int region, int part);

  struct Island {
    std::vector<int> held;       // faults per slice
    int held_whole = 0;
    int slices_free = 0;         // slices with no fault of their own
    std::vector<double> factors; // straggler factors in force
  };
  const Scenario& scenario_;
  Network& network_;
  std::vector<Island> islands_;
  std::vector<int> dark_;                          // per region
  std::vector<std::vector<double>> port_factors_;  // 2·region + part: factors in force (0 = cut)
  std::vector<std::vector<double>> link_factors_;
  std::vector<std::unique_ptr<Signal>> changed_;
  std::vector<std::unique_ptr<Signal>> region_changed_;
  Signal anything_changed_;
};

}  // namespace skerry
