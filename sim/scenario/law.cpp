#include "sim/scenario/law.hpp"

#include <cmath>

namespace skerry {

namespace {

// E[Y^(1/k)] for Y with F(y) = (1 − e^(−y))^a, as an integral over s = ln y. The integrand is
// smooth and falls off exponentially at both ends, so that the trapezoid rule converges
// exponentially.
double exponentiated_weibull_mean(double k, double a) {
  constexpr int kPanels = 1 << 15;
  const double low = -45.0 / (1.0 / k + a);
  const double high = 7.6;  // ln y beyond which y^20 e^(−y) vanishes
  const double width = (high - low) / kPanels;
  double sum = 0.0;
  for (int i = 0; i <= kPanels; ++i) {
    const double s = low + width * i;
    const double y = std::exp(s);
    const double log_term = (1.0 + 1.0 / k) * s + (a - 1.0) * std::log(-std::expm1(-y)) - y;
    sum += std::exp(log_term);
  }
  return a * sum * width;
}

}  // namespace

double mean_at_scale_one(const Law& law) {
  switch (law.kind) {
    case LawKind::kWeibull:
      return std::tgamma(1.0 + 1.0 / law.shape);
    case LawKind::kExponentiatedWeibull:
      return exponentiated_weibull_mean(law.shape, law.power);
    case LawKind::kGamma:
      return law.shape;
    case LawKind::kLognormal:
      return std::exp(0.5 * law.shape * law.shape);
    case LawKind::kExponential:
    case LawKind::kConstant:
    case LawKind::kEmpirical:
      break;
  }
  return 1.0;
}

}  // namespace skerry
