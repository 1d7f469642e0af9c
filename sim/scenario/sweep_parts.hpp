// The parts of reading a sweep, for sweep*.cpp alone.
#pragma once

#include <string>
#include <vector>

#include "sim/base/error.hpp"
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

// One call of load_sweep_text, as far as it has come.
struct Reading {
  Sweep sweep;
  Json written;                                // as parsed
  Json document;                               // resolved, placeholders in it
  Json scenario;                               // as written, with --set
  std::vector<std::vector<AxisPlace>> places;  // per axis
  bool random = false;

  [[noreturn]] void refuse(const std::string& pointer, const std::string& message) const {
    throw BadInput(sweep.label, pointer, message);
  }
};

// Every place that `pattern` means in the written scenario. BadInput(label, place, …) when it means
// none: an unknown key, or a name or an entry that the scenario does not have.
std::vector<AxisPlace> axis_places(const Json& scenario, const std::string& pattern,
                                   const std::string& label, const std::string& place);

// A pointer of --set word by word as an AxisPlace has its parts.
std::vector<std::string> resolved_parts(const std::string& pointer);

// One is the other or inside it.
bool overlap(const std::vector<std::string>& a, const std::vector<std::string>& b);

bool wants_integer(const AxisPlace& place);

// BadInput(label, pointer, …) when the key at `place` would not take `value`; else the value as the
// resolved copy would have it, so that two spellings of one value are equal.
Json checked_value(const AxisPlace& place, const Json& value, const std::string& label,
                   const std::string& pointer);

// Where value i of an axis (as resolved, at `pointer`) stands in the file.
std::string place_of_value(const Json& axis, const std::string& pointer, std::size_t i);

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

// Sweep::combinations, and of a random design the values of its axes. BadInput.
void combine(Reading& reading);

}  // namespace skerry::reader
