// Makes mixtures of full covariances ready for warps that divide components: a frame, and components in it.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/circle_products.hpp>
#include <shoal/gmm/cuda/few_columns/circle_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/product_operands.cuh>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

constexpr unsigned padded = most_columns;  // in both kernels
constexpr unsigned deviation_warps = 4, component_threads = 256;

__device__ bool is_empty(const prepared_components<double>& in, unsigned k) { return in.log_constants[k] == -INFINITY; }

// Half a warp for each component: column j of U⁻¹ has the length of the deviation of column j. That says how much
// digits are worth: float32 will do.
__global__ void __launch_bounds__(32 * deviation_warps)
    find_deviations(const prepared_parameters<float> parameters, unsigned columns, unsigned components,
                    float* deviations, const product_mixture mixture) {
  __shared__ float factors[2 * deviation_warps][padded][padded + 1];
  cuda::wait_for_predecessor();
  const prepared_components<double>& in = parameters.in_double;
  const unsigned place = threadIdx.x / padded, k = blockIdx.x * 2 * deviation_warps + place, j = threadIdx.x % padded;
  float(&u)[padded][padded + 1] = factors[place];
  for (unsigned i = 0; i < padded; ++i) {
    const bool given = k < components && i < columns && j < columns;
    u[i][j] =
        given ? static_cast<float>(in.factors[(std::size_t{k} * columns + i) * columns + j]) : (i == j ? 1.0F : 0.0F);
  }
  __syncwarp();
  float inverse[padded];
  float squares = 0;
#pragma unroll
  for (int i = static_cast<int>(padded) - 1; i >= 0; --i) {
    float sum = i == static_cast<int>(j) ? 1.0F : 0.0F;
#pragma unroll
    for (int l = i + 1; l < static_cast<int>(padded); ++l) sum = fmaf(-u[i][l], inverse[l], sum);
    inverse[i] = __fdividef(sum, u[i][i]);
    squares = fmaf(inverse[i], inverse[i], squares);
  }
  if (k < components) deviations[k * padded + j] = sqrtf(squares);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    // Until a component turns out to lie too far from the others.
    *mixture.own_stopped = *parameters.stopped != 0 ? 1 : 0;
    *mixture.other_stopped = 1;
  }
}

// The frame from all components' centres and deviations: the unit of a column is the power of two below its widest
// deviation, its origin the centres' mean. The same in every block.
__device__ product_column find_column(const prepared_components<double>& in, unsigned columns, unsigned components,
                                      const float* deviations) {
  __shared__ double sums[component_threads];
  __shared__ float widest_ones[component_threads];
  __shared__ unsigned counts[component_threads];
  constexpr unsigned step = component_threads / padded;
  const unsigned j = threadIdx.x % padded;
  double sum = 0;
  float widest = 0;
  unsigned count = 0;
  if (j < columns) {
#pragma unroll 4
    for (unsigned k = threadIdx.x / padded; k < components; k += step) {
      if (is_empty(in, k)) continue;
      sum += in.centres[std::size_t{k} * columns + j];
      widest = fmaxf(widest, deviations[k * padded + j]);
      ++count;
    }
  }
  sums[threadIdx.x] = sum;
  widest_ones[threadIdx.x] = widest;
  counts[threadIdx.x] = count;
  __syncthreads();
  sum = 0;
  widest = 0;
  count = 0;
  for (unsigned other = 0; other < step; ++other) {
    sum += sums[other * padded + j];
    widest = fmaxf(widest, widest_ones[other * padded + j]);
    count += counts[other * padded + j];
  }
  if (count == 0) return {1, 0, 0, 1};
  const float unit = widest > 1e-37F && widest < 1e37F ? __int_as_float(__float_as_int(widest) & 0x7F800000) : 1.0F;
  return {1 / unit, static_cast<float>(-sum / count / static_cast<double>(unit)), 0, unit};
}

