#include "sim/train/corpus.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "kjv_text.hpp"
#include "sim/base/error.hpp"

namespace skerry::train {

namespace {

constexpr std::size_t kLargestText = std::size_t{1} << 30;

std::string read_text(const Training& training) {
  if (training.corpus == "kjv") return std::string(kKjvText, sizeof(kKjvText) - 1);
  std::ifstream file(training.corpus, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) {
    throw BadInput(
        "", "/training/corpus",
        "found " + training.corpus_label + ", which cannot be read; allowed: kjv or a file");
  }
  if (static_cast<std::size_t>(size) > kLargestText) {
    throw BadInput("", "/training/corpus",
                   "found " + std::to_string(size) + " bytes in " + training.corpus_label +
                       "; allowed: at most " + std::to_string(kLargestText));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) {
    throw BadInput("", "/training/corpus", "cannot read " + training.corpus_label);
  }
  return text;
}

void check_vocabulary(const std::string& text, const Training& training) {
  int largest = 0;
  for (const char c : text)
    largest = std::max(largest, static_cast<int>(static_cast<unsigned char>(c)));
  if (largest < training.model.vocabulary) return;
  throw BadInput("", "/training/model/vocabulary",
                 "found " + std::to_string(training.model.vocabulary) +
                     "; allowed: more than the largest byte of the corpus, " +
                     std::to_string(largest));
}

}  // namespace

Corpus load_corpus(const Training& training) {
  Corpus corpus{read_text(training), 0};
  check_vocabulary(corpus.text, training);
  const double bytes = static_cast<double>(corpus.text.size());
  const std::size_t held_out = static_cast<std::size_t>(std::ceil(bytes * training.held_out_share));
  const std::size_t window = static_cast<std::size_t>(training.model.context) + 1;
  corpus.training_bytes = corpus.text.size() - std::min(held_out, corpus.text.size());
  if (corpus.training_bytes < window || held_out < window) {
    throw BadInput("", "/training/corpus",
                   "found " + std::to_string(corpus.training_bytes) + " bytes to train on and " +
                       std::to_string(held_out) + " held out; allowed: at least one window of " +
                       std::to_string(window) + " in each");
  }
  return corpus;
}

std::size_t held_out_start(const Corpus& corpus, int context, int i, int n) {
  const std::size_t room =
      corpus.text.size() - corpus.training_bytes - static_cast<std::size_t>(context) - 1;
  if (n < 2) return corpus.training_bytes;
  return corpus.training_bytes +
         room * static_cast<std::size_t>(i) / static_cast<std::size_t>(n - 1);
}

void fill_window(const Corpus& corpus, std::size_t start, std::span<std::int32_t> inputs,
                 std::span<std::int32_t> targets) {
  const char* text = corpus.text.data() + start;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = static_cast<unsigned char>(text[i]);
    targets[i] = static_cast<unsigned char>(text[i + 1]);
  }
}

}  // namespace skerry::train
