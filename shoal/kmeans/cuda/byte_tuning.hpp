// Which fits of k-means in bf16 are searched by products of bytes, with what measurement said.
#pragma once

#include <cstddef>

#include <shoal/kmeans/cuda/tuning.hpp>

namespace shoal::kmeans {

/// In bf16, rows of fits are searched by products of bytes first, where they lie so that these keep the promise of
/// bf16: a step of 2²⁴ rows × 128 columns and K = 1000 takes 6.61 ms on an H200 so and 12.0 without, 2²² × 128 and K =
/// 1000, 256 and 4096 1.79 and 3.05, 1.17 and 1.47, 4.71 and 8.83, 2²⁰ × 96 and 128 and K = 1000 0.528 and 0.690, 0.502
/// and 0.775. Two centroids each are compared for the proof, which rows must outweigh. Of uniform rows of 256 columns
/// many keep the promise in the first steps only: 2²⁰ × 256 and K = 1000 took 1.46 and 1.26.
inline constexpr std::size_t least_byte_columns = 65, least_byte_clusters = 97;
inline constexpr std::size_t least_byte_rows_of_cluster = 64, least_byte_pairs = std::size_t{1} << 26;
constexpr bool is_searched_in_bytes(std::size_t rows, std::size_t columns, std::size_t clusters) {
  return rows >= least_float16_rows && columns >= least_byte_columns && clusters >= least_byte_clusters &&
         rows >= least_byte_rows_of_cluster * clusters && rows * clusters >= least_byte_pairs;
}

/// No entry of the rows may be so many times the root of their mean square: 1.73 times it is uniform ones', five times
/// and more are those of many normal rows, of which too many would miss the promise. A step whose rows are all left to
/// float16 products takes 3.20 ms at 2²² × 128 and K = 1000, and 2.64 at 2²⁰ × 128 and K = 4096.
inline constexpr double most_byte_spread = 2.5;
inline constexpr double least_byte_extent = 1e-12, most_byte_extent = 1e12;

}  // namespace shoal::kmeans
