// Hopper's products of warpgroups (wgmma), the barriers of shared memory, and bulk copies into it.
#pragma once

#include <shoal/execution/precision.hpp>

namespace shoal::kmeans {

// Compiled for other GPUs, kernels that use these are empty; has_tensor_search() keeps them from such GPUs.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool has_warpgroup_products = true;
#else
inline constexpr bool has_warpgroup_products = false;
#endif

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline void make_barrier(unsigned long long* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ inline void wait(unsigned long long* barrier, unsigned phase) {
  unsigned done = 0;
  while (!done) {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(phase)
                 : "memory");
  }
}
__device__ inline void arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ inline void fetch(void* to, const void* from, unsigned bytes, unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

/// Core matrices (8 × 16 bytes) without swizzling: neighbours along the columns are 128 bytes apart, along the other
/// side `stride`.
__device__ inline unsigned long long describe(unsigned address, unsigned stride) {
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | static_cast<unsigned long long>(128 >> 4) << 16 |
         static_cast<unsigned long long>(stride >> 4) << 32;
}

__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void finish_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/// scores[64 × 64] += rows[64 × 32 bytes] · (centroids[64 × 32 bytes])ᵀ, of 8 TF32 or 16 bf16 columns.
template <precision Precision>
__device__ void multiply(float (&d)[32], const unsigned (&a)[4], unsigned long long centroids) {
#define SHOAL_MULTIPLY(shape, ending)                                                                                  \
  asm volatile("wgmma.mma_async.sync.aligned." shape                                                                   \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                              \
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "                     \
               "{%32, %33, %34, %35}, %36, 1, 1, 1" ending                                                             \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),       \
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),            \
                 "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),            \
                 "+f"(d[30]), "+f"(d[31])                                                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(centroids))
  if constexpr (Precision == precision::bf16) {
    SHOAL_MULTIPLY("m64n64k16.f32.bf16.bf16", ", 0;");
  } else {
    SHOAL_MULTIPLY("m64n64k8.f32.tf32.tf32", ";");
  }
#undef SHOAL_MULTIPLY
}

}  // namespace shoal::kmeans
