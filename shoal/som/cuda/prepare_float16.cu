// Units as the search by float16 products wants them.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/som/cuda/far_units.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

constexpr int warps = 8;
constexpr int together = 8;  // of a lane's numbers, on their way from memory at a time

// The greatest of a block's numbers to the bound of all of them, as bits: float64 numbers that are not negative order
// like integers.
__device__ void raise(unsigned long long* bound, const double (&values)[warps]) {
  unsigned long long greatest = 0;
  for (const double value : values) {
    greatest = max(greatest, static_cast<unsigned long long>(__double_as_longlong(value)));
  }
  if (greatest > *bound) atomicMax(bound, greatest);
}

// Warps that share a unit, so that none waits for memory more than once: there may be few units, and nothing else keeps
// the GPU busy then.
int warps_of_unit(int columns) {
  int parts = 1;
  while (parts < warps && parts * 32 * together < columns) parts *= 2;
  return parts;
}

template <class Scalar>
__global__ void __launch_bounds__(32 * warps) prepare_kernel(device_units<Scalar> units, int parts) {
  cuda::wait_for_predecessor();
  __shared__ double norms[warps], largest_norms[warps];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = threadIdx.x % 32, last = units.units - 1;
  // The last one again where there is none.
  const int k = min((static_cast<int>(blockIdx.x) * warps + warp) / parts, last);
  const int columns = units.columns;
  const bool cosine = units.metric == metric::cosine;
  const double* const from = units.codebook + static_cast<std::size_t>(k) * columns;
  // In the order and with the roundings of the host, whose units of length 1 have the same bits.
  double largest = 0, length = 0;
  if (cosine) {
    for (int j = 0; j < columns; ++j) largest = fmax(largest, fabs(from[j]));
    for (int j = 0; j < columns && largest > 0; ++j) {
      const double scaled = __ddiv_rn(from[j], largest);
      length = __dadd_rn(length, __dmul_rn(scaled, scaled));
    }
    length = __dsqrt_rn(length);
  }
  // Units that no row can be near lie at the origin and score as no unit near a row does: where one tile has all units
  // as at most those that are looked for, else as centroids that are not listed.
  double far_squares = 0;
  for (int j = lane; j < columns && units.row_norm >= 0; j += 32) {
    const double apart = from[j] - static_cast<double>(units.centre[j]);
    far_squares += apart * apart;
  }
  far_squares = cuda::warp_sum(far_squares);
  const double most_norm = far_norm(units);
  const bool far = sqrt(far_squares) > most_norm;
  const bool one_tile = units.float16.padded <= float16_cluster_tile;
  const float far_score = one_tile ? static_cast<float>(0.5 * most_norm * most_norm) : unlisted_half_norm;
  double squares = 0, rounded_squares = 0;
  // Reads do not pass writes, so several come before them.
  for (int start = warp % parts * 32 * together + lane; start < columns; start += parts * 32 * together) {
    double values[together], centres[together], origins[together];
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int j = min(start + 32 * t, columns - 1);
      values[t] = from[j];
      centres[t] = static_cast<double>(units.centre[j]);
      origins[t] = static_cast<double>(units.float16.origin[j]);
    }
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int j = start + 32 * t;
      if (j >= columns) break;
      double value = values[t];
      if (cosine && largest > 0) value = __ddiv_rn(__ddiv_rn(value, largest), length);
      if (cosine) units.exact[static_cast<std::size_t>(k) * columns + j] = value;
      auto centred = static_cast<Scalar>(value - centres[t]);
      // Float32 rows have scores of listed units too, float64 rows distances.
      if (far && sizeof(Scalar) == 4) centred = 0;
      units.centred[static_cast<std::size_t>(k) * columns + j] = centred;
      const double searched = far ? origins[t] : value;
      if (units.searched != nullptr) units.searched[static_cast<std::size_t>(k) * columns + j] = searched;
      if (far) continue;
      squares += static_cast<double>(centred) * static_cast<double>(centred);
      const double rounded = static_cast<float>(value - origins[t]);
      rounded_squares += rounded * rounded;
    }
  }
  squares = cuda::warp_sum(squares);
  rounded_squares = cuda::warp_sum(rounded_squares);
  if (lane == 0) norms[warp] = squares, largest_norms[warp] = rounded_squares;
  __syncthreads();
  if (lane == 0) {
    squares = rounded_squares = 0;
    for (int w = warp / parts * parts; w < (warp / parts + 1) * parts; ++w) {
      squares += norms[w];
      rounded_squares += largest_norms[w];
    }
    if (warp % parts == 0) {
      units.half_norms[k] = far ? far_score : cosine ? 0.0f : static_cast<float>(rounded_squares / 2);
    }
  }
  __syncthreads();
  if (lane == 0) {
    norms[warp] = sqrt(squares);
    largest_norms[warp] = far && one_tile ? most_norm * most_norm : rounded_squares;
  }
  __syncthreads();
  if (threadIdx.x == 0) raise(&units.bounds->norm, norms);
  if (threadIdx.x == 32) raise(&units.bounds->float16.largest_norm, largest_norms);
}

}  // namespace

template <class Scalar>
void prepare_float16_units(const device_units<Scalar>& units, const float16_operands& operands, cudaStream_t stream) {
  const int parts = warps_of_unit(units.columns), of_block = warps / parts;
  cuda::launch_in_turn(prepare_kernel<Scalar>, static_cast<unsigned>((units.units + of_block - 1) / of_block),
                       32 * warps, 0, stream, units, parts);
  convert_centroids(units.float16, operands, nullptr, stream);
}
template void prepare_float16_units(const device_units<float>&, const float16_operands&, cudaStream_t);
template void prepare_float16_units(const device_units<double>&, const float16_operands&, cudaStream_t);

}  // namespace shoal::som
