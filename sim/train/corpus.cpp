#include "sim/train/corpus.hpp"

namespace skerry::train {

Corpus load_corpus(const Training& training) {
  return tokenised(corpus_text(training, ""), training, "");
}

std::size_t held_out_start(const Corpus& corpus, int context, int i, int n) {
  const std::size_t room =
      corpus.tokens.size() - corpus.training_tokens - static_cast<std::size_t>(context) - 1;
  if (n < 2) return corpus.training_tokens;
  return corpus.training_tokens +
         room * static_cast<std::size_t>(i) / static_cast<std::size_t>(n - 1);
}

void fill_window(const Corpus& corpus, std::size_t start, std::span<std::int32_t> inputs,
                 std::span<std::int32_t> targets) {
  const kernels::Token* tokens = corpus.tokens.data() + start;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = tokens[i];
    targets[i] = tokens[i + 1];
  }
}

double held_out_bytes(const Corpus& corpus, int context, int n) {
  double bytes = 0.0;
  for (int window = 0; window < n; ++window) {
    const std::size_t start = held_out_start(corpus, context, window, n);
    for (std::size_t i = start + 1; i <= start + static_cast<std::size_t>(context); ++i) {
      bytes += corpus.bytes_of[corpus.tokens[i]];
    }
  }
  return bytes;
}

}  // namespace skerry::train
