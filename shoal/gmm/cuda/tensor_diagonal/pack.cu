// Makes diagonal and spherical mixtures of many columns ready for tensor cores: a frame, and components split in it.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

constexpr int threads = 128;

__device__ bool is_empty(const problem& mixture, int k) {
  return mixture.parameters.in_double.log_constants[k] == -INFINITY;
}

__device__ double block_sum(double value) {
  __shared__ double parts[threads];
  const int thread = static_cast<int>(threadIdx.x);
  parts[thread] = value;
  __syncthreads();
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    if (thread < distance) parts[thread] += parts[thread + distance];
    __syncthreads();
  }
  const double sum = parts[0];
  __syncthreads();
  return sum;
}

__device__ double block_least(double value) {
  __shared__ double parts[threads];
  const int thread = static_cast<int>(threadIdx.x);
  parts[thread] = value;
  __syncthreads();
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    if (thread < distance) parts[thread] = fmin(parts[thread], parts[thread + distance]);
    __syncthreads();
  }
  const double least = parts[0];
  __syncthreads();
  return least;
}

__device__ double mean_of(const problem& mixture, std::size_t at) {
  return mixture.parameters.in_double.centres[at] -
         mixture.parameters.in_double.offsets[at] / mixture.parameters.in_double.factors[at];
}

// The frame's unit and centre of one column, and whether all components are near enough to it. Block j.
__global__ void __launch_bounds__(threads) frame_kernel(const __grid_constant__ problem mixture) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int column = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  if (column >= mixture.columns) {
    if (thread == 0) {
      mixture.frame[column] = make_float2(0.0F, 0.0F);
      mixture.mean_curve[column] = 0;
    }
    return;
  }
  const auto place = [&](int k) { return static_cast<std::size_t>(k) * mixture.columns + column; };
  double sum = 0;
  double count = 0;
  double squares = 0;
  double least = INFINITY;  // of 1/σ
  for (int k = thread; k < mixture.components; k += threads) {
    if (is_empty(mixture, k)) continue;
    const double factor = mixture.parameters.in_double.factors[place(k)];
    sum += mean_of(mixture, place(k));
    squares += factor * factor;
    least = fmin(least, factor);
    count += 1;
  }
  sum = block_sum(sum);
  count = block_sum(count);
  squares = block_sum(squares);
  least = block_least(least);
  const float centre = count > 0 ? static_cast<float>(sum / count) : 0.0F;
  const int exponent = least > 1e-38 && least < 1e38 ? -ilogb(least) : 0;
  const float scale = ldexpf(1.0F, -exponent);
  bool wide = fabsf(centre * scale) <= 1e30F;
  bool near = wide;
  for (int k = thread; k < mixture.components; k += threads) {
    if (is_empty(mixture, k)) continue;
    const double factor = mixture.parameters.in_double.factors[place(k)];
    const double distance = fabs(mean_of(mixture, place(k)) - static_cast<double>(centre)) * factor;
    // Comparisons that a NaN fails.
    const double ratio = factor / static_cast<double>(scale);
    near = near && distance <= most_column_distance && ratio <= most_ratio;
    wide = wide && distance <= wide_column_distance && ratio <= wide_ratio;
  }
  if (!cuda::has_warpgroup_products) wide = false;
  if (!wide) {
    atomicMax(mixture.arrangement, no_frame);
  } else if (!near) {
    atomicMax(mixture.arrangement, wide_frame);
  }
  if (thread != 0) return;
  mixture.frame[column] = make_float2(scale, -centre * scale);
  const double unit = static_cast<double>(scale);
  mixture.mean_curve[column] = count > 0 ? static_cast<float>(-0.5 / ln_2 * (squares / count) / (unit * unit)) : 0.0F;
}

