// Text as tokens: one a byte, so the vocabulary is 256.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace skerry::kernels {

inline std::vector<std::int32_t> byte_tokens(std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text)
    tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

}  // namespace skerry::kernels
