// What Lloyd's algorithm folds the rows into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/core/aligned_vector.hpp>

namespace shoal::kmeans {

/// Statistics of rows x with weights w about the centroids c that they were assigned to. A fold's are in units of the
/// stored weights; in_callers_weights() makes them the caller's.
struct statistics {
  std::vector<double> weights;    ///< [K] Σ w
  aligned_vector<double> sums;    ///< [K][d] Σ w(x − c)
  double inertia = 0;             ///< Σ w‖x − c‖²
  std::uint64_t fingerprint = 0;  ///< of every row's label, mod 2⁶⁴: equal when no label changed
};

inline statistics in_callers_weights(statistics folded, double weight_scale) {
  for (double& weight : folded.weights) weight *= weight_scale;
  for (double& sum : folded.sums) sum *= weight_scale;
  folded.inertia *= weight_scale;
  return folded;
}

/// The commutative monoid (group, but for rounding) of statistics about the same centroids.
struct statistics_monoid {
  using value_type = statistics;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums;
  static auto parts(auto& value) { return std::tie(value.weights, value.sums, value.inertia, value.fingerprint); }
  std::size_t clusters = 0;
  std::size_t columns = 0;

  statistics identity() const {
    return {std::vector<double>(clusters), aligned_vector<double>(clusters * columns), 0, 0};
  }
  void reset(statistics& value) const {
    std::fill(value.weights.begin(), value.weights.end(), 0.0);
    std::fill(value.sums.begin(), value.sums.end(), 0.0);
    value.inertia = 0;
    value.fingerprint = 0;
  }
  void combine_into(statistics& into, const statistics& from) const {
    for (std::size_t k = 0; k < into.weights.size(); ++k) into.weights[k] += from.weights[k];
    for (std::size_t i = 0; i < into.sums.size(); ++i) into.sums[i] += from.sums[i];
    into.inertia += from.inertia;
    into.fingerprint += from.fingerprint;
  }
  std::size_t bytes() const { return (clusters + clusters * columns + 2) * sizeof(double); }
};

}  // namespace shoal::kmeans
