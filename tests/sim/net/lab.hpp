// Small networks for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/engine.hpp"
#include "sim/engine/process.hpp"
#include "sim/net/network.hpp"

namespace skerry {

// Regions a, b, c, … with the given ports, every pair linked with one latency and no capacity of
// its own. Link from i to j (i ≠ j) has index i·(n−1) + j − (j > i).
inline Scenario mesh(const std::vector<double>& up, const std::vector<double>& down,
                     double latency_s) {
  Scenario scenario;
  for (std::size_t i = 0; i < up.size(); ++i) {
    scenario.regions.push_back({std::string(1, static_cast<char>('a' + i)), up[i], down[i]});
  }
  const int n = static_cast<int>(up.size());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i != j) scenario.links.push_back({i, j, latency_s, kUnlimited});
    }
  }
  return scenario;
}

inline Target port(int region, int part) {
  return {TargetKind::kPort, region, part};
}
inline Target link(int index) {
  return {TargetKind::kLink, index, 0};
}
inline constexpr int kUp = 0, kDown = 1;

inline Task<void> move_at(Engine& engine, Network& net, double date, int from, int to, double bytes,
                          double* end, FlowClass of = FlowClass::kExchange) {
  co_await until(engine, date);
  co_await net.transfer(from, to, bytes, of);
  *end = engine.now();
}

inline Task<void> change_at(Engine& engine, Network& net, double date, Target target,
                            double factor) {
  co_await until(engine, date);
  net.set_factor(target, factor);
}

inline Task<void> run_collective(Engine& engine, Network& net, Collective what, double* end) {
  co_await net.collective(what);
  *end = engine.now();
}

inline Task<void> stop_at(Engine& engine, double date) {
  co_await until(engine, date);
  engine.stop();
}

// One network and what goes on in it. Ends at `until_s` at the latest.
struct Lab {
  explicit Lab(const Scenario& asked, CutTransfer on_cut = CutTransfer::kResume, bool ideal = false)
      : scenario(asked), net(engine, scenario, ideal, on_cut) {}

  // → index of the transfer's end in `ends` (−1 = not ended)
  std::size_t move(double date, int from, int to, double bytes,
                   FlowClass of = FlowClass::kExchange) {
    ends.push_back(-1.0);
    processes.emplace_back(engine, "move",
                           move_at(engine, net, date, from, to, bytes, &ends.back(), of));
    return ends.size() - 1;
  }
  void change(double date, Target target, double factor) {
    processes.emplace_back(engine, "change", change_at(engine, net, date, target, factor));
  }
  void kill(double date, std::size_t process) {
    const auto body = [](Engine& e, std::deque<Process>& all, double at,
                         std::size_t victim) -> Task<void> {
      co_await until(e, at);
      all[victim].kill();
    };
    processes.emplace_back(engine, "kill", body(engine, processes, date, process));
  }
  void run(double until_s) {
    processes.emplace_back(engine, "stop", stop_at(engine, until_s));
    engine.run();
  }
  fact::Wire wire(const std::string& name) const {
    for (const fact::Wire& wire : net.wires()) {
      if (wire.name == name) return wire;
    }
    return {"none", -1.0, -1.0};
  }

  Engine engine;
  Scenario scenario;
  Network net;
  std::deque<double> ends;
  std::deque<Process> processes;
};

// Dates agree to a nanosecond (relative after the first second).
inline doctest::Approx about(double date) {
  return doctest::Approx(date).epsilon(1e-9).scale(1.0);
}

}  // namespace skerry
