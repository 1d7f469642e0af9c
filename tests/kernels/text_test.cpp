// Tokens against a search that counts everything anew before each merge.
#include "kernels/text.hpp"

#include <map>
#include <stdexcept>

#include "tests/kernels/support.hpp"

using skerry::kernels::chunk_length;
using skerry::kernels::kChunkBytes;
using skerry::kernels::Token;
using skerry::kernels::Tokenizer;

namespace {

using Text = std::vector<Token>;

std::vector<std::string> chunks(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t length = chunk_length(text);
    all.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return all;
}

Text bytes_of(const std::string& text) {
  Text tokens;
  for (const char c : text)
    tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

// What learn() promises, in the plainest words: the merges as pairs, and the text in tokens.
struct Naive {
  Naive(const std::string& text, int vocabulary) {
    std::vector<Text> words;
    for (const std::string& chunk : chunks(text))
      words.push_back(bytes_of(chunk));
    while (256 + static_cast<int>(merges.size()) < vocabulary) {
      std::map<std::pair<Token, Token>, int> counts;
      for (const Text& word : words) {
        for (std::size_t i = 0; i + 1 < word.size(); ++i)
          counts[{word[i], word[i + 1]}] += 1;
      }
      std::pair<Token, Token> best;
      int most = 1;
      for (const auto& [pair, count] : counts) {  // ascending: the first of equals stays
        if (count > most) most = count, best = pair;
      }
      if (most == 1) break;
      const auto merged = static_cast<Token>(256 + merges.size());
      merges.push_back(best);
      for (Text& word : words) {
        for (std::size_t i = 0; i + 1 < word.size(); ++i) {
          if (std::pair(word[i], word[i + 1]) != best) continue;
          word[i] = merged;
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      }
    }
    for (const Text& word : words)
      tokens.insert(tokens.end(), word.begin(), word.end());
  }
  std::vector<std::pair<Token, Token>> merges;
  Text tokens;
};

// Texts that are full of repeats, ties and overlaps, and texts of any bytes.
std::string random_text(std::uint64_t stream, std::size_t bytes) {
  static const std::string alphabets[] = {"ab ", "aab.", "abc 12\n", "the and\t ,9"};
  const std::uint64_t kind = stream % 5;
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint64_t draw = support::mix(stream * 1000003 + i);
    text +=
        kind == 4 ? static_cast<char>(draw & 0xff) : alphabets[kind][draw % alphabets[kind].size()];
  }
  return text;
}

}  // namespace

TEST_CASE("chunks: a word with its space, numbers, signs, the white space that is left") {
  const auto cut = [](const std::string& text) { return chunks(text); };
  using Words = std::vector<std::string>;
  CHECK(cut("In the beginning") == Words{"In", " the", " beginning"});
  CHECK(cut("day 7: rest.\nAnd") == Words{"day", " 7", ":", " rest", ".", "\n", "And"});
  CHECK(cut("a  b \n c ") == Words{"a", " ", " b", " \n", " c", " "});
  CHECK(cut("caf\xc3\xa9!! x") == Words{"caf\xc3\xa9", "!!", " x"});
  CHECK(cut(std::string(150, 'a')) ==
        Words{std::string(64, 'a'), std::string(64, 'a'), std::string(22, 'a')});
  CHECK(cut(" " + std::string(64, 'a')) == Words{" " + std::string(63, 'a'), "a"});
  CHECK(cut("").empty());
}

TEST_CASE("merges by hand") {
  // Chunks: "aab", " aab", " aab", " ab". Pairs: (a,b) 4, (a,a) 3, ( ,a) 3.
  // 256 = "ab": then (a,256) 3, ( ,a) 2, ( ,256) 1. 257 = "aab": then ( ,257) 2. 258 = " aab".
  // Left is ( ,256), which stands once: no more.
  const std::string text = "aab aab aab ab";
  const Tokenizer all = Tokenizer::learn(text, 300);
  REQUIRE(all.vocabulary() == 259);
  CHECK(all.bytes(256) == "ab");
  CHECK(all.bytes(257) == "aab");
  CHECK(all.bytes(258) == " aab");
  CHECK(all.encode(text) == Text{257, 258, 258, ' ', 256});
  CHECK(Tokenizer::learn(text, 257).encode(text) ==
        Text{'a', 256, ' ', 'a', 256, ' ', 'a', 256, ' ', 256});

  // (x,y) and (b,c) both stand twice: the smaller left id first.
  CHECK(Tokenizer::learn("xy.xy.bc.bc", 257).bytes(256) == "bc");
  // Overlaps: (a,a) stands twice in "aaa" but is joined once, from the left.
  const Tokenizer overlap = Tokenizer::learn("aaa", 257);
  CHECK(overlap.encode("aaa") == Text{256, 'a'});
  CHECK(overlap.encode("aaaa") == Text{256, 256});
}

TEST_CASE("the same merges and tokens as counting everything anew") {
  int merges = 0;
  for (std::uint64_t stream = 0; stream < 60; ++stream) {
    CAPTURE(stream);
    const std::string text = random_text(stream, 20 + 13 * stream);
    const int vocabulary = 256 + static_cast<int>(3 * stream);
    const Naive naive(text, vocabulary);
    const Tokenizer tokenizer = Tokenizer::learn(text, vocabulary);
    REQUIRE(tokenizer.vocabulary() == 256 + static_cast<int>(naive.merges.size()));
    for (std::size_t k = 0; k < naive.merges.size(); ++k) {
      const auto& [left, right] = naive.merges[k];
      CHECK(tokenizer.bytes(static_cast<Token>(256 + k)) ==
            tokenizer.bytes(left) + tokenizer.bytes(right));
    }
    CHECK(tokenizer.encode(text) == naive.tokens);
    merges += static_cast<int>(naive.merges.size());
  }
  CHECK(merges > 1000);
}

TEST_CASE("any bytes come back, and no token crosses a cut") {
  const Tokenizer tokenizers[] = {
      Tokenizer::learn("", 256), Tokenizer::learn(random_text(2, 3000), 300),
      Tokenizer::learn(random_text(3, 3000), 400), Tokenizer::learn(random_text(4, 30000), 2000)};
  CHECK(tokenizers[3].vocabulary() > 1000);
  for (const Tokenizer& tokenizer : tokenizers) {
    for (std::uint64_t stream = 100; stream < 140; ++stream) {
      const std::string text = random_text(stream, 17 * (stream - 100));
      const Text tokens = tokenizer.encode(text);
      CHECK(tokenizer.decode(tokens) == text);
      std::size_t token = 0;
      for (const std::string& chunk : chunks(text)) {
        CHECK(chunk.size() <= kChunkBytes);
        std::string piece;
        while (piece.size() < chunk.size() && token < tokens.size())
          piece += tokenizer.bytes(tokens[token++]);
        CHECK(piece == chunk);
      }
    }
  }
  CHECK(tokenizers[0].encode(std::string("A\xff\n\0", 4)) == Text{65, 255, 10, 0});
}

TEST_CASE("sizes and tokens out of range are refused") {
  CHECK_THROWS_WITH_AS(Tokenizer::learn("ab", 255),
                       "kernels: a vocabulary of 255, allowed 256 … 32768", std::invalid_argument);
  CHECK_THROWS_AS(Tokenizer::learn("ab", 32769), std::invalid_argument);
  const Tokenizer tokenizer = Tokenizer::learn("abab", 257);
  CHECK(tokenizer.decode(Text{256}) == "ab");
  CHECK_THROWS_WITH_AS(tokenizer.decode(Text{'a', 257}), "kernels: token 257, allowed 0 … 256",
                       std::invalid_argument);
}
