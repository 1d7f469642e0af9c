// The text that the trained model reads: bytes as tokens, the end of it held out.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/scenario/scenario.hpp"

namespace skerry::train {

struct Corpus {
  std::string text;
  std::size_t training_bytes = 0;  // text[0, training_bytes) is trained on, the rest is held out
};

// Reads training.corpus ("kjv" is part of the program). BadInput: no such file, a byte outside the
// vocabulary, or a part too short for one window of context + 1 bytes.
Corpus load_corpus(const Training& training);

// Start of held-out window i of n: evenly spread, first and last window touch the ends of the part.
std::size_t held_out_start(const Corpus& corpus, int context, int i, int n);

// inputs = text[start, start + T), targets the same one byte on. Requires start + T < text.size().
void fill_window(const Corpus& corpus, std::size_t start, std::span<std::int32_t> inputs,
                 std::span<std::int32_t> targets);

}  // namespace skerry::train
