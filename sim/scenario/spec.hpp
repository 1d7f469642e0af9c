// The tree of keys: what a scenario may say, once. Five readers of this one tree: the validator
// that also fills in defaults (resolve.hpp), the JSON Schema, `explain`, the reference page, and
// --set.
//
// A key that names a duration is a family: `at` in the tree stands for at_ms, at_s, at_min, at_h,
// at_days and at_years in the file, at most one of them; the resolved copy has at_s.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/json.hpp"

namespace skerry::reader {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

// One named key of an object.
struct Field {
  std::string key;  // without the suffix of a duration
  NodePtr node;
  std::string doc;
  bool is_required = false;
  bool is_duration = false;  // node is a number in seconds
  std::optional<Json> default_value;
  std::string default_note;  // what holds without the key, when that depends on other keys
  bool is_assumed = false;   // the default is calibrated or assumed, not measured

  Field required() const;
  Field defaults(Json value) const;
  Field note(std::string text) const;
  Field assumed() const;
};

enum class Type { kObject, kMap, kArray, kNumber, kInteger, kFlag, kText, kWord, kNull, kEither };

struct Node {
  Type type = Type::kObject;

  std::vector<Field> fields;  // object
  std::vector<std::vector<std::string>>
      at_most_one;  // object: resolved keys that exclude each other

  NodePtr value;            // map, array: every entry
  std::string entry;        // map: how an entry is called in documents, "REGION"
  std::string key_pattern;  // map: regular expression of the keys (anchored)
  std::string key_allowed;  // map: the same in words
  bool (*key_ok)(const std::string&) = nullptr;  // map: the same as code

  std::size_t least = 0;  // map, array: entries; text: bytes
  std::size_t most = std::numeric_limits<std::size_t>::max();
  bool distinct = false;  // array: no value twice

  double low = 0.0, high = 0.0;  // number, integer
  bool low_open = false, high_open = false;
  std::string unit;

  std::string pattern;                            // text: regular expression, empty = free text
  bool (*text_ok)(const std::string&) = nullptr;  // text: the same as code
  std::string text_allowed;                       // text: the same in words

  std::vector<std::string> words;      // kWord: the strings allowed; kFlag: "true", "false"
  std::vector<NodePtr> choices;        // either: of distinct JSON types
  std::vector<std::string> shorthand;  // either: a bare value stands for an object with these keys
};

// Field of a key, and of a duration family. The object that they go into gets `about` by itself.
Field key(std::string name, NodePtr node, std::string doc);
Field duration(std::string name, double low_s, bool low_open, std::string doc);

NodePtr object(std::vector<Field> fields, std::vector<std::vector<std::string>> at_most_one = {});
NodePtr map_of(NodePtr value, std::string entry, std::size_t most);
NodePtr array_of(NodePtr value, std::size_t least, std::size_t most, bool distinct = false);
NodePtr number(double low, double high, std::string unit = {});   // low ≤ x ≤ high
NodePtr positive(double high, std::string unit = {});             // 0 < x ≤ high
NodePtr share(bool zero, bool one);                               // in 0…1, ends as told
NodePtr integer(double low, double high, std::string unit = {});  // 1.2e6 counts as one
NodePtr flag();                                                   // true or false
NodePtr never_true();                                             // false alone
NodePtr free_text(std::size_t most);
NodePtr name_text();  // a name (text.hpp)
NodePtr path_text();
NodePtr word(std::vector<std::string> words);
NodePtr null_node();
NodePtr either(std::vector<NodePtr> choices, std::vector<std::string> shorthand = {});

// The largest duration (s) and the largest integer that a double holds exactly.
inline constexpr double kLongest_s = 1e12;
inline constexpr double kMaxInteger = 9007199254740991.0;

// "a number > 0 and <= 1e+06 (Gbit/s)", "one of ring, star": what a node allows, in words.
std::string allowed(const Node& node);

// Whether `value` has the JSON type that `node` wants (its range is another matter; `true` is no
// `false`).
bool has_type(const Node& node, const Json& value);

// Names under which a field can stand in a file: itself, or the six of a duration.
std::vector<std::string> spellings(const Field& field);

// The key in the resolved copy: "latency_one_way_s" for a duration.
std::string resolved_key(const Field& field);

// The name in documents: "latency_one_way_<unit>" for a duration.
std::string shown_key(const Field& field);

// Field of an object node by spelling, or null. `seconds` gets the factor of the suffix (1 if
// none).
const Field* find_field(const Node& object, const std::string& spelling, double* seconds = nullptr);

// The whole scenario. One static tree.
const Node& scenario_spec();

}  // namespace skerry::reader
