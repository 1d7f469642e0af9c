// Windows on the text that the trained model reads. Its tokens are made by sim/scenario/corpus.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "sim/scenario/corpus.hpp"

namespace skerry::train {

// Finds, splits and tokenises training.corpus. BadInput as corpus_text and tokenised.
Corpus load_corpus(const Training& training);

// Start of held-out window i of n, a token: evenly spread, first and last window touch the ends of
// the part.
std::size_t held_out_start(const Corpus& corpus, int context, int i, int n);

// inputs = tokens[start, start + T), targets the same one token on. Requires start + T < their
// number.
void fill_window(const Corpus& corpus, std::size_t start, std::span<std::int32_t> inputs,
                 std::span<std::int32_t> targets);

// Bytes that the targets of held-out windows 0 … n − 1 stand for.
double held_out_bytes(const Corpus& corpus, int context, int n);

}  // namespace skerry::train
