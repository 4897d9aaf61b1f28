// Sizes of the kernel that labels and sums rows of few columns in one pass (fold_few.cuh); shared by host and device.
#pragma once

#include <shoal/core/host_device.hpp>
#include <shoal/kmeans/cuda/tuning.hpp>

namespace shoal::kmeans {

/// Rows that a warp takes: a block of the fingerprint.
inline constexpr int few_block_rows = 512;

/// Threads that add up a row: a column each, and one more for its weight.
SHOAL_HD constexpr int few_row_threads(int columns) {
  int power = 2;
  while (power < columns + 1) power *= 2;
  return power;
}

/// Whether distances are found by products, and not by differences.
SHOAL_HD constexpr bool few_by_products(int columns) { return columns > 4; }

/// Rows that a thread searches at a time, which share the centroids that it loads.
SHOAL_HD constexpr int few_rows(int columns) { return columns <= 8 ? 4 : 2; }

/// A centroid in shared memory, in units of 16 bytes: −c′, and ‖c′‖²/2 where distances are found by products.
SHOAL_HD constexpr int few_vectors(int columns) { return (columns + (few_by_products(columns) ? 1 : 0) + 3) / 4; }

/// Places for clusters, which are searched in pairs. One beyond the last is never nearest.
SHOAL_HD constexpr int few_padded(int clusters) { return (clusters + 1) / 2 * 2; }
SHOAL_HD constexpr float few_beyond(int columns) { return few_by_products(columns) ? 4e37F : 1.8e19F; }

}  // namespace shoal::kmeans
