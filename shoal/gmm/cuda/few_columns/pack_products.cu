// Makes mixtures ready for products of few columns: a frame, and components in it.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/product_operands.cuh>
#include <shoal/gmm/cuda/few_columns/products.hpp>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

constexpr unsigned threads = 32 * most_columns;  // a warp for each column
constexpr double log2_e = 1.4426950408889634;

__device__ bool is_empty(const prepared_components<double>& in, unsigned k) { return in.log_constants[k] == -INFINITY; }

// Units and centre of a column from those of the components: `least` is the least 1/σ, `squares` the sum of all 1/σ².
__device__ product_column make_column(double centres, double squares, double least, double count) {
  if (count == 0) return {1, 0, 0, 1};
  const int exponent = least > 1e-37 && least < 1e37 ? -ilogb(least) : 0;
  const double scale = ldexp(1.0, -exponent);
  return {static_cast<float>(scale), static_cast<float>(-centres / count * scale),
          static_cast<float>(-0.5 * log2_e * (squares / count) / (scale * scale)), static_cast<float>(1 / scale)};
}
__device__ bool is_in_range(const product_column& column) { return fabsf(column.shift) <= 1e30F; }

// What components of one column have in common, found by a warp.
template <class Squares, class Least>
__device__ product_column find_column(const prepared_components<double>& in, unsigned columns, unsigned components,
                                      unsigned column, const Squares& squares_of, const Least& least_of) {
  double sum = 0, count = 0, squares = 0, least = INFINITY;
  for (unsigned k = threadIdx.x % 32; k < components; k += 32) {
    if (is_empty(in, k)) continue;
    sum += in.centres[k * columns + column];
    squares += squares_of(k);
    least = fmin(least, least_of(k));
    count += 1;
  }
  sum = cuda::warp_sum(sum);
  count = cuda::warp_sum(count);
  squares = cuda::warp_sum(squares);
  for (unsigned step = 16; step > 0; step /= 2) least = fmin(least, __shfl_xor_sync(~0U, least, step));
  return make_column(sum, squares, least, count);
}

__global__ void __launch_bounds__(threads)
    pack_kernel(const prepared_parameters<float> parameters, bool spherical, unsigned columns, unsigned components,
                unsigned tiles, const product_mixture mixture) {
  cuda::wait_for_predecessor();
  const bool stopped = *parameters.stopped != 0;
  const prepared_components<double>& in = parameters.in_double;
  extern __shared__ double numbers[];  // [components][columns] squared distances from the frame's centre
  __shared__ product_column frame[most_columns];
  const covariance_type type = spherical ? covariance_type::spherical : covariance_type::diag;
  const unsigned padded = product_columns(type, columns);
  const unsigned steps = product_steps(type, padded);
  bool near = true;
  const unsigned column = threadIdx.x / 32;
  if (column < columns) {
    const auto factor = [&](unsigned k) { return in.factors[k * columns + column]; };
    const product_column found = find_column(
        in, columns, components, column, [&](unsigned k) { return factor(k) * factor(k); }, factor);
    near = is_in_range(found);
    if (threadIdx.x % 32 == 0) frame[column] = found;
  } else if (threadIdx.x % 32 == 0) {
    frame[column] = {};
  }
  __syncthreads();
  if (threadIdx.x < padded) mixture.columns[threadIdx.x] = frame[threadIdx.x];

  const unsigned written = spherical ? 16 : padded;  // the other half of a product of 8 columns is zero
  for (unsigned e = threadIdx.x; e < tiles * product_components * written; e += threads) {
    const unsigned k = e / written, j = e % written;
    double line = 0, curve = 0;
    if (k < components && j < columns) {
      double distance = 0;
      if (!is_empty(in, k)) {
        const unsigned at = k * columns + j;
        const double unit = static_cast<double>(frame[j].unit), factor = in.factors[at], ratio = factor * unit;
        distance = (in.centres[at] + static_cast<double>(frame[j].shift) * unit) * factor - in.offsets[at];
        near = near && ratio <= most_product_ratio;  // a comparison that a NaN fails
        line = log2_e * distance * ratio;
        curve = -0.5 * log2_e * ratio * ratio - static_cast<double>(frame[j].curve);
      }
      numbers[k * columns + j] = distance * distance;
    }
    write_operand(mixture, k, j, steps, line);
    if (!spherical) write_operand(mixture, k, padded + j, steps, curve);
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < tiles * product_components; k += threads) {
    product_constants constants{-1e30F, 0};
    if (k < components && !is_empty(in, k)) {
      double squared_distance = 0;
      for (unsigned j = 0; j < columns; ++j) squared_distance += numbers[k * columns + j];
      near = near && squared_distance <= most_product_squared_distance;
      constants.constant = static_cast<float>(log2_e * (in.log_constants[k] - 0.5 * squared_distance));
      if (spherical) {
        const double ratio = in.factors[k * columns] * static_cast<double>(frame[0].unit);
        constants.norm_factor = static_cast<float>(-0.5 * log2_e * ratio * ratio - static_cast<double>(frame[0].curve));
      }
    }
    mixture.constants[k] = constants;
  }
  near = __syncthreads_and(near);
  if (threadIdx.x == 0) {
    *mixture.own_stopped = stopped || !near ? 1 : 0;
    *mixture.other_stopped = stopped || near ? 1 : 0;
  }
}

