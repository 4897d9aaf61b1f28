// Empty clusters take the rows that are farthest from their centroids.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/estimation/first_k.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/kmeans/accumulate.hpp>

namespace shoal::kmeans {

/// A row far from its centroid.
struct far_row {
  double distance = 0;  ///< squared
  std::size_t row = 0;
  std::size_t label = 0;
  double weight = 0;
};

/// Of two rows the farther first, and the lower row first among equals.
struct farther {
  bool operator()(const far_row& a, const far_row& b) const {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  }
};

using farthest_rows_monoid = first_k<far_row, farther>;

/// The `count` rows of positive weight that are farthest from their nearest centroids, the farthest first and the lower
/// row first among equals. Rows on their centroid are left out, so there may be fewer.
template <class Scalar>
std::vector<far_row> farthest_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const prepared_centroids<Scalar>& centroids, std::size_t count);
extern template std::vector<far_row> farthest_rows(const fold_context&, const weighted_rows<float>&,
                                                   const prepared_centroids<float>&, std::size_t);
extern template std::vector<far_row> farthest_rows(const fold_context&, const weighted_rows<double>&,
                                                   const prepared_centroids<double>&, std::size_t);

}  // namespace shoal::kmeans
