// Where Lloyd's algorithm moves the centroids, empty clusters included.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/execution/fold.hpp>
#include <shoal/kmeans/accumulate.hpp>
#include <shoal/kmeans/statistics.hpp>

namespace shoal::kmeans {

struct moved_centroids {
  std::vector<double> centroids;  ///< [clusters][columns]
  double change = 0;              ///< Σ‖Δc‖²
  std::size_t relocated = 0;      ///< empty clusters that took a far row
};

/// Centroids to the means of their rows, and those of empty clusters to the farthest rows. `folded` is what the rows
/// gave about `centroids`. Looks for far rows, one fold, only when a cluster is empty.
template <class Scalar>
moved_centroids move_centroids(const fold_context& context, const weighted_rows<Scalar>& data,
                               const prepared_centroids<Scalar>& centroids, const statistics& folded);
extern template moved_centroids move_centroids(const fold_context&, const weighted_rows<float>&,
                                               const prepared_centroids<float>&, const statistics&);
extern template moved_centroids move_centroids(const fold_context&, const weighted_rows<double>&,
                                               const prepared_centroids<double>&, const statistics&);

}  // namespace shoal::kmeans
