// JSON Schema (draft 7) from the tree of keys.
#include "sim/base/units.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/spec.hpp"

namespace skerry {

namespace {

using reader::Field;
using reader::Json;
using reader::Node;
using reader::Type;

Json schema_of(const Node& node);

void add_range(Json& schema, const Node& node, double unit) {
  schema[node.low_open ? "exclusiveMinimum" : "minimum"] = node.low / unit;
  schema[node.high_open ? "exclusiveMaximum" : "maximum"] = node.high / unit;
}

Json required(const std::string& key) {
  return {{"required", Json::array({key})}};
}

// Exactly one of the keys, or none of them unless one is needed.
Json one_of_keys(const std::vector<std::string>& keys, bool needed) {
  Json each = Json::array();
  for (const std::string& key : keys)
    each.push_back(required(key));
  Json choices = each;
  if (!needed) choices.push_back(Json{{"not", Json{{"anyOf", each}}}});
  return {{"oneOf", choices}};
}

void add_field(const Field& field, Json& properties, Json& needed, Json& all) {
  if (!field.is_duration) {
    Json schema = schema_of(*field.node);
    schema["description"] = field.doc;
    if (field.default_value) schema["default"] = *field.default_value;
    properties[field.key] = schema;
    if (field.is_required) needed.push_back(field.key);
    return;
  }
  for (const DurationUnit& unit : kDurationUnits) {
    Json schema = {{"type", "number"}};
    add_range(schema, *field.node, unit.seconds);
    schema["description"] = field.doc;
    properties[field.key + std::string(unit.suffix)] = schema;
  }
  all.push_back(one_of_keys(reader::spellings(field), field.is_required));
}

// Two groups that exclude each other: not one of the first together with one of the second.
void add_exclusions(const Node& node, Json& all) {
  for (const auto& group : node.at_most_one) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = i + 1; j < group.size(); ++j) {
        Json both = Json::array();
        for (const std::string& key : {group[i], group[j]}) {
          Json any = Json::array();
          for (const std::string& name : reader::spellings(*reader::find_field(node, key))) {
            any.push_back(required(name));
          }
          both.push_back(Json{{"anyOf", any}});
        }
        all.push_back(Json{{"not", Json{{"allOf", both}}}});
      }
    }
  }
}

Json object_schema(const Node& node) {
  Json properties = Json::object(), needed = Json::array(), all = Json::array();
  for (const Field& field : node.fields)
    add_field(field, properties, needed, all);
  add_exclusions(node, all);
  Json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!needed.empty()) schema["required"] = needed;
  if (!all.empty()) schema["allOf"] = all;
  return schema;
}

Json map_schema(const Node& node) {
  return {{"type", "object"},
          {"minProperties", node.least},
          {"maxProperties", node.most},
          {"propertyNames", Json{{"pattern", node.key_pattern}}},
          {"additionalProperties", schema_of(*node.value)}};
}

Json array_schema(const Node& node) {
  Json schema = {{"type", "array"},
                 {"minItems", node.least},
                 {"maxItems", node.most},
                 {"items", schema_of(*node.value)}};
  if (node.distinct) schema["uniqueItems"] = true;
  return schema;
}

Json text_schema(const Node& node) {
  Json schema = {{"type", "string"}, {"pattern", node.pattern}};
  if (node.least > 0) schema["minLength"] = node.least;
  if (node.most < 1u << 20) schema["maxLength"] = node.most;
  return schema;
}

Json schema_of(const Node& node) {
  switch (node.type) {
    case Type::kObject:
      return object_schema(node);
    case Type::kMap:
      return map_schema(node);
    case Type::kArray:
      return array_schema(node);
    case Type::kText:
      return text_schema(node);
    case Type::kWord:
      return {{"enum", node.words}};
    case Type::kNull:
      return {{"type", "null"}};
    case Type::kFlag:
      if (node.words.size() == 1) return {{"const", false}};
      return {{"type", "boolean"}};
    case Type::kNumber:
    case Type::kInteger: {
      Json schema = {{"type", node.type == Type::kNumber ? "number" : "integer"}};
      add_range(schema, node, 1.0);
      return schema;
    }
    case Type::kEither:
      break;
  }
  Json choices = Json::array();
  for (const auto& choice : node.choices)
    choices.push_back(schema_of(*choice));
  return {{"anyOf", choices}};
}

}  // namespace

std::string scenario_schema_json() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "Skerry scenario/1"}};
  const Json tree = schema_of(reader::scenario_spec());
  for (const auto& [key, value] : tree.items())
    schema[key] = value;
  return schema.dump(2) + "\n";
}

}  // namespace skerry
