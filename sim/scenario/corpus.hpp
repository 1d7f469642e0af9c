// The text that the trained model reads: found, cut into a part to train on and a held-out end, and
// turned into tokens. `check` and the replay use the same functions, so that what one accepts the
// other can use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

// training.corpus "kjv" is part of the program; "jargon" is read from Debian's package jargon-text.
inline constexpr const char* kJargonPath = "/usr/share/doc/jargon-text/jargon.txt.gz";

struct Corpus {
  // Of the part to train on, then of the held-out part: no token stands in both, and the merges
  // were learned on the first part alone.
  std::vector<kernels::Token> tokens;
  std::size_t training_tokens = 0;  // tokens[0, training_tokens) are trained on
  std::vector<int> bytes_of;        // bytes that a token id stands for
  double held_out_bytes_per_token = 1.0;
};

// The whole text. BadInput (label, /training/corpus): no such file, not a regular file, unreadable,
// more than 256 MiB; "jargon" when its package is not installed (`jargon_path` is not there).
std::string corpus_text(const Training& training, const std::string& label,
                        const std::string& jargon_path = kJargonPath);

// The last ceil(held_out_share × bytes) are held out. Merges are learned on the first 16 MiB of the
// part to train on. BadInput: a part shorter than one window (context + 1 tokens), fewer merges in
// the text than the vocabulary asks for, a token outside the vocabulary; each with both numbers.
Corpus tokenised(std::string_view text, const Training& training, const std::string& label);

// Part `learner` of `learners` of the tokens to train on, [first, second), as training.shards says.
// Requires check_shards.
std::pair<std::size_t, std::size_t> shard_of(const Corpus& corpus, const Training& training,
                                             std::size_t learner, std::size_t learners);

// BadInput (label, /training/shards) when a contiguous shard is shorter than one window.
void check_shards(std::size_t training_tokens, const Training& training, std::size_t learners,
                  const std::string& label);

// Refuses what tokenised and check_shards would refuse; without a pass over the text when tokens
// are its bytes.
void check_corpus(std::string_view text, const Training& training, std::size_t learners,
                  const std::string& label);

}  // namespace skerry
