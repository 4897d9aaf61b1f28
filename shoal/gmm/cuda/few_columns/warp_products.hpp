// What the host must know about the kernels whose warps make the operands of their products in registers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/few_columns/teams.hpp>

namespace shoal::gmm::few_columns {

/// Rows of a product.
inline constexpr unsigned warp_product_rows = 16;

/// Components of a tile.
inline constexpr unsigned warp_product_tile = 8;
constexpr unsigned warp_product_tiles(unsigned components) {
  return (components + warp_product_tile - 1) / warp_product_tile;
}

/// Four threads share a row. Each has some columns of its own and those that follow, in a circle, and makes as many
/// features as the others by the same code: its own columns, then the products of each of these with the columns 0, 1,
/// 2 … up to half of all columns further on. Products of columns that lie half of them apart would come twice: for
/// threads 2 and 3 they stand for 1.
struct warp_circle {
  unsigned columns;  ///< 8, 12 or 16; fewer are filled up with zeros

  constexpr unsigned thread_columns() const { return columns / 4; }
  constexpr unsigned features() const { return columns * (2 + columns / 2); }
  constexpr unsigned steps() const { return features() / 16; }  ///< products of 16 features each

  /// Where feature `slot` of thread t lies among the operands: a thread has four neighbouring places of each product,
  /// two and two.
  static constexpr unsigned place(unsigned slot, unsigned thread) {
    return slot / 4 * 16 + slot % 4 / 2 * 8 + 2 * thread + slot % 2;
  }
  constexpr unsigned line_place(unsigned i) const { return place(i % thread_columns(), i / thread_columns()); }
  /// Of z(i) z(j), i <= j.
  constexpr unsigned pair_place(unsigned i, unsigned j) const {
    const bool beyond = 2 * (j - i) > columns;
    const unsigned first = beyond ? j : i, apart = beyond ? columns - (j - i) : j - i;
    return place(thread_columns() * (1 + apart) + first % thread_columns(), first / thread_columns());
  }
  constexpr unsigned one_place() const { return place(thread_columns() * (1 + columns / 2), 2); }
};

/// Columns that there are kernels for. Up to the first number a warp has a row's columns, features and coefficients in
/// its registers (warp_product_kernel.cuh), beyond it as many of them as it has registers for
/// (wider_warp_kernel.cuh).
inline constexpr unsigned least_warp_product_columns = 5;
inline constexpr unsigned narrow_warp_columns = 8;
inline constexpr unsigned most_warp_product_columns = 16;
constexpr warp_circle warp_circle_of(std::size_t columns) {
  return {columns <= narrow_warp_columns ? narrow_warp_columns : columns <= 12 ? 12U : 16U};
}

/// The most components that warps have registers for the sums of.
constexpr unsigned most_warp_product_components(std::size_t columns) { return columns <= 12 ? 32 : 16; }

/// What is the same for all kernels of as many columns, once they are filled up.
struct warp_sizes {
  warp_circle circle;
  unsigned tiles;
  unsigned terms = 2;  ///< float16 terms of a number: one where float32's digits are not asked for

  constexpr bool narrow() const { return circle.columns == narrow_warp_columns; }
  /// Of a block, of which a multiprocessor has one: sums of many components take many registers.
  constexpr unsigned warps() const {
    if (narrow()) return tiles <= 2 ? 16 : 8;
    if (circle.steps() * tiles > 12) return 8;
    return tiles == 1 && terms == 1 ? 16 : 12;
  }
  /// That warps do not wait for each other in between.
  constexpr unsigned groups() const { return narrow() ? 2 : 1; }
  constexpr unsigned components() const { return tiles * warp_product_tile; }
  /// Numbers of the features of sixteen rows: four matrices of 8 × 8 of each term and product; and of their
  /// responsibilities, two of each term and tile of components, of an even number of these.
  constexpr unsigned feature_numbers() const { return circle.steps() * terms * 4 * 64; }
  constexpr unsigned share_numbers() const { return (tiles + 1) / 2 * terms * 4 * 64; }
  /// That a warp keeps while it makes the next.
  constexpr unsigned feature_buffers() const { return narrow() ? 2 : 1; }
  /// Of a warp: its rows, and then its sums, where those of two groups do not lie apart.
  constexpr unsigned exchange_bytes() const {
    const unsigned rows = (feature_buffers() * feature_numbers() + share_numbers()) * 2;
    return rows < sum_bytes() ? sum_bytes() : rows;
  }
  constexpr unsigned sum_bytes() const { return tiles * circle.steps() * 4 * 32 * 4; }
  /// Of coefficients.
  constexpr unsigned operand_numbers() const { return tiles * circle.steps() * 2 * 32 * 4; }
};

/// The same for a kernel.
template <int Columns, int Tiles, int Terms = 2>
struct warp_shape {
  static constexpr int columns = Columns, tiles = Tiles, terms = Terms;
  static constexpr warp_circle circle = warp_circle_of(Columns);
  static constexpr warp_sizes sizes{circle, Tiles, Terms};
};

/// What such a launch is told: as the teams are, and where it says that it has done the work.
struct warp_product_arguments : team_arguments {
  int* others_stopped = nullptr;  ///< set to whether others have nothing left to do
  unsigned lane_count = 0;        ///< of a shard: at least as many as it has blocks
};

/// The kernel for so many columns, components and float16 terms; null where there is none.
const void* find_warp_product_kernel(std::size_t columns, std::size_t components, unsigned terms);
/// That for up to 8 columns where one term will do, that for 9 to 12 columns, and that for 13 to 16.
const void* find_narrow_kernel_of_one_term(std::size_t columns, unsigned tiles);
const void* find_kernel_of_twelve(std::size_t columns, unsigned tiles, unsigned terms);
const void* find_kernel_of_sixteen(std::size_t columns, unsigned tiles, unsigned terms);
/// Of a block.
std::size_t warp_product_shared_bytes(const warp_sizes& sizes, std::size_t components, std::size_t statistics);

}  // namespace shoal::gmm::few_columns
