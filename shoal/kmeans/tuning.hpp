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

/// Memory in which a fit may remember a label and a bound for each row; rows beyond it are compared with all centroids
/// in every iteration.
inline constexpr std::size_t remembered_bytes = std::size_t{64} << 20;

/// Columns × clusters below which comparing a row with all centroids is as cheap as looking whether it must be.
inline constexpr std::size_t least_remembered_work = 512;

/// When fewer than one row in hopeless_share of a slab keeps its label by its bound, so many slabs are not tried.
inline constexpr std::size_t hopeless_share = 6;
inline constexpr std::size_t hopeless_slabs = 7;

}  // namespace shoal::kmeans
