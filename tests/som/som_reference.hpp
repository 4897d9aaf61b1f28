// Self-organizing maps written for clarity: float64, one loop after another. What the kernels are held against.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>

namespace som_reference {

namespace som = shoal::som;

inline constexpr som::metric metrics[] = {som::metric::euclidean, som::metric::taxicab, som::metric::cosine,
                                          som::metric::chebyshev};
inline constexpr som::neighborhood neighborhoods[] = {som::neighborhood::gaussian, som::neighborhood::bubble,
                                                      som::neighborhood::mexican_hat, som::neighborhood::triangle};

/// Uniform numbers in (0, 1) that need no library: a linear congruential generator (Knuth's MMIX constants).
class uniform {
 public:
  explicit uniform(std::uint64_t seed) : state_(seed * 2 + 1) {}
  double operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (static_cast<double>(state_ >> 11) + 0.5) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

/// A matrix of its own, row-major without gaps.
template <class Scalar>
struct table {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<Scalar> values;
  shoal::matrix_view<const Scalar> view() const { return {values.data(), rows, columns}; }
};

/// Normal numbers about five centres.
template <class Scalar>
table<Scalar> clouds(std::size_t rows, std::size_t columns, double offset = 0, std::uint64_t seed = 1) {
  uniform u(seed);
  table<Scalar> made{rows, columns, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double normal = std::sqrt(-2 * std::log(u())) * std::cos(6.283185307179586 * u());
      made.values.push_back(static_cast<Scalar>(offset + 2 * static_cast<double>((i * 7 + j * (i % 3)) % 5) + normal));
    }
  }
  return made;
}

/// Where a unit stands.
inline std::array<double, 2> position(const som::model& map, std::size_t unit) {
  const auto row = static_cast<double>(unit / map.width), column = static_cast<double>(unit % map.width);
  if (map.lattice == som::lattice::rectangular) return {column, row};
  return {column + (unit / map.width % 2 != 0 ? 0.5 : 0.0), row * std::sqrt(3.0) / 2};
}

/// The distance of two units on the lattice: to the nearest of nine images on a torus.
inline double lattice_distance(const som::model& map, std::size_t a, std::size_t b) {
  const auto from = position(map, a), to = position(map, b);
  const double high = map.lattice == som::lattice::rectangular ? 1.0 : std::sqrt(3.0) / 2;
  double least = std::numeric_limits<double>::infinity();
  for (int across = -1; across <= 1; ++across) {
    for (int down = -1; down <= 1; ++down) {
      if (!map.toroidal && (across != 0 || down != 0)) continue;
      const double x = to[0] - from[0] + across * static_cast<double>(map.width);
      const double y = to[1] - from[1] + down * static_cast<double>(map.height) * high;
      least = std::min(least, std::sqrt(x * x + y * y));
    }
  }
  return least;
}

inline double distance(som::metric metric, const double* x, const double* w, std::size_t columns) {
  double sum = 0, most = 0, product = 0, xx = 0, ww = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const double difference = std::abs(x[j] - w[j]);
    most = std::max(most, difference);
    sum += metric == som::metric::euclidean ? difference * difference : difference;
    product += x[j] * w[j];
    xx += x[j] * x[j];
    ww += w[j] * w[j];
  }
  switch (metric) {
    case som::metric::euclidean:
      return std::sqrt(sum);
    case som::metric::taxicab:
      return sum;
    case som::metric::chebyshev:
      return most;
    case som::metric::cosine:
      break;
  }
  return xx > 0 && ww > 0 ? 1 - product / (std::sqrt(xx) * std::sqrt(ww)) : 1;
}

