// Log-densities of float64 rows under full and tied covariances of at most 128 columns: y = Uᵀ(x − c) + b. A warp keeps
// 16 rows in registers, and the block goes through the components; with few of them it goes on to responsibilities.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// Blocks of a kernel for so many eights of columns. What one waits for, its first rows and its last exponentials,
/// passes beside the products of others: three small blocks where two large ones have no room.
template <int Eights>
struct row_shape {
  static constexpr bool small = Eights >= 5 && Eights <= 7;
  static constexpr int threads = small ? 128 : tensor_float64::threads;
  static constexpr int rows = threads / 32 * 16;  // of a block
  static constexpr int resident = small ? 3 : (Eights <= 4 ? 2 : 1);
};
/// From so many rows on a block has all components.
inline constexpr std::size_t least_finished_rows = std::size_t{least_density_blocks} * 128;

/// The eights of columns whose products a warp has at a time; of more it has one half after the other.
inline constexpr int pass_eights = 8;

/// What a pass multiplies by: the tiles of 8 × 8 of U on and above the diagonal that reach the eights first … past − 1
/// of the columns, row by row.
template <int Eights, int Pass>
struct pass_tiles {
  static constexpr int first = Pass * pass_eights;
  static constexpr int past = std::min(Eights, first + pass_eights);
  static constexpr int count = past - first;
  /// The number of the first tile of row q of tiles, and its column.
  static constexpr int start(int q) { return q < first ? first : q; }
  static constexpr int before(int q) {
    const int rest = q < first ? 0 : q - first;
    return (q - rest) * count + rest * count - rest * (rest - 1) / 2;
  }
  static constexpr int tiles = before(past);
};

template <int Eights>
struct component_stage {
  static constexpr int passes = (Eights + pass_eights - 1) / pass_eights;
  double tiles[std::max(pass_tiles<Eights, 0>::tiles, pass_tiles<Eights, passes - 1>::tiles)][64];  // as fragments lie
  double centre[8 * Eights];
  double offset[8 * Eights];
};

/// Copies what a pass of component k needs; zeros outside the triangle.
template <int Eights, int Pass>
__device__ void fetch_pass(const kernel_layout& layout, const prepared_components<double>& parameters, unsigned k,
                           component_stage<Eights>& stage) {
  using tiles = pass_tiles<Eights, Pass>;
  const unsigned d = layout.columns;
  const double* const factor = parameters.factors + (layout.type == covariance_type::full ? std::size_t{k} * d * d : 0);
  const unsigned lane = threadIdx.x % 32;
  for (int q = static_cast<int>(threadIdx.x) / 32; q < tiles::past; q += row_shape<Eights>::threads / 32) {
    for (int j = tiles::start(q); j < tiles::past; ++j) {
      double* const to = stage.tiles[tiles::before(q) + j - tiles::start(q)] + 2 * lane;
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned row = 8 * q + 4 * half + lane % 4, column = 8 * j + lane / 4;
        const bool inside = row <= column && column < d;
        copy_async<8>(to + half, inside ? factor + std::size_t{row} * d + column : factor, inside ? 8 : 0);
      }
    }
  }
  for (unsigned j = threadIdx.x; j < 8 * Eights; j += row_shape<Eights>::threads) {
    const bool inside = j < d;
    const std::size_t at = std::size_t{k} * d + j;
    copy_async<8>(&stage.centre[j], inside ? parameters.centres + at : parameters.centres, inside ? 8 : 0);
    copy_async<8>(&stage.offset[j], inside ? parameters.offsets + at : parameters.offsets, inside ? 8 : 0);
  }
}

