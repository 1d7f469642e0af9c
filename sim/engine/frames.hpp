// Memory of coroutine frames: a list of freed blocks per size, as tasks of few sizes come and go by
// the hundred thousand. A thread has its own; blocks are kept until it ends.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace skerry::frames {

inline constexpr std::size_t kGrain = 64;
inline constexpr std::size_t kLists = 32;  // larger frames go to operator new

struct Block {
  Block* next;
};

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kReuse = false;  // a freed frame that is touched must be seen
#else
inline constexpr bool kReuse = true;
#endif

inline Block*& list_of(std::size_t bytes) {
  static thread_local std::array<Block*, kLists> lists{};
  return lists[(bytes - 1) / kGrain];
}

inline bool is_listed(std::size_t bytes) {
  return kReuse && bytes <= kGrain * kLists;
}

inline void* take(std::size_t bytes) {
  if (!is_listed(bytes)) return ::operator new(bytes);
  Block*& first = list_of(bytes);
  if (first == nullptr) return ::operator new((bytes + kGrain - 1) / kGrain * kGrain);
  void* block = first;
  first = first->next;
  return block;
}

inline void give_back(void* frame, std::size_t bytes) noexcept {
  if (!is_listed(bytes)) return ::operator delete(frame);
  Block*& first = list_of(bytes);
  first = new (frame) Block{first};
}

}  // namespace skerry::frames
