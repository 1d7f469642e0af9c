// Small text helpers of the reader: JSON pointers, nearest names, wildcards, numbers as people
// write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/json.hpp"

namespace skerry::reader {

// `pointer` + "/" + `key`, with "~" and "/" escaped (RFC 6901) and control characters shown as '?'.
std::string under(const std::string& pointer, std::string_view key);

// Parts of a pointer, unescaped. "" gives none. Requires a leading '/' otherwise (checked by
// callers).
std::vector<std::string> pointer_parts(std::string_view pointer);

// The candidate with the least edit distance to `word`, or "" when none is near (more than a third
// of the letters, and more than two, would have to change).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// ", did you mean 'x'?" or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// "a, b, c", at most `limit` of them, then ", … (n in all)".
std::string join(const std::vector<std::string>& words, std::size_t limit = 24);

// True when `text` matches `pattern`, where '*' stands for any run of characters. Linear in
// practice: quadratic at worst.
bool matches(std::string_view pattern, std::string_view text);

// 6 significant digits, no trailing zeros: "1.2e+06", "0.85".
std::string number_text(double value);

// A value as it stood in the file, shortened to about 60 characters.
std::string shown(const Json& value);

// Names of regions, islands, protocols, faults: letters, digits, '.', '_', '-', no leading '.', 1
// to 64.
bool is_name(std::string_view text);
inline constexpr const char* kNamePattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$";

// A region pair "A<>B" (both directions) or "A>B". False when it is neither.
struct RegionPair {
  std::string from, to;
  bool both = false;
};
bool parse_pair(std::string_view text, RegionPair& pair);

}  // namespace skerry::reader
