#include "sim/faults/draw.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/scenario/law.hpp"

namespace skerry {

namespace {

// In double alone: a wider type would only cost time.
using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

}  // namespace

LawDraw::LawDraw(const Law& law)
    : kind_(law.kind),
      shape_(law.shape),
      power_(law.power),
      per_scale_(1.0 / mean_at_scale_one(law)),
      values_(law.values) {
  SKERRY_CHECK(kind_ != LawKind::kEmpirical || (values_ != nullptr && !values_->empty()),
               "an empirical law without values");
}

// The uniform u is the chance to be longer, 1 − F(x).
double LawDraw::unit(RandomStream& random) const {
  switch (kind_) {
    case LawKind::kExponential:
      return random.exponential();
    case LawKind::kConstant:
      random.uniform();
      return 1.0;
    case LawKind::kWeibull:
      return std::pow(random.exponential(), 1.0 / shape_) * per_scale_;
    case LawKind::kExponentiatedWeibull: {
      // (1 − e^(−y))^power = 1 − u
      const double inner = -std::expm1(std::log1p(-random.uniform()) / power_);
      return std::pow(-std::log(inner), 1.0 / shape_) * per_scale_;
    }
    case LawKind::kLognormal:
      return std::exp(shape_ * random.normal()) * per_scale_;
    case LawKind::kGamma:
      return boost::math::gamma_q_inv(shape_, random.uniform(), InDouble()) * per_scale_;
    case LawKind::kEmpirical:
      break;
  }
  const std::size_t last = values_->size() - 1;
  const double place = random.uniform() * static_cast<double>(values_->size());
  return (*values_)[std::min(static_cast<std::size_t>(place), last)];
}

}  // namespace skerry