inline double h(som::neighborhood kind, double distance, double radius, double cutoff) {
  if (radius == 0) return distance == 0 ? 1 : 0;
  if (cutoff > 0 && distance > cutoff * radius + 1e-12) return 0;
  const double ratio = distance / radius;
  switch (kind) {
    case som::neighborhood::gaussian:
      return std::exp(-ratio * ratio / 2);
    case som::neighborhood::bubble:
      return distance <= radius + 1e-12 ? 1 : 0;
    case som::neighborhood::mexican_hat:
      return (1 - ratio * ratio) * std::exp(-ratio * ratio / 2);
    case som::neighborhood::triangle:
      break;
  }
  return std::max(0.0, 1 - ratio);
}

struct matched {
  std::vector<std::int32_t> best, second;
  std::vector<double> distances;
};

template <class Scalar>
matched match(const som::model& map, shoal::matrix_view<const Scalar> rows) {
  matched found;
  std::vector<double> row(map.columns);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    for (std::size_t j = 0; j < map.columns; ++j) row[j] = static_cast<double>(rows(i, j));
    std::vector<std::pair<double, std::int32_t>> all;
    for (std::size_t u = 0; u < map.units(); ++u) {
      all.push_back({distance(map.metric, row.data(), map.codebook.data() + u * map.columns, map.columns),
                     static_cast<std::int32_t>(u)});
    }
    std::partial_sort(all.begin(), all.begin() + (all.size() > 1 ? 2 : 1), all.end());
    found.best.push_back(all[0].second);
    found.distances.push_back(all[0].first);
    found.second.push_back(all.size() > 1 ? all[1].second : -1);
  }
  return found;
}

/// One epoch of batch training as the door states it, with the units that the rows match given.
template <class Scalar>
std::vector<double> batch_epoch(const som::model& map, shoal::matrix_view<const Scalar> rows,
                                const std::vector<std::int32_t>& best, const std::vector<Scalar>* weights,
                                som::neighborhood kind, double radius, double cutoff) {
  const std::size_t units = map.units(), columns = map.columns;
  std::vector<double> counts(units), sums(units * columns);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const double weight = weights == nullptr ? 1.0 : static_cast<double>((*weights)[i]);
    const auto u = static_cast<std::size_t>(best[i]);
    counts[u] += weight;
    for (std::size_t j = 0; j < columns; ++j) sums[u * columns + j] += weight * static_cast<double>(rows(i, j));
  }
  std::vector<double> next = map.codebook;
  for (std::size_t i = 0; i < units; ++i) {
    std::vector<double> step(columns);
    double pull = 0;
    for (std::size_t j = 0; j < units; ++j) {
      const double value = h(kind, lattice_distance(map, i, j), radius, cutoff);
      pull += std::abs(value) * counts[j];
      for (std::size_t c = 0; c < columns; ++c) {
        step[c] += value * (sums[j * columns + c] - counts[j] * map.codebook[i * columns + c]);
      }
    }
    if (pull < 1e-290) continue;
    for (std::size_t c = 0; c < columns; ++c) next[i * columns + c] += step[c] / pull;
  }
  return next;
}

/// A map of random weights among the rows of clouds().
inline som::model random_map(std::size_t width, std::size_t height, std::size_t columns, som::lattice lattice,
                             bool toroidal, som::metric metric = som::metric::euclidean, double offset = 0,
                             std::uint64_t seed = 7) {
  uniform u(seed);
  som::model map{width, height, columns, lattice, toroidal, metric, {}, {}};
  for (std::size_t i = 0; i < map.units() * columns; ++i) map.codebook.push_back(offset - 1 + 10 * u());
  return map;
}

/// Options that continue from a map.
inline som::options options_from(const som::model& map) {
  som::options options;
  options.width = map.width;
  options.height = map.height;
  options.lattice = map.lattice;
  options.toroidal = map.toroidal;
  options.metric = map.metric;
  options.init = som::initialization::codebook;
  options.codebook = map.codebook;
  options.epochs = 1;
  options.threads = 1;
  return options;
}

/// The greatest difference of two lists of numbers.
inline double apart(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= most)) most = difference;  // also for a NaN
  }
  return most;
}

}  // namespace som_reference
