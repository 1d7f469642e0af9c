#include "sim/scenario/ring_order.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "sim/base/error.hpp"

namespace skerry {

namespace {

using Edges = std::vector<std::vector<RingEdge>>;

// A closed path over all stops that uses allowed edges alone, the first in lexical order; empty without
// one. reachable[visited][last]: the rest of the path exists.
std::vector<int> closed_path(const Edges& edges, double narrowest, double slowest_s) {
  const std::size_t n = edges.size();
  const std::size_t all = (std::size_t{1} << n) - 1;
  const auto allowed = [&](std::size_t a, std::size_t b) {
    return a != b && edges[a][b].capacity >= narrowest && edges[a][b].latency_s <= slowest_s;
  };
  std::vector<char> reachable((all + 1) * n, 0);
  for (std::size_t last = 1; last < n; ++last) reachable[all * n + last] = allowed(last, 0);
  for (std::size_t visited = all - 1; visited >= 1; --visited) {
    if ((visited & 1U) == 0) continue;
    for (std::size_t last = 0; last < n; ++last) {
      for (std::size_t next = 1; next < n && reachable[visited * n + last] == 0; ++next) {
        const std::size_t bit = std::size_t{1} << next;
        if ((visited & bit) == 0 && allowed(last, next)) {
          reachable[visited * n + last] = reachable[(visited | bit) * n + next];
        }
      }
    }
  }
  if (reachable[1 * n] == 0) return {};
  std::vector<int> path = {0};
  for (std::size_t visited = 1, last = 0; path.size() < n;) {
    for (std::size_t next = 1; next < n; ++next) {
      const std::size_t bit = std::size_t{1} << next;
      if ((visited & bit) != 0 || !allowed(last, next)) continue;
      if (reachable[(visited | bit) * n + next] == 0) continue;
      visited |= bit;
      last = next;
      path.push_back(static_cast<int>(next));
      break;
    }
  }
  return path;
}

// The first value, in this order, with which there is a path; the values are of all edges.
template <class Order>
double best_value(std::vector<double> values, Order order, const std::function<bool(double)>& works) {
  std::sort(values.begin(), values.end(), order);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const auto found = std::partition_point(values.begin(), values.end(),
                                          [&](double value) { return !works(value); });
  return found == values.end() ? values.back() : *found;
}

}  // namespace

std::vector<int> widest_ring(const Edges& edges) {
  SKERRY_CHECK(edges.size() >= 2 && edges.size() <= kMostInWidestRing,
               "a ring over " + std::to_string(edges.size()) + " stops");
  std::vector<double> capacities, latencies;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t j = 0; j < edges.size(); ++j) {
      if (i == j || edges[i][j].capacity <= 0.0) continue;
      capacities.push_back(edges[i][j].capacity);
      latencies.push_back(edges[i][j].latency_s);
    }
  }
  if (capacities.empty()) return {};
  const double any_s = *std::max_element(latencies.begin(), latencies.end());
  const double narrowest = best_value(capacities, std::greater<>(), [&](double least) {
    return !closed_path(edges, least, any_s).empty();
  });
  const double slowest_s = best_value(latencies, std::less<>(), [&](double most_s) {
    return !closed_path(edges, narrowest, most_s).empty();
  });
  return closed_path(edges, narrowest, slowest_s);
}

}  // namespace skerry
