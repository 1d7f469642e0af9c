#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "sim/train/corpus.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <zlib.h>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/sim/train/tapes.hpp"

using namespace skerry;

namespace {

struct TextFile {
  explicit TextFile(const std::string& text)
      : path(std::filesystem::temp_directory_path() /
             ("skerry-corpus-" + std::to_string(text.size()))) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~TextFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

Training training_on(const std::string& corpus) {
  Training t = test::small_scenario(1, Family::kDiloco, 1).training;
  t.corpus = t.corpus_label = corpus;
  return t;
}

// The message that a corpus is refused with.
std::string refusal(const Training& training) {
  try {
    train::load_corpus(training);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "(accepted)";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the built-in text is the file, byte for byte") {
  const Corpus corpus = train::load_corpus(training_on("kjv"));
  const std::string start = "In the beginning God cre";
  CHECK(std::equal(start.begin(), start.end(), corpus.tokens.begin()));
  CHECK(corpus.tokens.size() == 1048536);
  // ceil(0.05 · 1,048,536 = 52,426.8) held out.
  CHECK(corpus.training_tokens == 1048536 - 52427);
  CHECK(corpus.tokens.back() == '\n');
  CHECK(corpus.held_out_bytes_per_token == 1.0);
  CHECK(train::held_out_bytes(corpus, 16, 16) == 256.0);
}

TEST_CASE("windows are inputs and the same one byte on") {
  const TextFile file("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
  Training t = training_on(file.path.string());
  t.held_out_share = 0.5;
  const Corpus corpus = train::load_corpus(t);
  std::array<std::int32_t, 3> inputs{}, targets{};
  train::fill_window(corpus, 24, inputs, targets);
  CHECK(inputs == std::array<std::int32_t, 3>{'y', 'z', 'a'});
  CHECK(targets == std::array<std::int32_t, 3>{'z', 'a', 'b'});

  // 52 bytes, 26 held out, windows of 16 + 1: the last may start at 52 − 17 = 35; room 9.
  CHECK(train::held_out_start(corpus, 16, 0, 4) == 26);
  CHECK(train::held_out_start(corpus, 16, 1, 4) == 29);
  CHECK(train::held_out_start(corpus, 16, 3, 4) == 35);
  CHECK(train::held_out_start(corpus, 16, 0, 1) == 26);
}

TEST_CASE("merges are learned on the part to train on, and both parts come back") {
  Training t = training_on("kjv");
  t.model.vocabulary = 1024;
  const std::string text = corpus_text(t, "");
  const Corpus corpus = tokenised(text, t, "");
  const std::size_t split = 1048536 - 52427;
  const auto tokenizer = kernels::Tokenizer::learn(text.substr(0, split), 1024);
  const std::span<const kernels::Token> tokens(corpus.tokens);
  CHECK(tokenizer.decode(tokens.first(corpus.training_tokens)) == text.substr(0, split));
  CHECK(tokenizer.decode(tokens.subspan(corpus.training_tokens)) == text.substr(split));
  CHECK(corpus.bytes_of.size() == 1024);
  CHECK(corpus.bytes_of[256] == 2);
  // The held-out part is no better known than the rest: 3.2 bytes a token in both.
  const auto held_out = static_cast<double>(corpus.tokens.size() - corpus.training_tokens);
  CHECK(corpus.held_out_bytes_per_token == 52427 / held_out);
  CHECK(corpus.held_out_bytes_per_token > 3.0);
  CHECK(corpus.held_out_bytes_per_token < 3.4);

  // Another end changes no token of the first part.
  std::string other = text;
  std::fill(other.begin() + static_cast<std::ptrdiff_t>(split), other.end(), 'z');
  const Corpus same = tokenised(other, t, "");
  CHECK(same.training_tokens == corpus.training_tokens);
  CHECK(std::equal(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(split / 4),
                   same.tokens.begin()));
}

TEST_CASE("a corpus that cannot be used is bad input, with both numbers") {
  CHECK(has(refusal(training_on("/nowhere/text")), "/training/corpus: found no file"));
  CHECK(has(refusal(training_on("/tmp")), "'/tmp' is not a regular file"));
  CHECK(has(refusal(training_on("/dev/zero")), "'/dev/zero' is not a regular file"));
  {
    const TextFile file("");
    CHECK(has(refusal(training_on(file.path.string())), "with 0 bytes to train on and 0 held out"));
  }
  {
    // 40 bytes, 5 % held out = 2 bytes: no window of 17.
    const TextFile file(std::string(40, 'a'));
    CHECK(has(refusal(training_on(file.path.string())),
              "with 38 bytes to train on and 2 held out; allowed: at least one window of 17"));
  }
  {
    const TextFile file(std::string(1000, 'a') + "\xff");
    CHECK(has(refusal(training_on(file.path.string())),
              "found 128, allowed more than the largest byte of the corpus, 255"));
  }
  {
    // 60 chunks of 16 bytes, 3 of them held out: 48 bytes of ceil(0.05 · 960), a window is 17. Four
    // merges make " abcabcabcabcabc" shorter: "ab", "abc", "abcabc", then "abcabc" + "abcabc".
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += " abcabcabcabcabc";
    const TextFile file(text);
    Training t = training_on(file.path.string());
    t.model.vocabulary = 256 + 3;
    // " ", "abcabc", "abcabc", "abc": 4 tokens a chunk.
    CHECK(has(refusal(t),
              "with 228 tokens to train on and 12 held out; allowed: at least one window "
              "of 17 tokens"));
    t.model.context = 8;
    CHECK(train::load_corpus(t).training_tokens == 228);
    // All that there is to learn: " abcabcabcabcabc" is one token after 6 merges.
    t.model.vocabulary = 400;
    CHECK(has(refusal(t), "/training/model/vocabulary: found 400, allowed at most 262"));
    CHECK(has(refusal(t), "yields 6 merges"));
  }
}

TEST_CASE("jargon is read where its package is installed, and named where it is not") {
  const Training t = training_on("jargon");
  try {
    corpus_text(t, "scenario.json", "/nowhere/jargon.txt.gz");
    FAIL("accepted");
  } catch (const BadInput& error) {
    CHECK(std::string(error.what()) ==
          "scenario.json: /training/corpus: found jargon, but no /nowhere/jargon.txt.gz: install "
          "Debian's package jargon-text");
  }
  if (std::filesystem::exists(kJargonPath)) {
    const std::string text = corpus_text(t, "");
    CHECK(text.size() > 1600000);
    CHECK(has(text.substr(0, 100), "The Jargon File"));
  } else {
    CHECK(has(refusal(t), "install Debian's package jargon-text"));
  }
}

TEST_CASE("a compressed text is unpacked, and refused when it ends too early") {
  const std::string text = corpus_text(training_on("kjv"), "").substr(0, 300000);
  const std::string path =
      (std::filesystem::temp_directory_path() / "skerry-corpus-packed.gz").string();
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0);
  gzclose(file);
  CHECK(corpus_text(training_on("jargon"), "", path) == text);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  CHECK_THROWS_AS(corpus_text(training_on("jargon"), "", path), BadInput);
  std::filesystem::remove(path);
}
