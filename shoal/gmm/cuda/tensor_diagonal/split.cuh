// Numbers as float16 terms, and a row in the frame: what the kernels for diagonal mixtures of many columns share.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/layout.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {

// Eight neighbours of an operand, split; `low` is not touched when there is one term.
template <int Products>
__device__ inline void split_eight(const float (&v)[8], uint4& high, uint4& low) {
  if constexpr (Products == 3) {
    tensor::split(v[0], v[1], high.x, low.x);
    tensor::split(v[2], v[3], high.y, low.y);
    tensor::split(v[4], v[5], high.z, low.z);
    tensor::split(v[6], v[7], high.w, low.w);
  } else {
    high.x = tensor::bits_of(__floats2half2_rn(v[0], v[1]));
    high.y = tensor::bits_of(__floats2half2_rn(v[2], v[3]));
    high.z = tensor::bits_of(__floats2half2_rn(v[4], v[5]));
    high.w = tensor::bits_of(__floats2half2_rn(v[6], v[7]));
  }
}

// The number that a column's terms stand for.
template <int Products>
__device__ inline float in_terms(float value) {
  const __half high = __float2half_rn(value);
  if constexpr (Products == 1) return __half2float(high);
  return __half2float(high) + __half2float(__float2half_rn(value - __half2float(high)));
}

__device__ inline float power_of_two(float exponent) {
  float value;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(exponent));
  return value;
}

inline constexpr float log2_of_e = 1.44269504088896341F;
inline constexpr double ln_2 = 0.693147180559945309417;

// How the mixture is arranged, once pack_mixture() has said. A common frame leaves components out where these are few,
// or narrow and hold few rows, and where even a wide one would have to leave out many.
__device__ inline int arrangement_of(const problem& mixture) {
  const int* const found = mixture.arrangement;
  if (*found != wide_frame) return *found;
  const bool few = found[left_out_at] * components_an_outsider <= mixture.components;
  const bool many = found[outsiders_at] * components_an_outsider > mixture.components;
  const bool light = found[broad_left_out_at] == 0 && found[left_out_weight_at] <= most_left_out_weight * weight_units;
  if (mixture.left_out != nullptr && found[holds_some_at] != 0 && (few || light || many)) return common_frame;
  return many ? no_frame : wide_frame;
}
// Whether there are components that a common frame leaves out.
__device__ inline bool leaves_out_some(const problem& mixture) {
  return mixture.left_out != nullptr && mixture.arrangement[left_out_at] != 0 &&
         arrangement_of(mixture) == common_frame;
}
__device__ inline bool leaves_out(const problem& mixture, int k) {
  return leaves_out_some(mixture) && mixture.left_out[k] != 0;
}

// In a wide frame a term so far below its row's greatest, in bits, counts as nothing, whatever the products' errors
// are: with wide_squared_distance they are less than a bit each.
__device__ inline float wide_margin(const problem& mixture) {
  return static_cast<float>(mixture.negligible) * log2_of_e + 2;
}

// What is known of a row whose terms are found one by one, in bits.
struct exact_state {
  float greatest = -INFINITY;
  float sum = 0;
  float norm = INFINITY;  // ‖y‖² under the component of the greatest term

  // A term that is −∞ (an empty component) or not a number (a ‖y‖² out of range) is beyond what counts.
  __device__ void add(float term, float its_norm, float its_sum = 1) {
    if (!(term > -INFINITY)) return;
    const float most = fmaxf(greatest, term);
    sum = sum * power_of_two(greatest - most) + its_sum * power_of_two(term - most);
    if (term > greatest) norm = its_norm;
    greatest = most;
  }
};

// The exponent of a tile's greatest weight, given as the bits that integers compare; the least where all are zero.
__device__ inline void write_exponent(const problem& mixture, int tile, int greatest_weight) {
  const float greatest = __int_as_float(greatest_weight);
  mixture.exponents[tile] = greatest > 0 ? ilogbf(greatest) : -126;
}

// Writes what was found of a row whose terms have nothing in common beside them: the greatest of them and log₂ of
// their sum beside it. A row that does not count, a far or weightless one, has no shift. Returns ln p(x).
__device__ inline double write_row(const problem& mixture, int row, float greatest, float log_sum, float weight,
                                   bool counts) {
  const float density = greatest + log_sum;
  const double log_density = ln_2 * static_cast<double>(density) + *mixture.parameters.packed.log_shift;
  const float shift = mixture.log_sums != nullptr ? greatest : density - log2f(weight);
  mixture.shifts[row] = counts ? shift : INFINITY;
  if (mixture.log_sums != nullptr) mixture.log_sums[row] = log_sum;
  if (mixture.log_densities != nullptr) mixture.log_densities[row] = log_density;
  return log_density;
}

}  // namespace shoal::gmm::tensor_diagonal
