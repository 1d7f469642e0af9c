#include <map>
#include <optional>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "kernels/parallel.hpp"

namespace skerry::kernels {

void parallel_for(int n, int threads, const std::function<void(int i, int worker)>& body) {
  if (threads <= 1 || n <= 1) {
    for (int i = 0; i < n; ++i)
      body(i, 0);
    return;
  }
  // An arena alone gets no more workers than the machine has cores.
  std::optional<tbb::global_control> enough;
  if (threads > tbb::info::default_concurrency()) {
    enough.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  }
  // Kept: to make an arena and call its workers takes as long as a step of a small model.
  thread_local std::map<int, tbb::task_arena> arenas;
  arenas.try_emplace(threads, threads).first->second.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, n, 1),
        [&](const tbb::blocked_range<int>& range) {
          for (int i = range.begin(); i < range.end(); ++i) {
            body(i, tbb::this_task_arena::current_thread_index());
          }
        },
        tbb::simple_partitioner{});
  });
}

}  // namespace skerry::kernels
