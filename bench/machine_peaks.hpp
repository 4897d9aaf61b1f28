// What this machine can do at best: the figures that a benchmark's are held against.
#pragma once

#include <cstddef>

namespace bench {

/// Float32 multiply-adds a second, in thousands of millions, of `threads` threads: chains in registers.
double multiply_add_peak(std::size_t threads);

/// Bytes a second, in thousands of millions, that `threads` threads read from an array of 256 MiB.
double read_bandwidth(std::size_t threads);

/// Seconds of the quickest of `repeats` runs of `body`.
template <class Body>
double quickest(std::size_t repeats, const Body& body);

}  // namespace bench

#include <chrono>

template <class Body>
double bench::quickest(std::size_t repeats, const Body& body) {
  double least = 1e300;
  for (std::size_t i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds < least) least = seconds;
  }
  return least;
}
