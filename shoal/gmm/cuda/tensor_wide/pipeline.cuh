// Stages of operands in shared memory, between the warps that fetch and split and those that multiply.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/tensor/operands.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_wide/layout.hpp>
#include <shoal/gmm/cuda/tensor_wide/products.cuh>

namespace shoal::gmm::tensor_wide {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

template <int Stages>
struct stage_barriers {
  unsigned long long full[Stages];
  unsigned long long empty[Stages];
};

/// Which stage is next, and how often all of them were used before.
template <int Stages>
struct stage_turn {
  int stage = 0;
  unsigned round = 0;
  __device__ void next() {
    if (++stage == Stages) stage = 0, ++round;
  }
};

/// A warp arrives as one.
__device__ inline void arrive_together(unsigned long long* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(barrier);
}

/// `filling` arrivals, of warps and of copies, fill a stage.
template <int Stages>
__device__ void make_barriers(stage_barriers<Stages>& barriers, unsigned filling) {
  if (threadIdx.x == 0) {
    for (int s = 0; s < Stages; ++s) {
      make_barrier(barriers.full + s, filling);
      make_barrier(barriers.empty + s, multiplying_threads / 32);
    }
    publish_barriers();
  }
  __syncthreads();
}

template <int Stages>
__device__ void wait_for_room(stage_barriers<Stages>& barriers, const stage_turn<Stages>& turn) {
  if (turn.round > 0) wait(barriers.empty + turn.stage, (turn.round - 1) & 1);
}

/// Copies into shared memory, which waits for none of them; zeros for what is not inside.
template <int Bytes>
__device__ inline void copy_async(unsigned to, const float* from, bool inside) {
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(inside ? 4 : 0) : "memory");
  }
}
__device__ inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all groups of this thread's copies but the last `Pending`.
template <int Pending>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}
__device__ inline void read_four(unsigned from, float* to) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(from));
}

/// Arrives at a barrier once this thread's copies so far have.
__device__ inline void arrive_after_copies(unsigned long long* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

}  // namespace shoal::gmm::tensor_wide