/// Adds ‖y‖² of the pass's columns of rows `group` and `group` + 8 of the warp, those of which the thread has products.
template <int Eights, int Pass>
__device__ __forceinline__ void multiply_pass(const component_stage<Eights>& stage, const double (&x)[Eights][4],
                                              double (&norm)[2]) {
  using tiles = pass_tiles<Eights, Pass>;
  const unsigned lane = threadIdx.x % 32, place = threadIdx.x % 4;
  double product[tiles::count][4];
#pragma unroll
  for (int j = 0; j < tiles::count; ++j) {
    const double2 offset = *reinterpret_cast<const double2*>(&stage.offset[8 * (tiles::first + j) + 2 * place]);
    product[j][0] = product[j][2] = offset.x;
    product[j][1] = product[j][3] = offset.y;
  }
  // Products of one row of tiles after the other: none waits for the one before.
#pragma unroll
  for (int q = 0; q < tiles::past; ++q) {
    const double near = stage.centre[8 * q + place], far = stage.centre[8 * q + place + 4];
    const double z[4] = {x[q][0] - near, x[q][1] - near, x[q][2] - far, x[q][3] - far};
#pragma unroll
    for (int j = tiles::start(q); j < tiles::past; ++j) {
      const double2 two =
          *reinterpret_cast<const double2*>(stage.tiles[tiles::before(q) + j - tiles::start(q)] + 2 * lane);
      const double b[2] = {two.x, two.y};
      multiply_add(product[j - tiles::first], z, b);
    }
  }
#pragma unroll
  for (int j = 0; j < tiles::count; ++j) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const double y0 = product[j][2 * half], y1 = product[j][2 * half + 1];
      norm[half] = fma(y0, y0, fma(y1, y1, norm[half]));
    }
  }
}

/// The terms of a block's rows, [component][row] in shared memory, to responsibilities times weights; the same bits as
/// launch_responsibilities(). `rest` is [3][rows] of memory that no thread uses any more.
template <int Eights, class Scalar>
__device__ void finish_terms(unsigned components, double* own_terms, const row_chunk<Scalar>& chunk,
                             std::size_t first_row, const row_terms& terms, double log_shift, double* rest) {
  constexpr int row_block = row_shape<Eights>::rows;
  const int row = static_cast<int>(threadIdx.x) % row_block;
  const unsigned part = threadIdx.x / row_block;
  constexpr unsigned parts = row_shape<Eights>::threads / row_block;
  const auto for_own = [&](const auto& use) {
    for (unsigned k = part; k < components; k += parts) use(own_terms[k * row_block + row], k);
  };
  double greatest = -INFINITY;
  for_own([&](double term, unsigned) {
    // A comparison, not a maximum: it leaves out a NaN.
    if (term > greatest) greatest = term;
  });
  rest[part * row_block + row] = greatest;
  __syncthreads();
#pragma unroll
  for (unsigned other = 0; other < parts; ++other) greatest = fmax(greatest, rest[other * row_block + row]);
  for_own([&](double& term, unsigned) {
    const double ratio = term - greatest;
    term = ratio >= -negligible_log_ratio<Scalar> ? exp(ratio) : 0;
  });
  __syncthreads();
  double log_likelihood = 0, weight = 0;
  if (part == 0) {
    double sum = 0;
    for (unsigned k = 0; k < components; ++k) sum += own_terms[k * row_block + row];
    if (first_row + row < chunk.count) {
      weight = chunk.weights == nullptr ? 1.0 : static_cast<double>(chunk.weights[first_row + row]);
      // A row that weighs nothing may have a density of zero.
      if (weight > 0) log_likelihood = weight * (greatest + log(sum) + log_shift);
    }
    rest[2 * row_block + row] = weight > 0 ? weight / sum : 0;
    log_likelihood = cuda::warp_sum(log_likelihood);
    weight = cuda::warp_sum(weight);
    if (row % 32 == 0) {
      rest[row / 32 * 2] = log_likelihood;
      rest[row / 32 * 2 + 1] = weight;
    }
  }
  __syncthreads();
  if (first_row + row < chunk.count) {
    const double scale = rest[2 * row_block + row];
    for_own([&](double term, unsigned k) { terms.values[k * terms.stride + first_row + row] = term * scale; });
  }
  static_assert(score_tile_rows == 64);
  if (threadIdx.x < 2 * row_block / score_tile_rows) {
    const unsigned tile = threadIdx.x / 2, which = threadIdx.x % 2;
    if (first_row + tile * score_tile_rows < chunk.count) {
      terms.sums[2 * (first_row / score_tile_rows + tile) + which] =
          rest[4 * tile + which] + rest[4 * tile + 2 + which];
    }
  }
}

