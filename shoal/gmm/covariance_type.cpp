#include <shoal/gmm/covariance_type.hpp>

#include <shoal/core/error.hpp>

namespace shoal::gmm {

std::size_t covariance_size(covariance_type type, std::size_t components, std::size_t columns) {
  switch (type) {
    case covariance_type::full:
      return components * columns * columns;
    case covariance_type::tied:
      return columns * columns;
    case covariance_type::diag:
      return components * columns;
    case covariance_type::spherical:
      return components;
  }
  throw bad_argument("an unknown covariance type");
}

double free_parameters(covariance_type type, std::size_t components, std::size_t columns) {
  const auto K = static_cast<double>(components);
  const auto d = static_cast<double>(columns);
  double covariances = 0;
  switch (type) {
    case covariance_type::full:
      covariances = K * d * (d + 1) / 2;
      break;
    case covariance_type::tied:
      covariances = d * (d + 1) / 2;
      break;
    case covariance_type::diag:
      covariances = K * d;
      break;
    case covariance_type::spherical:
      covariances = K;
      break;
  }
  return covariances + K * d + K - 1;
}

}  // namespace shoal::gmm
