#include "sim/base/error.hpp"
#include "sim/cost/cost.hpp"

namespace skerry {

std::vector<double> fragment_bytes(const ChargedModel& model, int fragments) {
  SKERRY_CHECK(fragments >= 1, std::to_string(fragments) + " fragments");
  const auto count = static_cast<std::size_t>(fragments);
  if (model.tensors.empty()) return std::vector<double>(count, model_wire_bytes(model) / fragments);

  std::vector<double> sizes;
  sizes.reserve(model.tensors.size());
  for (const Tensor& tensor : model.tensors)
    sizes.push_back(tensor.parameters);
  const std::vector<int> fragment_of = balanced_fragments(sizes, fragments);

  std::vector<double> bytes(count, 0.0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    bytes[static_cast<std::size_t>(fragment_of[i])] += sizes[i];
  }
  for (double& b : bytes)
    b = b * model.wire_bits_per_parameter / 8.0;
  return bytes;
}

double model_wire_bytes(const ChargedModel& model) {
  return model.parameters * model.wire_bits_per_parameter / 8.0;
}

double recovery_bytes(const ChargedModel& model) {
  return 3.0 * model_wire_bytes(model);
}

}  // namespace skerry
