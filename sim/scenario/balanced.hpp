// How tensors become fragments: of the charged model and of the trained one alike.
#pragma once

#include <vector>

namespace skerry {

// Balanced tensor fragmentation (arXiv 2604.21428): sort by size descending (ties: tensor order),
// put each whole tensor into the fragment with the least so far (ties: lowest index). Returns the
// fragment of each tensor. Requires 1 ≤ fragments ≤ sizes.size(). O(n log n). Property: max ≤ 4/3
// of the best possible maximum (Graham 1969).
std::vector<int> balanced_fragments(const std::vector<double>& sizes, int fragments);

}  // namespace skerry
