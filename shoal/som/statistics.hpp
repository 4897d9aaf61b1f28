// What an epoch of batch training folds the rows into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include <shoal/algebra/group.hpp>

namespace shoal::som {

/// Statistics of rows x with weights w, each added to its best-matching unit; m is one centre for all units. In units
/// of the stored weights; multiply by weighted_rows::weight_scale for the caller's.
struct statistics {
  std::vector<double> weights;  ///< [units] Σ w
  std::vector<double> sums;     ///< [units][columns] Σ w(x − m)
  double error = 0;             ///< Σ w·(distance to the best-matching unit)
};

/// The commutative monoid (group, but for rounding) of statistics about the same centre.
struct statistics_monoid {
  using value_type = statistics;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums;
  static auto parts(auto& value) { return std::tie(value.weights, value.sums, value.error); }
  std::size_t units = 0;
  std::size_t columns = 0;

  statistics identity() const { return {std::vector<double>(units), std::vector<double>(units * columns), 0}; }
  void reset(statistics& value) const {
    std::fill(value.weights.begin(), value.weights.end(), 0.0);
    std::fill(value.sums.begin(), value.sums.end(), 0.0);
    value.error = 0;
  }
  void combine_into(statistics& into, const statistics& from) const {
    for (std::size_t u = 0; u < into.weights.size(); ++u) into.weights[u] += from.weights[u];
    for (std::size_t i = 0; i < into.sums.size(); ++i) into.sums[i] += from.sums[i];
    into.error += from.error;
  }
  std::size_t bytes() const { return (units + units * columns + 1) * sizeof(double); }
};

}  // namespace shoal::som
