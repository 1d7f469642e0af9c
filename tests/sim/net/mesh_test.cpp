// Random flows over random networks whose capacity changes, against an exact reference of our own:
// event-driven, progressive filling, no SimGrid. With rtt_bias a flow's weight is 1 / its round
// trip, and a cap is a wire that the flow has to itself.
#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/random.hpp"
#include "tests/sim/net/lab.hpp"

using namespace skerry;

namespace {

struct FlowPlan {
  double start_s;  // its lead begins
  int from, to;
  double bytes;
};
struct ChangePlan {
  double date_s;
  Target target;
  double factor;
};
struct Plan {
  Scenario scenario;
  std::vector<FlowPlan> flows;
  std::vector<ChangePlan> changes;  // ascending dates
};

// ---------------------------------------------------------------- reference

class Reference {
 public:
  explicit Reference(const Plan& plan) : plan_(plan) {
    for (const Region& region : plan.scenario.regions) {
      capacity_.push_back(region.up_Bps);
      capacity_.push_back(region.down_Bps);
    }
    for (const Link& link : plan.scenario.links)
      capacity_.push_back(link.capacity_Bps);
    for (const FlowPlan& flow : plan.flows)
      add(flow);
    factor_.assign(capacity_.size(), 1.0);
  }

  std::vector<double> ends() {
    double now = 0.0;
    std::size_t next_change = 0;
    for (;;) {
      fill();
      double next = kNever;
      if (next_change < plan_.changes.size()) next = plan_.changes[next_change].date_s;
      for (const State& flow : flows_) {
        if (flow.done) continue;
        if (!flow.begun) next = std::min(next, flow.start_s);
        if (flow.rate > 0.0) next = std::min(next, now + flow.left / flow.rate);
      }
      if (next == kNever) break;
      advance(next - now);
      now = next;
      for (State& flow : flows_) {
        if (!flow.done && !flow.begun && flow.start_s <= now) flow.begun = true;
        if (!flow.done && flow.begun && flow.left <= flow.rate * 1e-12) {
          flow.done = true;
          flow.end_s = now;
        }
      }
      while (next_change < plan_.changes.size() && plan_.changes[next_change].date_s <= now) {
        change(plan_.changes[next_change++]);
      }
    }
    std::vector<double> dates;
    for (const State& flow : flows_)
      dates.push_back(flow.end_s);
    return dates;
  }

 private:
  struct State {
    double start_s, left;
    std::vector<std::size_t> wires;
    bool begun = false, done = false, stopped = false;
    double rate = 0.0, end_s = -1.0, weight = 1.0;
  };

  void add(const FlowPlan& flow) {
    State state{flow.start_s, flow.bytes, {}};
    const auto from = static_cast<std::size_t>(flow.from), to = static_cast<std::size_t>(flow.to);
    const std::size_t regions = plan_.scenario.regions.size();
    const std::size_t pair = from * (regions - 1) + to - (to > from ? 1 : 0);
    state.start_s += plan_.scenario.links[pair].latency_one_way_s;
    state.wires = {2 * from, 2 * to + 1, 2 * regions + pair, capacity_.size()};
    const double trip_s = plan_.scenario.round_trips_s()[pair];
    const Transport& transport = plan_.scenario.transport;
    if (transport.rtt_bias) state.weight = 1.0 / trip_s;
    capacity_.push_back(transport.cap_Bps(trip_s, FlowClass::kExchange));
    flows_.push_back(state);
  }

  // Max-min shares: give every flow the same for its weight, until a wire is full; freeze its
  // flows; go on.
  void fill() {
    std::vector<double> free(capacity_.size());
    for (std::size_t i = 0; i < free.size(); ++i)
      free[i] = capacity_[i] * factor_[i];
    std::vector<State*> open;
    for (State& flow : flows_) {
      flow.rate = 0.0;
      const bool up = std::all_of(flow.wires.begin(), flow.wires.end(),
                                  [this](std::size_t w) { return factor_[w] > 0.0; });
      if (flow.begun && !flow.done && !up) stop(flow);
      if (flow.begun && !flow.done && up) {
        flow.stopped = false;
        open.push_back(&flow);
      }
    }
    while (!open.empty()) {
      std::vector<double> users(free.size(), 0.0);
      for (const State* flow : open) {
        for (std::size_t w : flow->wires)
          users[w] += flow->weight;
      }
      std::size_t tightest = 0;
      double share = kNever;
      for (std::size_t w = 0; w < free.size(); ++w) {
        if (users[w] > 0.0 && free[w] / users[w] < share) {
          share = free[w] / users[w];
          tightest = w;
        }
      }
      REQUIRE(share < kNever);
      for (State* flow : open) {
        if (std::count(flow->wires.begin(), flow->wires.end(), tightest) == 0) continue;
        flow->rate = share * flow->weight;
        for (std::size_t w : flow->wires)
          free[w] -= flow->rate;
      }
      std::erase_if(open, [](const State* flow) { return flow->rate > 0.0; });
    }
  }

