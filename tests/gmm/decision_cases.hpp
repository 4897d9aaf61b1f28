// Data at the edge of what can be fitted: whether a mixture of them is refused must not depend on where it is fitted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/gmm/fit.hpp>

#include "fit_data.hpp"

namespace decision_cases {

struct decision_case {
  std::string name;
  std::size_t columns = 0;
  std::vector<double> values;
  shoal::gmm::options options;
};

inline decision_case few_rows_for_their_columns(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  decision_case made{std::to_string(rows) + " x " + std::to_string(columns) + ", seed " + std::to_string(seed),
                     columns,
                     fit_data::clusters(rows, columns, 1, 0, 0, seed + 1),
                     {}};
  made.options.components = 4;
  made.options.seed = seed;
  made.options.max_iterations = 5;
  made.options.threads = 2;
  return made;
}

inline decision_case one_far_row(double distance, shoal::gmm::covariance_type type) {
  decision_case made{
      "a row " + std::to_string(distance) + " deviations away, type " + std::to_string(static_cast<int>(type)),
      3,
      fit_data::clusters(600, 3, 2, 8),
      {}};
  for (std::size_t j = 0; j < 3; ++j) made.values[j] = distance;
  made.options.components = 2;
  made.options.covariance_type = type;
  made.options.max_iterations = 20;
  made.options.threads = 2;
  return made;
}

/// The fit, or nothing where it is refused.
template <class Scalar>
std::optional<shoal::gmm::fit_result> decide(const decision_case& data, const shoal::device_choice& device,
                                             std::string* reason = nullptr) {
  shoal::gmm::options options = data.options;
  options.device = device;
  try {
    return fit_data::fit<Scalar>(data.values, data.columns, options);
  } catch (const shoal::error& refused) {
    if (reason != nullptr) *reason = refused.what();
    return std::nullopt;
  }
}

}  // namespace decision_cases
