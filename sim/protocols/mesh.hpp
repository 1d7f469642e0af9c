// The slices that a learner computes with. A slice that was away, however short, is out of the mesh until
// the learner takes it back: it came back without state.
#pragma once

#include <vector>

#include "sim/protocols/fleet.hpp"

namespace skerry {

class Mesh {
 public:
  Mesh() = default;
  Mesh(const Fleet& fleet, int learner, int slices) : learner_(learner) {
    slots_.assign(static_cast<std::size_t>(slices), Slot::kOut);
    adopt(fleet);
  }

  int size() const { return size_; }                      // slices that compute (broken ones included)
  int out() const { return static_cast<int>(slots_.size()) - size_; }

  // Notes slices of the mesh that are away now. True when any is, or was since the last drop().
  bool note_losses(const Fleet& fleet) {
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (slots_[s] != Slot::kIn || fleet.slice_present(learner_, static_cast<int>(s))) continue;
      slots_[s] = Slot::kBroken;
      broken_ = true;
    }
    return broken_;
  }
  bool broken() const { return broken_; }

  // True when a slice is there that the mesh does not hold.
  bool anything_back(const Fleet& fleet) const {
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (slots_[s] == Slot::kOut && fleet.slice_present(learner_, static_cast<int>(s))) return true;
    }
    return false;
  }

  void drop() {                                           // broken slices leave
    for (Slot& slot : slots_) {
      if (slot != Slot::kBroken) continue;
      slot = Slot::kOut;
      size_ -= 1;
    }
    broken_ = false;
  }
  void adopt(const Fleet& fleet) {                        // all slices that are there join
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (slots_[s] != Slot::kOut || !fleet.slice_present(learner_, static_cast<int>(s))) continue;
      slots_[s] = Slot::kIn;
      size_ += 1;
    }
  }

 private:
  enum class Slot : char { kOut, kIn, kBroken };
  std::vector<Slot> slots_;
  int learner_ = 0, size_ = 0;
  bool broken_ = false;
};

}  // namespace skerry
