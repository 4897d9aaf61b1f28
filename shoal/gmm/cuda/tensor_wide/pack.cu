// Makes a mixture ready for tensor cores: columns in units that keep the factor small, the factor in float16 terms.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/clear.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_wide/kernels.hpp>
#include <shoal/gmm/cuda/tensor_wide/tuning.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

constexpr int pack_threads = 256;

// In units of its deviation given the other columns, 1/‖Uᵢ‖, a column may be as many times more as columns are
// correlated. Units are so many powers of two larger: float16 then holds a million of those deviations, and of the
// factor, whose elements are less than 2⁵, all above 2⁻²⁹ of the greatest.
constexpr int headroom = 4;

// A row of U for each warp.
__global__ void __launch_bounds__(pack_threads) measure(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  const unsigned d = mixture.layout.columns;
  const unsigned i = (blockIdx.x * pack_threads + threadIdx.x) / 32;
  if (i >= d) return;
  const std::size_t k = blockIdx.y;
  const float* const row = mixture.parameters.packed.factors + (k * d + i) * d;
  double square = 0;
  for (unsigned j = i + threadIdx.x % 32; j < d; j += 32) {
    const auto element = static_cast<double>(row[j]);
    square += element * element;
  }
  square = cuda::warp_sum(square);
  if (threadIdx.x % 32 != 0) return;
  const bool is_one = square > 0 && square < 1e300;
  mixture.norms[k * d + i] = static_cast<float>(sqrt(square));
  const auto own = static_cast<double>(row[i]);
  if (square > own * own) mixture.coupled[k] = 1;
  mixture.exponents[k * d + i] = is_one ? min(max(headroom - ilogb(sqrt(square)), -120), 120) : 0;
}

__global__ void __launch_bounds__(pack_threads) find_scales(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  const unsigned d = mixture.layout.columns;
  const unsigned padded = stages_of(d) * stage_depth;
  const unsigned at = blockIdx.x * pack_threads + threadIdx.x;
  const std::size_t k = blockIdx.y;
  const unsigned tiles = padded_columns(d);
  if (at < tiles) mixture.offsets[k * tiles + at] = at < d ? mixture.parameters.packed.offsets[k * d + at] : 0.0F;
  if (at >= padded) return;
  float2 scale = make_float2(0, 0);
  if (at < d) {
    scale.x = ldexpf(1.0F, -mixture.exponents[(mixture.tied() ? 0 : k * d) + at]);
    scale.y = -mixture.parameters.packed.centres[k * d + at] * scale.x;
  }
  mixture.scales[k * padded + at] = scale;
}

// A warp for each column: the mean of the components' centres, and the greatest of their units.
__global__ void __launch_bounds__(pack_threads) place_frame(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  const unsigned d = mixture.layout.columns;
  const unsigned i = (blockIdx.x * pack_threads + threadIdx.x) / 32, thread = threadIdx.x % 32;
  if (i >= stages_of(d) * stage_depth) return;
  if (i >= d) {
    if (thread == 0) mixture.frame.scales[i] = make_float2(0, 0);
    return;
  }
  const auto& parameters = mixture.parameters.in_double;
  double sum = 0;
  int count = 0, most = -1000, least = 1000;
  for (unsigned k = thread; k < mixture.layout.components; k += 32) {
    if (parameters.log_constants[k] == -INFINITY) continue;
    const std::size_t at = std::size_t{k} * d + i;
    sum += parameters.centres[at];
    ++count;
    most = max(most, mixture.exponents[at]);
    least = min(least, mixture.exponents[at]);
  }
  sum = cuda::warp_sum(sum);
  count = __reduce_add_sync(~0U, count);
  most = __reduce_max_sync(~0U, most);
  least = __reduce_min_sync(~0U, least);
  if (thread != 0) return;
  const auto origin = count > 0 ? static_cast<float>(sum / count) : 0.0F;
  mixture.frame.exponents[i] = count > 0 ? most : 0;
  mixture.frame.origin[i] = origin;
  const float scale = ldexpf(1.0F, count > 0 ? -most : 0);
  mixture.frame.scales[i] = make_float2(scale, -origin * scale);
  if (mixture.frame.apart != nullptr && (count == 0 || most - least > most_frame_exponents)) *mixture.frame.apart = 1;
}

