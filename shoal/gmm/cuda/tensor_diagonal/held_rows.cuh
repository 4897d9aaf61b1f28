// Which rows a component holds without a common frame, and how much of them.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>

namespace shoal::gmm::tensor_diagonal {

// The weighted responsibility of component k for a row that it holds: a far one, or one whose term counts.
__device__ inline float responsibility_of(const problem& mixture, int k, int row) {
  const float term = mixture.terms[term_place(mixture.tiles, k, row)];
  if ((mixture.far_masks[row / 32] >> row % 32 & 1) != 0) return term;
  constexpr float negligible = static_cast<float>(negligible_log_ratio<float>) * log2_of_e;
  const float logarithm = term - mixture.shifts[row];
  const float least = static_cast<float>(mixture.exponents[row / tile_rows]) - negligible;
  return logarithm >= least ? exp2f(logarithm) : 0.0F;
}

}  // namespace shoal::gmm::tensor_diagonal
