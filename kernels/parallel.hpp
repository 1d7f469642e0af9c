// The only door to threads: oneTBB, or std::thread in builds with -Dthreads=std (thread sanitizer).
#pragma once

#include <functional>

namespace skerry::kernels {

// Runs body(i, worker) for i in [0, n), worker in [0, threads): each worker runs one i at a time,
// so per-worker workspaces need no lock. threads ≤ 1: serial, in order, and no thread library is
// touched. The first exception thrown by a body is rethrown. Never first called before a fork.
void parallel_for(int n, int threads, const std::function<void(int i, int worker)>& body);

}  // namespace skerry::kernels
