// Rows that float32 is too coarse for.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged_shape.cuh>
#include <shoal/gmm/statistics_layout.hpp>

namespace shoal::gmm::tensor_diagonal {

/// Far rows of a group in float64, one after another, a thread for each component; in the frame, as all sums are.
template <class Shape>
__device__ __noinline__ void add_far_rows(const staged_arguments& a, staged_notes<Shape>& notes, const float* rows,
                                          unsigned count, double* lane_sums) {
  const problem& mixture = a.mixture;
  const prepared_components<double>& c = mixture.parameters.in_double;
  const int k = static_cast<int>(threadIdx.x), warp = k / 32, d = mixture.columns;
  const bool own = k < mixture.components;
  const auto over_block = [&](double value, double(&parts)[Shape::threads / 32], const auto& join) {
    for (int step = 1; step < 32; step *= 2) value = join(value, __shfl_xor_sync(~0U, value, step));
    if (k % 32 == 0) parts[warp] = value;
    __syncthreads();
    value = parts[0];
    for (int i = 1; i < Shape::threads / 32; ++i) value = join(value, parts[i]);
    return value;
  };
  double* const of_component = lane_sums + staged_head + k * Shape::component_size;
  for (unsigned word = 0; word * 32 < count; ++word) {
    for (unsigned bits = notes.far[word]; bits != 0; bits &= bits - 1) {
      const unsigned row = word * 32 + static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
      const float* const x = rows + static_cast<std::size_t>(row) * d;
      double logarithm = -INFINITY;
      if (own) {
        double norm = 0;
        for (int j = 0; j < d; ++j) {
          const std::size_t at = static_cast<std::size_t>(k) * d + j;
          const double y = fma(static_cast<double>(x[j]) - c.centres[at], c.factors[at], c.offsets[at]);
          norm = fma(y, y, norm);
        }
        logarithm = c.log_constants[k] - 0.5 * norm;
      }
      const double best = over_block(logarithm, notes.best, [](double one, double other) { return fmax(one, other); });
      double share = own ? exp(logarithm - best) : 0.0;
      const double sum = over_block(share, notes.likelihoods, [](double one, double other) { return one + other; });
      share /= sum;
      if (own) {
        for (int j = 0; j < d; ++j) {
          const double z = fma(static_cast<double>(x[j]), static_cast<double>(mixture.frame[j].x),
                               static_cast<double>(mixture.frame[j].y));
          add_to_lane(of_component + j, share * z * z, false);
          add_to_lane(of_component + 8 * Shape::octets + j, share * z, false);
        }
        add_to_lane(of_component + 8 * Shape::features, share, false);
      }
      if (k == 0) {
        add_to_lane(lane_sums + statistics_layout::log_likelihood(), (best + log(sum)) / ln_2, false);
        add_to_lane(lane_sums + statistics_layout::total_weight(), 1, false);
        add_to_lane(lane_sums + statistics_layout::far_rows(), 1, false);
      }
      __syncthreads();
    }
  }
  __syncthreads();  // all have read the words behind the last far row
  for (int i = k; i < static_cast<int>(cuda::piece_unit) / 32; i += Shape::threads) notes.far[i] = 0;
  if (k == 0) notes.any_far = 0;
  __syncthreads();
}

}  // namespace shoal::gmm::tensor_diagonal
