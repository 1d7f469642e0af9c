#include "sim/scenario/catalog.hpp"

#include <set>
#include <utility>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

void read_money(const Json& entry, Device& device) {
  const auto read = [&entry](const char* key, const char* kind, std::optional<double>& value,
                             bool& assumed) {
    if (!entry.contains(key)) return;
    value = entry.at(key).get<double>();
    assumed = entry.at(kind) == "assumed";
  };
  read("usd_per_chip_hour", "price_kind", device.usd_per_chip_hour,
       device.usd_per_chip_hour_assumed);
  read("usd_per_chip_hour_spot", "spot_kind", device.usd_per_chip_hour_spot,
       device.usd_per_chip_hour_spot_assumed);
  read("power_w", "power_kind", device.power_w, device.power_assumed);
  read("idle_power_share", "idle_power_kind", device.idle_power_share, device.idle_power_assumed);
}

const std::map<std::string, Device>& devices() {
  static const std::map<std::string, Device> all = [] {
    std::map<std::string, Device> made;
    const Json document = parse_strict(kDevicesJson, "catalog/devices.json");
    for (const auto& [name, entry] : document.at("devices").items()) {
      Device& device = made[name];
      device.peak_flops = entry.at("peak_bf16_tflops").get<double>() * 1e12;
      device.memory_per_chip_bytes = entry.at("memory_gb").get<double>() * 1e9;
      device.chips_per_host = entry.at("chips_per_host").get<int>();
      device.mfu_typical = entry.at("mfu_typical").get<double>();
      device.mfu_assumed = entry.at("mfu_kind") == "assumed";
      read_money(entry, device);
    }
    return made;
  }();
  return all;
}

struct Regions {
  std::set<std::string> names;
  std::map<std::pair<std::string, std::string>, double> latency_s;
};

const Regions& regions() {
  static const Regions all = [] {
    Regions made;
    const Json document = parse_strict(kRegionsJson, "catalog/regions.json");
    for (const auto& [name, entry] : document.at("regions").items())
      made.names.insert(name);
    for (const auto& [name, entry] : document.at("round_trips").items()) {
      RegionPair pair;
      parse_pair(name, pair);
      const double latency_s = entry.at("round_trip_ms").get<double>() / 2000.0;
      made.latency_s[{pair.from, pair.to}] = latency_s;
      made.latency_s[{pair.to, pair.from}] = latency_s;
    }
    return made;
  }();
  return all;
}

// What a rate depends on, in one line. Data-parallel has no period and merges nothing.
std::string rate_place(const std::vector<int>& model, const std::string& kind,
                       std::int64_t learners, std::int64_t period, const std::string& merge) {
  std::string place = kind + ' ' + std::to_string(learners);
  if (kind != "data_parallel") place += ' ' + std::to_string(period) + ' ' + merge;
  for (const int size : model)
    place += ' ' + std::to_string(size);
  return place;
}

const std::map<std::string, TunedRate>& rates() {
  static const std::map<std::string, TunedRate> all = [] {
    std::map<std::string, TunedRate> made;
    const Json document = parse_strict(kRatesJson, "catalog/rates.json");
    for (const Json& entry : document.at("entries")) {
      const std::string place = rate_place(
          document.at("models").at(entry.at("model").get<std::string>()).get<std::vector<int>>(),
          entry.at("protocol").get<std::string>(), entry.at("learners").get<std::int64_t>(),
          entry.value("sync_period_steps", std::int64_t{0}), entry.value("merge", std::string()));
      const double rate = entry.at("rate").get<double>();
      const Json& grid = entry.at("grid");
      made[place] = {rate, rate == grid.front().get<double>() || rate == grid.back().get<double>()};
    }
    return made;
  }();
  return all;
}

}  // namespace

std::optional<TunedRate> tuned_rate(const TrainedModel& model, const Protocol& protocol,
                                    Merge merge_body) {
  if (protocol.accumulate_steps != 1) return std::nullopt;  // another batch
  const auto found = rates().find(rate_place(
      {model.layers, model.width, model.heads, model.context, model.vocabulary, model.batch},
      protocol.family == Family::kDataParallel ? "data_parallel" : protocol.preset,
      static_cast<std::int64_t>(protocol.learners.size()), protocol.sync_period_steps,
      merge_body == Merge::kMean ? "mean" : "radial_directional"));
  if (found == rates().end()) return std::nullopt;
  return found->second;
}

const Device* find_device(const std::string& name) {
  const auto found = devices().find(name);
  return found == devices().end() ? nullptr : &found->second;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const auto& [name, device] : devices())
    names.push_back(name);
  return names;
}

bool is_catalog_region(const std::string& name) {
  return regions().names.contains(name);
}

std::vector<std::string> region_names() {
  return {regions().names.begin(), regions().names.end()};
}

std::optional<double> catalog_latency_s(const std::string& from, const std::string& to) {
  const auto found = regions().latency_s.find({from, to});
  if (found == regions().latency_s.end()) return std::nullopt;
  return found->second;
}

}  // namespace skerry::reader
