// The search for a target without a simulation: known functions, what is refused; and what --vary
// hits.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/scenario/solve_knobs.hpp"
#include "sim/run/solve_search.hpp"

using namespace skerry;

namespace {

using Function = std::function<double(double)>;

// Runs a search to its end; NaN of the function is a run that failed. Returns the points asked for.
int play(Search& search, const Function& metric) {
  int asked = 0;
  for (auto points = search.next(); !points.empty(); points = search.next()) {
    CHECK(std::is_sorted(points.begin(), points.end()));
    for (const double x : points) {
      CHECK(search.samples().count(x) == 0);
      const double value = metric(x);
      std::isnan(value) ? search.tell_failure(x, "no port") : search.tell(x, value);
      asked += 1;
    }
    REQUIRE(asked < 400);
  }
  return asked;
}

SearchRange range(double low, double high, bool whole = false, int points = 1) {
  SearchRange out;
  out.low = low;
  out.high = high;
  out.whole = whole;
  out.points = points;
  return out;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The answer reaches, the other end misses, and both are what the function is there.
void check_bracket(const SearchResult& r, const Function& metric, double width) {
  REQUIRE_MESSAGE(r.solved, r.reason);
  CHECK(r.value == metric(r.x));
  CHECK(r.value_below == metric(r.x_below));
  CHECK(r.value >= r.target);
  CHECK(r.value_below < r.target);
  CHECK(std::max(r.x / r.x_below, r.x_below / r.x) <= 1 + width);
}

}  // namespace

TEST_CASE("a saturating metric is solved to the tolerance in few points") {
  // x / (x + 3) = t at x = 3 t / (1 - t): 0.5 at 3, 0.9 at 27, 0.99 at 297.
  const Function metric = [](double x) { return x / (x + 3); };
  for (const int points : {1, 2}) {
    Search search(range(1e-3, 1e5, false, points), {0.5, 0.9, 0.99});
    CHECK(play(search, metric) <= Search::kProbes + 3 * 12);
    CHECK(search.rises());
    const double right[] = {3, 27, 297};
    for (std::size_t i = 0; i < 3; ++i) {
      const SearchResult& r = search.results()[i];
      check_bracket(r, metric, 1e-3);
      CHECK(r.x_below < right[i]);
      CHECK(r.x >= right[i]);
      CHECK(r.x / right[i] <= 1.001);
      CHECK(r.first_x == r.x);
    }
  }
}

TEST_CASE("a metric that falls: the largest value that reaches the target") {
  const Function metric = [](double x) { return 100 / x; };  // 7 at 14.2857
  Search search(range(0.1, 1000), {7});
  play(search, metric);
  CHECK(!search.rises());
  check_bracket(search.results()[0], metric, 1e-3);
  CHECK(search.results()[0].x <= 100.0 / 7);
  CHECK(search.results()[0].x_below > 100.0 / 7);
}

TEST_CASE("a step and a limit that is only touched") {
  const Function step = [](double x) { return x < 3.7 ? 0.0 : 1.0; };
  Search at_step(range(1e-4, 1e4), {0.5, 1.0});
  CHECK(play(at_step, step) <= Search::kProbes + 2 * 30);
  for (const SearchResult& r : at_step.results()) {
    check_bracket(r, step, 1e-3);
    CHECK(r.x_below < 3.7);
    CHECK(r.x >= 3.7);
  }
  const Function clipped = [](double x) { return std::min(1.0, x / 8); };
  Search at_limit(range(1e-4, 1e4), {1.0});
  play(at_limit, clipped);
  check_bracket(at_limit.results()[0], clipped, 1e-3);
  CHECK(at_limit.results()[0].x >= 8);
}

TEST_CASE("whole numbers end with neighbours") {
  const Function metric = [](double x) {
    CHECK(x == std::round(x));
    return x * x;
  };
  Search search(range(0, 1000, true), {1, 50, 99 * 99 + 0.5});
  play(search, metric);
  const double right[] = {1, 8, 100};  // 8 x 8 = 64, 7 x 7 = 49
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(search.results()[i].x == right[i]);
    CHECK(search.results()[i].x_below == right[i] - 1);
  }
  Search two(range(3, 4, true), {10});
  CHECK(play(two, metric) == 2);
  CHECK(two.results()[0].x == 4);
}

