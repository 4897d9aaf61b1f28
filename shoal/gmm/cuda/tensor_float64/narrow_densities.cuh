// Log-densities under full and tied covariances of at most 64 columns: y = Uᵀ(x − c) + b. A warp keeps its rows in
// registers, and the block goes through the components.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// What a component is multiplied with; what lies outside its columns, and below the diagonal, is zero.
template <int Sixteens>
struct component_stage {
  static constexpr int width = 16 * Sixteens;
  static constexpr int stride = padded(width);
  double factors[width * stride];  // U, [row][column]
  double centre[width];
  double offset[width];
};

inline constexpr int narrow_rows = threads / 32 * 16;  // of a block, 16 of a warp

template <int Sixteens>
__device__ void fetch_component(const kernel_layout& layout, const prepared_components<double>& parameters, unsigned k,
                                component_stage<Sixteens>& stage) {
  const unsigned d = layout.columns;
  const double* const factor = parameters.factors + (layout.type == covariance_type::full ? std::size_t{k} * d * d : 0);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = threadIdx.x / 32; i < d; i += threads / 32) {
    for (unsigned j = lane; j < d; j += 32) {
      if (j < i) continue;
      __pipeline_memcpy_async(&stage.factors[i * component_stage<Sixteens>::stride + j],
                              factor + std::size_t{i} * d + j, sizeof(double));
    }
  }
  for (unsigned j = threadIdx.x; j < d; j += threads) {
    __pipeline_memcpy_async(&stage.centre[j], parameters.centres + std::size_t{k} * d + j, sizeof(double));
    __pipeline_memcpy_async(&stage.offset[j], parameters.offsets + std::size_t{k} * d + j, sizeof(double));
  }
}

/// A block for each tile of rows and each share of the components.
template <int Sixteens>
__global__ void __launch_bounds__(threads, Sixteens <= 2 ? 2 : 1)
    narrow_densities(const kernel_layout layout, const __grid_constant__ row_chunk<double> chunk,
                     const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                     unsigned components_of_block, const int* stopped) {
  using stage_type = component_stage<Sixteens>;
  constexpr int eights = 2 * Sixteens;
  if (*stopped != 0) return;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const stages = reinterpret_cast<stage_type*>(memory);

  const unsigned d = layout.columns;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  const std::size_t first_row = std::size_t{blockIdx.x} * narrow_rows + threadIdx.x / 32 * 16 + group;
  const unsigned first = blockIdx.y * components_of_block;
  const unsigned past = min(first + components_of_block, layout.components);

  for (unsigned e = threadIdx.x; e < 2 * sizeof(stage_type) / sizeof(double); e += threads) {
    reinterpret_cast<double*>(memory)[e] = 0;
  }
  __syncthreads();
  fetch_component<Sixteens>(layout, parameters, first, stages[0]);
  __pipeline_commit();

  // As multiply_add() wants them: rows group and group + 8, columns place and place + 4 of each eight.
  double x[eights][4];
#pragma unroll
  for (int q = 0; q < eights; ++q) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const std::size_t row = first_row + 8 * (e % 2);
      const unsigned column = 8 * q + place + 4 * (e / 2);
      x[q][e] = row < chunk.count && column < d ? chunk.rows[row * d + column] : 0;
    }
  }
  for (unsigned k = first; k < past; ++k) {
    const stage_type& stage = stages[(k - first) % 2];
    if (k + 1 < past) fetch_component<Sixteens>(layout, parameters, k + 1, stages[(k + 1 - first) % 2]);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    // Products of one eight of rows of U after the other: none waits for the one before.
    double product[eights][4] = {};
#pragma unroll
    for (int q = 0; q < eights; ++q) {
      const double near = stage.centre[8 * q + place], far = stage.centre[8 * q + place + 4];
      const double z[4] = {x[q][0] - near, x[q][1] - near, x[q][2] - far, x[q][3] - far};
#pragma unroll
      for (int j = q; j < eights; ++j) {
        const double* const from = stage.factors + (8 * q + place) * stage_type::stride + 8 * j + group;
        const double b[2] = {from[0], from[4 * stage_type::stride]};
        multiply_add(product[j], z, b);
      }
    }
    double norm[2] = {};
#pragma unroll
    for (int j = 0; j < eights; ++j) {
      const double b0 = stage.offset[8 * j + 2 * place], b1 = stage.offset[8 * j + 2 * place + 1];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const double y0 = product[j][2 * half] + b0, y1 = product[j][2 * half + 1] + b1;
        norm[half] += y0 * y0 + y1 * y1;
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double sum = norm[half];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      const std::size_t row = first_row + 8 * half;
      if (place == 0 && row < chunk.count) terms.values[k * terms.stride + row] = parameters.log_constants[k] - sum / 2;
    }
    __syncthreads();  // the stage has been read
  }
}

template <int Sixteens>
void launch_narrow_densities(const kernel_layout& layout, const row_chunk<double>& chunk,
                             const prepared_parameters<double>& parameters, const row_terms& terms,
                             cudaStream_t stream) {
  constexpr int bytes = 2 * sizeof(component_stage<Sixteens>);
  cuda::check(cudaFuncSetAttribute(narrow_densities<Sixteens>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "give a kernel shared memory");
  const auto row_tiles = static_cast<unsigned>((chunk.count + narrow_rows - 1) / narrow_rows);
  // Few rows are shared out by components too, so that every multiprocessor has a block.
  const unsigned shares = std::clamp(least_density_blocks / row_tiles, 1u, layout.components);
  const unsigned own = (layout.components + shares - 1) / shares;
  const dim3 blocks(row_tiles, (layout.components + own - 1) / own);
  narrow_densities<Sixteens>
      <<<blocks, threads, bytes, stream>>>(layout, chunk, parameters.in_double, terms, own, parameters.stopped);
  cuda::check_launch("narrow_densities");
}

}  // namespace shoal::gmm::tensor_float64
