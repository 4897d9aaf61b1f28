#include <shoal/execution/automatic_device.hpp>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/devices.hpp>

namespace shoal {
namespace {

// Of one thread, float32: iterations of full mixtures and of k-means on two threads of an AMD EPYC with AVX-512
// (docs/performance.md) do between 21e9 and 39e9 multiply-adds a second on each, and read 8e9 bytes a second on each
// where they do little else.
constexpr double host_multiply_adds = 25e9;
constexpr double host_bytes = 8e9;

// Of an NVIDIA H200 with 16 host threads. A fit of 272 x 2 rows, which computes nothing to speak of, takes 0.12 s;
// pageable memory goes over the bus at 45e9 bytes a second; an iteration of 2^20 x 32 rows and 64 components in 2.85 ms
// is 24e12 multiply-adds a second, of which smaller problems reach less.
constexpr double start_seconds = 0.12;
constexpr double bus_bytes = 45e9;
constexpr double device_multiply_adds = 8e12;

// A share of a GPU's memory that rows may take when none was named.
constexpr double usual_share = 0.8;

std::string duration(double seconds) {
  return seconds < 0.01 ? std::string("less than 0.01 s") : fmt::format("about {:.2g} s", seconds);
}

}  // namespace

estimated_work& estimated_work::operator+=(const estimated_work& more) {
  multiply_adds += more.multiply_adds;
  bytes = std::max(bytes, more.bytes);
  passes += more.passes;
  return *this;
}

double estimated_host_seconds(const estimated_work& work, std::size_t threads) {
  const auto workers = static_cast<double>(threads);
  return std::max(work.multiply_adds / host_multiply_adds, work.passes * work.bytes / host_bytes) / workers;
}

double estimated_device_seconds(const estimated_work& work, double memory) {
  const double copies = work.bytes <= memory ? 1 : work.passes;
  return start_seconds + copies * work.bytes / bus_bytes + work.multiply_adds / device_multiply_adds;
}

automatic_device choose_automatically(const estimated_work& work, std::size_t threads, std::size_t device_memory) {
  const double on_host = estimated_host_seconds(work, threads);
  const std::string host = fmt::format("{} with {} thread{}", duration(on_host), threads, threads == 1 ? "" : "s");
  if (on_host <= start_seconds)
    return {{{}, device_memory}, fmt::format("{}; a GPU takes {} s to start", host, start_seconds)};
  try {
    const std::vector<device> present = cuda_devices();
    if (present.empty()) return {{{}, device_memory}, "no CUDA device"};
    const device& first = present.front();
    const double memory =
        device_memory != 0 ? static_cast<double>(device_memory) : usual_share * static_cast<double>(first.memory_bytes);
    const double there = estimated_device_seconds(work, memory);
    const std::string both = fmt::format("{}, {} on {}", host, duration(there), first.name);
    if (there < on_host) return {{{first.index}, device_memory}, both, true};
    return {{{}, device_memory}, both, true};
  } catch (const not_built& failure) {
    return {{{}, device_memory}, failure.what()};
  } catch (const error& failure) {
    // A driver is there, and cannot serve.
    return {{{}, device_memory}, failure.what(), true};
  }
}

}  // namespace shoal
