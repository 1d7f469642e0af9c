// Wires, paths, and the SimGrid platform that carries them.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include "sim/base/error.hpp"
#include "sim/net/state.hpp"

namespace skerry {

namespace sg = simgrid::s4u;

Network::State::Path::Path(Engine& engine, const std::string& name)
    : waiting(engine, fmt::format("the cut path {}", name)) {}

Network::State::State(Engine& owner, const Scenario& asked, bool is_ideal, CutTransfer cut_rule)
    : engine(owner), scenario(asked), ideal(is_ideal), on_cut(cut_rule) {
  if (ideal) return;
  if (asked.transport.kind == TransportKind::kTcp) setup_s = asked.transport.setup_s;
  make_wires();
  make_paths();
  if (asked.transport.rtt_bias) weigh_paths();
  make_platform();
  listen_to_simgrid();
}

void Network::State::make_wires() {
  for (const Region& region : scenario.regions) {
    wires.push_back({.name = region.name + ".up", .nominal_Bps = region.up_Bps});
    wires.push_back({.name = region.name + ".down", .nominal_Bps = region.down_Bps});
  }
  for (const Link& link : scenario.links) {
    const std::string& from = scenario.regions[static_cast<std::size_t>(link.from)].name;
    const std::string& to = scenario.regions[static_cast<std::size_t>(link.to)].name;
    wires.push_back({.name = fmt::format("{}>{}", from, to),
                     .nominal_Bps = link.capacity_Bps,
                     .is_link = true});
  }
  for (Wire& wire : wires)
    wire.since_s = engine.now();
}

void Network::State::make_paths() {
  const std::size_t regions = scenario.regions.size();
  const std::vector<double> trips_s = scenario.round_trips_s();
  paths.resize(regions * regions);
  for (std::size_t i = 0; i < scenario.links.size(); ++i) {
    const Link& link = scenario.links[i];
    const auto from = static_cast<std::size_t>(link.from);
    const auto to = static_cast<std::size_t>(link.to);
    Wire& between = wires[2 * regions + i];
    auto way = std::make_unique<Path>(engine, between.name);
    way->out = &wires[2 * from];
    way->link = &between;
    way->in = &wires[2 * to + 1];
    way->latency_s = link.latency_one_way_s;
    way->round_trip_s = trips_s[i];
    paths[from * regions + to] = std::move(way);
  }
}

// SimGrid compares sums of 1 / penalty with absolute thresholds: the longest round trip gets 1.
void Network::State::weigh_paths() {
  double longest_s = 0.0;
  for (const auto& way : paths) {
    if (way) longest_s = std::max(longest_s, way->round_trip_s);
  }
  for (const auto& way : paths) {
    if (!way) continue;
    SKERRY_CHECK(way->round_trip_s > 0.0, "no round trip on " + way->link->name);
    way->penalty = way->round_trip_s / longest_s;
  }
}

void Network::State::make_platform() {
  simgrid_links.resize(wires.size());
  hosts.resize(kFlowClassNames.size() * scenario.regions.size());
  const auto limits = [](const Wire& wire) { return wire.limited(); };
  const auto caps = [this](const auto& way) {
    for (std::size_t of = 0; way && of < kFlowClassNames.size(); ++of) {
      const auto flow_class = static_cast<FlowClass>(of);
      if (scenario.transport.cap_Bps(way->round_trip_s, flow_class) < kUnlimited) return true;
    }
    return false;
  };
  if (std::none_of(wires.begin(), wires.end(), limits) &&
      std::none_of(paths.begin(), paths.end(), caps)) {
    return;
  }
  sg::NetZone* world = sg::create_full_zone("world");
  for (std::size_t region = 0; region < scenario.regions.size(); ++region)
    host(*world, 0, region);
  for (std::size_t i = 0; i < wires.size(); ++i) {
    if (!wires[i].limited()) continue;
    const Wire* wire = &wires[i];
    simgrid_links[i] = world->create_link(wire->name, kFarTooWide);
    simgrid_links[i]->set_sharing_policy(sg::Link::SharingPolicy::NONLINEAR, [wire](double, int) {
      return std::max(wire->capacity_Bps(), 1.0);
    });
  }
  make_routes(*world);
  world->seal();
  if (!scenario.transport.rtt_bias) return;
  const auto& models = sg::Engine::get_instance()->get_all_models();
  const auto network = std::find_if(models.begin(), models.end(), [](const auto* one) {
    return one->get_name() == "Network_CM02";
  });
  SKERRY_CHECK(network != models.end(), "SimGrid has no network model");
  model = *network;
}

// A class takes the lane of an earlier one that has the same cap.
void Network::State::make_routes(sg::NetZone& world) {
  const std::size_t regions = scenario.regions.size();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!paths[i]) continue;
    Path& way = *paths[i];
    std::array<double, kFlowClassNames.size()> cap_Bps{};
    for (std::size_t of = 0; of < cap_Bps.size(); ++of) {
      cap_Bps[of] = scenario.transport.cap_Bps(way.round_trip_s, static_cast<FlowClass>(of));
      const auto same =
          std::find(cap_Bps.begin(), cap_Bps.begin() + static_cast<int>(of), cap_Bps[of]);
      const auto first = static_cast<std::size_t>(same - cap_Bps.begin());
      if (first < of) {
        way.lanes[of] = way.lanes[first];
        continue;
      }
      std::vector<sg::LinkInRoute> route;
      for (const Wire* wire : {way.out, way.link, way.in}) {
        if (wire->limited()) route.emplace_back(simgrid_links[index_of(*wire)]);
      }
      if (cap_Bps[of] < kUnlimited) {
        sg::Link* cap = world.create_link(
            fmt::format("cap of {} on {}", kFlowClassNames[of], way.link->name), cap_Bps[of]);
        cap->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE);
        route.emplace_back(cap);
      }
      if (route.empty()) continue;
      way.lanes[of] = {host(world, of, i / regions), host(world, of, i % regions)};
      world.add_route(way.lanes[of].from->get_netpoint(), way.lanes[of].to->get_netpoint(), nullptr,
                      nullptr, route, false);
    }
  }
}

sg::Host* Network::State::host(sg::NetZone& world, std::size_t of, std::size_t region) {
  sg::Host*& known = hosts[of * scenario.regions.size() + region];
  if (known == nullptr) {
    known = world.create_host(fmt::format("region {} {}", region, kFlowClassNames[of]), 1.0);
  }
  return known;
}

Network::State::Path& Network::State::path(int from, int to) const {
  const int regions = static_cast<int>(scenario.regions.size());
  const bool inside = from >= 0 && to >= 0 && from < regions && to < regions;
  Path* way = inside ? paths[static_cast<std::size_t>(from * regions + to)].get() : nullptr;
  SKERRY_CHECK(way != nullptr, fmt::format("no route from region {} to region {}", from, to));
  return *way;
}

Wire& Network::State::wire(const Target& target) {
  const std::size_t regions = scenario.regions.size();
  const auto index = static_cast<std::size_t>(target.index);
  if (target.kind == TargetKind::kPort) {
    SKERRY_CHECK(index < regions && (target.part == 0 || target.part == 1), "no such port");
    return wires[2 * index + static_cast<std::size_t>(target.part)];
  }
  SKERRY_CHECK(target.kind == TargetKind::kLink && index < scenario.links.size(), "no such link");
  return wires[2 * regions + index];
}

}  // namespace skerry
