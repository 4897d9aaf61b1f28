// Makes a mixture ready for tensor cores: columns in units of their deviation, the factor in two float16 terms.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_matrix/centre.cuh>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/one_pass_layout.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tuning.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

// Beyond so many components the frame's columns have more threads than four: (100,000, 17, 256) takes 51 µs with four.
constexpr int many_components = 64;

// Four threads to a column.
constexpr int threads = 4 * most_columns;

// What float16 holds with all its digits, and how far the rows may be scaled up to let the factor in.
constexpr int factor_exponent = 15;
constexpr int most_shift = 8;

// Exponents of the deviations of the columns: Σ = LLᵀ with L = U⁻ᵀ, so that column i's variance is Σ_c L_ic².
// In units of its deviation σ a column of z is at most ‖y‖, so a row whose z is beyond float16's range is farther from
// the component than any row that belongs to it.
__device__ void find_deviations(const float* upper, float* lower, int columns, float* deviations, int* exponents) {
  __shared__ float reciprocals[most_columns];
  const int stride = columns + 1;
  const int c = static_cast<int>(threadIdx.x) / 4;
  const int quarter = static_cast<int>(threadIdx.x) % 4;
  if (c < columns && quarter == 0) {
    reciprocals[c] = 1 / upper[c * stride + c];
    lower[c * stride + c] = reciprocals[c];
  }
  __syncthreads();
  // A column of L from the top, its sums over rows by four threads, of which each has every fourth row; a warp has
  // eight columns. The sums of several rows grow together, so that a row waits for little but the one before it: no
  // store comes between them, before which the compiler would not read what the next row multiplies, and no branch.
  constexpr int at_once = 16;
  for (int begin = c / at_once * at_once; begin < columns; begin += at_once) {
    float sums[at_once] = {}, values[at_once];
    for (int t = c + quarter; t < begin; t += 4) {
      const float value = lower[t * stride + c];
#pragma unroll
      for (int r = 0; r < at_once; ++r) sums[r] += upper[t * stride + begin + r] * value;
    }
#pragma unroll
    for (int r = 0; r < at_once; ++r) {
      const int i = min(begin + r, columns - 1);  // beyond the last row and column whatever is there
      float sum = sums[r];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      const float reciprocal = reciprocals[i];
      values[r] = c < i ? -sum * reciprocal : reciprocal;
      const float share = c <= i && (i - c) % 4 == quarter ? values[r] : 0.0F;
#pragma unroll
      for (int s = r + 1; s < at_once; ++s) sums[s] = fmaf(upper[i * stride + begin + s], share, sums[s]);
    }
#pragma unroll
    for (int r = 0; r < at_once; ++r) {
      const int i = begin + r;
      if (c < i && i < columns && quarter == 0) lower[i * stride + c] = values[r];
    }
    __syncwarp();
  }
  __syncthreads();
  double variance = 0;
  if (c < columns) {
    for (int j = quarter; j <= c; j += 4) {
      const double element = static_cast<double>(lower[c * stride + j]);
      variance += element * element;
    }
  }
  variance += __shfl_xor_sync(~0U, variance, 1);
  variance += __shfl_xor_sync(~0U, variance, 2);
  if (c < columns && quarter == 0) {
    const double deviation = sqrt(variance);
    const bool is_one = deviation > 0 && deviation < 1e300;
    exponents[c] = is_one ? min(max(ilogb(deviation), -125), 125) : 0;
    deviations[c] = is_one ? static_cast<float>(fmin(fmax(deviation, 0x1p-125), 0x1p125)) : 1.0F;
  }
  __syncthreads();
}

// The factor of component k, [row][column + 1].
__device__ void load_factor(const problem& mixture, int k, float* upper) {
  const int columns = mixture.columns;
  const float* const factor =
      mixture.parameters.packed.factors + (mixture.tied ? 0 : static_cast<std::size_t>(k) * columns * columns);
  for (int row = static_cast<int>(threadIdx.x) / 32; row < columns; row += threads / 32) {
    for (int column = static_cast<int>(threadIdx.x) % 32; column < columns; column += 32) {
      upper[row * (columns + 1) + column] = factor[row * columns + column];
    }
  }
  __syncthreads();
}

// An empty component gives nothing, whatever its other parameters are.
__device__ bool is_empty(const problem& mixture, int k) {
  return mixture.parameters.packed.log_constants[k] == -INFINITY;
}

