// Log-densities of tied mixtures in their frame: a warp whitens 16 rows, which stay in its registers, and multiplies
// them with the components' lines. Of few components a block goes on to responsibilities.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/row_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/tied_frame.hpp>

namespace shoal::gmm::tensor_float64 {

/// Eights of components whose products a warp has at a time.
inline constexpr int line_eights = line_components / 8;

template <int Eights>
struct tied_stage {
  static constexpr int tiles = Eights * (Eights + 1) / 2;
  static constexpr int stride = 8 * Eights + (Eights % 2 == 0 ? 8 : 0);
  /// The number of tile (q, j) of 8 × 8 of U on and above the diagonal, row by row.
  static constexpr int at(int q, int j) { return q * Eights - q * (q - 1) / 2 + j - q; }
  double factor[tiles][64];  // as fragments lie
  double lines[2][line_components * stride];
  double constants[2][line_components];
};

template <int Eights>
__device__ void fetch_factor(const kernel_layout& layout, const double* factor, tied_stage<Eights>& stage) {
  const unsigned d = layout.columns, lane = threadIdx.x % 32;
#pragma unroll
  for (int q = 0; q < Eights; ++q) {
    for (int j = q + static_cast<int>(threadIdx.x) / 32; j < Eights; j += row_shape<Eights>::threads / 32) {
      double* const to = stage.factor[tied_stage<Eights>::at(q, j)] + 2 * lane;
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned row = 8 * q + 4 * half + lane % 4, column = 8 * j + lane / 4;
        const bool inside = row <= column && column < d;
        copy_async<8>(to + half, inside ? factor + std::size_t{row} * d + column : factor, inside ? 8 : 0);
      }
    }
  }
}

template <int Eights>
__device__ void fetch_lines(const tied_frame& frame, unsigned columns, unsigned first, unsigned turn,
                            tied_stage<Eights>& stage) {
  constexpr unsigned per_line = 4 * Eights, own_threads = row_shape<Eights>::threads;
  const double* const from = frame.lines + std::size_t{first} * line_stride(columns);
  for (unsigned e = threadIdx.x; e < line_components * per_line; e += own_threads) {
    const unsigned k = e / per_line, j = e % per_line * 2;
    copy_async<16>(&stage.lines[turn][k * tied_stage<Eights>::stride + j], from + k * line_stride(columns) + j, 16);
  }
  if (threadIdx.x < line_components / 2) {
    copy_async<16>(&stage.constants[turn][2 * threadIdx.x], frame.constants + first + 2 * threadIdx.x, 16);
  }
}

/// z to v = Uᵀz in place, and ‖v‖² of rows `group` and `group` + 8. What multiply_add() leaves as its columns 2t and
/// 2t + 1 are read as columns t and t + 4 of what it multiplies, which lines are read by too.
template <int Eights, int Pass>
__device__ __forceinline__ void whiten(const tied_stage<Eights>& stage, double (&x)[Eights][4], double (&norm)[2]) {
  using pass = pass_tiles<Eights, Pass>;
  const unsigned lane = threadIdx.x % 32;
  double product[pass::count][4] = {};
#pragma unroll
  for (int q = 0; q < pass::past; ++q) {
#pragma unroll
    for (int j = pass::start(q); j < pass::past; ++j) {
      const double2 two = *reinterpret_cast<const double2*>(stage.factor[tied_stage<Eights>::at(q, j)] + 2 * lane);
      const double b[2] = {two.x, two.y};
      multiply_add(product[j - pass::first], x[q], b);
    }
  }
#pragma unroll
  for (int j = 0; j < pass::count; ++j) {
    const double(&v)[4] = product[j];
    norm[0] = fma(v[0], v[0], fma(v[1], v[1], norm[0]));
    norm[1] = fma(v[2], v[2], fma(v[3], v[3], norm[1]));
    x[pass::first + j][0] = v[0];
    x[pass::first + j][1] = v[2];
    x[pass::first + j][2] = v[1];
    x[pass::first + j][3] = v[3];
  }
}

