// The document type of this folder: objects keep the order of the file.
#pragma once

#include <nlohmann/json.hpp>

namespace skerry::reader {

using Json = nlohmann::ordered_json;

// The member, or null when `object` has none of that name.
inline const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}
inline const Json* member(const Json& object, const std::string& key) {
  return member(object, key.c_str());
}

}  // namespace skerry::reader
