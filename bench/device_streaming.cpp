// How fast rows stream to GPUs, and what a plain copy of page-locked memory reaches. Usage: device_streaming [GPUS].
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/cuda/device_rows.hpp>

namespace {

using clock_type = std::chrono::steady_clock;

// Gigabytes a second, the median of five.
double rate(std::size_t bytes, const std::function<void()>& copy) {
  std::vector<double> rates;
  for (int run = 0; run < 6; ++run) {
    const auto start = clock_type::now();
    copy();
    const double seconds = std::chrono::duration<double>(clock_type::now() - start).count();
    if (run > 0) rates.push_back(static_cast<double>(bytes) / seconds * 1e-9);
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t gpus = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  std::vector<int> devices;
  for (std::size_t g = 0; g < gpus; ++g) devices.push_back(static_cast<int>(g));
  shoal::cuda::device_group group(devices);
  constexpr std::size_t columns = 16, rows = std::size_t{1} << 26;
  constexpr std::size_t bytes = rows * columns * sizeof(float);
  shoal::cuda::pinned_buffer<float> pinned(rows * columns);
  std::fill_n(pinned.data(), rows * columns, 1.0F);
  shoal::aligned_buffer<float> pageable(rows * columns);
  std::fill_n(pageable.data(), rows * columns, 1.0F);

  const std::size_t part = bytes / gpus;
  std::vector<shoal::cuda::device_buffer<char>> targets;
  for (std::size_t g = 0; g < gpus; ++g) {
    const shoal::cuda::device_scope scope(devices[g]);
    targets.emplace_back(part);
  }
  const double plain = rate(part * gpus, [&] {
    for (std::size_t g = 0; g < gpus; ++g) {
      const shoal::cuda::device_scope scope(devices[g]);
      shoal::cuda::check(cudaMemcpyAsync(targets[g].data(), reinterpret_cast<char*>(pinned.data()) + g * part, part,
                                         cudaMemcpyHostToDevice, group[g].copy),
                         "copy");
    }
    group.synchronize();
  });
  std::printf("%zu GPUs: plain copy of page-locked memory %.1f GB/s\n", gpus, plain);

  const auto workers = shoal::make_threads(0);
  for (const bool locked : {true, false}) {
    const shoal::view_source<float> source({locked ? pinned.data() : pageable.data(), rows, columns});
    shoal::cuda::device_rows<float> on(group, {workers.get(), 0, {}}, {&source, nullptr, 1}, std::size_t{512} << 20);
    const double streamed = rate(bytes, [&] {
      on.for_each_piece([](std::size_t, const shoal::cuda::device_piece<float>&) {});
      group.synchronize();
    });
    std::printf("%zu GPUs: streamed from %s memory %.1f GB/s, %.2f of the plain copy\n", gpus,
                locked ? "page-locked" : "pageable", streamed, streamed / plain);
  }
  return 0;
}
