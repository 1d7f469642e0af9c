// snapshot.bin: a training that ended at stop_at_loss, to go on from.
//
// File: the line "skerry snapshot/2", then an Archive: whose it is (Header), the state as the
// replay of the family describes it, and 64 bits of hash over all bytes before them.
#pragma once

#include <string>
#include <string_view>

#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"
#include "sim/train/archive.hpp"
#include "sim/train/trainer.hpp"

namespace skerry::train {

// What must be the same when training goes on.
struct Header {
  std::string protocol;
  std::uint64_t seed = 0;
  std::vector<int> shape;      // L, C, H, T, V, B
  std::uint64_t tape = 0;      // hash of its facts
  std::uint64_t settings = 0;  // hash of all else that training reads, the corpus too
  void describe(Archive& a) { a(protocol, seed, shape, tape, settings); }
};

Header header_of(const Scenario& scenario, int protocol, const Tape& tape, const Trainer& trainer);

std::string snapshot_of(Header header, std::string state);

// The state's bytes, a part of `snapshot`. BadInput `label`: no snapshot, another version of its
// form, damaged, or of another protocol, seed, model, tape or settings than `wanted`.
std::string_view state_in(std::string_view snapshot, const std::string& label,
                          const Header& wanted);

}  // namespace skerry::train
