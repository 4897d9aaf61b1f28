// A component's centre in the frame that all share.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include <shoal/gmm/cuda/tensor_matrix/layout.hpp>

namespace shoal::gmm::tensor_matrix {

__device__ inline double centre_in_frame(const problem& mixture, int k, int column) {
  const float2 frame = mixture.frame[column];
  const std::size_t at = static_cast<std::size_t>(k) * mixture.columns + column;
  return fma(static_cast<double>(mixture.parameters.packed.centres[at]), static_cast<double>(frame.x),
             static_cast<double>(frame.y));
}

}  // namespace shoal::gmm::tensor_matrix
