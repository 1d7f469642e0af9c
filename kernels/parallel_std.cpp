#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/parallel.hpp"

namespace skerry::kernels {

void parallel_for(int n, int threads, const std::function<void(int i, int worker)>& body) {
  if (threads <= 1 || n <= 1) {
    for (int i = 0; i < n; ++i)
      body(i, 0);
    return;
  }
  std::atomic<int> next{0};
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&](int worker) {
    try {
      for (int i = next++; i < n; i = next++)
        body(i, worker);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = n;
    }
  };
  {
    std::vector<std::jthread> crew;
    for (int w = 1; w < threads && w < n; ++w)
      crew.emplace_back(work, w);
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace skerry::kernels
