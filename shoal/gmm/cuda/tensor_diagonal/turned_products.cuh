// Products by four warps (wgmma) of which both factors lie in shared memory, either way round: sums over columns and
// sums over rows of the same numbers.
#pragma once

#include <shoal/execution/cuda/warpgroup.cuh>

namespace shoal::gmm::tensor_diagonal {

// Eights of numbers side by side in shared memory: 16 bytes of one row, those of eight rows one after the other.
// `across` is the bytes from the eights of some columns to the next, `down` from eight rows to the next. As a factor
// whose products are summed over its columns, and over its rows. Addresses are the same for all threads of a warp,
// which the compiler knows of a number that one thread has told the others: then a description costs no instructions of
// them.
struct eights_operand {
  unsigned low, high;

  __device__ eights_operand(unsigned address, unsigned leading, unsigned stride)
      : low((address & 0x3ffff) >> 4 | leading >> 4 << 16), high(stride >> 4) {}
  // The operand `bytes` further on. No address goes beyond its eighteen bits.
  __device__ unsigned long long at(unsigned bytes) const {
    return static_cast<unsigned long long>(high) << 32 | (low + (bytes >> 4));
  }
};
__device__ inline eights_operand over_columns(unsigned address, unsigned across, unsigned down) {
  return {address, across, down};
}
__device__ inline eights_operand over_rows(unsigned address, unsigned across, unsigned down) {
  return {address, down, across};
}

#define SHOAL_SUMS_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SHOAL_SUMS_20(d, i) \
  SHOAL_SUMS_4(d, i), SHOAL_SUMS_4(d, i + 4), SHOAL_SUMS_4(d, i + 8), SHOAL_SUMS_4(d, i + 12), SHOAL_SUMS_4(d, i + 16)
#define SHOAL_NAMES_20 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19"
#define SHOAL_NAMES_32 SHOAL_NAMES_20 ", %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SHOAL_NAMES_52 \
  SHOAL_NAMES_32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51"
#define SHOAL_NAMES_64 SHOAL_NAMES_52 ", %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SHOAL_MULTIPLY(shape, names, first, second, keep, first_turned, second_turned, ...)                      \
  asm volatile("{.reg .pred p;\nsetp.ne.b32 p, " keep ", 0;\nwgmma.mma_async.sync.aligned." shape                \
               ".f32.f16.f16 {" names "}, " first ", " second ", p, 1, 1, " first_turned ", " second_turned ";}" \
               : __VA_ARGS__                                                                                     \
               : "l"(a), "l"(b), "r"(keep_sums), "n"(Turned ? 1 : 0))

// d (64 × twice as many as there are, a quarter of them this thread's) = keep · d + a · b, over 16 columns or, turned,
// over 16 rows of both.
template <bool Turned>
__device__ inline void multiply_eights(float (&d)[20], unsigned long long a, unsigned long long b, int keep_sums) {
  SHOAL_MULTIPLY("m64n40k16", SHOAL_NAMES_20, "%20", "%21", "%22", "%23", "%23", SHOAL_SUMS_20(d, 0));
}
template <bool Turned>
__device__ inline void multiply_eights(float (&d)[32], unsigned long long a, unsigned long long b, int keep_sums) {
  SHOAL_MULTIPLY("m64n64k16", SHOAL_NAMES_32, "%32", "%33", "%34", "%35", "%35", SHOAL_SUMS_20(d, 0),
                 SHOAL_SUMS_4(d, 20), SHOAL_SUMS_4(d, 24), SHOAL_SUMS_4(d, 28));
}
template <bool Turned>
__device__ inline void multiply_eights(float (&d)[52], unsigned long long a, unsigned long long b, int keep_sums) {
  SHOAL_MULTIPLY("m64n104k16", SHOAL_NAMES_52, "%52", "%53", "%54", "%55", "%55", SHOAL_SUMS_20(d, 0),
                 SHOAL_SUMS_20(d, 20), SHOAL_SUMS_4(d, 40), SHOAL_SUMS_4(d, 44), SHOAL_SUMS_4(d, 48));
}

template <bool Turned>
__device__ inline void multiply_eights(float (&d)[64], unsigned long long a, unsigned long long b, int keep_sums) {
  SHOAL_MULTIPLY("m64n128k16", SHOAL_NAMES_64, "%64", "%65", "%66", "%67", "%67", SHOAL_SUMS_20(d, 0),
                 SHOAL_SUMS_20(d, 20), SHOAL_SUMS_20(d, 40), SHOAL_SUMS_4(d, 60));
}

#undef SHOAL_SUMS_4
#undef SHOAL_SUMS_20
#undef SHOAL_NAMES_20
#undef SHOAL_NAMES_32
#undef SHOAL_NAMES_52
#undef SHOAL_NAMES_64
#undef SHOAL_MULTIPLY

}  // namespace shoal::gmm::tensor_diagonal
