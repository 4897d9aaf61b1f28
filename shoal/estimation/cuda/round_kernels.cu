#include <shoal/estimation/cuda/round_kernels.hpp>

#include <cuda_runtime.h>

#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/execution/plan.hpp>
#include <shoal/random/stream.hpp>

namespace shoal {
namespace {

constexpr unsigned threads = block_rows, append_threads = 128;

// total_of() of seed_draw.hpp, by every thread of a block: `threads` groups at a time.
__device__ double sum_in_groups(const double* sums, std::size_t units) {
  __shared__ double groups[threads];
  __shared__ double total;
  if (threadIdx.x == 0) total = 0;
  for (std::size_t first = 0; first < units; first += std::size_t{threads} * draw_group) {
    const std::size_t own = first + std::size_t{threadIdx.x} * draw_group;
    double masses[draw_group], sum = 0;
#pragma unroll
    for (unsigned u = 0; u < draw_group; ++u) masses[u] = own + u < units ? sums[own + u] : 0.0;
#pragma unroll
    for (unsigned u = 0; u < draw_group; ++u) sum += masses[u];
    groups[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      const std::size_t left = (units - first + draw_group - 1) / draw_group;
      for (unsigned g = 0; g < threads && g < left; ++g) total += groups[g];
    }
    __syncthreads();
  }
  return total;
}

template <class Scalar, class Work>
__global__ void __launch_bounds__(threads)
    sample_kernel(const Scalar* weights, std::size_t first, std::size_t row_count, const Work* least,
                  const double* sums, std::size_t units, double expected, std::uint64_t seed,
                  std::uint64_t random_stream, kept_rows_of_round kept) {
  const double total = sum_in_groups(sums, units);
  if (!(total > 0) || !(total * 0 == 0)) return;
  const double rate = expected / total;
  const std::size_t quad = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (4 * quad >= row_count) return;
  const auto words = random::philox4x32::block(seed, random_stream, first / 4 + quad);
  for (std::size_t lane = 0; lane < 4; ++lane) {
    const std::size_t i = 4 * quad + lane;
    if (i >= row_count) return;
    const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
    const double u = (static_cast<double>(words[lane]) + 0.5) * 0x1p-32;
    if (!(u < rate * weight * static_cast<double>(least[i]))) continue;
    const unsigned long long place = atomicAdd(kept.count, 1ULL);
    if (place < kept.capacity) kept.rows[place] = i;
  }
}

// A block for each row that may be kept.
template <class Scalar, class Work>
__global__ void __launch_bounds__(append_threads)
    append_kernel(const Scalar* rows, std::size_t columns, coarse_rows coarse, kept_rows_of_round kept,
                  kept_points<Work> points, const point_range* before, point_range* now) {
  const auto count = static_cast<unsigned>(min(*kept.count, static_cast<unsigned long long>(kept.capacity)));
  const unsigned begin = before->first + before->count;
  if (blockIdx.x == 0 && threadIdx.x == 0) *now = {begin, count};
  if (blockIdx.x >= count) return;
  const unsigned long long row = kept.rows[blockIdx.x];
  unsigned earlier = 0;
  for (unsigned i = threadIdx.x; i < count; i += append_threads) earlier += kept.rows[i] < row ? 1 : 0;
  __shared__ unsigned of_warps[append_threads / 32];
  earlier = cuda::warp_sum(earlier);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = earlier;
  __syncthreads();
  std::size_t place = begin;
  for (const unsigned some : of_warps) place += some;
  for (std::size_t j = threadIdx.x; j < columns; j += append_threads) {
    points.values[place * columns + j] = static_cast<Work>(rows[row * columns + j]);
  }
  if (points.coarse.values == nullptr) return;
  const std::size_t pitch = coarse.pitch;
  for (std::size_t j = threadIdx.x; j < pitch / 16; j += append_threads) {
    reinterpret_cast<int4*>(points.coarse.values + place * pitch)[j] =
        reinterpret_cast<const int4*>(coarse.values + row * pitch)[j];
  }
  if (threadIdx.x > 0) return;
  points.coarse.bounds[place].norm = coarse.bounds[row].norm;
  points.coarse.errors[place] = coarse.errors[row];
}

}  // namespace

template <class Scalar, class Work>
void sample_round(const cuda::device_piece<Scalar>& piece, const Work* least, const double* sums, std::size_t units,
                  double expected, std::uint64_t seed, std::uint64_t random_stream, const kept_rows_of_round& kept,
                  cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((piece.count + 4 * threads - 1) / (4 * threads));
  sample_kernel<<<blocks, threads, 0, stream>>>(piece.weights, piece.first, piece.count, least, sums, units, expected,
                                                seed, random_stream, kept);
  cuda::check_launch("sample_round");
}

template <class Scalar, class Work>
void append_round(const cuda::device_piece<Scalar>& piece, std::size_t columns, const coarse_rows& coarse,
                  const kept_rows_of_round& kept, const kept_points<Work>& points, const point_range* before,
                  point_range* now, cudaStream_t stream) {
  append_kernel<<<static_cast<unsigned>(kept.capacity), append_threads, 0, stream>>>(piece.rows, columns, coarse, kept,
                                                                                     points, before, now);
  cuda::check_launch("append_round");
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                                                             \
  template void sample_round(const cuda::device_piece<Scalar>&, const Work*, const double*, std::size_t, double,    \
                             std::uint64_t, std::uint64_t, const kept_rows_of_round&, cudaStream_t);                \
  template void append_round(const cuda::device_piece<Scalar>&, std::size_t, const coarse_rows&,                    \
                             const kept_rows_of_round&, const kept_points<Work>&, const point_range*, point_range*, \
                             cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
