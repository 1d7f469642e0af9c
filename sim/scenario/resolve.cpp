#include "sim/scenario/resolve.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

[[noreturn]] void refuse(const Resolution& out, const std::string& pointer,
                         const std::string& message) {
  throw BadInput(out.label, pointer, message);
}

[[noreturn]] void refuse_value(const Resolution& out, const std::string& pointer, const Node& node,
                               const Json& value, const std::string& hint = {}) {
  refuse(out, pointer, "found " + shown(value) + ", allowed " + allowed(node) + hint);
}

// A known key that ends in the same unit: 'bandwith_gbps' → 'port_gbps'.
std::string same_unit(const std::string& word, const std::vector<std::string>& known) {
  const std::size_t at = word.rfind('_');
  if (at == std::string::npos) return {};
  const std::string unit = word.substr(at);
  for (const DurationUnit& time : kDurationUnits) {
    if (unit == time.suffix) return {};
  }
  for (const std::string& name : known) {
    if (name.size() + 1 >= unit.size() && ("_" + name).ends_with(unit)) {
      return ", did you mean '" + name + "'?";
    }
  }
  return {};
}

[[noreturn]] void refuse_key(const Resolution& out, const Node& node, const std::string& pointer,
                             const std::string& name) {
  std::vector<std::string> known, documented;
  for (const Field& field : node.fields) {
    for (std::string& spelling : spellings(field))
      known.push_back(std::move(spelling));
    documented.push_back(shown_key(field));
    if (field.is_duration && field.key == name) {
      refuse(out, under(pointer, name),
             "found a duration without its unit, allowed one of " + join(spellings(field)));
    }
  }
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = same_unit(name, known);
  refuse(out, under(pointer, name), "found an unknown key, allowed " + join(documented, 40) + hint);
}

Json resolve_number(const Node& node, const Json& value, const std::string& pointer, double factor,
                    const Resolution& out) {
  if (!value.is_number()) refuse_value(out, pointer, node, value);
  // Dividing by 1,000 rounds once where a product with 0.001 would round twice.
  const double given = value.get<double>();
  const double x = factor < 1.0 ? given / (1.0 / factor) : given * factor;
  const bool in_range = std::isfinite(x) && (node.low_open ? x > node.low : x >= node.low) &&
                        (node.high_open ? x < node.high : x <= node.high);
  if (!in_range) refuse_value(out, pointer, node, value);
  if (node.type == Type::kNumber) return x;
  if (x != std::floor(x) || std::abs(x) > kMaxInteger) refuse_value(out, pointer, node, value);
  return static_cast<std::int64_t>(x);
}

Json resolve_text(const Node& node, const Json& value, const std::string& pointer,
                  const Resolution& out) {
  if (!value.is_string()) refuse_value(out, pointer, node, value);
  const auto& text = value.get_ref<const std::string&>();
  if (node.type == Type::kWord) {
    for (const std::string& word : node.words) {
      if (word == text) return value;
    }
    refuse_value(out, pointer, node, value, did_you_mean(text, node.words));
  }
  if (text.size() < node.least || text.size() > node.most) {
    refuse(out, pointer,
           "found text of " + std::to_string(text.size()) + " bytes, allowed " +
               std::to_string(node.least) + " to " + std::to_string(node.most));
  }
  if (!node.text_ok(text)) refuse_value(out, pointer, node, value);
  return value;
}

void check_entries(const Node& node, std::size_t entries, const std::string& pointer,
                   const Resolution& out) {
  if (entries >= node.least && entries <= node.most) return;
  refuse(out, pointer,
         "found " + std::to_string(entries) + " entries, allowed " + std::to_string(node.least) +
             " to " + std::to_string(node.most) +
             (entries == 0 ? " (leave the key out instead)" : ""));
}

Json resolve_map(const Node& node, const Json& value, const std::string& pointer, Resolution& out) {
  if (!value.is_object()) refuse_value(out, pointer, node, value);
  check_entries(node, value.size(), pointer, out);
  Json result = Json::object();
  auto& members = result.get_ref<Json::object_t&>();
  for (const auto& [name, entry] : value.items()) {
    if (!node.key_ok(name)) {
      refuse(out, under(pointer, name),
             "found a name that is not allowed, allowed " + node.key_allowed);
    }
    members.emplace_back(name, resolve(*node.value, entry, under(pointer, name), out));
  }
  return result;
}

Json resolve_array(const Node& node, const Json& value, const std::string& pointer,
                   Resolution& out) {
  if (!value.is_array()) refuse_value(out, pointer, node, value);
  check_entries(node, value.size(), pointer, out);
  Json result = Json::array();
  std::set<std::string> met;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string place = under(pointer, std::to_string(i));
    result.push_back(resolve(*node.value, value[i], place, out));
    if (node.distinct && !met.insert(result.back().dump()).second) {
      refuse(out, place, "found " + shown(value[i]) + " twice, allowed once");
    }
  }
  return result;
}

