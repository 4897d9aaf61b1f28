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

// Segments of at most so many values are one lane's each, where a lane can hold eight of them.
template <class Value>
inline constexpr std::size_t lane_values = sizeof(Value) <= 16 ? warp_lanes : 0;

inline constexpr std::size_t most_warp_pieces = round_values;  // that one warp adds up; of more, a block does

// Segments of more than warp_values, cut into pieces of so many. Which place in the lists a segment gets is up to
// chance and shows nowhere.
template <class Value>
struct long_segments {
  counter* bad;          // all bits of the first segment whose offsets cannot be, inverted; zero for none
  counter* count;        //
  counter* many;         // of them have more than most_warp_pieces
  counter* pieces;       // of all of them
  counter most_pieces;   // that there is room for
  counter* segment;      // by place
  counter* first_piece;  // by place
  counter* place;        // by piece
  Value* totals;         // by piece
};

// The tree of at most Values neighbours by one thread.
template <int Values, class Structure>
__device__ __forceinline__ value_of<Structure> tree_of_lane(const Structure& structure,
                                                            const value_of<Structure>* values, std::size_t count,
                                                            const value_of<Structure>& identity) {
  if constexpr (Values > 8) {
    const auto left = tree_of_lane<Values / 2>(structure, values, count, identity);
    if (count <= Values / 2) return left;
    return combine_on_device(structure, left,
                             tree_of_lane<Values / 2>(structure, values + Values / 2, count - Values / 2, identity));
  } else {
    value_of<Structure> held[Values];
#pragma unroll
    for (unsigned i = 0; i < Values; ++i) held[i] = i < count ? values[i] : identity;
#pragma unroll
    for (int step = 1; step < Values; step *= 2) {
#pragma unroll
      for (int i = 0; i < Values; i += 2 * step) held[i] = combine_on_device(structure, held[i], held[i + step]);
    }
    return held[0];
  }
}

// Writes a long segment into the lists, by one warp.
template <class Value>
__device__ __forceinline__ void list_segment(const long_segments<Value>& others, counter segment, std::size_t count,
                                             unsigned lane) {
  const counter pieces = divided_up(count, std::size_t{warp_values});
  counter first = 0, place = 0;
  if (lane == 0) first = atomicAdd(others.pieces, pieces);
  first = __shfl_sync(whole_warp, first, 0);
  if (first + pieces > others.most_pieces) return;  // segments overlap, so that one of them is bad
  if (lane == 0) {
    place = atomicAdd(others.count, counter{1});
    if (pieces > most_warp_pieces) atomicAdd(others.many, counter{1});
    others.segment[place] = segment;
    others.first_piece[place] = first;
  }
  place = __shfl_sync(whole_warp, place, 0);
  for (counter p = lane; p < pieces; p += warp_lanes) others.place[first + p] = place;
}

// Each warp has `each` segments, at most one for each lane: the lanes add up short ones alone, the others together.
template <class Structure>
__global__ void __launch_bounds__(block_threads)
    reduce_segments(Structure structure, const value_of<Structure>* values, std::size_t count,
                    const std::size_t* offsets, std::size_t segments, unsigned each, value_of<Structure> identity,
                    value_of<Structure>* result, long_segments<value_of<Structure>> others) {
  using value = value_of<Structure>;
  const unsigned lane = threadIdx.x % warp_lanes;
  const std::size_t warps = std::size_t{gridDim.x} * warps_of_block;
  for (std::size_t group = blockIdx.x * std::size_t{warps_of_block} + threadIdx.x / warp_lanes; group * each < segments;
       group += warps) {
    const std::size_t mine = group * each + lane;
    std::size_t begin = 0, end = 0;
    bool waits = lane < each && mine < segments;
    if (waits) {
      begin = offsets[mine];
      end = offsets[mine + 1];
      if (begin > end || end > count) {
        atomicMax(others.bad, ~static_cast<counter>(mine));
        waits = false;
      }
    }
    if constexpr (lane_values < value >> 0) {
      if (waits && each > 1 && end - begin <= lane_values<value>) {
        result[mine] = tree_of_lane<lane_values<value>>(structure, values + begin, end - begin, identity);
        waits = false;
      }
    }
    for (unsigned left = __ballot_sync(whole_warp, waits); left != 0; left &= left - 1) {
      const int owner = __ffs(static_cast<int>(left)) - 1;
      const std::size_t first = __shfl_sync(whole_warp, static_cast<counter>(begin), owner);
      const std::size_t length = __shfl_sync(whole_warp, static_cast<counter>(end), owner) - first;
      if (length > warp_values) {
        list_segment(others, group * each + owner, length, lane);
        continue;
      }
      const value total = tree_of_warp(structure, values + first, length, identity, lane);
      if (lane == 0) result[group * each + owner] = total;
    }
  }
}

