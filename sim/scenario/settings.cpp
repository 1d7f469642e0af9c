#include "sim/scenario/settings.hpp"

#include <algorithm>
#include <charconv>

#include "sim/base/error.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

[[noreturn]] void refuse(const std::string& pointer, const std::string& message) {
  throw BadInput("--set", pointer, message);
}

bool is_index(const std::string& part) {
  return !part.empty() && part.size() < 9 &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Json value_of(const Setting& setting) {
  try {
    return parse_strict(setting.value, "--set");
  } catch (const BadInput&) {
    const bool meant_as_json =
        !setting.value.empty() && std::string("{[\"").find(setting.value[0]) != std::string::npos;
    if (meant_as_json) throw;
    return setting.value;
  }
}

// The choice of an either-node that has something below it.
const Node* container(const Node& node, bool index) {
  if (node.type != Type::kEither) return &node;
  for (const NodePtr& choice : node.choices) {
    const bool object = choice->type == Type::kObject || choice->type == Type::kMap;
    if (index ? choice->type == Type::kArray : object) return choice.get();
  }
  return nullptr;
}

void refuse_unknown(const Node& node, const std::string& pointer, const std::string& part) {
  std::vector<std::string> known;
  for (const Field& field : node.fields) {
    for (std::string& spelling : spellings(field))
      known.push_back(std::move(spelling));
  }
  refuse(under(pointer, part),
         "found an unknown key, allowed " + join(known, 80) + did_you_mean(part, known));
}

// A resolved copy holds the defaults too: what is set takes the place of keys that exclude it.
void drop_alternatives(const Node& node, const std::string& part, Json& place) {
  const Field* set = find_field(node, part);
  if (set == nullptr) return;
  for (const std::vector<std::string>& group : node.at_most_one) {
    if (std::find(group.begin(), group.end(), resolved_key(*set)) == group.end()) continue;
    for (const Field& field : node.fields) {
      if (&field == set) continue;
      if (std::find(group.begin(), group.end(), resolved_key(field)) == group.end()) continue;
      for (const std::string& spelling : spellings(field))
        place.erase(spelling);
    }
  }
}

void put(const Node& node, Json& place, const std::vector<std::string>& parts, std::size_t i,
         const std::string& pointer, const Json& value) {
  if (i == parts.size()) {
    place = value;
    return;
  }
  const std::string& part = parts[i];
  const Node* inner = container(node, is_index(part));
  if (part == "*" && inner != nullptr && inner->type == Type::kMap) {
    if (!place.is_object() || place.empty()) {
      refuse(under(pointer, part), "found no name that '*' could stand for");
    }
    for (auto& [name, below] : place.items())
      put(*inner->value, below, parts, i + 1, under(pointer, name), value);
    return;
  }
  const Field* field = nullptr;
  const Node* next = inner == nullptr ? nullptr : step_into(*inner, part, &field);
  if (next == nullptr) {
    if (inner != nullptr && inner->type == Type::kObject) refuse_unknown(*inner, pointer, part);
    if (inner != nullptr && inner->type == Type::kMap) {
      refuse(under(pointer, part),
             "found a name that is not allowed, allowed " + inner->key_allowed);
    }
    refuse(under(pointer, part), "there are no keys below " + pointer + ": it is " + allowed(node));
  }
  if (inner->type == Type::kArray) {
    std::size_t index = 0;
    std::from_chars(part.data(), part.data() + part.size(), index);
    if (!place.is_array() || index >= place.size()) {
      refuse(under(pointer, part), "the file has no such entry: set the whole array");
    }
    put(*next, place[index], parts, i + 1, under(pointer, part), value);
    return;
  }
  if (place.is_string() || (place.is_number() && !node.shorthand.empty())) {
    Json spelt_out = Json::object();
    for (const std::string& name : node.shorthand)
      spelt_out[name] = place;
    place = spelt_out;
  } else if (!place.is_object()) {
    place = Json::object();
  }
  if (field != nullptr && field->is_duration) {
    for (const std::string& spelling : spellings(*field)) {
      if (spelling != part) place.erase(spelling);
    }
  }
  if (i + 1 == parts.size()) drop_alternatives(*inner, part, place);
  put(*next, place[part], parts, i + 1, under(pointer, part), value);
}

}  // namespace

const Node* step_into(const Node& node, const std::string& part, const Field** field) {
  if (node.type == Type::kEither) {
    for (const NodePtr& choice : node.choices) {
      const Node* below = step_into(*choice, part, field);
      if (below != nullptr) return below;
    }
    return nullptr;
  }
  if (node.type == Type::kMap) return node.key_ok(part) ? node.value.get() : nullptr;
  if (node.type == Type::kArray) return is_index(part) ? node.value.get() : nullptr;
  if (node.type != Type::kObject) return nullptr;
  *field = find_field(node, part);
  return *field == nullptr ? nullptr : (*field)->node.get();
}

void apply_setting(Json& document, const Setting& setting) {
  if (setting.pointer.empty() || setting.pointer[0] != '/') {
    refuse(setting.pointer,
           "found no JSON pointer, allowed /key/key=value, such as /stop/tokens=1e9");
  }
  const std::vector<std::string> parts = pointer_parts(setting.pointer);
  put(scenario_spec(), document, parts, 0, "", value_of(setting));
}

void apply_settings(Json& document, const std::vector<Setting>& settings) {
  std::vector<Json::json_pointer> done;  // without '*'
  for (const Setting& setting : settings) {
    apply_setting(document, setting);
    for (const Json::json_pointer& earlier : done) {
      if (document.contains(earlier)) continue;
      refuse(earlier.to_string(),
             "found " + setting.pointer + " after it, which takes it away, allowed one of them");
    }
    if (setting.pointer.find('*') == std::string::npos) done.emplace_back(setting.pointer);
  }
}

}  // namespace skerry::reader
