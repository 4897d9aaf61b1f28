// Makes a mixture ready for tensor cores: columns in units of their deviation, the factor in two float16 terms.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/large_kernels.hpp>
#include <shoal/gmm/cuda/large_products.cuh>

namespace shoal::gmm::large {
namespace {

constexpr int threads = 128;

// What float16 holds with all its digits, and how far the rows may be scaled up to let the factor in.
constexpr int factor_exponent = 15;
constexpr int most_shift = 8;
constexpr float largest_half = 65504;

// Exponents of the deviations of the columns: Σ = LLᵀ with L = U⁻ᵀ, so that column i's variance is Σ_c L_ic².
// In units of its deviation σ a column of z is at most ‖y‖, so a row whose z is beyond float16's range is farther from
// the component than any row that belongs to it.
__device__ void deviations(const float* upper, float* lower, int columns, int* exponents) {
  const int stride = columns + 1;
  const int c = static_cast<int>(threadIdx.x);
  if (c < columns) {
    lower[c * stride + c] = 1 / upper[c * stride + c];
    for (int i = c + 1; i < columns; ++i) {
      float sum = 0;
#pragma unroll 4
      for (int t = c; t < i; ++t) sum += upper[t * stride + i] * lower[t * stride + c];
      lower[i * stride + c] = -sum / upper[i * stride + i];
    }
  }
  __syncthreads();
  if (c < columns) {
    double variance = 0;
    for (int j = 0; j <= c; ++j) {
      const double element = static_cast<double>(lower[c * stride + j]);
      variance += element * element;
    }
    const double deviation = sqrt(variance);
    exponents[c] = deviation > 0 && deviation < 1e300 ? min(max(ilogb(deviation), -125), 125) : 0;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(threads) pack_kernel(const problem mixture) {
  if (mixture.stopped != nullptr && *mixture.stopped != 0) return;
  extern __shared__ float memory[];
  __shared__ int exponents[most_columns];
  __shared__ int largest;
  __shared__ int coarse;
  const int columns = mixture.columns;
  const int stride = columns + 1;
  const int steps = steps_of(mixture.groups);
  const int k = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  float* const upper = memory;
  float* const lower = memory + columns * stride;

  const float* const factor =
      mixture.factors + (mixture.tied ? 0 : static_cast<std::size_t>(k) * columns * columns);
  for (int i = thread; i < columns * columns; i += threads) upper[i / columns * stride + i % columns] = factor[i];
  if (thread == 0) {
    largest = 0;
    coarse = 0;
  }
  // An empty component gives nothing, whatever its other parameters are.
  const bool empty = !(mixture.log_constants[k] > -INFINITY) && !isnan(mixture.log_constants[k]);
  __syncthreads();
  deviations(upper, lower, columns, exponents);

  float most = 0;
  for (int i = thread; i < columns * columns; i += threads) {
    const int row = i / columns;
    const int column = i % columns;
    if (row > column) continue;
    const float scaled = ldexpf(upper[row * stride + column], exponents[row]);
    upper[row * stride + column] = scaled;
    most = fmaxf(most, fabsf(scaled));
    if (!(fabsf(scaled) <= 1e30F)) coarse = 1;
  }
  atomicMax(&largest, __float_as_int(most));  // of integers: floats that are not negative compare like them
  __syncthreads();
  const float peak = __int_as_float(largest);
  const int shift = peak > 1 ? min(max(ilogbf(peak) + 1 - factor_exponent, 0), most_shift) : 0;
  if (thread == 0 && !(ldexpf(peak, -shift) <= largest_half)) coarse = 1;

  const float* const centre = mixture.centres + static_cast<std::size_t>(k) * columns;
  const float* const offset = mixture.offsets + static_cast<std::size_t>(k) * columns;
  const auto scale_of = [&](int column, int extra, float& scale, float& moved) {
    scale = 0;
    moved = 0;
    if (column >= columns || empty) return;
    scale = ldexpf(1.0F, extra - exponents[column]);
    moved = -centre[column] * scale;
    if (!(fabsf(moved) <= 1e38F)) coarse = 1;
  };
  uint4* const record = mixture.records + static_cast<std::size_t>(k) * record_size(mixture.groups);
  float4* const all_scales = reinterpret_cast<float4*>(record + record_scales(mixture.groups));
  float2* const all_offsets = reinterpret_cast<float2*>(record + record_offsets(mixture.groups));
  if (thread == 0) *reinterpret_cast<float*>(record + record_constant(mixture.groups)) = mixture.log_constants[k];
  for (int pair = thread; pair < 8 * steps; pair += threads) {
    float4 scales;
    scale_of(2 * pair, shift, scales.x, scales.z);
    scale_of(2 * pair + 1, shift, scales.y, scales.w);
    all_scales[pair] = scales;
    const auto offset_of = [&](int column) { return column < columns && !empty ? offset[column] : 0.0F; };
    const float2 offsets = make_float2(offset_of(2 * pair), offset_of(2 * pair + 1));
    all_offsets[pair] = offsets;
    if (!(fabsf(offsets.x) + fabsf(offsets.y) <= 1e30F)) coarse = 1;
  }
  for (int place = thread; place < group_columns * mixture.groups; place += threads) {
    const int column = moment_column(mixture.groups, mixture.width, place / 8, place % 8);
    float2 scale;
    scale_of(column, 0, scale.x, scale.y);
    mixture.moment_scales[k * group_columns * mixture.groups + place] = scale;
  }

  for (int i = thread; i < tile_count(mixture.groups) * 32; i += threads) {
    int m = 0;
    while (m + 1 < steps && tile_index(mixture.groups, m + 1, 2 * m + 2) <= i / 32) ++m;
    const int n = i / 32 - tile_index(mixture.groups, m, 2 * m) + 2 * m;
    const int row = 16 * m + 2 * (i % 4);
    const int column = 8 * n + i % 32 / 4;
    const auto element = [&](int r) {
      return r <= column && column < columns && !empty ? ldexpf(upper[r * stride + column], -shift) : 0.0F;
    };
    uint4 terms;
    split(element(row), element(row + 1), terms.x, terms.z);
    split(element(row + 8), element(row + 9), terms.y, terms.w);
    record[i] = terms;
  }
  __syncthreads();
  if (thread == 0 && coarse != 0 && !empty) *mixture.coarse = 1;
}

}  // namespace

void pack_mixture(const problem& mixture, cudaStream_t stream) {
  const int bytes = 2 * mixture.columns * (mixture.columns + 1) * static_cast<int>(sizeof(float));
  cuda::check(cudaFuncSetAttribute(pack_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "reserve shared memory");
  cuda::check(cudaMemsetAsync(mixture.coarse, 0, sizeof(int), stream), "clear device memory");
  pack_kernel<<<mixture.components, threads, bytes, stream>>>(mixture);
  cuda::check_launch("pack_mixture");
}

}  // namespace shoal::gmm::large
