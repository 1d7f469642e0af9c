// Hardware of one run: which slices, islands, regions, ports and links are there, and how fast learners
// are. Faults nest: a thing is away while at least one fault holds it. Says who changed by signals; knows
// nothing of protocols.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "sim/engine/process.hpp"
#include "sim/faults/faults.hpp"
#include "sim/net/network.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

// Region without which nothing is exchanged: of a central syncer, of a star; −1: none.
int hub_of(const Protocol& protocol);

// A slice of a learner went away or is there again.
struct SliceChange {
  int slice = 0;
  bool present = false;
};

class Fleet {
 public:
  // `hub`: region whose side of a partition counts (central syncer, star); −1: the side with most learners.
  // `learners`: those that take part.
  Fleet(Engine& engine, const Scenario& scenario, Network& network, int hub,
        const std::vector<int>& learners);

  void apply(const PlanLine& line);
  void repair(const PlanLine& line);

  // Announced losses of all chips of a learner: they go at `line.at_s + line.notice_s`.
  void announce(const PlanLine& line);
  void withdraw(const PlanLine& line);               // the date has come
  double announced_loss_s(int learner) const;        // earliest date; kNever without one

  // A hang keeps silent until `date`: losses of this learner are not acted upon before.
  void keep_silent(int learner, double date);
  double silent_until_s(int learner) const { return island(learner).silent_until_s; }
  bool last_loss_expected(int learner) const { return island(learner).expected; }   // it was announced

  bool slice_present(int learner, int slice) const;
  int slices_present(int learner) const;       // 0 while island or region is off
  bool up(int learner) const { return slices_present(learner) > 0; }
  bool hung(int learner) const { return island(learner).hung > 0; }
  double slowdown(int learner) const;          // product of straggler factors
  double storage_slowdown() const;             // on saves and restores
  bool region_dark(int region) const;
  bool shard_lost(int region) const;
  // Its shards can take part in the exchange: not dark, neither port cut, memory kept, and on the side of a
  // partition that counts. −1 (no regions): true.
  bool reachable(int region) const;

  // Every change of a learner's slices so far, in order: readers keep their own place in it.
  const std::vector<SliceChange>& changes(int learner) const { return island(learner).changes; }

  // Silent corruption: of learner m now, and how often one was found so far; the earliest start among
  // those that were found since the last call (kNever: none).
  bool corrupt(int learner) const { return island(learner).corrupt > 0; }
  int corruptions_found(int learner) const { return island(learner).corruptions_found; }
  bool corruption_found() const { return found_corruption_s_ < kNever; }
  double take_found_corruption_s();

  // Signals: chips or speed of a learner changed, a loss was announced or a corruption began or was found;
  // anything of anybody changed; a region's reachability changed.
  Signal& changed(int learner) { return *changed_[static_cast<std::size_t>(learner)]; }
  Signal& anything_changed() { return anything_changed_; }
  Signal& region_changed(int region) { return *region_changed_[static_cast<std::size_t>(region)]; }

 private:
  struct Island {
    std::vector<int> held;       // faults per slice
    int held_whole = 0;
    int slices_free = 0;         // slices with no fault of their own
    int hung = 0;                // hangs among the faults
    double silent_until_s = 0;
    bool expected = false;
    int corrupt = 0, corruptions_found = 0;
    double corrupt_since_s = kNever;
    std::vector<double> factors; // straggler factors in force
    std::multiset<double> announced;
    std::vector<SliceChange> changes;
  };
  void hold(const PlanLine& line, int by);     // by = +1 applies, −1 repairs
  void hold_slice(const Target& target, int by);
  void hold_link(const PlanLine& line, int by);
  void find_partition();
  bool pair_open(std::size_t a, std::size_t b) const;
  void hold_corruption(int learner, int by, double date);
  void hold_shards(int region, int by);
  void log_whole(int learner, bool present);
  void change_learner(int learner);
  void change_region(int region, int by);
  void set_port(int region, int part);
  bool whole_off(int learner) const;
  Island& island(int m) { return islands_[static_cast<std::size_t>(m)]; }
  const Island& island(int m) const { return islands_[static_cast<std::size_t>(m)]; }

  Engine& engine_;
  const Scenario& scenario_;
  Network& network_;
  std::vector<Island> islands_;
  std::vector<int> dark_;                          // per region
  std::vector<int> shards_lost_;                   // per region
  std::vector<char> apart_;                        // per region: a partition keeps it from the side that counts
  int hub_ = -1;
  std::vector<int> learners_;                      // that take part
  std::vector<double> storage_factors_;
  double found_corruption_s_ = kNever;
  std::vector<std::vector<double>> port_factors_;  // 2·region + part: factors in force (0 = cut)
  std::vector<std::vector<double>> link_factors_;
  std::vector<int> link_parted_;                   // per link: partitions in force
  std::vector<std::unique_ptr<Signal>> changed_;
  std::vector<std::unique_ptr<Signal>> region_changed_;
  Signal anything_changed_;
};

}  // namespace skerry