// A block for each component.
__global__ void __launch_bounds__(component_threads)
    pack_components(const prepared_parameters<float> parameters, unsigned columns, unsigned components,
                    warp_circle circle, const float* deviations, const product_mixture mixture) {
  __shared__ double factors[padded][padded], moved[padded], residuals[padded];
  __shared__ float reaches[padded];
  __shared__ product_column frame[padded];
  __shared__ unsigned sum_of_terms;
  cuda::wait_for_predecessor();
  const prepared_components<double>& in = parameters.in_double;
  const unsigned k = blockIdx.x, i = threadIdx.x / padded, j = threadIdx.x % padded;
  static_assert(component_threads == padded * padded);
  const bool held = k < components && !is_empty(in, k);
  factors[i][j] = held && i < columns && j < columns ? in.factors[(std::size_t{k} * columns + i) * columns + j] : 0;
  const product_column column = find_column(in, columns, components, deviations);
  bool near = fabsf(column.shift) <= 1e30F;  // comparisons that a NaN fails
  if (threadIdx.x < padded) {
    frame[j] = column;
    const bool given = held && j < columns;
    moved[j] = given ? -static_cast<double>(column.shift) * static_cast<double>(column.unit) -
                           in.centres[std::size_t{k} * columns + j]
                     : 0;
    reaches[j] = given ? deviations[k * padded + j] + fabsf(static_cast<float>(moved[j])) : 0;
    if (k == 0) mixture.columns[j] = column;
    if (j == 0) sum_of_terms = 0;
  }
  __syncthreads();
  if (threadIdx.x < padded) {
    double residual = held && j < columns ? in.offsets[std::size_t{k} * columns + j] : 0;
    for (unsigned l = 0; l < padded; ++l) residual = fma(factors[l][j], moved[l], residual);  // below it U is zero
    residuals[j] = residual;
  }
  __syncthreads();
  const float most_terms = most_circle_terms;
  for (unsigned place = threadIdx.x; place < circle.features(); place += component_threads) {
    const unsigned own = circle.thread_columns();
    const unsigned slot = place / 16 * 4 + place % 16 / 8 * 2 + place % 2, thread = place % 8 / 2;
    const unsigned apart = slot / own;  // 0: a column, else 1 + how far apart two are
    const unsigned first = own * thread + slot % own;
    const unsigned second = apart == 0 ? first : (first + apart - 1) % circle.columns;
    const bool counts_twice = apart == 1 + circle.columns / 2 && thread >= 2;
    double coefficient = 0;
    if (held && first < columns && second < columns && !counts_twice) {
      double sum = 0;
      for (unsigned l = 0; l < padded; ++l) {
        sum = fma(factors[first][l], apart == 0 ? residuals[l] : factors[second][l], sum);
      }
      const double unit = static_cast<double>(frame[first].unit);
      coefficient = -log2_e * unit * sum;
      if (apart != 0) {
        const float size = fabsf(static_cast<float>(sum)) * reaches[first] * reaches[second];
        // Sums of whole numbers are the same in any order.
        atomicAdd(&sum_of_terms, static_cast<unsigned>(fminf(apart == 1 ? size : 2 * size, most_terms) * 1024));
        near = near && (apart != 1 || sum * unit * unit <= most_product_ratio * most_product_ratio);
        coefficient *= (apart == 1 ? 0.5 : 1.0) * static_cast<double>(frame[second].unit);
      }
    }
    write_operand(mixture, k, place, circle.steps(), coefficient);
  }
  if (threadIdx.x == 0) {
    product_constants constants{-1e30F, 0};
    if (held) {
      double squared_distance = 0;
      for (unsigned l = 0; l < columns; ++l) squared_distance = fma(residuals[l], residuals[l], squared_distance);
      near = near && squared_distance <= most_circle_squared_distance;
      constants.constant = static_cast<float>(log2_e * (in.log_constants[k] - 0.5 * squared_distance));
    }
    mixture.constants[k] = constants;
  }
  __syncthreads();
  near = near && sum_of_terms < static_cast<unsigned>(most_terms * 1024);
  if (!near) {
    *mixture.own_stopped = 1;
    *mixture.other_stopped = *parameters.stopped != 0 ? 1 : 0;
  }
}

}  // namespace

void pack_circle(const prepared_parameters<float>& parameters, unsigned columns, unsigned components, unsigned tiles,
                 float* deviations, const product_mixture& mixture, cudaStream_t stream) {
  constexpr unsigned block_components = 2 * deviation_warps;
  cuda::launch_in_turn(find_deviations, (components + block_components - 1) / block_components, 32 * deviation_warps, 0,
                       stream, parameters, columns, components, deviations, mixture);
  cuda::launch_in_turn(pack_components, tiles * product_components, component_threads, 0, stream, parameters, columns,
                       components, warp_circle_of(columns), static_cast<const float*>(deviations), mixture);
}

}  // namespace shoal::gmm::few_columns
