#include "sim/engine/queue.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/units.hpp"

namespace skerry {

namespace {
constexpr std::size_t kArity = 4;
constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
}  // namespace

EventId EventQueue::push(double date, Engine::Callback callback, void* context, bool idle) {
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::size_t slot = free_.back();
  free_.pop_back();
  last_sequence_ += 1;
  const bool never = date == kNever;
  slots_[slot] = Slot{callback, context, last_sequence_, kNowhere, idle || never};
  if (!slots_[slot].idle) busy_ += 1;
  if (!never) {
    heap_.emplace_back();
    rise(heap_.size() - 1, Entry{date, last_sequence_, slot});
  }
  return EventId{slot, last_sequence_};
}

void EventQueue::cancel(EventId id) {
  if (!id || slots_[id.slot].sequence != id.generation) return;
  const std::size_t place = slots_[id.slot].place;
  if (place != kNowhere) remove_from_heap(place);
  free_slot(id.slot);
}

EventQueue::Event EventQueue::pop() {
  const Entry first = heap_.front();
  const Event event{first.date, slots_[first.slot].callback, slots_[first.slot].context};
  remove_from_heap(0);
  free_slot(first.slot);
  return event;
}

void EventQueue::free_slot(std::size_t slot) {
  if (!slots_[slot].idle) busy_ -= 1;
  slots_[slot].sequence = 0;
  free_.push_back(slot);
}

void EventQueue::remove_from_heap(std::size_t place) {
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  if (last.before(heap_[place])) {
    rise(place, last);
  } else {
    sink(place, last);
  }
}

void EventQueue::rise(std::size_t place, Entry entry) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / kArity;
    if (!entry.before(heap_[parent])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, entry);
}

void EventQueue::sink(std::size_t place, Entry entry) {
  for (;;) {
    const std::size_t first = place * kArity + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + kArity, heap_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap_[child].before(heap_[least])) least = child;
    }
    if (!heap_[least].before(entry)) break;
    put(place, heap_[least]);
    place = least;
  }
  put(place, entry);
}

void EventQueue::put(std::size_t place, const Entry& entry) {
  heap_[place] = entry;
  slots_[entry.slot].place = place;
}

}  // namespace skerry