  // A cut flow goes on with whole bytes.
  static void stop(State& flow) {
    if (!flow.stopped) flow.left = std::ceil(flow.left - 1e-3);
    flow.stopped = true;
  }

  void advance(double seconds) {
    for (State& flow : flows_)
      flow.left -= flow.rate * seconds;
  }

  void change(const ChangePlan& what) {
    const auto index = static_cast<std::size_t>(what.target.index);
    const std::size_t regions = plan_.scenario.regions.size();
    const std::size_t wire = what.target.kind == TargetKind::kPort
                                 ? 2 * index + static_cast<std::size_t>(what.target.part)
                                 : 2 * regions + index;
    factor_[wire] = what.factor;
  }

  const Plan& plan_;
  std::vector<double> capacity_, factor_;
  std::vector<State> flows_;
};

// ---------------------------------------------------------------- random plans

double between(RandomStream& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

// Four regions, ports of 1 to 5 Gbit/s, four pairs with their own capacity, 200 flows of 1 MB to 2
// GB in 100 s, 40 changes of capacity, and with `cuts` 20 cuts of a port or pair for some seconds.
// `biased`: shares by round trip, and a cap by loss that some flows reach.
Plan random_plan(std::uint64_t seed, bool cuts, bool biased) {
  RandomStream random(seed, "test.mesh", cuts ? 1 : 0);
  Plan plan;
  std::vector<double> up, down;
  for (int i = 0; i < 4; ++i) {
    up.push_back(std::floor(between(random, 125e6, 625e6)));
    down.push_back(std::floor(between(random, 125e6, 625e6)));
  }
  plan.scenario = mesh(up, down, 0.0);
  for (Link& one : plan.scenario.links)
    one.latency_one_way_s = between(random, biased ? 0.001 : 0.0, 0.05);
  if (biased) {
    plan.scenario.transport = {.kind = TransportKind::kTcp, .streams = 16, .loss_rate = 1e-5};
    plan.scenario.transport.rtt_bias = true;
  }
  std::vector<int> limited;
  for (int i = 0; i < 4; ++i) {
    limited.push_back(static_cast<int>(random.below(12)));
    plan.scenario.links[static_cast<std::size_t>(limited.back())].capacity_Bps =
        std::floor(between(random, 50e6, 300e6));
  }
  for (int i = 0; i < 200; ++i) {
    const int from = static_cast<int>(random.below(4));
    const int to = (from + 1 + static_cast<int>(random.below(3))) % 4;
    const double bytes = std::floor(std::exp(between(random, std::log(1e6), std::log(2e9))));
    plan.flows.push_back({between(random, 0.0, 100.0), from, to, bytes});
  }
  for (int i = 0; i < 40; ++i) {
    Target target = port(static_cast<int>(random.below(4)), static_cast<int>(random.below(2)));
    if (i % 4 == 0) target = link(limited[random.below(4)]);
    plan.changes.push_back({between(random, 0.0, 100.0), target, between(random, 0.2, 1.5)});
  }
  for (int i = 0; cuts && i < 20; ++i) {
    Target target = port(static_cast<int>(random.below(4)), static_cast<int>(random.below(2)));
    if (i % 2 == 0) target = link(static_cast<int>(random.below(12)));
    const double date = between(random, 0.0, 100.0);
    plan.changes.push_back({date, target, 0.0});
    plan.changes.push_back({date + between(random, 0.1, 10.0), target, 1.0});
  }
  std::stable_sort(plan.changes.begin(), plan.changes.end(),
                   [](const ChangePlan& a, const ChangePlan& b) { return a.date_s < b.date_s; });
  return plan;
}

}  // namespace

TEST_CASE("random meshes agree with the exact max-min reference to a nanosecond") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const auto& [cuts, biased] : std::vector<std::pair<bool, bool>>{
             {false, false}, {true, false}, {false, true}, {true, true}}) {
      CAPTURE(seed);
      CAPTURE(cuts);
      CAPTURE(biased);
      const Plan plan = random_plan(seed, cuts, biased);
      Lab lab(plan.scenario);
      double total = 0.0;
      for (const ChangePlan& c : plan.changes)
        lab.change(c.date_s, c.target, c.factor);
      for (const FlowPlan& f : plan.flows) {
        lab.move(f.start_s, f.from, f.to, f.bytes);
        total += f.bytes;
      }
      const std::vector<double> reference = Reference(plan).ends();
      lab.run(1.0 + *std::max_element(reference.begin(), reference.end()));
      for (std::size_t i = 0; i < reference.size(); ++i) {
        REQUIRE(reference[i] > 0.0);
        REQUIRE(std::abs(lab.ends[i] - reference[i]) < 1e-9);
      }
      // Every byte went through one up port and one down port, and none beat its capacity.
      double up = 0.0, down = 0.0;
      for (const fact::Wire& wire : lab.net.wires()) {
        CHECK(wire.bytes <= wire.capacity_bytes * (1 + 1e-12));
        if (wire.name.ends_with(".up")) up += wire.bytes;
        if (wire.name.ends_with(".down")) down += wire.bytes;
      }
      CHECK(up == total);
      CHECK(down == total);
    }
  }
}