// Where element `element` of component `k`'s operand number `part` lies.
__device__ std::size_t operand_at(const problem& mixture, int k, int part, int element) {
  const int parts = mixture.features * split_terms(mixture.products);
  const auto block = (static_cast<std::size_t>(k / tile_components) * parts + part) * mixture.steps;
  return (block + element / step_size) * operand_size + operand_place(k % tile_components, element % step_size);
}

// The operands and constants of component k, which may be one of those that fill the last tile. Block k.
__global__ void __launch_bounds__(threads) pack_kernel(const __grid_constant__ problem mixture) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int k = static_cast<int>(blockIdx.x);
  const bool empty = k >= mixture.components || is_empty(mixture, k);
  double squared_distance = 0;
  for (int j = static_cast<int>(threadIdx.x); j < mixture.steps * step_size; j += threads) {
    float line = 0;
    float curve = 0;
    if (!empty && j < mixture.columns) {
      const std::size_t at = static_cast<std::size_t>(k) * mixture.columns + j;
      const double unit = static_cast<double>(mixture.frame[j].x);
      const double centre = -static_cast<double>(mixture.frame[j].y) / unit;
      const double factor = mixture.parameters.in_double.factors[at];
      const double distance = (mean_of(mixture, at) - centre) * factor;
      squared_distance += distance * distance;
      line = static_cast<float>(distance * factor / (ln_2 * unit));
      curve = static_cast<float>(-0.5 / ln_2 * factor * factor / (unit * unit) -
                                 static_cast<double>(mixture.mean_curve[j]));
    }
    const float values[2] = {line, curve};
    for (int feature = 0; feature < mixture.features; ++feature) {
      std::uint32_t high, low;
      tensor::split(values[feature], 0.0F, high, low);
      // The low terms of all features come first, and z² before z: large sums last, for each product cuts off digits.
      const int last = mixture.features - 1 - feature;
      if (mixture.products == 3) {
        mixture.operands[operand_at(mixture, k, last, j)] = static_cast<std::uint16_t>(low);
        mixture.operands[operand_at(mixture, k, mixture.features + last, j)] = static_cast<std::uint16_t>(high);
      } else {
        mixture.operands[operand_at(mixture, k, last, j)] = static_cast<std::uint16_t>(high);
      }
    }
  }
  squared_distance = block_sum(squared_distance);
  if (threadIdx.x != 0) return;
  if (!(squared_distance <= wide_squared_distance)) {
    atomicMax(mixture.arrangement, no_frame);
  } else if (!(squared_distance <= most_squared_distance)) {
    atomicMax(mixture.arrangement, wide_frame);
  }
  float constant = -INFINITY;
  float own_constant = -INFINITY;
  float norm_factor = 0;
  if (!empty) {
    const double own = mixture.parameters.in_double.log_constants[k];
    constant = static_cast<float>((own - 0.5 * squared_distance) / ln_2);
    own_constant = static_cast<float>(own);
    if (mixture.spherical) {
      const double unit = static_cast<double>(mixture.frame[0].x);
      const double factor = mixture.parameters.in_double.factors[static_cast<std::size_t>(k) * mixture.columns];
      norm_factor = static_cast<float>(-0.5 / ln_2 * factor * factor / (unit * unit) -
                                       static_cast<double>(mixture.mean_curve[0]));
    }
  }
  mixture.constants[k] = constant;
  mixture.own_constants[k] = own_constant;
  if (mixture.spherical) mixture.norm_factors[k] = norm_factor;
}

}  // namespace

void pack_mixture(const problem& mixture, cudaStream_t stream) {
  cuda::check(cudaMemsetAsync(mixture.arrangement, 0, 2 * sizeof(int), stream), "clear device memory");
  frame_kernel<<<mixture.steps * step_size, threads, 0, stream>>>(mixture);
  cuda::check_launch("pack_mixture");
  pack_kernel<<<mixture.tiles * tile_components, threads, 0, stream>>>(mixture);
  cuda::check_launch("pack_mixture");
}

}  // namespace shoal::gmm::tensor_diagonal
