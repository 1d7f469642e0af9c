// The catalogs of devices and regions (scenarios/catalog), built into the program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace skerry::reader {

// Texts of the files, written at build time by embed.py.
extern const char* const kDevicesJson;
extern const char* const kRegionsJson;
extern const char* const kRatesJson;

struct Device {
  double peak_flops = 0.0;  // dense bf16, per chip
  double memory_per_chip_bytes = 0.0;
  int chips_per_host = 0;
  double mfu_typical = 0.0;
  bool mfu_assumed = false;  // no published figure stands behind it
  // Of one chip; empty: not known. Assumed: no published figure stands behind it.
  std::optional<double> usd_per_chip_hour, usd_per_chip_hour_spot, power_w, idle_power_share;
  bool usd_per_chip_hour_assumed = false, usd_per_chip_hour_spot_assumed = false;
  bool power_assumed = false, idle_power_assumed = false;
};

// Null when the catalog has no such device.
const Device* find_device(const std::string& name);
std::vector<std::string> device_names();

bool is_catalog_region(const std::string& name);
std::vector<std::string> region_names();

// Half of the measured round trip (s); none when a region is not in the catalog or both are the
// same.
std::optional<double> catalog_latency_s(const std::string& from, const std::string& to);

// The best inner learning rate of one grid, on fault-free tapes (scenarios/sweeps/tune-lr.json).
struct TunedRate {
  double rate = 0.0;
  bool at_edge = false;  // the best of the grid is its first or last: the optimum may lie outside
};

// For a trained model, a protocol's preset (data_parallel_elastic and best_region count as
// data_parallel, ideal too), its learners and, DiLoCo family, its period and the merge rule of all
// but the embedding; none without an entry.
std::optional<TunedRate> tuned_rate(const TrainedModel& model, const Protocol& protocol,
                                    Merge merge_body);

}  // namespace skerry::reader
