// Which rows a component holds without a common frame, and how much of them.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>

namespace shoal::gmm::tensor_diagonal {

// What a row's responsibilities are made of beside terms.
struct row_facts {
  float shift;
  float least;  // a logarithm below which nothing counts
  bool far;     // its terms are responsibilities

  __device__ row_facts(const problem& mixture, int row)
      : shift(mixture.shifts[row]),
        least(static_cast<float>(mixture.exponents[row / tile_rows]) -
              static_cast<float>(negligible_log_ratio<float>) * log2_of_e),
        far((mixture.far_masks[row / 32] >> row % 32 & 1) != 0) {}

  // The weighted responsibility of a component that holds the row.
  __device__ float responsibility(float term) const {
    if (far) return term;
    const float logarithm = term - shift;
    return logarithm >= least ? exp2f(logarithm) : 0.0F;
  }
};

// The weighted responsibility of component k for a row that it holds: a far one, or one whose term counts.
__device__ inline float responsibility_of(const problem& mixture, int k, int row) {
  return row_facts(mixture, row).responsibility(mixture.terms[term_place(mixture.tiles, k, row)]);
}

}  // namespace shoal::gmm::tensor_diagonal
