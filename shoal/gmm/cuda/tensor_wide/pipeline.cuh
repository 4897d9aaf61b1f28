// Stages of operands in shared memory, between the warps that fetch and split and those that multiply.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/tensor/operands.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_wide/layout.hpp>
#include <shoal/gmm/cuda/tensor_wide/products.cuh>

namespace shoal::gmm::tensor_wide {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

/// A stage of densities has two operands of two terms each. Two products are those of a row's first term alone.
struct stage_shape {
  static constexpr int terms = 2;
  static constexpr int operand_bytes = operand_size * 2;
  static constexpr int side_bytes = terms * operand_bytes;
  static constexpr int bytes = 2 * side_bytes;
};

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

/// Eight numbers as one part of an operand, of as many terms as there are.
template <int Products>
__device__ inline void keep_part(const float (&value)[8], unsigned char* at) {
  uint4 high;
  if constexpr (Products == 3) {
    uint4 low;
    tensor::split(value[0], value[1], high.x, low.x);
    tensor::split(value[2], value[3], high.y, low.y);
    tensor::split(value[4], value[5], high.z, low.z);
    tensor::split(value[6], value[7], high.w, low.w);
    *reinterpret_cast<uint4*>(at + stage_shape::operand_bytes) = low;
  } else {
    high.x = tensor::bits_of(__floats2half2_rn(value[0], value[1]));
    high.y = tensor::bits_of(__floats2half2_rn(value[2], value[3]));
    high.z = tensor::bits_of(__floats2half2_rn(value[4], value[5]));
    high.w = tensor::bits_of(__floats2half2_rn(value[6], value[7]));
  }
  *reinterpret_cast<uint4*>(at) = high;
}

/// Bytes between the steps of an operand, and between the terms of a step. Operands that are split here lie term by
/// term; factors step by step, so that one copy takes as many steps as there are.
struct split_operand {
  static constexpr unsigned step_bytes = tile * 16 * 2, term_bytes = stage_shape::operand_bytes;
};
template <int Width>
struct factor_operand {
  static constexpr unsigned step_bytes = stage_shape::terms * Width * 16 * 2, term_bytes = Width * 16 * 2;
};

template <int Products, class B, unsigned Steps, int Size>
__device__ __forceinline__ void multiply_all(float (&sums)[Size], unsigned long long a, unsigned long long b,
                                             int keep) {
  using A = split_operand;
  begin_products();
#pragma unroll
  for (unsigned step = 0; step < Steps; ++step) {
    const unsigned long long x = advance(a, step * A::step_bytes), y = advance(b, step * B::step_bytes);
    if constexpr (Products == 3) multiply(sums, advance(x, A::term_bytes), y, step > 0 ? 1 : keep);
    multiply(sums, x, advance(y, B::term_bytes), Products == 3 || step > 0 ? 1 : keep);
  }
#pragma unroll
  for (unsigned step = 0; step < Steps; ++step) {
    multiply(sums, advance(a, step * A::step_bytes), advance(b, step * B::step_bytes), 1);
  }
  end_products();
  wait_for_products<0>();
}

/// sums (64 × as many of four warps) = keep · sums + `steps` steps of a · b, whose first terms are described. The small
/// products come first, since tensor cores truncate sums. Branches between products would make them wait.
template <int Products, class B, int Size>
__device__ __forceinline__ void multiply_steps(float (&sums)[Size], unsigned long long a, unsigned long long b,
                                               unsigned steps, int keep) {
  static_assert(stage_steps == 4);
  if (steps == 4) return multiply_all<Products, B, 4>(sums, a, b, keep);
  if (steps == 3) return multiply_all<Products, B, 3>(sums, a, b, keep);
  if (steps == 2) return multiply_all<Products, B, 2>(sums, a, b, keep);
  multiply_all<Products, B, 1>(sums, a, b, keep);
}

}  // namespace shoal::gmm::tensor_wide
