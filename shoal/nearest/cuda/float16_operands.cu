// Rows and centroids into float16, with what that loses of each.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/nearest/cuda/float16_operands.hpp>
#include <shoal/nearest/cuda/float16_scale.cuh>

namespace shoal {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int warp_rows = 8;                     // whose core matrices a warp writes
constexpr int row_threads = 32 / warp_rows;      // of a row
constexpr int turn_columns = 8 * row_threads;    // of a row at a time
constexpr int centroid_turns = 4;                // on their way at a time, of a centroid
constexpr std::size_t cached_bytes = 32u << 20;  // of operands that stay in a GPU's second cache

// Eight neighbouring columns of a row; zero beyond the last.
template <bool Aligned>
__device__ void read_columns(const float* from, int there, float (&to)[8]) {
#pragma unroll
  for (int v = 0; v < 8; v += 4) {
    if constexpr (Aligned) {
      const float4 four = v < there ? __ldg(reinterpret_cast<const float4*>(from + v)) : make_float4(0, 0, 0, 0);
      to[v] = four.x, to[v + 1] = four.y, to[v + 2] = four.z, to[v + 3] = four.w;
    } else {
#pragma unroll
      for (int e = v; e < v + 4; ++e) to[e] = e < there ? __ldg(from + e) : 0.0f;
    }
  }
}
template <bool Aligned>
__device__ void read_columns(const double* from, int there, double (&to)[8]) {
#pragma unroll
  for (int v = 0; v < 8; v += 2) {
    if constexpr (Aligned) {
      const double2 two = v < there ? __ldg(reinterpret_cast<const double2*>(from + v)) : make_double2(0, 0);
      to[v] = two.x, to[v + 1] = two.y;
    } else {
#pragma unroll
      for (int e = v; e < v + 2; ++e) to[e] = e < there ? __ldg(from + e) : 0.0;
    }
  }
}

// Of one row, over the threads that share it.
__device__ float sum_of_row(float value) {
  for (int step = warp_rows; step < 32; step *= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// What the operand of a row came to, in units of the operand.
struct row_sums {
  float squares = 0;
  float lost = 0;
};

// Writes a row times `factor`, with the sign of `Sign`, of several warps that share it the columns of one. Every thread
// of the warp comes here; columns beyond the last are zero.
template <int Sign, bool Aligned, class Scalar>
__device__ row_sums write_row(const Scalar* row, const float* origin, const float16_layout& layout, std::size_t place,
                              float factor, unsigned char* to, int part = 0, int parts = 1) {
  // Rows have the second numbers first.
  const std::size_t half = layout.twice ? layout.unit_bytes() / 2 : 0;
  unsigned char* const to_first = to + (Sign > 0 ? half : 0);
  unsigned char* const to_second = to + (Sign > 0 ? 0 : half);
  const int first = static_cast<int>(threadIdx.x) % 32 / warp_rows * 8 + part * turn_columns, all = layout.padded();
  row_sums sums;
  constexpr int turns = Sign > 0 ? 2 : centroid_turns;
#pragma unroll turns
  for (int column = first; column < all; column += parts * turn_columns) {
    Scalar values[8];
    const int there = layout.columns - column;
    read_columns<Aligned>(row + column, there, values);
    __half2 halves[4], seconds[4];
#pragma unroll
    for (int v = 0; v < 8; v += 2) {
      float x[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const auto o = v + e < there ? static_cast<Scalar>(__ldg(origin + column + v + e)) : Scalar{0};
        x[e] = Sign * factor * static_cast<float>(values[v + e] - o);
        sums.squares = fmaf(x[e], x[e], sums.squares);
      }
      halves[v / 2] = __floats2half2_rn(x[0], x[1]);
      const float2 rounded = __half22float2(halves[v / 2]);
      float2 left = make_float2(x[0] - rounded.x, x[1] - rounded.y);
      if (layout.twice) {
        seconds[v / 2] = __floats2half2_rn(left.x, left.y);
        const float2 second = __half22float2(seconds[v / 2]);
        left = make_float2(left.x - second.x, left.y - second.y);
      }
      sums.lost = fmaf(left.x, left.x, sums.lost);
      sums.lost = fmaf(left.y, left.y, sums.lost);
    }
    *reinterpret_cast<uint4*>(to_first + layout.place(place, column)) = *reinterpret_cast<const uint4*>(halves);
    if (layout.twice) {
      *reinterpret_cast<uint4*>(to_second + layout.place(place, column)) = *reinterpret_cast<const uint4*>(seconds);
    }
  }
  sums.squares = sum_of_row(sums.squares);
  sums.lost = sum_of_row(sums.lost);
  return sums;
}

// Sums of d squares in float32 are this much too small at most, for any d that fits into memory.
constexpr float above = 1.002f;

template <class Scalar, bool Aligned>
__global__ void __launch_bounds__(threads)
    convert_rows_kernel(const Scalar* rows, std::size_t count, int columns, const float* origin, float16_operands to,
                        const int* stopped) {
  cuda::wait_for_predecessor();
  if (stopped != nullptr && *stopped) return;
  const float16_layout layout(columns, to.digits);
  const std::size_t place = (std::size_t{blockIdx.x} * warps + threadIdx.x / 32) * warp_rows + threadIdx.x % warp_rows;
  if (place / warp_rows * warp_rows >= count) return;
  const Scalar* const row = rows + min(place, count - 1) * columns;
  // The first columns tell how large a row may be; where they mislead, the row is written again.
  float squares = 0;
  for (int j = static_cast<int>(threadIdx.x) % 32 / warp_rows; j < min(columns, turn_columns); j += row_threads) {
    const auto x = static_cast<float>(row[j] - static_cast<Scalar>(origin[j]));
    squares = fmaf(x, x, squares);
  }
  squares = sum_of_row(squares) * (static_cast<float>(columns) / static_cast<float>(min(columns, turn_columns)));
  int exponent = squares > 0 && squares < INFINITY ? within_range(float16_exponent(squares)) : 0;
  row_sums sums;
  for (int turn = 0; turn < 4; ++turn) {
    sums = write_row<1, Aligned>(row, origin, layout, place, power_of_two(exponent), to.rows);
    int next = exponent;
    if (!(sums.squares >= 0x1p14f && sums.squares <= 0x1p28f)) {
      if (sums.squares > 0 && sums.squares < INFINITY) {
        next = within_range(exponent + float16_exponent(sums.squares));
      } else {
        next = sums.squares == 0 ? 100 : -100;
      }
    }
    if (!__any_sync(~0u, next != exponent)) break;
    exponent = next;
  }
  if (threadIdx.x % 32 >= warp_rows || place >= count) return;
  const float inverse = power_of_two(-exponent);
  float16_row facts;
  facts.norm = sqrtf(sums.squares) * above * inverse;
  // What second numbers are beside the first ones is known only where these are not too small.
  const bool known = sums.squares < INFINITY && (!layout.twice || sums.squares == 0 || sums.squares >= 0x1p14f);
  facts.lost = known ? sqrtf(sums.lost) * above * inverse : INFINITY;
  facts.inverse = inverse;
  to.facts[place] = facts;
}

// Warps that share a centroid, so that none waits for memory more than once or twice: there may be few centroids, and
// nothing else keeps the GPU busy then.
int warps_of_centroid(int padded_columns) {
  int parts = 1;
  while (parts < warps && parts * centroid_turns * turn_columns < padded_columns) parts *= 2;
  return parts;
}

__global__ void __launch_bounds__(threads)
    convert_centroids_kernel(searched_centroids centroids, float16_operands to, int parts, const int* stopped) {
  cuda::wait_for_predecessor();
  if (stopped != nullptr && *stopped) return;
  __shared__ row_sums of_parts[warps][warp_rows];
  const int warp = static_cast<int>(threadIdx.x) / 32, in_warp = static_cast<int>(threadIdx.x) % warp_rows;
  const std::size_t place =
      (std::size_t{blockIdx.x} * (warps / parts) + static_cast<unsigned>(warp / parts)) * warp_rows + in_warp;
  const int exponent = float16_exponent(*centroids.bounds);
  // Places beyond the last centroid hold that again.
  const std::size_t k = min(place, static_cast<std::size_t>(centroids.clusters - 1));
  row_sums sums = write_row<-1, false>(centroids.values + k * centroids.columns, centroids.origin,
                                       float16_layout(centroids.columns, to.digits), place, power_of_two(exponent),
                                       to.centroids, warp % parts, parts);
  if (parts > 1) {
    if (threadIdx.x % 32 < warp_rows) of_parts[warp][in_warp] = sums;
    __syncthreads();
    if (warp % parts != 0) return;
    for (int part = 1; part < parts; ++part) {
      sums.squares += of_parts[warp + part][in_warp].squares;
      sums.lost += of_parts[warp + part][in_warp].lost;
    }
  }
  const double largest = __longlong_as_double(static_cast<long long>(centroids.bounds->largest_norm));
  const double unscale = ldexp(1.0, -2 * exponent), own = static_cast<double>(sums.squares) * 1.005 * unscale;
  const float half_norm = centroids.half_norms[k] < unlisted_half_norm ? centroids.half_norms[k] : 0.0f;
  const double squares = fmax(fmax(2.001 * static_cast<double>(half_norm), own), largest * 0x1p-12);
  if (threadIdx.x % 32 < warp_rows) {
    to.starts[place] = {centroids.half_norms[k], static_cast<float>(sqrt(squares) * 1.0001)};
  }
  // Numbers that are not negative order like their bits. Few warps have a greater one than what is known: all of them
  // would wait for each other at the one place.
  const double lost = static_cast<double>(sums.lost) * 1.01 * unscale;
  auto bits = static_cast<unsigned long long>(__double_as_longlong(lost == 0 ? 0.0 : lost / squares));
  for (int step = warp_rows / 2; step > 0; step /= 2) bits = max(bits, __shfl_xor_sync(~0u, bits, step));
  volatile const unsigned long long* const known = &centroids.bounds->largest_residual;
  if (threadIdx.x % 32 == 0 && bits > *known) atomicMax(&centroids.bounds->largest_residual, bits);
}

}  // namespace

std::size_t float16_rows_at_once(std::size_t columns, float16_digits digits, std::size_t multiprocessors) {
  const float16_layout layout(static_cast<int>(columns), digits);
  const std::size_t wave = multiprocessors * float16_block_rows;
  const std::size_t bytes = layout.unit_bytes() / layout.unit_rows * wave;
  return std::max<std::size_t>(1, cached_bytes / bytes) * wave;
}

template <class Scalar>
void convert_rows(const Scalar* rows, std::size_t count, int columns, const float* origin, const float16_operands& to,
                  const int* stopped, cudaStream_t stream) {
  const std::size_t of_block = std::size_t{warps} * warp_rows;
  const auto blocks = static_cast<unsigned>((count + of_block - 1) / of_block);
  const auto kernel =
      columns % (16 / sizeof(Scalar)) == 0 ? convert_rows_kernel<Scalar, true> : convert_rows_kernel<Scalar, false>;
  cuda::launch_in_turn(kernel, blocks, threads, 0, stream, rows, count, columns, origin, to, stopped);
}
template void convert_rows(const float*, std::size_t, int, const float*, const float16_operands&, const int*,
                           cudaStream_t);
template void convert_rows(const double*, std::size_t, int, const float*, const float16_operands&, const int*,
                           cudaStream_t);

void convert_centroids(const searched_centroids& centroids, const float16_operands& to, const int* stopped,
                       cudaStream_t stream) {
  const int parts = warps_of_centroid(float16_layout(centroids.columns, to.digits).padded());
  const auto blocks = static_cast<unsigned>(centroids.padded / (warps / parts * warp_rows));
  cuda::launch_in_turn(convert_centroids_kernel, blocks, threads, 0, stream, centroids, to, parts, stopped);
}

}  // namespace shoal
