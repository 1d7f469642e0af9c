// Axes: from pointers to places of the scenario, from ranges to values.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/scenario/resolve.hpp"
#include "sim/scenario/sweep_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

// Follows one pattern through the tree of keys and the written scenario side by side.
class Walk {
 public:
  Walk(const std::string& pattern, const std::string& label, const std::string& place,
       std::vector<AxisPlace>& out)
      : words_(pointer_parts(pattern)),
        pattern_(pattern),
        label_(label),
        place_(place),
        out_(out) {}

  void from(const Node& node, const Json* value, std::size_t i, const AxisPlace& so_far) {
    if (i == words_.size()) {
      out_.push_back(so_far);
      return;
    }
    const std::string& word = words_[i];
    switch (node.type) {
      case Type::kEither:
        return either(node, value, i, so_far);
      case Type::kObject:
        return key_of(node, value, i, so_far);
      case Type::kMap:
      case Type::kArray:
        return entry_of(node, value, i, so_far);
      default:
        refuse("there are no keys below '" + so_far.pointer + "', so that /" + word +
               " hits nothing: it is " + allowed(node));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw BadInput(label_, place_, "found '" + pattern_ + "': " + message);
  }

  // The choice that the scenario took, else the first that has something below it.
  void either(const Node& node, const Json* value, std::size_t i, const AxisPlace& so_far) {
    const Node* below = nullptr;
    if (value != nullptr && *value == false) {
      refuse("the scenario has false at '" + so_far.pointer +
             "', so that nothing is below: vary '" + so_far.pointer + "' itself or switch it on");
    }
    for (const NodePtr& choice : node.choices) {
      const bool deep = choice->type == Type::kObject || choice->type == Type::kMap ||
                        choice->type == Type::kArray;
      if (!deep) continue;
      if (value != nullptr && has_type(*choice, *value)) return from(*choice, value, i, so_far);
      if (below == nullptr) below = choice.get();
    }
    if (below == nullptr) refuse("there are no keys below '" + so_far.pointer + "'");
    from(*below, nullptr, i, so_far);
  }

  void key_of(const Node& node, const Json* value, std::size_t i, const AxisPlace& so_far) {
    const std::string& word = words_[i];
    const Field* field = find_field(node, word);
    if (field == nullptr) {
      std::vector<std::string> known;
      for (const Field& one : node.fields) {
        for (std::string& spelling : spellings(one))
          known.push_back(std::move(spelling));
      }
      refuse("'" + so_far.pointer + "' has no key '" + word + "', allowed " + join(known, 80) +
             did_you_mean(word, known));
    }
    const Json* below = value != nullptr && value->is_object() ? member(*value, word) : nullptr;
    from(*field->node, below, i + 1, step(so_far, word, resolved_key(*field), field));
  }

  void entry_of(const Node& node, const Json* value, std::size_t i, const AxisPlace& so_far) {
    const bool map = node.type == Type::kMap;
    std::vector<std::string> names;
    if (value != nullptr && (map ? value->is_object() : value->is_array())) {
      if (map) {
        for (const auto& [name, entry] : value->items())
          names.push_back(name);
      } else {
        for (std::size_t k = 0; k < value->size(); ++k)
          names.push_back(std::to_string(k));
      }
    }
    const std::string& word = words_[i];
    bool hit = false;
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (word != "*" && word != names[k]) continue;
      hit = true;
      const Json* below = map ? member(*value, names[k]) : &(*value)[k];
      from(*node.value, below, i + 1, step(so_far, names[k], names[k], nullptr));
    }
    if (hit) return;
    const std::string missing = under(so_far.pointer, word);
    if (names.empty()) {
      refuse("the scenario has no '" + missing + "': it has nothing in '" + so_far.pointer + "'");
    }
    refuse("the scenario has no '" + missing + "', allowed " + join(names) +
           did_you_mean(word, names));
  }

  AxisPlace step(const AxisPlace& so_far, const std::string& word, const std::string& part,
                 const Field* field) const {
    AxisPlace next = so_far;
    next.pointer = under(so_far.pointer, word);
    next.parts.push_back(part);
    next.field = field;
    return next;
  }

