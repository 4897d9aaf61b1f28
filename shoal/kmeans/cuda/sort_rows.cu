// Rows of a piece by label: a stable counting sort of each lane's.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/kmeans/cuda/label_hash.cuh>
#include <shoal/kmeans/cuda/sum_sorted.cuh>

namespace shoal::kmeans {
namespace {

constexpr int count_threads = 128;
constexpr int scan_threads = 128;
constexpr int start_threads = 1024;
constexpr int most_scatter_warps = 4;
constexpr std::size_t scatter_bytes = 48u << 10;  // of a block's places, unless one warp's are more

// How often each label is in a tile, and what the tile adds to the fingerprint.
template <class Scalar>
__global__ void __launch_bounds__(count_threads) count_kernel(sorted_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  extern __shared__ unsigned counts[];
  const lane_part part(in, static_cast<int>(blockIdx.y));
  const int tile = static_cast<int>(blockIdx.x);
  if (tile >= part.tiles) return;
  for (int k = threadIdx.x; k < in.clusters; k += count_threads) counts[k] = 0;
  __syncthreads();
  const std::size_t begin = part.begin + std::size_t(tile) * in.tile_rows;
  const int count = static_cast<int>(min(part.end - begin, static_cast<std::size_t>(in.tile_rows)));
  // A warp hashes whole blocks.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned long long fingerprint = 0;
  for (int block = warp * hashed_rows; block < count; block += count_threads / 32 * hashed_rows) {
    unsigned low = 0, high = 0;
#pragma unroll 4
    for (int i = lane; i < hashed_rows; i += 32) {
      if (block + i >= count) continue;
      const auto label = static_cast<unsigned>(in.labels[begin + block + i]);
      low += label * hash_table.words[i];
      high += label * hash_table.words[hashed_rows + i];
      atomicAdd(counts + label, 1u);
    }
    low = __reduce_add_sync(~0u, low);
    high = __reduce_add_sync(~0u, high);
    fingerprint += hash_of_block(odd_of_block((in.piece.first + begin + block) / hashed_rows), low, high);
  }
  if (lane == 0 && fingerprint != 0) atomicAdd(in.fingerprint, fingerprint);
  __syncthreads();
  unsigned* const to = in.memory.counts + std::size_t(part.first_tile + tile) * in.clusters;
  for (int k = threadIdx.x; k < in.clusters; k += count_threads) to[k] = counts[k];
}

// Counts of a lane's tiles into places among the lane's rows of that label; a thread for each label.
template <class Scalar>
__global__ void __launch_bounds__(scan_threads) scan_kernel(sorted_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  const int k = static_cast<int>(blockIdx.x) * scan_threads + static_cast<int>(threadIdx.x);
  if (k >= in.clusters) return;
  const lane_part part(in, static_cast<int>(blockIdx.y));
  unsigned* const counts = in.memory.counts + std::size_t(part.first_tile) * in.clusters + k;
  constexpr int together = 16;
  unsigned sum = 0;
  for (int tile = 0; tile < part.tiles; tile += together) {
    unsigned some[together];
#pragma unroll
    for (int i = 0; i < together; ++i) {
      some[i] = tile + i < part.tiles ? counts[std::size_t(tile + i) * in.clusters] : 0u;
    }
#pragma unroll
    for (int i = 0; i < together; ++i) {
      if (tile + i < part.tiles) counts[std::size_t(tile + i) * in.clusters] = sum;
      sum += some[i];
    }
  }
  in.memory.starts[std::size_t{blockIdx.y} * (in.clusters + 1) + k] = sum;
}

// The labels' counts of a lane into where the rows of each begin, as places in the piece. A block for each lane.
template <class Scalar>
__global__ void __launch_bounds__(start_threads) start_kernel(sorted_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  __shared__ unsigned of_warp[start_threads / 32];
  const lane_part part(in, static_cast<int>(blockIdx.x));
  unsigned* const starts = in.memory.starts + std::size_t{blockIdx.x} * (in.clusters + 1);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto before = static_cast<unsigned>(part.begin);
  for (int first = 0; first < in.clusters; first += start_threads) {
    const int k = first + static_cast<int>(threadIdx.x);
    const unsigned count = k < in.clusters ? starts[k] : 0u;
    unsigned through = count;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(~0u, through, step);
      if (lane >= step) through += other;
    }
    if (lane == 31) of_warp[warp] = through;
    __syncthreads();
    unsigned all = 0, earlier = 0;
    for (int w = 0; w < start_threads / 32; ++w) {
      if (w == warp) earlier = all;
      all += of_warp[w];
    }
    if (k < in.clusters) starts[k] = before + earlier + through - count;
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) starts[in.clusters] = before;
}

// Rows to their places, in their order; a warp for each tile, with the next place of each label in shared memory.
template <class Scalar>
__global__ void __launch_bounds__(32 * most_scatter_warps) scatter_kernel(sorted_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  extern __shared__ unsigned next_places[];
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  const lane_part part(in, static_cast<int>(blockIdx.y));
  const int tile = static_cast<int>(blockIdx.x) * warps + warp;
  if (tile >= part.tiles) return;
  const int lane = threadIdx.x % 32;
  const unsigned* const before = in.memory.counts + std::size_t(part.first_tile + tile) * in.clusters;
  const unsigned* const starts = in.memory.starts + std::size_t{blockIdx.y} * (in.clusters + 1);
  unsigned* const places = next_places + warp * in.clusters;
#pragma unroll 8
  for (int k = lane; k < in.clusters; k += 32) places[k] = starts[k] + before[k];
  const std::size_t begin = part.begin + std::size_t(tile) * in.tile_rows;
  const int count = static_cast<int>(min(part.end - begin, static_cast<std::size_t>(in.tile_rows)));
  constexpr int ahead = 8;  // labels of a lane that are on their way
  int labels[ahead];
  const auto read = [&](int first) {
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      const int row = first + a * 32 + lane;
      labels[a] = row < count ? in.labels[begin + row] : -1;
    }
  };
  read(0);
  __syncwarp();
  for (int first = 0; first < count; first += 32 * ahead) {
    int now[ahead];
#pragma unroll
    for (int a = 0; a < ahead; ++a) now[a] = labels[a];
    if (first + 32 * ahead < count) read(first + 32 * ahead);
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      const int label = now[a];
      const unsigned same = __match_any_sync(~0u, label);
      const int rank = __popc(same & ((1u << lane) - 1));
      unsigned place = 0;
      if (label >= 0) place = places[label];
      __syncwarp();
      if (label >= 0) {
        if (rank == 0) places[label] = place + __popc(same);
        in.memory.order[place + rank] = static_cast<unsigned>(begin) + first + a * 32 + lane;
      }
      __syncwarp();
    }
  }
}

}  // namespace

