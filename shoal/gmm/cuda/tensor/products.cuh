// Products of float32 grade on tensor cores: a number as the sum of two float16 terms, and a row in a frame.
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace shoal::gmm::tensor {

__device__ inline std::uint32_t bits_of(__half2 pair) { return *reinterpret_cast<std::uint32_t*>(&pair); }

// a ≈ high + low with |a − high − low| ≤ max(2⁻²² |a|, 2⁻²⁵), for |a| < 65,504; not finite beyond. Two numbers at once.
__device__ inline void split(float a, float b, std::uint32_t& high, std::uint32_t& low) {
  const __half2 rounded = __floats2half2_rn(a, b);
  const float2 back = __half22float2(rounded);
  high = bits_of(rounded);
  low = bits_of(__floats2half2_rn(a - back.x, b - back.y));
}

// Terms of 8 columns and 16 rows as a thread holds them: high 0, high 1, and low 0, low 1 where there are two terms.
template <int Products>
using column_terms = std::conditional_t<Products == 3, uint4, uint2>;

template <int Products>
__device__ inline column_terms<Products> split_four(const float (&v)[4]) {
  column_terms<Products> terms;
  if constexpr (Products == 3) {
    split(v[0], v[1], terms.x, terms.z);
    split(v[2], v[3], terms.y, terms.w);
  } else {
    terms.x = bits_of(__floats2half2_rn(v[0], v[1]));
    terms.y = bits_of(__floats2half2_rn(v[2], v[3]));
  }
  return terms;
}

// sum (16 × 8) += a (16 × 16) · b (16 × 8)
__device__ inline void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Row of its word that a thread of a warp owns.
__device__ inline int owned_row(int thread) { return 8 * (thread % 4) + thread / 4; }
__device__ inline int owner_of(int row) { return 4 * (row % 8) + row / 8; }

// Beyond this a row's z² is out of float16's range. It is a hundred deviations of every component that shares the
// frame, so such a row is far, and what it is replaced by does not count.
inline constexpr float most_z = 255;

// A column in the frame. One rounding: both products with a power of two are exact.
__device__ inline float in_frame(float x, float2 frame) { return fmaf(x, frame.x, frame.y); }
// Also takes a NaN away.
__device__ inline float within_range(float z) { return fabsf(z) <= most_z ? z : 0.0F; }

}  // namespace shoal::gmm::tensor
