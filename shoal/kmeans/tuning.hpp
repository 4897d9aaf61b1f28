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

}  // namespace shoal::kmeans
