// What the metrics mean, in float64 from the first column to the last.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <shoal/som/metric.hpp>

namespace shoal::som {

/// What orders the units for a row. `unit` is w, or for cosine w/‖w‖.
template <class Scalar>
double defined_rank(metric metric, const Scalar* row, const double* unit, std::size_t columns) {
  double rank = 0;
  switch (metric) {
    case metric::euclidean:
      for (std::size_t j = 0; j < columns; ++j) {
        const double difference = static_cast<double>(row[j]) - unit[j];
        rank += difference * difference;
      }
      break;
    case metric::taxicab:
      for (std::size_t j = 0; j < columns; ++j) rank += std::abs(static_cast<double>(row[j]) - unit[j]);
      break;
    case metric::cosine:
      for (std::size_t j = 0; j < columns; ++j) rank -= static_cast<double>(row[j]) * unit[j];
      break;
    case metric::chebyshev:
      for (std::size_t j = 0; j < columns; ++j) {
        rank = std::max(rank, std::abs(static_cast<double>(row[j]) - unit[j]));
      }
      break;
  }
  return rank;
}

/// ‖row‖, also where squares would leave the range of float64.
template <class Scalar>
double length(const Scalar* row, std::size_t columns) {
  double largest = 0, squares = 0;
  for (std::size_t j = 0; j < columns; ++j) largest = std::max(largest, std::abs(static_cast<double>(row[j])));
  if (!(largest > 0)) return 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const double scaled = static_cast<double>(row[j]) / largest;
    squares += scaled * scaled;
  }
  return largest * std::sqrt(squares);
}

/// The distance that stands behind a rank. `row_length` is length() of the row; it matters for cosine alone.
inline double distance_of_rank(metric metric, double rank, double row_length) {
  if (metric == metric::euclidean) return std::sqrt(rank);
  if (metric != metric::cosine) return rank;
  return row_length > 0 ? std::max(0.0, 1 + rank / row_length) : 1.0;
}

template <class Scalar>
double distance_of_rank(metric metric, double rank, const Scalar* row, std::size_t columns) {
  return distance_of_rank(metric, rank, metric == metric::cosine ? length(row, columns) : 0.0);
}

/// Between two rows of float64.
inline double distance_between(metric metric, const double* a, const double* b, std::size_t columns) {
  if (metric != metric::cosine) return distance_of_rank(metric, defined_rank(metric, a, b, columns), a, columns);
  const double norm = length(b, columns);
  if (!(norm > 0)) return 1;
  std::vector<double> direction(b, b + columns);
  for (double& value : direction) value /= norm;
  return distance_of_rank(metric, defined_rank(metric, a, direction.data(), columns), a, columns);
}

}  // namespace shoal::som