template <class Scalar>
void sort_rows(const sorted_arguments<Scalar>& in, int lanes, cudaStream_t stream) {
  const auto of_piece = static_cast<unsigned>(lanes);
  const int rows = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(in.plan.lane_rows), in.piece.count));
  const auto tiles = static_cast<unsigned>((rows + in.tile_rows - 1) / in.tile_rows);
  cuda::launch_in_turn(count_kernel<Scalar>, dim3(tiles, of_piece), count_threads,
                       sort_shared_bytes(static_cast<std::size_t>(in.clusters)), stream, in);
  cuda::launch_in_turn(scan_kernel<Scalar>,
                       dim3(static_cast<unsigned>((in.clusters + scan_threads - 1) / scan_threads), of_piece),
                       scan_threads, 0, stream, in);
  cuda::launch_in_turn(start_kernel<Scalar>, of_piece, start_threads, 0, stream, in);
  const std::size_t warp_bytes = sort_shared_bytes(static_cast<std::size_t>(in.clusters));
  const auto warps = static_cast<unsigned>(std::clamp<std::size_t>(scatter_bytes / warp_bytes, 1, most_scatter_warps));
  cuda::launch_in_turn(scatter_kernel<Scalar>, dim3((tiles + warps - 1) / warps, of_piece), 32 * warps,
                       warps * warp_bytes, stream, in);
}
template void sort_rows(const sorted_arguments<float>&, int, cudaStream_t);
template void sort_rows(const sorted_arguments<double>&, int, cudaStream_t);

}  // namespace shoal::kmeans
