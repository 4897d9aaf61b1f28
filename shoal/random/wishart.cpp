// Wishart matrices by Bartlett's decomposition.
#include <shoal/random/wishart.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/random/gamma.hpp>
#include <shoal/random/normal.hpp>

namespace shoal::random {

std::vector<double> wishart_factor(stream& bits, std::size_t dimensions, double degrees_of_freedom) {
  if (dimensions == 0) throw bad_argument("a Wishart matrix needs at least one dimension");
  if (!(degrees_of_freedom > static_cast<double>(dimensions) - 1) || !std::isfinite(degrees_of_freedom))
    throw bad_argument(fmt::format("a Wishart matrix of {} dimensions with {} degrees of freedom; give more than {}",
                                   dimensions, degrees_of_freedom, dimensions - 1));
  std::vector<double> factor(dimensions * dimensions, 0.0);
  for (std::size_t i = 0; i < dimensions; ++i) {
    for (std::size_t j = 0; j < i; ++j) factor[i * dimensions + j] = normal_by_ziggurat(bits);
    factor[i * dimensions + i] = std::sqrt(chi_squared(bits, degrees_of_freedom - static_cast<double>(i)));
  }
  return factor;
}

std::vector<double> wishart(stream& bits, std::size_t dimensions, double degrees_of_freedom) {
  const auto factor = wishart_factor(bits, dimensions, degrees_of_freedom);
  std::vector<double> matrix(dimensions * dimensions);
  for (std::size_t i = 0; i < dimensions; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k <= j; ++k) sum += factor[i * dimensions + k] * factor[j * dimensions + k];
      matrix[i * dimensions + j] = matrix[j * dimensions + i] = sum;
    }
  return matrix;
}

}  // namespace shoal::random