TEST_CASE("random monotone functions: the bracket is right, and few points do") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 300; ++round) {
    // Rises or falls by jumps of random height at random places, on top of a slope or a plateau.
    std::vector<std::pair<double, double>> jumps;
    for (int i = 0; i < 6; ++i)
      jumps.emplace_back(std::pow(10, 6 * uniform(random) - 3), uniform(random));
    const double slope = round % 3 == 0 ? 0 : uniform(random), sign = round % 2 == 0 ? 1 : -1;
    const Function metric = [&](double x) {
      double value = 10 + slope * std::log(x);
      for (const auto& [place, height] : jumps)
        value += x >= place ? height : 0;
      return sign * value;
    };
    const double a = metric(1e-3), b = metric(1e3);
    if (a == b) continue;
    std::vector<double> targets;
    for (int i = 1; i <= 3; ++i)
      targets.push_back(std::min(a, b) + std::abs(b - a) * (0.3 * i - 0.1 * uniform(random)));
    Search search(range(1e-3, 1e3, false, 1 + round % 2), targets);
    // Six decades in four parts, each halved to 1e-3: 12 points; twice that where guesses mislead.
    CHECK(play(search, metric) <= Search::kProbes + 3 * 30);
    for (const SearchResult& r : search.results()) {
      check_bracket(r, metric, 1e-3);
      CHECK((sign > 0) == (r.x > r.x_below));
    }
  }
}

TEST_CASE("targets share their points") {
  const Function metric = [](double x) { return x / (x + 3); };
  Search both(range(1e-3, 1e5), {0.5, 0.50001});
  const int shared = play(both, metric);
  Search one(range(1e-3, 1e5), {0.5}), other(range(1e-3, 1e5), {0.50001});
  CHECK(shared < play(one, metric) + play(other, metric) - Search::kProbes);
}

TEST_CASE("out of reach, blind and not monotone are refused with their numbers") {
  Search far(range(1, 100), {0.2, 0.5, 2});
  play(far, [](double x) { return 0.25 + x / 200; });
  CHECK(says(far.results()[0].reason, "0.255 at 1 and 0.75 at 100: everything between reaches it"));
  CHECK(far.results()[1].solved);
  CHECK(says(far.results()[2].reason, "out of reach: the metric is 0.255 at 1 and 0.75 at 100"));

  Search blind(range(1, 100), {0.5});
  CHECK(play(blind, [](double) { return 1.0; }) == Search::kProbes);
  CHECK(says(blind.results()[0].reason,
             "does not move the metric: it is 1 at all of 5 points from 1 to 100"));

  // Five probes at 1, 10, 100, 1000, 10000.
  Search hill(range(1, 10000), {0.5});
  play(hill, [](double x) { return x == 1 ? 0.1 : x == 100 ? 0.9 : x == 1000 ? 0.3 : 0.6; });
  CHECK(!hill.results()[0].solved);
  CHECK(says(hill.results()[0].reason, "not monotone: 0.1 at 1, 0.9 at 100, 0.3 at 1000"));

  // Probes at 1, 1.41, 2, 2.83, 4 see nothing of the hump between 2.2 and 2.4; what they ask next
  // does.
  Search late(range(1, 4), {0.5, 0.9});
  play(late, [](double x) { return x < 2.2 ? 0.0 : x < 2.4 ? 0.7 : x < 2.6 ? 0.3 : 1.0; });
  for (const SearchResult& r : late.results()) {
    CHECK(!r.solved);
    CHECK(says(r.reason, "not monotone: 0 at 1, 0.7 at 2"));
  }
}

