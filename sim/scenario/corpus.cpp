#include "sim/scenario/corpus.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <zlib.h>

#include "kjv_text.hpp"
#include "sim/base/error.hpp"
#include "sim/scenario/parse.hpp"

namespace skerry {

namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::size_t kLearnedBytes = std::size_t{16} << 20;

std::string jargon_text(const std::string& label, const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw BadInput(label, "/training/corpus",
                   "found jargon, but no " + path + ": install Debian's package jargon-text");
  }
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string text;
  std::vector<char> part(1 << 16);
  int got = file ? 1 : -1;
  while (got > 0 && text.size() <= kMostBytes) {
    got = gzread(file.get(), part.data(), static_cast<unsigned>(part.size()));
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  // A file that ends too early reads as far as it goes; its state alone tells.
  int state = Z_OK;
  if (got == 0) gzerror(file.get(), &state);
  if (got != 0 || state != Z_OK) {
    throw BadInput(label, "/training/corpus", "'" + path + "' cannot be read");
  }
  return text;
}

class Splitter {
 public:
  Splitter(std::string_view text, const Training& training, const std::string& label)
      : training_(training), label_(label) {
    const double bytes = static_cast<double>(text.size());
    const auto held_out = static_cast<std::size_t>(std::ceil(bytes * training.held_out_share));
    first_ = text.substr(0, text.size() - std::min(held_out, text.size()));
    held_out_ = text.substr(first_.size());
  }

  std::size_t training_bytes() const { return first_.size(); }

  void check_bytes() const { check_parts(first_.size(), held_out_.size(), "bytes"); }

  Corpus split() const {
    check_bytes();
    const int asked = training_.model.vocabulary;
    const auto tokenizer = kernels::Tokenizer::learn(first_.substr(0, kLearnedBytes),
                                                     std::max(asked, kernels::kByteTokens));
    if (tokenizer.vocabulary() < asked) {
      refuse("/training/model/vocabulary",
             "found " + std::to_string(asked) + ", allowed at most " +
                 std::to_string(tokenizer.vocabulary()) + ": the part of " +
                 training_.corpus_label + " to train on yields " +
                 std::to_string(tokenizer.vocabulary() - kernels::kByteTokens) +
                 " merges of pairs that stand there twice");
    }
    Corpus corpus;
    corpus.tokens = tokenizer.encode(first_);
    corpus.training_tokens = corpus.tokens.size();
    const std::vector<kernels::Token> end = tokenizer.encode(held_out_);
    corpus.tokens.insert(corpus.tokens.end(), end.begin(), end.end());
    check_parts(corpus.training_tokens, end.size(), "tokens");
    check_ids(corpus.tokens);
    for (int id = 0; id < tokenizer.vocabulary(); ++id) {
      corpus.bytes_of.push_back(
          static_cast<int>(tokenizer.bytes(static_cast<kernels::Token>(id)).size()));
    }
    corpus.held_out_bytes_per_token =
        static_cast<double>(held_out_.size()) / static_cast<double>(end.size());
    return corpus;
  }

 private:
  [[noreturn]] void refuse(const char* pointer, const std::string& message) const {
    throw BadInput(label_, pointer, message);
  }

  void check_parts(std::size_t first, std::size_t held_out, const std::string& unit) const {
    const std::size_t window = static_cast<std::size_t>(training_.model.context) + 1;
    if (first >= window && held_out >= window) return;
    refuse("/training/corpus", "found " + training_.corpus_label + " with " +
                                   std::to_string(first) + " " + unit + " to train on and " +
                                   std::to_string(held_out) +
                                   " held out; allowed: at least one window of " +
                                   std::to_string(window) + " tokens (context + 1) in either part");
  }

  void check_ids(const std::vector<kernels::Token>& tokens) const {
    const int largest = *std::max_element(tokens.begin(), tokens.end());
    if (largest < training_.model.vocabulary) return;
    refuse("/training/model/vocabulary",
           "found " + std::to_string(training_.model.vocabulary) +
               ", allowed more than the largest byte of the corpus, " + std::to_string(largest));
  }

  const Training& training_;
  const std::string& label_;
  std::string_view first_, held_out_;
};

}  // namespace

std::string corpus_text(const Training& training, const std::string& label,
                        const std::string& jargon_path) {
  if (training.corpus == "kjv") return std::string(kKjvText, sizeof(kKjvText) - 1);
  if (training.corpus == "jargon") return jargon_text(label, jargon_path);
  return reader::read_bounded_file(training.corpus, kMostBytes, label, "/training/corpus");
}

Corpus tokenised(std::string_view text, const Training& training, const std::string& label) {
  return Splitter(text, training, label).split();
}

std::pair<std::size_t, std::size_t> shard_of(const Corpus& corpus, const Training& training,
                                             std::size_t learner, std::size_t learners) {
  if (training.shards == Shards::kIid) return {0, corpus.training_tokens};
  return {corpus.training_tokens * learner / learners,
          corpus.training_tokens * (learner + 1) / learners};
}

void check_shards(std::size_t training_tokens, const Training& training, std::size_t learners,
                  const std::string& label) {
  const std::size_t window = static_cast<std::size_t>(training.model.context) + 1;
  if (training.shards == Shards::kIid || training_tokens / learners >= window) return;
  throw BadInput(label, "/training/shards",
                 "found " + training.corpus_label + " with " + std::to_string(training_tokens) +
                     " tokens to train on for " + std::to_string(learners) +
                     " contiguous shards; allowed: at least one window of " +
                     std::to_string(window) + " tokens (context + 1) in each, " +
                     std::to_string(window * learners) + " in all");
}

void check_corpus(std::string_view text, const Training& training, std::size_t learners,
                  const std::string& label) {
  const Splitter splitter(text, training, label);
  if (training.model.vocabulary == kernels::kByteTokens) {
    splitter.check_bytes();
    check_shards(splitter.training_bytes(), training, learners, label);
  } else {
    check_shards(splitter.split().training_tokens, training, learners, label);
  }
}

}  // namespace skerry
