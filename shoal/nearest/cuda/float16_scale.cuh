// Powers of two that numbers are multiplied by before they are rounded to float16.
#pragma once

#include <cuda_runtime.h>

#include <shoal/nearest/cuda/search_bounds.hpp>

namespace shoal {

/// 2^exponent, for exponents of normal numbers.
__device__ inline float power_of_two(int exponent) { return __int_as_float((exponent + 127) << 23); }

__device__ inline int within_range(int exponent) { return min(max(exponent, -100), 100); }

/// The exponent that brings a norm near 2¹¹, given its square: then no number leaves float16's range, and those that
/// matter are not among its denormals.
__device__ inline int float16_exponent(float squares) {
  return 11 - (((__float_as_int(squares) >> 23 & 255) - 127) >> 1);
}
/// Of all centroids.
__device__ inline int float16_exponent(const search_bounds& bounds) {
  return within_range(
      float16_exponent(static_cast<float>(__longlong_as_double(static_cast<long long>(bounds.largest_norm)))));
}

}  // namespace shoal
