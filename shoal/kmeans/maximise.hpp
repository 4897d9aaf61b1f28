// Where Lloyd's algorithm moves the centroids, empty clusters included.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/relocate.hpp>
#include <shoal/kmeans/statistics.hpp>

namespace shoal::kmeans {

struct moved_centroids {
  std::vector<double> centroids;  ///< [clusters][columns]
  double change = 0;              ///< Σ‖Δc‖²
  std::size_t relocated = 0;      ///< empty clusters that took a far row
};

/// The `count` rows that farthest_rows() finds, on whichever executor holds the rows.
using find_farthest = std::function<std::vector<far_row>(std::size_t count)>;

/// Centroids [clusters][columns] to the means of their rows, and those of empty clusters to the farthest rows. `folded`
/// is what `rows` gave about `centroids`. Looks for far rows only when a cluster is empty.
template <class Scalar>
moved_centroids move_centroids(const std::vector<double>& centroids, const statistics& folded,
                               const row_source<Scalar>& rows, const find_farthest& farthest);
extern template moved_centroids move_centroids(const std::vector<double>&, const statistics&, const row_source<float>&,
                                               const find_farthest&);
extern template moved_centroids move_centroids(const std::vector<double>&, const statistics&, const row_source<double>&,
                                               const find_farthest&);

}  // namespace shoal::kmeans
