// The slices that a learner computes with. A slice that was away, however short, is out of the mesh until
// the learner takes it back: it came back without state.
#pragma once

#include <utility>
#include <vector>

#include "sim/protocols/fleet.hpp"

namespace skerry {

// Reads the fleet's changes as they come: the cost of every call is the number of changes since the last.
class Mesh {
 public:
  Mesh() = default;
  // Every slice that is there joins.
  Mesh(const Fleet& fleet, int learner, int slices)
      : learner_(learner), read_(fleet.changes(learner).size()) {
    slots_.resize(static_cast<std::size_t>(slices));
    for (int slice = 0; slice < slices; ++slice) {
      if (fleet.slice_present(learner, slice)) came_back(slice);
    }
    adopt(fleet);
  }

  int size() const { return size_; }                      // slices that compute (broken ones included)
  int out() const { return static_cast<int>(slots_.size()) - size_; }

  // True when a slice of the mesh is away, or was since the last drop().
  bool note_losses(const Fleet& fleet) {
    read_changes(fleet);
    return broken();
  }
  bool broken() const { return !broken_.empty(); }

  // True when a slice is there that the mesh does not hold.
  bool anything_back(const Fleet& fleet) {
    read_changes(fleet);
    return back_ > 0;
  }

  void drop() {                                           // broken slices leave
    for (const int slice : std::exchange(broken_, {})) {
      Slot& slot = slots_[static_cast<std::size_t>(slice)];
      slot.place = Place::kOut;
      size_ -= 1;
      if (slot.present) add_returned(slice);
    }
  }
  void adopt(const Fleet& fleet) {                        // all slices that are there join
    read_changes(fleet);
    for (const int slice : std::exchange(returned_, {})) {
      Slot& slot = slots_[static_cast<std::size_t>(slice)];
      if (slot.place != Place::kOut || !slot.present) continue;
      slot.place = Place::kIn;
      size_ += 1;
      back_ -= 1;
    }
  }

 private:
  enum class Place : char { kOut, kIn, kBroken };
  struct Slot {
    Place place = Place::kOut;
    bool present = false;
  };

  void read_changes(const Fleet& fleet) {
    const auto& changes = fleet.changes(learner_);
    for (; read_ < changes.size(); ++read_) {
      if (changes[read_].present) {
        came_back(changes[read_].slice);
      } else {
        went_away(changes[read_].slice);
      }
    }
  }
  void went_away(int slice) {
    Slot& slot = slots_[static_cast<std::size_t>(slice)];
    if (slot.place == Place::kOut && slot.present) back_ -= 1;
    slot.present = false;
    if (slot.place != Place::kIn) return;
    slot.place = Place::kBroken;
    broken_.push_back(slice);
  }
  void came_back(int slice) {
    Slot& slot = slots_[static_cast<std::size_t>(slice)];
    slot.present = true;
    if (slot.place == Place::kOut) add_returned(slice);
  }
  void add_returned(int slice) {
    back_ += 1;
    returned_.push_back(slice);
  }

  std::vector<Slot> slots_;
  std::vector<int> broken_;    // slices in place kBroken
  std::vector<int> returned_;  // slices that were out and there at some time since the last adopt()
  int back_ = 0;               // of those, that are now
  int learner_ = 0, size_ = 0;
  std::size_t read_ = 0;       // changes of the fleet that are known
};

}  // namespace skerry
