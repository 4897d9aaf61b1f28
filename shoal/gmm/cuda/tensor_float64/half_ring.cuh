// What both kernels of float16 terms share: four warps that fetch stages into a ring in shared memory, and groups of
// four warps that multiply them by Hopper's products (wgmma). Rows are split into terms in registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/gmm/cuda/tensor/operands.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>

namespace shoal::gmm::tensor_float64 {

inline constexpr int half_memory = 216 * 1024;  // of a block, beside what it declares itself
inline constexpr int most_half_stages = 8;

/// So many groups multiply, and these registers each thread has.
template <int Groups>
struct half_block {
  static constexpr int threads = (Groups + 1) * group_threads;
  static constexpr int own_registers = Groups == 3 ? 160 : 232;
  static constexpr int fetching_registers = Groups == 3 ? 32 : 40;
};

template <class Stage>
constexpr int half_stages() {
  constexpr int room = half_memory / static_cast<int>(sizeof(Stage));
  static_assert(room >= 2);
  return room > most_half_stages ? most_half_stages : room;
}

struct ring_barriers {
  unsigned long long full[most_half_stages];
  unsigned long long empty[most_half_stages];
};

/// A place in the ring.
template <int Stages>
struct ring_place {
  int stage = 0;
  unsigned round = 0;
  __device__ void next() {
    if (++stage == Stages) stage = 0, round ^= 1;
  }
};

/// Called by all threads of the block. A stage is full when all that fetch it have, and empty when all warps of the
/// groups are done with it.
template <int Groups, int Stages>
__device__ void make_ring(ring_barriers& ring) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < Stages; ++i) {
      cuda::make_barrier(ring.full + i, group_threads + 1);
      cuda::make_barrier(ring.empty + i, Groups * group_threads / 32);
    }
    cuda::publish_barriers();
  }
  __syncthreads();
}

/// One arrival for a warp whose threads have all read.
__device__ inline void leave_stage(unsigned long long* empty) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) cuda::arrive(empty);
}

/// The threads of a group meet.
__device__ inline void meet_group(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(group_threads) : "memory");
}

/// Responsibilities of a tile are multiplied by a power of two beside that of its greatest weight, so that float16
/// holds those of 2⁻³⁸ and more of it. Weights below 2⁻¹¹³ count as if the greatest were that: float32 has no greater
/// power of two, and beside the others, of which the greatest is near one, they are nothing.
inline constexpr int most_half_exponent = 14;
inline constexpr int most_float_exponent = 127;
__device__ inline float half_scale(int exponent) {
  return scalbnf(1.0F, min(most_half_exponent - exponent, most_float_exponent));
}

/// The 8 × 8 float16 numbers of a warp, of which each thread has two neighbours of a row, the other way round.
__device__ inline std::uint32_t transposed(std::uint32_t pair) {
  std::uint32_t result;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

/// Four numbers of one side of an operand and four of the other, z[side][i], as the first factor of products.
template <int Products>
struct split_rows {
  std::uint32_t high[4];
  std::uint32_t low[4];

  __device__ void make(const float (&z)[2][4]) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float a = z[side][2 * half], b = z[side][2 * half + 1];
        if constexpr (Products == 3) {
          tensor::split(a, b, high[2 * half + side], low[2 * half + side]);
        } else {
          high[2 * half + side] = tensor::bits_of(__floats2half2_rn(a, b));
        }
      }
    }
  }
};

__device__ inline void square(float (&z)[2][4]) {
#pragma unroll
  for (int side = 0; side < 2; ++side) {
#pragma unroll
    for (int i = 0; i < 4; ++i) z[side][i] *= z[side][i];
  }
}

/// The products of both terms for one of float32's grade, the small ones first; or of the first terms alone.
template <int Products, int Sums>
__device__ void multiply_terms(float (&sums)[Sums], const split_rows<Products>& own, unsigned long long b_high,
                               unsigned long long b_low, int keep) {
  cuda::begin_products();
  if constexpr (Products == 3) {
    cuda::multiply(sums, own.high, b_low, keep);
    cuda::multiply(sums, own.low, b_high, 1);
    cuda::multiply(sums, own.high, b_high, 1);
  } else {
    cuda::multiply(sums, own.high, b_high, keep);
  }
  cuda::end_products();
}

}  // namespace shoal::gmm::tensor_float64
