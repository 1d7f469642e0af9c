#include "sim/protocols/donors.hpp"

#include <tuple>

namespace skerry {

int nearest(const Scenario& scenario, const Network& network, const std::vector<int>& candidates,
            int region) {
  int best = -1;
  std::tuple<bool, bool, double> best_rank;
  for (int m : candidates) {
    const int from = scenario.learners[static_cast<std::size_t>(m)].region;
    const std::tuple<bool, bool, double> rank{from != region, !network.path_up(from, region),
                                              network.latency_s(from, region)};
    if (best >= 0 && !(rank < best_rank)) continue;
    best = m;
    best_rank = rank;
  }
  return best;
}

}  // namespace skerry
