// The order of a ring whose narrowest edge is as wide as can be.
#pragma once

#include <vector>

namespace skerry {

inline constexpr std::size_t kMostInWidestRing = 12;

struct RingEdge {
  double capacity = 0.0;   // 0 = there is no such edge
  double latency_s = 0.0;
};

// Ring over n = edges.size() stops, edges[i][j] from stop i to stop j. Exact: widest narrowest edge, of
// those the smallest largest latency, of those the first in lexical order. Begins with stop 0. Empty
// when no ring passes over edges that are there. Requires 2 ≤ n ≤ kMostInWidestRing. O(2ⁿ n² log n).
std::vector<int> widest_ring(const std::vector<std::vector<RingEdge>>& edges);

}  // namespace skerry
