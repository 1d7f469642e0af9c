#include "sim/scenario/spec.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

std::shared_ptr<Node> make(Type type) {
  auto node = std::make_shared<Node>();
  node->type = type;
  return node;
}

// Free text from strangers is printed on terminals: control characters but tab and newline are
// refused.
bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
  });
}

bool is_valid_name(const std::string& text) {
  return is_name(text);
}

std::string range_text(const Node& node) {
  std::string text = node.low_open ? " > " : " >= ";
  text += number_text(node.low);
  text += node.high_open ? " and < " : " and <= ";
  text += number_text(node.high);
  if (!node.unit.empty()) text += " (" + node.unit + ")";
  return text;
}

std::string words_text(const Node& node) {
  std::string text = node.words.size() > 1 ? "one of \"" : "\"";
  for (std::size_t i = 0; i < node.words.size(); ++i) {
    if (i > 0) text += "\", \"";
    text += node.words[i];
  }
  text += '"';
  return text;
}

}  // namespace

Field Field::required() const {
  Field field = *this;
  field.is_required = true;
  return field;
}

Field Field::defaults(Json value) const {
  Field field = *this;
  field.default_value = std::move(value);
  return field;
}

Field Field::note(std::string text) const {
  Field field = *this;
  field.default_note = std::move(text);
  return field;
}

Field Field::assumed() const {
  Field field = *this;
  field.is_assumed = true;
  return field;
}

Field key(std::string name, NodePtr node, std::string doc) {
  Field field;
  field.key = std::move(name);
  field.node = std::move(node);
  field.doc = std::move(doc);
  return field;
}

Field duration(std::string name, double low_s, bool low_open, std::string doc) {
  auto node = make(Type::kNumber);
  node->low = low_s;
  node->low_open = low_open;
  node->high = kLongest_s;
  node->unit = std::string(1, 's');
  Field field = key(std::move(name), node, std::move(doc));
  field.is_duration = true;
  return field;
}

NodePtr object(std::vector<Field> fields, std::vector<std::vector<std::string>> at_most_one) {
  auto node = make(Type::kObject);
  node->fields = std::move(fields);
  node->fields.push_back(key("about", free_text(4000), "Free text, kept with the result."));
  node->at_most_one = std::move(at_most_one);
  return node;
}

NodePtr map_of(NodePtr value, std::string entry, std::size_t most) {
  auto node = make(Type::kMap);
  node->value = std::move(value);
  node->entry = std::move(entry);
  node->least = 1;
  node->most = most;
  node->key_pattern = kNamePattern;
  node->key_allowed = "letters, digits, '.', '_', '-', no leading '.', at most 64";
  node->key_ok = is_valid_name;
  return node;
}

NodePtr array_of(NodePtr value, std::size_t least, std::size_t most, bool distinct) {
  auto node = make(Type::kArray);
  node->value = std::move(value);
  node->least = least;
  node->most = most;
  node->distinct = distinct;
  return node;
}

NodePtr number(double low, double high, std::string unit) {
  auto node = make(Type::kNumber);
  node->low = low;
  node->high = high;
  node->unit = std::move(unit);
  return node;
}

NodePtr positive(double high, std::string unit) {
  auto node = make(Type::kNumber);
  node->low_open = true;
  node->high = high;
  node->unit = std::move(unit);
  return node;
}

NodePtr share(bool zero, bool one) {
  auto node = make(Type::kNumber);
  node->high = 1.0;
  node->low_open = !zero;
  node->high_open = !one;
  return node;
}

NodePtr integer(double low, double high, std::string unit) {
  auto node = make(Type::kInteger);
  node->low = low;
  node->high = high;
  node->unit = std::move(unit);
  return node;
}

NodePtr flag() {
  auto node = make(Type::kFlag);
  node->words = {"true", "false"};
  return node;
}

NodePtr never_true() {
  auto node = make(Type::kFlag);
  node->words = {"false"};
  return node;
}

