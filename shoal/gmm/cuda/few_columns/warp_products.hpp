// What the host must know about the kernels whose warps make the operands of their products in registers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/few_columns/teams.hpp>

namespace shoal::gmm::few_columns {

/// Rows of a product.
inline constexpr unsigned warp_product_rows = 16;

/// Columns that operands are made for; fewer are filled up with zeros. Components of a tile, and the most that warps
/// have registers for.
inline constexpr unsigned least_warp_product_columns = 5;
inline constexpr unsigned warp_product_columns = 8;
inline constexpr unsigned warp_product_tile = 8;
inline constexpr unsigned most_warp_product_tiles = 4;
inline constexpr unsigned most_warp_product_components = most_warp_product_tiles * warp_product_tile;

constexpr unsigned warp_product_tiles(unsigned components) {
  return (components + warp_product_tile - 1) / warp_product_tile;
}
/// Warps of a block, of which a multiprocessor has one: sums of many components take twice as many registers.
constexpr unsigned warp_product_warps(unsigned tiles) { return tiles <= 2 ? 16 : 8; }

/// Four threads share a row. Thread t has its columns from 2 t on, in a circle, and makes twelve features of them: two
/// columns, then the products of each of these two with the 0, 1, 2, 3 and 4 columns further on. Products of columns
/// that lie four apart would come twice: for threads 2 and 3 they stand for 1.
inline constexpr unsigned warp_features = 48;
inline constexpr unsigned warp_steps = warp_features / 16;  ///< products of 16 features each
inline constexpr unsigned thread_columns = 2;

/// Where feature `slot` of thread t lies among the operands: a thread has four neighbouring places of each product, two
/// and two.
constexpr unsigned warp_feature_place(unsigned slot, unsigned thread) {
  return slot / 4 * 16 + slot % 4 / 2 * 8 + 2 * thread + slot % 2;
}
constexpr unsigned line_place(unsigned i) { return warp_feature_place(i % thread_columns, i / thread_columns); }
/// Of z(i) z(j), i <= j.
constexpr unsigned pair_place(unsigned i, unsigned j) {
  const bool beyond = 2 * (j - i) > warp_product_columns;
  const unsigned first = beyond ? j : i, apart = beyond ? warp_product_columns - (j - i) : j - i;
  return warp_feature_place(thread_columns * (1 + apart) + first % thread_columns, first / thread_columns);
}
inline constexpr unsigned one_place = warp_feature_place(thread_columns * (1 + warp_product_columns / 2), 2);

/// What such a launch is told: as the teams are, and where it says that it has done the work.
struct warp_product_arguments : team_arguments {
  int* others_stopped = nullptr;  ///< set to whether others have nothing left to do
  unsigned lane_count = 0;        ///< of a shard: at least as many as it has blocks
};

/// The kernel for 5 to 8 columns; null where there is none.
const void* find_warp_product_kernel(std::size_t columns, std::size_t components);
/// Of a block.
std::size_t warp_product_shared_bytes(std::size_t components, std::size_t statistics);

}  // namespace shoal::gmm::few_columns
