#include "sim/net/network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include "sim/base/error.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "sim/net/wire.hpp"

namespace skerry {

namespace {

namespace sg = simgrid::s4u;

// SimGrid never lets a running flow pass the bandwidth that its links had when it started. So links
// are made far too wide, and a callback tells the capacity of the moment; setting the same
// bandwidth again makes SimGrid share anew.
constexpr double kFarTooWide = 1e18;

// What is left of a flow, in whole bytes (SimGrid starts a flow with whole bytes only). Less than
// half a byte is the rounding of a flow that ends at this very date, a thousandth above a whole
// number that of a byte that is just through.
double whole_bytes_left(double left) {
  return left < 0.5 ? 0.0 : std::ceil(left - 1e-3);
}

}  // namespace

struct Network::State {
  // One direction between two regions.
  struct Path {
    Path(Engine& engine, const std::string& name)
        : waiting(engine, fmt::format("the cut path {}", name)) {}
    bool up() const { return out->factor > 0.0 && link->factor > 0.0 && in->factor > 0.0; }
    bool uses(const Wire& wire) const { return out == &wire || link == &wire || in == &wire; }
    void count(double bytes) const {
      for (Wire* wire : {out, link, in})
        wire->bytes += bytes;
    }

    Wire* out = nullptr;
    Wire* link = nullptr;
    Wire* in = nullptr;
    double latency_s = 0.0;
    double cap_Bps = kUnlimited;  // of one flow (transport tcp)
    sg::Host* from = nullptr;     // null when nothing limits a flow: SimGrid does not see it
    sg::Host* to = nullptr;
    Ring<Waiter> running;
    WaitPlace waiting;
  };

  class Group;

  // One flow: running in SimGrid (in path->running), waiting for its cut path (in path->waiting),
  // or not on its way (in neither).
  struct Flow : Waiter {
    ~Flow();
    double moved() const { return left - whole_bytes_left(comm->get_remaining()); }

    State* net = nullptr;
    Group* group = nullptr;
    Path* path = nullptr;
    double bytes = 0.0;
    double left = 0.0;  // when it last started
    sg::CommPtr comm;   // kept after its end: not to be dropped inside its own callback
    bool running = false;
  };

  // Awaits the end of flows that begin together.
  class Group : public Resumer {
   public:
    Group(Engine& engine, Flow* flows, std::size_t n)
        : Resumer(engine), flows_(flows), size_(n), open_(n) {}
    bool await_ready() const { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
      bind(coroutine);
      for (std::size_t i = 0; i < size_; ++i) {
        Flow& flow = flows_[i];
        flow.group = this;
        flow.waiting_process = process();
        flow.net->begin(flow);
      }
      return open_ > 0;
    }
    void await_resume() const {}
    // A flow that ends later than it begins; those that need no time just count.
    void one_ended() {
      open_ -= 1;
      if (open_ == 0) schedule(engine().now());
    }
    void one_needs_no_time() { open_ -= 1; }

   private:
    Flow* flows_;
    std::size_t size_;
    std::size_t open_;
  };

  State(Engine& owner, const Scenario& asked, bool is_ideal, CutTransfer cut_rule);

  void make_wires();
  void make_paths();
  void make_platform();
  Path& path(int from, int to) const;
  Wire& wire(const Target& target);
  std::size_t index_of(const Wire& one) const {
    return static_cast<std::size_t>(&one - wires.data());
  }
  double lead(const Path& way) const { return way.latency_s + setup_s; }
  Flow& prepare(Flow& flow, Path& way, double bytes);

  static void listen_to_simgrid();
  void begin(Flow& flow);
  void go_on(Flow& flow);
  void start(Flow& flow);
  void cut(Flow& flow);
  void end(Flow& flow);
  void take_off(Flow& flow);
  std::vector<double> totals() const;

  Task<void> transfer(int from, int to, double bytes);
  Task<void> collective(Collective what);
  Task<void> together(const std::vector<CollectiveFlow>& flows);

  Engine& engine;
  const Scenario& scenario;
  bool ideal;
  CutTransfer on_cut;
  double setup_s = 0.0;
  std::vector<Wire> wires;                   // up and down of each region, then the links
  std::vector<sg::Link*> simgrid_links;      // of each wire, null when it limits nothing
  std::vector<std::unique_ptr<Path>> paths;  // from × regions + to, null where there is no route
  std::vector<sg::CommPtr> cancelled;        // until SimGrid has done with them
  std::uint64_t epoch = 0;
};

// ---------------------------------------------------------------- platform

Network::State::State(Engine& owner, const Scenario& asked, bool is_ideal, CutTransfer cut_rule)
    : engine(owner), scenario(asked), ideal(is_ideal), on_cut(cut_rule) {
  if (ideal) return;
  if (asked.transport.kind == TransportKind::kTcp) setup_s = asked.transport.setup_s;
  make_wires();
  make_paths();
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
    paths[from * regions + to] = std::move(way);
  }
  const Transport& transport = scenario.transport;
  if (transport.kind != TransportKind::kTcp) return;
  for (const Link& link : scenario.links) {
    const auto from = static_cast<std::size_t>(link.from);
    const auto to = static_cast<std::size_t>(link.to);
    const Path* back = paths[to * regions + from].get();
    const double back_s = back != nullptr ? back->latency_s : link.latency_one_way_s;
    // A round trip of 0 s caps nothing.
    paths[from * regions + to]->cap_Bps =
        transport.streams * transport.window_bytes / (link.latency_one_way_s + back_s);
  }
}

