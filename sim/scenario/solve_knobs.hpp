// The numeric keys that --vary names, and the values that a search gives them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"

namespace skerry {

struct Knob {
  std::string pointer;          // '*' spelt out; a duration in the unit of the pointer
  std::string row;              // the protocol whose key it is; empty: of all
  std::optional<double> value;  // in the scenario, written or by default; empty: no number there
  bool whole = false;
  double low = 0, high = 0;  // what the key allows, without those ends that are open
  bool low_open = false, high_open = false;
};

// Every key that the pointers mean in the scenario `text` (with `loaded`, which is the same read).
// BadInput("--vary", …): hits nothing, is no number, is hit twice.
std::vector<Knob> knobs_of(const std::string& text, const std::string& label,
                           const std::vector<Setting>& settings, const Loaded& loaded,
                           const std::vector<std::string>& pointers);

// Bounds as typed; empty: none. At most one of them.
struct Bounds {
  std::string between, times;
};

// One unknown for all knobs of a row: their common value, or a factor on the value of each.
struct Unknown {
  std::vector<Knob> knobs;
  bool is_factor = false;
  bool whole = false;
  double low = 0, high = 0;  // where it is looked for
  bool by_default = false;   // nobody typed the bounds
};

// BadInput: no value to scale, bounds reversed or beyond what a key allows.
Unknown unknown_of(std::vector<Knob> knobs, const Bounds& bounds);

// What the scenario gets for one value of the unknown, in the order of the knobs: 12 digits.
std::vector<double> values_at(const Unknown& unknown, double x);
std::vector<Setting> settings_at(const Unknown& unknown, double x);

inline constexpr double kDefaultTimes = 1e4;  // from value / this to value × this

}  // namespace skerry
