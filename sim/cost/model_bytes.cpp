#include "sim/base/error.hpp"
#include "sim/cost/cost.hpp"

namespace skerry {

double model_wire_bytes(const ChargedModel& model) {
  return model.parameters * model.wire_bits_per_parameter / 8.0;
}

double recovery_bytes(const ChargedModel& model) {
  return 3.0 * model_wire_bytes(model);
}

}  // namespace skerry
