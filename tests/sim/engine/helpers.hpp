// Coroutines that several tests of this folder use.
#pragma once

#include <fmt/format.h>
#include <string>

#include "sim/engine/process.hpp"

namespace skerry {

inline Task<void> stop_at(Engine& engine, double date) {
  co_await until(engine, date);
  engine.stop();
}

inline Task<void> wait_until(Engine& engine, double date) {
  co_await until(engine, date);
}

inline Task<void> receive(Channel<int>& channel, int n, std::string* out, std::string tag) {
  for (int i = 0; i < n; ++i)
    *out += fmt::format("{}{} ", tag, co_await channel.next());
}

}  // namespace skerry
