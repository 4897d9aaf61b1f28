// Threads that work on something together, whether they are a warp or a block.
#pragma once

#include <cuda_runtime.h>

namespace shoal::cuda {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned every_lane = 0xffffffff;

template <class Number>
__device__ Number warp_sum(Number value) {
  for (unsigned step = warp_size / 2; step > 0; step /= 2) value += __shfl_xor_sync(every_lane, value, step);
  return value;
}

struct warp_group {
  unsigned rank;  // of the calling thread
  unsigned size;

  __device__ warp_group() : rank(threadIdx.x % warp_size), size(warp_size) {}
  __device__ void sync() const { __syncwarp(); }
  // The same bits in every thread.
  __device__ double sum(double value) const { return warp_sum(value); }
  __device__ bool any(bool value) const { return __any_sync(every_lane, value); }
};

// A whole block of at most 1024 threads, a multiple of warp_size.
struct block_group {
  unsigned rank;
  unsigned size;

  __device__ block_group() : rank(threadIdx.x), size(blockDim.x) {}
  __device__ void sync() const { __syncthreads(); }
  __device__ double sum(double value) const {
    __shared__ double warps[warp_size];
    value = warp_sum(value);
    __syncthreads();  // the last sum has been read
    if (rank % warp_size == 0) warps[rank / warp_size] = value;
    __syncthreads();
    double total = 0;
    for (unsigned warp = 0; warp < size / warp_size; ++warp) total += warps[warp];
    return total;
  }
  __device__ bool any(bool value) const { return __syncthreads_or(value); }
};

// A group's threads as a small grid over the rows and columns of a matrix.
struct group_grid {
  unsigned row;     // of the calling thread
  unsigned column;  // of the calling thread
  unsigned rows;
  unsigned columns;

  template <class Group>
  __device__ group_grid(const Group& group, unsigned matrix_columns) {
    columns = matrix_columns <= 8 ? 8 : (matrix_columns <= 16 ? 16 : warp_size);
    rows = group.size / columns;
    row = group.rank / columns;
    column = group.rank % columns;
  }
};

}  // namespace shoal::cuda
