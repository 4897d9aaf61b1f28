// Responsibilities of a warp's sixteen rows, from their log-densities.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/product_rows.cuh>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/warp_operands.cuh>
#include <shoal/gmm/cuda/few_columns/warp_products.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>

namespace shoal::gmm::few_columns {

/// Turns log₂ densities into powers of two, less `best`, and adds up those of each row.
template <int Tiles>
__device__ void exponentiate(float (&terms)[Tiles][4], const float (&best)[2], float (&sums)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = 0;
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& term = terms[tile][2 * half + e];
        term = exponential_of_two(term - best[half]);
        sum = tile + e == 0 ? term : sum + term;
      }
    }
    sum += __shfl_xor_sync(~0U, sum, 1);
    sums[half] = sum + __shfl_xor_sync(~0U, sum, 2);
  }
}

/// For rows whose densities are all so small that their sum vanishes, or which are far: terms relative to the greatest,
/// and far rows out of the products. `again` makes the terms log₂ densities again; `features` are the rows'. `far` are
/// these, `best` what log-densities have been lessened by.
template <class Shape, class Again>
__device__ void scale_by_best(const Again& again, std::uint16_t* features, unsigned components,
                              float (&terms)[Shape::tiles][4], float (&sums)[2], float (&best)[2], bool (&far)[2]) {
  constexpr int Tiles = Shape::tiles;
  __syncwarp();
  again();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    best[half] = -INFINITY;
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      best[half] = fmaxf(best[half], fmaxf(terms[tile][2 * half], terms[tile][2 * half + 1]));
    }
    best[half] = fmaxf(best[half], __shfl_xor_sync(~0U, best[half], 1));
    best[half] = fmaxf(best[half], __shfl_xor_sync(~0U, best[half], 2));
  }
  exponentiate(terms, best, sums);
  __syncwarp();
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    // A sum that is no number is that of a row whose features are beyond float16's range.
    far[half] = may_be_far(best[half]) || !(sums[half] <= static_cast<float>(components));
    if (!far[half]) continue;
    sums[half] = 1;
    best[half] = 0;
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) terms[tile][2 * half] = terms[tile][2 * half + 1] = 0;
    // The four threads that share the row have a quarter each of its features: row g of matrices half, half + 2 ….
    for (unsigned matrix = half; matrix < Shape::circle.steps() * Shape::terms * 4; matrix += 2) {
      reinterpret_cast<std::uint32_t*>(features + matrix * matrix_numbers)[threadIdx.x % 32] = 0;
    }
  }
  __syncwarp();
}

/// A warp's sixteen rows from the first one on, of a group of so many.
struct row_range {
  unsigned first, count, components;
};

/// Turns log₂ densities into terms, of which `scale` makes responsibilities, and adds log₂ Σ of one of the thread's two
/// rows to the log-likelihood, of threads 0 and 1 of each four.
template <class Shape, class Again>
__device__ void find_responsibilities(const float (&scores)[Shape::tiles][4], const Again& again,
                                      std::uint16_t* features, const row_range& rows, unsigned* far_bits,
                                      unsigned* any_far, float (&terms)[Shape::tiles][4], float (&scale)[2],
                                      float& log_likelihood) {
  const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) terms[tile][i] = scores[tile][i];
  }
  constexpr float none[2] = {0, 0};
  float all[2];
  exponentiate(terms, none, all);
  const bool inside[2] = {rows.first + g < rows.count, rows.first + g + 8 < rows.count};
  const auto is_rare = [](float sum) { return !(sum >= least_warp_sum && sum <= most_warp_sum); };
  if (__any_sync(~0U, is_rare(all[0]) || is_rare(all[1]))) {
    float best[2];
    bool far[2];
    scale_by_best<Shape>(again, features, rows.components, terms, all, best, far);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned own = rows.first + 8 * half + g;
      if (far[half] && inside[half] && t == 0) {
        atomicOr(far_bits + own / 32, 1U << own % 32);
        atomicOr(any_far, 1U);
      }
      if (inside[half] && t == half) log_likelihood += best[half];
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    all[half] = inside[half] ? all[half] : 1.0F;
    scale[half] = inside[half] ? responsibility_scale * reciprocal(all[half]) : 0.0F;
  }
  log_likelihood += approximate_logarithm_of_two(t == 0 ? all[0] : all[1]);
}

/// Leaves sixteen rows' responsibilities, terms times `scale`, in shared memory.
template <class Shape>
__device__ void store_shares(const float (&terms)[Shape::tiles][4], const float (&scale)[2], std::uint16_t* shares) {
  constexpr int Tiles = Shape::tiles;
#pragma unroll
  for (int first = 0; first < Tiles; first += 2) {
    // Matrices: components of the first tile of rows 0 … 7 and 8 … 15, then of the second.
    std::uint32_t high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int tile = first + i / 2 < Tiles ? first + i / 2 : first, half = i % 2;
      tensor::split(terms[tile][2 * half] * scale[half], terms[tile][2 * half + 1] * scale[half], high[i], low[i]);
    }
    std::uint16_t* const to = shares + first * 2 * Shape::terms * matrix_numbers;
    store_matrices(to, high);
    if constexpr (Shape::terms == 2) store_matrices(to + 4 * matrix_numbers, low);
  }
}

}  // namespace shoal::gmm::few_columns
