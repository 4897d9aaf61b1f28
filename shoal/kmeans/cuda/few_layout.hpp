// Sizes of the kernel that labels and sums rows of few columns in one pass (fold_few.cuh); shared by host and device.
#pragma once

#include <cstddef>

#include <shoal/core/host_device.hpp>
#include <shoal/kmeans/cuda/tuning.hpp>

namespace shoal::kmeans {

/// Rows that a warp takes: a block of the fingerprint.
inline constexpr int few_block_rows = 512;

/// Neighbouring numbers of a row, its columns and its weight, that a thread adds up.
SHOAL_HD constexpr int few_thread_values(int columns, std::size_t scalar_bytes) {
  if (scalar_bytes == 8) return 1;
  return columns == 2 || columns == 3 ? 4 : 2;
}

/// Threads that add up a row: a power of two.
SHOAL_HD constexpr int few_row_threads(int columns, std::size_t scalar_bytes) {
  int power = 1;
  while (power * few_thread_values(columns, scalar_bytes) < columns + 1) power *= 2;
  return power;
}

/// Whether the nearest centroid is looked for among groups of centroids first.
SHOAL_HD constexpr bool few_in_groups(int columns) { return columns >= 2 && columns <= 4; }
inline constexpr int few_group = 3;

/// Rows that a thread searches at a time, which share the centroids that it loads.
SHOAL_HD constexpr int few_rows(int columns) { return columns <= 3 ? 8 : 4; }

/// Units of 16 bytes in shared memory, of a group of centroids: c′, column by column, and what their scores begin with,
/// an odd number, so that threads which read different groups use different banks. Of a single centroid: −c′ and
/// ‖c′‖²/2.
SHOAL_HD constexpr int few_vectors(int columns) {
  return few_in_groups(columns) ? ((columns + 1) * few_group + 3) / 4 | 1 : (columns + 4) / 4;
}

/// Places for clusters, which are searched in groups or pairs. One beyond the last is never nearest.
SHOAL_HD constexpr int few_padded(int clusters, int columns) {
  const int together = few_in_groups(columns) ? few_group : 2;
  return (clusters + together - 1) / together * together;
}
inline constexpr float few_beyond = 4e37F;

/// Bytes of the centroids as the search reads them.
SHOAL_HD constexpr int few_searched_bytes(int clusters, int columns) {
  return few_padded(clusters, columns) / (few_in_groups(columns) ? few_group : 1) * few_vectors(columns) * 16;
}

/// Numbers that a lane keeps between its pieces for each warp, beside its totals of clusters × (columns + 1).
SHOAL_HD constexpr std::size_t few_kept_numbers(std::size_t clusters, int columns, std::size_t scalar_bytes) {
  return clusters * static_cast<std::size_t>(32 * few_thread_values(columns, scalar_bytes)) + 32;
}

}  // namespace shoal::kmeans