// Exponents of the deviations and of the scaled factor. Block k.
__global__ void __launch_bounds__(threads) measure_kernel(const problem mixture) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  extern __shared__ float memory[];
  __shared__ float deviations[most_columns];
  __shared__ int exponents[most_columns];
  __shared__ int largest;
  const int columns = mixture.columns;
  const int k = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  float* const upper = memory;
  if (thread == 0) largest = 0;
  load_factor(mixture, k, upper);
  find_deviations(upper, memory + columns * (columns + 1), columns, deviations, exponents);
  float most = 0;
  bool finite = true;
  for (int row = thread / 32; row < columns; row += threads / 32) {
    for (int column = row + thread % 32; column < columns; column += 32) {
      const float scaled = fabsf(ldexpf(upper[row * (columns + 1) + column], exponents[row]));
      finite = finite && scaled <= 1e30F;
      most = fmaxf(most, scaled);
    }
  }
  atomicMax(&largest, __float_as_int(finite ? most : 1e30F));  // of integers: like floats that are not negative
  __syncthreads();
  if (thread < columns) {
    mixture.deviations[static_cast<std::size_t>(k) * columns + thread] = deviations[thread];
    mixture.exponents[static_cast<std::size_t>(k) * columns + thread] = exponents[thread];
  }
  if (thread == 0) mixture.peaks[k] = is_empty(mixture, k) ? no_peak : ilogbf(fmaxf(__int_as_float(largest), 1e-30F));
}

// A centre and units for all components: rows are then split once and not once for each component. It costs digits
// where a centre is many of its deviations away, and range where deviations differ much.
__global__ void __launch_bounds__(threads) frame_kernel(const problem mixture) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  __shared__ int apart;
  __shared__ int moments_apart;
  const int columns = mixture.columns;
  // Threads of a column: more of many components, which each of them asks for in turn.
  const int parts = mixture.components <= many_components || columns > 64 ? 4 : (columns > 32 ? 8 : 16);
  const int column = static_cast<int>(threadIdx.x) / parts;
  const int part = static_cast<int>(threadIdx.x) % parts;
  if (threadIdx.x == 0) apart = moments_apart = 0;
  __syncthreads();
  double sum = 0;
  int count = 0;
  int exponent = -200;
  if (column < columns) {
    // What is read without asking first whether it counts is read together with what comes after it.
#pragma unroll 8
    for (int k = part; k < mixture.components; k += parts) {
      const std::size_t at = static_cast<std::size_t>(k) * columns + column;
      const bool counts = mixture.peaks[k] != no_peak;
      const auto own = static_cast<double>(mixture.parameters.packed.centres[at]);
      const int its = mixture.exponents[at];
      sum = counts ? sum + own : sum;
      exponent = counts ? max(exponent, its) : exponent;
      count += counts ? 1 : 0;
    }
  }
  for (int distance = 1; distance < parts; distance *= 2) {
    sum += __shfl_xor_sync(~0U, sum, distance);
    count += __shfl_xor_sync(~0U, count, distance);
    exponent = max(exponent, __shfl_xor_sync(~0U, exponent, distance));
  }
  const float centre = count > 0 ? static_cast<float>(sum / count) : 0.0F;
  if (column < columns) {
    bool is_apart = false, its_moments = false;
    const bool once = mixture.one_pass.warps > 0;
    const float most_distance = once ? most_one_pass_distance : most_frame_distance(mixture.products);
    const int most_ratio = once ? most_one_pass_ratio : factor_exponent;
#pragma unroll 8
    for (int k = part; k < mixture.components; k += parts) {
      const std::size_t at = static_cast<std::size_t>(k) * columns + column;
      const int peak = mixture.peaks[k], own = mixture.exponents[at];
      const float apart_by = fabsf(mixture.parameters.packed.centres[at] - centre);
      const float deviation = mixture.deviations[at];
      const bool counts = peak != no_peak;
      is_apart = is_apart || (counts && (!(ldexpf(apart_by, -own) <= most_distance) || exponent - own > most_ratio ||
                                         peak + exponent - own >= factor_exponent));
      its_moments = its_moments || (counts && (!(apart_by <= most_moments_distance(mixture.products) * deviation) ||
                                               exponent - own > most_moments_ratio));
    }
    if (is_apart) apart = 1;
    if (its_moments) moments_apart = 1;
    const float scale = ldexpf(1.0F, -exponent);
    if (!(fabsf(centre * scale) <= 1e30F)) apart = moments_apart = 1;
    if (part == 0) mixture.frame[column] = make_float2(scale, -centre * scale);
  } else if (column < 16 * steps_of(mixture.groups) && part == 0) {
    mixture.frame[column] = make_float2(0.0F, 0.0F);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  *mixture.coarse = 0;  // until packing says otherwise
  *mixture.apart = apart;
  *mixture.moments_apart = cuda::has_warpgroup_products ? moments_apart : 1;
}

