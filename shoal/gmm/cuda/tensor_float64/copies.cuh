// Copies into shared memory that a thread asks for and waits for later.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/warpgroup.cuh>

namespace shoal::gmm::tensor_float64 {

/// Copies the first `there` bytes of `Bytes` = 4, 8 or 16, and zeros for the others. `from` must be an address that may
/// be read whatever `there` is. (__pipeline_memcpy_async makes a branch for each number of bytes.)
template <int Bytes>
__device__ inline void copy_async(void* to, const void* from, unsigned there) {
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(cuda::shared_address(to)), "l"(from), "r"(there)
                 : "memory");
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

}  // namespace shoal::gmm::tensor_float64
