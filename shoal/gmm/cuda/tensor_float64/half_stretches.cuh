// How groups of warps of several blocks join their sums over stretches of the columns of the same rows.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/gmm/cuda/tensor_float64/half_ring.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_stretches.hpp>

namespace shoal::gmm::tensor_float64 {

/// What the stretches of a group's rows leave: [stretch][four][thread]. Whoever comes last reads them all in order, so
/// that the bits do not depend on who that is.
struct joined_stretches {
  float4* sums;
  unsigned* done;
  unsigned count;

  __device__ joined_stretches(const component_frame& frame, std::size_t score_tile, unsigned fours)
      : count(frame.stretches) {
    const std::size_t at = score_tile * frame.half_tiles() + blockIdx.y;
    sums = frame.stretch_sums + at * count * fours * group_threads + threadIdx.x % group_threads;
    done = frame.stretches_done + at;
  }

  /// Number `four` of the calling thread's numbers of a stretch.
  __device__ float4* at(unsigned stretch, unsigned four, unsigned fours) const {
    return sums + (std::size_t{stretch} * fours + four) * group_threads;
  }

  /// Called by all threads of the group when its stretch has been left; true in the group that is the last to come.
  __device__ bool is_last(int group, int& noted) const {
    __threadfence();
    meet_group(group);
    if (threadIdx.x % group_threads == 0) {
      noted = atomicAdd(done, 1U) + 1 == count ? 1 : 0;
      if (noted != 0) *done = 0;
    }
    meet_group(group);
    const bool last = noted != 0;
    if (last) __threadfence();
    return last;
  }
};

}  // namespace shoal::gmm::tensor_float64
