// Rows that the programs of this folder measure with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include <shoal/random/stream.hpp>

struct shape {
  std::size_t rows, columns, clusters;
};

// Uniform within ±0.5, by place.
inline float uniform(std::size_t stream, std::size_t place) {
  return static_cast<float>(shoal::random::mix(place, stream) >> 40) * 0x1p-24f - 0.5f;
}

// Rows of noise, about centres within ±2 or about none.
inline std::vector<float> make_rows(const shape& s, bool clustered) {
  std::vector<float> values(s.rows * s.columns);
  const std::size_t count = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = s.rows * t / count; i < s.rows * (t + 1) / count; ++i) {
        const std::size_t centre = shoal::random::mix(i, 2) % s.clusters;
        for (std::size_t j = 0; j < s.columns; ++j) {
          values[i * s.columns + j] =
              (clustered ? 4 * uniform(1, centre * s.columns + j) : 0) + uniform(0, i * s.columns + j);
        }
      }
    });
  }
  threads.clear();
  return values;
}

// The first rows, as centroids.
inline std::vector<double> first_rows(const shape& s, const std::vector<float>& values) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(s.clusters * s.columns)};
}
