// Copies into shared memory that are asked for now and waited for later.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/warpgroup.cuh>

namespace shoal::gmm::tensor_float64 {

/// Copies the first `there` bytes of 16 to an address of shared memory, and zeros for the others. `from` must be an
/// address that may be read whatever `there` is.
__device__ inline void copy_16_async(unsigned to, const void* from, unsigned there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there) : "memory");
}
/// The same where what follows `from` is asked for soon: memory is read in lines of 256 bytes.
__device__ inline void copy_16_async_of_line(unsigned to, const void* from, unsigned there) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there) : "memory");
}
/// Copies the first `there` bytes of `Bytes` = 4, 8 or 16, likewise. (__pipeline_memcpy_async makes a branch for each
/// number of bytes.)
template <int Bytes>
__device__ inline void copy_async(void* to, const void* from, unsigned there) {
  if constexpr (Bytes == 16) {
    copy_16_async(cuda::shared_address(to), from, there);
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(cuda::shared_address(to)), "l"(from), "r"(there),
                 "n"(Bytes)
                 : "memory");
  }
}
/// The copies since the last call are one group.
__device__ inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all groups but the last `Pending`.
template <int Pending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// Bulk copies of operands, which a barrier counts. Hopper's: on other GPUs no mixture has a frame, and nothing calls
// them.
__device__ inline void make_barriers(unsigned long long* barriers, int count) {
  if constexpr (cuda::has_warpgroup_products) {
    for (int i = 0; i < count; ++i) cuda::make_barrier(barriers + i, 1);
    cuda::publish_barriers();
  }
}
__device__ inline void expect_operands(unsigned long long* barrier, unsigned bytes) {
  if constexpr (cuda::has_warpgroup_products) cuda::expect(barrier, bytes);
}
__device__ inline void fetch_operands(void* to, const void* from, unsigned bytes, unsigned long long* barrier) {
  if constexpr (cuda::has_warpgroup_products) cuda::fetch_expected(to, from, bytes, barrier);
}
__device__ inline void wait_for_operands(unsigned long long* barrier, unsigned phase) {
  if constexpr (cuda::has_warpgroup_products) cuda::wait(barrier, phase);
}
/// What threads wrote or read comes before bulk copies to the same place; each of them calls it before a barrier.
__device__ inline void publish_to_copies() {
  if constexpr (cuda::has_warpgroup_products) cuda::publish_to_products();
}
/// The barrier takes this thread's arrival, which it counts, once the thread's copies so far are there.
__device__ inline void arrive_after_copies(unsigned long long* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(cuda::shared_address(barrier)) : "memory");
}

}  // namespace shoal::gmm::tensor_float64
