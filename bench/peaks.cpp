// What this machine can do at most: fused multiply-adds from registers, and bytes from memory. Prints one JSON object.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "multiply_add_peak.hpp"

namespace {

// Far more than any cache: 256 MiB a thread.
constexpr std::size_t words = std::size_t{32} << 20;

struct bandwidth {
  double read = 0;  ///< bytes a second
  double copy = 0;  ///< bytes a second, read and written
};

template <class Work>
double best_seconds(std::size_t threads, const Work& work) {
  double best = 1e300;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> pool;
      for (std::size_t t = 0; t < threads; ++t) pool.emplace_back([&, t] { work(t); });
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds < best) best = seconds;
  }
  return best;
}

bandwidth memory_bandwidth(std::size_t threads) {
  std::vector<std::unique_ptr<std::uint64_t[]>> from(threads);
  std::vector<std::unique_ptr<std::uint64_t[]>> to(threads);
  std::vector<std::uint64_t> sums(threads * 8);
  for (std::size_t t = 0; t < threads; ++t) {
    from[t] = std::make_unique<std::uint64_t[]>(words);
    to[t] = std::make_unique<std::uint64_t[]>(words);
    for (std::size_t i = 0; i < words; ++i) from[t][i] = i;
  }
  bandwidth result;
  const double bytes = static_cast<double>(threads * words * sizeof(std::uint64_t));
  result.read = bytes / best_seconds(threads, [&](std::size_t t) {
                  // Eight sums, so that the additions never wait for each other.
                  std::uint64_t partial[8] = {};
                  for (std::size_t i = 0; i < words; i += 8)
                    for (std::size_t j = 0; j < 8; ++j) partial[j] += from[t][i + j];
                  for (const std::uint64_t sum : partial) sums[8 * t] += sum;
                });
  result.copy = 2 * bytes / best_seconds(threads, [&](std::size_t t) {
                  std::memcpy(to[t].get(), from[t].get(), words * sizeof(std::uint64_t));
                });
  // The sums are used, so that no compiler leaves the reading out.
  if (sums[0] == 1 || to[0][1] != 1) std::abort();
  return result;
}

}  // namespace

int main() {
  const std::size_t most = std::thread::hardware_concurrency();
  std::printf("[");
  for (std::size_t threads = 1; threads <= most; threads *= 2) {
    const bandwidth memory = memory_bandwidth(threads);
    std::printf(
        "%s{\"threads\": %zu, \"float32_multiply_adds\": %.4g, \"float64_multiply_adds\": %.4g, \"read_bytes\": %.4g, "
        "\"copy_bytes\": %.4g}",
        threads == 1 ? "" : ", ", threads, 1e9 * bench::multiply_add_peak(threads, true),
        1e9 * bench::multiply_add_peak(threads, false), memory.read, memory.copy);
  }
  std::printf("]\n");
}
