// A block's groups of rows, and the lane that it adds their sums to.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>

namespace shoal::gmm::few_columns {

/// All threads of the block.
struct block_team {
  unsigned rank = threadIdx.x;
  unsigned size = blockDim.x;
  __device__ void sync() const { __syncthreads(); }
};

/// A lane, and whether what it holds counts.
struct lane_sums {
  double* values;
  bool empty;
  __device__ void add(std::size_t place, double value) const { values[place] = empty ? value : values[place] + value; }
};

template <class T>
__device__ lane_sums lane_of_block(const kernel_arguments<T>& a) {
  return {a.lanes + (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * a.statistics, a.fresh};
}

/// Makes a lane that holds nothing one of zeros.
template <class T>
__device__ void fill_empty(const kernel_arguments<T>& a, lane_sums& lane) {
  if (!lane.empty) return;
  for (std::size_t i = threadIdx.x; i < a.statistics; i += blockDim.x) lane.values[i] = 0;
  lane.empty = false;
  __syncthreads();
}

/// What no group has written is zero.
template <class T>
__device__ void finish_lane(const kernel_arguments<T>& a, const lane_sums& lane) {
  if (!lane.empty) return;
  for (std::size_t i = threadIdx.x; i < a.statistics; i += blockDim.x) lane.values[i] = 0;
}

/// Calls add(begin, end) for the rows of each group of the piece that belongs to a lane.
template <class Arguments, class Add>
__device__ void for_each_group(const Arguments& a, unsigned lane, unsigned lanes, const Add& add) {
  const std::size_t first_group = a.first_unit * a.unit_groups;
  const std::size_t units = (a.count + cuda::piece_unit - 1) / cuda::piece_unit;
  const std::size_t shard = blockIdx.y * a.shard_units;
  const std::size_t past = min(units, shard + a.shard_units) * a.unit_groups;
  const std::size_t first = shard * a.unit_groups + (lane + lanes - first_group % lanes) % lanes;
  for (std::size_t g = first; g < past; g += lanes) {
    const std::size_t unit = g / a.unit_groups * cuda::piece_unit;
    const std::size_t begin = unit + g % a.unit_groups * a.group_rows;
    const std::size_t end = min(min(begin + a.group_rows, unit + cuda::piece_unit), a.count);
    if (begin < end) add(begin, end);
  }
}
/// The same of the block's.
template <class Arguments, class Add>
__device__ void for_each_group(const Arguments& a, const Add& add) {
  for_each_group(a, blockIdx.x, gridDim.x, add);
}

/// Adds the threads' row sums to the head of the lane. `buffer` [2 · threads of the block].
template <class T>
__device__ void flush_head(const kernel_arguments<T>& a, double* buffer, const row_sums& sums, const lane_sums& lane) {
  buffer[threadIdx.x] = sums.log_likelihood;
  buffer[blockDim.x + threadIdx.x] = sums.weight;
  __syncthreads();
  if (threadIdx.x < 32) {
    double log_likelihood = 0, weight = 0;
    for (unsigned t = threadIdx.x; t < blockDim.x; t += 32) {
      log_likelihood += buffer[t];
      weight += buffer[blockDim.x + t];
    }
    log_likelihood = cuda::warp_sum(log_likelihood);
    weight = cuda::warp_sum(weight);
    if (threadIdx.x == 0) {
      lane.add(log_likelihood_place, ln_2 * log_likelihood + weight * *a.parameters.packed.log_shift);
      lane.add(total_weight_place, weight);
      lane.add(far_rows_place, 0);
      lane.add(head_size - 1, 0);
    }
  }
  __syncthreads();
}

}  // namespace shoal::gmm::few_columns
