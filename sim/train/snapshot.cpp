#include "sim/train/snapshot.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace skerry::train {

namespace {

constexpr std::string_view kFirst = "skerry snapshot/2\n";
constexpr std::string_view kAnyVersion = "skerry snapshot/";

template <class T>
std::string_view bytes_of(const T& x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

// Of all facts, in pieces of one size; the first line names the scenario, which differs in its
// training.
std::uint64_t facts_hash(const Tape& tape) {
  constexpr std::size_t kPiece = 1 << 16;
  std::uint64_t hash = 0;
  std::string waiting;
  const auto add = [&](std::string_view piece) {
    hash ^= hash64(piece);
    hash = hash64(bytes_of(hash));
  };
  bool behind_first = false;
  write_tape(tape, [&](std::string_view part) {
    if (!behind_first) {
      part.remove_prefix(std::min(part.size(), part.find('\n')));
      behind_first = !part.empty();
    }
    waiting += part;
    std::size_t at = 0;
    for (; waiting.size() - at >= kPiece; at += kPiece)
      add(std::string_view(waiting).substr(at, kPiece));
    waiting.erase(0, at);
  });
  add(waiting);
  return hash;
}

std::uint64_t settings_hash(const Scenario& scenario, int protocol, double horizon_steps,
                            const Trainer& trainer) {
  Training t = scenario.training;
  Protocol row = scenario.protocols.at(static_cast<std::size_t>(protocol));
  TrainingOfProtocol own = trainer.optimizers();
  double charged = scenario.charged.tokens_per_learner_step;
  std::uint64_t learners = scenario.learners.size();
  const Corpus& corpus = trainer.corpus();
  std::uint64_t parts = corpus.training_tokens;
  std::uint64_t text = hash64({reinterpret_cast<const char*>(corpus.tokens.data()),
                               corpus.tokens.size() * sizeof(kernels::Token)});
  Archive a;
  a(t.evaluation_windows, t.evaluations, t.warm_start_steps, t.gradient_shards, t.shards);
  for (InnerOptimizer* inner : {&own.inner, &t.warm_inner}) {
    a(inner->rate, inner->rate_rule, inner->final_rate_share, inner->warm_up_steps, inner->beta1,
      inner->beta2, inner->epsilon, inner->weight_decay, inner->clip_norm);
  }
  a(own.outer.rate, own.outer.momentum, own.merge_body, own.merge_embedding, own.wire,
    own.error_feedback, own.mixing_alpha);
  a(row.family, row.fragments, row.accumulate_steps, charged, learners, horizon_steps, parts, text);
  return hash64(a.take());
}

[[noreturn]] void refuse(const std::string& label, const std::string& what) {
  throw BadInput(label, "", what);
}

}  // namespace

Header header_of(const Scenario& scenario, int protocol, const Tape& tape, const Trainer& trainer) {
  const kernels::ModelShape& s = trainer.shape();
  return {tape.start.protocol,
          tape.start.seed,
          {s.L, s.C, s.H, s.T, s.V, s.B},
          facts_hash(tape),
          settings_hash(scenario, protocol, tape.start.horizon_steps, trainer)};
}

std::string snapshot_of(Header header, std::string state) {
  Archive a;
  a(header, state);
  std::string out = std::string(kFirst) + a.take();
  return out + std::string(bytes_of(hash64(out)));
}

std::string_view state_in(std::string_view snapshot, const std::string& label,
                          const Header& wanted) {
  if (!snapshot.starts_with(kAnyVersion)) refuse(label, "is no snapshot");
  if (!snapshot.starts_with(kFirst)) {
    refuse(label, "is a snapshot of another form, allowed " +
                      std::string(kFirst.substr(0, kFirst.size() - 1)));
  }
  const std::size_t end = snapshot.size() - std::min(snapshot.size(), sizeof(std::uint64_t));
  if (end < kFirst.size() || bytes_of(hash64(snapshot.substr(0, end))) != snapshot.substr(end)) {
    refuse(label, "is damaged: its bytes do not give the hash at its end");
  }
  Archive a(snapshot.substr(kFirst.size(), end - kFirst.size()), label);
  Header found;
  std::uint64_t size = 0;
  a(found, size);
  if (found.protocol != wanted.protocol || found.seed != wanted.seed) {
    refuse(label, fmt::format("is a snapshot of {}, seed {}; wanted {}, seed {}", found.protocol,
                              found.seed, wanted.protocol, wanted.seed));
  }
  if (found.shape != wanted.shape) {
    refuse(label, fmt::format("is a snapshot of another model: layers, width, heads, context, "
                              "vocabulary, batch are {}; wanted {}",
                              fmt::join(found.shape, ", "), fmt::join(wanted.shape, ", ")));
  }
  if (found.tape != wanted.tape) refuse(label, "is a snapshot of training on another tape");
  if (found.settings != wanted.settings) {
    refuse(label, "is a snapshot of training with other settings or another corpus");
  }
  if (size != a.left().size()) refuse(label, "is damaged: its state has another length");
  return a.left();
}

}  // namespace skerry::train
