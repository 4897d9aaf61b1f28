// Which kernel of Lloyd's algorithm takes which shape on a GPU, with what measurement said.
#pragma once

#include <cstddef>

#include <shoal/execution/precision.hpp>

namespace shoal::kmeans {

/// Centroids are laid out in tiles of so many; places beyond the last one can never be nearest.
inline constexpr int cluster_tile = 64;

/// Float32 rows of at most so many columns are searched on the tensor cores, which keep a row in registers. At 2²⁰ rows
/// × 128 columns and K = 1024 the search takes 1.13 ms on an H200, on the arithmetic units 16.1 ms.
inline constexpr int most_tensor_columns = 128;

/// But of so many rows and columns they are searched by float16 products like wider rows, whose operands are made once
/// where they have room, if that takes tiles of 256 centroids that are nearly full: at 2²² rows × 128 columns and K =
/// 1000 3.26 ms instead of 3.82 on an H200, in tf32 2.17 instead of 3.16 and in bf16 instead of 2.35. In tf32 it is
/// ahead with any number of clusters from 64 on; in bf16 behind at 96 columns and at K = 512 and 4096. Of 20,000 rows
/// it is behind.
inline constexpr std::size_t least_float16_columns = 65;
inline constexpr std::size_t least_float16_rows = std::size_t{1} << 16;
constexpr bool is_searched_in_float16(std::size_t rows, std::size_t columns, std::size_t clusters, precision products) {
  if (rows < least_float16_rows || columns < least_float16_columns) return false;
  if (products == precision::tf32) return clusters >= 64;
  if (products == precision::bf16) return columns > 112 && clusters > 960 && clusters <= 1024;
  return clusters >= 256 && (clusters + 255) / 256 * 256 * 10 <= clusters * 11;
}

/// With at most so many clusters and columns a thread keeps the sums of all of them in registers: rows are labelled and
/// summed in one pass over memory. A step of 10⁷ rows × 2 columns and K = 2 takes 0.069 ms on an H200, in separate
/// passes 0.94 ms.
inline constexpr std::size_t most_fused_clusters_on_device = 8;
inline constexpr std::size_t most_fused_columns_on_device = 4;

/// With so many columns and at most so many clusters a warp labels a row and keeps the sums of all clusters in its
/// registers. A step takes on an H200, in separate passes and so, in ms, (10⁶ rows, 65 columns, K = 2) 0.366 and 0.222,
/// (10⁶, 256, 2) 0.539 and 0.409, (10⁵, 128, 2) 0.059 and 0.038, (10⁴, 65, 2) 0.044 and 0.030. Registers for more
/// clusters leave too few warps to hide what they wait for: (10⁶, 65, 3) 0.400 and 0.539, (10⁶, 128, 8) 0.367 and 1.06,
/// (10⁵, 65, 5) 0.078 and 0.149, (10⁴, 256, 4) 0.042 and 0.059; (10⁴, 65, 3) 0.046 and 0.045.
inline constexpr std::size_t most_wide_clusters = 2;
inline constexpr std::size_t least_wide_columns = 64;
inline constexpr std::size_t most_wide_columns = 256;

/// With at most so many columns and clusters (mostly as many as there is room for) and from so many rows for each
/// multiprocessor on, threads keep sums of all clusters in shared memory: rows are labelled and summed in one
/// pass. Steps of (rows, columns, clusters) take on an H200 in separate passes and so, in ms, float32 (10⁷, 3, 20)
/// 0.358 and 0.102, (5·10⁶, 10, 37) 0.557 and 0.198, (10⁶, 5, 10) 0.106 and 0.024, (10⁶, 1, 100) 0.074 and 0.024, (10⁶,
/// 1, 200) 0.085 and 0.033, float64 (3·10⁶, 8, 33) 0.160; since float32 sums are guarded, (10⁷, 3, 20) 0.107,
/// and with centroids compared by three 0.098. Of fewer
/// rows, when sums were slower, (10⁵, 3, 64) 0.025 and 0.036, (10⁵, 12, 33) 0.039 and 0.050. With more clusters (10⁷,
/// 3, 64) 0.626 and 0.220, (10⁶, 8, 64) 0.103 and 0.070, (10⁶, 12, 64) 0.120 and 0.085, float64 0.231 and 0.121. With
/// as many clusters as there is room for (10⁷, 2, 65) 0.511 and 0.197, (10⁷, 3, 65) 0.638 and 0.233, (10⁷, 8, 65) 1.11
/// and 0.52, float64 2.26 and 0.68; float64 of two to four columns keeps its former limit.
inline constexpr std::size_t most_one_pass_columns = 12;
inline constexpr std::size_t least_few_rows = 4096;
constexpr std::size_t most_one_pass_clusters(std::size_t columns, std::size_t scalar_bytes) {
  return scalar_bytes == 8 && columns >= 2 && columns <= 4 ? 64 : static_cast<std::size_t>(-1);
}
/// Its blocks have as many warps as there is shared memory for, at most and at least so many. When each step was slower
/// (10⁷, 3, 20) took 0.217 with 16 and 0.312 with 8, (5·10⁶, 10, 37) 0.356 and 0.521, (10⁶, 5, 10) 0.032 and 0.040.
inline constexpr int most_few_warps = 16;
inline constexpr std::size_t least_few_warps = 8;

/// Beyond that, rows of at most so many columns are searched by a thread each: TF32 is so coarse there that many rows
/// would be doubtful (15 % of 10⁵ rows × 2 columns at K = 128). A step of that shape takes 0.029 ms on an H200, on the
/// tensor cores 0.040 ms.
inline constexpr std::size_t most_few_columns = 4;
inline constexpr std::size_t most_few_column_clusters = 2048;
/// From so many rows on a thread has four of them, for which it loads a centroid once. With that, and clusters compared
/// by sixteen, (10⁶, 2, 1000) takes 0.368 ms instead of 0.488, (10⁶, 3, 256) 0.157 instead of 0.177; with one row a
/// thread (10⁵, 3, 256) takes 0.0407 instead of 0.0413, (10⁵, 3, 64) 0.0250 instead of 0.0232.
inline constexpr std::size_t few_search_rows = std::size_t{1} << 18;

/// Threads of a block that sums rows by label.
inline constexpr int sum_threads = 512;

/// Rows of so many columns and clusters, whose sums fill a block's shared memory or more, are sorted by label first, so
/// that a warp adds up those of a cluster and every row is read once (sum_sorted.cu). On an H200, in ms, by label and
/// sorted: 10⁶ rows × 768 columns and K = 4096 3.55 and 1.01, 10⁶ × 256 and K = 1000 0.508 and 0.346 (with a quarter of
/// the rows in one cluster 9.27 and 8.42), 10⁶ × 129 and K = 100 0.421 and 0.340, 10⁶ × 300 and K = 64 0.568 and 0.553,
/// 2²⁴ × 128 and K = 1000 3.93 and 3.65, 10⁵ × 256 and K = 100 0.078 and 0.079; but 10⁶ × 64 and K = 512 0.158 and
/// 0.171, 2²² × 32 and K = 256 0.294 and 0.540. Fewer than 64 clusters were not measured.
inline constexpr std::size_t least_sorted_columns = 128;
inline constexpr std::size_t least_sorted_numbers = 12900;
inline constexpr std::size_t least_sorted_clusters = 64;
inline constexpr std::size_t most_sorted_clusters = 32768;

/// Statistics of at most so many numbers are merged, and the centroids moved, by one kernel: one launch less in steps
/// that take tens of microseconds. Larger ones are moved by so many blocks.
inline constexpr std::size_t most_merged_and_moved = 4096;
inline constexpr int move_blocks = 64;

}  // namespace shoal::kmeans
