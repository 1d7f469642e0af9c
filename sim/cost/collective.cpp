#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/cost/cost.hpp"

namespace skerry {

namespace {

std::size_t link_index(const Scenario& scenario, int from_region, int to_region) {
  const int link = scenario.link_between(from_region, to_region);
  SKERRY_CHECK(link >= 0, "no route from region " + std::to_string(from_region) + " to region " +
                              std::to_string(to_region));
  return static_cast<std::size_t>(link);
}

double latency_s(const Scenario& scenario, const CollectiveFlow& flow) {
  return scenario.links[link_index(scenario, flow.from_region, flow.to_region)].latency_one_way_s;
}

double slowest_hop_s(const Scenario& scenario, const std::vector<CollectiveFlow>& flows) {
  double slowest = 0.0;
  for (const CollectiveFlow& flow : flows) {
    slowest = std::max(slowest, latency_s(scenario, flow));
  }
  return slowest;
}

// `stops` are the regions of the ring's members in ring order.
Collective ring(const Scenario& scenario, const std::vector<int>& stops, double payload_bytes) {
  Collective collective;
  const std::size_t p = stops.size();
  const double rounds = 2.0 * static_cast<double>(p - 1);
  for (std::size_t i = 0; i < p; ++i) {
    const int from = stops[i];
    const int to = stops[(i + 1) % p];
    if (from == to) continue;
    collective.first.push_back({from, to, rounds / static_cast<double>(p) * payload_bytes});
  }
  collective.lead_s = rounds * slowest_hop_s(scenario, collective.first);
  return collective;
}

Collective star(const Scenario& scenario, int hub, const std::vector<int>& members,
                double payload_bytes) {
  Collective collective;
  for (const int region : members) {
    if (region == hub) continue;
    collective.first.push_back({region, hub, payload_bytes});
    collective.second.push_back({hub, region, payload_bytes});
  }
  collective.lead_s = 2.0 * std::max(slowest_hop_s(scenario, collective.first),
                                     slowest_hop_s(scenario, collective.second));
  return collective;
}

std::vector<int> distinct_in_order(const std::vector<int>& regions, std::size_t region_count) {
  std::vector<bool> seen(region_count, false);
  std::vector<int> distinct;
  for (const int region : regions) {
    const auto index = static_cast<std::size_t>(region);
    if (!seen[index]) distinct.push_back(region);
    seen[index] = true;
  }
  return distinct;
}

// Members in the order of the ring; those of one region stay as they are.
std::vector<int> in_ring_order(std::vector<int> regions, const std::vector<int>& order) {
  const auto place = [&](int region) { return std::find(order.begin(), order.end(), region); };
  std::stable_sort(regions.begin(), regions.end(),
                   [&](int a, int b) { return place(a) < place(b); });
  return regions;
}

double phase_seconds(const Scenario& scenario, const std::vector<CollectiveFlow>& flows) {
  std::vector<double> up(scenario.regions.size(), 0.0);
  std::vector<double> down(scenario.regions.size(), 0.0);
  std::vector<double> link(scenario.links.size(), 0.0);
  for (const CollectiveFlow& flow : flows) {
    up[static_cast<std::size_t>(flow.from_region)] += flow.bytes;
    down[static_cast<std::size_t>(flow.to_region)] += flow.bytes;
    link[link_index(scenario, flow.from_region, flow.to_region)] += flow.bytes;
  }
  double seconds = 0.0;
  const std::vector<double> trips_s = scenario.round_trips_s();
  for (const CollectiveFlow& flow : flows) {
    const double trip_s = trips_s[link_index(scenario, flow.from_region, flow.to_region)];
    seconds = std::max(seconds,
                       flow.bytes / scenario.transport.cap_Bps(trip_s, FlowClass::kExchange));
  }
  for (std::size_t r = 0; r < up.size(); ++r) {
    seconds = std::max(seconds, up[r] / scenario.regions[r].up_Bps);
    seconds = std::max(seconds, down[r] / scenario.regions[r].down_Bps);
  }
  for (std::size_t l = 0; l < link.size(); ++l) {
    seconds = std::max(seconds, link[l] / scenario.links[l].capacity_Bps);
  }
  return seconds;
}

}  // namespace

Collective all_reduce(const Scenario& scenario, AllReduce kind, int star_region,
                      const std::vector<int>& regions_of_members, double payload_bytes,
                      const std::vector<int>& ring_order) {
  const std::vector<int> members = in_ring_order(regions_of_members, ring_order);
  if (members.empty() || *std::min_element(members.begin(), members.end()) < 0) return {};
  switch (kind) {
    case AllReduce::kStar:
      return star(scenario, star_region, members, payload_bytes);
    case AllReduce::kHierarchicalRing:
      return ring(scenario, distinct_in_order(members, scenario.regions.size()), payload_bytes);
    case AllReduce::kRing:
      break;
  }
  return ring(scenario, members, payload_bytes);
}

Collective all_reduce(const Scenario& scenario, const Protocol& row,
                      const std::vector<int>& regions_of_members, double payload_bytes) {
  const bool central = row.family == Family::kDiloco && row.syncer == SyncerPlace::kCentral;
  return all_reduce(scenario, central ? AllReduce::kStar : row.all_reduce,
                    central ? row.syncer_region : row.star_region, regions_of_members, payload_bytes,
                    row.ring_order);
}

double ideal_seconds(const Scenario& scenario, const Collective& collective) {
  return collective.lead_s + phase_seconds(scenario, collective.first) +
         phase_seconds(scenario, collective.second);
}

}  // namespace skerry
