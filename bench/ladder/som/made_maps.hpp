// Rows and units that the programs of this folder measure with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include <shoal/random/stream.hpp>

struct problem {
  std::size_t rows, columns, width, height;
  std::size_t units() const { return width * height; }
};

// Uniform in (0, 1), by place.
inline float uniform(std::size_t stream, std::size_t place) {
  return static_cast<float>(shoal::random::mix(place, stream) >> 40) * 0x1p-24f;
}

// Rows of noise, in a cube or about twenty centres.
inline void fill_rows(const problem& p, bool clustered, std::span<float> values) {
  const std::size_t count = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = p.rows * t / count; i < p.rows * (t + 1) / count; ++i) {
        const std::size_t centre = shoal::random::mix(i, 2) % 20;
        for (std::size_t j = 0; j < p.columns; ++j) {
          values[i * p.columns + j] =
              (clustered ? 4 * uniform(1, centre * p.columns + j) : 0) + uniform(0, i * p.columns + j);
        }
      }
    });
  }
}

// Units anywhere among uniform rows.
inline std::vector<double> make_units(const problem& p) {
  std::vector<double> units(p.units() * p.columns);
  for (std::size_t i = 0; i < units.size(); ++i) units[i] = static_cast<double>(uniform(3, i));
  return units;
}
