// Moments of some components over the rows of a stage: products of responsibilities with the rows' features.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/cuda/few_columns/term_rows.cuh>

namespace shoal::gmm::few_columns {

/// A warp's sums of its components over some rows.
template <class Shape>
struct term_sums {
  float moments[Shape::tiles][Shape::eights][4];  ///< [2 half + e]: component 8 half + g, feature 2 t + e
  /// Of component 8 half + g: by this thread's rows, or of all. Not used where rows have 1 and ‖z‖² as features.
  float weights[Shape::tiles][2];
  float norms[Shape::has_norms ? Shape::tiles : 1][2];

  __device__ void clear() {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (int i = 0; i < 4; ++i) moments[tile][eight][i] = 0;
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        weights[tile][half] = 0;
        if constexpr (Shape::has_norms) norms[tile][half] = 0;
      }
    }
  }
};

/// Adds products of sixteen rows' responsibilities, as first factors, with their features.
template <class Shape>
__device__ void add_term_products(const std::uint32_t (&own_high)[Shape::tiles][4],
                                  const std::uint32_t (&own_low)[Shape::tiles][4], const std::uint16_t* high_rows,
                                  const std::uint16_t* low_rows, term_sums<Shape>& sums) {
  const unsigned lane = threadIdx.x % 32, matrix = lane / 8, place = lane % 8;
  if constexpr (!Shape::fine && !Shape::extended) {
    // Of the responsibilities as they were rounded; each thread has the sum of all rows.
    constexpr std::uint32_t ones = 0x3c003c00;
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      float product[4];
      multiply(product, own_high[tile], ones, ones);
      sums.weights[tile][0] += product[0];
      sums.weights[tile][1] += product[2];
    }
  }
#pragma unroll
  for (int eight = 0; eight < Shape::eights; eight += 2) {
    // Rows 0 to 7 and 8 to 15 of one eight of features, then of the next.
    const unsigned from = (matrix % 2 * 8 + place) * Shape::stride + 8 * (eight + matrix / 2);
    std::uint32_t high_features[4], low_features[4];
    load_transposed(high_features, high_rows + from);
    if constexpr (Shape::fine) load_transposed(low_features, low_rows + from);
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int of = 0; of < min(2, Shape::eights - eight); ++of) {
        if constexpr (Shape::fine) {
          float product[4];
          multiply(product, own_low[tile], high_features[2 * of], high_features[2 * of + 1]);
          tensor::multiply_add(product, own_high[tile], low_features[2 * of], low_features[2 * of + 1]);
          tensor::multiply_add(product, own_high[tile], high_features[2 * of], high_features[2 * of + 1]);
#pragma unroll
          for (int i = 0; i < 4; ++i) sums.moments[tile][eight + of][i] += product[i];
        } else {
          // What tensor cores cut off of so few sums is far below what eleven bits leave out.
          tensor::multiply_add(sums.moments[tile][eight + of], own_high[tile], high_features[2 * of],
                               high_features[2 * of + 1]);
        }
      }
    }
  }
}

/// Makes factors of a component's responsibilities for two rows, and counts them.
template <class Shape>
__device__ void take_two(float first, float second, int tile, int half, const float (&norm)[2], term_sums<Shape>& sums,
                         std::uint32_t& high, std::uint32_t& low) {
  if constexpr (Shape::has_norms) sums.norms[tile][half] += fmaf(first, norm[0], second * norm[1]);
  if constexpr (Shape::fine) {
    if constexpr (!Shape::extended) sums.weights[tile][half] += first + second;
    tensor::split(first, second, high, low);
  } else {
    high = tensor::bits_of(__floats2half2_rn(first, second));
  }
}

/// Features of sixteen rows as second factors.
template <class Shape>
struct sixteen_rows {
  std::uint32_t high[2][Shape::steps][2], low[2][Shape::steps][2];

  __device__ void load(const std::uint16_t* high_rows, const std::uint16_t* low_rows) {
    const unsigned lane = threadIdx.x % 32, matrix = lane / 8, place = lane % 8;
#pragma unroll
    for (int step = 0; step < Shape::steps; ++step) {
      const unsigned from = (matrix / 2 * 8 + place) * Shape::stride + 16 * step + matrix % 2 * 8;
      std::uint32_t four[4];
      load_matrices(four, high_rows + from);
#pragma unroll
      for (int i = 0; i < 4; ++i) high[i / 2][step][i % 2] = four[i];
      if constexpr (!Shape::fine) continue;
      load_matrices(four, low_rows + from);
#pragma unroll
      for (int i = 0; i < 4; ++i) low[i / 2][step][i % 2] = four[i];
    }
  }
};

/// Adds the moments of sixteen rows, with which `high_rows`, `low_rows`, `notes` and `shifts` begin.
template <class Shape>
__device__ void add_term_moments(const term_coefficients<Shape> (&coefficients)[Shape::tiles],
                                 const std::uint16_t* high_rows, const std::uint16_t* low_rows, const row_note* notes,
                                 const float* shifts, term_sums<Shape>& sums) {
  const unsigned lane = threadIdx.x % 32, t = lane % 4;
  sixteen_rows<Shape> rows;
  rows.load(high_rows, low_rows);
  float shift[2][2], norm[2][2];
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const float2 two = *reinterpret_cast<const float2*>(shifts + 8 * n + 2 * t);
    shift[n][0] = two.x;
    shift[n][1] = two.y;
    if constexpr (Shape::has_norms) {
      const float4 four = *reinterpret_cast<const float4*>(notes + 8 * n + 2 * t);
      norm[n][0] = four.y;
      norm[n][1] = four.w;
    }
  }
  std::uint32_t own_high[Shape::tiles][4], own_low[Shape::tiles][4];
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      float terms[4];
      begin_scores<Shape>(terms, coefficients[tile].constants, shift[n], norm[n]);
      add_term_scores<Shape>(terms, coefficients[tile], rows.high[n], rows.low[n]);
#pragma unroll
      for (int i = 0; i < 4; ++i) terms[i] = exponential_of_two(terms[i]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float first = terms[2 * half], second = terms[2 * half + 1];
        take_two<Shape>(first, second, tile, half, norm[n], sums, own_high[tile][2 * n + half],
                        own_low[tile][2 * n + half]);
      }
    }
  }
  add_term_products<Shape>(own_high, own_low, high_rows, low_rows, sums);
}

}  // namespace shoal::gmm::few_columns
