// reduce on a GPU, in the tree of the host's.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include <shoal/algebra/cuda/operation.cuh>
#include <shoal/algebra/cuda/tree.cuh>
#include <shoal/algebra/cuda/workspace.cuh>

namespace shoal::algebra::gpu {

namespace detail {

template <class Structure>
__global__ void __launch_bounds__(block_threads)
    reduce_blocks(Structure structure, const value_of<Structure>* values, std::size_t count,
                  value_of<Structure> identity, value_of<Structure>* totals) {
  const std::size_t first = std::size_t{blockIdx.x} * block_values;
  const auto total = tree_of_block(structure, values + first, first < count ? count - first : 0, identity);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

}  // namespace detail

/// Combines `count` values in device memory into `*result` there, in the order of `stream`, and does not wait. The tree
/// is that of reduce on the host, so the operation need not commute, and the bits depend on the values alone: not on
/// the GPU, and not on who computes. (Where an operation multiplies and adds, host and GPU agree to the bit when nvcc
/// is told --fmad=false; it fuses the two otherwise.)
template <device_monoid Structure>
void reduce(const Structure& structure, const value_of<Structure>* values, std::size_t count,
            value_of<Structure>* result, workspace& memory, cudaStream_t stream = nullptr) {
  const std::size_t most = detail::divided_up(count, detail::block_values);
  detail::arrays_of_workspace arrays;
  const std::size_t one = arrays.add<value_of<Structure>>(most);
  const std::size_t other = arrays.add<value_of<Structure>>(detail::divided_up(most, detail::block_values));
  arrays.take(memory);
  auto* into = arrays.at<value_of<Structure>>(one);
  auto* next = arrays.at<value_of<Structure>>(other);
  const value_of<Structure> identity = structure.identity();
  for (;;) {
    const std::size_t blocks = count == 0 ? 1 : detail::divided_up(count, detail::block_values);
    if (blocks == 1) into = result;
    detail::reduce_blocks<<<static_cast<unsigned>(blocks), detail::block_threads, 0, stream>>>(structure, values, count,
                                                                                               identity, into);
    detail::check(cudaGetLastError(), "launch a reduction");
    if (blocks == 1) return;
    values = into;
    count = blocks;
    std::swap(into, next);
  }
}

/// The same, waited for and returned.
template <device_monoid Structure>
value_of<Structure> reduce(const Structure& structure, const value_of<Structure>* values, std::size_t count,
                           workspace& memory, cudaStream_t stream = nullptr) {
  workspace answer;
  auto* const on_device = static_cast<value_of<Structure>*>(answer.at_least(sizeof(value_of<Structure>)));
  reduce(structure, values, count, on_device, memory, stream);
  value_of<Structure> result;
  detail::check(cudaMemcpyAsync(&result, on_device, sizeof result, cudaMemcpyDeviceToHost, stream),
                "copy from the device");
  detail::check(cudaStreamSynchronize(stream), "finish a reduction");
  return result;
}

}  // namespace shoal::algebra::gpu
