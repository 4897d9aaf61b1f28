// What the two kernels for the moments share: the rows that a component holds, and products of them.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_matrix/layout.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_matrix {

/// Rows of one step of a tensor-core product.
inline constexpr int step_rows = 16;
inline constexpr int float_steps = float_rows / step_rows;

/// A row that a component holds: the root of its weighted responsibility, and where its elements begin.
struct listed_row {
  float root;
  unsigned begin;
};

/// √r of a row; zero where r is negligible or the row is far.
__device__ inline float root_of(float term, float2 shift) {
  constexpr float least = -static_cast<float>(negligible_log_ratio<float>);
  const float ratio = term - shift.x;
  return ratio >= least ? __expf(0.5F * (ratio - shift.y)) : 0.0F;
}

__device__ inline float warp_maximum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value = fmaxf(value, __shfl_xor_sync(~0U, value, distance));
  return value;
}

/// The exponent of the largest root: divided by that power of two, roots have digits in float16 down to much smaller
/// ones.
__device__ inline int exponent_of(float most) { return max(static_cast<int>(__float_as_uint(most) >> 23) - 127, -120); }
__device__ inline float factor_for(int exponent) {
  return __uint_as_float(static_cast<unsigned>(127 - exponent) << 23);
}
/// The square of what factor_for divided by.
__device__ inline double undo(int exponent) {
  return __longlong_as_double(static_cast<long long>(1023 + 2 * exponent) << 52);
}

/// The four listed rows of a step that members t of the 8 groups of threads hold: 2t, 2t + 1, 2t + 8, 2t + 9.
__device__ inline void step_entries(const listed_row* list, int t, listed_row (&entry)[4]) {
  const uint4 near = *reinterpret_cast<const uint4*>(list + 2 * t);
  const uint4 next = *reinterpret_cast<const uint4*>(list + 2 * t + 8);
  entry[0] = {__uint_as_float(near.x), near.y};
  entry[1] = {__uint_as_float(near.z), near.w};
  entry[2] = {__uint_as_float(next.x), next.y};
  entry[3] = {__uint_as_float(next.z), next.w};
}

/// One of the products of a tile: of three, the last one is of the high terms. Terms of 8 columns and 16 rows are the
/// second operand as they are, those of two groups together the first. A product waits for the one before it in the
/// same sum, so callers pass over many tiles for each.
template <int Products>
struct first_operand {
  std::uint32_t high[4];
  std::uint32_t low[4];

  // An operand's registers are neighbours, and a term is in both operands. `nothing` is zero, which the compiler cannot
  // know: so it keeps one copy for each operand, where it otherwise moves terms to and fro between the products.
  __device__ first_operand(const column_terms<Products>& a0, const column_terms<Products>& a1, unsigned nothing)
      : high{a0.x ^ nothing, a1.x ^ nothing, a0.y ^ nothing, a1.y ^ nothing} {
    if constexpr (Products == 3) {
      low[0] = a0.z ^ nothing;
      low[1] = a1.z ^ nothing;
      low[2] = a0.w ^ nothing;
      low[3] = a1.w ^ nothing;
    }
  }

  __device__ void multiply(int product, float (&sum)[4], const column_terms<Products>& b) const {
    if constexpr (Products == 3) {
      if (product == 0) multiply_add(sum, low, b.x, b.y);
      if (product == 1) multiply_add(sum, high, b.z, b.w);
    }
    if (product == 2) multiply_add(sum, high, b.x, b.y);
  }
};

/// Columns that are read together, beginning with group c.
constexpr int read_width(int groups, int width, int c) { return width == 2 && c >= groups / 2 * 2 ? 1 : width; }

}  // namespace shoal::gmm::tensor_matrix
