#include "kernels/text.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>
#include <utility>

namespace skerry::kernels {

namespace {

constexpr std::size_t kRemembered = std::size_t{1} << 20;  // chunks whose tokens encode() keeps

enum class Class { kWhite, kLetter, kDigit, kOther };

Class class_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return Class::kWhite;
  if (byte >= '0' && byte <= '9') return Class::kDigit;
  const int lower = byte | 0x20;
  return byte >= 128 || (lower >= 'a' && lower <= 'z') ? Class::kLetter : Class::kOther;
}

// A space that belongs to the word behind it.
bool leads_word(std::string_view text, std::size_t at) {
  return text[at] == ' ' && at + 1 < text.size() && class_of(text[at + 1]) != Class::kWhite;
}

std::uint32_t pair_of(Token left, Token right) {
  return static_cast<std::uint32_t>(left) << 16 | right;
}

// Replaces the pair wherever it stands, from left to right.
void join(std::vector<Token>& tokens, std::uint32_t pair, Token merged) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < tokens.size(); ++to) {
    const bool here = from + 1 < tokens.size() && pair_of(tokens[from], tokens[from + 1]) == pair;
    tokens[to] = here ? merged : tokens[from];
    from += here ? 2 : 1;
  }
  tokens.resize(to);
}

}  // namespace

std::size_t chunk_length(std::string_view text) {
  const std::size_t first = leads_word(text, 0) ? 1 : 0;
  const Class kind = class_of(text[first]);
  const std::size_t most = std::min(text.size(), kChunkBytes);
  std::size_t end = first + 1;
  while (end < most && class_of(text[end]) == kind && !leads_word(text, end))
    ++end;
  return end;
}

// The different chunks of a text and how often each pair of neighbours stands in them.
class MergeSearch {
 public:
  explicit MergeSearch(std::string_view text);

  // Learns the next merge; false when no pair stands twice.
  bool next(Tokenizer& tokens);

 private:
  struct Word {
    std::vector<Token> tokens;
    std::int64_t count = 0;
  };
  struct Place {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  // where it stands or stood
  };
  struct Candidate {
    std::int64_t count = 0;
    std::uint32_t pair = 0;
    bool operator<(const Candidate& other) const {
      return std::pair(count, other.pair) < std::pair(other.count, pair);
    }
  };

  void push(std::uint32_t pair, std::int64_t count) {
    if (count >= 2) best_.push({count, pair});
  }
  void count(const Word& word, std::int64_t times);

  std::vector<Word> words_;                         // in order of their first places
  std::unordered_map<std::uint32_t, Place> pairs_;  // looked up only
  std::priority_queue<Candidate> best_;             // counts may be out of date: too high
};

MergeSearch::MergeSearch(std::string_view text) {
  std::unordered_map<std::string_view, std::size_t> known;
  while (!text.empty()) {
    const std::string_view chunk = text.substr(0, chunk_length(text));
    text.remove_prefix(chunk.size());
    const auto [word, fresh] = known.emplace(chunk, words_.size());
    if (fresh) words_.emplace_back();
    words_[word->second].count += 1;
    if (!fresh) continue;
    for (const char c : chunk)
      words_.back().tokens.push_back(static_cast<unsigned char>(c));
  }
  std::vector<std::uint32_t> seen;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    count(words_[w], 1);
    const auto& tokens = words_[w].tokens;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const std::uint32_t pair = pair_of(tokens[i], tokens[i + 1]);
      Place& place = pairs_[pair];
      if (place.words.empty()) seen.push_back(pair);
      if (place.words.empty() || place.words.back() != w) place.words.push_back(w);
    }
  }
  for (const std::uint32_t pair : seen)
    push(pair, pairs_[pair].count);
}

void MergeSearch::count(const Word& word, std::int64_t times) {
  for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i) {
    pairs_[pair_of(word.tokens[i], word.tokens[i + 1])].count += times * word.count;
  }
}

