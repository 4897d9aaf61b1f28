// A float64 mixture in the frame that its components share, as blocks find it: the origin and units of all columns, and
// components' coefficients in it.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include <shoal/gmm/cuda/few_columns/float64_frame_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/float64_products.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>

namespace shoal::gmm::few_columns {

/// A mixture that is to be packed. Columns beyond the first ones up to `padded` are zeros.
struct float64_source {
  prepared_components<double> in;
  bool matrix;
  unsigned columns, padded, components, factor_stride, features, quads;

  __device__ double factor(unsigned k, unsigned i, unsigned j) const {
    if (matrix) return in.factors[k * factor_stride + i * columns + j];
    return i == j ? in.factors[k * columns + j] : 0.0;
  }
};

/// A component's parameters in shared memory.
struct packed_component {
  double factor[most_frame_columns * most_frame_columns];
  double moved[most_frame_columns];      ///< from its centre to the origin
  double residuals[most_frame_columns];  ///< y at the origin
  double reaches[most_frame_columns];    ///< how far a row that lies a deviation from the mean is from the origin
};
static_assert(sizeof(packed_component) == packed_component_size * sizeof(double));

/// Finds the mean of the components' centres and a power of two near the widest deviation of each column, a warp a
/// column.
__device__ inline void find_float64_frame(const float64_source& of, double* origin, double* unit) {
  const unsigned thread = threadIdx.x % 32;
  for (unsigned j = threadIdx.x / 32; j < of.columns; j += blockDim.x / 32) {
    double sum = 0, count = 0, least = INFINITY;
    for (unsigned k = thread; k < of.components; k += 32) {
      const double centre = of.in.centres[k * of.columns + j], factor = fabs(of.factor(k, j, j));
      if (of.in.log_constants[k] == -INFINITY) continue;
      sum += centre;
      least = fmin(least, factor);
      count += 1;
    }
    for (unsigned step = 1; step < 32; step *= 2) {
      sum += __shfl_xor_sync(~0U, sum, step);
      count += __shfl_xor_sync(~0U, count, step);
      least = fmin(least, __shfl_xor_sync(~0U, least, step));
    }
    if (thread == 0) {
      origin[j] = count > 0 ? sum / count : 0.0;
      unit[j] = least > 1e-140 && least < 1e140 ? ldexp(1.0, -ilogb(least)) : 1.0;
    }
  }
}

/// Packs component k, a warp's work, which may be beyond the last one. Returns whether it lies apart.
__device__ inline bool pack_float64_component(const float64_source& of, const double* origin, const double* unit,
                                              unsigned k, packed_component& own, double* coefficients,
                                              double* constants) {
  const unsigned thread = threadIdx.x % 32, columns = of.columns;
  const double log_constant = k < of.components ? of.in.log_constants[k] : -INFINITY;
  const bool held = log_constant != -INFINITY;
  bool apart = false;
  double squared_distance = 0, terms = 0;
  if (held) {
    for (unsigned e = thread; e < columns * columns; e += 32) own.factor[e] = of.factor(k, e / columns, e % columns);
    if (thread < columns) own.moved[thread] = origin[thread] - of.in.centres[k * columns + thread];
    __syncwarp();
    if (thread < columns) {
      double residual = of.in.offsets[k * columns + thread];
      for (unsigned i = 0; i <= thread; ++i) residual = fma(own.factor[i * columns + thread], own.moved[i], residual);
      own.residuals[thread] = residual;
      squared_distance = residual * residual;
      // Column j of U⁻¹ has the length of the deviation of column j.
      double inverse[most_frame_columns], squares = 0;
      for (unsigned i = columns; i-- > 0;) {
        double sum = i == thread ? 1.0 : 0.0;
        for (unsigned l = i + 1; l < columns; ++l) sum = fma(-own.factor[i * columns + l], inverse[l], sum);
        inverse[i] = sum / own.factor[i * columns + i];
        squares = fma(inverse[i], inverse[i], squares);
      }
      own.reaches[thread] = sqrt(squares) + fabs(own.moved[thread]);
      apart = !(fabs(residual) <= most_float64_distance) || !(fabs(origin[thread] / unit[thread]) <= 1e140);
    }
    for (unsigned step = 1; step < 32; step *= 2) squared_distance += __shfl_xor_sync(~0U, squared_distance, step);
    __syncwarp();
  }
  const double constant = held ? log2_e * (log_constant - 0.5 * squared_distance) : -1e30;
  for (unsigned f = thread; f < 4 * of.quads; f += 32) {
    double value = 0;
    if (f == of.features - 1) {
      value = constant;
    } else if (f < of.features - 1 && held) {
      unsigned i = f, j = columns;
      if (f >= of.padded) {
        unsigned rest = f - of.padded;
        i = 0;
        if (of.matrix) {
          while (rest >= columns - i) rest -= columns - i++;
          j = i + rest;
        } else {
          i = j = rest;
        }
      }
      double sum = 0;
      const bool inside = i < columns;
      for (unsigned l = 0; inside && l < columns; ++l) {
        sum = fma(own.factor[i * columns + l], j == columns ? own.residuals[l] : own.factor[j * columns + l], sum);
      }
      if (inside) value = -log2_e * unit[i] * sum;
      if (inside && f >= of.padded) {
        const double size = fabs(sum) * own.reaches[i] * own.reaches[j];
        terms += i == j ? size : 2 * size;
        apart = apart || !(fabs(sum) * unit[i] * unit[j] <= 1e100);
        value *= (i == j ? 0.5 : 1.0) * unit[j];
      }
    }
    const unsigned c = k % float64_tile;
    coefficients[((k / float64_tile * of.quads + f / 4) * 32 + c % 8 * 4 + f % 4) * 2 + c / 8] = value;
  }
  if (thread == 0) constants[k] = constant;
  for (unsigned step = 1; step < 32; step *= 2) terms += __shfl_xor_sync(~0U, terms, step);
  apart = apart || !(squared_distance <= most_float64_squared_distance) || !(terms <= most_float64_terms);
  __syncwarp();
  return apart;
}

}  // namespace shoal::gmm::few_columns
