// Rows and centroids into whole numbers of 8 bits, with what that loses of each row and of any two centroids.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/nearest/cuda/byte_products.cuh>

namespace shoal {
namespace {

constexpr int row_threads = 256;
constexpr float above = 1.0002f;  // sums of 128 squares in float32 are off by less

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// A warp for each row; a thread has four columns.
template <bool Aligned>
__global__ void __launch_bounds__(row_threads)
    convert_byte_rows_kernel(const float* rows, std::size_t count, int columns, const float* origin, byte_operands to,
                             const int* stopped) {
  cuda::wait_for_predecessor();
  if (stopped != nullptr && *stopped) return;
  const std::size_t place = (std::size_t{blockIdx.x} * row_threads + threadIdx.x) / 32;
  if (place >= count) return;
  const int lane = static_cast<int>(threadIdx.x) % 32, words = byte_steps(columns) * byte_step_columns / 4;
  const int column = 4 * lane;
  const float* const from = rows + place * columns + column;
  float x[4] = {};
  if constexpr (Aligned) {
    if (column < columns) {
      const float4 four = __ldg(reinterpret_cast<const float4*>(from));
      x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
    }
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e) x[e] = column + e < columns ? __ldg(from + e) : 0.0f;
  }
  float largest = 0, squares = 0;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    x[e] = column + e < columns ? x[e] - __ldg(origin + column + e) : 0.0f;
    largest = fmaxf(largest, fabsf(x[e]));
    squares = fmaf(x[e], x[e], squares);
  }
  // Numbers that are not negative order like their bits.
  largest = __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(largest)));
  squares = warp_sum(squares);
  const auto multiplier =
      static_cast<int>(fminf(fmaxf(ceilf(__fdiv_rn(largest, 127.0f * to.unit)), 1.0f), 8.0f * most_byte_multiplier));
  const float unit = static_cast<float>(multiplier) * to.unit, inverse = __frcp_rn(unit);
  float lost = 0;
  int whole = 0;
  unsigned word = 0;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const float value = byte_of(x[e], inverse);
    const int q = static_cast<int>(value);
    const float left = fmaf(-value, unit, x[e]);
    lost = fmaf(left, left, lost);
    whole += q * q;
    word |= (static_cast<unsigned>(q) & 255u) << (8 * e);
  }
  if (lane < words) reinterpret_cast<unsigned*>(to.rows)[place * words + lane] = word;
  lost = warp_sum(lost);
  whole = __reduce_add_sync(~0u, whole);
  if (lane != 0) return;
  byte_row facts;
  facts.norm = sqrtf(squares) * above;
  facts.lost = sqrtf(lost) * above;
  facts.length = sqrtf(static_cast<float>(whole)) * unit * above;
  facts.multiplier = multiplier;
  to.facts[place] = facts;
}

constexpr int value_threads = 256;

__global__ void __launch_bounds__(value_threads)
    largest_values_kernel(const float* negated, std::size_t count, byte_operands to, const int* stopped) {
  cuda::wait_for_predecessor();
  if (stopped != nullptr && *stopped) return;
  __shared__ float of_warp[value_threads / 32];
  float largest = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * value_threads + threadIdx.x; i < count;
       i += std::size_t{byte_value_blocks} * value_threads) {
    largest = fmaxf(largest, fabsf(negated[i]));
  }
  largest = __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(largest)));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const float other : of_warp) largest = fmaxf(largest, other);
  to.largest_values[blockIdx.x] = largest;
}

constexpr int centroid_threads = 128;

