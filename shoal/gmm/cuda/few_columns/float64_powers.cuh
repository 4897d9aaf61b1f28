// Powers of two of float64 numbers by a table in shared memory, of which each thread of a half warp has its own copy:
// others' places are in other banks, so that a look-up takes two cycles wherever the numbers lie.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/few_columns/origin_float64.cuh>

namespace shoal::gmm::few_columns {

/// Copies of the table.
inline constexpr unsigned float64_table_copies = 16;

/// Writes 2 to the powers of i / 2^Bits, with exponents from which i is taken away as power_from_table() adds it.
template <unsigned Bits>
__device__ void write_power_table(double* table) {
  constexpr unsigned count = 1U << Bits;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
    const double part = static_cast<double>(i) / count;
    const double power = i < count / 2 ? power_of_part(part) : 2 * power_of_part(part - 1);
    const double entry =
        __hiloint2double(__double2hiint(power) - static_cast<int>(i << (20 - Bits)), __double2loint(power));
#pragma unroll
    for (unsigned copy = 0; copy < float64_table_copies; ++copy) {
      table[i * float64_table_copies + (copy + threadIdx.x) % float64_table_copies] = entry;
    }
  }
}

/// Where this thread's copy of the table begins, as an address in shared memory.
__device__ inline unsigned own_power_table(const double* table) {
  return static_cast<unsigned>(__cvta_generic_to_shared(table + threadIdx.x % float64_table_copies));
}

/// 2 to the power of x, which is at most 2²⁰, off by 2⁻⁵¹; 0 below -1023, and any number of at most 2⁻¹⁰²² below -1022.
/// Its terms interpolate (2ᵗ − 1)/t at Chebyshev's places of half a step of the table.
template <unsigned Bits>
__device__ double power_from_table(double x, unsigned own_table) {
  constexpr double shift = 6755399441055744.0 / (1U << Bits);
  constexpr unsigned mask = (1U << Bits) - 1;
  // Below -1023, this with some lower half: less than half a step of the table away from it, whose entry is 1, the
  // lower half of which is zero, and the upper half of which the exponent takes away.
  const double least =
      __hiloint2double(static_cast<int>(min(static_cast<unsigned>(__double2hiint(x)), 0xC08FF800U)), __double2loint(x));
  const double near = least + shift;
  const double rest = least - (near - shift);
  const auto steps = static_cast<unsigned>(__double2loint(near));
  double entry;
  asm("{\n.reg .u32 place;\nand.b32 place, %1, %2;\nmad.lo.u32 place, place, %3, %4;\nld.shared.f64 %0, [place];\n}"
      : "=d"(entry)
      : "r"(steps), "n"(mask), "n"(8 * float64_table_copies), "r"(own_table));
  const double whole =
      __hiloint2double(__double2hiint(entry) + static_cast<int>(steps << (20 - Bits)), __double2loint(entry));
  double value;
  if constexpr (Bits >= 10) {
    value = fma(0.05550410890324418, rest, 0.24022650867895623);
    value = fma(value, rest, 0.6931471805599453);
  } else {
    value = fma(0.009618129695226546, rest, 0.05550411375117056);
    value = fma(value, rest, 0.24022650695910044);
    value = fma(value, rest, 0.6931471805599428);
  }
  return fma(whole, value * rest, whole);
}

}  // namespace shoal::gmm::few_columns
