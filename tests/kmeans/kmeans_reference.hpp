// k-means written for clarity: float64, one loop after another. What the kernels are held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/io/row_source.hpp>

namespace kmeans_reference {

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

/// Normal numbers about `clusters` centres that are `separation` apart in every column.
template <class Scalar>
table<Scalar> clouds(std::size_t rows, std::size_t columns, std::size_t clusters, double separation, double offset = 0,
                     std::uint64_t seed = 1) {
  uniform u(seed);
  table<Scalar> made{rows, columns, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double normal = std::sqrt(-2 * std::log(u())) * std::cos(6.283185307179586 * u());
      made.values.push_back(
          static_cast<Scalar>(offset + separation * static_cast<double>((i * 7 + j * (i % 3)) % clusters) + normal));
    }
  }
  return made;
}

template <class Scalar>
double squared_distance(const Scalar* row, const double* centroid, std::size_t columns) {
  double sum = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const double difference = static_cast<double>(row[j]) - centroid[j];
    sum += difference * difference;
  }
  return sum;
}

template <class Scalar>
std::vector<std::int32_t> nearest(shoal::matrix_view<const Scalar> rows, const std::vector<double>& centroids) {
  const std::size_t clusters = centroids.size() / rows.columns();
  std::vector<std::int32_t> labels(rows.rows());
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < clusters; ++k) {
      const double distance = squared_distance(rows.row(i), centroids.data() + k * rows.columns(), rows.columns());
      if (distance < least) {
        least = distance;
        labels[i] = static_cast<std::int32_t>(k);
      }
    }
  }
  return labels;
}

struct outcome {
  std::vector<double> centroids;
  std::vector<std::int32_t> labels;  ///< of the returned centroids
  std::vector<double> history;
  double inertia = 0;
  std::size_t iterations = 0;
  std::size_t relocated = 0;
  bool converged = false;
};

/// Lloyd's algorithm as scikit-learn does it: empty clusters take the farthest rows, ends when no label changes or
/// Σ‖Δc‖² ≤ `least_shift`. `weights` may be empty (all one).
template <class Scalar>
outcome lloyd(shoal::matrix_view<const Scalar> rows, const std::vector<double>& weights, std::vector<double> centroids,
              std::size_t max_iterations, double least_shift) {
  const std::size_t n = rows.rows(), d = rows.columns(), clusters = centroids.size() / d;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  outcome result;
  std::vector<std::int32_t> before;
  const auto distance = [&](std::size_t i, std::int32_t label) {
    return squared_distance(rows.row(i), centroids.data() + static_cast<std::size_t>(label) * d, d);
  };
  for (;;) {
    result.labels = nearest(rows, centroids);
    result.inertia = 0;
    for (std::size_t i = 0; i < n; ++i) result.inertia += weight(i) * distance(i, result.labels[i]);
    if (result.converged || result.iterations == max_iterations) break;
    result.history.push_back(result.inertia);
    ++result.iterations;
    if (result.labels == before) {
      result.converged = true;
      break;
    }
    before = result.labels;

    std::vector<double> sums(clusters * d), mass(clusters);
    std::vector<double> farness(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(result.labels[i]);
      mass[k] += weight(i);
      farness[i] = weight(i) > 0 ? distance(i, result.labels[i]) : 0;
      for (std::size_t j = 0; j < d; ++j) sums[k * d + j] += weight(i) * (rows(i, j) - centroids[k * d + j]);
    }
    std::vector<double> next = centroids;
    std::vector<std::size_t> empty, order(n);
    for (std::size_t k = 0; k < clusters; ++k)
      if (mass[k] == 0) empty.push_back(k);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return farness[a] > farness[b]; });
    std::size_t used = 0;
    for (std::size_t e = 0; e < empty.size() && e < n && farness[order[e]] > 0; ++e) {
      const std::size_t row = order[e];
      const auto old = static_cast<std::size_t>(result.labels[row]);
      if (!(mass[old] > weight(row))) continue;
      for (std::size_t j = 0; j < d; ++j) {
        sums[old * d + j] -= weight(row) * (rows(row, j) - centroids[old * d + j]);
        next[empty[used] * d + j] = rows(row, j);
      }
      mass[old] -= weight(row);
      ++used;
    }
    result.relocated += used;
    for (std::size_t k = 0; k < clusters; ++k)
      if (mass[k] > 0)
        for (std::size_t j = 0; j < d; ++j) next[k * d + j] += sums[k * d + j] / mass[k];
    double shift = 0;
    for (std::size_t i = 0; i < next.size(); ++i) shift += (next[i] - centroids[i]) * (next[i] - centroids[i]);
    centroids = next;
    result.converged = shift <= least_shift;
  }
  result.centroids = centroids;
  return result;
}

/// Rows `step` apart, as first centroids.
template <class Scalar>
std::vector<double> spread_rows(shoal::matrix_view<const Scalar> rows, std::size_t clusters) {
  std::vector<double> centroids;
  for (std::size_t k = 0; k < clusters; ++k) {
    const Scalar* row = rows.row(k * rows.rows() / clusters);
    centroids.insert(centroids.end(), row, row + rows.columns());
  }
  return centroids;
}

/// The same rows with a gap of not-a-numbers after each.
template <class Scalar>
std::vector<Scalar> strided(shoal::matrix_view<const Scalar> rows, std::size_t stride) {
  std::vector<Scalar> values(rows.rows() * stride, std::numeric_limits<Scalar>::quiet_NaN());
  for (std::size_t i = 0; i < rows.rows(); ++i)
    std::copy_n(rows.row(i), rows.columns(), values.begin() + static_cast<std::ptrdiff_t>(i * stride));
  return values;
}

}  // namespace kmeans_reference
