#include "sim/run/progress.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>

namespace skerry {

ProgressLine::ProgressLine(std::string what, bool quiet)
    : what_(std::move(what)), shown_(!quiet && isatty(STDERR_FILENO) == 1), began_(Clock::now()) {}

ProgressLine::~ProgressLine() {
  if (shown_) show("");
}

// One line of the terminal, however narrow: a line that wraps would not be overwritten.
void ProgressLine::show(std::string text) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    const std::size_t room = size.ws_col - 1u;
    if (text.size() > room) text.resize(room);
    width_ = std::min(width_, room);
  }
  fmt::print(stderr, "\r{:<{}}{}", text, width_, text.empty() ? "\r" : "");
  width_ = std::max(width_, text.size());
  std::fflush(stderr);
}

void ProgressLine::update(const HowFar& now) {
  const Clock::time_point date = Clock::now();
  if (!shown_ || date - last_ < std::chrono::milliseconds(200)) return;
  last_ = date;
  const double spent = std::chrono::duration<double>(date - began_).count();
  const double share = now.share;
  const std::string left =
      share > 0.01 ? fmt::format(", about {:.0f} s left", spent * (1 - share) / share) : "";
  const std::string at =
      now.simulated_s > 0 ? fmt::format("; simulated {:.2f} h", now.simulated_s / 3600) : "";
  const std::string loss = now.loss ? fmt::format(", loss {:.3f}", *now.loss) : "";
  show(fmt::format("{}: {:.0f} %, {:.0f} s{}{}{}", what_, 100 * share, spent, left, at, loss));
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string this_machine() {
  utsname name{};
  uname(&name);
  std::string processor;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; processor.empty() && std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      processor = line.substr(colon + 2) + ", ";
    }
  }
  return fmt::format("{} {} {}, {}{} cores", name.sysname, name.release, name.machine, processor,
                     usable_cores());
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace skerry
