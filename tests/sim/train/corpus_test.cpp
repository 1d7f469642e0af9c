#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "sim/train/corpus.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

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

}  // namespace

TEST_CASE("the built-in text is the file, byte for byte") {
  const train::Corpus corpus = train::load_corpus(training_on("kjv"));
  CHECK(corpus.text.substr(0, 24) == "In the beginning God cre");
  CHECK(corpus.text.size() == 1048536);
  // ceil(0.05 · 1,048,536 = 52,426.8) held out.
  CHECK(corpus.training_bytes == 1048536 - 52427);
  CHECK(corpus.text.back() == '\n');
}

TEST_CASE("windows are inputs and the same one byte on") {
  const TextFile file("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
  Training t = training_on(file.path.string());
  t.held_out_share = 0.5;
  const train::Corpus corpus = train::load_corpus(t);
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

TEST_CASE("a corpus that cannot be used is bad input") {
  CHECK_THROWS_AS(train::load_corpus(training_on("/nowhere/text")), BadInput);
  CHECK_THROWS_AS(train::load_corpus(training_on("/tmp")), BadInput);
  {
    // 40 bytes, 5 % held out = 2 bytes: no window of 17.
    const TextFile file(std::string(40, 'a'));
    CHECK_THROWS_AS(train::load_corpus(training_on(file.path.string())), BadInput);
  }
  {
    const TextFile file(std::string(1000, 'a') + "\xff");
    CHECK_THROWS_AS(train::load_corpus(training_on(file.path.string())), BadInput);
  }
}
