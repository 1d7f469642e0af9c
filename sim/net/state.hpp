// Private to this folder: what a Network is made of. platform.cpp makes it, flows.cpp moves flows,
// control.cpp posts messages, network.cpp is the surface.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <simgrid/forward.h>
#include <simgrid/s4u/Comm.hpp>

#include "sim/net/network.hpp"
#include "sim/net/wire.hpp"

namespace skerry {

// SimGrid never lets a running flow pass the bandwidth that its links had when it started. So links
// are made far too wide, and a callback tells the capacity of the moment; setting the same
// bandwidth again makes SimGrid share anew.
inline constexpr double kFarTooWide = 1e18;

struct Network::State {
  // Between which SimGrid moves the flows of one class of a path: hosts of its own when it has a
  // cap of its own. Null when nothing limits a flow: SimGrid does not see it.
  struct Lane {
    simgrid::s4u::Host* from = nullptr;
    simgrid::s4u::Host* to = nullptr;
  };

  // One direction between two regions.
  struct Path {
    Path(Engine& engine, const std::string& name);
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
    double round_trip_s = 0.0;
    double penalty = 1.0;  // the share of a bottleneck is ∝ 1 / penalty
    std::array<Lane, kFlowClassNames.size()> lanes;
    std::int64_t sent = 0, timed_out = 0;  // control messages
    Ring<Waiter> running;
    WaitPlace waiting;
  };

  class Group;

  // One flow: running in SimGrid (in path->running), waiting for its cut path (in path->waiting),
  // or not on its way (in neither).
  struct Flow : Waiter {
    ~Flow();
    double moved() const;

    State* net = nullptr;
    Group* group = nullptr;
    Path* path = nullptr;
    const Lane* lane = nullptr;
    double bytes = 0.0;
    double left = 0.0;           // when it last started
    simgrid::s4u::CommPtr comm;  // kept after its end: not to be dropped inside its own callback
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

  // platform.cpp
  void make_wires();
  void make_paths();
  void weigh_paths();
  void make_platform();
  void make_routes(simgrid::s4u::NetZone& world);
  simgrid::s4u::Host* host(simgrid::s4u::NetZone& world, std::size_t of, std::size_t region);
  Path& path(int from, int to) const;
  Wire& wire(const Target& target);
  std::size_t index_of(const Wire& one) const {
    return static_cast<std::size_t>(&one - wires.data());
  }

  // flows.cpp
  static void listen_to_simgrid();
  Flow& prepare(Flow& flow, Path& way, double bytes, FlowClass of);
  void begin(Flow& flow);
  void go_on(Flow& flow);
  void start(Flow& flow);
  void weigh(Flow& flow);
  void cut(Flow& flow);
  void end(Flow& flow);
  void take_off(Flow& flow);
  std::vector<double> totals() const;
  Task<void> transfer(int from, int to, double bytes, FlowClass of);
  Task<void> collective(Collective what, FlowClass of);
  Task<void> together(const std::vector<CollectiveFlow>& flows, FlowClass of);

  // control.cpp
  void post(int from, int to, Delivered delivered, void* context);
  Task<bool> message(int from, int to);
  Task<void> carry(Path& way, Delivered delivered, void* context);
  Task<bool> share_ports(Path& way);
  Task<void> thin_flow(Path& way);
  double message_s(const Path& way) const;  // without contention

  struct Letter {  // a posted message on its way whose delay is known
    State* net;
    Delivered delivered;
    void* context;
  };
  static void on_letter(void* raw);

  Engine& engine;
  const Scenario& scenario;
  bool ideal;
  CutTransfer on_cut;
  double setup_s = 0.0;
  std::vector<Wire> wires;                         // up and down of each region, then the links
  std::vector<simgrid::s4u::Link*> simgrid_links;  // of each wire, null when it limits nothing
  std::vector<std::unique_ptr<Path>> paths;        // from × regions + to, null without a route
  std::vector<simgrid::s4u::Host*> hosts;          // class × regions + region, null until needed
  simgrid::kernel::resource::Model* model = nullptr;  // set when paths have weights
  std::vector<simgrid::s4u::CommPtr> cancelled;       // until SimGrid has done with them
  std::uint64_t epoch = 0;
  std::deque<Letter> letters;  // slots of posted messages, and those free
  std::vector<Letter*> free_letters;
  std::list<Process> couriers;  // of posted messages that share the ports
  std::size_t sweep_at = 16;    // couriers, before those done are dropped
};

}  // namespace skerry
