// Lines of text for people: what fits 100 columns.
#pragma once

#include <string>
#include <vector>

namespace skerry {

inline constexpr std::size_t kColumns = 100;

// "prefix item  item  item", broken between items where 100 columns are full; two spaces on later
// lines.
std::string wrapped(const std::string& prefix, const std::vector<std::string>& items);

// Breaks a sentence between words; two spaces on later lines.
std::string wrapped_sentence(const std::string& sentence);

}  // namespace skerry
