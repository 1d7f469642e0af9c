#include "kernels/parallel.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using skerry::kernels::parallel_for;

TEST_CASE("every index once, workers within bounds and one at a time") {
  for (const int threads : {0, 1, 2, 3, 4, 16}) {
    for (const int n : {0, 1, 2, 7, 200}) {
      const auto slots = static_cast<std::size_t>(threads > 1 ? threads : 1);
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n)), busy(slots);
      std::atomic<int> wrong{0};
      parallel_for(n, threads, [&](int i, int worker) {
        if (worker < 0 || worker >= static_cast<int>(slots)) {
          wrong += 1;
          return;
        }
        std::atomic<int>& slot = busy[static_cast<std::size_t>(worker)];
        if (slot.fetch_add(1) != 0) wrong += 1;
        seen[static_cast<std::size_t>(i)] += 1;
        std::this_thread::yield();
        slot.fetch_sub(1);
      });
      CHECK(wrong == 0);
      for (const auto& s : seen)
        CHECK(s == 1);
    }
  }
}

TEST_CASE("one thread: in order, on the caller's thread") {
  std::vector<int> order;
  const auto caller = std::this_thread::get_id();
  parallel_for(5, 1, [&](int i, int worker) {
    CHECK(worker == 0);
    CHECK(std::this_thread::get_id() == caller);
    order.push_back(i);
  });
  CHECK(order == std::vector{0, 1, 2, 3, 4});
}

TEST_CASE("an exception in a body reaches the caller") {
  for (const int threads : {1, 4}) {
    CHECK_THROWS_WITH_AS(parallel_for(50, threads,
                                      [](int i, int) {
                                        if (i == 17) throw std::runtime_error("seventeen");
                                      }),
                         "seventeen", std::runtime_error);
  }
}
