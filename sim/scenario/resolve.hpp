// The first pass over a document: strict validation against the tree of keys, defaults filled in.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/spec.hpp"

namespace skerry::reader {

struct Resolution {
  std::string label;  // stands for the file in messages
  std::vector<std::string>
      assumed;  // pointers of values in use that are calibrated or assumed defaults
};

// The resolved value: keys in the order of the tree, maps in the order of the file, durations in
// _s, integers as integers, shorthand strings spelt out, defaults in. Idempotent. Throws BadInput.
Json resolve(const Node& node, const Json& value, const std::string& pointer, Resolution& out);

// Adds to the object `target` what only `source` has, unless a key of `target` excludes it (a
// period of checkpoints against a rule for them). Both are resolved values of `node`.
void fill_from(const Node& node, Json& target, const Json& source);

}  // namespace skerry::reader
