// The last sums of diagonal and spherical mixtures of many columns: likelihoods into their lanes, lanes into
// statistics.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>

namespace shoal::gmm::tensor_diagonal {
namespace {

constexpr int threads = 128;
static_assert(threads >= most_columns);

__global__ void __launch_bounds__(threads)
    likelihood_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int lane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int tiles = tiles_of(rows);
  int tile = lane - static_cast<int>(rows.share_first / tile_rows % likelihood_lanes);
  if (tile < 0) tile += likelihood_lanes;
  double* const sums = mixture.likelihood + lane * likelihood_sums;
  double likelihood = sums[0], weight = sums[1], far = sums[2];
  // In order, but several tiles are read at once.
#pragma unroll 8
  for (int number = tile; number < tiles; number += likelihood_lanes) {
    const double2 sum = mixture.tile_sums[number];
    const uint4 masks = *reinterpret_cast<const uint4*>(mixture.far_masks + number * (tile_rows / 32));
    likelihood += sum.x;
    weight += sum.y;
    far += __popc(masks.x) + __popc(masks.y) + __popc(masks.z) + __popc(masks.w);
  }
  sums[0] = likelihood, sums[1] = weight, sums[2] = far;
}
static_assert(tile_rows / 32 == 4);

// The sum of the values of the threads of the block's first row, for all.
__device__ double block_sum(double value) {
  __shared__ double parts[threads];
  const int thread = static_cast<int>(threadIdx.x);
  const bool first = threadIdx.y == 0;
  if (first) parts[thread] = value;
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (first && thread < distance) parts[thread] += parts[thread + distance];
  }
  __syncthreads();
  const double sum = parts[0];
  __syncthreads();
  return sum;
}

// Σ w ln p, Σ w and the number of far rows; the header's last element is not used.
__device__ void merge_likelihood(const problem& mixture, double* statistics) {
  const int thread = static_cast<int>(threadIdx.x);
  const bool writes = thread == 0 && threadIdx.y == 0;
  if (writes) statistics[likelihood_sums] = 0;
  for (int which = 0; which < likelihood_sums; ++which) {
    double sum = 0;
    for (int lane = thread; lane < likelihood_lanes; lane += threads) {
      sum += mixture.likelihood[lane * likelihood_sums + which];
    }
    sum = block_sum(sum);
    if (writes) statistics[which] = sum;
  }
}

// The lanes' sums of some elements of component k: of several threads each takes its own lanes, and reads some at once.
// One thread for 132 lanes took an eighth of a pass over 10⁶ rows with one product.
constexpr int most_merging_threads = 4, lanes_a_thread = 16;
template <int Count>
struct element_sums {
  double of[Count] = {};

  __device__ void add(const double* from, const int (&places)[Count], int lanes, std::size_t step) {
#pragma unroll 8
    for (int lane = static_cast<int>(threadIdx.y); lane < lanes; lane += static_cast<int>(blockDim.y)) {
#pragma unroll
      for (int i = 0; i < Count; ++i) of[i] += from[lane * step + places[i]];
    }
  }
  // Gives each of these threads what all have.
  __device__ void join() {
    __shared__ double parts[most_merging_threads][Count][threads];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Count; ++i) parts[threadIdx.y][i][threadIdx.x] = of[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      of[i] = 0;
      for (unsigned y = 0; y < blockDim.y; ++y) of[i] += parts[y][i][threadIdx.x];
    }
  }
};

