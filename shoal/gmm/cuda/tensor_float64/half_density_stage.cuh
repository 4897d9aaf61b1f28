// A stage of the log-densities of float32 rows by products of float16 terms, and how rows come into it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_ring.cuh>

namespace shoal::gmm::tensor_float64 {

/// A block has all components, and each group of four warps a score tile of rows.
template <bool Spherical, int Components, int Products>
struct half_density_shape {
  static constexpr bool spherical = Spherical;
  static constexpr int components = Components;
  static constexpr int products = Products;
  static constexpr int features = Spherical ? 1 : 2;
  static constexpr int terms = static_cast<int>(half_terms(Products));
  static constexpr int groups = Components <= 64 ? 3 : 2;
  static constexpr int rows = groups * static_cast<int>(score_tile_rows);
  static constexpr int operand = Components * frame_step;  // numbers of one operand
};
static_assert(score_tile_rows == 64);

template <class Shape>
struct half_density_stage {
  std::uint16_t operands[half_steps][Shape::terms][Shape::features][Shape::operand];
  float2 units[half_steps * frame_step];
  // Unpadded: two rows' four columns each hit all banks. The steps lie half of the banks apart.
  float rows[half_steps][Shape::rows * frame_step + frame_step];
};

/// Copies a step of the columns of a tile's rows; zeros beyond the last column, and the last row again beyond it.
template <int Width, class Shape>
__device__ void fetch_half_columns(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                   unsigned first_column, half_density_stage<Shape>& stage) {
  constexpr unsigned per_row = half_steps * frame_step / Width;
  const unsigned own = threadIdx.x % group_threads;
  const unsigned r = own / per_row, j = own % per_row * Width;
  const unsigned bytes = first_column + j < columns ? Width * sizeof(float) : 0;
  const float* const from = chunk.rows + (bytes != 0 ? first_column + j : 0);
  float* const to = &stage.rows[j / frame_step][r * frame_step + j % frame_step];
#pragma unroll 8
  for (unsigned e = 0; e < Shape::rows; e += group_threads / per_row) {
    const std::size_t row = min(first_row + r + e, chunk.count - 1);
    copy_async<Width * sizeof(float)>(to + e * frame_step, from + row * columns, bytes);
  }
}

}  // namespace shoal::gmm::tensor_float64
