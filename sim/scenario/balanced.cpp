#include "sim/scenario/balanced.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

#include "sim/base/error.hpp"

namespace skerry {

std::vector<int> balanced_fragments(const std::vector<double>& sizes, int fragments) {
  SKERRY_CHECK(
      fragments >= 1 && static_cast<std::size_t>(fragments) <= sizes.size(),
      std::to_string(fragments) + " fragments of " + std::to_string(sizes.size()) + " tensors");
  std::vector<std::size_t> by_size(sizes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });

  using Load =
      std::pair<double, int>;  // (size so far, fragment): the least is on top, ties by index
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int f = 0; f < fragments; ++f)
    loads.emplace(0.0, f);

  std::vector<int> fragment_of(sizes.size());
  for (const std::size_t tensor : by_size) {
    const auto [load, fragment] = loads.top();
    loads.pop();
    fragment_of[tensor] = fragment;
    loads.emplace(load + sizes[tensor], fragment);
  }
  return fragment_of;
}

}  // namespace skerry
