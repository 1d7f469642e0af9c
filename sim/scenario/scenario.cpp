#include "sim/scenario/scenario.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/random.hpp"

namespace skerry {

std::vector<Tensor> transformer_tensors(int layers, double width, double ffn, double vocabulary,
                                        bool tied) {
  std::vector<Tensor> tensors;
  tensors.push_back({"embedding", vocabulary * width, true});
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "layer" + std::to_string(i) + ".";
    for (const char* matrix : {"q", "k", "v", "o"}) {
      tensors.push_back({layer + matrix, width * width, false, i});
    }
    tensors.push_back({layer + "w_in", width * ffn, false, i});
    tensors.push_back({layer + "w_out", ffn * width, false, i});
    tensors.push_back({layer + "norm1", width, false, i});
    tensors.push_back({layer + "norm2", width, false, i});
  }
  tensors.push_back({"final_norm", width, false});
  if (!tied) tensors.push_back({"output_head", vocabulary * width, false});
  return tensors;
}

double Transport::window_cap_Bps(double trip_s) const {
  if (kind != TransportKind::kTcp || window_bytes <= 0.0 || trip_s <= 0.0) return kUnlimited;
  return streams * window_bytes / trip_s;
}

double Transport::loss_cap_Bps(double trip_s) const {
  if (kind != TransportKind::kTcp || loss_rate <= 0.0 || trip_s <= 0.0) return kUnlimited;
  return streams * mss_bytes / trip_s * std::sqrt(1.5 / loss_rate);
}

double Transport::cap_Bps(double trip_s, FlowClass of) const {
  return std::min({class_cap_Bps[static_cast<std::size_t>(of)], window_cap_Bps(trip_s),
                   loss_cap_Bps(trip_s)});
}

std::vector<double> Scenario::round_trips_s() const {
  std::vector<double> one_way_s(regions.size() * regions.size(), -1.0);
  const auto place = [this](int from, int to) {
    return static_cast<std::size_t>(from) * regions.size() + static_cast<std::size_t>(to);
  };
  for (const Link& link : links)
    one_way_s[place(link.from, link.to)] = link.latency_one_way_s;
  std::vector<double> trips_s;
  for (const Link& link : links) {
    const double back_s = one_way_s[place(link.to, link.from)];
    trips_s.push_back(link.latency_one_way_s + (back_s < 0.0 ? link.latency_one_way_s : back_s));
  }
  return trips_s;
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