// The same with full covariances, whose factors are U: y = Uᵀ(x − c) + b. In the frame x = z / scale + centre, so that
// y = Vᵀz + e.
__global__ void __launch_bounds__(threads)
    pack_full_kernel(const prepared_parameters<float> parameters, unsigned columns, unsigned components, unsigned tiles,
                     const product_mixture mixture) {
  cuda::wait_for_predecessor();
  const bool stopped = *parameters.stopped != 0;
  const prepared_components<double>& in = parameters.in_double;
  extern __shared__ double numbers[];
  double* const deviations = numbers;                                                   // [components][columns]
  double* const residuals = deviations + components * columns;                          // [components][columns] e
  auto* const precisions = reinterpret_cast<float*>(residuals + components * columns);  // [components][pairs] |VVᵀ|
  __shared__ product_column frame[most_columns];
  const unsigned padded = product_columns(covariance_type::full, columns);
  const unsigned steps = product_steps(covariance_type::full, padded);
  const unsigned pairs = columns * (columns + 1) / 2;
  const auto factor = [&](unsigned k, unsigned i, unsigned j) { return in.factors[(k * columns + i) * columns + j]; };
  bool near = true;

  double* const inverses = residuals;  // of the diagonals, at first
  for (unsigned e = threadIdx.x; e < components * columns; e += threads) {
    inverses[e] = 1 / factor(e / columns, e % columns, e % columns);
  }
  for (unsigned e = threadIdx.x; e < tiles * steps * 512; e += threads) mixture.operands[e] = 0;
  __syncthreads();
  // Column j of U⁻¹ has the length of the deviation of column j.
  for (unsigned e = threadIdx.x; e < components * columns; e += threads) {
    const unsigned k = e / columns, j = e % columns;
    double inverse[most_columns];
    double squares = 0;
    for (unsigned i = j + 1; i-- > 0;) {
      double sum = i == j ? 1 : 0;
      for (unsigned l = i + 1; l <= j; ++l) sum -= factor(k, i, l) * inverse[l];
      inverse[i] = sum * inverses[k * columns + i];
      squares += inverse[i] * inverse[i];
    }
    deviations[e] = sqrt(squares);
  }
  __syncthreads();
  const unsigned column = threadIdx.x / 32;
  if (column < columns) {
    const product_column found = find_column(
        in, columns, components, column,
        [&](unsigned k) {
          double squares = 0;
          for (unsigned l = column; l < columns; ++l) squares += factor(k, column, l) * factor(k, column, l);
          return squares;
        },
        [&](unsigned k) { return 1 / deviations[k * columns + column]; });
    near = is_in_range(found);
    if (threadIdx.x % 32 == 0) frame[column] = found;
  } else if (threadIdx.x % 32 == 0) {
    frame[column] = {};
  }
  __syncthreads();
  if (threadIdx.x < padded) mixture.columns[threadIdx.x] = frame[threadIdx.x];
  const auto unit_of = [&](unsigned j) { return static_cast<double>(frame[j].unit); };
  const auto from_centre = [&](unsigned k, unsigned j) {
    return -static_cast<double>(frame[j].shift) * unit_of(j) - in.centres[k * columns + j];
  };
  for (unsigned e = threadIdx.x; e < components * columns; e += threads) {
    const unsigned k = e / columns, l = e % columns;
    double sum = in.offsets[e];
    for (unsigned i = 0; i <= l; ++i) sum += factor(k, i, l) * from_centre(k, i);
    residuals[e] = sum;
  }
  __syncthreads();
  for (unsigned e = threadIdx.x; e < components * (columns + pairs); e += threads) {
    const unsigned k = e / (columns + pairs), rest = e % (columns + pairs);
    if (is_empty(in, k)) continue;
    double sum = 0;
    if (rest < columns) {
      for (unsigned l = rest; l < columns; ++l) sum += factor(k, rest, l) * residuals[k * columns + l];
      write_operand(mixture, k, line_feature(padded, rest), steps, -log2_e * sum * unit_of(rest));
      continue;
    }
    unsigned i = 0, left = rest - columns;
    while (left >= columns - i) left -= columns - i++;
    const unsigned j = i + left;
    for (unsigned l = j; l < columns; ++l) sum += factor(k, i, l) * factor(k, j, l);
    precisions[k * pairs + rest - columns] =
        static_cast<float>(fabs(sum) * deviations[k * columns + i] * deviations[k * columns + j]);
    sum *= unit_of(i) * unit_of(j);
    near = near && (i != j || sum <= most_product_ratio * most_product_ratio);
    const double coefficient = i == j ? -0.5 * log2_e * sum - static_cast<double>(frame[i].curve) : -log2_e * sum;
    write_operand(mixture, k, pair_feature(padded, i, j), steps, coefficient);
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < tiles * product_components; k += threads) {
    product_constants constants{-1e30F, 0};
    if (k < components && !is_empty(in, k)) {
      double squared_distance = 0, greatest_terms = 0;
      for (unsigned l = 0; l < columns; ++l)
        squared_distance += residuals[k * columns + l] * residuals[k * columns + l];
      for (unsigned i = 0, next = 0; i < columns; ++i) {
        const auto reach = [&](unsigned j) { return 1 + fabs(from_centre(k, j)) / deviations[k * columns + j]; };
        for (unsigned j = i; j < columns; ++j, ++next) {
          greatest_terms += (i == j ? 1 : 2) * static_cast<double>(precisions[k * pairs + next]) * reach(i) * reach(j);
        }
      }
      // Comparisons that a NaN fails.
      near = near && squared_distance <= most_product_squared_distance && greatest_terms <= most_product_terms;
      constants.constant = static_cast<float>(log2_e * (in.log_constants[k] - 0.5 * squared_distance));
    }
    mixture.constants[k] = constants;
  }
  near = __syncthreads_and(near);
  if (threadIdx.x == 0) {
    *mixture.own_stopped = stopped || !near ? 1 : 0;
    *mixture.other_stopped = stopped || near ? 1 : 0;
  }
}

}  // namespace

void pack_products(const prepared_parameters<float>& parameters, covariance_type type, unsigned columns,
                   unsigned components, unsigned tiles, const product_mixture& mixture, cudaStream_t stream) {
  if (type == covariance_type::full) {
    const std::size_t pairs = columns * (columns + 1) / 2;
    const std::size_t bytes = components * (2 * columns * sizeof(double) + pairs * sizeof(float));
    cuda::launch_in_turn(pack_full_kernel, 1, threads, bytes, stream, parameters, columns, components, tiles, mixture);
    return;
  }
  cuda::launch_in_turn(pack_kernel, 1, threads, components * columns * sizeof(double), stream, parameters,
                       type == covariance_type::spherical, columns, components, tiles, mixture);
}

}  // namespace shoal::gmm::few_columns
