// How the kernels for wide rows arrange a mixture, and what they share of a chunk of rows; shared by host and device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_wide {

using tensor_float64::row_terms;
using row_chunk = tensor_float64::row_chunk<float>;

/// Rows, or columns of a result, of a tile; and what one stage of a product sums over.
inline constexpr int tile = 128;
inline constexpr int stage_depth = 64;
inline constexpr int stage_steps = stage_depth / 16;

/// Four warps each, in the order of their threads: two that multiply, two that fetch and split.
inline constexpr int multiplying_threads = 256;
inline constexpr int splitting_threads = 256;
inline constexpr int threads = multiplying_threads + splitting_threads;

template <class Count>
constexpr Count ceiling(Count a, Count b) {
  return (a + b - 1) / b;
}
constexpr unsigned tiles_of(unsigned columns) { return ceiling<unsigned>(columns, tile); }
/// Columns of a result that a tile has: as few as so many tiles need, of those that kernels are compiled for.
constexpr unsigned width_of(unsigned columns) {
  const unsigned least = ceiling(columns, tiles_of(columns));
  return least <= 72 ? 72 : (least <= 104 ? 104 : 128);
}
/// Columns of all tiles.
constexpr unsigned padded_columns(unsigned columns) { return tiles_of(columns) * width_of(columns); }
/// Rows of U that reach tile `t` of its columns: what is below the diagonal is zero.
constexpr unsigned rows_above(unsigned columns, unsigned t) {
  const unsigned end = (t + 1) * width_of(columns);
  return end < columns ? end : columns;
}
constexpr unsigned stages_of(unsigned columns) { return ceiling<unsigned>(columns, stage_depth); }
constexpr unsigned stages_above(unsigned columns, unsigned t) { return stages_of(rows_above(columns, t)); }
/// Stages of all tiles before tile `t`.
constexpr std::size_t stages_before(unsigned columns, unsigned t) {
  std::size_t sum = 0;
  for (unsigned i = 0; i < t; ++i) sum += stages_above(columns, i);
  return sum;
}

/// Whether a thread reads four neighbouring columns at once.
constexpr bool reads_vectors(unsigned columns) { return columns % 4 == 0; }
/// Columns of a step may be summed over in any order: element `j` of the eight in part `q` of a stage is this column of
/// it, so that a thread's four elements of a row are neighbours.
constexpr int stage_column(int q, int j) { return q / 2 * 16 + j / 2 * 4 + q % 2 * 2 + j % 2; }
/// Where part `q` of column `row` lies in an operand whose steps are `stride` apart.
constexpr int part_place(int row, int q, int stride) {
  return q / 2 * stride + row / 8 * 128 + q % 2 * 64 + row % 8 * 8;
}

/// A frame that all components share: rows about one origin, in units that are powers of two.
struct frame_arrays {
  int* apart = nullptr;      ///< not zero: the components are too far apart for densities; null: these do not use it
  int* near = nullptr;       ///< [K + 1] not zero: near enough for moments; last, whether any is; null: not for moments
  int* exponents = nullptr;  ///< [columns]
  float* origin = nullptr;   ///< [columns]
  float2* scales = nullptr;  ///< [columns, whole stages] s, −o s
  float* offsets = nullptr;  ///< [K][columns, whole tiles] those of the mixture less Uᵀ(c − o)
};

/// A mixture and its buffers on the device. Column i of component k is taken in units of 2^exponents[i], about its
/// centre.
struct problem {
  kernel_layout layout;
  int products = 3;         ///< of float16 terms for one of float32 grade; 1: of first terms, 11 bits, alone
  unsigned processors = 0;  ///< of this GPU
  prepared_parameters<float> parameters;

  int* exponents = nullptr;          ///< [K, 1 for tied][columns]
  float* norms = nullptr;            ///< [K, 1 for tied][columns] one over a column's deviation given the others
  int* coupled = nullptr;            ///< [K, 1 for tied] not zero: the factor is not diagonal
  float2* scales = nullptr;          ///< [K][columns, whole stages] s, −c s
  float* offsets = nullptr;          ///< [K][columns, whole tiles]
  double* corrections = nullptr;     ///< [K, 1 for tied] what the factor's determinant gained when it was rounded, ln
  std::uint16_t* factors = nullptr;  ///< [K, 1 for tied][tile][stage][step][term][width × 16]
  std::size_t factor_size = 0;       ///< of one component
  frame_arrays frame;                ///< of mixtures whose rows may be moved into one; origin is null for others
  int* far_tiles = nullptr;          ///< [tiles of a chunk] whether float32 is too coarse for one of its rows
  int* any_far = nullptr;            ///< whether one of all rows has been, in any chunk

  __host__ __device__ int terms() const { return products == 3 ? 2 : 1; }
  __host__ __device__ bool tied() const { return layout.type == covariance_type::tied; }
};

/// ‖y‖² from which on a row is done again in float64.
constexpr double far_limit(unsigned columns) { return static_cast<double>(far_norm) + 2.0 * columns; }

}  // namespace shoal::gmm::tensor_wide
