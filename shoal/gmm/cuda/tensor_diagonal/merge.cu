// The last sums of diagonal and spherical mixtures of many columns: likelihoods into their lanes, lanes into
// statistics.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

constexpr int threads = 128;
static_assert(threads >= most_columns);

__global__ void __launch_bounds__(threads)
    likelihood_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int lane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int tiles = (rows.count + tile_rows - 1) / tile_rows;
  int tile = lane - static_cast<int>(rows.share_first / tile_rows % likelihood_lanes);
  if (tile < 0) tile += likelihood_lanes;
  double* const sums = mixture.likelihood + lane * likelihood_sums;
  for (; tile < tiles; tile += likelihood_lanes) {
    const double2 sum = mixture.tile_sums[tile];
    sums[0] += sum.x;
    sums[1] += sum.y;
    for (int word = 0; word < tile_rows / 32; ++word) {
      sums[2] += __popc(mixture.far_masks[tile * (tile_rows / 32) + word]);
    }
  }
}

__device__ double block_sum(double value) {
  __shared__ double parts[threads];
  const int thread = static_cast<int>(threadIdx.x);
  parts[thread] = value;
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (thread < distance) parts[thread] += parts[thread + distance];
  }
  __syncthreads();
  const double sum = parts[0];
  __syncthreads();
  return sum;
}

// Σ w ln p, Σ w and the number of far rows; the header's last element is not used.
__device__ void merge_likelihood(const problem& mixture, double* statistics) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) statistics[likelihood_sums] = 0;
  for (int which = 0; which < likelihood_sums; ++which) {
    double sum = 0;
    for (int lane = thread; lane < likelihood_lanes; lane += threads) {
      sum += mixture.likelihood[lane * likelihood_sums + which];
    }
    sum = block_sum(sum);
    if (thread == 0) statistics[which] = sum;
  }
}

// The lanes' sum of one element of component k: in the frame, and of the rows that were summed about its own centre.
__device__ double framed_sum(const problem& mixture, int k, int place) {
  if (*mixture.arrangement != common_frame) return 0;
  const auto size = static_cast<std::size_t>(sums_size(mixture.features, mixture.width));
  const std::size_t step = static_cast<std::size_t>(mixture.tiles) * tile_components * size;
  const double* const from = mixture.sums + static_cast<std::size_t>(k) * size + place;
  double sum = 0;
#pragma unroll 8
  for (int lane = 0; lane < mixture.lanes; ++lane) sum += from[lane * step];
  return sum;
}
__device__ double own_sum(const problem& mixture, int k, int place) {
  if (*mixture.arrangement == common_frame && *mixture.any_far == 0) return 0;
  const std::size_t size = 1 + 2 * static_cast<std::size_t>(mixture.columns);
  const std::size_t step = static_cast<std::size_t>(mixture.components) * size;
  const double* const from = mixture.own_sums + static_cast<std::size_t>(k) * size + place;
  double sum = 0;
#pragma unroll 8
  for (int lane = 0; lane < mixture.own_lanes; ++lane) sum += from[lane * step];
  if (mixture.arrangement[0] == common_frame || mixture.arrangement[1] == 0) return sum;
  const double* const dense = mixture.dense_sums + static_cast<std::size_t>(k) * size + place;
#pragma unroll 8
  for (int lane = 0; lane < mixture.dense_lanes; ++lane) sum += dense[lane * step];
  return sum;
}

// A component to a block, a column to a thread; the last block has the header.
__global__ void __launch_bounds__(threads)
    merge_kernel(const __grid_constant__ problem mixture, std::size_t header, double* statistics) {
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int k = static_cast<int>(blockIdx.x);
  if (k == mixture.components) return merge_likelihood(mixture, statistics);
  const int column = static_cast<int>(threadIdx.x);
  const int d = mixture.columns;
  const bool inside = column < d;
  const int weight_at = mixture.features * mixture.width;
  double* const to = statistics + header + static_cast<std::size_t>(k) * (1 + 2 * static_cast<std::size_t>(d));
  // With z = (x − m)/u: x − c = u z + (m − c).
  const double framed_weight = framed_sum(mixture, k, weight_at);
  const double weight = framed_weight + own_sum(mixture, k, 0);
  double unit = 0;
  double first = 0;
  double second = 0;
  if (inside) {
    unit = 1 / static_cast<double>(mixture.frame[column].x);
    // Without rows in the frame, the frame may be anything.
    const double distance = framed_weight > 0
                                ? -static_cast<double>(mixture.frame[column].y) * unit -
                                      mixture.parameters.in_double.centres[static_cast<std::size_t>(k) * d + column]
                                : 0;
    const double z = unit * framed_sum(mixture, k, column);
    const double squares = mixture.spherical ? 0 : unit * unit * framed_sum(mixture, k, mixture.width + column);
    first = z + framed_weight * distance + own_sum(mixture, k, 1 + column);
    second = squares + (2 * z + framed_weight * distance) * distance + own_sum(mixture, k, 1 + d + column);
  }
  if (mixture.spherical) {
    // Only the variances' mean counts: they are made equal, each S²/W and a share of what is left.
    const double squares = block_sum(second) + (1 / static_cast<double>(mixture.frame[0].x)) *
                                                   (1 / static_cast<double>(mixture.frame[0].x)) *
                                                   framed_sum(mixture, k, weight_at + 1);
    const double of_mean = inside && weight > 0 ? first * first / weight : 0;
    second = of_mean + (squares - block_sum(of_mean)) / d;
  }
  if (column == 0) to[0] = weight;
  if (!inside) return;
  to[1 + column] = first;
  to[1 + d + column] = second;
}

}  // namespace

void add_likelihood(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  likelihood_kernel<<<likelihood_lanes / threads, threads, 0, stream>>>(mixture, rows);
  cuda::check_launch("add_likelihood");
}

void merge_lanes(const problem& mixture, std::size_t header, double* statistics, cudaStream_t stream) {
  merge_kernel<<<mixture.components + 1, threads, 0, stream>>>(mixture, header, statistics);
  cuda::check_launch("merge_lanes");
}

}  // namespace shoal::gmm::tensor_diagonal
