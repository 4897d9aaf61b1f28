// Log-densities under diagonal and spherical covariances: some rows and components a thread, column after column.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>

namespace shoal::gmm::tensor_float64 {

inline constexpr int spread_rows = 128;       // of a block, 8 of a thread
inline constexpr int spread_components = 64;  // of a block, 4 of a thread

/// A block for each tile of rows and tile of components. Threads take every 16th row and component of the tile.
template <class Scalar>
__global__ void __launch_bounds__(threads, 1)
    diagonal_densities(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                       const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                       const int* stopped) {
  constexpr int own_rows = spread_rows / 16, own_components = spread_components / 16;
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  __shared__ double x[step][padded(spread_rows)];
  __shared__ double centres[step][padded(spread_components)];
  __shared__ double factors[step][padded(spread_components)];
  __shared__ double offsets[step][padded(spread_components)];
  const unsigned d = layout.columns;
  const unsigned first = blockIdx.y * spread_components;
  const unsigned down = threadIdx.x % 16, across = threadIdx.x / 16;

  for (std::size_t first_row = std::size_t{blockIdx.x} * spread_rows; first_row < chunk.count;
       first_row += std::size_t{gridDim.x} * spread_rows) {
    double norm[own_rows][own_components] = {};
    for (unsigned begin = 0; begin < d; begin += step) {
      const unsigned column = begin + threadIdx.x % step;
      const bool inside = column < d;
      __syncthreads();  // the step before has been read
      for (unsigned r = threadIdx.x / step; r < spread_rows; r += threads / step) {
        const std::size_t row = first_row + r;
        x[threadIdx.x % step][r] = inside && row < chunk.count ? static_cast<double>(chunk.rows[row * d + column]) : 0;
      }
      for (unsigned c = threadIdx.x / step; c < spread_components; c += threads / step) {
        const unsigned k = first + c;
        const bool there = inside && k < layout.components;
        const std::size_t at = std::size_t{k} * d + column;
        centres[threadIdx.x % step][c] = there ? parameters.centres[at] : 0;
        factors[threadIdx.x % step][c] = there ? parameters.factors[at] : 0;
        offsets[threadIdx.x % step][c] = there ? parameters.offsets[at] : 0;
      }
      __syncthreads();
#pragma unroll 4
      for (int j = 0; j < step; ++j) {
        double row[own_rows];
#pragma unroll
        for (int r = 0; r < own_rows; ++r) row[r] = x[j][down + 16 * r];
#pragma unroll
        for (int c = 0; c < own_components; ++c) {
          const double centre = centres[j][across + 16 * c], factor = factors[j][across + 16 * c];
          const double offset = offsets[j][across + 16 * c];
#pragma unroll
          for (int r = 0; r < own_rows; ++r) {
            const double y = (row[r] - centre) * factor + offset;
            norm[r][c] += y * y;
          }
        }
      }
    }
#pragma unroll
    for (int c = 0; c < own_components; ++c) {
      const unsigned k = first + across + 16 * c;
      if (k >= layout.components) continue;
#pragma unroll
      for (int r = 0; r < own_rows; ++r) {
        const std::size_t row = first_row + down + 16 * r;
        if (row < chunk.count) terms.values[k * terms.stride + row] = parameters.log_constants[k] - norm[r][c] / 2;
      }
    }
  }
}

template <class Scalar>
void launch_diagonal_densities(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                               const prepared_parameters<Scalar>& parameters, const row_terms& terms,
                               cudaStream_t stream, unsigned most_blocks) {
  const dim3 blocks(std::min(most_blocks, static_cast<unsigned>((chunk.count + spread_rows - 1) / spread_rows)),
                    (layout.components + spread_components - 1) / spread_components);
  cuda::launch_in_turn(diagonal_densities<Scalar>, blocks, threads, 0, stream, layout, chunk, parameters.in_double,
                       terms, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
