// The parts of a step's end that tied components need beside prepare_component.cuh, and the order of their launches.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/step/prepare_component.cuh>
#include <shoal/gmm/cuda/step/step_launch.cuh>

namespace shoal::gmm {

// Work memory of tied components, and of matrices in tiles: δ of each [K][d], Σ ln diag U, and that of
// factorise_in_tiles(), which kernels of squarem_kernels.cu use between steps.
template <class Scalar>
__host__ __device__ double* tied_logarithms(const step_arguments<Scalar>& arguments) {
  return arguments.work + std::size_t{arguments.layout.components} * arguments.layout.columns;
}

template <class Scalar>
__host__ __device__ double* work_of_tiles(const step_arguments<Scalar>& arguments) {
  return tied_logarithms(arguments) + 1;
}

template <class Scalar>
__device__ void factorise_tied(const step_arguments<Scalar>& arguments, double* shared) {
  const cuda::block_group block;
  const double value = prepare_shared(block, arguments, shared);
  if (block.rank == 0) *tied_logarithms(arguments) = value;
}

// Offsets and constants of all components, a warp each.
template <class Scalar>
__device__ void prepare_all_tied(const step_arguments<Scalar>& arguments) {
  const cuda::warp_group warp;
  const unsigned warps = blockDim.x / cuda::warp_size;
  const double logarithms = __ldcg(tied_logarithms(arguments));
  for (unsigned k = blockIdx.x * warps + threadIdx.x / cuda::warp_size; k < arguments.layout.components;
       k += gridDim.x * warps) {
    prepare_tied(warp, arguments, k, logarithms);
  }
}

inline constexpr unsigned tied_threads = 256;

inline unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>((threads + tied_threads - 1) / tied_threads);
}

}  // namespace shoal::gmm