// A thread for four neighbouring columns of a centroid, centroids first.
__global__ void __launch_bounds__(centroid_threads)
    convert_byte_centroids_kernel(searched_centroids centroids, const float* negated, byte_operands to,
                                  const int* stopped) {
  cuda::wait_for_predecessor();
  if (stopped != nullptr && *stopped) return;
  const float unit = byte_unit(to), inverse = __frcp_rn(unit);
  const int k = static_cast<int>(blockIdx.x) * centroid_threads + static_cast<int>(threadIdx.x);
  if (k >= centroids.padded) return;
  const int steps = byte_steps(centroids.columns), word = static_cast<int>(blockIdx.y), column = 4 * word;
  const bool there = k < centroids.clusters;
  unsigned four = 0;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    float value = 0;
    if (there && column + e < centroids.columns) value = negated[std::size_t(column + e) * centroids.padded + k];
    four |= (static_cast<unsigned>(static_cast<int>(byte_of(value, inverse))) & 255u) << (8 * e);
  }
  *reinterpret_cast<unsigned*>(to.centroids + byte_place(k, word, steps)) = four;
  if (word != 0) return;
  const byte_start start(k);
  const double half_norm =
      there ? static_cast<double>(centroids.half_norms[k]) / (static_cast<double>(unit) * static_cast<double>(to.unit))
            : 1e30;
  const double units = fmin(rint(half_norm), static_cast<double>(most_byte_score));
  to.starts[start.place] = static_cast<std::int32_t>(units) * byte_positions + start.position;
}

constexpr int pair_columns = 16, pair_threads = 256;

// Of each centroid the largest distance to any of 64 others, and of what they are rounded by: a block for 64 and 64.
__global__ void __launch_bounds__(pair_threads)
    largest_pairs_kernel(searched_centroids centroids, const float* negated, byte_operands to, const int* stopped) {
  cuda::wait_for_predecessor();
  if (stopped != nullptr && *stopped) return;
  using side_values = float[pair_columns][byte_pair_tile];
  __shared__ __align__(16) side_values values[2], lost[2];
  __shared__ unsigned largest[2][2][byte_pair_tile];  // of distances and roundings, of either side
  const float unit = byte_unit(to), inverse = __frcp_rn(unit);
  // The tiles below the diagonal and on it, row after row.
  int a = 0, b = static_cast<int>(blockIdx.x);
  while (b > a) b -= ++a;
  const int mine = static_cast<int>(threadIdx.x) / 16 * 4, other = static_cast<int>(threadIdx.x) % 16 * 4;
  (&largest[0][0][0])[threadIdx.x] = 0;
  float sums[2][4][4] = {};
  constexpr int of_thread = 2 * pair_columns * byte_pair_tile / pair_threads;
  float next[of_thread];  // on their way while those before are added up
  const auto read = [&](int begin) {
#pragma unroll
    for (int i = 0; i < of_thread; ++i) {
      const int at = i * pair_threads + static_cast<int>(threadIdx.x);
      const int begin_of_side = i < of_thread / 2 ? a * byte_pair_tile : b * byte_pair_tile;
      const int column = begin + at / byte_pair_tile % pair_columns;
      const int centroid = min(begin_of_side + at % byte_pair_tile, centroids.clusters - 1);
      next[i] = column < centroids.columns ? __ldg(negated + std::size_t(column) * centroids.padded + centroid) : 0.0f;
    }
  };
  read(0);
  for (int begin = 0; begin < centroids.columns; begin += pair_columns) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < of_thread; ++i) {
      const int at = i * pair_threads + static_cast<int>(threadIdx.x);
      const int side = i < of_thread / 2 ? 0 : 1, column = at / byte_pair_tile % pair_columns;
      values[side][column][at % byte_pair_tile] = next[i];
      lost[side][column][at % byte_pair_tile] = fmaf(-byte_of(next[i], inverse), unit, next[i]);
    }
    __syncthreads();
    if (begin + pair_columns < centroids.columns) read(begin + pair_columns);
#pragma unroll 4
    for (int column = 0; column < pair_columns; ++column) {
#pragma unroll
      for (int of = 0; of < 2; ++of) {
        const side_values* const from = of == 0 ? values : lost;
        const float4 x = *reinterpret_cast<const float4*>(&from[0][column][mine]);
        const float4 y = *reinterpret_cast<const float4*>(&from[1][column][other]);
        const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          const float difference = xs[i / 4] - ys[i % 4];
          sums[of][i / 4][i % 4] = fmaf(difference, difference, sums[of][i / 4][i % 4]);
        }
      }
    }
  }
