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

// The frame's unit and centre of one column, and the mean of what is taken out of curves. Block j.
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
  double least = INFINITY;  // of 1/σ
  for (int k = thread; k < mixture.components; k += threads) {
    if (is_empty(mixture, k)) continue;
    sum += mean_of(mixture, place(k));
    least = fmin(least, mixture.parameters.in_double.factors[place(k)]);
    count += 1;
  }
  sum = block_sum(sum);
  count = block_sum(count);
  least = block_least(least);
  const float centre = count > 0 ? static_cast<float>(sum / count) : 0.0F;
  const int exponent = least > 1e-38 && least < 1e38 ? -ilogb(least) : 0;
  const float scale = ldexpf(1.0F, -exponent);
  // Of components that are outside because they are too narrow, curves would leave no digits to the others.
  double squares = 0;
  double framed = 0;
  for (int k = thread; k < mixture.components; k += threads) {
    if (is_empty(mixture, k)) continue;
    const double ratio = mixture.parameters.in_double.factors[place(k)] / static_cast<double>(scale);
    if (!(ratio <= wide_limits().ratio)) continue;
    squares += ratio * ratio;
    framed += 1;
  }
  squares = block_sum(squares);
  framed = block_sum(framed);
  if (thread != 0) return;
  if (!cuda::has_warpgroup_products || !(fabsf(centre * scale) <= 1e30F)) atomicMax(mixture.arrangement, no_frame);
  mixture.frame[column] = make_float2(scale, -centre * scale);
  mixture.mean_curve[column] = framed > 0 ? static_cast<float>(-0.5 / ln_2 * (squares / framed)) : 0.0F;
}

// Where element `element` of component `k`'s operand number `part` lies.
__device__ std::size_t operand_at(const problem& mixture, int k, int part, int element) {
  const int parts = mixture.features * split_terms(mixture.products);
  const auto block = (static_cast<std::size_t>(k / tile_components) * parts + part) * mixture.steps;
  return (block + element / step_size) * operand_size + operand_place(k % tile_components, element % step_size);
}

__device__ double as_terms(float value, int products) {
  return static_cast<double>(products == 3 ? in_terms<3>(value) : in_terms<1>(value));
}

// How far a component is from the frame, over some columns: the greatest of each, and sums.
struct frame_distance {
  double column = 0;
  double ratio = 0;
  double squared = 0;
  double fourth_powers = 0;

  __device__ void add(double distance, double its_ratio) {
    column = fmax(column, distance);
    ratio = fmax(ratio, its_ratio);
    squared += distance * distance;
    fourth_powers += distance * distance * distance * distance;
  }
  // Over all columns of a block. The sums are not numbers where a distance is not one, and within no limits.
  __device__ void join() {
    column = -block_least(-column);
    ratio = -block_least(-ratio);
    squared = block_sum(squared);
    fourth_powers = block_sum(fourth_powers);
  }
  __device__ bool within(const frame_limits& limits) const {
    return column <= limits.column_distance && ratio <= limits.ratio && squared <= limits.squared_distance &&
           fourth_powers <= limits.fourth_powers;
  }
};

// The operands and constants of component k, which may be one of those that fill the last tile, and whether it fits
// into the frame. Block k.
__global__ void __launch_bounds__(threads) pack_kernel(const __grid_constant__ problem mixture) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int k = static_cast<int>(blockIdx.x);
  const bool empty = k >= mixture.components || is_empty(mixture, k);
  const auto place = [&](int j) { return static_cast<std::size_t>(k) * mixture.columns + j; };
  const auto unit_of = [&](int j) { return static_cast<double>(mixture.frame[j].x); };
  const auto distance_of = [&](int j) {  // from the frame's centre, in deviations
    const double centre = -static_cast<double>(mixture.frame[j].y) / unit_of(j);
    return (mean_of(mixture, place(j)) - centre) * mixture.parameters.in_double.factors[place(j)];
  };
  frame_distance distance;
  for (int j = static_cast<int>(threadIdx.x); !empty && j < mixture.columns; j += threads) {
    distance.add(fabs(distance_of(j)), mixture.parameters.in_double.factors[place(j)] / unit_of(j));
  }
  distance.join();
  const bool outside = !distance.within(wide_limits());
  if (threadIdx.x == 0) {
    if (outside) atomicAdd(mixture.arrangement + outsiders_at, 1);
    if (!distance.within(limits_of(mixture.products, mixture.steps))) atomicMax(mixture.arrangement, wide_frame);
  }

  double rounded_away = 0;  // what of the operands' products with a row at the mean is beyond their terms
  for (int j = static_cast<int>(threadIdx.x); j < mixture.steps * step_size; j += threads) {
    float line = 0;
    float curve = 0;
    if (!empty && !outside && j < mixture.columns) {
      const double deviation = unit_of(j) / mixture.parameters.in_double.factors[place(j)];
      const double z = distance_of(j) * deviation;
      line = static_cast<float>(distance_of(j) / (ln_2 * deviation));
      curve = static_cast<float>(-0.5 / ln_2 / (deviation * deviation) - static_cast<double>(mixture.mean_curve[j]));
      rounded_away += (static_cast<double>(line) - as_terms(line, mixture.products)) * z;
      if (!mixture.spherical) {
        rounded_away +=
            (static_cast<double>(curve) - as_terms(curve, mixture.products)) * (z * z + deviation * deviation);
      }
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
  rounded_away = block_sum(rounded_away);
  if (threadIdx.x != 0) return;
  float constant = -INFINITY;
  float own_constant = -INFINITY;
  float norm_factor = 0;
  if (!empty) {
    const double own = mixture.parameters.in_double.log_constants[k];
    own_constant = static_cast<float>(own);
    // Not a number: products do not find its terms, which are always candidates.
    constant = outside ? NAN : static_cast<float>((own - 0.5 * distance.squared) / ln_2 + rounded_away);
    if (mixture.spherical && !outside) {
      const double ratio = mixture.parameters.in_double.factors[place(0)] / unit_of(0);
      norm_factor = static_cast<float>(-0.5 / ln_2 * ratio * ratio - static_cast<double>(mixture.mean_curve[0]));
    }
  }
  mixture.constants[k] = constant;
  mixture.own_constants[k] = own_constant;
  if (mixture.spherical) mixture.norm_factors[k] = norm_factor;
}

}  // namespace

void pack_mixture(const problem& mixture, cudaStream_t stream) {
  cuda::check(cudaMemsetAsync(mixture.arrangement, 0, arrangement_size * sizeof(int), stream), "clear device memory");
  frame_kernel<<<mixture.steps * step_size, threads, 0, stream>>>(mixture);
  cuda::check_launch("pack_mixture");
  pack_kernel<<<mixture.tiles * tile_components, threads, 0, stream>>>(mixture);
  cuda::check_launch("pack_mixture");
}

}  // namespace shoal::gmm::tensor_diagonal
