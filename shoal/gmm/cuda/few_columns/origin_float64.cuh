// Arithmetic of float64 kernels that move rows to one origin: products on tensor cores, powers of two, and logarithms.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/few_columns/origin_places.hpp>

namespace shoal::gmm::few_columns {

/// result (16 × 8) = a (16 × 8) · b (8 × 8) + c. Thread 4 g + q of the warp holds a(g, q), a(g + 8, q), a(g, q + 4),
/// a(g + 8, q + 4); b(q, g), b(q + 4, g); c(g, 2q), c(g, 2q + 1), c(g + 8, 2q), c(g + 8, 2q + 1).
__device__ inline void multiply_add(double (&result)[4], const double (&a)[4], const double (&b)[2],
                                    const double (&c)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=d"(result[0]), "=d"(result[1]), "=d"(result[2]), "=d"(result[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
#else
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    double first = c[2 * half], second = c[2 * half + 1];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(first), "+d"(second)
          : "d"(a[2 * part + half]), "d"(b[part]));
    }
    result[2 * half] = first;
    result[2 * half + 1] = second;
  }
#endif
}

/// The same of the first four columns of a and rows of b.
__device__ inline void multiply_add_half(double (&result)[4], const double (&a)[4], double b, const double (&c)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=d"(result[0]), "=d"(result[1]), "=d"(result[2]), "=d"(result[3])
      : "d"(a[0]), "d"(a[1]), "d"(b), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
#else
  const double rest[4] = {a[0], a[1], 0, 0}, two[2] = {b, 0};
  multiply_add(result, rest, two, c);
#endif
}

/// 2 to the power of x in [−½, ½], off by at most 2⁻⁵².
__device__ inline double power_of_part(double x) {
  constexpr double coefficients[] = {4.4549605981865186e-10, 7.072585949269223e-09, 1.0178062445845774e-07,
                                     1.321544258792169e-06,  1.525273382983612e-05, 0.0001540353044173605,
                                     0.0013333558146416936,  0.009618129107606888,  0.0555041086648216,
                                     0.24022650695910097,    0.6931471805599453,    1.0};
  double value = coefficients[0];
#pragma unroll
  for (int i = 1; i < 12; ++i) value = fma(value, x, coefficients[i]);
  return value;
}

/// Writes 2 to the powers of i / origin_powers to table [origin_powers], with exponents from which i is taken away as
/// power_of_less() adds it.
__device__ inline void write_powers(double* table) {
  for (unsigned i = threadIdx.x; i < origin_powers; i += blockDim.x) {
    const double part = static_cast<double>(i) / origin_powers;
    const double power = i < origin_powers / 2 ? power_of_part(part) : 2 * power_of_part(part - 1);
    table[i] = __hiloint2double(__double2hiint(power) - static_cast<int>(i << (20 - origin_power_bits)),
                                __double2loint(power));
  }
}

/// 2 to the power of −term, which is not negative, off by 2⁻⁵¹; 0 from 1023 on. Units of float64 are what these kernels
/// wait for: with a table it takes seven operations, exp2() 21. The polynomial interpolates (2ᵗ − 1)/t at Chebyshev's
/// places of half a step of the table.
__device__ inline double power_of_less(double term, const double* table) {
  constexpr double shift = 6755399441055744.0 / origin_powers;  // with it numbers are multiples of a step
  // From 1023 on, this with some lower half: less than half a step away from it, whose entry is 1, the lower half of
  // which is zero, and the upper half of which the exponent takes away.
  static_assert(origin_power_bits <= 10);
  const double most = __hiloint2double(static_cast<int>(min(static_cast<unsigned>(__double2hiint(term)), 0x408FF800U)),
                                       __double2loint(term));
  const double near = shift - most;
  const double rest = (shift - near) - most;
  const auto steps = static_cast<unsigned>(__double2loint(near));
  const double entry = table[steps % origin_powers];
  const double whole = __hiloint2double(__double2hiint(entry) + static_cast<int>(steps << (20 - origin_power_bits)),
                                        __double2loint(entry));
  double value = fma(0.05550410890324418, rest, 0.24022650867895623);
  value = fma(value, rest, 0.6931471805599453);
  return fma(whole, value * rest, whole);
}

/// The least of the components' values and those of the threads that share a row.
template <int Quads>
__device__ double exact_least(const double (&values)[Quads]) {
  double least = values[0];
#pragma unroll
  for (int k = 1; k < Quads; ++k) least = fmin(least, values[k]);
  least = fmin(least, __shfl_xor_sync(~0U, least, 1));
  return fmin(least, __shfl_xor_sync(~0U, least, 2));
}

/// The sum over the threads 4 g … 4 g + 3 of numbers [q], in thread 4 g + q.
__device__ inline double own_sum_of_four(const double (&numbers)[4]) {
  const bool odd = threadIdx.x % 2 != 0, high = threadIdx.x % 4 >= 2;
  const double first = odd ? numbers[1] : numbers[0], second = odd ? numbers[3] : numbers[2];
  const double pair = first + __shfl_xor_sync(~0U, odd ? numbers[0] : numbers[1], 1);
  const double other = second + __shfl_xor_sync(~0U, odd ? numbers[2] : numbers[3], 1);
  return (high ? other : pair) + __shfl_xor_sync(~0U, high ? pair : other, 2);
}

/// The upper halves of sums whose terms have all of their digits and that have reciprocals, from 2⁻⁹⁶⁰ to 2⁶⁰.
inline constexpr unsigned least_sum_high = 0x03F00000, past_sum_high = 0x43B00000;

__device__ inline bool is_usual_sum(double sum) {
  return static_cast<unsigned>(__double2hiint(sum)) - least_sum_high < past_sum_high - least_sum_high;
}

/// Σ log₂ of numbers, as the logarithm of a product.
struct logarithms {
  double product = 1;
  int exponent = 0;

  __device__ void add(double x) {
    product *= x;
    const int high = __double2hiint(product);
    exponent += (high >> 20) - 1023;
    product = __hiloint2double((high & 0xFFFFF) | 0x3FF00000, __double2loint(product));
  }
  __device__ double sum() const { return static_cast<double>(exponent) + log2(product); }
};

/// 1 / x of a usual sum.
__device__ inline double reciprocal(double x) {
  double result;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(x));
  double rest = fma(-x, result, 1.0);
  rest = fma(rest, rest, rest);
  result = fma(result, rest, result);
  return fma(result, fma(-x, result, 1.0), result);
}

}  // namespace shoal::gmm::few_columns