NodePtr free_text(std::size_t most) {
  auto node = make(Type::kText);
  node->most = most;
  node->pattern = "^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f]*$";
  node->text_ok = is_printable;
  node->text_allowed = "text without control characters";
  return node;
}

NodePtr name_text() {
  auto node = make(Type::kText);
  node->pattern = kNamePattern;
  node->text_ok = is_valid_name;
  node->text_allowed = "a name (letters, digits, '.', '_', '-', no leading '.', at most 64)";
  return node;
}

NodePtr path_text() {
  auto node = make(Type::kText);
  node->least = 1;
  node->most = 1024;
  node->pattern = "^[^\\u0000-\\u001f\\u007f]*$";
  node->text_ok = [](const std::string& text) {
    return is_printable(text) && text.find_first_of("\n\t") == std::string::npos;
  };
  node->text_allowed = "a path, relative to the scenario's folder";
  return node;
}

NodePtr word(std::vector<std::string> words) {
  auto node = make(Type::kWord);
  node->words = std::move(words);
  return node;
}

NodePtr null_node() {
  return make(Type::kNull);
}

NodePtr either(std::vector<NodePtr> choices, std::vector<std::string> shorthand) {
  auto node = make(Type::kEither);
  node->choices = std::move(choices);
  node->shorthand = std::move(shorthand);
  return node;
}

std::string allowed(const Node& node) {
  switch (node.type) {
    case Type::kObject:
      return "an object";
    case Type::kMap:
      return "a map of " + node.entry + " to objects";
    case Type::kArray:
      return "an array of " + allowed(*node.value);
    case Type::kNumber:
      return "a number" + range_text(node);
    case Type::kInteger:
      return "an integer" + range_text(node);
    case Type::kFlag:
      return join(node.words);
    case Type::kText:
      return node.text_allowed;
    case Type::kNull:
      return "null";
    case Type::kWord:
      return words_text(node);
    case Type::kEither:
      break;
  }
  std::string text;
  for (const NodePtr& choice : node.choices) {
    text += (text.empty() ? "" : ", or ") + allowed(*choice);
  }
  return text;
}

bool has_type(const Node& node, const Json& value) {
  switch (node.type) {
    case Type::kObject:
    case Type::kMap:
      return value.is_object();
    case Type::kArray:
      return value.is_array();
    case Type::kNumber:
    case Type::kInteger:
      return value.is_number();
    case Type::kFlag:
      return value.is_boolean() && (node.words.size() > 1 || !value.get<bool>());
    case Type::kText:
    case Type::kWord:
      return value.is_string();
    case Type::kNull:
      return value.is_null();
    case Type::kEither:
      break;
  }
  return std::any_of(node.choices.begin(), node.choices.end(),
                     [&](const NodePtr& choice) { return has_type(*choice, value); });
}

std::vector<std::string> spellings(const Field& field) {
  if (!field.is_duration) return {field.key};
  std::vector<std::string> names;
  for (const DurationUnit& unit : kDurationUnits)
    names.push_back(field.key + std::string(unit.suffix));
  return names;
}

std::string resolved_key(const Field& field) {
  return field.is_duration ? field.key + "_s" : field.key;
}

std::string shown_key(const Field& field) {
  return field.is_duration ? field.key + "_<unit>" : field.key;
}

const Field* find_field(const Node& object, const std::string& spelling, double* seconds) {
  for (const Field& field : object.fields) {
    if (!field.is_duration) {
      if (field.key == spelling) {
        if (seconds != nullptr) *seconds = 1.0;
        return &field;
      }
      continue;
    }
    if (spelling.compare(0, field.key.size(), field.key) != 0) continue;
    for (const DurationUnit& unit : kDurationUnits) {
      if (spelling.substr(field.key.size()) == unit.suffix) {
        if (seconds != nullptr) *seconds = unit.seconds;
        return &field;
      }
    }
  }
  return nullptr;
}

}  // namespace skerry::reader