// z = s x − c s of a column about the component's centre, for the moments.
__device__ float2 moment_scale(const problem& mixture, int k, int column, bool empty) {
  if (column >= mixture.columns || empty) return make_float2(0.0F, 0.0F);
  const std::size_t at = static_cast<std::size_t>(k) * mixture.columns + column;
  const float scale = ldexpf(1.0F, -mixture.exponents[at]);
  return make_float2(scale, -mixture.parameters.packed.centres[at] * scale);
}

// What one_pass() reads. The factor is rounded first, and b made of what is left, so that both cancel at the centre.
__device__ void pack_one_pass(const problem& mixture, int k, const float* upper, double* distances, bool empty) {
  const int columns = mixture.columns, stride = columns + 1;
  const int groups = mixture.groups, steps = steps_of(groups);
  const int thread = static_cast<int>(threadIdx.x);
  uint4* const record = mixture.records + static_cast<std::size_t>(k) * record_size(groups, 1);
  const float* const offset = mixture.parameters.packed.offsets + static_cast<std::size_t>(k) * columns;
  const auto element = [&](int row, int column) {
    if (row > column || column >= columns || empty) return 0.0F;
    return upper[row * stride + column] / mixture.frame[row].x;
  };
  __half* const centres = reinterpret_cast<__half*>(record + one_pass_centres(groups));
  if (thread == 0)
    *reinterpret_cast<float*>(record + one_pass_constant(groups)) = mixture.parameters.packed.log_constants[k];
  for (int column = thread; column < 16 * steps; column += threads) {
    const bool inside = column < columns && !empty;
    const double z = inside ? centre_in_frame(mixture, k, column) : 0.0;
    if (column < columns) distances[column] = z;
    centres[one_pass_centre_place(column)] = __double2half(z);
  }
  __syncthreads();
  float* const offsets = reinterpret_cast<float*>(record + one_pass_offsets(groups));
  for (int column = thread; column < group_columns * groups; column += threads) {
    double sum = column < columns && !empty ? static_cast<double>(offset[column]) : 0.0;
#pragma unroll 8
    for (int i = 0; i <= column && i < columns; ++i) {
      sum -= static_cast<double>(__half2float(__float2half_rn(element(i, column)))) * distances[i];
    }
    float* const to = offsets + column / 2 * 4 + column % 2;
    to[0] = to[2] = static_cast<float>(sum);
    if (!(fabsf(to[0]) <= 1e30F) && !empty) *mixture.coarse = 1;
  }
  for (int i = thread; i < tile_count(groups) * 32; i += threads) {
    int m = 0;
    while (m + 1 < steps && tile_index(groups, m + 1, 2 * m + 2) <= i / 32) ++m;
    const int n = i / 32 - tile_index(groups, m, 2 * m) + 2 * m;
    const int row = 16 * m + 2 * (i % 4);
    const int column = 8 * n + i % 32 / 4;
    reinterpret_cast<uint2*>(record)[i] =
        make_uint2(bits_of(__floats2half2_rn(element(row, column), element(row + 1, column))),
                   bits_of(__floats2half2_rn(element(row + 8, column), element(row + 9, column))));
  }
}

