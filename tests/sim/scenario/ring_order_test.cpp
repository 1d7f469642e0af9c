// The widest ring, against every order.
#include <algorithm>
#include <numeric>
#include <tuple>

#include <doctest/doctest.h>

#include "sim/base/random.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/ring_order.hpp"

using namespace skerry;

namespace {

using Edges = std::vector<std::vector<RingEdge>>;

std::tuple<double, double> merit(const Edges& edges, const std::vector<int>& ring) {
  double narrowest = 1e300, slowest_s = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const RingEdge& edge = edges[static_cast<std::size_t>(ring[i])]
                                [static_cast<std::size_t>(ring[(i + 1) % ring.size()])];
    narrowest = std::min(narrowest, edge.capacity);
    slowest_s = std::max(slowest_s, edge.latency_s);
  }
  return {narrowest, -slowest_s};
}

std::vector<int> best_of_all(const Edges& edges) {
  std::vector<int> ring(edges.size()), best;
  std::iota(ring.begin(), ring.end(), 0);
  std::tuple<double, double> most{0, 0};
  do {
    const auto found = merit(edges, ring);
    if (std::get<0>(found) > 0 && (best.empty() || found > most)) {
      best = ring;
      most = found;
    }
  } while (std::next_permutation(ring.begin() + 1, ring.end()));
  return best;
}

}  // namespace

TEST_CASE("the widest ring is the best of all orders, random networks") {
  RandomStream random(5, "tests/ring_order", 0);
  for (int i = 0; i < 300; ++i) {
    const std::size_t n = 2 + random.below(6);
    Edges edges(n, std::vector<RingEdge>(n));
    for (auto& row : edges) {
      for (RingEdge& edge : row) {   // few values, so that there are ties; some edges missing
        edge = {static_cast<double>(random.below(4)), 0.01 * static_cast<double>(random.below(3))};
      }
    }
    CHECK(widest_ring(edges) == best_of_all(edges));
  }
}

TEST_CASE("a scenario's ring avoids the narrow pair, and asymmetric ports count") {
  // a-b has 1 Gbit/s of its own, the others their ports' 4: of three orders of four regions two pass a-b.
  const auto order = [](const std::string& reduce) {
    const std::string text =
        R"({"skerry":"scenario/1","regions":{"a":{"port_gbps":4},"b":{"port_gbps":4},)"
        R"("c":{"up_gbps":4,"down_gbps":3},"d":{"port_gbps":4}},"links":{)"
        R"("a<>b":{"latency_one_way_ms":10,"gbps":1},"a<>c":{"latency_one_way_ms":10},)"
        R"("a<>d":{"latency_one_way_ms":10},"b<>c":{"latency_one_way_ms":10},)"
        R"("b<>d":{"latency_one_way_ms":10},"c<>d":{"latency_one_way_ms":10}},)"
        R"("islands":{"w":{"region":"a","step_s":1},"x":{"region":"b","step_s":1},)"
        R"("y":{"region":"c","step_s":1},"z":{"region":"d","step_s":1}},)"
        R"("charged_model":{"parameters":1e9,"tokens_per_learner_step":1},"stop":{"tokens":100},)"
        R"("protocols":{"data_parallel":{"all_reduce":)" + reduce + R"(}},"training":false})";
    const Scenario s = load_scenario_text(text, "ring", ".").scenario;
    return s.protocols[0].ring_order;
  };
  CHECK(order(R"({"order":"widest"})") == std::vector<int>{0, 2, 1, 3});   // a c b d
  CHECK(order(R"({"kind":"ring","order":["d","c","b","a"]})") == std::vector<int>{3, 2, 1, 0});
  CHECK(order(R"("ring")").empty());
}