#pragma unroll
  for (int of = 0; of < 2; ++of) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float row = 0, column = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) row = fmaxf(row, sums[of][i][j]), column = fmaxf(column, sums[of][j][i]);
      for (int step = 1; step < 16; step *= 2) row = fmaxf(row, __shfl_xor_sync(~0u, row, step));
      column = fmaxf(column, __shfl_xor_sync(~0u, column, 16));
      if (threadIdx.x % 16 == 0) atomicMax(&largest[of][0][mine + i], __float_as_uint(row));
      if (threadIdx.x % 32 < 16) atomicMax(&largest[of][1][other + i], __float_as_uint(column));
    }
  }
  __syncthreads();
  const int side = static_cast<int>(threadIdx.x) / byte_pair_tile, k = static_cast<int>(threadIdx.x) % byte_pair_tile;
  if (side > 1) return;
  to.largest_pairs[std::size_t(side == 0 ? b : a) * centroids.padded + (side == 0 ? a : b) * byte_pair_tile + k] =
      make_float2(__uint_as_float(largest[0][side][k]), __uint_as_float(largest[1][side][k]));
}

constexpr int bound_threads = 64;

__global__ void __launch_bounds__(bound_threads)
    pair_bounds_kernel(searched_centroids centroids, byte_operands to, const int* stopped) {
  cuda::wait_for_predecessor();
  if (stopped != nullptr && *stopped) return;
  const int k = static_cast<int>(blockIdx.x) * bound_threads + static_cast<int>(threadIdx.x);
  if (k >= centroids.clusters) return;
  float2 largest = make_float2(0, 0);
  const int tiles = (centroids.clusters + byte_pair_tile - 1) / byte_pair_tile;
#pragma unroll 8
  for (int tile = 0; tile < tiles; ++tile) {
    const float2 some = to.largest_pairs[std::size_t(tile) * centroids.padded + k];
    largest.x = fmaxf(largest.x, some.x), largest.y = fmaxf(largest.y, some.y);
  }
  to.pair_bounds[k] = make_float2(sqrtf(largest.x) * above, sqrtf(largest.y) * above);
}

}  // namespace

void convert_rows(const float* rows, std::size_t count, int columns, const float* origin, const byte_operands& to,
                  const int* stopped, cudaStream_t stream) {
  constexpr std::size_t of_block = row_threads / 32;
  const auto blocks = static_cast<unsigned>((count + of_block - 1) / of_block);
  const auto kernel = columns % 4 == 0 ? convert_byte_rows_kernel<true> : convert_byte_rows_kernel<false>;
  cuda::launch_in_turn(kernel, blocks, row_threads, 0, stream, rows, count, columns, origin, to, stopped);
}

void convert_centroids(const searched_centroids& centroids, const float* negated, const byte_operands& to,
                       const int* stopped, cudaStream_t stream) {
  const auto padded = static_cast<std::size_t>(centroids.padded);
  cuda::launch_in_turn(largest_values_kernel, byte_value_blocks, value_threads, 0, stream, negated,
                       padded * static_cast<std::size_t>(centroids.columns), to, stopped);
  const dim3 blocks(static_cast<unsigned>((padded + centroid_threads - 1) / centroid_threads),
                    static_cast<unsigned>(byte_steps(centroids.columns) * byte_step_columns / 4));
  cuda::launch_in_turn(convert_byte_centroids_kernel, blocks, centroid_threads, 0, stream, centroids, negated, to,
                       stopped);
  const auto tiles = static_cast<unsigned>((centroids.clusters + byte_pair_tile - 1) / byte_pair_tile);
  cuda::launch_in_turn(largest_pairs_kernel, tiles * (tiles + 1) / 2, pair_threads, 0, stream, centroids, negated, to,
                       stopped);
  static_assert(bound_threads == byte_pair_tile);
  cuda::launch_in_turn(pair_bounds_kernel, tiles, bound_threads, 0, stream, centroids, to, stopped);
}

}  // namespace shoal