// A block for each component: whether it is near the origin, for densities and for moments.
__global__ void __launch_bounds__(pack_threads) find_near(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  const cuda::block_group block;
  const unsigned d = mixture.layout.columns;
  const std::size_t k = blockIdx.x;
  if (mixture.parameters.in_double.log_constants[k] == -INFINITY) return;
  double sum = 0;
  bool alike = true;
  const int most_exponents = mixture.products == 3 ? most_split_moment_exponents : most_frame_exponents;
  for (unsigned i = threadIdx.x; i < d; i += pack_threads) {
    alike = alike && mixture.frame.exponents[i] - mixture.exponents[k * d + i] <= most_exponents;
    const double distance =
        (mixture.parameters.in_double.centres[k * d + i] - static_cast<double>(mixture.frame.origin[i])) *
        static_cast<double>(mixture.norms[k * d + i]);
    sum = fma(distance, distance, sum);
  }
  sum = block.sum(sum);
  alike = __syncthreads_and(alike) != 0;
  if (threadIdx.x != 0) return;
  // Comparisons that a NaN fails.
  if (mixture.frame.apart != nullptr && !(sum <= most_frame_distance * most_frame_distance * d)) {
    *mixture.frame.apart = 1;
  }
  if (mixture.frame.near == nullptr) return;
  const double most = mixture.products == 3 ? most_split_moment_distance : most_moment_distance;
  if (alike && sum <= most * most * d) {
    mixture.frame.near[k] = 1;
    mixture.frame.near[mixture.layout.components] = 1;
  }
}

// The units that the factor of component `k` is packed in.
__device__ const int* factor_exponents(const problem& mixture, std::size_t k) {
  if (mixture.frame.apart != nullptr && *mixture.frame.apart == 0) return mixture.frame.exponents;
  return mixture.exponents + k * mixture.layout.columns;
}

// b − Ũᵀ(c − o) with the rounded factor Ũ, a thread for each column of a component.
__global__ void __launch_bounds__(pack_threads) move_offsets(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0 || *mixture.frame.apart != 0) return;
  const unsigned d = mixture.layout.columns, tiles = padded_columns(d);
  // 32 columns for each block; its warps share the rows.
  constexpr unsigned warps = pack_threads / 32;
  __shared__ double of_warp[warps][32];
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32, column = blockIdx.x * 32 + thread;
  const std::size_t k = blockIdx.y;
  double sum = 0;
  if (column < d) {
    for (unsigned i = warp; i <= column; i += warps) {
      const int exponent = mixture.frame.exponents[i];
      const float exact = ldexpf(mixture.parameters.packed.factors[(k * d + i) * d + column], exponent);
      const double distance =
          mixture.parameters.in_double.centres[k * d + i] - static_cast<double>(mixture.frame.origin[i]);
      sum = fma(static_cast<double>(__half2float(__float2half_rn(exact))), ldexp(distance, -exponent), sum);
    }
  }
  of_warp[warp][thread] = sum;
  __syncthreads();
  if (warp != 0 || column >= tiles) return;
  for (unsigned other = 1; other < warps; ++other) sum += of_warp[other][thread];
  mixture.frame.offsets[k * tiles + column] =
      column < d ? static_cast<float>(static_cast<double>(mixture.parameters.packed.offsets[k * d + column]) - sum)
                 : 0.0F;
}

