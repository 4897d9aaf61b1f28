// Blocks of a cluster that send each other numbers, which a barrier in the receiver's shared memory counts
// (warpgroup.cuh). A fence and a barrier of the whole cluster would wait for every store that is under way.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/warpgroup.cuh>

namespace shoal::cuda {

// All threads of the cluster come, and wait: then all blocks run, and see the barriers that publish_barriers() has
// published.
__device__ inline void come_together() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ inline void wait_together() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
// The same where what was written before shall be seen by who waits.
__device__ inline void come_with_writes() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }

__device__ inline void wait_for_writes() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Where a block of the cluster has what lies at `own` in this one.
__device__ inline unsigned address_in_block(const void* own, unsigned block) {
  unsigned address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(own)), "r"(block));
  return address;
}

__device__ inline unsigned rank_in_cluster() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Writes `value` to where `block` has `to`.
__device__ inline void write_in_block(double* to, double value, unsigned block) {
  asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(address_in_block(to, block)), "d"(value) : "memory");
}

// Writes `value` to where `block` has `to`; its `barrier` counts eight bytes.
__device__ inline void send(double* to, double value, unsigned long long* barrier, unsigned block) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
                   address_in_block(to, block)),
               "l"(__double_as_longlong(value)), "r"(address_in_block(barrier, block))
               : "memory");
}
__device__ inline void send(unsigned long long* to, unsigned long long value, unsigned long long* barrier,
                            unsigned block) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
                   address_in_block(to, block)),
               "l"(value), "r"(address_in_block(barrier, block))
               : "memory");
}

// Writes and reads what `block` has where this one has `own`. Barriers of the whole cluster say when it is there.
__device__ inline void store_in_block(double* own, double value, unsigned block) {
  asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(address_in_block(own, block)), "d"(value) : "memory");
}
__device__ inline double load_from_block(const double* own, unsigned block) {
  double value;
  asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(value) : "r"(address_in_block(own, block)) : "memory");
  return value;
}

}  // namespace shoal::cuda