TEST_CASE("a dip within what is allowed is told, not refused") {
  // 2 % of the range back between 1.6 and 2; the target 0.5 is reached from 1.5 on and again
  // from 2.
  const Function metric = [](double x) {
    return x < 1.5 ? 0.0 : x < 1.6 ? 0.51 : x < 2 ? 0.49 : 1.0;
  };
  SearchRange wide = range(1, 4);
  wide.dip = 0.05;
  Search search(wide, {0.45, 0.5});
  play(search, metric);
  for (const SearchResult& r : search.results())
    check_bracket(r, metric, 1e-3);
  CHECK(search.results()[0].x == doctest::Approx(1.5).epsilon(1e-3));
  CHECK(search.results()[1].x == doctest::Approx(2).epsilon(1e-3));
  // The points near 1.5 of the first target show that the second was reached there already.
  CHECK(search.results()[1].first_x == doctest::Approx(1.5).epsilon(0.01));
}

TEST_CASE("runs that fail: ends nobody typed are given up, others refused") {
  const Function metric = [](double x) { return x < 0.5 ? std::nan("") : x; };
  Search typed(range(1e-2, 1e2), {7});
  play(typed, metric);
  CHECK(says(typed.results()[0].reason, "the run at 0.01 failed: no port"));
  SearchRange open = range(1e-2, 1e2);
  open.may_shrink = true;
  Search shrinking(open, {7, 0.6});
  play(shrinking, metric);
  CHECK(shrinking.results()[0].solved);
  CHECK(shrinking.notes().size() == 2);  // 0.01 and 0.1
  CHECK(says(shrinking.results()[1].reason, "1 at 1 and 100 at 100"));
  Search hopeless(open, {7});
  play(hopeless, [](double) { return std::nan(""); });
  CHECK(says(hopeless.results()[0].reason, "no run gives it; at 0.01: no port"));
  Search middle(open, {7});
  play(middle, [](double x) { return x > 5 && x < 8 ? std::nan("") : x; });
  CHECK(says(middle.results()[0].reason, "failed: no port"));
}

namespace {

const char* const kScenario = R"({
  "skerry": "scenario/1", "name": "one", "stop": {"simulated_h": 1},
  "regions": {"us-west1": {"port_gbps": 5}, "us-east5": {"port_gbps": 2}},
  "links": {"us-west1<>us-east5": {"latency_one_way_ms": 20}},
  "islands": {"west": {"region": "us-west1", "chips": 8, "step_s": 1},
              "east": {"region": "us-east5", "chips": 8, "step_s": 1}},
  "charged_model": {"parameters": 1e9, "tokens_per_learner_step": 1000},
  "protocols": {"diloco": {"sync_period_steps": 20}, "decoupled_diloco": {}},
  "training": false
})";

std::vector<Knob> knobs(const std::vector<std::string>& pointers,
                        const std::vector<Setting>& settings = {}) {
  LoadOptions options;
  options.settings = settings;
  const Loaded loaded = load_scenario_text(kScenario, "one.json", "", options);
  return knobs_of(kScenario, "one.json", settings, loaded, pointers);
}

