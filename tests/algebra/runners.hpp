// A runner that does the tasks of a reduction in a strange order.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

/// Runs tasks on threads, last task first.
struct backwards_on_threads {
  std::size_t threads;
  template <class Task>
  void operator()(std::size_t count, const Task& task) const {
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> pool;
    for (std::size_t t = 0; t < threads; ++t) {
      pool.emplace_back([&] {
        for (std::size_t i = next++; i < count; i = next++) task(count - 1 - i);
      });
    }
  }
};