/// A block for each tile of rows and each share of the components. `Finish`: the share is all of them, and the block
/// leaves responsibilities times weights and the rows' part of the score.
template <int Eights, bool Finish>
__global__ void __launch_bounds__(row_shape<Eights>::threads, row_shape<Eights>::resident)
    row_densities(const kernel_layout layout, const __grid_constant__ row_chunk<double> chunk,
                  const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                  unsigned components_of_block, const int* stopped) {
  using stage_type = component_stage<Eights>;
  constexpr int row_block = row_shape<Eights>::rows;
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  extern __shared__ __align__(128) unsigned char memory[];
  auto* const stages = reinterpret_cast<stage_type*>(memory);
  double* const own_terms = reinterpret_cast<double*>(memory + 2 * sizeof(stage_type));  // [component][row], Finish

  const unsigned d = layout.columns;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  const std::size_t first_row = std::size_t{blockIdx.x} * row_block;
  const unsigned own_row = threadIdx.x / 32 * 16 + group;
  const unsigned first = blockIdx.y * components_of_block;
  const unsigned past = min(first + components_of_block, layout.components);

  fetch_pass<Eights, 0>(layout, parameters, first, stages[0]);
  end_copies();
  // As multiply_add() wants them: rows group and group + 8, columns place and place + 4 of each eight.
  double x[Eights][4];
#pragma unroll
  for (int q = 0; q < Eights; ++q) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const std::size_t row = first_row + own_row + 8 * (e % 2);
      const unsigned column = 8 * q + place + 4 * (e / 2);
      x[q][e] = row < chunk.count && column < d ? chunk.rows[row * d + column] : 0;
    }
  }
  for (unsigned k = first; k < past; ++k) {
    double norm[2] = {};
    wait_for_copies<0>();
    __syncthreads();  // all have fetched this pass, and read the one before
    if constexpr (stage_type::passes == 1) {
      const unsigned turn = (k - first) % 2;
      if (k + 1 < past) fetch_pass<Eights, 0>(layout, parameters, k + 1, stages[1 - turn]);
      end_copies();
      multiply_pass<Eights, 0>(stages[turn], x, norm);
    } else {
      fetch_pass<Eights, 1>(layout, parameters, k, stages[1]);
      end_copies();
      multiply_pass<Eights, 0>(stages[0], x, norm);
      wait_for_copies<0>();
      __syncthreads();
      if (k + 1 < past) fetch_pass<Eights, 0>(layout, parameters, k + 1, stages[0]);
      end_copies();
      multiply_pass<Eights, 1>(stages[1], x, norm);
    }
    const double constant = parameters.log_constants[k];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double sum = norm[half];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      const unsigned row = own_row + 8 * half;
      if (place != 0) continue;
      if constexpr (Finish) {
        own_terms[k * row_block + row] = constant - sum / 2;
      } else {
        if (first_row + row < chunk.count) terms.values[k * terms.stride + first_row + row] = constant - sum / 2;
      }
    }
  }
  if constexpr (Finish) {
    static_assert(sizeof(stage_type) * 2 >= 3 * row_block * sizeof(double));
    __syncthreads();  // the stages have been read, and all terms are there
    finish_terms<Eights>(layout.components, own_terms, chunk, first_row, terms, *parameters.log_shift,
                         reinterpret_cast<double*>(memory));
  }
}

/// Shared memory of a block that finishes its rows.
template <int Eights>
constexpr std::size_t finish_bytes(unsigned components) {
  return 2 * sizeof(component_stage<Eights>) + std::size_t{components} * row_shape<Eights>::rows * sizeof(double);
}

template <int Eights, bool Finish>
void launch_row_densities(const kernel_layout& layout, const row_chunk<double>& chunk,
                          const prepared_parameters<double>& parameters, const row_terms& terms, cudaStream_t stream) {
  const std::size_t bytes = finish_bytes<Eights>(Finish ? layout.components : 0);
  using shape = row_shape<Eights>;
  const auto row_tiles = static_cast<unsigned>((chunk.count + shape::rows - 1) / shape::rows);
  // Few rows are shared out by components too, so that every multiprocessor has a block.
  const unsigned shares = Finish ? 1 : std::clamp(least_density_blocks / row_tiles, 1u, layout.components);
  const unsigned own = (layout.components + shares - 1) / shares;
  const dim3 blocks(row_tiles, (layout.components + own - 1) / own);
  cuda::launch_in_turn(row_densities<Eights, Finish>, blocks, shape::threads, bytes, stream, layout, chunk,
                       parameters.in_double, terms, own, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
