// What the host must know about the kernels whose warps share rows and divide components.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/products.hpp>
#include <shoal/gmm/cuda/few_columns/warp_products.hpp>

namespace shoal::gmm::few_columns {

/// Warps of a block, of which a multiprocessor has one. They are divided into teams: each has rows of its own, of which
/// each warp takes some of the components.
inline constexpr unsigned most_circle_warps = 16;
inline constexpr unsigned least_circle_parts = 2;

/// What is the same for all kernels of as many columns, once they are filled up.
struct circle_sizes {
  warp_circle circle;
  unsigned terms;  ///< float16 terms of a number
  bool large;      ///< teams of so many warps that threads have fewer registers

  /// Sums of 16 columns take 80 registers of a thread.
  constexpr bool short_of_registers() const { return circle.columns > 12; }
  /// Of a block, at most.
  constexpr unsigned warps() const { return short_of_registers() && !large ? 12 : most_circle_warps; }
  /// Sixteens of rows that a team has at a time.
  constexpr unsigned row_blocks() const { return terms == 1 || circle.columns == 12 ? 2 : 1; }
  /// Tiles of 16 components of a warp.
  constexpr unsigned tiles() const { return circle.columns == narrow_warp_columns ? 2 : 1; }
  constexpr unsigned components() const { return tiles() * product_components; }
  constexpr unsigned stage_rows() const { return row_blocks() * product_rows; }
  /// Features of sixteen rows, or coefficients of sixteen components.
  constexpr unsigned sixteen_bytes() const { return circle.steps() * terms * 512; }
  constexpr unsigned stage_bytes() const { return row_blocks() * sixteen_bytes(); }
  /// A warp's sums.
  constexpr unsigned sum_bytes() const { return tiles() * circle.features() * product_components * 4; }
};

/// What a launch is told.
struct circle_arguments : kernel_arguments<float> {
  unsigned columns = 0;
  unsigned parts = 0;  ///< warps of a team
  unsigned teams = 0;
  product_mixture mixture;
};

/// __global__ void(circle_arguments) for columns of so many in a circle.
const void* find_circle_kernel(const circle_sizes& sizes);
const void* find_circle_kernel_of_eight(unsigned terms);
const void* find_circle_kernel_of_twelve(unsigned terms);
const void* find_circle_kernel_of_sixteen(unsigned terms, bool large);
/// Of a block.
std::size_t circle_shared_bytes(const circle_sizes& sizes, unsigned parts, unsigned teams);

/// Writes `mixture`, whose operands are those of circle.features() features of `tiles` tiles, and who works, as
/// pack_products does. `deviations` [components][columns of the circle] is room to work.
void pack_circle(const prepared_parameters<float>& parameters, unsigned columns, unsigned components, unsigned tiles,
                 float* deviations, const product_mixture& mixture, cudaStream_t stream);

}  // namespace shoal::gmm::few_columns
