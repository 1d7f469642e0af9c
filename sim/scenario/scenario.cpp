#include "sim/scenario/scenario.hpp"

#include "sim/base/random.hpp"

namespace skerry {

std::vector<Tensor> transformer_tensors(int layers, double width, double ffn, double vocabulary,
                                        bool tied) {
  std::vector<Tensor> tensors;
  tensors.push_back({"embedding", vocabulary * width, true});
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "layer" + std::to_string(i) + ".";
    for (const char* matrix : {"q", "k", "v", "o"}) {
      tensors.push_back({layer + matrix, width * width, false});
    }
    tensors.push_back({layer + "w_in", width * ffn, false});
    tensors.push_back({layer + "w_out", ffn * width, false});
    tensors.push_back({layer + "norm1", width, false});
    tensors.push_back({layer + "norm2", width, false});
  }
  tensors.push_back({"final_norm", width, false});
  if (!tied) tensors.push_back({"output_head", vocabulary * width, false});
  return tensors;
}

int Scenario::link_between(int from_region, int to_region) const {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].from == from_region && links[i].to == to_region) return static_cast<int>(i);
  }
  return -1;
}

double spread_factor(const Scenario& scenario, std::uint64_t seed, int learner) {
  if (scenario.spread_relative <= 0.0) return 1.0;
  const Learner& which = scenario.learners[static_cast<std::size_t>(learner)];
  RandomStream stream(seed, "speed_spread/" + which.group,
                      static_cast<std::uint64_t>(which.index_in_group));
  return 1.0 + scenario.spread_relative * stream.uniform();
}

double nominal_capacity_Bps(const Scenario& scenario, const Target& target) {
  const auto index = static_cast<std::size_t>(target.index);
  if (target.kind == TargetKind::kLink) return scenario.links.at(index).capacity_Bps;
  const Region& region = scenario.regions.at(index);
  return target.part == 0 ? region.up_Bps : region.down_Bps;
}

}  // namespace skerry
