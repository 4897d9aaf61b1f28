// Makes mixtures of any number of components ready for products of few columns: a frame, and components in it.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/product_operands.cuh>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/term_products.hpp>

namespace shoal::gmm::few_columns {
namespace {

constexpr unsigned frame_threads = 1024, component_threads = 256;
constexpr double log2_e = 1.4426950408889634;

// A block finds the unit and the centre of a column from those of its components: the unit is a power of two near the
// widest deviation, the centre their mean.
__global__ void __launch_bounds__(frame_threads)
    find_frame(const prepared_parameters<float> parameters, unsigned columns, unsigned components,
               const product_mixture mixture) {
  cuda::wait_for_predecessor();
  __shared__ double warps[frame_threads / 32];
  const prepared_components<double>& in = parameters.in_double;
  const unsigned column = blockIdx.x;
  const bool stopped = *parameters.stopped != 0;
  double centres = 0, count = 0, squares = 0, least = INFINITY;
  if (column < columns) {
    for (unsigned k = threadIdx.x; k < components; k += blockDim.x) {
      if (in.log_constants[k] == -INFINITY) continue;
      const double factor = in.factors[k * columns + column];
      centres += in.centres[k * columns + column];
      squares += factor * factor;
      least = fmin(least, factor);
      count += 1;
    }
  }
  const cuda::block_group block;
  centres = block.sum(centres);
  squares = block.sum(squares);
  count = block.sum(count);
  for (unsigned step = 16; step > 0; step /= 2) least = fmin(least, __shfl_xor_sync(~0U, least, step));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = least;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) least = fmin(least, warps[warp]);
  product_column found{0, 0, 0, 0};
  if (column < columns) {
    found = {1, 0, 0, 1};
    if (count > 0) {
      const int exponent = least > 1e-37 && least < 1e37 ? -ilogb(least) : 0;
      const double scale = ldexp(1.0, -exponent);
      found = {static_cast<float>(scale), static_cast<float>(-centres / count * scale),
               static_cast<float>(-0.5 * log2_e * (squares / count) / (scale * scale)), static_cast<float>(1 / scale)};
    }
  }
  mixture.columns[column] = found;
  if (column == 0) {
    // Until a component turns out to lie too far from the others.
    *mixture.own_stopped = stopped ? 1 : 0;
    *mixture.other_stopped = 1;
  }
}

// A thread for each column of a component, of which there are `padded`, 8 or 16.
__global__ void __launch_bounds__(component_threads)
    pack_components(const prepared_parameters<float> parameters, bool spherical, bool held, unsigned columns,
                    unsigned padded, unsigned components, unsigned tiles, const product_mixture mixture) {
  cuda::wait_for_predecessor();
  const prepared_components<double>& in = parameters.in_double;
  const unsigned place = blockIdx.x * component_threads + threadIdx.x, k = place / padded, j = place % padded;
  const covariance_type type = spherical ? covariance_type::spherical : covariance_type::diag;
  const unsigned steps = held ? held_steps(type, padded) : product_steps(type, padded);
  const product_column column = mixture.columns[j];
  const double unit = static_cast<double>(column.unit);
  const bool present = k < components && in.log_constants[k < components ? k : 0] != -INFINITY;
  double line = 0, curve = 0, squared_distance = 0;
  bool near = fabsf(column.shift) <= 1e30F;  // comparisons that a NaN fails
  if (present && j < columns) {
    const unsigned at = k * columns + j;
    const double factor = in.factors[at], ratio = factor * unit;
    const double distance = (in.centres[at] + static_cast<double>(column.shift) * unit) * factor - in.offsets[at];
    near = near && ratio <= static_cast<double>(most_product_ratio);
    line = log2_e * distance * ratio;
    curve = -0.5 * log2_e * ratio * ratio - static_cast<double>(column.curve);
    squared_distance = distance * distance;
  }
  for (unsigned step = 1; step < padded; step *= 2) {
    squared_distance += __shfl_xor_sync(~0U, squared_distance, step);
  }
  near = near && squared_distance <= static_cast<double>(most_product_squared_distance);
  if (!near) {
    *mixture.own_stopped = 1;
    *mixture.other_stopped = *parameters.stopped != 0 ? 1 : 0;
  }
  if (k >= tiles * product_components) return;
  product_constants constants{-1e30F, 0};
  if (present) {
    constants.constant = static_cast<float>(log2_e * (in.log_constants[k] - 0.5 * squared_distance));
    if (spherical) constants.norm_factor = static_cast<float>(curve);
  }
  write_operand(mixture, k, j, steps, line);
  if (!spherical) {
    write_operand(mixture, k, padded + j, steps, curve);
  } else if (held) {
    // Those of ‖z‖², of 1 for each term of the constant, and of the terms of what a row's densities have in common.
    const double constant = fmax(static_cast<double>(constants.constant), -static_cast<double>(most_float16));
    const double high = static_cast<double>(__half2float(__double2half(constant)));
    const double behind[] = {curve, high, constant - high, 1, 1};
    write_operand(mixture, k, padded + j, steps, j < 5 ? behind[j] : 0);
  } else if (padded == 8) {
    write_operand(mixture, k, 8 + j, steps, j == 0 ? curve : 0);  // that of ‖z‖², and the rest of a product
  }
  if (j == 0) mixture.constants[k] = constants;
}

}  // namespace

void pack_terms(const prepared_parameters<float>& parameters, covariance_type type, unsigned columns,
                unsigned components, unsigned tiles, bool held, const product_mixture& mixture, cudaStream_t stream) {
  const unsigned padded = product_columns(type, columns);
  const unsigned threads = components < frame_threads ? (components + 31) / 32 * 32 : frame_threads;
  cuda::launch_in_turn(find_frame, padded, threads, 0, stream, parameters, columns, components, mixture);
  const unsigned blocks = (tiles * product_components * padded + component_threads - 1) / component_threads;
  cuda::launch_in_turn(pack_components, blocks, component_threads, 0, stream, parameters,
                       type == covariance_type::spherical, held, columns, padded, components, tiles, mixture);
}

}  // namespace shoal::gmm::few_columns
