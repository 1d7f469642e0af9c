// Head, regions, links, transport.
#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/scenario/bind.hpp"
#include "sim/scenario/catalog.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

void Binder::refuse(const std::string& pointer, const std::string& message) const {
  throw BadInput(label, pointer, message);
}

void Binder::name_file(const std::string& pointer, const std::string& path) {
  document[Json::json_pointer(pointer)] = path;
  file_places.push_back(pointer);
}

void Binder::warn(const char* code, const std::string& message) {
  scenario.warnings.push_back(std::string(code) + ": " + message);
}

double number_at(const Json& object, const char* key, double otherwise) {
  const Json* found = member(object, key);
  return found == nullptr ? otherwise : found->get<double>();
}

std::int64_t integer_at(const Json& object, const char* key, std::int64_t otherwise) {
  const Json* found = member(object, key);
  return found == nullptr ? otherwise : found->get<std::int64_t>();
}

std::string text_at(const Json& object, const char* key, const std::string& otherwise) {
  const Json* found = member(object, key);
  return found == nullptr ? otherwise : found->get<std::string>();
}

std::string absolute_path(const Binder& binder, const std::string& path) {
  const std::filesystem::path folder = binder.folder.empty() ? "." : binder.folder;
  return std::filesystem::absolute(folder / path).lexically_normal().string();
}

int region_index(const Binder& binder, const std::string& name, const std::string& pointer) {
  std::vector<std::string> names;
  const auto& regions = binder.scenario.regions;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].name == name) return static_cast<int>(i);
    names.push_back(regions[i].name);
  }
  if (names.empty()) {
    binder.refuse(pointer, "found the region '" + name + "', but the scenario has no /regions");
  }
  binder.refuse(pointer, "found the unknown region '" + name + "', allowed " + join(names) +
                             did_you_mean(name, names));
}

namespace {

// A name from the label "path/NAME.json"; characters that names do not allow become '-'.
std::string name_from_label(const std::string& label) {
  std::string name = std::filesystem::path(label).filename().string();
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  if (name.size() > 64) name.resize(64);
  for (char& c : name) {
    if (!is_name(std::string("x") + c)) c = '-';
  }
  if (!name.empty() && name[0] == '.') name[0] = '-';
  return name.empty() ? "scenario" : name;
}

void bind_seeds(Binder& binder) {
  Json& seeds = binder.document["seeds"];
  if (!binder.options.seeds.empty()) {
    seeds = Json::array();
    std::set<std::uint64_t> met;
    for (const std::uint64_t seed : binder.options.seeds) {
      if (static_cast<double>(seed) > kMaxInteger) {
        throw BadInput("--seed", "",
                       "found " + std::to_string(seed) + ", allowed at most 2^53 - 1");
      }
      if (!met.insert(seed).second) {
        throw BadInput("--seed", "", "found " + std::to_string(seed) + " twice, allowed once");
      }
      seeds.push_back(seed);
    }
  } else if (seeds.is_number()) {
    const auto count = seeds.get<std::int64_t>();
    seeds = Json::array();
    for (std::int64_t seed = 1; seed <= count; ++seed)
      seeds.push_back(seed);
  }
  for (const Json& seed : seeds)
    binder.scenario.seeds.push_back(seed.get<std::uint64_t>());
}

struct PairSettings {
  const Json* latency = nullptr;
  const Json* gbps = nullptr;
};

void note_once(const Binder& binder, const Json*& slot, const Json& entry, const char* key,
               const std::string& pointer) {
  const Json* given = member(entry, key);
  if (given == nullptr) return;
  if (slot != nullptr) {
    binder.refuse(under(pointer, key),
                  "found a second value for one direction of the pair, allowed one");
  }
  slot = given;
}

const std::string& region_name(const Scenario& scenario, int region) {
  return scenario.regions[static_cast<std::size_t>(region)].name;
}

// A flow's weight is 1 / its round trip; SimGrid tells weights apart up to some thousands.
void check_rtt_bias(const Binder& binder) {
  const Scenario& scenario = binder.scenario;
  double shortest_s = kNever, longest_s = 0.0;
  const std::vector<double> trips_s = scenario.round_trips_s();
  for (std::size_t i = 0; i < trips_s.size(); ++i) {
    const double trip_s = trips_s[i];
    const Link& link = scenario.links[i];
    if (trip_s <= 0.0) {
      binder.refuse("/transport/rtt_bias", "rtt_bias needs latencies > 0, found 0 between '" +
                                               region_name(scenario, link.from) + "' and '" +
                                               region_name(scenario, link.to) + "'");
    }
    shortest_s = std::min(shortest_s, trip_s);
    longest_s = std::max(longest_s, trip_s);
  }
  if (longest_s > 1000.0 * shortest_s) {
    binder.refuse("/transport/rtt_bias", "found round trips from " + number_text(shortest_s) +
                                             " s to " + number_text(longest_s) +
                                             " s, allowed at most 1,000 times the shortest");
  }
}

void bind_control(Binder& binder, const Json& given) {
  Control& control = binder.scenario.transport.control;
  const std::string pointer = "/transport/control";
  const bool shared = given["rate"] == "shared";
  const char* needed = shared ? "timeout_s" : "reserved_gbps";
  const char* useless = shared ? "reserved_gbps" : "timeout_s";
  if (!given.contains(needed)) {
    binder.refuse(pointer, shared ? "shared needs timeout_<unit>: when a message is given up"
                                  : "reserved needs reserved_gbps: the rate of each message");
  }
  if (given.contains(useless)) {
    binder.refuse(under(pointer, useless),
                  std::string("has no meaning with ") + (shared ? "shared" : "reserved"));
  }
  control.rate = shared ? ControlRate::kShared : ControlRate::kReserved;
  control.bytes = number_at(given, "bytes");
  if (!shared) {
    control.reserved_Bps = bytes_per_s_from_gbps(number_at(given, "reserved_gbps"));
    return;
  }
  control.timeout_s = number_at(given, "timeout_s");
  const Scenario& scenario = binder.scenario;
  for (const Link& link : scenario.links) {
    if (control.timeout_s > link.latency_one_way_s) continue;
    binder.refuse(under(pointer, "timeout_s"),
                  "found " + number_text(control.timeout_s) + " s, allowed more than the " +
                      number_text(link.latency_one_way_s) + " s from '" +
                      region_name(scenario, link.from) + "' to '" + region_name(scenario, link.to) +
                      "': no message would arrive");
  }
}

void bind_transport(Binder& binder) {
  const Json& given = binder.document["transport"];
  Transport& transport = binder.scenario.transport;
  transport.kind = given["kind"] == "tcp" ? TransportKind::kTcp : TransportKind::kFluid;
  if (transport.kind == TransportKind::kTcp && !given.contains("window_bytes") &&
      !given.contains("loss_rate")) {
    binder.refuse("/transport",
                  "tcp needs window_bytes, such as 4194304 for an untuned pair, or loss_rate");
  }
  transport.window_bytes = number_at(given, "window_bytes");
  transport.streams = static_cast<int>(integer_at(given, "streams", 1));
  transport.setup_s = number_at(given, "setup_s");
  transport.loss_rate = number_at(given, "loss_rate");
  transport.mss_bytes = number_at(given, "mss_bytes", transport.mss_bytes);
  const Json* bias = member(given, "rtt_bias");
  transport.rtt_bias = bias != nullptr && bias->get<bool>();
  if (transport.rtt_bias) check_rtt_bias(binder);
  if (const Json* control = member(given, "control")) bind_control(binder, *control);
  const Json* caps = member(given, "caps");
  for (std::size_t of = 0; caps != nullptr && of < kFlowClassNames.size(); ++of) {
    const std::string name = std::string(kFlowClassNames[of]) + "_gbps";
    transport.class_cap_Bps[of] = bytes_per_s_from_gbps(number_at(*caps, name.c_str(), kUnlimited));
  }
}

}  // namespace

