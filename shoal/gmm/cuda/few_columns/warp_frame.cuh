// A mixture in the frame that its components share, as a block of warp_product_kernel.cuh finds it for itself.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/warp_products.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>

namespace shoal::gmm::few_columns {

/// In shared memory.
struct warp_mixture {
  float2* frame;            ///< [2][columns] z = x · scale + shift, twice, so that threads go on in a circle
  float* units;             ///< [columns] 1 / scale, a power of two
  float4* constants;        ///< [components / 2] of components 2 k and 2 k + 1 log₂ densities without terms, twice
  double* moved;            ///< [components][columns] from a component's centre to the frame's
  std::uint16_t* operands;  ///< [tiles][steps][2 terms][32 lanes][4]
  unsigned char* work;      ///< [warp_work_bytes()]
};

/// Makes the mixture ready, whose operands are zeros before; returns whether its components lie so near to each other
/// that sums in a common frame keep float32's digits. The same for every block.
template <class Shape>
__device__ bool make_frame(const team_arguments& a, const warp_mixture& m) {
  constexpr unsigned Columns = Shape::columns;
  constexpr warp_circle circle = Shape::circle;
  constexpr unsigned most = Shape::sizes.components(), padded = circle.columns, warps = Shape::sizes.warps();
  constexpr unsigned steps = circle.steps(), features = circle.features(), thread_columns = circle.thread_columns();
  constexpr float most_terms = most_warp_terms(Columns);
  constexpr double most_distance = most_warp_squared_distance(Columns);
  const prepared_components<double>& in = a.parameters.in_double;
  const unsigned components = a.components;
  constexpr unsigned threads = 32 * warps;
  // What follows is [components][columns], unless it says else.
  auto* const factors = reinterpret_cast<double*>(m.work);       // [components][columns][columns]
  double* const residuals = factors + most * Columns * Columns;  // of columns of y at the frame's centre
  auto* const deviations = reinterpret_cast<float*>(residuals + most * Columns);
  float* const centres = deviations + most * Columns;
  float* const reaches = centres + most * Columns;        // how far a row that lies a deviation from the mean is from o
  float* const float_factors = reaches + most * Columns;  // [components][columns][columns]
  auto* const sums_of_terms = reinterpret_cast<unsigned*>(float_factors + most * Columns * Columns);  // [components]
  auto* const empty = sums_of_terms + most;                                                           // [components]
  for (unsigned e = threadIdx.x; e < components * Columns * Columns; e += threads) {
    const double factor = in.factors[e];
    factors[e] = factor;
    float_factors[e] = static_cast<float>(factor);
  }
  // Calls for_one(e, k, j) for all components k and columns j.
  const auto for_each_column = [&](const auto& for_one) {
    if constexpr (most * Columns <= threads) {
      if (threadIdx.x < components * Columns) for_one(threadIdx.x, threadIdx.x / Columns, threadIdx.x % Columns);
    } else {
#pragma unroll 1
      for (unsigned e = threadIdx.x; e < components * Columns; e += threads) for_one(e, e / Columns, e % Columns);
    }
  };
  for_each_column([&](unsigned e, unsigned k, unsigned j) {
    const double centre = in.centres[e];
    residuals[e] = in.offsets[e];
    m.moved[k * padded + j] = centre;
    centres[e] = static_cast<float>(centre);
  });
  double log_constant = 0;
  if (threadIdx.x < most) {
    log_constant = threadIdx.x < components ? in.log_constants[threadIdx.x] : -INFINITY;
    empty[threadIdx.x] = log_constant == -INFINITY ? 1 : 0;
    sums_of_terms[threadIdx.x] = 0;
  }
  __syncthreads();

  // Column j of U⁻¹ has the length of the deviation of column j. That says how much digits are worth: float32 will do.
  for_each_column([&](unsigned e, unsigned k, unsigned j) {
    const float* const u = float_factors + k * Columns * Columns;
    float inverse[Columns];
    float squares = 0;
#pragma unroll
    for (int i = Columns - 1; i >= 0; --i) {
      float sum = i == static_cast<int>(j) ? 1.0F : 0.0F;
#pragma unroll
      for (int l = i + 1; l < static_cast<int>(Columns); ++l) sum = fmaf(-u[i * Columns + l], inverse[l], sum);
      inverse[i] = __fdividef(sum, u[i * Columns + i]);
      squares = fmaf(inverse[i], inverse[i], squares);
    }
    deviations[e] = sqrtf(squares);
  });
  __syncthreads();
  // A warp for each column.
  bool near = true;
  static_assert(most <= 32);
#pragma unroll 1
  for (unsigned j = threadIdx.x / 32; j < padded; j += warps) {
    const unsigned k = threadIdx.x % 32;
    const bool counts = j < Columns && k < components && empty[k] == 0;
    float sum = counts ? centres[k * Columns + j] : 0.0F, widest = counts ? deviations[k * Columns + j] : 0.0F;
    float count = counts ? 1.0F : 0.0F;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      sum += __shfl_xor_sync(~0U, sum, step);
      count += __shfl_xor_sync(~0U, count, step);
      widest = fmaxf(widest, __shfl_xor_sync(~0U, widest, step));
    }
    // The power of two below the widest deviation.
    const float unit = widest > 1e-37F && widest < 1e37F ? __int_as_float(__float_as_int(widest) & 0x7F800000) : 1.0F;
    const float middle = count > 0 ? __fdividef(sum, count) : 0.0F;
    near = near && fabsf(middle / unit) <= 1e30F;
    if (k == 0) {
      m.frame[j] = m.frame[j + padded] = j < Columns ? make_float2(1 / unit, -middle / unit) : make_float2(1, 0);
      m.units[j] = unit;
    }
  }
  __syncthreads();
  for_each_column([&](unsigned e, unsigned k, unsigned j) {
    const double moved = -static_cast<double>(m.frame[j].y) * static_cast<double>(m.units[j]) - m.moved[k * padded + j];
    m.moved[k * padded + j] = moved;
    reaches[e] = deviations[e] + fabsf(static_cast<float>(moved));
  });
  __syncthreads();
  for_each_column([&](unsigned e, unsigned k, unsigned j) {
    const double* const u = factors + k * Columns * Columns;
    double residual = residuals[e];
#pragma unroll
    for (unsigned i = 0; i < Columns; ++i) {
      residual = fma(u[i * Columns + j], m.moved[k * padded + i], residual);  // below it U is zero
    }
    residuals[e] = residual;
  });
  __syncthreads();

