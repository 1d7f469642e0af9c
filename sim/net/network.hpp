// The wide-area network of one run: platform and transfers on SimGrid. Owner of all flows.
//
// A flow from region a to region b shares, max-min fairly, a.up, the link a>b (if it has its own
// capacity) and b.down: equal shares, or with transport.rtt_bias shares ∝ 1 / (latency a>b +
// latency b>a), exactly. All SimGrid latencies are 0 and paid here, as a lead before the flow
// starts. No flow exceeds Transport::cap_Bps of its class and round trip; tcp adds setup_s to the
// lead. from == to, and any path without a finite capacity, costs its lead only. Bytes of a flow
// are rounded up to whole bytes.
//
// Capacity changes act on running flows at once. Capacity 0 is a cut: flows on it stop; when the
// path is up again they go on with their remaining bytes (CutTransfer::kResume) or from zero
// (kRestart). A flow whose lead ends on a cut path waits for it. A transfer that waits does not
// keep the simulation alive: the event that repairs its path must not be idle.
//
// Control messages (reports, decisions) travel as transport.control says. Only those that share the
// ports can be lost: they are flows of class control over an open connection (no set-up), and on a
// cut path they wait until their time-out. Their bytes count on the wires; those of the others do
// not.
//
// Processes that use a Network die before it, and it before the Engine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cost/cost.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/process.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/tape/fact.hpp"

namespace skerry {

class Network {
 public:
  // `ideal`: every transfer takes no time at all (reference row `ideal`); nothing is counted and
  // faults change nothing. The scenario must outlive the network.
  Network(Engine& engine, const Scenario& scenario, bool ideal, CutTransfer on_cut);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  double latency_s(int from_region, int to_region) const;  // 0 when local or ideal

  // Called once, outside SimGrid's callbacks: the message is there, or was given up (its time-out).
  using Delivered = void (*)(void* context, bool arrived);

  // Moves `bytes` (≥ 0, finite): lead (latency and set-up), then the flow. Ends when the last byte
  // is there; goes through the queue at least once. Killing the awaiting coroutine cancels the
  // flow; bytes moved so far stay counted. Bug when there is no route.
  Task<void> transfer(int from_region, int to_region, double bytes,
                      FlowClass of = FlowClass::kExchange);

  // A collective of cost.hpp: its lead (plus set-up of the transport, if it has flows), then its
  // flows together, then those of `second`.
  Task<void> collective(const Collective& collective, FlowClass of = FlowClass::kExchange);

  // Sends one control message; nothing can call it back. delivered(context, …) runs at its arrival
  // or time-out, inside this call when it takes no time (local, ideal, no latency and no bytes);
  // `context` must live until then. One event of the queue, and no allocation once warm, unless
  // messages share the ports.
  void post(int from_region, int to_region, Delivered delivered, void* context);
  // The same for a coroutine that waits: → whether it arrived. Killed with the awaiting coroutine.
  Task<bool> message(int from_region, int to_region);

  // Scales a port or link (Target kPort or kLink) to `factor` × its nominal capacity, 0 = cut. A
  // port or link without finite capacity can be cut only (factor 0 or 1; Bug otherwise: the reader
  // refuses it).
  void set_factor(const Target& target, double factor);
  bool path_up(int from_region, int to_region) const;  // local: always

  // Changes with every set_factor: equal epochs mean equal capacities.
  std::uint64_t epoch() const;

  // Quiet stretches of a lock-step protocol: mark(), run one step for real, note_moved(); from then
  // on repeat(k) adds k copies of what moved between the two. The caller lets the time of the
  // copies pass.
  void mark();
  void note_moved();
  void repeat(double copies);

  // Totals up to now, bytes of running flows included: every port with finite capacity and every
  // link that has one or was used. A cut transfer that restarts counts its bytes again.
  std::vector<fact::Wire> wires() const;

  // Messages of every pair that sent one, in order of the pairs; empty without transport.control.
  std::vector<fact::Control> controls() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skerry
