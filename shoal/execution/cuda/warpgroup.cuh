// What Hopper's products by four warps (wgmma) need: barriers of shared memory, bulk copies into it, descriptions of
// operands there. The products are in
// warpgroup_products.cuh.
#pragma once

#include <cuda_runtime.h>

namespace shoal::cuda {

// Compiled for other GPUs, kernels that use this are empty.
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
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
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
// Copies into shared memory that a barrier counts: it is told of so many bytes, then they are fetched. Bytes and
// addresses are multiples of 16.
__device__ inline void expect(unsigned long long* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ inline void fetch_expected(void* to, const void* from, unsigned bytes, unsigned long long* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}
__device__ inline void fetch(void* to, const void* from, unsigned bytes, unsigned long long* barrier) {
  expect(barrier, bytes);
  fetch_expected(to, from, bytes, barrier);
}

// Two groups of four warps take turns: one waits for its own, the other lets it go.
__device__ inline void wait_for_turn(int group) { asm volatile("bar.sync %0, 256;" ::"r"(group + 1) : "memory"); }
__device__ inline void let_go(int group) { asm volatile("bar.arrive %0, 256;" ::"r"(group + 1) : "memory"); }

// Four warps hand registers to others, or get them: `Count` is what each thread then has, a multiple of 8.
template <int Count>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

// What threads wrote into shared memory becomes visible to products; each of them calls it before a barrier.
__device__ inline void publish_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits for all groups of products but the last `Pending`.
template <int Pending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// Core matrices (8 × 16 bytes) without swizzling: neighbours along the columns are 128 bytes apart, along the other
// side `stride`.
__device__ inline unsigned long long describe(unsigned address, unsigned stride) {
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | static_cast<unsigned long long>(128 >> 4) << 16 |
         static_cast<unsigned long long>(stride >> 4) << 32;
}
// The same operand `bytes` further on.
__device__ inline unsigned long long advance(unsigned long long described, unsigned bytes) {
  return described + (bytes >> 4);
}

}  // namespace shoal::cuda
