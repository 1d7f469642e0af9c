// Run folders: what may be written where, and writing so that nothing is ever half there.
#pragma once

#include <functional>
#include <string>

#include "sim/tape/tape.hpp"

namespace skerry {

std::string read_text(const std::string& path);  // BadInput when it cannot be read

void print(const std::string& text);  // to standard output; CannotGoOn when that is full or closed

// Makes folders on the way; std::runtime_error. write_parts: a text that `write` hands to the sink
// in parts.
void write_text(const std::string& path, const std::string& text);
void write_parts(const std::string& path, const std::function<void(const TapeSink&)>& write);

// The same for a file that the user asked for, by rename, so that nothing is half there. BadInput
// with the path and the reason.
void write_whole(const std::string& path, const std::function<void(const TapeSink&)>& write);

// What stands where a run is to be written. Anything but these: BadInput ("--out").
enum class Standing { kFree, kComplete, kIncomplete };  // complete: a run of the same scenario hash
Standing standing_at(const std::string& target, const std::string& hash);

// A folder beside the target that becomes it by rename, or vanishes.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& target);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // Replaces a run of the same hash that stands at the target by now; BadInput for anything else
  // there.
  void publish(const std::string& hash);

 private:
  std::string target_, path_;
};

}  // namespace skerry
