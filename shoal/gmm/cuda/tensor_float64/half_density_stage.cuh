// A stage of the log-densities of float32 rows by products of float16 terms, and how rows come into it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_ring.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_stretches.hpp>

namespace shoal::gmm::tensor_float64 {

/// A block has all components, and each group of four warps a score tile of rows. `Lines`: rows are not of a multiple
/// of four columns.
template <bool Spherical, int Components, int Products, bool Lines>
struct half_density_shape {
  static constexpr bool lines = Lines;
  static constexpr bool spherical = Spherical;
  static constexpr int components = Components;
  static constexpr int products = Products;
  static constexpr int features = Spherical ? 1 : 2;
  static constexpr int terms = static_cast<int>(half_terms(Products));
  static constexpr int groups = static_cast<int>(half_density_groups(Components));
  static constexpr int rows = groups * static_cast<int>(score_tile_rows);
  static constexpr int operand = Components * frame_step;  // numbers of one operand
};
static_assert(score_tile_rows == 64);

inline constexpr int half_line = half_steps * frame_step + 4;

template <class Shape>
struct half_density_stage {
  std::uint16_t operands[half_steps][Shape::terms][Shape::features][Shape::operand];
  float2 units[half_steps * frame_step];
  float rows[Shape::lines ? Shape::rows * half_line : half_steps * (Shape::rows + 1) * frame_step];
};

/// Four columns of a row of a tile in a stage, from a multiple of four on. Rows of a multiple of four columns lie step
/// by step, unpadded: two rows' four columns each hit all banks, and the steps lie half of the banks apart. Others lie
/// in lines with the numbers around them, as they lie in memory from a multiple of 16 bytes on, so that copies are of
/// 16 bytes: a row begins `shift` numbers further on. Lines of 36 numbers are read without conflicts when the columns
/// are odd.
template <class Shape>
__device__ float4 half_row_four(const half_density_stage<Shape>& stage, int step, int row, int column, int shift) {
  if constexpr (Shape::lines) {
    const float* const from = stage.rows + row * half_line + step * frame_step + column + shift;
    return make_float4(from[0], from[1], from[2], from[3]);
  } else {
    return *reinterpret_cast<const float4*>(stage.rows + step * (Shape::rows * frame_step + frame_step) +
                                            row * frame_step + column);
  }
}

/// Copies a stage of the columns of a tile's rows, of a multiple of four columns; zeros beyond the last column, and the
/// last row again beyond it.
template <class Shape>
__device__ void fetch_half_columns(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                   unsigned first_column, half_density_stage<Shape>& stage) {
  constexpr unsigned per_row = half_steps * frame_step / 4;
  const unsigned own = threadIdx.x % group_threads;
  const unsigned r = own / per_row, j = own % per_row * 4;
  const unsigned bytes = first_column + j < columns ? 4 * sizeof(float) : 0;
  const float* const from = chunk.rows + (bytes != 0 ? first_column + j : 0);
  float* const to =
      stage.rows + j / frame_step * (Shape::rows * frame_step + frame_step) + r * frame_step + j % frame_step;
  if (first_row + Shape::rows <= chunk.count) {
    // One addition a row: whoever fetches is behind the products else.
    const float* line = from + (first_row + r) * columns;
    const unsigned place = cuda::shared_address(to);
#pragma unroll
    for (unsigned e = 0; e < Shape::rows; e += group_threads / per_row, line += group_threads / per_row * columns) {
      copy_16_async_of_line(place + e * frame_step * sizeof(float), line, bytes);
    }
    return;
  }
#pragma unroll 1
  for (unsigned e = 0; e < Shape::rows; e += group_threads / per_row) {
    const std::size_t row = min(first_row + r + e, chunk.count - 1);
    copy_async<4 * sizeof(float)>(to + e * frame_step, from + row * columns, bytes);
  }
}

/// The same of other columns and of whole tiles, in lines of 16 bytes.
template <class Shape>
__device__ void fetch_half_lines(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                 unsigned first_column, half_density_stage<Shape>& stage) {
  constexpr unsigned per_row = half_steps * frame_step / 4;
  const unsigned own = threadIdx.x % group_threads;
  // Rows `r` and those `apart`, a multiple of four, further on.
  const auto copy = [&](unsigned r, unsigned four, auto apart_of) {
    constexpr unsigned apart = apart_of();
    const int column = static_cast<int>(first_column + 4 * four - r * columns % 4);
    const int there = min(max(static_cast<int>(columns) - column, 0), 4);
    const float* const from = chunk.rows + (first_row + r) * columns + (there > 0 ? column : 0);
    const float* const aligned = there > 0 ? from : from - r * columns % 4;
    const unsigned to = cuda::shared_address(stage.rows + r * half_line + 4 * four);
    const float* line = aligned;
#pragma unroll
    for (unsigned e = 0; e < Shape::rows; e += apart, line += apart * columns) {
      if (Shape::rows % apart != 0 && r + e >= Shape::rows) break;
      copy_16_async_of_line(to + e * half_line * sizeof(float), line, static_cast<unsigned>(there) * sizeof(float));
    }
  };
  copy(own / per_row, own % per_row, std::integral_constant<unsigned, group_threads / per_row>());
  // What the shift moves beyond the others.
  if (own * columns % 4 != 0) copy(own, per_row, std::integral_constant<unsigned, group_threads>());
}

/// The same, number by number: of the last tile, and of rows that do not begin at 16 bytes.
template <class Shape>
__device__ void fetch_half_numbers(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                   unsigned first_column, half_density_stage<Shape>& stage) {
  const unsigned column = threadIdx.x % 32;
  const unsigned bytes = first_column + column < columns ? sizeof(float) : 0;
  const float* const from = chunk.rows + (bytes != 0 ? first_column + column : 0);
  for (unsigned r = threadIdx.x % group_threads / 32; r < Shape::rows; r += group_threads / 32) {
    const std::size_t row = min(first_row + r, chunk.count - 1);
    copy_async<sizeof(float)>(stage.rows + r * half_line + r * columns % 4 + column, from + row * columns, bytes);
  }
}

}  // namespace shoal::gmm::tensor_float64
