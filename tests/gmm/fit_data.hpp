// Small data and helpers for the tests of whole fits.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/gmm/fit.hpp>

namespace fit_data {

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

/// Rows of `clusters` round clusters of deviation one, their centres `separation` apart along the diagonal of the first
/// two columns; row i belongs to cluster i mod clusters.
inline std::vector<double> clusters(std::size_t rows, std::size_t columns, std::size_t clusters, double separation,
                                    double offset = 0, std::uint64_t seed = 1) {
  uniform u(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double normal = std::sqrt(-2 * std::log(u())) * std::cos(6.283185307179586 * u());  // Box & Muller (1958)
      const double centre = j < 2 ? separation * static_cast<double>(i % clusters) : 0.0;
      values.push_back(offset + centre + normal);
    }
  }
  return values;
}

template <class Scalar>
std::vector<Scalar> as(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

template <class Scalar>
shoal::gmm::fit_result fit(const std::vector<double>& values, std::size_t columns, const shoal::gmm::options& options,
                           const std::vector<double>* weights = nullptr) {
  const auto rows = as<Scalar>(values);
  const shoal::view_source<Scalar> source({rows.data(), rows.size() / columns, columns});
  if (weights == nullptr) return shoal::gmm::fit(source, options);
  const auto scalars = as<Scalar>(*weights);
  const shoal::view_source<Scalar> weight_source({scalars.data(), scalars.size(), 1});
  return shoal::gmm::fit(source, options, &weight_source);
}

template <class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const shoal::error& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

inline const std::vector<shoal::gmm::covariance_type>& all_types() {
  using enum shoal::gmm::covariance_type;
  static const std::vector<shoal::gmm::covariance_type> types{full, tied, diag, spherical};
  return types;
}

}  // namespace fit_data
