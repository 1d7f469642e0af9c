// Means of the laws (Law in scenario.hpp): what turns a scale or a median into the mean, and back.
#pragma once

#include "sim/scenario/scenario.hpp"

namespace skerry {

// Mean of the law's form when its scale is one. Weibull, with λ = 1: Γ(1 + 1/k). Exponentiated
// Weibull (Mudholkar and Srivastava 1993), with λ = 1: by quadrature, to about 1e-13. Gamma, with
// θ = 1: k. Lognormal, with median 1: exp(σ²/2). The others have no scale but their mean: 1.
// Requires 0.05 ≤ shape ≤ 1000 and 0.01 ≤ power ≤ 1000 (lognormal: σ ≤ 10).
double mean_at_scale_one(const Law& law);

}  // namespace skerry
