// One key in words.
#include "sim/base/error.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/presets.hpp"
#include "sim/scenario/settings.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

using reader::Field;
using reader::Node;
using reader::Type;

// The node that holds keys, behind the alternatives of an either-node.
const Node* keys_of(const Node& node) {
  if (node.type == Type::kObject) return &node;
  if (node.type == Type::kMap || node.type == Type::kArray) return keys_of(*node.value);
  if (node.type != Type::kEither) return nullptr;
  for (const auto& choice : node.choices) {
    if (const Node* found = keys_of(*choice)) return found;
  }
  return nullptr;
}

// A part of a pointer: '*' stands for any name of a map or any index.
const Node* step(const Node& node, const std::string& part, const Field** field) {
  if (node.type == Type::kEither) {
    for (const auto& choice : node.choices) {
      if (const Node* below = step(*choice, part, field)) return below;
    }
    return nullptr;
  }
  if (part == "*" && (node.type == Type::kMap || node.type == Type::kArray))
    return node.value.get();
  if (const Node* below = reader::step_into(node, part, field)) return below;
  if (node.type != Type::kObject) return nullptr;
  for (const Field& candidate : node.fields) {  // a duration without its unit
    if (candidate.key == part) {
      *field = &candidate;
      return candidate.node.get();
    }
  }
  return nullptr;
}

std::string describe_field(const Field& field) {
  std::string text = field.doc + "\n";
  if (field.is_duration) {
    text += "write:   one of " + reader::join(reader::spellings(field)) + "\n";
  }
  text += "allowed: " + reader::allowed(*field.node) + "\n";
  if (field.is_required) {
    text += "default: none, the key is required\n";
  } else if (field.default_value) {
    text += "default: " + field.default_value->dump();
    if (field.is_duration) text += " s";
    text += field.is_assumed ? " (assumed, not measured)\n" : "\n";
  } else {
    text += "default: " + (field.default_note.empty() ? "none" : field.default_note) + "\n";
  }
  return text;
}

std::string presets_of_key(const std::string& key) {
  std::string text;
  for (const std::string& preset : reader::preset_names()) {
    const auto* value = reader::member(reader::preset_values(preset), key);
    if (value != nullptr) text += "  " + preset + ": " + value->dump() + "\n";
  }
  return text.empty() ? text : "by preset:\n" + text;
}

}  // namespace

std::string explain_pointer(const std::string& pointer) {
  if (!pointer.empty() && pointer[0] != '/') {
    throw BadInput("explain", pointer,
                   "found no JSON pointer, allowed such as /protocols/*/quorum");
  }
  const std::vector<std::string> parts = reader::pointer_parts(pointer);
  const Node* node = &reader::scenario_spec();
  const Field* field = nullptr;
  std::string place;
  for (const std::string& part : parts) {
    const Field* found = nullptr;
    const Node* below = step(*node, part, &found);
    if (below == nullptr) {
      std::vector<std::string> known;
      const Node* keys = node->type == Type::kMap ? nullptr : keys_of(*node);
      if (keys != nullptr) {
        for (const Field& candidate : keys->fields)
          known.push_back(reader::shown_key(candidate));
      }
      throw BadInput("explain", reader::under(place, part),
                     "found an unknown key, allowed " +
                         (known.empty() ? reader::allowed(*node) : reader::join(known, 60)) +
                         reader::did_you_mean(part, known));
    }
    node = below;
    field = found;
    place = reader::under(place, part);
  }
  std::string text = (pointer.empty() ? "/" : pointer) + "\n";
  if (field != nullptr) {
    text += describe_field(*field);
    if (parts.size() == 3 && parts[0] == "protocols") text += presets_of_key(field->key);
  }
  if (const Node* keys = keys_of(*node)) {
    text += "keys:    ";
    std::vector<std::string> names;
    for (const Field& below : keys->fields)
      names.push_back(reader::shown_key(below));
    text += reader::join(names, 60) + "\n";
  }
  return text;
}

}  // namespace skerry
