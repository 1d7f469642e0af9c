// The points of a sweep: rows of combinations, seeds of rows, and what names each for ever.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/sweep_table.hpp"
#include "sim/scenario/sweep.hpp"

namespace skerry {

// One row of one combination; its points are its seeds.
struct PointGroup {
  std::size_t combination = 0, row = 0;  // into Sweep::combinations and Sweep::protocols
  RowKey key;
  int trained_seeds = 0;  // the first so many seeds are trained
  double guess_s = 0;     // rough wall time of one point on one core
  // The combination whose baseline row it is compared with: its own or, where the baseline was
  // skipped there, one in which the baseline's points are the very same. None: no pair.
  std::optional<std::size_t> baseline;
};

struct Design {
  std::vector<PointGroup> groups;   // combination by combination, rows in the scenario's order
  std::vector<LossTarget> targets;  // one a combination
  std::size_t claims = 0;           // entries of `expect`, which a sweep does not judge
};

// Reads the scenario of every combination: BadInput for the first that cannot be, and for an
// `until` that looks at losses of seeds that are not trained.
Design design_of(const Sweep& sweep);

// Seed `index` of a group. The same id: the same numbers. The same tape: they differ in training
// alone.
std::uint64_t point_id(const PointGroup& group, const Sweep& sweep, std::size_t index);
std::uint64_t tape_id(const PointGroup& group, const Sweep& sweep, std::size_t index);
std::string hex16(std::uint64_t id);

// How many seeds a row needs, from the metric of its first ones (`there`: the point has ended; no
// value: it failed or the metric is null). Looks are taken at fixed numbers of seeds, so that the
// answer does not depend on the order in which points end.
struct SeedValue {
  bool there = false;
  std::optional<double> value;
};
int seeds_wanted(const Until& until, const std::vector<SeedValue>& values);

// "2/5" → {1, 5}: index from 0. BadInput.
struct Shard {
  std::size_t index = 0, count = 1;
};
Shard parse_shard(const std::string& text);

}  // namespace skerry
