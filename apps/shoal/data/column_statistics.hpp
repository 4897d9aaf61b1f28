// What each column of a file holds, found in one pass.
#pragma once

#include <cstddef>
#include <limits>
#include <stop_token>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

#include "common/options.hpp"

namespace shoal::app {

/// The finite values of one column, weighted. Rows of weight zero or less are not counted.
struct column_statistics {
  double weight = 0;
  double mean = 0;
  double squares = 0;  ///< Σ w (x − mean)²
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  std::size_t not_finite = 0;

  void add(double value, double value_weight);
  /// Joins two disjoint sets of values (Chan, Golub & LeVeque 1979).
  void add(const column_statistics& other);
  /// Population deviation: divided by the weight, not by one less.
  double deviation() const;
};

/// The commutative monoid of the statistics of some columns, up to rounding: what they are folded with.
struct columns_monoid {
  using value_type = std::vector<column_statistics>;
  static constexpr algebra::operation_laws laws = algebra::rounded_moments;
  std::size_t columns = 0;

  value_type identity() const { return value_type(columns); }
  void reset(value_type& value) const { value.assign(columns, {}); }
  void combine_into(value_type& into, const value_type& from) const {
    for (std::size_t j = 0; j < columns; ++j) into[j].add(from[j]);
  }
  std::size_t bytes() const { return columns * sizeof(column_statistics); }
};

/// One entry for each column; the same for any number of threads and any memory limit.
template <class Scalar>
std::vector<column_statistics> column_statistics_of(const row_source<Scalar>& rows, row_weights weights,
                                                    const run_options& run, std::stop_token stop);
extern template std::vector<column_statistics> column_statistics_of<float>(const row_source<float>&, row_weights,
                                                                           const run_options&, std::stop_token);
extern template std::vector<column_statistics> column_statistics_of<double>(const row_source<double>&, row_weights,
                                                                            const run_options&, std::stop_token);

}  // namespace shoal::app
