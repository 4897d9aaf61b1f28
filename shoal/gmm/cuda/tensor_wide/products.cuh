// Hopper's products of float16 numbers for results of other widths than those of warpgroup_products.cuh.
#pragma once

#include <shoal/execution/cuda/warpgroup_products.cuh>

namespace shoal::gmm::tensor_wide {

using cuda::multiply;

#define SHOAL_SUMS(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

// d (64 × 72 or 64 × 104) = keep · d + a (64 × 16) · b (16 × as many), the first factor from registers.
__device__ inline void multiply(float (&d)[36], const unsigned (&a)[4], unsigned long long b, int keep) {
  asm volatile(
      "{.reg .pred p;\nsetp.ne.b32 p, %41, 0;\nwgmma.mma_async.sync.aligned.m64n72k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "
      "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35"
      "}, {%36, %37, %38, %39}, %40, p, 1, 1, 0;}"
      : SHOAL_SUMS(d, 0), SHOAL_SUMS(d, 4), SHOAL_SUMS(d, 8), SHOAL_SUMS(d, 12), SHOAL_SUMS(d, 16), SHOAL_SUMS(d, 20),
        SHOAL_SUMS(d, 24), SHOAL_SUMS(d, 28), SHOAL_SUMS(d, 32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}
__device__ inline void multiply(float (&d)[52], const unsigned (&a)[4], unsigned long long b, int keep) {
  asm volatile(
      "{.reg .pred p;\nsetp.ne.b32 p, %57, 0;\nwgmma.mma_async.sync.aligned.m64n104k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "
      "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
      "%44, %45, %46, %47, %48, %49, %50, %51"
      "}, {%52, %53, %54, %55}, %56, p, 1, 1, 0;}"
      : SHOAL_SUMS(d, 0), SHOAL_SUMS(d, 4), SHOAL_SUMS(d, 8), SHOAL_SUMS(d, 12), SHOAL_SUMS(d, 16), SHOAL_SUMS(d, 20),
        SHOAL_SUMS(d, 24), SHOAL_SUMS(d, 28), SHOAL_SUMS(d, 32), SHOAL_SUMS(d, 36), SHOAL_SUMS(d, 40),
        SHOAL_SUMS(d, 44), SHOAL_SUMS(d, 48)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

// The same where both factors lie column by column: those of eight neighbouring columns are one number after another.
__device__ inline void multiply_columns(float (&d)[36], unsigned long long a, unsigned long long b, int keep) {
  asm volatile(
      "{.reg .pred p;\nsetp.ne.b32 p, %38, 0;\nwgmma.mma_async.sync.aligned.m64n72k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35"
      "}, %36, %37, p, 1, 1, 1, 1;}"
      : SHOAL_SUMS(d, 0), SHOAL_SUMS(d, 4), SHOAL_SUMS(d, 8), SHOAL_SUMS(d, 12), SHOAL_SUMS(d, 16), SHOAL_SUMS(d, 20),
        SHOAL_SUMS(d, 24), SHOAL_SUMS(d, 28), SHOAL_SUMS(d, 32)
      : "l"(a), "l"(b), "r"(keep));
}
__device__ inline void multiply_columns(float (&d)[52], unsigned long long a, unsigned long long b, int keep) {
  asm volatile(
      "{.reg .pred p;\nsetp.ne.b32 p, %54, 0;\nwgmma.mma_async.sync.aligned.m64n104k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51"
      "}, %52, %53, p, 1, 1, 1, 1;}"
      : SHOAL_SUMS(d, 0), SHOAL_SUMS(d, 4), SHOAL_SUMS(d, 8), SHOAL_SUMS(d, 12), SHOAL_SUMS(d, 16), SHOAL_SUMS(d, 20),
        SHOAL_SUMS(d, 24), SHOAL_SUMS(d, 28), SHOAL_SUMS(d, 32), SHOAL_SUMS(d, 36), SHOAL_SUMS(d, 40),
        SHOAL_SUMS(d, 44), SHOAL_SUMS(d, 48)
      : "l"(a), "l"(b), "r"(keep));
}
__device__ inline void multiply_columns(float (&d)[64], unsigned long long a, unsigned long long b, int keep) {
  asm volatile(
      "{.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p, 1, 1, 1, 1;}"
      : SHOAL_SUMS(d, 0), SHOAL_SUMS(d, 4), SHOAL_SUMS(d, 8), SHOAL_SUMS(d, 12), SHOAL_SUMS(d, 16), SHOAL_SUMS(d, 20),
        SHOAL_SUMS(d, 24), SHOAL_SUMS(d, 28), SHOAL_SUMS(d, 32), SHOAL_SUMS(d, 36), SHOAL_SUMS(d, 40),
        SHOAL_SUMS(d, 44), SHOAL_SUMS(d, 48), SHOAL_SUMS(d, 52), SHOAL_SUMS(d, 56), SHOAL_SUMS(d, 60)
      : "l"(a), "l"(b), "r"(keep));
}

// The same where the second factor alone lies so, and the first is in registers.
__device__ inline void multiply_columns(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int keep) {
  asm volatile(
      "{.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;}"
      : SHOAL_SUMS(d, 0), SHOAL_SUMS(d, 4), SHOAL_SUMS(d, 8), SHOAL_SUMS(d, 12), SHOAL_SUMS(d, 16), SHOAL_SUMS(d, 20),
        SHOAL_SUMS(d, 24), SHOAL_SUMS(d, 28)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

#undef SHOAL_SUMS

}  // namespace shoal::gmm::tensor_wide