  // A coefficient for each feature.
  for (unsigned e = threadIdx.x; e < components * features; e += threads) {
    const unsigned k = e / features, place = e % features;
    const unsigned slot = place / 16 * 4 + place % 16 / 8 * 2 + place % 2, thread = place % 8 / 2;
    const unsigned apart = slot / thread_columns;  // 0: a column, else 1 + how far apart two are
    const unsigned first = thread_columns * thread + slot % thread_columns;
    const unsigned second = apart == 0 ? first : (first + apart - 1) % padded;
    const bool counts_twice = apart == 1 + padded / 2 && thread >= 2;
    if (first >= Columns || second >= Columns || counts_twice || empty[k] != 0) continue;
    const double* const u = factors + k * Columns * Columns + first * Columns;
    const double* const other =
        apart == 0 ? residuals + k * Columns : factors + k * Columns * Columns + second * Columns;
    double sum = 0;
#pragma unroll
    for (unsigned l = 0; l < Columns; ++l) sum = fma(u[l], other[l], sum);
    double coefficient = -log2_e * static_cast<double>(m.units[first]) * sum;
    if (apart != 0) {
      const float size = fabsf(static_cast<float>(sum)) * reaches[k * Columns + first] * reaches[k * Columns + second];
      // Sums of whole numbers are the same in any order.
      atomicAdd(sums_of_terms + k, static_cast<unsigned>(fminf(apart == 1 ? size : 2 * size, most_terms) * 1024));
      near = near && (apart != 1 || sum * static_cast<double>(m.units[first]) * static_cast<double>(m.units[first]) <=
                                        most_product_ratio * most_product_ratio);
      coefficient *= (apart == 1 ? 0.5 : 1.0) * static_cast<double>(m.units[second]);
    }
    std::uint32_t high, low;
    tensor::split(static_cast<float>(coefficient), 0.0F, high, low);
    // Feature f of a product is b(f, component): thread 4 · component + f % 8 / 2 has it.
    const unsigned block = (k / warp_product_tile * steps + place / 16) * 2;
    const unsigned at = (block * 32 + k % warp_product_tile * 4 + thread) * 4 + place % 16 / 8 * 2 + place % 2;
    m.operands[at] = static_cast<std::uint16_t>(high);
    m.operands[at + 128] = static_cast<std::uint16_t>(low);
  }
  if (threadIdx.x < most) {
    const unsigned k = threadIdx.x;
    double squared_distance = 0;
    float constant = -1e30F;
    if (k < components && empty[k] == 0) {
#pragma unroll
      for (unsigned l = 0; l < Columns; ++l) {
        squared_distance = fma(residuals[k * Columns + l], residuals[k * Columns + l], squared_distance);
      }
      near = near && squared_distance <= most_distance;  // a comparison that a NaN fails
      constant = static_cast<float>(log2_e * (log_constant - 0.5 * squared_distance));
    }
    float* const to = &m.constants[k / 2].x + k % 2;
    to[0] = to[2] = constant;
  }
  __syncthreads();
  if (threadIdx.x < most) near = near && sums_of_terms[threadIdx.x] < static_cast<unsigned>(most_terms * 1024);
  return __syncthreads_and(near ? 1 : 0) != 0;
}

constexpr unsigned warp_work_bytes(const warp_sizes& sizes) {
  const unsigned columns = sizes.circle.columns;
  return sizes.components() * (8 * (columns * columns + columns) + 4 * (3 * columns + columns * columns + 2));
}

}  // namespace shoal::gmm::few_columns
