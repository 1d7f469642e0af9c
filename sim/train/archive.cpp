#include "sim/train/archive.hpp"

#include "sim/base/error.hpp"

namespace skerry::train {

void Archive::raw(void* at, std::size_t bytes) {
  if (bytes == 0) return;
  if (!reads_) {
    written_.append(static_cast<const char*>(at), bytes);
    return;
  }
  if (bytes > left_.size()) cut();
  std::memcpy(at, left_.data(), bytes);
  left_.remove_prefix(bytes);
}

void Archive::cut() const {
  throw BadInput(label_, "", "is no whole snapshot: it ends too early");
}

void Archive::end() const {
  if (!left_.empty()) throw BadInput(label_, "", "is no snapshot: bytes follow its end");
}

}  // namespace skerry::train
