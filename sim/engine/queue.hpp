// The queue of the engine: events ordered by (date, sequence), cancelled by id. A 4-ary heap that
// knows where each event stands, so that a cancelled event leaves at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"

namespace skerry {

class EventQueue {
 public:
  struct Event {
    double date;
    Engine::Callback callback;
    void* context;
  };

  // An infinite date never comes: the event can only be cancelled, and is idle whatever `idle`
  // says.
  EventId push(double date, Engine::Callback callback, void* context, bool idle);
  void cancel(EventId id);  // harmless when it is gone

  bool empty() const { return heap_.empty(); }
  double first_date() const { return heap_.front().date; }  // requires !empty()
  Event pop();                                              // the first; requires !empty()
  std::size_t busy() const { return busy_; }                // events that are not idle

 private:
  struct Entry {
    double date;
    std::uint64_t sequence;
    std::size_t slot;
    bool before(const Entry& other) const {
      return date < other.date || (date == other.date && sequence < other.sequence);
    }
  };
  struct Slot {
    Engine::Callback callback = nullptr;
    void* context = nullptr;
    std::uint64_t sequence = 0;  // 0 = free
    std::size_t place = 0;       // in the heap; kNowhere = infinite date
    bool idle = false;
  };

  void free_slot(std::size_t slot);
  void remove_from_heap(std::size_t place);
  void rise(std::size_t place, Entry entry);
  void sink(std::size_t place, Entry entry);
  void put(std::size_t place, const Entry& entry);

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  std::uint64_t last_sequence_ = 0;
  std::size_t busy_ = 0;
};

}  // namespace skerry
