// Makes mixtures ready for products of float64 rows of few columns: a frame, and components in it.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/float64_products.hpp>
#include <shoal/gmm/cuda/few_columns/float64_products_tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

constexpr unsigned most_columns_of_frame = 16, pack_threads = 32 * float64_pack_components;
constexpr double log2_e = 1.4426950408889634;

/// A component's parameters in shared memory.
struct packed_component {
  double factor[most_columns_of_frame * most_columns_of_frame];
  double moved[most_columns_of_frame];      ///< from its centre to the origin
  double residuals[most_columns_of_frame];  ///< y at the origin
  double reaches[most_columns_of_frame];    ///< how far a row that lies a deviation from the mean is from the origin
};

// Each block finds the frame for itself; a warp packs a component.
__global__ void __launch_bounds__(pack_threads)
    pack_components(const prepared_parameters<double> parameters, bool matrix, unsigned columns, unsigned padded,
                    unsigned components, unsigned factor_stride, unsigned features, unsigned quads, float64_mixture mixture) {
  cuda::wait_for_predecessor();
  __shared__ packed_component packed[float64_pack_components];
  __shared__ double origin[most_columns_of_frame], unit[most_columns_of_frame];
  const prepared_components<double>& in = parameters.packed;
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32;
  const auto factor_of = [&](unsigned k, unsigned i, unsigned j) {
    if (matrix) return in.factors[k * factor_stride + i * columns + j];
    return i == j ? in.factors[k * columns + j] : 0.0;
  };
  for (unsigned j = warp; j < columns; j += float64_pack_components) {
    double sum = 0, count = 0, least = INFINITY;
    for (unsigned k = thread; k < components; k += 32) {
      if (in.log_constants[k] == -INFINITY) continue;
      sum += in.centres[k * columns + j];
      least = fmin(least, fabs(factor_of(k, j, j)));
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
      if (blockIdx.x == 0) {
        mixture.origin[j] = origin[j];
        mixture.unit[j] = unit[j];
      }
    }
  }
  __syncthreads();

  const unsigned k = blockIdx.x * float64_pack_components + warp;
  packed_component& own = packed[warp];
  const double log_constant = k < components ? in.log_constants[k] : -INFINITY;
  const bool held = log_constant != -INFINITY;
  bool apart = false;
  double squared_distance = 0, terms = 0;
  if (held) {
    for (unsigned e = thread; e < columns * columns; e += 32) own.factor[e] = factor_of(k, e / columns, e % columns);
    if (thread < columns) own.moved[thread] = origin[thread] - in.centres[k * columns + thread];
    __syncwarp();
    if (thread < columns) {
      double residual = in.offsets[k * columns + thread];
      for (unsigned i = 0; i <= thread; ++i) residual = fma(own.factor[i * columns + thread], own.moved[i], residual);
      own.residuals[thread] = residual;
      squared_distance = residual * residual;
      // Column j of U⁻¹ has the length of the deviation of column j.
      double inverse[most_columns_of_frame], squares = 0;
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
  for (unsigned f = thread; f < 4 * quads; f += 32) {
    double value = 0;
    if (f == features - 1) {
      value = constant;
    } else if (f < features - 1 && held) {
      unsigned i = f, j = columns;
      if (f >= padded) {
        unsigned rest = f - padded;
        i = 0;
        if (matrix) {
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
      if (inside && f >= padded) {
        const double size = fabs(sum) * own.reaches[i] * own.reaches[j];
        terms += i == j ? size : 2 * size;
        apart = apart || !(fabs(sum) * unit[i] * unit[j] <= 1e100);
        value *= (i == j ? 0.5 : 1.0) * unit[j];
      }
    }
    const unsigned c = k % float64_tile;
    mixture.coefficients[((k / float64_tile * quads + f / 4) * 32 + c % 8 * 4 + f % 4) * 2 + c / 8] = value;
  }
  if (thread == 0) mixture.constants[k] = constant;
  for (unsigned step = 1; step < 32; step *= 2) terms += __shfl_xor_sync(~0U, terms, step);
  apart = apart || !(squared_distance <= most_float64_squared_distance) || !(terms <= most_float64_terms);
  apart = __syncthreads_or(apart ? 1 : 0) != 0;
  if (threadIdx.x == 0) mixture.apart[blockIdx.x] = apart ? 1 : 0;
}

}  // namespace

void pack_float64(const prepared_parameters<double>& parameters, covariance_type type, unsigned columns,
                  unsigned components, unsigned factor_stride, unsigned tiles, const float64_mixture& mixture,
                  cudaStream_t stream) {
  const bool matrix = type == covariance_type::full || type == covariance_type::tied;
  const covariance_type kernels = matrix ? covariance_type::full : covariance_type::diag;
  const unsigned padded = padded_float64_columns(kernels, columns);
  const float64_sizes sizes{kernels, padded, 1};
  cuda::launch_in_turn(pack_components, tiles * float64_tile / float64_pack_components, pack_threads, 0, stream,
                       parameters, matrix, columns, padded, components, factor_stride, sizes.features(), sizes.quads(), mixture);
}

}  // namespace shoal::gmm::few_columns
