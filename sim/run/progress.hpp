// One line on stderr that says how far the work is and when it will be done.
#pragma once

#include <chrono>
#include <string>

#include "sim/base/how_far.hpp"

namespace skerry {

class ProgressLine {
 public:
  // Shown only on a terminal, without escape sequences.
  ProgressLine(std::string what, bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Share done, time spent and left, and where the run that told last is: date and loss.
  void update(const HowFar& now);

 private:
  void show(std::string text);

  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool shown_;
  std::size_t width_ = 0;  // of the longest line so far: blanks hide what is left of it
  Clock::time_point began_, last_;
};

std::string utc_now();       // "2024-05-01T12:00:00Z"
std::string this_machine();  // "Linux 6.1 x86_64, CPU name, 2 cores"
int usable_cores();

}  // namespace skerry