void bind_head(Binder& binder) {
  Json& document = binder.document;
  Scenario& scenario = binder.scenario;
  scenario.name = text_at(document, "name", name_from_label(binder.label));
  document["name"] = scenario.name;
  scenario.about = text_at(document, "about");
  bind_seeds(binder);
  Json& stop = document["stop"];
  if (stop.contains("tokens")) {
    scenario.stop.tokens = stop["tokens"].get<double>();
    if (!stop.contains("max_simulated_s")) stop["max_simulated_s"] = 3650.0 * 86400.0;
    scenario.stop.simulated_s = stop["max_simulated_s"].get<double>();
  } else if (stop.contains("simulated_s")) {
    scenario.stop.simulated_s = stop["simulated_s"].get<double>();
  } else {
    binder.refuse("/stop", "lacks its end: give tokens or simulated_<unit>");
  }
  if (const Json* spread = member(document, "speed_spread")) {
    scenario.spread_relative = number_at(*spread, "relative");
  }
}

void bind_regions(Binder& binder) {
  const Json* regions = member(binder.document, "regions");
  if (regions == nullptr) return;
  for (const auto& [name, entry] : regions->items()) {
    Region region;
    region.name = name;
    const double both = number_at(entry, "port_gbps", kUnlimited);
    region.up_Bps = bytes_per_s_from_gbps(number_at(entry, "up_gbps", both));
    region.down_Bps = bytes_per_s_from_gbps(number_at(entry, "down_gbps", both));
    binder.scenario.regions.push_back(region);
  }
}

void bind_links(Binder& binder) {
  std::map<std::pair<int, int>, PairSettings> settings;
  if (const Json* links = member(binder.document, "links")) {
    for (const auto& [name, entry] : links->items()) {
      const std::string pointer = under("/links", name);
      RegionPair pair;
      parse_pair(name, pair);
      const int from = region_index(binder, pair.from, pointer);
      const int to = region_index(binder, pair.to, pointer);
      for (const bool back : {false, true}) {
        if (back && !pair.both) continue;
        PairSettings& slot = back ? settings[{to, from}] : settings[{from, to}];
        note_once(binder, slot.latency, entry, "latency_one_way_s", pointer);
        note_once(binder, slot.gbps, entry, "gbps", pointer);
      }
    }
  }
  Scenario& scenario = binder.scenario;
  const int count = static_cast<int>(scenario.regions.size());
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      const auto found = settings.find({from, to});
      const PairSettings given = found == settings.end() ? PairSettings{} : found->second;
      std::optional<double> latency_s =
          catalog_latency_s(scenario.regions[static_cast<std::size_t>(from)].name,
                            scenario.regions[static_cast<std::size_t>(to)].name);
      if (given.latency != nullptr) latency_s = given.latency->get<double>();
      if (!latency_s) continue;
      const double gbps = given.gbps == nullptr ? kUnlimited : given.gbps->get<double>();
      scenario.links.push_back({from, to, *latency_s, bytes_per_s_from_gbps(gbps)});
    }
  }
  bind_transport(binder);
}

}  // namespace skerry::reader