bool MergeSearch::next(Tokenizer& tokens) {
  Candidate chosen;
  while (chosen.count == 0) {
    if (best_.empty()) return false;
    const Candidate top = best_.top();
    best_.pop();
    const std::int64_t now = pairs_[top.pair].count;
    if (now == top.count) {
      chosen = top;
    } else {
      push(top.pair, now);
    }
  }
  const auto merged = static_cast<Token>(tokens.vocabulary());
  tokens.add_merge(static_cast<Token>(chosen.pair >> 16), static_cast<Token>(chosen.pair & 0xffff));
  std::vector<std::uint32_t> fresh;
  for (const std::size_t w : std::exchange(pairs_[chosen.pair].words, {})) {
    Word& word = words_[w];
    const std::size_t before = word.tokens.size();
    count(word, -1);
    join(word.tokens, chosen.pair, merged);
    count(word, 1);
    if (word.tokens.size() == before) continue;
    for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i) {
      if (word.tokens[i] != merged && word.tokens[i + 1] != merged) continue;
      const std::uint32_t pair = pair_of(word.tokens[i], word.tokens[i + 1]);
      Place& place = pairs_[pair];
      if (place.words.empty()) fresh.push_back(pair);
      if (place.words.empty() || place.words.back() != w) place.words.push_back(w);
    }
  }
  for (const std::uint32_t pair : fresh)
    push(pair, pairs_[pair].count);
  return true;
}

Tokenizer::Tokenizer() {
  for (int byte = 0; byte < kByteTokens; ++byte)
    bytes_.emplace_back(1, static_cast<char>(byte));
}

void Tokenizer::add_merge(Token left, Token right) {
  merged_.emplace(pair_of(left, right), static_cast<Token>(bytes_.size()));
  bytes_.push_back(bytes_[left] + bytes_[right]);
}

Tokenizer Tokenizer::learn(std::string_view text, int vocabulary) {
  if (vocabulary < kByteTokens || vocabulary > kLargestVocabulary) {
    throw std::invalid_argument("kernels: a vocabulary of " + std::to_string(vocabulary) +
                                ", allowed " + std::to_string(kByteTokens) + " … " +
                                std::to_string(kLargestVocabulary));
  }
  Tokenizer tokens;
  if (vocabulary == kByteTokens) return tokens;
  MergeSearch search(text);
  while (tokens.vocabulary() < vocabulary && search.next(tokens)) {
  }
  return tokens;
}

// The merge learned first comes first: a later one can only need what earlier ones have made.
void Tokenizer::encode_chunk(std::string_view chunk, std::vector<Token>& tokens) const {
  tokens.clear();
  for (const char c : chunk)
    tokens.push_back(static_cast<unsigned char>(c));
  while (tokens.size() > 1) {
    std::uint32_t pair = 0;
    int first = vocabulary();
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto merge = merged_.find(pair_of(tokens[i], tokens[i + 1]));
      if (merge == merged_.end() || merge->second >= first) continue;
      first = merge->second;
      pair = merge->first;
    }
    if (first == vocabulary()) return;
    join(tokens, pair, static_cast<Token>(first));
  }
}

std::vector<Token> Tokenizer::encode(std::string_view text) const {
  std::vector<Token> all;
  if (merged_.empty()) {
    all.reserve(text.size());
    for (const char c : text)
      all.push_back(static_cast<unsigned char>(c));
    return all;
  }
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> known;  // begin, end
  std::vector<Token> piece;
  while (!text.empty()) {
    const std::string_view chunk = text.substr(0, chunk_length(text));
    text.remove_prefix(chunk.size());
    if (const auto place = known.find(chunk); place != known.end()) {
      for (auto [at, end] = place->second; at < end; ++at)
        all.push_back(all[at]);
      continue;
    }
    encode_chunk(chunk, piece);
    all.insert(all.end(), piece.begin(), piece.end());
    if (known.size() < kRemembered) {
      known.emplace(chunk, std::pair(all.size() - piece.size(), all.size()));
    }
  }
  return all;
}

std::string Tokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens) {
    if (token >= bytes_.size()) {
      throw std::invalid_argument("kernels: token " + std::to_string(token) + ", allowed 0 … " +
                                  std::to_string(bytes_.size() - 1));
    }
    text += bytes_[token];
  }
  return text;
}

}  // namespace skerry::kernels
