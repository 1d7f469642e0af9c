// Draws from a law: one uniform each, through the law's quantile function.
#pragma once

#include <memory>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

class LawDraw {
 public:
  // Copies what it needs of `law`; its mean is not used.
  explicit LawDraw(const Law& law);

  // A draw in units of the mean. Takes exactly one uniform (a constant law too), so that draw i of
  // a stream stays draw i whatever the law.
  double unit(RandomStream& random) const;

 private:
  LawKind kind_;
  double shape_, power_;
  double per_scale_;  // 1 / mean_at_scale_one
  std::shared_ptr<const std::vector<double>> values_;
};

}  // namespace skerry
