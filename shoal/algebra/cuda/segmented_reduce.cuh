// One reduction for each segment of values in device memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include <shoal/algebra/cuda/operation.cuh>
#include <shoal/algebra/cuda/tree.cuh>
#include <shoal/algebra/cuda/workspace.cuh>

namespace shoal::algebra::gpu {

namespace detail {

using counter = unsigned long long;

// Segments of more than warp_values, cut into blocks. Which place in the lists a segment gets is up to chance and shows
// nowhere.
template <class Value>
struct long_segments {
  counter* bad;          // the first segment whose offsets cannot be
  counter* count;        //
  counter* blocks;       // of all of them
  counter most_blocks;   // that there is room for
  counter* segment;      // by place
  counter* first_block;  // by place
  counter* place;        // by block
  Value* totals;         // by block
};

template <class Structure>
__global__ void __launch_bounds__(block_threads)
    reduce_segments(Structure structure, const value_of<Structure>* values, std::size_t count,
                    const std::size_t* offsets, std::size_t segments, value_of<Structure> identity,
                    value_of<Structure>* result, long_segments<value_of<Structure>> others) {
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::size_t warps = std::size_t{gridDim.x} * warps_of_block;
  for (std::size_t s = blockIdx.x * std::size_t{warps_of_block} + threadIdx.x / warp_lanes; s < segments; s += warps) {
    const std::size_t begin = offsets[s], end = offsets[s + 1];
    if (begin > end || end > count) {
      if (lane == 0) atomicMin(others.bad, static_cast<counter>(s));
      continue;
    }
    if (end - begin <= warp_values) {
      const auto total = tree_of_warp(structure, values + begin, end - begin, identity, lane);
      if (lane == 0) result[s] = total;
      continue;
    }
    const counter blocks = divided_up(end - begin, block_values);
    counter first = 0, place = 0;
    if (lane == 0) first = atomicAdd(others.blocks, blocks);
    first = __shfl_sync(whole_warp, first, 0);
    if (first + blocks > others.most_blocks) continue;  // segments overlap, so that one of them is bad
    if (lane == 0) {
      place = atomicAdd(others.count, counter{1});
      others.segment[place] = s;
      others.first_block[place] = first;
    }
    place = __shfl_sync(whole_warp, place, 0);
    for (counter b = lane; b < blocks; b += warp_lanes) others.place[first + b] = place;
  }
}

template <class Structure>
__global__ void __launch_bounds__(block_threads)
    reduce_blocks_of_segments(Structure structure, const value_of<Structure>* values, const std::size_t* offsets,
                              value_of<Structure> identity, long_segments<value_of<Structure>> others) {
  if (*others.blocks > others.most_blocks) return;
  for (counter block = blockIdx.x; block < *others.blocks; block += gridDim.x) {
    const counter place = others.place[block];
    const std::size_t begin =
        offsets[others.segment[place]] + (block - others.first_block[place]) * std::size_t{block_values};
    const auto total = tree_of_block(structure, values + begin, offsets[others.segment[place] + 1] - begin, identity);
    if (threadIdx.x == 0) others.totals[block] = total;
  }
}

template <class Structure>
__global__ void __launch_bounds__(block_threads)
    reduce_totals_of_segments(Structure structure, const std::size_t* offsets, value_of<Structure> identity,
                              value_of<Structure>* result, long_segments<value_of<Structure>> others) {
  if (*others.blocks > others.most_blocks) return;
  for (counter place = blockIdx.x; place < *others.count; place += gridDim.x) {
    const counter s = others.segment[place];
    value_of<Structure>* const totals = others.totals + others.first_block[place];
    std::size_t left = divided_up(offsets[s + 1] - offsets[s], block_values);
    while (left > 1) {
      const std::size_t blocks = divided_up(left, block_values);
      for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t first = b * block_values;
        const auto total = tree_of_block(structure, totals + first, left - first, identity);
        if (threadIdx.x == 0) totals[b] = total;  // at or before what was read
      }
      __syncthreads();
      left = blocks;
    }
    if (threadIdx.x == 0) result[s] = totals[0];
  }
}

}  // namespace detail

/// result[s] = what reduce gives for values[offsets[s]], …, values[offsets[s + 1] − 1], to the bit, for each of
/// `segments` segments; an empty one gives the identity. Everything is in device memory; there are `count` values and
/// segments + 1 offsets. Waits for `stream`. Throws bad_argument unless the offsets ascend and end at most at `count`.
template <device_monoid Structure>
void segmented_reduce(const Structure& structure, const value_of<Structure>* values, std::size_t count,
                      const std::size_t* offsets, std::size_t segments, value_of<Structure>* result, workspace& memory,
                      cudaStream_t stream = nullptr) {
  if (segments == 0) return;
  using detail::counter;
  constexpr counter none = ~counter{0};
  const std::size_t most_long = count / detail::warp_values + 1;
  const std::size_t most_blocks = count / detail::block_values + most_long;
  detail::arrays_of_workspace arrays;
  const std::size_t counters = arrays.add<counter>(3);
  const std::size_t segment = arrays.add<counter>(most_long), first_block = arrays.add<counter>(most_long);
  const std::size_t place = arrays.add<counter>(most_blocks), totals = arrays.add<value_of<Structure>>(most_blocks);
  arrays.take(memory);
  counter* const counted = arrays.at<counter>(counters);
  const detail::long_segments<value_of<Structure>> others{counted,
                                                          counted + 1,
                                                          counted + 2,
                                                          most_blocks,
                                                          arrays.at<counter>(segment),
                                                          arrays.at<counter>(first_block),
                                                          arrays.at<counter>(place),
                                                          arrays.at<value_of<Structure>>(totals)};
  const counter start[3] = {none, 0, 0};
  detail::check(cudaMemcpyAsync(counted, start, sizeof start, cudaMemcpyHostToDevice, stream), "copy to the device");
  const value_of<Structure> identity = structure.identity();
  const auto grid = static_cast<unsigned>(
      std::min<std::size_t>(detail::divided_up(segments, std::size_t{detail::warps_of_block}), 1u << 20));
  detail::reduce_segments<<<grid, detail::block_threads, 0, stream>>>(structure, values, count, offsets, segments,
                                                                      identity, result, others);
  if (count > detail::warp_values) {
    const auto blocks = static_cast<unsigned>(std::min<std::size_t>(most_blocks, 4096));
    detail::reduce_blocks_of_segments<<<blocks, detail::block_threads, 0, stream>>>(structure, values, offsets,
                                                                                    identity, others);
    detail::reduce_totals_of_segments<<<std::min(blocks, 1024u), detail::block_threads, 0, stream>>>(
        structure, offsets, identity, result, others);
  }
  detail::check(cudaGetLastError(), "launch a segmented reduction");
  counter bad = none;
  detail::check(cudaMemcpyAsync(&bad, counted, sizeof bad, cudaMemcpyDeviceToHost, stream), "copy from the device");
  detail::check(cudaStreamSynchronize(stream), "finish a segmented reduction");
  if (bad != none) {
    throw bad_argument("segmented_reduce: the offsets of segment " + std::to_string(bad) +
                       " descend or lie behind the end; offsets must ascend and end at most at the number of values, " +
                       std::to_string(count));
  }
}

}  // namespace shoal::algebra::gpu