// The member that gives a field, or null; two spellings of one duration are refused.
const Json* given_value(const Field& field, const Json& value, const std::string& pointer,
                        std::string& spelling, const Resolution& out) {
  const Json* given = nullptr;
  for (const std::string& name : spellings(field)) {
    const Json* found = member(value, name);
    if (found == nullptr) continue;
    if (given != nullptr) {
      refuse(out, under(pointer, name),
             "found " + spelling + " and " + name + ", allowed one of them: they are one duration");
    }
    given = found;
    spelling = name;
  }
  return given;
}

void check_exclusive(const Node& node, const Json& result, const std::string& pointer,
                     const Resolution& out) {
  for (const auto& group : node.at_most_one) {
    std::string first;
    for (const std::string& name : group) {
      const bool present = result.contains(name);
      if (present && !first.empty()) {
        refuse(out, under(pointer, name),
               "found " + first + " and " + name + ", allowed one of " + join(group));
      }
      if (present) first = name;
    }
  }
}

Json resolve_object(const Node& node, const Json& value, const std::string& pointer,
                    Resolution& out) {
  if (!value.is_object()) refuse_value(out, pointer, node, value);
  for (const auto& [name, entry] : value.items()) {
    if (find_field(node, name) == nullptr) refuse_key(out, node, pointer, name);
  }
  Json result = Json::object();
  std::vector<const Field*> absent;
  for (const Field& field : node.fields) {
    std::string spelling;
    const Json* given = given_value(field, value, pointer, spelling, out);
    if (given == nullptr) {
      if (field.is_required) {
        refuse(out, pointer, "lacks the required key '" + shown_key(field) + "': " + field.doc);
      }
      continue;
    }
    const std::string place = under(pointer, spelling);
    if (field.is_duration) {
      double seconds = 1.0;
      find_field(node, spelling, &seconds);
      result[resolved_key(field)] = resolve_number(*field.node, *given, place, seconds, out);
    } else {
      result[field.key] = resolve(*field.node, *given, place, out);
    }
  }
  check_exclusive(node, result, pointer, out);
  return result;
}

// Whether a key that excludes `name` is present: then neither a default nor a shared value of it
// counts.
bool is_excluded(const Node& node, const std::string& name, const Json& result) {
  for (const auto& group : node.at_most_one) {
    if (std::find(group.begin(), group.end(), name) == group.end()) continue;
    for (const std::string& other : group) {
      if (other != name && result.contains(other)) return true;
    }
  }
  return false;
}

void add_defaults(const Node& node, Json& result, const std::string& pointer, Resolution& out) {
  Json ordered = Json::object();
  for (const Field& field : node.fields) {
    const std::string name = resolved_key(field);
    if (result.contains(name)) {
      ordered[name] = result[name];
      const bool same = field.default_value && result[name] == *field.default_value;
      if (field.is_assumed && same) out.assumed.push_back(under(pointer, name));
    } else if (field.default_value && !is_excluded(node, name, result)) {
      // A default object has defaults of its own.
      ordered[name] = resolve(*field.node, *field.default_value, under(pointer, name), out);
      if (field.is_assumed) out.assumed.push_back(under(pointer, name));
    }
  }
  result = std::move(ordered);
}

Json resolve_either(const Node& node, const Json& value, const std::string& pointer,
                    Resolution& out) {
  for (const NodePtr& choice : node.choices) {
    if (!has_type(*choice, value)) continue;
    Json result = resolve(*choice, value, pointer, out);
    if (result.is_structured() || node.shorthand.empty()) return result;
    Json spelt_out = Json::object();
    for (const std::string& name : node.shorthand)
      spelt_out[name] = result;
    return resolve(node, spelt_out, pointer, out);
  }
  refuse_value(out, pointer, node, value);
}

}  // namespace

void fill_from(const Node& node, Json& target, const Json& source) {
  const Json given = target;
  for (const auto& [name, value] : source.items()) {
    if (!given.contains(name) && !is_excluded(node, name, given)) target[name] = value;
  }
}

Json resolve(const Node& node, const Json& value, const std::string& pointer, Resolution& out) {
  switch (node.type) {
    case Type::kObject: {
      Json result = resolve_object(node, value, pointer, out);
      add_defaults(node, result, pointer, out);
      return result;
    }
    case Type::kMap:
      return resolve_map(node, value, pointer, out);
    case Type::kArray:
      return resolve_array(node, value, pointer, out);
    case Type::kNumber:
    case Type::kInteger:
      return resolve_number(node, value, pointer, 1.0, out);
    case Type::kText:
    case Type::kWord:
      return resolve_text(node, value, pointer, out);
    case Type::kFlag:
    case Type::kNull:
      if (!has_type(node, value)) refuse_value(out, pointer, node, value);
      return value;
    case Type::kEither:
      break;
  }
  return resolve_either(node, value, pointer, out);
}

}  // namespace skerry::reader