  std::vector<std::string> words_;
  const std::string &pattern_, &label_, &place_;
  std::vector<AxisPlace>& out_;
};

// The node that a place's value is read with.
const Node* node_of(const std::vector<std::string>& words) {
  const Node* node = &scenario_spec();
  for (const std::string& word : words) {
    const Field* field = nullptr;
    node = step_into(*node, word, &field);
    if (node == nullptr) return nullptr;
  }
  return node;
}

double rounded(double value, int digits) {
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits);
  double out = value;
  std::from_chars(text, end.ptr, out);
  return out;
}

Json number_json(double value, bool integers, int digits = 12) {
  const double kept = integers ? std::round(value) : rounded(value, digits);
  if (kept == std::floor(kept) && std::abs(kept) < kMaxInteger) {
    return static_cast<std::int64_t>(kept);
  }
  return kept;
}

}  // namespace

std::vector<AxisPlace> axis_places(const Json& scenario, const std::string& pattern,
                                   const std::string& label, const std::string& place) {
  if (!pattern.starts_with('/')) {
    throw BadInput(label, place, "found '" + pattern + "', allowed a pointer such as /stop/tokens");
  }
  const std::vector<std::string> words = pointer_parts(pattern);
  static const std::vector<std::string> kFixed = {"skerry",    "name",     "about", "seeds",
                                                  "protocols", "baseline", "expect"};
  const bool fixed = std::find(kFixed.begin(), kFixed.end(), words[0]) != kFixed.end();
  if (fixed && (words[0] != "protocols" || words.size() == 1)) {
    throw BadInput(label, place,
                   "found '" + pattern +
                       "', which no axis may vary: it names the rows, the seeds " +
                       "or the texts of the whole study");
  }
  std::vector<AxisPlace> out;
  Walk(pattern, label, place, out).from(scenario_spec(), &scenario, 0, {});
  for (AxisPlace& one : out)
    one.node = node_of(pointer_parts(one.pointer));
  return out;
}

bool wants_integer(const AxisPlace& place) {
  const Node* node = place.node;
  if (node->type == Type::kInteger) return true;
  if (node->type != Type::kEither) return false;
  return std::any_of(node->choices.begin(), node->choices.end(),
                     [](const NodePtr& choice) { return choice->type == Type::kInteger; });
}

std::vector<std::string> resolved_parts(const std::string& pointer) {
  std::vector<std::string> out;
  const Node* node = &scenario_spec();
  for (const std::string& word : pointer_parts(pointer)) {
    const Field* field = nullptr;
    if (node != nullptr) node = step_into(*node, word, &field);
    out.push_back(field == nullptr ? word : resolved_key(*field));
  }
  return out;
}

bool overlap(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const std::size_t n = std::min(a.size(), b.size());
  return std::equal(a.begin(), a.begin() + std::ptrdiff_t(n), b.begin());
}

Json checked_value(const AxisPlace& place, const Json& value, const std::string& label,
                   const std::string& pointer) {
  Resolution ignored{label, {}};
  if (place.field == nullptr || !place.field->is_duration) {
    return resolve(*place.node, value, pointer, ignored);
  }
  const std::string spelling = pointer_parts(place.pointer).back();
  const NodePtr wrap = object({*place.field});
  try {
    return resolve(*wrap, Json{{spelling, value}}, pointer, ignored);
  } catch (
      const BadInput& error) {  // the key that was put around the value is no place of the file
    std::string text = error.what();
    const std::string inner = under(pointer, spelling);
    const std::size_t at = text.find(inner);
    if (at != std::string::npos) text.replace(at, inner.size(), pointer);
    throw BadInput("", "", text);
  }
}

std::string place_of_value(const Json& axis, const std::string& pointer, std::size_t i) {
  for (const char* kind : {"range", "log_range"}) {
    if (axis.contains(kind)) return under(pointer, kind);
  }
  return pointer + "/values/" + std::to_string(i);
}