// What the expectation step and the moments read. Block k.
__global__ void __launch_bounds__(threads) pack_kernel(const problem mixture) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  extern __shared__ float memory[];
  __shared__ int coarse;
  __shared__ double distances[most_columns];  // from the frame's centre to the component's
  const int columns = mixture.columns;
  const int stride = columns + 1;
  const int steps = steps_of(mixture.groups);
  const int k = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  float* const upper = memory;
  if (thread == 0) coarse = 0;
  load_factor(mixture, k, upper);
  const bool empty = is_empty(mixture, k);
  const bool apart = *mixture.apart != 0;
  const int peak = mixture.peaks[k];
  const int shift = apart ? min(max(peak + 1 - factor_exponent, 0), most_shift) : 0;
  const int* const exponents = mixture.exponents + static_cast<std::size_t>(k) * columns;
  const float* const centre = mixture.parameters.packed.centres + static_cast<std::size_t>(k) * columns;
  const float* const offset = mixture.parameters.packed.offsets + static_cast<std::size_t>(k) * columns;
  if (thread == 0 && apart && peak + 1 - shift > factor_exponent) coarse = 1;

  if (mixture.one_pass.warps > 0 && !apart) {
    pack_one_pass(mixture, k, upper, distances, empty);
    for (int place = thread; place < group_columns * mixture.groups; place += threads) {
      const int column = moment_column(mixture.groups, mixture.width, place / 8, place % 8);
      mixture.moment_scales[k * group_columns * mixture.groups + place] = moment_scale(mixture, k, column, empty);
    }
    return;
  }
  uint4* const record = mixture.records + static_cast<std::size_t>(k) * record_size(mixture.groups, mixture.products);
  if (thread == 0)
    *reinterpret_cast<float*>(record + record_constant(mixture.groups, mixture.products)) =
        mixture.parameters.packed.log_constants[k];

  // z = s x − c s for the expectation step of components that are apart, and for the moments.
  const auto scale_of = [&](int column, int extra, float& scale, float& moved) {
    scale = 0;
    moved = 0;
    if (column >= columns || empty) return;
    scale = ldexpf(1.0F, extra - exponents[column]);
    moved = -centre[column] * scale;
    if (!(fabsf(moved) <= 1e38F)) coarse = 1;
  };
  float4* const scales = reinterpret_cast<float4*>(record + record_scales(mixture.groups, mixture.products));
  for (int pair = thread; pair < 8 * steps; pair += threads) {
    float4 four;
    scale_of(2 * pair, shift, four.x, four.z);
    scale_of(2 * pair + 1, shift, four.y, four.w);
    scales[pair] = four;
  }
  for (int place = thread; place < group_columns * mixture.groups; place += threads) {
    const int column = moment_column(mixture.groups, mixture.width, place / 8, place % 8);
    float2 scale;
    scale_of(column, 0, scale.x, scale.y);
    mixture.moment_scales[k * group_columns * mixture.groups + place] = scale;
  }

  // b, from the component's centre or from the frame's: then −Uᵀ(c − m) belongs to it.
  if (thread < columns && !apart) {
    const float2 frame = mixture.frame[thread];
    distances[thread] =
        static_cast<double>(centre[thread]) + static_cast<double>(frame.y) / static_cast<double>(frame.x);
  }
  __syncthreads();
  float* const offsets = reinterpret_cast<float*>(record + record_offsets(mixture.groups, mixture.products));
  for (int column = thread; column < 16 * steps; column += threads) {
    double sum = 0;
    if (column < columns && !empty) {
      sum = static_cast<double>(offset[column]);
#pragma unroll 8
      for (int i = 0; i <= column && !apart; ++i) {
        sum -= static_cast<double>(upper[i * stride + column]) * distances[i];
      }
    }
    offsets[column] = static_cast<float>(sum);
    if (!(fabsf(offsets[column]) <= 1e30F)) coarse = 1;
  }

  for (int i = thread; i < tile_count(mixture.groups) * 32; i += threads) {
    int m = 0;
    while (m + 1 < steps && tile_index(mixture.groups, m + 1, 2 * m + 2) <= i / 32) ++m;
    const int n = i / 32 - tile_index(mixture.groups, m, 2 * m) + 2 * m;
    const int row = 16 * m + 2 * (i % 4);
    const int column = 8 * n + i % 32 / 4;
    const auto element = [&](int r) {
      if (r > column || column >= columns || empty) return 0.0F;
      const float value = upper[r * stride + column];
      return apart ? ldexpf(value, exponents[r] - shift) : value / mixture.frame[r].x;
    };
    uint4 terms;
    split(element(row), element(row + 1), terms.x, terms.z);
    split(element(row + 8), element(row + 9), terms.y, terms.w);
    if (mixture.products == 3) {
      record[i] = terms;
    } else {
      reinterpret_cast<uint2*>(record)[i] = make_uint2(terms.x, terms.y);
    }
  }
  __syncthreads();
  if (thread == 0 && coarse != 0 && !empty) *mixture.coarse = 1;
}

}  // namespace

void pack_mixture(const problem& mixture, cudaStream_t stream) {
  const std::size_t bytes = std::size_t(mixture.columns) * (mixture.columns + 1) * sizeof(float);
  const auto components = static_cast<unsigned>(mixture.components);
  cuda::launch_in_turn(measure_kernel, components, threads, 2 * bytes, stream, mixture);
  cuda::launch_in_turn(frame_kernel, 1, threads, 0, stream, mixture);
  cuda::launch_in_turn(pack_kernel, components, threads, bytes, stream, mixture);
}

}  // namespace shoal::gmm::tensor_matrix
