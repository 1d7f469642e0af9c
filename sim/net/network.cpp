#include "sim/net/network.hpp"

#include <fmt/format.h>
#include <utility>

#include <simgrid/s4u/Link.hpp>

#include "sim/base/error.hpp"
#include "sim/net/state.hpp"

namespace skerry {

Network::Network(Engine& engine, const Scenario& scenario, bool ideal, CutTransfer on_cut)
    : state_(std::make_unique<State>(engine, scenario, ideal, on_cut)) {}

Network::~Network() = default;

double Network::latency_s(int from_region, int to_region) const {
  if (state_->ideal || from_region == to_region) return 0.0;
  return state_->path(from_region, to_region).latency_s;
}

Task<void> Network::transfer(int from_region, int to_region, double bytes, FlowClass of) {
  return state_->transfer(from_region, to_region, bytes, of);
}

Task<void> Network::collective(const Collective& collective, FlowClass of) {
  return state_->collective(collective, of);
}

void Network::post(int from_region, int to_region, Delivered delivered, void* context) {
  state_->post(from_region, to_region, delivered, context);
}

Task<bool> Network::message(int from_region, int to_region) {
  return state_->message(from_region, to_region);
}

void Network::set_factor(const Target& target, double factor) {
  State& state = *state_;
  if (state.ideal) return;
  Wire& wire = state.wire(target);
  SKERRY_CHECK(
      factor >= 0.0 && factor < kUnlimited && (wire.limited() || factor == 0.0 || factor == 1.0),
      fmt::format("factor {} for {}", factor, wire.name));
  state.epoch += 1;
  wire.change(state.engine.now(), factor);
  if (wire.limited()) {
    state.simgrid_links[state.index_of(wire)]->set_bandwidth(kFarTooWide);
  }
  for (const auto& way : state.paths) {
    if (!way || !way->uses(wire)) continue;
    if (!way->up()) {
      way->running.each([&](Waiter& flow) { state.cut(static_cast<State::Flow&>(flow)); });
    } else {
      way->waiting.line().each([&](Waiter& flow) { state.go_on(static_cast<State::Flow&>(flow)); });
    }
  }
}

bool Network::path_up(int from_region, int to_region) const {
  return state_->ideal || from_region == to_region || state_->path(from_region, to_region).up();
}

std::uint64_t Network::epoch() const {
  return state_->epoch;
}

void Network::mark() {
  const std::vector<double> bytes = state_->totals();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    state_->wires[i].marked = bytes[i];
}

void Network::note_moved() {
  const std::vector<double> bytes = state_->totals();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Wire& wire = state_->wires[i];
    wire.moved = bytes[i] - wire.marked;
  }
}

void Network::repeat(double copies) {
  for (Wire& wire : state_->wires)
    wire.bytes += copies * wire.moved;
}

std::vector<fact::Wire> Network::wires() const {
  const std::vector<double> bytes = state_->totals();
  std::vector<fact::Wire> result;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Wire& wire = state_->wires[i];
    if (!wire.limited() && !(wire.is_link && wire.used)) continue;
    result.push_back({wire.name, bytes[i], wire.capacity_bytes(state_->engine.now())});
  }
  return result;
}

std::vector<fact::Control> Network::controls() const {
  std::vector<fact::Control> result;
  if (state_->scenario.transport.control.rate == ControlRate::kLatencyOnly) return result;
  for (const auto& way : state_->paths) {
    if (!way || way->sent == 0) continue;
    result.push_back({way->link->name, way->sent, way->timed_out});
  }
  return result;
}

}  // namespace skerry