// In the frame: of which `places` says where they are among a component's.
template <int Count>
__device__ element_sums<Count> framed_sums(const problem& mixture, int k, const int (&places)[Count]) {
  element_sums<Count> sums;
  if (arrangement_of(mixture) != common_frame) return sums;
  const auto size = static_cast<std::size_t>(sums_size(mixture.features, mixture.width));
  const std::size_t step = static_cast<std::size_t>(mixture.tiles) * tile_components * size;
  sums.add(mixture.sums + static_cast<std::size_t>(k) * size, places, mixture.lanes, step);
  sums.join();
  return sums;
}
// Of the rows that were summed about the component's own centre.
template <int Count>
__device__ element_sums<Count> own_sums(const problem& mixture, int k, const int (&places)[Count]) {
  element_sums<Count> sums;
  const bool common = arrangement_of(mixture) == common_frame;
  if (common && *mixture.any_far == 0 && !leaves_out(mixture, k)) return sums;
  const std::size_t size = 1 + 2 * static_cast<std::size_t>(mixture.columns);
  const std::size_t step = static_cast<std::size_t>(mixture.components) * size;
  sums.add(mixture.own_sums + static_cast<std::size_t>(k) * size, places, mixture.own_lanes, step);
  if (!common && mixture.arrangement[has_dense_sums_at] != 0) {
    sums.add(mixture.dense_sums + static_cast<std::size_t>(k) * size, places, mixture.dense_lanes, step);
  }
  sums.join();
  return sums;
}

// A component to a block, a column to some threads; the last block has the header.
__global__ void __launch_bounds__(threads* most_merging_threads)
    merge_kernel(const __grid_constant__ problem mixture, std::size_t header, double* statistics) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  const int k = static_cast<int>(blockIdx.x);
  if (k == mixture.components) return merge_likelihood(mixture, statistics);
  const int column = static_cast<int>(threadIdx.x);
  const int d = mixture.columns;
  const bool inside = column < d;
  const int weight_at = mixture.features * mixture.width;
  double* const to = statistics + header + static_cast<std::size_t>(k) * (1 + 2 * static_cast<std::size_t>(d));
  // Σ r, and of a column Σ r z and Σ r z²; instead of the last, spherical, Σ r‖z‖².
  const int own_column = inside ? column : 0;
  const auto framed =
      framed_sums(mixture, k, {weight_at, own_column, mixture.spherical ? weight_at + 1 : mixture.width + own_column});
  const auto apart = own_sums(mixture, k, {0, 1 + own_column, 1 + d + own_column});
  const double framed_weight = framed.of[0], weight = framed_weight + apart.of[0];
  double first = 0;
  double second = 0;
  // With z = (x − m)/u: x − c = u z + (m − c).
  if (inside) {
    const double unit = 1 / static_cast<double>(mixture.frame[column].x);
    // Without rows in the frame, the frame may be anything.
    const double distance = framed_weight > 0
                                ? -static_cast<double>(mixture.frame[column].y) * unit -
                                      mixture.parameters.in_double.centres[static_cast<std::size_t>(k) * d + column]
                                : 0;
    const double z = unit * framed.of[1];
    const double squares = mixture.spherical ? 0 : unit * unit * framed.of[2];
    first = z + framed_weight * distance + apart.of[1];
    second = squares + (2 * z + framed_weight * distance) * distance + apart.of[2];
  }
  if (mixture.spherical) {
    // Only the variances' mean counts: they are made equal, each S²/W and a share of what is left.
    const double unit = 1 / static_cast<double>(mixture.frame[0].x);
    const double squares = block_sum(second) + unit * unit * framed.of[2];
    const double of_mean = inside && weight > 0 ? first * first / weight : 0;
    second = of_mean + (squares - block_sum(of_mean)) / d;
  }
  if (threadIdx.y != 0) return;
  if (column == 0) to[0] = weight;
  if (!inside) return;
  to[1 + column] = first;
  to[1 + d + column] = second;
}

}  // namespace

void add_likelihood(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  cuda::launch_in_turn(likelihood_kernel, likelihood_lanes / threads, threads, 0, stream, mixture, rows);
}

void merge_lanes(const problem& mixture, std::size_t header, double* statistics, cudaStream_t stream) {
  const int merging = std::clamp(mixture.lanes / lanes_a_thread, 1, most_merging_threads);
  cuda::launch_in_turn(merge_kernel, static_cast<unsigned>(mixture.components + 1),
                       dim3(threads, static_cast<unsigned>(merging)), 0, stream, mixture, header, statistics);
}

}  // namespace shoal::gmm::tensor_diagonal
