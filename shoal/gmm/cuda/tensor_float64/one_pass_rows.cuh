// Tiles of float32 rows that are read once: what a group of four warps has of them in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_ring.cuh>

namespace shoal::gmm::tensor_float64 {

template <bool Spherical, int Components, int Products, int Width>
struct one_pass_shape {
  static constexpr bool spherical = Spherical;
  static constexpr int components = Components;
  static constexpr int products = Products;
  static constexpr int width = Width;  // columns
  static constexpr int features = Spherical ? 1 : 2;
  static constexpr int terms = static_cast<int>(half_terms(Products));
  static constexpr int rows = static_cast<int>(score_tile_rows);
  static constexpr int eights = Components / 8;
  static constexpr int operand = Components * frame_step;  // numbers of one
  static constexpr int groups = static_cast<int>(one_pass_groups(Spherical, Components, Width));
  // The moments' products have 64 columns: 32 leave room for both features in one.
  static constexpr int halves = Width == 128 ? 2 : 1;
  static constexpr int sets = Width == 32 ? 1 : features;
  // Sets whose sums have registers beside all totals.
  static constexpr int sets_at_once = Width == 128 && Components == 64 ? 1 : sets;
};

/// What a group has in shared memory.
template <class Shape>
struct alignas(128) one_pass_memory {
  float rows[2][Shape::rows * Shape::width];
  std::uint16_t responsibilities[Shape::rows / 16][Shape::terms][Shape::operand];
  // What its warps tell each other.
  double scores[4][2];
  float greatest[4];
  int far[4];
};

/// The same at the end of a section, where its responsibilities were.
template <class Shape>
struct one_pass_weights {
  float weights[4][Shape::components];
  float norms[4][Shape::components];
};

/// Rows of a multiple of four columns lie in lines of all banks, where the threads' copies put them; others one after
/// the other, as one copy brings the whole tile.
struct one_pass_rows {
  const float* values;
  int columns;  // that a row takes
  bool in_lines;

  /// Of lines the fours of columns change places, so that both readings hit different banks: four columns of rows r and
  /// r + 1, and eight columns of rows r, r + 8, r + 16 and r + 24.
  __device__ static constexpr int swizzle(int row) { return (row >> 3 & 1) << 1 | ((row >> 4 ^ row) & 1) << 2; }
  __device__ int swizzle_of(int row) const { return in_lines ? swizzle(row) : 0; }

  /// Four columns of a row from a multiple of four on, of as many as there are.
  __device__ float4 four(int row, int column, int past) const {
    const float* const from = values + row * columns;
    if (in_lines) return *reinterpret_cast<const float4*>(from + (column ^ 4 * swizzle(row)));
    return make_float4(column < past ? from[column] : 0.0F, column + 1 < past ? from[column + 1] : 0.0F,
                       column + 2 < past ? from[column + 2] : 0.0F, column + 3 < past ? from[column + 3] : 0.0F);
  }
};

/// The row of a tile at place 2 p + b + 8 h of step `step` of 16 rows, where i is 2 h + b: as the moments' products
/// take them, so that one thread's are neighbours.
__device__ constexpr int one_pass_row(int step, int p, int i) { return step / 2 * 32 + step % 2 * 4 + 8 * p + i; }

/// Copies a tile of rows into lines; zeros beyond the last column, and the last row again beyond it.
template <class Shape>
__device__ void fetch_one_pass_lines(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                     float* to) {
  constexpr unsigned across = Shape::width / 4, down = group_threads / across;
  const unsigned own = threadIdx.x % group_threads;
  const unsigned column = own % across * 4, row = own / across;
  const unsigned past = (columns + frame_step - 1) / frame_step * frame_step;
  if (column >= past) return;
  const unsigned bytes = column < columns ? 4 * sizeof(float) : 0;
  const float* const from = chunk.rows + (bytes != 0 ? column : 0);
#pragma unroll 4
  for (unsigned r = row; r < Shape::rows; r += down) {
    copy_async<4 * sizeof(float)>(
        to + r * Shape::width + (column ^ static_cast<unsigned>(4 * one_pass_rows::swizzle(static_cast<int>(r)))),
        from + min(first_row + r, chunk.count - 1) * columns, bytes);
  }
}

/// Copies a tile of rows that are not in lines, number by number.
template <class Shape>
__device__ void fetch_one_pass_numbers(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                       float* to) {
  const unsigned column = threadIdx.x % group_threads % 32;
  for (unsigned r = threadIdx.x % group_threads / 32; r < Shape::rows; r += group_threads / 32) {
    const float* const from = chunk.rows + min(first_row + r, chunk.count - 1) * columns;
    for (unsigned j = column; j < columns; j += 32) {
      copy_async<sizeof(float)>(to + r * columns + j, from + j, sizeof(float));
    }
  }
}

}  // namespace shoal::gmm::tensor_float64
