// What kernels of densities do with the sums of their products.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/tensor_wide/layout.hpp>

namespace shoal::gmm::tensor_wide {

template <int Size>
__device__ __forceinline__ void hold(float (&sums)[Size]) {
#pragma unroll
  for (int i = 0; i < Size; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

// Adds the squares of y, of which `sums` lacks the offsets.
template <int Size>
__device__ __forceinline__ void add_squares(const float (&sums)[Size], const float* offsets, double (&norm)[2]) {
  const auto* const pairs = reinterpret_cast<const float2*>(offsets);
  float part[2] = {};
#pragma unroll
  for (int i = 0; i < Size; i += 4) {
    const float2 offset = __ldg(pairs + i);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float first = sums[i + 2 * half] + offset.x, second = sums[i + 2 * half + 1] + offset.y;
      part[half] = fmaf(first, first, part[half]);
      part[half] = fmaf(second, second, part[half]);
    }
  }
  norm[0] += static_cast<double>(part[0]);
  norm[1] += static_cast<double>(part[1]);
}

// Writes the log-densities of a thread's two rows under component `k`, the first of which is `first_row`. Four threads
// have parts of their norms, of which the one with t = 0 writes.
__device__ __forceinline__ void write_densities(double (&norm)[2], double constant, unsigned k, unsigned first_row,
                                                unsigned t, const row_chunk& chunk, const row_terms& terms) {
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    norm[half] += __shfl_xor_sync(~0U, norm[half], 1);
    norm[half] += __shfl_xor_sync(~0U, norm[half], 2);
    const std::size_t row = first_row + 8 * half;
    // An empty component gives nothing, whatever its other parameters are.
    if (t == 0 && row < chunk.count) {
      terms.values[k * terms.stride + row] = constant == -INFINITY ? constant : constant - norm[half] / 2;
    }
  }
}

}  // namespace shoal::gmm::tensor_wide
