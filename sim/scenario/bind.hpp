// The second pass: a resolved document becomes a Scenario, with all checks that need more than one
// key. Each function binds one part, in the order below; the document is spelt out as it goes
// (presets, seeds), so that reading the resolved copy gives the same Scenario.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/resolve.hpp"

namespace skerry::reader {

struct Binder {
  const LoadOptions& options;
  std::string label;   // stands for the file in messages
  std::string folder;  // relative paths start here
  Json document;       // resolved
  Scenario scenario;
  std::vector<std::string> file_bytes;  // contents of named files, for the hash
  std::vector<std::string>
      assumed_devices;  // pointers of values of devices that no published figure backs

  std::vector<std::string> file_places;  // pointers of their paths, absolute in `document`

  // A file that a key names: from now on the key holds its absolute path, so that the resolved copy
  // reads the same from any folder.
  void name_file(const std::string& pointer, const std::string& path);
  [[noreturn]] void refuse(const std::string& pointer, const std::string& message) const;
  void warn(const char* code, const std::string& message);  // "W07: message"
};

void bind_head(Binder& binder);  // name, seeds, stop
void bind_regions(Binder& binder);
void bind_model(Binder& binder);
void bind_islands(Binder& binder);
// Of one group; those assumed go to assumed_devices.
void bind_chip_prices(Binder& binder, const Json& island, const std::string& pointer,
                      Learner& learner);
void bind_prices(Binder& binder);
bool is_money_key(const std::string& pointer);  // of an island or of /prices
// A calibrated key of money or power that stands for every island becomes one, /islands/*/power_w.
void name_islands_together(Binder& binder);
void bind_links(Binder& binder);  // and transport
void bind_protocols(Binder& binder);
void bind_faults(Binder& binder);
void bind_training(Binder& binder);
void bind_expect(Binder& binder);
void check_facts(const Binder& binder);  // kMaxFacts
// Settings that cannot matter become warnings; of the assumed values in use (pointers) those that
// can matter become calibrated_keys.
void add_warnings(Binder& binder, const std::vector<std::string>& assumed);

// What the document gives, typed; `otherwise` when the key is absent.
double number_at(const Json& object, const char* key, double otherwise = 0.0);
std::int64_t integer_at(const Json& object, const char* key, std::int64_t otherwise = 0);
std::string text_at(const Json& object, const char* key, const std::string& otherwise = {});

// Index of a region by name; BadInput at the pointer when the scenario has none of that name.
int region_index(const Binder& binder, const std::string& name, const std::string& pointer);

// Sizes of the trained model's tensors, in the order of kernels::tensors.
std::vector<double> trained_tensors(const TrainedModel& model);

// Learners (ascending) whose name or group matches one of the patterns. BadInput when a pattern
// matches none. `array` says whether pointers get the pattern's index.
std::vector<int> matching_learners(const Binder& binder, const std::vector<std::string>& patterns,
                                   const std::string& pointer, bool array);

// An absolute path from one relative to the scenario's folder.
std::string absolute_path(const Binder& binder, const std::string& path);

}  // namespace skerry::reader
