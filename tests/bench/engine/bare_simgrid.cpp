// What SimGrid alone needs for timers and flows: the yardstick for the cost of our layer over it.
//
//   bare_simgrid ROUNDS TIMERS_PER_ROUND FLOWS_PER_ROUND REGIONS
//
// A round is one simulated second. Timers are spread evenly over it, all set beforehand; at its
// start the flows begin, each of 1 MB between neighbouring regions (flow i from region i mod
// REGIONS), over ports of 250 MB/s, one up and one down per region. Prints the wall seconds of the
// run and what was run.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::timer::Timer;

struct Bench {
  long rounds = 0, timers = 0;
  std::vector<sg::Host*> hosts;
  std::vector<sg::CommPtr> running;  // flow i of the round; kept until the next round
  long timers_run = 0, flows_ended = 0, round = 0;

  void platform(int regions) {
    sg::NetZone* world = sg::create_full_zone("world");
    std::vector<sg::Link*> up, down;
    for (int i = 0; i < regions; ++i) {
      const std::string name = std::to_string(i);
      hosts.push_back(world->create_host("region" + name, 1.0));
      up.push_back(world->create_link("up" + name, 250e6));
      down.push_back(world->create_link("down" + name, 250e6));
    }
    for (std::size_t a = 0; a < hosts.size(); ++a) {
      for (std::size_t b = 0; b < hosts.size(); ++b) {
        if (a == b) continue;
        world->add_route(hosts[a]->get_netpoint(), hosts[b]->get_netpoint(), nullptr, nullptr,
                         {sg::LinkInRoute(up[a]), sg::LinkInRoute(down[b])}, false);
      }
    }
    world->seal();
  }

  void start_round() {
    const double now = sg::Engine::get_clock();
    for (std::size_t i = 0; i < running.size(); ++i) {
      running[i] = sg::Comm::sendto_init();
      running[i]->set_payload_size(1000000);
      running[i]->set_source(hosts[i % hosts.size()]);
      running[i]->set_destination(hosts[(i + 1) % hosts.size()]);
    }
    for (long i = 1; i <= timers; ++i) {
      const double date = now + static_cast<double>(i) / static_cast<double>(timers + 1);
      Timer::set(date, [this] { timers_run += 1; });
    }
    round += 1;
    if (round < rounds) Timer::set(now + 1.0, [this] { start_round(); });
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || std::atoi(argv[4]) < 2) {
    std::fprintf(stderr, "bare_simgrid ROUNDS TIMERS_PER_ROUND FLOWS_PER_ROUND REGIONS (>= 2)\n");
    return 2;
  }
  char program[] = "bare_simgrid", log[] = "--log=root.thresh:warning",
       model[] = "--cfg=network/model:CM02", gamma[] = "--cfg=network/TCP-gamma:1e15",
       cross[] = "--cfg=network/crosstraffic:no";
  char* arguments[] = {program, log, model, gamma, cross, nullptr};
  int count = 5;
  const sg::Engine engine(&count, arguments);
  Bench bench;
  bench.rounds = std::atol(argv[1]);
  bench.timers = std::atol(argv[2]);
  bench.running.resize(static_cast<std::size_t>(std::atol(argv[3])));
  bench.platform(std::atoi(argv[4]));
  sg::Activity::on_completion_cb([&bench](const sg::Activity&) { bench.flows_ended += 1; });
  const auto start = std::chrono::steady_clock::now();
  Timer::set(0.0, [&bench] { bench.start_round(); });
  engine.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::printf("%.6f s, %ld timers, %ld flows, simulated %.9f s\n", wall.count(), bench.timers_run,
              bench.flows_ended, sg::Engine::get_clock());
  return 0;
}
