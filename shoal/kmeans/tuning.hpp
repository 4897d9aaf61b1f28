// Choices of the k-means kernels that measurement made, with what they gained.
#pragma once

#include <cstddef>

#include <shoal/execution/plan.hpp>

namespace shoal::kmeans {

/// With at most so many clusters and columns a row is assigned and summed in registers, in one pass over memory.
inline constexpr std::size_t most_fused_clusters = 8;
inline constexpr std::size_t most_fused_columns = 4;

/// Rows that are assigned before they are summed: they stay in the cache between the two, and a multiple of both
/// block_rows and the rows of a panel (24 in AVX2) leaves no panel half full.
inline constexpr std::size_t slab_rows = 3 * block_rows;

/// Rows of so many columns are added to their clusters cluster by cluster, up to so many clusters.
inline constexpr std::size_t least_ordered_columns = 160;
inline constexpr std::size_t most_ordered_clusters = 4096;

/// Memory in which a fit may remember a label and a bound for each row; rows beyond it are compared with all centroids
/// in every iteration.
inline constexpr std::size_t remembered_bytes = std::size_t{64} << 20;

/// The share of rows that must keep their label by a remembered bound before looking at the bounds pays, by cycles of a
/// Zen 4: a row's look takes about 12 + d/4, its comparison with all centroids K·(d + 8)/32.
constexpr double worthwhile_share(std::size_t clusters, std::size_t columns) {
  const auto d = static_cast<double>(columns);
  return 8 * (48 + d) / (static_cast<double>(clusters) * (d + 8));
}

/// The same where rows are compared by products of bytes, by cycles of a Zen 5: a look then takes about 12 + 1.1·d, for
/// rows come from memory, which a search by bytes asks for ahead; a comparison takes K·d/66 + 0.9·d. With 50,000 rows,
/// 300 columns and 64 clusters steps that keep 0.42 of the rows' labels take a tenth less than by the former measure.
constexpr double worthwhile_share_by_bytes(std::size_t clusters, std::size_t columns) {
  const auto d = static_cast<double>(columns);
  return (12 + 1.1 * d) / (static_cast<double>(clusters) * d / 66 + 0.9 * d);
}

/// The same where the rows' bytes are kept: a comparison with all centroids then takes K·d/66 + 0.1·d, but rows that a
/// look leaves are made bytes anew.
constexpr double worthwhile_share_by_kept_bytes(std::size_t clusters, std::size_t columns) {
  const auto d = static_cast<double>(columns);
  return (12 + 1.9 * d) / (static_cast<double>(clusters) * d / 66 + 0.9 * d);
}

/// Whether a bound for each row and each centroid pays where no instruction adds four products of bytes. By cycles of a
/// Zen 4 in its cache, 300 columns and 64 clusters: a look at a row's own distance and its bounds takes about 140, a
/// comparison by bytes 13, where all centroids together take 1670 by pairs of 16 bits. With 64 columns a step gains
/// nothing of 64 clusters and a third of 256; with 48 nothing, and with 32 it loses.
constexpr bool pairs_pay(std::size_t clusters, std::size_t columns) {
  const std::size_t least_columns = clusters >= 128 ? 64 : 96;
  return clusters >= 16 && clusters <= 1 << 16 && columns >= least_columns;
}

/// Bounds end at so many times the rows' distance in the mean (its square in the mean, to be exact).
inline constexpr double most_mean_distances = 2;

/// A fit keeps rows as bytes, which take a quarter of what they take in float32, in so many times the memory in which
/// it remembers labels and bounds.
inline constexpr std::size_t kept_bytes_factor = 4;

/// A fit whose share would have to be larger remembers nothing; a slab whose share would have to be does not look.
inline constexpr double most_worthwhile_share = 0.8;

/// After a slab where the share was not reached so many slabs are not tried.
inline constexpr std::size_t hopeless_slabs = 15;

/// Where k-means‖ starts a fit unless another start is asked for: so many clusters, so many rows for each of them, and
/// so many pairs of both. Up to there greedy k-means++ takes little time (bench/seeding.py).
inline constexpr std::size_t least_parallel_clusters = 64;
inline constexpr std::size_t rows_a_parallel_cluster = 128;
inline constexpr std::size_t least_parallel_pairs = std::size_t{1} << 24;

}  // namespace shoal::kmeans
