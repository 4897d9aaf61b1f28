// Several sums over the lanes of a warp at once.
#pragma once

#include <cuda_runtime.h>

namespace shoal {

// warp_sum() of value(0), …, value(Count − 1), each of which ends in 32 / Count lanes: that of value lane / (32 /
// Count). Half of what a lane has goes to another one as long as it has more than one.
template <unsigned Count, class Value>
__device__ double warp_sums(const Value& value) {
  constexpr unsigned half = Count / 2;
  const unsigned lane = threadIdx.x % 32;
  double own[half];
#pragma unroll
  for (unsigned i = 0; i < half; ++i) {
    const double low = value(i), high = value(i + half);
    const bool upper = (lane & 16) != 0;
    own[i] = (upper ? high : low) + __shfl_xor_sync(~0u, upper ? low : high, 16);
  }
  unsigned step = 8;
#pragma unroll
  for (unsigned left = half; left > 1; left /= 2) {
    const bool upper = (lane & step) != 0;
#pragma unroll
    for (unsigned i = 0; i < left / 2; ++i) {
      const double low = own[i], high = own[i + left / 2];
      own[i] = (upper ? high : low) + __shfl_xor_sync(~0u, upper ? low : high, step);
    }
    step /= 2;
  }
  for (; step > 0; step /= 2) own[0] += __shfl_xor_sync(~0u, own[0], step);
  return own[0];
}

}  // namespace shoal
