// What kernels of densities do with the sums of their products.
#pragma once

#include <cuda_runtime.h>

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

}  // namespace shoal::gmm::tensor_wide