template <class Structure>
__global__ void __launch_bounds__(block_threads)
    reduce_pieces_of_segments(Structure structure, const value_of<Structure>* values, const std::size_t* offsets,
                              value_of<Structure> identity, long_segments<value_of<Structure>> others) {
  const counter pieces = *others.pieces;
  if (pieces > others.most_pieces) return;
  const unsigned lane = threadIdx.x % warp_lanes;
  const counter warps = counter{gridDim.x} * warps_of_block;
  for (counter piece = blockIdx.x * counter{warps_of_block} + threadIdx.x / warp_lanes; piece < pieces;
       piece += warps) {
    const counter place = others.place[piece];
    const counter segment = others.segment[place];
    const std::size_t begin = offsets[segment] + (piece - others.first_piece[place]) * std::size_t{warp_values};
    const std::size_t left = offsets[segment + 1] - begin;
    const auto total = tree_of_warp(structure, values + begin, left < warp_values ? left : warp_values, identity, lane);
    if (lane == 0) others.totals[piece] = total;
  }
}

template <class Structure>
__global__ void __launch_bounds__(block_threads)
    reduce_totals_of_segments(Structure structure, const std::size_t* offsets, value_of<Structure> identity,
                              value_of<Structure>* result, long_segments<value_of<Structure>> others) {
  if (*others.pieces > others.most_pieces) return;
  const counter count = *others.count;
  const auto pieces_of = [&](counter place) {
    const counter s = others.segment[place];
    return divided_up(offsets[s + 1] - offsets[s], std::size_t{warp_values});
  };
  const unsigned lane = threadIdx.x % warp_lanes;
  const counter warps = counter{gridDim.x} * warps_of_block;
  for (counter place = blockIdx.x * counter{warps_of_block} + threadIdx.x / warp_lanes; place < count; place += warps) {
    const std::size_t pieces = pieces_of(place);
    if (pieces > most_warp_pieces) continue;
    const auto total = tree_of_warp(structure, others.totals + others.first_piece[place], pieces, identity, lane);
    if (lane == 0) result[others.segment[place]] = total;
  }
  if (*others.many == 0) return;
  for (counter place = blockIdx.x; place < count; place += gridDim.x) {
    std::size_t left = pieces_of(place);
    if (left <= most_warp_pieces) continue;
    value_of<Structure>* const totals = others.totals + others.first_piece[place];
    while (left > 1) {
      const std::size_t blocks = divided_up(left, std::size_t{block_values});
      for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t first = b * block_values;
        const auto total = tree_of_block(structure, totals + first, left - first, identity);
        if (threadIdx.x == 0) totals[b] = total;  // at or before what was read
      }
      __syncthreads();
      left = blocks;
    }
    if (threadIdx.x == 0) result[others.segment[place]] = totals[0];
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
  const std::size_t most_long = count / detail::warp_values + 1;
  const std::size_t most_pieces = count / detail::warp_values + most_long;
  detail::arrays_of_workspace arrays;
  const std::size_t counters = arrays.add<counter>(4);
  const std::size_t segment = arrays.add<counter>(most_long), first_piece = arrays.add<counter>(most_long);
  const std::size_t place = arrays.add<counter>(most_pieces), totals = arrays.add<value_of<Structure>>(most_pieces);
  arrays.take(memory);
  counter* const counted = arrays.at<counter>(counters);
  const detail::long_segments<value_of<Structure>> others{counted,
                                                          counted + 1,
                                                          counted + 2,
                                                          counted + 3,
                                                          most_pieces,
                                                          arrays.at<counter>(segment),
                                                          arrays.at<counter>(first_piece),
                                                          arrays.at<counter>(place),
                                                          arrays.at<value_of<Structure>>(totals)};
  detail::check(cudaMemsetAsync(counted, 0, 4 * sizeof(counter), stream), "clear device memory");
  const value_of<Structure> identity = structure.identity();
  const auto blocks_of = [](std::size_t warps) {
    return static_cast<unsigned>(
        std::min<std::size_t>(detail::divided_up(warps, std::size_t{detail::warps_of_block}), 1u << 20));
  };
  // Few segments get a warp each, so that there is work for every multiprocessor.
  constexpr std::size_t enough_warps = std::size_t{1} << 15;
  const auto each = static_cast<unsigned>(
      std::clamp<std::size_t>(segments / enough_warps, 1, static_cast<std::size_t>(detail::warp_lanes)));
  detail::
      reduce_segments<<<blocks_of(detail::divided_up(segments, std::size_t{each})), detail::block_threads, 0, stream>>>(
          structure, values, count, offsets, segments, each, identity, result, others);
  if (count > detail::warp_values) {
    detail::reduce_pieces_of_segments<<<blocks_of(most_pieces), detail::block_threads, 0, stream>>>(
        structure, values, offsets, identity, others);
    detail::reduce_totals_of_segments<<<std::min(blocks_of(most_long), 2048u), detail::block_threads, 0, stream>>>(
        structure, offsets, identity, result, others);
  }
  detail::check(cudaGetLastError(), "launch a segmented reduction");
  counter bad = 0;
  detail::check(cudaMemcpyAsync(&bad, counted, sizeof bad, cudaMemcpyDeviceToHost, stream), "copy from the device");
  detail::check(cudaStreamSynchronize(stream), "finish a segmented reduction");
  if (bad != 0) {
    throw bad_argument("segmented_reduce: the offsets of segment " + std::to_string(~bad) +
                       " descend or lie behind the end; offsets must ascend and end at most at the number of values, " +
                       std::to_string(count));
  }
}

}  // namespace shoal::algebra::gpu
