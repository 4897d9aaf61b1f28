#include <shoal/gmm/cuda/tensor_float64/left_out.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_float64 {
namespace {

constexpr unsigned left_out_threads = 256, left_out_warps = left_out_threads / cuda::warp_size;
constexpr unsigned resident_left_out = 4;  // blocks of a multiprocessor
constexpr unsigned together = 4;           // components that a warp compares a row with at a time
constexpr unsigned rows_of_thread = 4;     // whose responsibilities a thread finds at a time
static_assert(most_left_out <= cuda::warp_size);

// Those that are left out, in order, for they were noted in any. All threads of the block ask.
__device__ void sort_left_out(const left_out_components& left, unsigned count, unsigned (&sorted)[most_left_out]) {
  if (threadIdx.x < cuda::warp_size) {
    const unsigned own = threadIdx.x < count ? left.places[threadIdx.x] : ~0U;
    unsigned place = 0;
    for (unsigned other = 0; other < count; ++other) place += __shfl_sync(~0U, own, other) < own ? 1 : 0;
    if (threadIdx.x < count) sorted[place] = own;
  }
  __syncthreads();
}

// A warp for each row.
__global__ void __launch_bounds__(left_out_threads)
    term_kernel(const kernel_layout layout, const __grid_constant__ row_chunk<float> chunk,
                const __grid_constant__ prepared_components<double> parameters, const component_frame frame,
                const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.near == 0) return;
  const unsigned count = *frame.left_out.count, d = layout.columns;
  if (count == 0) return;
  __shared__ unsigned sorted[most_left_out];
  sort_left_out(frame.left_out, count, sorted);
  const unsigned lane = threadIdx.x % cuda::warp_size;
  const std::size_t stride = std::size_t{gridDim.x} * left_out_warps;
  for (std::size_t row = blockIdx.x * std::size_t{left_out_warps} + threadIdx.x / cuda::warp_size; row < chunk.count;
       row += stride) {
    const float* const values = chunk.rows + row * d;
    for (unsigned first = 0; first < count; first += together) {
      unsigned of[together];
      double sums[together] = {};
#pragma unroll
      for (unsigned e = 0; e < together; ++e) of[e] = sorted[min(first + e, count - 1)];
#pragma unroll 2
      for (unsigned j = lane; j < d; j += cuda::warp_size) {
        const auto x = static_cast<double>(values[j]);
#pragma unroll
        for (unsigned e = 0; e < together; ++e) {
          const std::size_t at = std::size_t{of[e]} * d + j;
          const double z =
              fma(x - __ldg(parameters.centres + at), __ldg(parameters.factors + at), __ldg(parameters.offsets + at));
          sums[e] = fma(z, z, sums[e]);
        }
      }
#pragma unroll
      for (unsigned e = 0; e < together; ++e) {
        const double sum = cuda::warp_sum(sums[e]);
        if (lane != 0 || first + e >= count) continue;
        frame.left_out.terms[(first + e) * frame.part_rows + row] = parameters.log_constants[of[e]] - 0.5 * sum;
      }
    }
  }
}

