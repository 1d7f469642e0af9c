// From the records of a sweep to its tables.
#include <utility>

#include "sim/run/sweep_work.hpp"

namespace skerry {

namespace {

// Records in the order of the design, whatever the order in which they were written.
SweepResults gather(const Sweep& sweep, const Design& design, const SweepWork& work,
                    SweepStore& store) {
  SweepResults results(sweep);
  for (std::size_t g = 0; g < design.groups.size(); ++g) {
    const PointGroup& group = design.groups[g];
    std::vector<SweepPoint> points;
    for (std::size_t i = 0; i < work.seeds_of(g); ++i) {
      const std::uint64_t id = point_id(group, sweep, i);
      const std::shared_ptr<const PointCells> cells = store.cells(id);
      if (cells != nullptr) points.push_back({hex16(id), sweep.seeds[i], *cells});
    }
    results.add(group.combination, group.row, std::move(points), group.baseline);
  }
  results.finish(design.targets);
  return results;
}

}  // namespace

std::string write_sweep_tables(const Sweep& sweep, const Design& design, const SweepWork& work,
                               SweepStore& store,
                               const std::vector<std::string>* sensitivity_notes) {
  const SweepResults results = gather(sweep, design, work, store);
  const std::string text = sensitivity_notes != nullptr
                               ? sensitivity_text(results, *sensitivity_notes)
                               : pivot_text(results, design.claims);
  store.write("table.csv", results.table_csv());
  store.write("statistics.json",
              [&results](const TapeSink& sink) { write_statistics(results, sink); });
  store.write("table.txt", text);
  return text;
}

}  // namespace skerry
