// Makes diagonal and spherical mixtures of many columns ready for tensor cores: a frame, and components split in it.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
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

// Joins each of some values of a block's threads, for all of them.
template <int Threads = threads, int Count, class Join>
__device__ void join_block(double (&values)[Count], const Join& join) {
  __shared__ double parts[Threads / 32][Count];
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    for (int distance = 16; distance > 0; distance /= 2) {
      values[i] = join(values[i], __shfl_xor_sync(~0U, values[i], distance));
    }
  }
  __syncthreads();  // all have read what was there
  if (thread % 32 == 0) {
    for (int i = 0; i < Count; ++i) parts[thread / 32][i] = values[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    values[i] = parts[0][i];
    for (int warp = 1; warp < Threads / 32; ++warp) values[i] = join(values[i], parts[warp][i]);
  }
}
struct sum_of {
  __device__ double operator()(double a, double b) const { return a + b; }
};
struct least_of {
  __device__ double operator()(double a, double b) const { return fmin(a, b); }
};
struct greatest_of {
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};

__device__ double mean_of(const problem& mixture, std::size_t at) {
  return mixture.parameters.in_double.centres[at] -
         mixture.parameters.in_double.offsets[at] / mixture.parameters.in_double.factors[at];
}

// The frame's unit and centre of one column, and the mean of what is taken out of curves. Block j.
template <int Threads>
__global__ void __launch_bounds__(Threads) frame_kernel(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
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
  double sums[2] = {};           // of means, and their number
  double least[1] = {INFINITY};  // of 1/σ
  for (int k = thread; k < mixture.components; k += Threads) {
    if (is_empty(mixture, k)) continue;
    sums[0] += mean_of(mixture, place(k));
    sums[1] += 1;
    least[0] = fmin(least[0], mixture.parameters.in_double.factors[place(k)]);
  }
  join_block<Threads>(sums, sum_of());
  join_block<Threads>(least, least_of());
  const float centre = sums[1] > 0 ? static_cast<float>(sums[0] / sums[1]) : 0.0F;
  const int exponent = least[0] > 1e-38 && least[0] < 1e38 ? -ilogb(least[0]) : 0;
  const float scale = ldexpf(1.0F, -exponent);
  double squares[2] = {};  // and their number
  for (int k = thread; k < mixture.components; k += Threads) {
    if (is_empty(mixture, k)) continue;
    const double ratio = mixture.parameters.in_double.factors[place(k)] / static_cast<double>(scale);
    if (!(ratio <= most_curve_ratio)) continue;
    squares[0] += ratio * ratio;
    squares[1] += 1;
  }
  join_block<Threads>(squares, sum_of());
  if (thread != 0) return;
  if (!cuda::has_warpgroup_products || !(fabsf(centre * scale) <= 1e30F)) atomicMax(mixture.arrangement, no_frame);
  mixture.frame[column] = make_float2(scale, -centre * scale);
  mixture.mean_curve[column] = squares[1] > 0 ? static_cast<float>(-0.5 / ln_2 * (squares[0] / squares[1])) : 0.0F;
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

// How far a component is from the frame: the greatest of all columns, and sums over them.
struct frame_distance {
  double greatest[2];  // a distance in deviations, and the frame's unit in them
  double sums[2];      // of squared distances, and of their squares: not numbers where a distance is not one

  // Joins those of the columns of a block.
  __device__ frame_distance(double distance, double ratio)
      : greatest{fabs(distance), ratio}, sums{distance * distance, distance * distance * distance * distance} {
    join_block(greatest, greatest_of());
    join_block(sums, sum_of());
  }
  __device__ bool within(const frame_limits& limits) const {
    return greatest[0] <= limits.column_distance && greatest[1] <= limits.ratio && sums[0] <= limits.squared_distance &&
           sums[1] <= limits.fourth_powers;
  }
};

// The operands and constants of component k, which may be one of those that fill the last tile, and whether it fits
// into the frame. A thread for each column. Block k.
static_assert(threads >= most_columns);
__global__ void __launch_bounds__(threads) pack_kernel(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int k = static_cast<int>(blockIdx.x), j = static_cast<int>(threadIdx.x);
  const bool empty = k >= mixture.components || is_empty(mixture, k);
  const bool inside = !empty && j < mixture.columns;
  double mean = 0;       // in the frame
  double deviation = 1;  // likewise
  if (inside) {
    const std::size_t at = static_cast<std::size_t>(k) * mixture.columns + j;
    const double unit = static_cast<double>(mixture.frame[j].x);
    mean = mean_of(mixture, at) * unit + static_cast<double>(mixture.frame[j].y);
    deviation = unit / mixture.parameters.in_double.factors[at];
  }
  const frame_distance distance(mean / deviation, inside ? 1 / deviation : 0);
  const bool outside = !distance.within(wide_limits());
  const bool left_out = !distance.within(limits_of(mixture.products, mixture.steps));
  double logarithms[1] = {};  // Σ ln s, for the weight
  if (left_out) {
    if (inside)
      logarithms[0] = log(mixture.parameters.in_double.factors[static_cast<std::size_t>(k) * mixture.columns + j]);
    join_block(logarithms, sum_of());
  }
  if (j == 0) {
    if (outside) atomicAdd(mixture.arrangement + outsiders_at, 1);
    if (left_out) {
      // As prepare_component.cuh has log_constants.
      const double weight =
          exp(mixture.parameters.in_double.log_constants[k] + *mixture.parameters.in_double.log_shift +
              mixture.columns * half_log_two_pi - logarithms[0]);
      // Whole numbers: their sum has the same bits in any order.
      atomicAdd(mixture.arrangement + left_out_weight_at, __double2int_ru(fmin(weight, 1.0) * weight_units));
      atomicAdd(mixture.arrangement + left_out_at, 1);
      if (!(distance.greatest[1] >= least_narrow_ratio)) mixture.arrangement[broad_left_out_at] = 1;
      atomicMax(mixture.arrangement, wide_frame);
    } else if (!empty) {
      mixture.arrangement[holds_some_at] = 1;
    }
    if (mixture.left_out != nullptr) mixture.left_out[k] = left_out ? 1 : 0;
  }

  double rounded_away[1] = {};  // what of the operands' products with a row at the mean is beyond their terms
  float line = 0;
  float curve = 0;
  if (inside && !outside) {
    const double squared = deviation * deviation;
    line = static_cast<float>(mean / (ln_2 * squared));
    curve = static_cast<float>(-0.5 / ln_2 / squared - static_cast<double>(mixture.mean_curve[j]));
    rounded_away[0] = (static_cast<double>(line) - as_terms(line, mixture.products)) * mean;
    if (!mixture.spherical) {
      rounded_away[0] += (static_cast<double>(curve) - as_terms(curve, mixture.products)) * (mean * mean + squared);
    }
  }
  const float values[2] = {line, curve};
  for (int feature = 0; feature < mixture.features && j < mixture.steps * step_size; ++feature) {
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
  join_block(rounded_away, sum_of());
  if (j != 0) return;
  float constant = -INFINITY;
  float own_constant = -INFINITY;
  float norm_factor = 0;
  if (!empty) {
    const double own = mixture.parameters.in_double.log_constants[k];
    own_constant = static_cast<float>(own);
    // Not a number: products do not find its terms, which are always candidates.
    constant = outside ? NAN : static_cast<float>((own - 0.5 * distance.sums[0]) / ln_2 + rounded_away[0]);
    if (mixture.spherical) norm_factor = curve;
  }
  mixture.constants[k] = constant;
  mixture.common_constants[k] = left_out ? -INFINITY : constant;
  mixture.own_constants[k] = own_constant;
  if (mixture.spherical) mixture.norm_factors[k] = norm_factor;
}

}  // namespace

void pack_mixture(const problem& mixture, cudaStream_t stream) {
  cuda::check(cudaMemsetAsync(mixture.arrangement, 0, arrangement_size * sizeof(int), stream), "clear device memory");
  pack_cleared_mixture(mixture, stream);
}

void pack_cleared_mixture(const problem& mixture, cudaStream_t stream) {
  const auto columns = static_cast<unsigned>(mixture.steps * step_size);
  // Many components by many threads: their means wait for divisions.
  constexpr int many = 512;
  if (mixture.components > 2 * threads) {
    cuda::launch_in_turn(frame_kernel<many>, columns, many, 0, stream, mixture);
  } else {
    cuda::launch_in_turn(frame_kernel<threads>, columns, threads, 0, stream, mixture);
  }
  cuda::launch_in_turn(pack_kernel, static_cast<unsigned>(mixture.tiles * tile_components), threads, 0, stream,
                       mixture);
}

}  // namespace shoal::gmm::tensor_diagonal
