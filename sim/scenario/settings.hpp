// --set /pointer=value on the document as written, before it is validated.
#pragma once

#include "sim/scenario/load.hpp"
#include "sim/scenario/spec.hpp"

namespace skerry::reader {

// Puts the value at the pointer, making the objects on the way. The pointer is checked against the
// tree of keys, so keys that the file leaves to their defaults can be set. Another spelling of the
// same duration is replaced. A part '*' stands for all names that are there. Throws
// BadInput("--set", pointer, …).
void apply_setting(Json& document, const Setting& setting);

// All of them in turn. Of two for one key the later one wins, as on any command line. One that a
// later one took away, since the keys exclude each other or it set what is around, is refused.
void apply_settings(Json& document, const std::vector<Setting>& settings);

// A node below `node` by one part of a pointer, for pointers without a document
// ("/protocols/*/quorum"); null when there is none. `field` gets the field when it is an object's.
const Node* step_into(const Node& node, const std::string& part, const Field** field);

}  // namespace skerry::reader
