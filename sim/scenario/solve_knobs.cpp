#include "sim/scenario/solve_knobs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/sweep_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

using reader::AxisPlace;
using reader::Json;
using reader::Node;
using reader::Type;

// The number that the key may be; null when it may be none.
const Node* number_of_key(const Node& node) {
  if (node.type == Type::kNumber || node.type == Type::kInteger) return &node;
  if (node.type != Type::kEither) return nullptr;
  for (const auto& choice : node.choices) {
    if (choice->type == Type::kNumber || choice->type == Type::kInteger) return choice.get();
  }
  return nullptr;
}

const Json* find(const Json& document, const std::vector<std::string>& parts) {
  const Json* at = &document;
  for (const std::string& part : parts) {
    if (at->is_array()) {
      std::size_t index = 0;
      const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
      if (parsed.ec != std::errc() || index >= at->size()) return nullptr;
      at = &(*at)[index];
      continue;
    }
    at = at->is_object() ? reader::member(*at, part) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

double seconds_of_unit(const AxisPlace& place) {
  double seconds = 1;
  if (place.field == nullptr || !place.field->is_duration) return seconds;
  const reader::NodePtr alone = reader::object({*place.field});
  reader::find_field(*alone, reader::pointer_parts(place.pointer).back(), &seconds);
  return seconds;
}

Knob knob_of(const AxisPlace& place, const Json& written, const Json& resolved) {
  const Node* number = place.node == nullptr ? nullptr : number_of_key(*place.node);
  if (number == nullptr) {
    throw BadInput(
        "--vary", "",
        fmt::format("found '{}', which is {}, allowed a key that is a number", place.pointer,
                    place.node == nullptr ? "no key" : reader::allowed(*place.node)));
  }
  Knob knob;
  knob.pointer = place.pointer;
  const std::vector<std::string> parts = reader::pointer_parts(place.pointer);
  if (parts.size() > 2 && parts[0] == "protocols") knob.row = parts[1];
  const double seconds = seconds_of_unit(place);
  knob.whole = number->type == Type::kInteger;
  knob.low = number->low / seconds;
  knob.high = number->high / seconds;
  knob.low_open = number->low_open;
  knob.high_open = number->high_open;
  const Json* value = find(written, parts);
  if (value != nullptr && value->is_number()) {
    knob.value = value->get<double>();
  } else if (value = find(resolved, place.parts); value != nullptr && value->is_number()) {
    knob.value = value->get<double>() / seconds;
  }
  return knob;
}

double rounded(double value) {
  std::array<char, 40> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 12);
  double out = value;
  std::from_chars(text.data(), end.ptr, out);
  return out;
}

// The outermost values that the key takes.
double least(const Knob& knob) {
  if (!knob.low_open) return knob.low;
  return knob.low > 0 ? knob.low * (1 + 1e-6) : 0;
}
double most(const Knob& knob) {
  return knob.high_open ? knob.high * (1 - 1e-6) : knob.high;
}

bool takes(const Knob& knob, double value) {
  return (knob.low_open ? value > knob.low : value >= knob.low) &&
         (knob.high_open ? value < knob.high : value <= knob.high);
}

std::pair<double, double> parsed(const std::string& option, const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto number = [](const std::string& word) {
    double value = std::nan("");
    const auto end = std::from_chars(word.data(), word.data() + word.size(), value);
    return end.ptr == word.data() + word.size() && std::isfinite(value) ? value : std::nan("");
  };
  const double low = colon == std::string::npos ? std::nan("") : number(text.substr(0, colon));
  const double high = colon == std::string::npos ? std::nan("") : number(text.substr(colon + 1));
  if (!(low < high) || low < 0) {
    throw BadInput(option, "",
                   "found '" + text + "', allowed LO:HI with 0 < LO < HI, such as 0.1:10");
  }
  return {low, high};
}

void check_bounds(const Unknown& unknown, const std::string& option, const std::string& text) {
  if (!unknown.whole && unknown.low <= 0) {
    throw BadInput(option, "",
                   "found '" + text + "', allowed LO > 0: the search is relative, 0 is never near");
  }
  for (const double x : {unknown.low, unknown.high}) {
    const std::vector<double> values = values_at(unknown, x);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Knob& knob = unknown.knobs[i];
      if (unknown.whole && values[i] != std::round(values[i])) {
        throw BadInput(option, "",
                       "found '" + text + "', allowed whole numbers for " + knob.pointer);
      }
      if (takes(knob, values[i])) continue;
      throw BadInput(
          option, "",
          fmt::format("found '{}': {} would be {:.9g}, allowed {:g}{} to {:g}{}", text,
                      knob.pointer, values[i], knob.low, knob.low_open ? " (not itself)" : "",
                      knob.high, knob.high_open ? " (not itself)" : ""));
    }
  }
}