void Network::State::make_platform() {
  const auto limits = [](const Wire& wire) { return wire.limited(); };
  const auto caps = [](const auto& way) { return way && way->cap_Bps < kUnlimited; };
  simgrid_links.resize(wires.size());
  if (std::none_of(wires.begin(), wires.end(), limits) &&
      std::none_of(paths.begin(), paths.end(), caps)) {
    return;
  }
  sg::NetZone* world = sg::create_full_zone("world");
  std::vector<sg::Host*> hosts;
  for (std::size_t i = 0; i < scenario.regions.size(); ++i) {
    hosts.push_back(world->create_host(fmt::format("region {}", i), 1.0));
  }
  for (std::size_t i = 0; i < wires.size(); ++i) {
    if (!wires[i].limited()) continue;
    const Wire* wire = &wires[i];
    simgrid_links[i] = world->create_link(wire->name, kFarTooWide);
    simgrid_links[i]->set_sharing_policy(sg::Link::SharingPolicy::NONLINEAR, [wire](double, int) {
      return std::max(wire->capacity_Bps(), 1.0);
    });
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!paths[i]) continue;
    Path& way = *paths[i];
    std::vector<sg::LinkInRoute> route;
    for (const Wire* wire : {way.out, way.link, way.in}) {
      if (wire->limited()) route.emplace_back(simgrid_links[index_of(*wire)]);
    }
    if (way.cap_Bps < kUnlimited) {
      sg::Link* cap = world->create_link(fmt::format("window of {}", way.link->name), way.cap_Bps);
      cap->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE);
      route.emplace_back(cap);
    }
    if (route.empty()) continue;
    way.from = hosts[i / hosts.size()];
    way.to = hosts[i % hosts.size()];
    world->add_route(way.from->get_netpoint(), way.to->get_netpoint(), nullptr, nullptr, route,
                     false);
  }
  world->seal();
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

// ---------------------------------------------------------------- flows

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

Network::State::Flow& Network::State::prepare(Flow& flow, Path& way, double bytes) {
  SKERRY_CHECK(bytes >= 0.0 && bytes < kUnlimited, fmt::format("transfer of {} bytes", bytes));
  flow.net = this;
  flow.path = &way;
  flow.bytes = flow.left = std::ceil(bytes);
  return flow;
}

void Network::State::begin(Flow& flow) {
  if (flow.bytes > 0.0) flow.path->link->used = true;
  if (flow.bytes == 0.0) return flow.group->one_needs_no_time();
  if (!flow.path->up()) return flow.path->waiting.line().append(flow);
  if (flow.path->from == nullptr) {
    flow.path->count(flow.bytes);
    return flow.group->one_needs_no_time();
  }
  start(flow);
}

// The path is up again.
void Network::State::go_on(Flow& flow) {
  if (flow.path->from != nullptr) return start(flow);
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
  flow.comm->set_source(flow.path->from);
  flow.comm->set_destination(flow.path->to);  // which starts it
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

Task<void> Network::State::transfer(int from, int to, double bytes) {
  if (ideal || from == to) {
    co_await until(engine, engine.now());
    co_return;
  }
  Flow flow;
  prepare(flow, path(from, to), bytes);
  co_await until(engine, engine.now() + lead(*flow.path));
  co_await Group(engine, &flow, 1);
}

Task<void> Network::State::collective(Collective what) {
  const bool moves = !ideal && !(what.first.empty() && what.second.empty());
  co_await until(engine, engine.now() + (ideal ? 0.0 : what.lead_s) + (moves ? setup_s : 0.0));
  if (!moves) co_return;
  co_await together(what.first);
  co_await together(what.second);
}

Task<void> Network::State::together(const std::vector<CollectiveFlow>& flows) {
  std::vector<Flow> all(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    prepare(all[i], path(flows[i].from_region, flows[i].to_region), flows[i].bytes);
  }
  co_await Group(engine, all.data(), all.size());
}

// ---------------------------------------------------------------- surface

Network::Network(Engine& engine, const Scenario& scenario, bool ideal, CutTransfer on_cut)
    : state_(std::make_unique<State>(engine, scenario, ideal, on_cut)) {}

Network::~Network() = default;

double Network::latency_s(int from_region, int to_region) const {
  if (state_->ideal || from_region == to_region) return 0.0;
  return state_->path(from_region, to_region).latency_s;
}

Task<void> Network::transfer(int from_region, int to_region, double bytes) {
  return state_->transfer(from_region, to_region, bytes);
}

Task<void> Network::collective(const Collective& collective) {
  return state_->collective(collective);
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

}  // namespace skerry
