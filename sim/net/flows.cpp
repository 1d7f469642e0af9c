// The life of a flow: begun, running in SimGrid, cut, resumed, ended.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Host.hpp>

#include "sim/base/error.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "sim/net/state.hpp"

namespace skerry {

namespace {

namespace sg = simgrid::s4u;

// What is left of a flow, in whole bytes (SimGrid starts a flow with whole bytes only). Less than
// half a byte is the rounding of a flow that ends at this very date, a thousandth above a whole
// number that of a byte that is just through.
double whole_bytes_left(double left) {
  return left < 0.5 ? 0.0 : std::ceil(left - 1e-3);
}

}  // namespace

// The callback stays for all engines that a process makes. Cancelled flows have no data any more.
void Network::State::listen_to_simgrid() {
  static bool listening = false;
  if (std::exchange(listening, true)) return;
  sg::Activity::on_completion_cb([](const sg::Activity& activity) {
    Flow* flow = activity.get_data<Flow>();
    if (flow != nullptr) flow->net->end(*flow);
  });
}

Network::State::Flow::~Flow() {
  if (!running) return;
  path->count(moved());
  net->take_off(*this);
}

double Network::State::Flow::moved() const {
  return left - whole_bytes_left(comm->get_remaining());
}

Network::State::Flow& Network::State::prepare(Flow& flow, Path& way, double bytes, FlowClass of) {
  SKERRY_CHECK(bytes >= 0.0 && bytes < kUnlimited, fmt::format("transfer of {} bytes", bytes));
  flow.net = this;
  flow.path = &way;
  flow.lane = &way.lanes[static_cast<std::size_t>(of)];
  flow.bytes = flow.left = std::ceil(bytes);
  return flow;
}

void Network::State::begin(Flow& flow) {
  if (flow.bytes > 0.0) flow.path->link->used = true;
  if (flow.bytes == 0.0) return flow.group->one_needs_no_time();
  if (!flow.path->up()) return flow.path->waiting.line().append(flow);
  if (flow.lane->from == nullptr) {
    flow.path->count(flow.bytes);
    return flow.group->one_needs_no_time();
  }
  start(flow);
}

// The path is up again.
void Network::State::go_on(Flow& flow) {
  if (flow.lane->from != nullptr) return start(flow);
  flow.unlink();
  flow.path->count(flow.left);
  flow.group->one_ended();
}

// The path is up and SimGrid knows it.
void Network::State::start(Flow& flow) {
  flow.path->running.append(flow);
  flow.running = true;
  engine.hold();
  flow.comm = sg::Comm::sendto_init();
  flow.comm->set_data(&flow);
  flow.comm->set_payload_size(static_cast<std::uint64_t>(flow.left));
  flow.comm->set_source(flow.lane->from);
  flow.comm->set_destination(flow.lane->to);  // which starts it
  if (model != nullptr) weigh(flow);
}

// SimGrid weighs a flow by the latency of its links, and all of them are 0 here: so the action that
// it has just made, the last of those started, is told its penalty.
void Network::State::weigh(Flow& flow) {
  auto& action = model->get_started_action_set()->back();
  SKERRY_CHECK(action.get_cost() == flow.left, "SimGrid started another flow");
  action.set_sharing_penalty(flow.path->penalty);
}

// Out of SimGrid's hands before its end. Cancelling tells of the end twice; the second time the
// Comm must still be there.
void Network::State::take_off(Flow& flow) {
  std::erase_if(cancelled, [](const sg::CommPtr& comm) {
    return comm->get_state() == sg::Activity::State::FAILED;
  });
  flow.unlink();
  flow.running = false;
  engine.release();
  flow.comm->set_data(nullptr);
  cancelled.push_back(std::exchange(flow.comm, nullptr));
  cancelled.back()->cancel();
}

void Network::State::cut(Flow& flow) {
  const double done = flow.moved();
  flow.path->count(done);
  take_off(flow);
  flow.left -= done;
  if (flow.left == 0.0) return flow.group->one_ended();
  if (on_cut == CutTransfer::kRestart) flow.left = flow.bytes;
  flow.path->waiting.line().append(flow);
}

// SimGrid has ended it.
void Network::State::end(Flow& flow) {
  catch_up_with_simgrid(engine);
  flow.unlink();
  flow.running = false;
  engine.release();
  flow.path->count(flow.left);
  flow.group->one_ended();
}

// Bytes of every wire, those of running flows included.
std::vector<double> Network::State::totals() const {
  std::vector<double> bytes;
  for (const Wire& wire : wires)
    bytes.push_back(wire.bytes);
  for (const auto& way : paths) {
    if (!way) continue;
    way->running.each([&](const Waiter& waiter) {
      const double moved = static_cast<const Flow&>(waiter).moved();
      for (const Wire* wire : {way->out, way->link, way->in})
        bytes[index_of(*wire)] += moved;
    });
  }
  return bytes;
}

// ---------------------------------------------------------------- transfers

Task<void> Network::State::transfer(int from, int to, double bytes, FlowClass of) {
  if (ideal || from == to) {
    co_await until(engine, engine.now());
    co_return;
  }
  Flow flow;
  prepare(flow, path(from, to), bytes, of);
  co_await until(engine, engine.now() + flow.path->latency_s + setup_s);
  co_await Group(engine, &flow, 1);
}

Task<void> Network::State::collective(Collective what, FlowClass of) {
  const bool moves = !ideal && !(what.first.empty() && what.second.empty());
  co_await until(engine, engine.now() + (ideal ? 0.0 : what.lead_s) + (moves ? setup_s : 0.0));
  if (!moves) co_return;
  co_await together(what.first, of);
  co_await together(what.second, of);
}

Task<void> Network::State::together(const std::vector<CollectiveFlow>& flows, FlowClass of) {
  std::vector<Flow> all(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    prepare(all[i], path(flows[i].from_region, flows[i].to_region), flows[i].bytes, of);
  }
  co_await Group(engine, all.data(), all.size());
}

}  // namespace skerry
