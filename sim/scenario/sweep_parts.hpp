// The parts of reading a sweep, for sweep*.cpp alone.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/settings.hpp"
#include "sim/scenario/spec.hpp"
#include "sim/scenario/sweep.hpp"

namespace skerry::reader {

const Node& sweep_spec();

// One place in the scenario that an axis varies.
struct AxisPlace {
  std::string pointer;             // '*' spelt out
  std::vector<std::string> parts;  // of the resolved copy: a duration in _s
  const Node* node = nullptr;
  const Field* field = nullptr;  // when the last part is a key of an object
};

// Every place that `pattern` means in the written scenario. BadInput(label, place, …) when it means
// none: an unknown key, or a name or an entry that the scenario does not have.
std::vector<AxisPlace> axis_places(const Json& scenario, const std::string& pattern,
                                   const std::string& label, const std::string& place);

bool wants_integer(const AxisPlace& place);

// BadInput(label, pointer, …) when the key at `place` would not take `value`; else the value as the
// resolved copy would have it, so that two spellings of one value are equal.
Json checked_value(const AxisPlace& place, const Json& value, const std::string& label,
                   const std::string& pointer);

// Values of a range or log_range (as resolved), to 12 digits.
std::vector<Json> range_values(const Json& range, bool logarithmic, bool integers,
                               const std::string& label, const std::string& pointer);

// A draw from a range that has neither step nor count, to 6 digits.
Json drawn_value(const Json& range, bool logarithmic, bool integers, double uniform);

// Entries of `skip`, with every protocol and value known.
struct SkipRule {
  std::vector<std::string> protocols;            // empty: all
  std::vector<std::vector<std::string>> values;  // per axis, canonical; empty: all
};
std::string canonical(const Json& value);  // equal for 2 and 2.0
std::vector<SkipRule> skip_rules(const Json& skip, const Sweep& sweep, bool random);

}  // namespace skerry::reader
