// Hopper's products of bf16 and of TF32 numbers by four warps.
#pragma once

#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/execution/precision.hpp>

namespace shoal::som {

/// scores (64 × 64) = Keep · scores + rows (64 × 32 bytes) · (units (64 × 32 bytes))ᵀ, of 16 bf16 or 8 TF32 numbers.
template <precision Precision, bool Keep>
__device__ inline void multiply(float (&d)[32], const unsigned (&a)[4], unsigned long long units) {
#define SHOAL_MULTIPLY(shape, ending)                                                                               \
  asm volatile(                                                                                                     \
      "{.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"                                                                    \
      "wgmma.mma_async.sync.aligned." shape                                                                         \
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                    \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "                           \
      "{%32, %33, %34, %35}, %36, p, 1, 1" ending "}"                                                               \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),      \
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),     \
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])                   \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(units), "n"(Keep ? 1 : 0))
  if constexpr (Precision == precision::tf32) {
    SHOAL_MULTIPLY("m64n64k8.f32.tf32.tf32", ";");
  } else {
    SHOAL_MULTIPLY("m64n64k16.f32.bf16.bf16", ", 0;");
  }
#undef SHOAL_MULTIPLY
}

}  // namespace shoal::som