std::string refused(const std::function<void()>& what) {
  try {
    what();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("pointers hit numbers, written or by default, in their own unit") {
  const std::vector<Knob> ports = knobs({"/regions/*/port_gbps"});
  REQUIRE(ports.size() == 2);
  CHECK(ports[1].pointer == "/regions/us-east5/port_gbps");
  CHECK(*ports[1].value == 2);
  CHECK(!ports[1].whole);
  CHECK(ports[1].high == 1e6);  // as scenarios/README.md has it

  CHECK(*knobs({"/links/us-west1<>us-east5/latency_one_way_ms"})[0].value == 20);
  CHECK(*knobs({"/links/us-west1<>us-east5/latency_one_way_s"})[0].value == 0.02);
  CHECK(*knobs({"/regions/us-west1/port_gbps"}, {{"/regions/us-west1/port_gbps", "7"}})[0].value ==
        7);
  CHECK(*knobs({"/recovery/detection_ms"})[0].value ==
        1000 * *knobs({"/recovery/detection_s"})[0].value);

  const Knob overlap = knobs({"/protocols/decoupled_diloco/overlap_steps"})[0];
  CHECK(*overlap.value == 2);  // the preset's
  CHECK(overlap.whole);
  CHECK(overlap.row == "decoupled_diloco");
  CHECK(*knobs({"/protocols/diloco/quorum"})[0].value == 2);  // "all"
  CHECK(!knobs({"/regions/us-west1/up_gbps"})[0].value.has_value());
}

TEST_CASE("pointers that cannot be varied") {
  CHECK(says(refused([] { knobs({"/regions/*/port_gbs"}); }), "did you mean 'port_gbps'"));
  CHECK(says(refused([] { knobs({"/regions/us-west2/port_gbps"}); }), "did you mean 'us-west1'"));
  CHECK(says(refused([] { knobs({"/protocols/diloco/on_loss"}); }),
             "allowed a key that is a number"));
  CHECK(says(refused([] {
               knobs({"/regions/*/port_gbps", "/regions/us-east5/port_gbps"});
             }),
             "/regions/us-east5/port_gbps twice"));
}

TEST_CASE("one key is looked for itself, several by one factor or one common value") {
  const Unknown one = unknown_of(knobs({"/regions/us-east5/port_gbps"}), {});
  CHECK(!one.is_factor);
  CHECK(one.by_default);
  CHECK(one.low == 2e-4);
  CHECK(one.high == 2e4);
  CHECK(settings_at(one, 3.5)[0].value == "3.5");

  const Unknown all = unknown_of(knobs({"/regions/*/port_gbps"}), {});
  CHECK(all.is_factor);
  CHECK(all.low == 1e-4);
  CHECK(values_at(all, 0.3) == std::vector<double>{1.5, 0.6});  // 5 x 0.3 and 2 x 0.3, to 12 digits
  const Unknown times = unknown_of(knobs({"/regions/us-east5/port_gbps"}), {"", "0.5:3"});
  CHECK(times.low == 1);
  CHECK(times.high == 6);
  const Unknown common = unknown_of(knobs({"/regions/*/port_gbps"}), {"1:9", ""});
  CHECK(values_at(common, 4) == std::vector<double>{4, 4});

  // 1e6 Gbit/s is the most: 5 x 2e5 meets it first.
  const Unknown clipped =
      unknown_of(knobs({"/regions/*/port_gbps"}, {{"/regions/us-west1/port_gbps", "200000"}}), {});
  CHECK(clipped.high == 5);
}

TEST_CASE("bounds that cannot be meant") {
  const auto port = [](const Bounds& bounds) {
    return refused([&] { unknown_of(knobs({"/regions/us-east5/port_gbps"}), bounds); });
  };
  CHECK(says(port({"9:1", ""}), "found '9:1', allowed LO:HI with 0 < LO < HI"));
  CHECK(says(port({"9", ""}), "allowed LO:HI"));
  CHECK(says(port({"1:x", ""}), "allowed LO:HI"));
  CHECK(says(port({"0:1", ""}), "allowed LO > 0"));
  CHECK(says(port({"1:2e6", ""}), "/regions/us-east5/port_gbps would be 2000000"));
  CHECK(says(port({"", "1:1e6"}), "would be 2000000"));
  const std::string steps = "/protocols/*/sync_period_steps";
  CHECK(says(refused([&] { unknown_of(knobs({steps}), {}); }), "no factor keeps those whole"));
  CHECK(says(refused([&] { unknown_of(knobs({steps}), {"1:2.5", ""}); }), "allowed whole numbers"));
  CHECK(unknown_of(knobs({steps}), {"1:200", ""}).whole);
  CHECK(says(refused([] { unknown_of(knobs({"/regions/us-west1/up_gbps"}), {}); }),
             "give --between"));
}