// A stage of a tile for each block; a thread takes eight elements of a column.
__global__ void __launch_bounds__(pack_threads) pack(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  const unsigned d = mixture.layout.columns;
  unsigned t = 0, s = blockIdx.x;
  while (s >= stages_above(d, t)) s -= stages_above(d, t++);
  const std::size_t k = blockIdx.y;
  const float* const factor = mixture.parameters.packed.factors + k * d * d;
  const int* const exponents = factor_exponents(mixture, k);
  const int terms = mixture.terms();
  const auto width = static_cast<int>(width_of(d));
  const int step_size = width * 16;
  std::uint16_t* const to =
      mixture.factors + k * mixture.factor_size + std::size_t{blockIdx.x} * terms * stage_steps * step_size;
  for (int part = static_cast<int>(threadIdx.x); part < width * 8; part += pack_threads) {
    const int n = part % width, q = part / width;
    const unsigned column = t * width + n;
    std::uint16_t* const at = to + part_place(n, q, terms * step_size);
    float value[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const unsigned row = s * stage_depth + static_cast<unsigned>(stage_column(q, j));
      value[j] = row <= column && column < d ? ldexpf(factor[std::size_t{row} * d + column], exponents[row]) : 0.0F;
    }
    uint4 high, low;
    tensor::split(value[0], value[1], high.x, low.x);
    tensor::split(value[2], value[3], high.y, low.y);
    tensor::split(value[4], value[5], high.z, low.z);
    tensor::split(value[6], value[7], high.w, low.w);
    *reinterpret_cast<uint4*>(at) = high;
    if (terms == 2) *reinterpret_cast<uint4*>(at + step_size) = low;
  }
}

// ln of the rounded factor's determinant over the factor's, a block for each. With it a component is the Gaussian of
// the rounded factor, whose rows' errors have no mean.
__global__ void __launch_bounds__(pack_threads) find_corrections(const __grid_constant__ problem mixture) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  const cuda::block_group block;
  const unsigned d = mixture.layout.columns;
  const std::size_t k = blockIdx.x;
  const int* const exponents = factor_exponents(mixture, k);
  double sum = 0;
  for (unsigned i = threadIdx.x; i < d; i += pack_threads) {
    const float exact = ldexpf(mixture.parameters.packed.factors[(k * d + i) * d + i], exponents[i]);
    const double ratio = static_cast<double>(__half2float(__float2half_rn(exact))) / static_cast<double>(exact);
    if (ratio > 0 && ratio < 2) sum += log(ratio);
  }
  sum = block.sum(sum);
  if (threadIdx.x == 0) mixture.corrections[k] = sum;
}

}  // namespace

void pack_mixture(const problem& mixture, cudaStream_t stream) {
  const unsigned d = mixture.layout.columns;
  const unsigned factors = mixture.tied() ? 1 : mixture.layout.components;
  const auto blocks = [](unsigned count) { return (count + pack_threads - 1) / pack_threads; };
  // By a kernel: what comes behind a copy of zeros begins later.
  tensor::cleared_memory flags;
  flags.add(mixture.coupled, factors);
  if (mixture.frame.apart != nullptr) flags.add(mixture.frame.apart, 1);
  if (mixture.frame.near != nullptr) flags.add(mixture.frame.near, mixture.layout.components + 1);
  tensor::clear(flags, mixture.parameters.stopped, stream);
  cuda::launch_in_turn(measure, dim3(blocks(d * 32), factors), pack_threads, 0, stream, mixture);
  cuda::launch_in_turn(find_scales,
                       dim3(blocks(std::max(stages_of(d) * stage_depth, padded_columns(d))), mixture.layout.components),
                       pack_threads, 0, stream, mixture);
  if (mixture.frame.origin != nullptr) {
    cuda::launch_in_turn(place_frame, blocks(stages_of(d) * stage_depth * 32), pack_threads, 0, stream, mixture);
    cuda::launch_in_turn(find_near, factors, pack_threads, 0, stream, mixture);
  }
  if (mixture.frame.apart != nullptr) {
    cuda::launch_in_turn(move_offsets, dim3(ceiling(padded_columns(d), 32U), factors), pack_threads, 0, stream,
                         mixture);
  }
  if (mixture.products != 3) {
    cuda::launch_in_turn(find_corrections, factors, pack_threads, 0, stream, mixture);
  }
  cuda::launch_in_turn(pack, dim3(static_cast<unsigned>(stages_before(d, tiles_of(d))), factors), pack_threads, 0,
                       stream, mixture);
}

}  // namespace shoal::gmm::tensor_wide
