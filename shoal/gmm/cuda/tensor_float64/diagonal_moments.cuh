// Moments of diagonal and spherical covariances: Σ w r, Σ w r (x − c) and Σ w r (x − c)² of some components and columns
// a thread, row after row.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

inline constexpr int moment_side = 64;  // components, and columns, of a block; 4 of each of a thread

/// A block for each tile of columns, tile of components and lane. Threads take every 16th column and component.
template <class Scalar>
__global__ void __launch_bounds__(threads, 1)
    diagonal_moments(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                     const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                     const lane_plan plan, const int* stopped) {
  constexpr int own = moment_side / 16;
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  __shared__ double x[step][padded(moment_side)];
  __shared__ double responsibilities[step][padded(moment_side)];
  const unsigned d = layout.columns;
  const unsigned first_column = blockIdx.x * moment_side, first = blockIdx.y * moment_side;
  const unsigned across = threadIdx.x % 16, down = threadIdx.x / 16;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;

  double centre[own][own];
#pragma unroll
  for (int c = 0; c < own; ++c) {
#pragma unroll
    for (int j = 0; j < own; ++j) {
      const unsigned k = first + down + 16 * c, column = first_column + across + 16 * j;
      centre[c][j] = k < layout.components && column < d ? parameters.centres[std::size_t{k} * d + column] : 0;
    }
  }
  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    double weights[own] = {}, sums[own][own] = {}, squares[own][own] = {};
    for (std::size_t begin = section.begin; begin < section.end; begin += step) {
      __syncthreads();  // the step before has been read
      for (unsigned e = threadIdx.x; e < step * moment_side; e += threads) {
        const unsigned column = first_column + e % moment_side;
        const std::size_t row = begin + e / moment_side;
        const bool inside = row < section.end && column < d;
        x[e / moment_side][e % moment_side] = inside ? static_cast<double>(chunk.rows[row * d + column]) : 0;
        const std::size_t other = begin + e % step;
        const unsigned k = first + e / step;
        responsibilities[e % step][e / step] =
            other < section.end && k < layout.components ? terms.values[k * terms.stride + other] : 0;
      }
      __syncthreads();
#pragma unroll 4
      for (int row = 0; row < step; ++row) {
        double values[own];
#pragma unroll
        for (int j = 0; j < own; ++j) values[j] = x[row][across + 16 * j];
#pragma unroll
        for (int c = 0; c < own; ++c) {
          const double responsibility = responsibilities[row][down + 16 * c];
          weights[c] += responsibility;
#pragma unroll
          for (int j = 0; j < own; ++j) {
            const double z = values[j] - centre[c][j];
            const double scaled = responsibility * z;
            sums[c][j] += scaled;
            squares[c][j] += scaled * z;
          }
        }
      }
    }
#pragma unroll
    for (int c = 0; c < own; ++c) {
      const unsigned k = first + down + 16 * c;
      if (k >= layout.components) continue;
      // W, S and Q of a component.
      double* const component = lane + layout.header + k * layout.component_size;
      if (first_column == 0 && across == 0) component[layout.weight] += weights[c];
#pragma unroll
      for (int j = 0; j < own; ++j) {
        const unsigned column = first_column + across + 16 * j;
        if (column >= d) continue;
        component[1 + column] += sums[c][j];
        component[1 + d + column] += squares[c][j];
      }
    }
    if (blockIdx.x == 0 && blockIdx.y == 0) add_score(terms, section, lane);
  }
}

template <class Scalar>
void launch_diagonal_moments(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                             const prepared_parameters<Scalar>& parameters, const row_terms& terms,
                             const lane_plan& plan, cudaStream_t stream) {
  const dim3 blocks((layout.columns + moment_side - 1) / moment_side,
                    (layout.components + moment_side - 1) / moment_side, plan.lanes);
  cuda::launch_in_turn(diagonal_moments<Scalar>, blocks, threads, 0, stream, layout, chunk, parameters.in_double, terms,
                       plan, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
