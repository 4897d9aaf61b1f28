// Hopper's products by four warps (wgmma): sums in registers, the second factor in shared memory.
#pragma once

#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/execution/precision.hpp>

namespace shoal::cuda {

// Sums as the operands of a statement, and their names in it.
#define SHOAL_SUMS_8(d, i)                                                                                    \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define SHOAL_SUMS_16(d, i) SHOAL_SUMS_8(d, i), SHOAL_SUMS_8(d, i + 8)
#define SHOAL_SUMS_20(d) SHOAL_SUMS_16(d, 0), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define SHOAL_SUMS_32_AT(d, i) SHOAL_SUMS_16(d, i), SHOAL_SUMS_16(d, i + 16)
#define SHOAL_SUMS_32(d) SHOAL_SUMS_32_AT(d, 0)
#define SHOAL_SUMS_64(d) SHOAL_SUMS_32(d), SHOAL_SUMS_16(d, 32), SHOAL_SUMS_16(d, 48)
#define SHOAL_SUMS_128(d) SHOAL_SUMS_64(d), SHOAL_SUMS_32_AT(d, 64), SHOAL_SUMS_32_AT(d, 96)
#define SHOAL_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define SHOAL_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define SHOAL_NAMES_20 SHOAL_NAMES_16 ", %16, %17, %18, %19"
#define SHOAL_NAMES_32 SHOAL_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SHOAL_NAMES_64                                                                                     \
  SHOAL_NAMES_32                                                                                           \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
  "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SHOAL_NAMES_128                                                                          \
  SHOAL_NAMES_64                                                                                 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "           \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
// factors: the names of both, `p`, which says whether the sums count, and the signs and orders of the factors.
#define SHOAL_MULTIPLY(shape, keep, names, factors, sums, ...)                                               \
  asm volatile("{.reg .pred p;\nsetp.ne.b32 p, " keep ", 0;\nwgmma.mma_async.sync.aligned." shape " {" names \
               "}, " factors ";}"                                                                            \
               : sums                                                                                        \
               : __VA_ARGS__)

// d (64 × 256, 64 × 128, 64 × 64, 64 × 40, 64 × 32 or 64 × 16) = keep · d + a (64 × 16) · b (16 × as many), of float16
// numbers: both factors from shared memory, as describe() says, or the first from registers.
__device__ inline void multiply(float (&d)[128], unsigned long long a, unsigned long long b, int keep) {
  SHOAL_MULTIPLY("m64n256k16.f32.f16.f16", "%130", SHOAL_NAMES_128, "%128, %129, p, 1, 1, 0, 0", SHOAL_SUMS_128(d),
                 "l"(a), "l"(b), "r"(keep));
}
__device__ inline void multiply(float (&d)[64], unsigned long long a, unsigned long long b, int keep) {
  SHOAL_MULTIPLY("m64n128k16.f32.f16.f16", "%66", SHOAL_NAMES_64, "%64, %65, p, 1, 1, 0, 0", SHOAL_SUMS_64(d), "l"(a),
                 "l"(b), "r"(keep));
}
__device__ inline void multiply(float (&d)[64], const unsigned (&a)[4], unsigned long long b, int keep) {
  SHOAL_MULTIPLY("m64n128k16.f32.f16.f16", "%69", SHOAL_NAMES_64, "{%64, %65, %66, %67}, %68, p, 1, 1, 0",
                 SHOAL_SUMS_64(d), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}
__device__ inline void multiply(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int keep) {
  SHOAL_MULTIPLY("m64n64k16.f32.f16.f16", "%37", SHOAL_NAMES_32, "{%32, %33, %34, %35}, %36, p, 1, 1, 0",
                 SHOAL_SUMS_32(d), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}
__device__ inline void multiply(float (&d)[16], const unsigned (&a)[4], unsigned long long b, int keep) {
  SHOAL_MULTIPLY("m64n32k16.f32.f16.f16", "%21", SHOAL_NAMES_16, "{%16, %17, %18, %19}, %20, p, 1, 1, 0",
                 SHOAL_SUMS_16(d, 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}
__device__ inline void multiply(float (&d)[20], const unsigned (&a)[4], unsigned long long b, int keep) {
  SHOAL_MULTIPLY("m64n40k16.f32.f16.f16", "%25", SHOAL_NAMES_20, "{%20, %21, %22, %23}, %24, p, 1, 1, 0",
                 SHOAL_SUMS_20(d), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}
__device__ inline void multiply(float (&d)[8], const unsigned (&a)[4], unsigned long long b, int keep) {
  SHOAL_MULTIPLY("m64n16k16.f32.f16.f16", "%13", SHOAL_NAMES_8, "{%8, %9, %10, %11}, %12, p, 1, 1, 0",
                 SHOAL_SUMS_8(d, 0), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

// d (64 × 64) = Keep · d + a (64 × 32 bytes) · (b (64 × 32 bytes))ᵀ, of 8 TF32 or 16 bf16 numbers, the first factor
// from registers. Float32 has no such products: families make them of either.
template <precision Numbers, bool Keep = true>
__device__ inline void multiply(float (&d)[32], const unsigned (&a)[4], unsigned long long b) {
  static_assert(Numbers == precision::tf32 || Numbers == precision::bf16);
  if constexpr (Numbers == precision::bf16) {
    SHOAL_MULTIPLY("m64n64k16.f32.bf16.bf16", "%37", SHOAL_NAMES_32, "{%32, %33, %34, %35}, %36, p, 1, 1, 0",
                   SHOAL_SUMS_32(d), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(Keep ? 1 : 0));
  } else {
    SHOAL_MULTIPLY("m64n64k8.f32.tf32.tf32", "%37", SHOAL_NAMES_32, "{%32, %33, %34, %35}, %36, p, 1, 1",
                   SHOAL_SUMS_32(d), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(Keep ? 1 : 0));
  }
}

#undef SHOAL_SUMS_8
#undef SHOAL_SUMS_16
#undef SHOAL_SUMS_20
#undef SHOAL_SUMS_32
#undef SHOAL_SUMS_32_AT
#undef SHOAL_SUMS_64
#undef SHOAL_SUMS_128
#undef SHOAL_NAMES_8
#undef SHOAL_NAMES_16
#undef SHOAL_NAMES_20
#undef SHOAL_NAMES_32
#undef SHOAL_NAMES_64
#undef SHOAL_NAMES_128
#undef SHOAL_MULTIPLY

}  // namespace shoal::cuda
