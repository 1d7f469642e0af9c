#include "sim/protocols/exchange.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace skerry {

namespace {

using Done = std::function<void(std::size_t)>;

Task<void> wire(Engine& engine, Network& network, Collective collective, double prepared) {
  if (prepared != engine.now()) {
    const double start = prepared + std::exchange(collective.lead_s, 0.0);
    if (start > engine.now()) co_await until(engine, start);
  }
  if (!collective.first.empty()) co_await network.collective(collective);
}

Task<void> merge(Engine& engine, double date, std::size_t k, const Done* done) {
  co_await until(engine, date);
  (*done)(k);
}

Task<void> in_turn(Engine& engine, Network& network, std::vector<PieceOnWire> pieces, Done done) {
  std::deque<Process> merges;
  double prepared = engine.now(), merged = engine.now();
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const PieceOnWire& piece = pieces[k];
    prepared = std::max(prepared, piece.ready) + piece.before_s;
    co_await wire(engine, network, piece.collective, prepared);
    merged = std::max(merged, engine.now()) + piece.behind_s;
    if (merged <= engine.now()) {
      done(k);
    } else if (k + 1 == pieces.size()) {
      co_await merge(engine, merged, k, &done);
    } else {
      merges.emplace_back(engine, "merge", merge(engine, merged, k, &done));
    }
  }
}

Task<void> by_itself(Engine& engine, Network& network, PieceOnWire piece, double prepared,
                     std::size_t k, const Done* done, double* merged) {
  co_await wire(engine, network, piece.collective, prepared);
  *merged = std::max(*merged, engine.now()) + piece.behind_s;
  co_await merge(engine, *merged, k, done);
}

Task<void> together(Engine& engine, Network& network, std::vector<PieceOnWire> pieces, Done done) {
  double prepared = engine.now(), merged = engine.now();
  std::vector<Task<void>> all;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    prepared = std::max(prepared, pieces[k].ready) + pieces[k].before_s;
    all.push_back(by_itself(engine, network, pieces[k], prepared, k, &done, &merged));
  }
  co_await all_of(engine, std::move(all));
}

}  // namespace

Task<void> send_pieces(Engine& engine, Network& network, std::vector<PieceOnWire> pieces, bool shared,
                       Done done) {
  return shared ? together(engine, network, std::move(pieces), std::move(done))
                : in_turn(engine, network, std::move(pieces), std::move(done));
}

}  // namespace skerry
