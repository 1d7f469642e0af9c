// Text as tokens: bytes, or byte pairs merged into longer tokens (Gage, 1994; for language models
// Sennrich et al., arXiv 1508.07909). Token ids below 256 are the bytes themselves, id 256 + k is
// merge k. Pure arithmetic: the same text gives the same merges everywhere.
//
// A text is cut into chunks first and no token crosses a cut. A chunk is a run of letters (ASCII
// letters and all bytes from 128 on), of digits or of other visible bytes, with the one space that
// stands before it; or a run of the white space that is left. Runs are cut after kChunkBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace skerry::kernels {

using Token = std::uint16_t;

inline constexpr int kByteTokens = 256;
inline constexpr int kLargestVocabulary = 32768;
inline constexpr std::size_t kChunkBytes = 64;

// Length of the chunk at the start of a text that is not empty.
std::size_t chunk_length(std::string_view text);

class Tokenizer {
 public:
  // Each merge joins the pair of neighbours that stands most often in the chunks of the text (ties:
  // the smaller left id, then the smaller right id), wherever it stands, from left to right. Ends
  // with `vocabulary` tokens, or with fewer when no pair stands twice any more; 256 learns nothing.
  // std::invalid_argument outside kByteTokens … kLargestVocabulary. Linear in the text, then in the
  // bytes of its different chunks: 0.1 s for 1 MiB and 1024 tokens.
  static Tokenizer learn(std::string_view text, int vocabulary);

  int vocabulary() const { return static_cast<int>(bytes_.size()); }

  // The merges in the order in which they were learned. Any bytes; decode gives them back.
  std::vector<Token> encode(std::string_view text) const;

  // std::invalid_argument for a token outside the vocabulary.
  std::string decode(std::span<const Token> tokens) const;

  // The bytes that a token stands for. Requires token < vocabulary().
  const std::string& bytes(Token token) const { return bytes_[token]; }

 private:
  friend class MergeSearch;
  Tokenizer();
  void add_merge(Token left, Token right);
  void encode_chunk(std::string_view chunk, std::vector<Token>& tokens) const;

  std::vector<std::string> bytes_;
  std::unordered_map<std::uint32_t, Token> merged_;  // by pair: left · 2^16 + right
};

}  // namespace skerry::kernels
