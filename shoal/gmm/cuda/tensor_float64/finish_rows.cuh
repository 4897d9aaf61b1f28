// What a block does with the log-densities of its rows under a tile of components, which lie in its threads' registers
// as multiply_add() leaves them.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// How a block divides its tile: warps down the rows, and what each of them has.
template <int WarpsDown, int Sixteens, int Eights, int Resident>
struct density_tile {
  static constexpr int warps_down = WarpsDown;
  static constexpr int warps_across = threads / 32 / WarpsDown;
  static constexpr int sixteens = Sixteens;  // of rows of a warp
  static constexpr int eights = Eights;      // of components of a warp
  static constexpr int rows = WarpsDown * Sixteens * 16;
  static constexpr int components = warps_across * Eights * 8;
  static constexpr int resident = Resident;  // blocks of a multiprocessor
  static_assert(rows % score_tile_rows == 0);
};

/// The log-densities of a thread: of row `row(m, part)` in the tile, under components `component(n)` and the next.
template <class Tile>
struct tile_densities {
  double values[Tile::sixteens][Tile::eights][4] = {};
  int across = static_cast<int>(threadIdx.x) / 32 % Tile::warps_across;
  int place = static_cast<int>(threadIdx.x) % 4;

  __device__ int row(int m, int part) const {
    const int down = static_cast<int>(threadIdx.x) / 32 / Tile::warps_across;
    return (down * Tile::sixteens + m) * 16 + 8 * part + static_cast<int>(threadIdx.x) % 32 / 4;
  }
  __device__ int component(int n) const { return (across * Tile::eights + n) * 8 + 2 * place; }

  /// Adds what products do not have: constants, and of spherical components curves times the rows' ‖z‖².
  template <bool Spherical>
  __device__ void add_constants(const component_frame& frame, unsigned first, const double (&norm)[Tile::sixteens][2]) {
#pragma unroll
    for (int n = 0; n < Tile::eights; ++n) {
      const double2 constant = *reinterpret_cast<const double2*>(frame.constants + first + component(n));
      double2 curve = make_double2(0, 0);
      if constexpr (Spherical) curve = *reinterpret_cast<const double2*>(frame.curves + first + component(n));
#pragma unroll
      for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          values[m][n][e] += e % 2 == 0 ? constant.x : constant.y;
          if constexpr (Spherical) {
            values[m][n][e] = fma(e % 2 == 0 ? curve.x : curve.y, norm[m][e / 2], values[m][n][e]);
          }
        }
      }
    }
  }

  template <class Term>
  __device__ void store(Term* terms, std::size_t stride, std::size_t first_row, std::size_t past_row, unsigned first,
                        unsigned components) const {
#pragma unroll
    for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
      for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const unsigned k = first + component(n) + e % 2;
          const std::size_t at = first_row + row(m, e / 2);
          if (at < past_row && k < components) terms[k * stride + at] = static_cast<Term>(values[m][n][e]);
        }
      }
    }
  }
};

/// Numbers of shared memory that finish_rows() takes.
template <class Tile>
constexpr int finish_numbers() {
  return (2 * Tile::warps_across + 1) * Tile::rows + Tile::rows / 16;
}

/// Log-densities of all components to responsibilities times weights, and the rows' part of the score. `memory` is of
/// finish_numbers() numbers, which no thread uses any more.
template <class Scalar, class Tile>
__device__ void finish_rows(tile_densities<Tile>& of, const row_chunk<Scalar>& chunk, std::size_t first_row,
                            const row_terms& terms, double log_shift, double* memory) {
  double* const greatest_of = memory;                                    // [warps across][rows]
  double* const sum_of = greatest_of + Tile::warps_across * Tile::rows;  // [warps across][rows]
  double* const scale_of = sum_of + Tile::warps_across * Tile::rows;     // [rows]
  double* const scores = scale_of + Tile::rows;                          // [rows / 32][2]
  const auto greatest = [&](int row) {
    double most = greatest_of[row];
#pragma unroll
    for (int w = 1; w < Tile::warps_across; ++w) most = fmax(most, greatest_of[w * Tile::rows + row]);
    return most;
  };
#pragma unroll
  for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      double most = -INFINITY;
#pragma unroll
      for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
        for (int e = 2 * part; e < 2 * part + 2; ++e) {
          // A comparison, not a maximum: it leaves out a NaN.
          if (of.values[m][n][e] > most) most = of.values[m][n][e];
        }
      }
      most = fmax(most, __shfl_xor_sync(~0U, most, 1));
      most = fmax(most, __shfl_xor_sync(~0U, most, 2));
      if (of.place == 0) greatest_of[of.across * Tile::rows + of.row(m, part)] = most;
    }
  }
  __syncthreads();
#pragma unroll
  for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const double most = greatest(of.row(m, part));
      double sum = 0;
#pragma unroll
      for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
        for (int e = 2 * part; e < 2 * part + 2; ++e) {
          const double ratio = of.values[m][n][e] - most;
          of.values[m][n][e] = ratio >= -negligible_log_ratio<Scalar> ? exp(ratio) : 0;
          sum += of.values[m][n][e];
        }
      }
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      if (of.place == 0) sum_of[of.across * Tile::rows + of.row(m, part)] = sum;
    }
  }
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.x); row < Tile::rows; row += threads) {
    double sum = 0;
#pragma unroll
    for (int w = 0; w < Tile::warps_across; ++w) sum += sum_of[w * Tile::rows + row];
    double weight = 0, log_likelihood = 0;
    if (first_row + row < chunk.count) {
      weight = chunk.weights == nullptr ? 1.0 : static_cast<double>(chunk.weights[first_row + row]);
      // A row that weighs nothing may have a density of zero.
      if (weight > 0) log_likelihood = weight * (greatest(row) + log(sum) + log_shift);
    }
    scale_of[row] = weight > 0 ? weight / sum : 0;
    log_likelihood = cuda::warp_sum(log_likelihood);
    weight = cuda::warp_sum(weight);
    if (row % 32 == 0) {
      scores[row / 32 * 2] = log_likelihood;
      scores[row / 32 * 2 + 1] = weight;
    }
  }
  __syncthreads();
  if (threadIdx.x < 2 * Tile::rows / score_tile_rows) {
    const unsigned tile = threadIdx.x / 2, which = threadIdx.x % 2;
    if (first_row + tile * score_tile_rows < chunk.count) {
      terms.sums[2 * (first_row / score_tile_rows + tile) + which] =
          scores[4 * tile + which] + scores[4 * tile + 2 + which];
    }
  }
#pragma unroll
  for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const double scale = scale_of[of.row(m, part)];
#pragma unroll
      for (int n = 0; n < Tile::eights; ++n) {
        of.values[m][n][2 * part] *= scale;
        of.values[m][n][2 * part + 1] *= scale;
      }
    }
  }
}

}  // namespace shoal::gmm::tensor_float64
