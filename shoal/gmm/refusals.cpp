#include <shoal/gmm/refusals.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::gmm {

void refuse_covariance(covariance_type type, std::size_t component, const std::string& reason) {
  const std::string which = type == covariance_type::tied ? "the covariance that all components share"
                                                          : fmt::format("component {}", component);
  throw numerical_error(fmt::format(
      "some components have ill-defined empirical covariance: {} {} (collapsed onto too few distinct rows, or onto "
      "columns that are constant or collinear). Increase the regularization, decrease the number of components, or "
      "scale the columns alike",
      which, reason));
}

void refuse_variance(covariance_type type, std::size_t component, std::size_t column, double variance) {
  const std::string where = type == covariance_type::diag ? fmt::format(" in column {}", column) : std::string();
  refuse_covariance(type, component, fmt::format("has the variance {}{}", variance, where));
}

void refuse_mean(std::size_t component, std::size_t column, double mean, std::size_t scalar_bytes) {
  throw numerical_error(fmt::format(
      "the mean of component {} in column {} is {}, beyond the range of {}: scale the column, or use float64",
      component, column, mean, scalar_bytes == 4 ? "float32" : "float64"));
}

}  // namespace shoal::gmm
