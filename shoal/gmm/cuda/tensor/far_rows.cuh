// The responsibilities of rows that float32 is too coarse for, once more in float64: what both rooms for many columns
// share of it.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/layout.hpp>

namespace shoal::gmm::tensor {

// Warps take the tiles of a chunk in turn. Leaves the weighted responsibilities of their far rows where their terms
// were. Room tells how the chunk is arranged:
//   tile_words                     of 32 rows, whose sums are one
//   row_of(bit)                    row of its word that a bit of far_masks stands for
//   norm_of(mixture, k, row)       ‖y‖² under component k by one warp, the same in all its threads
//   term(mixture, k, index)        where the term of a row of the chunk is
//   sums(mixture)                  [tile] Σ w ln p, Σ w
template <class Room, class Problem>
__device__ void find_far_responsibilities(const Problem& mixture, const chunk& rows) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  constexpr int tile_rows = 32 * Room::tile_words;
  const int warp = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int tiles = (rows.count + tile_rows - 1) / tile_rows;
  double* const logarithms = mixture.scratch + static_cast<std::size_t>(warp) * mixture.components;
  for (int tile = warp; tile < tiles; tile += far_warps) {
    double likelihood = 0;
    bool any = false;
    for (int word = tile * Room::tile_words; word < (tile + 1) * Room::tile_words; ++word) {
      for (unsigned left = mixture.far_masks[word]; left != 0; left &= left - 1) {
        any = true;
        const int index = word * 32 + Room::row_of(__ffs(static_cast<int>(left)) - 1);
        const float* const row = rows.rows + static_cast<std::size_t>(index) * mixture.columns;
        const double weight = rows.weights == nullptr ? 1.0 : static_cast<double>(rows.weights[index]);
        double greatest = -INFINITY;
        for (int k = 0; k < mixture.components; ++k) {
          const double norm = Room::norm_of(mixture, k, row);
          const double logarithm = mixture.parameters.in_double.log_constants[k] - 0.5 * norm;
          if (logarithm > greatest) greatest = logarithm;
          if (thread == 0) logarithms[k] = logarithm;
        }
        __syncwarp();
        double sum = 0;
        for (int k = thread; k < mixture.components; k += 32) {
          const double ratio = logarithms[k] - greatest;
          if (ratio >= -mixture.negligible) sum += exp(ratio);
        }
        sum = cuda::warp_sum(sum);
        for (int k = thread; k < mixture.components; k += 32) {
          const double ratio = logarithms[k] - greatest;
          Room::term(mixture, k, index) =
              ratio >= -mixture.negligible ? static_cast<float>(weight * exp(ratio) / sum) : 0.0F;
        }
        __syncwarp();
        const double log_density = greatest + log(sum) + *mixture.parameters.in_double.log_shift;
        if (mixture.log_densities != nullptr && thread == 0) mixture.log_densities[index] = log_density;
        if (weight > 0) likelihood += weight * log_density;
      }
    }
    if (thread == 0 && any) {
      Room::sums(mixture)[tile].x += likelihood;
      *mixture.any_far = 1;
    }
  }
}

}  // namespace shoal::gmm::tensor