void check_values(const Unknown& unknown) {
  for (const Knob& knob : unknown.knobs) {
    if (knob.value && *knob.value > 0) continue;
    throw BadInput(
        "--vary", "",
        fmt::format("{} {}: nothing to start from or to scale, give --between LO:HI", knob.pointer,
                    knob.value ? "is 0" : "has no number in this scenario"));
  }
  if (unknown.is_factor && unknown.whole) {
    throw BadInput(
        "--vary", "",
        fmt::format("hits {} keys, whole numbers among them: no factor keeps those whole, give "
                    "--between LO:HI for one common value",
                    unknown.knobs.size()));
  }
}

void default_bounds(Unknown& unknown) {
  unknown.by_default = true;
  unknown.low = unknown.is_factor ? 1 / kDefaultTimes : 0;
  unknown.high = unknown.is_factor ? kDefaultTimes : 0;
  for (const Knob& knob : unknown.knobs) {
    const double unit = unknown.is_factor ? *knob.value : 1;
    if (!unknown.is_factor) {
      unknown.low = *knob.value / kDefaultTimes;
      unknown.high = *knob.value * kDefaultTimes;
    }
    unknown.low = std::max(unknown.low, least(knob) / unit);
    unknown.high = std::min(unknown.high, most(knob) / unit);
  }
  if (unknown.whole) {
    unknown.low = std::ceil(unknown.low);
    unknown.high = std::floor(unknown.high);
  }
  if (unknown.low < unknown.high) return;
  throw BadInput("--vary", "",
                 fmt::format("{} has no room: allowed {:g} to {:g}", unknown.knobs.front().pointer,
                             unknown.low, unknown.high));
}

}  // namespace

std::vector<Knob> knobs_of(const std::string& text, const std::string& label,
                           const std::vector<Setting>& settings, const Loaded& loaded,
                           const std::vector<std::string>& pointers) {
  Json written = reader::parse_strict(text, label);
  reader::apply_settings(written, settings);
  const Json resolved = reader::parse_strict(loaded.resolved_json, label);
  std::vector<Knob> out;
  std::vector<std::vector<std::string>> met;
  for (const std::string& pointer : pointers) {
    for (const AxisPlace& place : reader::axis_places(written, pointer, "--vary", "")) {
      if (std::find(met.begin(), met.end(), place.parts) != met.end()) {
        throw BadInput("--vary", "", "hits " + place.pointer + " twice, allowed once");
      }
      met.push_back(place.parts);
      out.push_back(knob_of(place, written, resolved));
    }
  }
  return out;
}

Unknown unknown_of(std::vector<Knob> knobs, const Bounds& bounds) {
  SKERRY_CHECK(!knobs.empty(), "an unknown without keys");
  Unknown unknown;
  unknown.knobs = std::move(knobs);
  unknown.is_factor = unknown.knobs.size() > 1 && bounds.between.empty();
  unknown.whole = std::any_of(unknown.knobs.begin(), unknown.knobs.end(),
                              [](const Knob& knob) { return knob.whole; });
  if (!bounds.between.empty()) {
    std::tie(unknown.low, unknown.high) = parsed("--between", bounds.between);
    check_bounds(unknown, "--between", bounds.between);
    return unknown;
  }
  check_values(unknown);
  if (bounds.times.empty()) {
    default_bounds(unknown);
    return unknown;
  }
  const auto [low, high] = parsed("--times", bounds.times);
  const double unit = unknown.is_factor ? 1 : *unknown.knobs.front().value;
  unknown.low = unknown.is_factor ? low : rounded(low * unit);
  unknown.high = unknown.is_factor ? high : rounded(high * unit);
  if (unknown.whole) {
    unknown.low = std::ceil(unknown.low);
    unknown.high = std::floor(unknown.high);
    if (unknown.low >= unknown.high) {
      throw BadInput(
          "--times", "",
          fmt::format("found '{}': no two whole numbers between {:g} and {:g} times {:g}",
                      bounds.times, low, high, unit));
    }
  }
  check_bounds(unknown, "--times", bounds.times);
  return unknown;
}

std::vector<double> values_at(const Unknown& unknown, double x) {
  std::vector<double> out;
  for (const Knob& knob : unknown.knobs)
    out.push_back(unknown.is_factor ? rounded(*knob.value * x) : x);
  return out;
}

std::vector<Setting> settings_at(const Unknown& unknown, double x) {
  std::vector<Setting> out;
  const std::vector<double> values = values_at(unknown, x);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::array<char, 32> digits{};
    char* end = std::to_chars(digits.data(), digits.data() + digits.size(), values[i]).ptr;
    out.push_back({unknown.knobs[i].pointer, std::string(digits.data(), end)});
  }
  return out;
}

}  // namespace skerry
