#include <shoal/gmm/check_model.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::gmm {
namespace {

constexpr double weight_sum_tolerance = 1e-6;
constexpr double symmetry_tolerance = 1e-8;

void require_size(const char* what, std::size_t found, std::size_t expected, const char* shape) {
  if (found != expected) {
    throw bad_argument(fmt::format("the mixture has {} {}, but {} needs {}: give every component all of its values",
                                   found, what, shape, expected));
  }
}

void check_weights(const model& model) {
  double sum = 0;
  for (std::size_t k = 0; k < model.components; ++k) {
    const double weight = model.weights[k];
    if (!std::isfinite(weight) || weight < 0) {
      throw bad_argument(
          fmt::format("the weight of component {} is {}: weights must be finite, zero or positive", k, weight));
    }
    sum += weight;
  }
  if (!(std::abs(sum - 1) <= weight_sum_tolerance)) {
    throw bad_argument(fmt::format("the weights of the mixture sum to {}: divide them by their sum", sum));
  }
}

// Tile by tile: a column of a wide matrix, read for each of its rows, is a cache line and more away each time.
void check_symmetry(const double* matrix, std::size_t columns, double most, const std::string& whose) {
  constexpr std::size_t tile = 32;
  for (std::size_t row = 0; row < columns; row += tile) {
    for (std::size_t column = 0; column <= row; column += tile) {
      for (std::size_t i = row; i < std::min(row + tile, columns); ++i) {
        for (std::size_t j = column; j < std::min(column + tile, i); ++j) {
          const double below = matrix[i * columns + j];
          const double above = matrix[j * columns + i];
          if (!(std::abs(below - above) > most)) continue;
          throw bad_argument(fmt::format(
              "the covariance of {} is not symmetric: row {}, column {} holds {}, row {}, column {} holds {}", whose, j,
              i, above, i, j, below));
        }
      }
    }
  }
}

void check_matrix(const double* matrix, std::size_t columns, const std::string& whose) {
  double largest = 0;
  for (std::size_t i = 0; i < columns * columns; ++i) {
    if (!std::isfinite(matrix[i])) {
      throw bad_argument(fmt::format("the covariance of {} is {} in row {}, column {}: it must be finite", whose,
                                     matrix[i], i / columns, i % columns));
    }
    largest = std::max(largest, std::abs(matrix[i]));
  }
  for (std::size_t i = 0; i < columns; ++i) {
    if (!(matrix[i * columns + i] > 0)) {
      throw bad_argument(
          fmt::format("the variance of {} in column {} is {}: it must be positive", whose, i, matrix[i * columns + i]));
    }
  }
  check_symmetry(matrix, columns, symmetry_tolerance * largest, whose);
}

void check_variances(const model& model, std::size_t count_each) {
  for (std::size_t i = 0; i < model.covariances.size(); ++i) {
    if (!(model.covariances[i] > 0) || !std::isfinite(model.covariances[i])) {
      const std::string column = count_each == 1 ? std::string() : fmt::format(" in column {}", i % count_each);
      throw bad_argument(fmt::format("the variance of component {}{} is {}: it must be positive and finite",
                                     i / count_each, column, model.covariances[i]));
    }
  }
}

}  // namespace

void validate_model(const model& model) {
  const std::size_t K = model.components;
  const std::size_t d = model.columns;
  if (K == 0 || d == 0) {
    throw bad_argument(fmt::format("a mixture of {} components in {} columns: both must be at least one", K, d));
  }
  const std::string shape = fmt::format("{} components in {} columns", K, d);
  require_size("weights", model.weights.size(), K, shape.c_str());
  require_size("elements of means", model.means.size(), K * d, shape.c_str());
  require_size("elements of covariances", model.covariances.size(), covariance_size(model.covariance_type, K, d),
               shape.c_str());
  if (!model.column_names.empty()) require_size("column names", model.column_names.size(), d, shape.c_str());
  check_weights(model);
  for (std::size_t i = 0; i < K * d; ++i) {
    if (!std::isfinite(model.means[i])) {
      throw bad_argument(
          fmt::format("the mean of component {} in column {} is {}: it must be finite", i / d, i % d, model.means[i]));
    }
  }
  switch (model.covariance_type) {
    case covariance_type::full:
      for (std::size_t k = 0; k < K; ++k) {
        check_matrix(model.covariances.data() + k * d * d, d, fmt::format("component {}", k));
      }
      break;
    case covariance_type::tied:
      check_matrix(model.covariances.data(), d, "all components");
      break;
    case covariance_type::diag:
      check_variances(model, d);
      break;
    case covariance_type::spherical:
      check_variances(model, 1);
      break;
  }
}

}  // namespace shoal::gmm
