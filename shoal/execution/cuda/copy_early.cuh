// Numbers on their way from global to shared memory while a thread does other things.
#pragma once

#include <cuda_runtime.h>

namespace shoal::cuda {

/// Begins to copy a number to shared memory, where it may be read after wait_for_copies().
__device__ inline void copy_early(double* to, const double* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

/// Waits for what this thread has begun to copy.
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace shoal::cuda
