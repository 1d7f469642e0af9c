// Text → document, strictly: duplicate keys, numbers that are not finite, depth beyond kMaxDepth
// and texts beyond kMaxFileBytes are refused with the pointer of the place. (A DOM parse would keep
// the last of two equal keys in silence.)
#pragma once

#include <string>

#include "sim/scenario/json.hpp"

namespace skerry::reader {

// Throws BadInput(label, pointer, …).
Json parse_strict(const std::string& text, const std::string& label);

// The file's bytes. BadInput when it does not exist, is not a regular file or has more than `limit`
// bytes.
std::string read_bounded_file(const std::string& path, std::size_t limit, const std::string& label,
                              const std::string& pointer);

}  // namespace skerry::reader
