// Checks of what callers of kernels/model.hpp hand in; each throws std::invalid_argument with the
// name, the value found and what is allowed.
#pragma once

#include <cstddef>

#include "kernels/model.hpp"

namespace skerry::kernels {

// Divisibility and limits; V·C and 3·C·C elements always fit in std::size_t afterwards.
void check_shape(const ModelShape& shape);

void require_size(const char* what, std::size_t found, std::size_t wanted);

}  // namespace skerry::kernels
