// Arithmetic that the compiler neither contracts nor reorders, so that kernels have the bits of the host's vector code.
#pragma once

#include <cuda_runtime.h>

namespace shoal::reaction_diffusion {

__device__ inline double sum_of(double x, double y) { return __dadd_rn(x, y); }
__device__ inline float sum_of(float x, float y) { return __fadd_rn(x, y); }
__device__ inline double product_of(double x, double y) { return __dmul_rn(x, y); }
__device__ inline float product_of(float x, float y) { return __fmul_rn(x, y); }
/// x·y + z, rounded once.
__device__ inline double fused(double x, double y, double z) { return __fma_rn(x, y, z); }
__device__ inline float fused(float x, float y, float z) { return __fmaf_rn(x, y, z); }

/// 16 bytes of nodes, loaded and stored at once.
template <class Scalar>
struct alignas(16) node_vector {
  static constexpr int size = 16 / sizeof(Scalar);
  Scalar values[size];
};

}  // namespace shoal::reaction_diffusion
