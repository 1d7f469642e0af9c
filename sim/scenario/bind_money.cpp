// Prices and power of chips: an island's own, else its device's.
#include <algorithm>

#include "sim/scenario/bind.hpp"
#include "sim/scenario/catalog.hpp"
#include "sim/scenario/spec_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

void bind_chip_prices(Binder& binder, const Json& island, const std::string& pointer,
                      Learner& learner) {
  const Device* device = find_device(learner.device);
  const auto take = [&](const char* key, std::optional<double> Device::*of_device,
                        bool Device::*assumed, std::optional<double>& value) {
    if (island.contains(key)) {
      value = number_at(island, key);
    } else if (device != nullptr && device->*of_device) {
      value = device->*of_device;
      if (device->*assumed) binder.assumed_devices.push_back(pointer + "/" + key);
    }
  };
  take("usd_per_chip_hour", &Device::usd_per_chip_hour, &Device::usd_per_chip_hour_assumed,
       learner.usd_per_chip_hour);
  take("usd_per_chip_hour_spot", &Device::usd_per_chip_hour_spot,
       &Device::usd_per_chip_hour_spot_assumed, learner.usd_per_chip_hour_spot);
  take("power_w", &Device::power_w, &Device::power_assumed, learner.power_w);
  take("idle_power_share", &Device::idle_power_share, &Device::idle_power_assumed,
       learner.idle_power_share);
  if (island.contains("idle_power_share") && !learner.power_w) {
    binder.warn("W38", pointer + "/idle_power_share: cannot matter without power_w");
  }
}

void bind_prices(Binder& binder) {
  const Json& given = binder.document["prices"];
  Prices& prices = binder.scenario.prices;
  const double usual = prices.wan_usd_per_gib;
  prices.pricing = text_at(given, "pricing") == "spot" ? Pricing::kSpot : Pricing::kOnDemand;
  prices.wan_usd_per_gib = number_at(given, "wan_usd_per_gib", usual);
  if (binder.scenario.regions.size() < 2 && prices.wan_usd_per_gib != usual) {
    binder.warn("W39", "/prices/wan_usd_per_gib: cannot matter, nothing leaves a region");
  }
  if (prices.pricing != Pricing::kSpot) return;  // cost_spot_usd is there whatever the pricing
  for (const auto& [name, island] : binder.document["islands"].items()) {
    if (!island.contains("usd_per_chip_hour") || island.contains("usd_per_chip_hour_spot"))
      continue;
    binder.warn("W39", under("/islands", name) +
                           "/usd_per_chip_hour: cannot matter, /prices/pricing is spot");
  }
}

bool is_money_key(const std::string& pointer) {
  const std::vector<std::string> parts = pointer_parts(pointer);
  if (parts[0] == "prices") return true;
  const std::vector<Field> fields = money_fields();
  return parts.size() == 3 && parts[0] == "islands" &&
         std::any_of(fields.begin(), fields.end(),
                     [&parts](const Field& field) { return field.key == parts[2]; });
}

void name_islands_together(Binder& binder) {
  const std::size_t islands = binder.document["islands"].size();
  std::vector<std::string>& keys = binder.scenario.calibrated_keys;
  for (const Field& field : money_fields()) {
    const auto is_one = [&field](const std::string& pointer) {
      const std::vector<std::string> parts = pointer_parts(pointer);
      return parts.size() == 3 && parts[0] == "islands" && parts[2] == field.key;
    };
    const auto first = std::find_if(keys.begin(), keys.end(), is_one);
    if (islands < 2 ||
        static_cast<std::size_t>(std::count_if(first, keys.end(), is_one)) < islands) {
      continue;
    }
    *first = "/islands/*/" + field.key;
    keys.erase(std::remove_if(first + 1, keys.end(), is_one), keys.end());
  }
}

}  // namespace skerry::reader
