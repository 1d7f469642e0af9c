#include <algorithm>

#include <doctest/doctest.h>

#include "sim/scenario/catalog.hpp"
#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

bool assumes(const Scenario& scenario, const std::string& pointer) {
  const auto& keys = scenario.calibrated_keys;
  return std::find(keys.begin(), keys.end(), pointer) != keys.end();
}

}  // namespace

TEST_CASE("every value of money and power in the catalog has a source, a date and a kind") {
  const Json devices = Json::parse(file_text(SKERRY_SOURCE "/scenarios/catalog/devices.json"));
  int values = 0;
  for (const auto& [name, device] : devices.at("devices").items()) {
    for (const auto& [key, prefix] : {std::pair{"usd_per_chip_hour", "price"},
                                      {"usd_per_chip_hour_spot", "spot"},
                                      {"power_w", "power"},
                                      {"idle_power_share", "idle_power"}}) {
      CAPTURE(name);
      CAPTURE(key);
      const std::string of = prefix;
      CHECK(device.contains(key) == device.contains(of + "_source"));
      if (!device.contains(key)) continue;
      values += 1;
      CHECK(device.at(key).get<double>() > 0);
      CHECK_FALSE(device.at(of + "_source").get<std::string>().empty());
      CHECK(device.at(of + "_date").get<std::string>().size() == 10);
      const std::string kind = device.at(of + "_kind");
      CHECK((kind == "published" || kind == "assumed"));
    }
    const reader::Device* known = reader::find_device(name);
    REQUIRE(known != nullptr);
    CHECK(known->usd_per_chip_hour.has_value() == device.contains("usd_per_chip_hour"));
    CHECK(known->idle_power_share.value_or(2) <= 1);
    // Spot is the cheaper one.
    if (known->usd_per_chip_hour_spot) {
      CHECK(*known->usd_per_chip_hour_spot < *known->usd_per_chip_hour);
    }
  }
  CHECK(values > 25);
}

TEST_CASE("prices come from the device, and the island overrides them") {
  Json document = base();
  document["islands"]["east"]["usd_per_chip_hour"] = 1.5;
  document["islands"]["east"]["power_w"] = 250;
  const Scenario scenario = load(document).scenario;
  const Learner& west = scenario.learners[0];
  const Learner& east = scenario.learners[2];
  CHECK(west.usd_per_chip_hour == 4.2);  // v5p
  CHECK(west.usd_per_chip_hour_spot == 0.836);
  CHECK(west.power_w == 284.0);
  CHECK(west.idle_power_share == 0.53);
  CHECK(east.usd_per_chip_hour == 1.5);
  CHECK(east.usd_per_chip_hour_spot == 0.836);
  CHECK(east.power_w == 250.0);
  CHECK(scenario.prices.pricing == Pricing::kOnDemand);
  CHECK(scenario.prices.wan_usd_per_gib == 0.02);
  // The power of v5p is an estimate, its price is published.
  CHECK(assumes(scenario, "/islands/west/power_w"));
  CHECK(assumes(scenario, "/islands/*/idle_power_share"));  // of both
  CHECK_FALSE(assumes(scenario, "/islands/east/idle_power_share"));
  CHECK(assumes(scenario, "/prices/wan_usd_per_gib"));
  CHECK_FALSE(assumes(scenario, "/islands/east/power_w"));
  CHECK_FALSE(assumes(scenario, "/islands/west/usd_per_chip_hour"));
}

TEST_CASE("an island without a device has a price only when it gives one") {
  Json document = base();
  document["islands"]["east"].erase("device");
  document["islands"]["east"]["step_s"] = 7;
  Scenario scenario = load(document).scenario;
  CHECK_FALSE(scenario.learners[2].usd_per_chip_hour);
  CHECK_FALSE(scenario.learners[2].power_w);
  document["islands"]["east"]["usd_per_chip_hour"] = 0;
  scenario = load(document).scenario;
  CHECK(scenario.learners[2].usd_per_chip_hour == 0.0);
  document["islands"]["east"]["idle_power_share"] = 0.3;
  CHECK(warns(load(document).scenario, "W38"));
  document["islands"]["east"]["power_w"] = 100;
  CHECK_FALSE(warns(load(document).scenario, "W38"));
}

TEST_CASE("prices can be set, and a price of nothing is warned of") {
  LoadOptions options;
  options.settings = {{"/prices/pricing", "spot"}, {"/prices/wan_usd_per_gib", "0.1"}};
  Json document = base();
  Scenario scenario = load(document, options).scenario;
  CHECK(scenario.prices.pricing == Pricing::kSpot);
  CHECK(scenario.prices.wan_usd_per_gib == 0.1);
  CHECK_FALSE(warns(scenario, "W39"));
  CHECK_FALSE(assumes(scenario, "/prices/wan_usd_per_gib"));
  document.erase("regions");
  for (const char* island : {"west", "east"})
    document["islands"][island].erase("region");
  scenario = load(document, options).scenario;
  CHECK(warns(scenario, "W39"));
  CHECK_FALSE(warns(load(document).scenario, "W39"));
  // At spot prices one on demand stands for nothing; the other way round cost_spot_usd has its use.
  document["islands"]["west"]["usd_per_chip_hour"] = 9;
  CHECK_FALSE(warns(load(document).scenario, "W39"));
  document["prices"] = {{"pricing", "spot"}};
  CHECK(warns(load(document).scenario, "W39"));
  document["islands"]["west"]["usd_per_chip_hour_spot"] = 3;
  CHECK_FALSE(warns(load(document).scenario, "W39"));
}