std::vector<Json> range_values(const Json& range, bool logarithmic, bool integers,
                               const std::string& label, const std::string& pointer) {
  const double from = range["from"], to = range["to"];
  if (!(from < to)) {
    throw BadInput(
        label, pointer,
        "found from " + number_text(from) + " to " + number_text(to) + ", allowed only upwards");
  }
  if (logarithmic && !(from > 0)) {
    throw BadInput(label, pointer + "/from", "found " + number_text(from) + ", allowed > 0");
  }
  std::vector<Json> out;
  if (range.contains("step")) {
    const double step = range["step"];
    const double count = std::floor((to - from) / step + 1e-9) + 1;
    if (count > 10000) {
      throw BadInput(label, pointer, "would be " + number_text(count) + " values, allowed 10000");
    }
    for (int i = 0; i < int(count); ++i)
      out.push_back(number_json(from + i * step, false));
    return out;
  }
  if (!range.contains("count")) return out;
  const int count = range["count"];
  for (int i = 0; i < count; ++i) {
    const double share = double(i) / (count - 1);
    const double value =
        logarithmic ? from * std::pow(to / from, share) : from + share * (to - from);
    Json next = number_json(value, logarithmic && integers);
    if (out.empty() || out.back() != next) out.push_back(std::move(next));
  }
  return out;
}

Json drawn_value(const Json& range, bool logarithmic, bool integers, double uniform) {
  const double from = range["from"], to = range["to"];
  if (logarithmic) return number_json(from * std::pow(to / from, uniform), integers, 6);
  // Whole numbers: every one of them equally often.
  if (integers) return number_json(std::floor(from + uniform * (to - from + 1)), true);
  return number_json(from + uniform * (to - from), false, 6);
}

std::string canonical(const Json& value) {
  return value.is_number() ? Json(value.get<double>()).dump() : value.dump();
}

namespace {

std::vector<Json> one_or_many(const Json& value) {
  if (!value.is_array()) return {value};
  return {value.begin(), value.end()};
}

std::string checked_name(const Json& value, const std::vector<std::string>& known,
                         const std::string& label, const std::string& pointer) {
  const std::string name = value.is_string() ? value.get<std::string>() : shown(value);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw BadInput(label, pointer,
                   "found '" + name + "', allowed " + join(known) + did_you_mean(name, known));
  }
  return name;
}

}  // namespace

std::vector<SkipRule> skip_rules(const Json& skip, const Sweep& sweep, bool random) {
  std::vector<std::string> keys{"protocol", "about"};
  for (const SweepAxis& axis : sweep.axes)
    keys.push_back(axis.name);
  std::vector<SkipRule> rules;
  for (std::size_t i = 0; i < skip.size(); ++i) {
    const std::string place = "/skip/" + std::to_string(i);
    if (!skip[i].is_object()) {
      throw BadInput(sweep.label, place, "found " + shown(skip[i]) + ", allowed an object");
    }
    SkipRule rule;
    rule.values.resize(sweep.axes.size());
    bool any = false;
    for (const auto& [key, value] : skip[i].items()) {
      const std::string here = under(place, key);
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        throw BadInput(sweep.label, here,
                       "found an unknown key, allowed " + join(keys) + did_you_mean(key, keys));
      }
      if (key == "about") continue;
      if (value.is_array() && value.empty()) {
        throw BadInput(sweep.label, here, "found no value, allowed at least one");
      }
      any = true;
      for (const Json& one : one_or_many(value)) {
        if (key == "protocol") {
          rule.protocols.push_back(checked_name(one, sweep.protocols, sweep.label, here));
          continue;
        }
        const auto axis = std::find_if(sweep.axes.begin(), sweep.axes.end(),
                                       [&](const SweepAxis& a) { return a.name == key; });
        std::vector<std::string> known;
        for (const std::string& text : axis->values)
          known.push_back(canonical(Json::parse(text)));
        const bool is_there = std::find(known.begin(), known.end(), canonical(one)) != known.end();
        if (!is_there && !random) {
          throw BadInput(sweep.label, here,
                         "found " + shown(one) + ", allowed a value of the axis: " + join(known));
        }
        rule.values[std::size_t(axis - sweep.axes.begin())].push_back(canonical(one));
      }
    }
    if (!any)
      throw BadInput(sweep.label, place, "would skip everything: name a protocol or an axis");
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace skerry::reader
