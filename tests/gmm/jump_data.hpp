// Data on which a mean jumps in one step, and what its covariance then is, by two passes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/gmm/options.hpp>

#include "fit_data.hpp"

namespace jump_data {

namespace gmm = shoal::gmm;

/// Mean and covariance [d][d] of rows, by two passes in long double.
struct moments {
  std::vector<double> mean, covariance;

  template <class Scalar>
  moments(const std::vector<Scalar>& rows, std::size_t d, const std::vector<double>* weights = nullptr)
      : mean(d), covariance(d * d) {
    const std::size_t n = rows.size() / d;
    const auto weight = [&](std::size_t i) -> long double {
      return weights == nullptr ? 1 : static_cast<Scalar>((*weights)[i]);
    };
    long double total = 0;
    for (std::size_t i = 0; i < n; ++i) total += weight(i);
    std::vector<long double> centre(d);
    for (std::size_t i = 0; i < rows.size(); ++i) centre[i % d] += weight(i / d) * rows[i] / total;
    std::vector<long double> sums(d * d);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t a = 0; a < d; ++a) {
        for (std::size_t b = 0; b < d; ++b) {
          sums[a * d + b] += weight(i) * (rows[i * d + a] - centre[a]) * (rows[i * d + b] - centre[b]) / total;
        }
      }
    }
    std::copy(centre.begin(), centre.end(), mean.begin());
    std::copy(sums.begin(), sums.end(), covariance.begin());
  }

  double trace() const {
    double sum = 0;
    for (std::size_t j = 0; j < mean.size(); ++j) sum += covariance[j * (mean.size() + 1)];
    return sum;
  }

  /// The greatest difference of a model of one component without regularisation, relative to the trace.
  double error_of(const gmm::model& model) const {
    const std::size_t d = mean.size();
    double greatest = 0;
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b < d; ++b) {
        double got = 0, expected = covariance[a * d + b];
        switch (model.covariance_type) {
          case gmm::covariance_type::full:
          case gmm::covariance_type::tied:
            got = model.covariances[a * d + b];
            break;
          case gmm::covariance_type::diag:
            if (a != b) continue;
            got = model.covariances[a];
            break;
          case gmm::covariance_type::spherical:
            if (a != b) continue;
            got = model.covariances[0];
            expected = trace() / static_cast<double>(d);
            break;
        }
        greatest = std::max(greatest, std::abs(got - expected));
      }
    }
    return greatest / trace();
  }
};

/// One iteration of one component that begins at the origin with deviation `offset`.
inline gmm::options one_step_from_the_origin(gmm::covariance_type type, std::size_t columns, double offset) {
  gmm::options options;
  options.covariance_type = type;
  options.init = gmm::initialization::model;
  options.max_iterations = 1;
  options.tolerance = 0;
  options.regularization = 0;
  options.threads = 2;
  options.start.covariance_type = type;
  options.start.components = 1;
  options.start.columns = columns;
  options.start.weights = {1};
  options.start.means.assign(columns, 0.0);
  switch (type) {
    case gmm::covariance_type::full:
    case gmm::covariance_type::tied:
      options.start.covariances.assign(columns * columns, 0.0);
      for (std::size_t j = 0; j < columns; ++j) options.start.covariances[j * (columns + 1)] = offset * offset;
      break;
    case gmm::covariance_type::diag:
      options.start.covariances.assign(columns, offset * offset);
      break;
    case gmm::covariance_type::spherical:
      options.start.covariances = {offset * offset};
      break;
  }
  return options;
}

/// Two round clusters of 500 rows, ten deviations apart, and one row `distance` deviations away.
inline std::vector<double> two_clusters_and_an_outlier(double distance) {
  std::vector<double> values = fit_data::clusters(1000, 2, 2, 7.0710678118654755);
  values.insert(values.end(), {distance, 0.5 * distance});
  return values;
}

/// A start as scikit-learn's init_params='random_from_data': means from rows, covariances of the regularisation alone.
inline gmm::options from_random_rows(const std::vector<double>& values, std::size_t components, std::uint64_t seed) {
  constexpr double regularization = 1e-6;
  fit_data::uniform u(seed + 1000);
  gmm::options options;
  options.components = components;
  options.init = gmm::initialization::model;
  options.regularization = regularization;
  options.threads = 1;
  options.start.components = components;
  options.start.columns = 2;
  options.start.weights.assign(components, 1.0 / static_cast<double>(components));
  const std::size_t rows = values.size() / 2;
  for (std::size_t k = 0; k < components; ++k) {
    const auto row = static_cast<std::size_t>(u() * static_cast<double>(rows));
    options.start.means.insert(options.start.means.end(), {values[2 * row], values[2 * row + 1]});
    options.start.covariances.insert(options.start.covariances.end(), {regularization, 0, 0, regularization});
  }
  return options;
}

/// Fits of two clusters and an outlier of 10² to 10⁹ deviations, of 2, 3 and 4 components from 20 starts each, against
/// scikit-learn 1.9.1 on the same rows from the same starts: how many of 60 end in "ill-defined empirical covariance".
/// Where covariances have the condition of the scalar the last bit decides, and counts are uncertain by their roots.
template <class Scalar>
void expect_no_more_refusals_than_scikit_learn(const shoal::device_choice& device) {
  const std::vector<std::size_t> peer = sizeof(Scalar) == 4 ? std::vector<std::size_t>{2, 3, 21, 36, 58, 57, 60, 60}
                                                            : std::vector<std::size_t>{0, 0, 0, 0, 0, 0, 7, 18};
  const auto most = [](std::size_t count) {
    const auto expected = static_cast<double>(count);
    return static_cast<std::size_t>(expected + 2 * std::sqrt(expected));
  };
  std::size_t all = 0;
  for (std::size_t i = 0; i < peer.size(); ++i) {
    const auto values = two_clusters_and_an_outlier(std::pow(10.0, static_cast<double>(i + 2)));
    std::size_t refused = 0;
    for (const std::size_t components : {2, 3, 4}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto options = from_random_rows(values, components, seed);
        options.device = device;
        if (fit_data::message_of([&] { fit_data::fit<Scalar>(values, 2, options); }) != "nothing was thrown") ++refused;
      }
    }
    EXPECT_LE(refused, most(peer[i])) << "1e" << i + 2;
    all += refused;
  }
  EXPECT_LE(all, most(std::accumulate(peer.begin(), peer.end(), std::size_t{0})));
}

}  // namespace jump_data
