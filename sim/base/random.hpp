// Counter-based random streams. Draw i of a stream is a pure function of (seed, purpose, index, i): no
// draw depends on the order in which others were made, so runs that share a purpose share its draws.
// Distributions are our own (inverse transforms on a 53-bit uniform): the same bits on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace skerry {

class RandomStream {
 public:
  // `purpose` names the use ("faults.chips/west"), `index` the entity (a global slice index).
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t index);

  std::uint64_t bits();              // next 64 random bits
  double uniform();                  // in (0, 1): never 0, never 1
  double exponential();              // mean 1
  double normal();                   // mean 0, deviation 1 (inverse transform, one uniform a draw)
  std::uint64_t below(std::uint64_t n);  // uniform in [0, n), n ≥ 1; unbiased

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// A 64-bit hash that is the same on every machine (xxHash64); `text` may hold any bytes.
std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0);

// The same hash (seed 0) over text that comes in parts.
class Hash64 {
 public:
  Hash64();
  ~Hash64();
  Hash64(const Hash64&) = delete;
  Hash64& operator=(const Hash64&) = delete;
  void update(std::string_view part);
  std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skerry