// A block for each of these components and as many columns as it has threads. Rows are added in their order, so that
// cuts between chunks change nothing.
__global__ void __launch_bounds__(left_out_threads)
    moment_kernel(const kernel_layout layout, const __grid_constant__ row_chunk<float> chunk,
                  const component_frame frame, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.near == 0 || blockIdx.x >= *frame.left_out.count) return;
  constexpr unsigned tile = rows_of_thread * left_out_threads;
  __shared__ float shares[tile];
  __shared__ unsigned places[tile];
  __shared__ unsigned counts[rows_of_thread][left_out_warps];
  const unsigned d = layout.columns, lane = threadIdx.x % cuda::warp_size, warp = threadIdx.x / cuda::warp_size;
  const unsigned column = blockIdx.y * left_out_threads + threadIdx.x;
  const double* const terms = frame.left_out.terms + blockIdx.x * frame.part_rows;
  double* const sums = frame.left_out.sums + blockIdx.x * layout.component_size;
  const bool inside = column < d;
  const double origin = inside ? frame.origin[column] : 0;
  double weight = column == 0 ? sums[layout.weight] : 0;
  double first = inside ? sums[1 + column] : 0, second = inside ? sums[1 + d + column] : 0;
  for (std::size_t begin = 0; begin < chunk.count; begin += tile) {
    float own[rows_of_thread];
    unsigned before[rows_of_thread];
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i) {
      const std::size_t row = begin + i * left_out_threads + threadIdx.x;
      own[i] = 0;
      if (row < chunk.count && !is_far(frame, row)) {
        const float2 of_all = frame.half_parts[row];
        const auto ratio = static_cast<float>(terms[row] - static_cast<double>(of_all.x));
        if (ratio >= -static_cast<float>(negligible_log_ratio<float>)) {
          own[i] = (chunk.weights == nullptr ? 1.0F : chunk.weights[row]) * (expf(ratio) / of_all.y);
        }
      }
      const unsigned having = __ballot_sync(~0U, own[i] > 0);
      before[i] = __popc(having & ((1U << lane) - 1));
      if (lane == 0) counts[i][warp] = __popc(having);
    }
    __syncthreads();
    unsigned all = 0;
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i) {
#pragma unroll
      for (unsigned w = 0; w < left_out_warps; ++w) {
        if (w == warp && own[i] > 0) {
          shares[all + before[i]] = own[i];
          places[all + before[i]] = i * left_out_threads + threadIdx.x;
        }
        all += counts[i][w];
      }
    }
    __syncthreads();
#pragma unroll 4
    for (unsigned i = 0; i < all; ++i) {
      const auto share = static_cast<double>(shares[i]);
      const float x = inside ? chunk.rows[(begin + places[i]) * d + column] : 0;
      const double z = static_cast<double>(x) - origin, weighted = share * z;
      weight += share;
      first += weighted;
      second = fma(weighted, z, second);
    }
    __syncthreads();  // the next rows' come to the same places
  }
  if (!inside) return;
  if (column == 0) sums[layout.weight] = weight;
  sums[1 + column] = first;
  sums[1 + d + column] = second;
}

// A block for each.
__global__ void __launch_bounds__(left_out_threads)
    add_kernel(const kernel_layout layout, const component_frame frame, double* statistics, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.near == 0 || blockIdx.x >= *frame.left_out.count) return;
  __shared__ unsigned sorted[most_left_out];
  sort_left_out(frame.left_out, *frame.left_out.count, sorted);
  const cuda::block_group block;
  const unsigned d = layout.columns;
  const double* const from = frame.left_out.sums + blockIdx.x * layout.component_size;
  double* const to = statistics + layout.header + sorted[blockIdx.x] * layout.component_size;
  if (block.rank == 0) to[layout.weight] += from[layout.weight];
  double squares = 0;
  for (unsigned j = block.rank; j < d; j += block.size) {
    to[1 + j] += from[1 + j];
    if (layout.type == covariance_type::spherical) {
      squares += from[1 + d + j];
    } else {
      to[1 + d + j] += from[1 + d + j];
    }
  }
  if (layout.type != covariance_type::spherical) return;
  // Q of a spherical component has its sum in its first place.
  squares = block.sum(squares);
  if (block.rank == 0) to[1 + d] += squares;
}

}  // namespace

void left_out_densities(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                        const prepared_parameters<float>& parameters, cudaStream_t stream) {
  const auto wanted = static_cast<unsigned>((chunk.count + left_out_warps - 1) / left_out_warps);
  cuda::launch_in_turn(term_kernel, std::min(wanted, std::max(1U, frame.multiprocessors * resident_left_out)),
                       left_out_threads, 0, stream, layout, chunk, parameters.in_double, frame, parameters.stopped);
}

void left_out_moments(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                      const prepared_parameters<float>& parameters, cudaStream_t stream) {
  const dim3 blocks(most_left_out, (layout.columns + left_out_threads - 1) / left_out_threads);
  cuda::launch_in_turn(moment_kernel, blocks, left_out_threads, 0, stream, layout, chunk, frame, parameters.stopped);
}

void add_left_out(const kernel_layout& layout, const component_frame& frame, double* statistics, const int* stopped,
                  cudaStream_t stream) {
  cuda::launch_in_turn(add_kernel, most_left_out, left_out_threads, 0, stream, layout, frame, statistics, stopped);
}

}  // namespace shoal::gmm::tensor_float64
