// Control messages: thin, at a reserved rate, or among the flows of the ports.
#include <utility>

#include "sim/net/state.hpp"

namespace skerry {

namespace {

Task<void> sleep_until(Engine& engine, double date) {
  co_await until(engine, date);
}

}  // namespace

double Network::State::message_s(const Path& way) const {
  const Control& control = scenario.transport.control;
  return way.latency_s +
         (control.rate == ControlRate::kReserved ? control.bytes / control.reserved_Bps : 0.0);
}

void Network::State::post(int from, int to, Delivered delivered, void* context) {
  if (ideal || from == to) return delivered(context, true);
  Path& way = path(from, to);
  way.sent += 1;
  if (scenario.transport.control.rate == ControlRate::kShared) {
    if (couriers.size() >= sweep_at) {
      std::erase_if(couriers, [](const Process& courier) { return courier.done(); });
      sweep_at = 2 * couriers.size() + 16;
    }
    couriers.emplace_back(engine, "control message " + way.link->name,
                          carry(way, delivered, context));
    return;
  }
  const double delay_s = message_s(way);
  if (delay_s <= 0.0) return delivered(context, true);
  if (free_letters.empty()) free_letters.push_back(&letters.emplace_back());
  Letter* letter = free_letters.back();
  free_letters.pop_back();
  *letter = {this, delivered, context};
  engine.at(engine.now() + delay_s, &State::on_letter, letter);
}

void Network::State::on_letter(void* raw) {
  auto* letter = static_cast<Letter*>(raw);
  letter->net->free_letters.push_back(letter);
  letter->delivered(letter->context, true);
}

Task<void> Network::State::carry(Path& way, Delivered delivered, void* context) {
  const bool arrived = co_await share_ports(way);
  delivered(context, arrived);
}

Task<bool> Network::State::message(int from, int to) {
  if (ideal || from == to) co_return true;
  Path& way = path(from, to);
  way.sent += 1;
  if (scenario.transport.control.rate == ControlRate::kShared) co_return co_await share_ports(way);
  const double delay_s = message_s(way);
  if (delay_s > 0.0) co_await until(engine, engine.now() + delay_s);
  co_return true;
}

Task<bool> Network::State::share_ports(Path& way) {
  std::vector<Task<void>> race;
  race.push_back(thin_flow(way));
  race.push_back(sleep_until(engine, engine.now() + scenario.transport.control.timeout_s));
  const bool arrived = co_await any_of(engine, std::move(race)) == 0;
  if (!arrived) way.timed_out += 1;
  co_return arrived;
}

// Over a connection that is open: no set-up.
Task<void> Network::State::thin_flow(Path& way) {
  Flow flow;
  prepare(flow, way, scenario.transport.control.bytes, FlowClass::kControl);
  co_await until(engine, engine.now() + way.latency_s);
  co_await Group(engine, &flow, 1);
}

}  // namespace skerry
