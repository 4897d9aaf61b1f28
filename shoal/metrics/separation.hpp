// How well a clustering keeps its rows apart: silhouette, Davies & Bouldin, Calinski & Harabasz; and centroids against
// centroids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal::metrics {

/// Rows with the label of each, which are read piece by piece, as often as needed: so that memory does not grow with
/// their number.
struct labelled_rows {
  const row_source<double>* rows = nullptr;
  /// Fills `labels` with those of the rows from `first` on; called from one thread.
  std::function<void(std::size_t first, std::span<std::int32_t> labels)> read_labels;
};

/// The mean over the rows of (b − a) / max(a, b), with a the mean distance to the other rows of its group, and b the
/// least mean distance to another group; 0 for a row that is alone (Rousseeuw 1987). Distances are Euclidean; O(N²·d)
/// time, and a read of all rows for each 1,024 of them. All of these throw bad_argument when labels and rows are not as
/// many, or with fewer than 2 groups or as many groups as rows.
double silhouette(const labelled_rows& data, std::size_t threads = 0);
double silhouette(matrix_view<const double> rows, std::span<const std::int32_t> labels, std::size_t threads = 0);

/// The same with distances to centroids [K][d] in place of mean distances, a row's own being the one that its label
/// 0…K−1 names: one pass (Hruschka, de Castro & Campello 2004).
double simplified_silhouette(const labelled_rows& data, matrix_view<const double> centroids);
double simplified_silhouette(matrix_view<const double> rows, std::span<const std::int32_t> labels,
                             matrix_view<const double> centroids);

/// The mean over the groups of the greatest (s_i + s_j) / d_ij, with s the mean distance to the group's mean; less is
/// better (Davies & Bouldin 1979).
double davies_bouldin_index(const labelled_rows& data);
double davies_bouldin_index(matrix_view<const double> rows, std::span<const std::int32_t> labels);

/// Dispersion between over dispersion within the groups, each by its degrees of freedom; 1 when all rows lie on their
/// group's mean (Calinski & Harabasz 1974).
double calinski_harabasz_index(const labelled_rows& data);
double calinski_harabasz_index(matrix_view<const double> rows, std::span<const std::int32_t> labels);

/// The mean row of each group, the groups by ascending label: centroids for centroid_index and simplified_silhouette.
struct group_means {
  std::vector<std::int32_t> labels;  ///< [K]
  std::vector<double> means;         ///< [K][columns]
};
group_means means_of_groups(const labelled_rows& data);

/// The number of centroids that no centroid of the other set has as its nearest, the greater of both directions: 0 when
/// the two find the same groups (Fränti, Rezaei & Zhao 2014). Throws bad_argument for other columns.
std::size_t centroid_index(matrix_view<const double> first, matrix_view<const double> second);

}  // namespace shoal::metrics
