#include "sim/scenario/catalog.hpp"

#include <set>
#include <utility>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

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

}  // namespace

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