/// A block for each tile of rows and each share of the components, in tiles of line_components. `Finish`: the share is
/// all of them, and the block leaves responsibilities times weights and the rows' part of the score.
template <class Scalar, int Eights, bool Finish>
__global__ void __launch_bounds__(row_shape<Eights>::threads, row_shape<Eights>::resident)
    tied_densities(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk, const double* factor,
                   const double* log_shift, const tied_frame frame, const row_terms terms, unsigned tiles_of_block,
                   const int* stopped) {
  constexpr int row_block = row_shape<Eights>::rows;
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.together == 0) return;
  extern __shared__ __align__(128) unsigned char memory[];
  auto& stage = *reinterpret_cast<tied_stage<Eights>*>(memory);
  double* const own_terms = reinterpret_cast<double*>(memory + sizeof(stage));  // [component][row], Finish

  const unsigned d = layout.columns;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  const std::size_t first_row = std::size_t{blockIdx.x} * row_block;
  const unsigned own_row = threadIdx.x / 32 * 16 + group;
  const unsigned tiles = (layout.components + line_components - 1) / line_components;
  const unsigned begin = blockIdx.y * tiles_of_block, past = min(begin + tiles_of_block, tiles);

  fetch_factor<Eights>(layout, factor, stage);
  fetch_lines<Eights>(frame, d, begin * line_components, begin % 2, stage);
  end_copies();
  // As multiply_add() wants them: rows group and group + 8, columns place and place + 4 of each eight.
  double x[Eights][4];
#pragma unroll
  for (int q = 0; q < Eights; ++q) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const std::size_t row = first_row + own_row + 8 * (e % 2);
      const unsigned column = 8 * q + place + 4 * (e / 2);
      x[q][e] = row < chunk.count && column < d
                    ? static_cast<double>(chunk.rows[row * d + column]) - frame.origin[column]
                    : 0;
    }
  }
  wait_for_copies<0>();
  __syncthreads();
  double norm[2] = {};
  // The last columns first: those before do not need them.
  if constexpr (Eights > pass_eights) whiten<Eights, 1>(stage, x, norm);
  whiten<Eights, 0>(stage, x, norm);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    norm[half] += __shfl_xor_sync(~0U, norm[half], 1);
    norm[half] += __shfl_xor_sync(~0U, norm[half], 2);
  }
  for (unsigned tile = begin; tile < past; ++tile) {
    if (tile + 1 < past) fetch_lines<Eights>(frame, d, (tile + 1) * line_components, (tile + 1) % 2, stage);
    end_copies();
    const double* const lines = stage.lines[tile % 2];
    const unsigned eights = min((layout.components - tile * line_components + 7) / 8, unsigned{line_eights});
    double product[line_eights][4] = {};
#pragma unroll
    for (int q = 0; q < Eights; ++q) {
#pragma unroll
      for (int n = 0; n < line_eights; ++n) {
        if (n >= eights) break;
        const double2 two =
            *reinterpret_cast<const double2*>(lines + (8 * n + group) * tied_stage<Eights>::stride + 8 * q + 2 * place);
        const double b[2] = {two.x, two.y};
        multiply_add(product[n], x[q], b);
      }
    }
#pragma unroll
    for (int n = 0; n < line_eights; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const unsigned in_tile = 8 * n + 2 * place + e % 2, k = tile * line_components + in_tile;
        if (k >= layout.components) continue;
        const unsigned row = own_row + e / 2 * 8;
        const double term = stage.constants[tile % 2][in_tile] + (product[n][e] - norm[e / 2] / 2);
        if constexpr (Finish) {
          own_terms[k * row_block + row] = term;
        } else {
          if (first_row + row < chunk.count) terms.values[k * terms.stride + first_row + row] = term;
        }
      }
    }
    wait_for_copies<0>();
    __syncthreads();  // all have fetched the next tile, and read this one
  }
  if constexpr (Finish) {
    static_assert(sizeof(stage) >= 3 * row_block * sizeof(double));
    finish_terms<Eights>(layout.components, own_terms, chunk, first_row, terms, *log_shift,
                         reinterpret_cast<double*>(memory));
  }
}

template <class Scalar, int Eights, bool Finish>
void launch_tied_densities(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const tied_frame& frame,
                           const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream) {
  using shape = row_shape<Eights>;
  const std::size_t bytes =
      sizeof(tied_stage<Eights>) + (Finish ? std::size_t{layout.components} * shape::rows * sizeof(double) : 0);
  const auto row_tiles = static_cast<unsigned>((chunk.count + shape::rows - 1) / shape::rows);
  // Few rows are shared out by components too, so that every multiprocessor has a block.
  const unsigned tiles = (layout.components + line_components - 1) / line_components;
  const unsigned shares = Finish ? 1 : std::clamp(least_density_blocks / row_tiles, 1u, tiles);
  const unsigned own = (tiles + shares - 1) / shares;
  cuda::launch_in_turn(tied_densities<Scalar, Eights, Finish>, dim3(row_tiles, (tiles + own - 1) / own), shape::threads,
                       bytes, stream, layout, chunk, parameters.in_double.factors, parameters.in_double.log_shift,
                       frame, terms, own, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
