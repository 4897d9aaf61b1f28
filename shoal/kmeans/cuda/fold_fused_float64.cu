// Few clusters and columns of float64 rows: labels by the definition and sums in one pass over memory, a thread a row.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/label_hash.cuh>
#include <shoal/kmeans/cuda/one_pass.cuh>

namespace shoal::kmeans {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int tile_rows = warps * hashed_rows;  // a warp takes the 512 rows of a block
static_assert(cuda::piece_unit % tile_rows == 0);
constexpr int each = 4;               // rows of a thread on their way from memory at a time
constexpr int part_rows = 32 * each;  // of a warp at a time
static_assert(hashed_rows % part_rows == 0);

using fused_arguments = one_pass_arguments<double>;

template <int Columns>
__device__ void read_row(const double* from, double (&to)[Columns]) {
  if constexpr (Columns % 2 == 0) {
#pragma unroll
    for (int j = 0; j < Columns; j += 2) {
      const double2 two = __ldcs(reinterpret_cast<const double2*>(from + j));
      to[j] = two.x, to[j + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int j = 0; j < Columns; ++j) to[j] = from[j];
  }
}

template <int Columns, int Clusters, bool Weighted>
__global__ void __launch_bounds__(threads, Clusters <= 4 ? 2 : 1) fused_kernel(fused_arguments in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  constexpr int terms = Clusters * (Columns + 1) + 1;  // [k][d] sums, [k] weights, inertia
  __shared__ double centroids[Clusters][Columns];
  __shared__ uint2 words[hashed_rows];
  __shared__ double parts[warps][terms];
  __shared__ unsigned long long hashes[warps];
  for (int i = threadIdx.x; i < hashed_rows; i += threads) {
    words[i] = make_uint2(hash_table.words[i], hash_table.words[hashed_rows + i]);
  }
  for (int i = threadIdx.x; i < Clusters * Columns; i += threads) {
    centroids[i / Columns][i % Columns] = i < in.clusters * Columns ? in.centroids[i] : static_cast<double>(INFINITY);
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;
  const int lane = in.first_lane + static_cast<int>(blockIdx.x);
  double* const state = in.lanes + std::size_t(lane) * in.plan.block_doubles;
  const std::size_t lane_begin = in.plan.lane_begin(lane), lane_end = in.plan.lane_end(lane);
  const std::size_t first = max(lane_begin, in.piece.share_first) - in.piece.share_first;
  const std::size_t end = min(lane_end, in.piece.share_first + in.piece.count) - in.piece.share_first;
  const bool fresh = first + in.piece.share_first == lane_begin, complete = end + in.piece.share_first == lane_end;
  const int reduced = in.clusters * (Columns + 1) + 1;  // of a complete lane, before the threads' own sums
  double sums[terms];
#pragma unroll
  for (int t = 0; t < terms; ++t) sums[t] = fresh ? 0.0 : state[reduced + t * threads + threadIdx.x];
  unsigned long long fingerprint = 0;

  for (std::size_t block = first + warp * hashed_rows; block < end; block += tile_rows) {
    unsigned low = 0, high = 0;
#pragma unroll 1
    for (int part = 0; part < hashed_rows && block + part < end; part += part_rows) {
      double x[each][Columns], weights[each];
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const std::size_t row = min(block + part + i * 32 + thread, end - 1);
        read_row<Columns>(in.piece.rows + row * Columns, x[i]);
        weights[i] = Weighted ? in.piece.weights[row] : 1.0;
      }
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const int place = part + i * 32 + thread;
        const bool there = block + place < end;
        double least = 0;
        int label = 0;
#pragma unroll
        for (int k = 0; k < Clusters; ++k) {
          // Nothing is contracted: the sum has the bits of the host's.
          double distance = 0;
#pragma unroll
          for (int j = 0; j < Columns; ++j) {
            const double difference = __dsub_rn(x[i][j], centroids[k][j]);
            distance = __dadd_rn(distance, __dmul_rn(difference, difference));
          }
          if (k == 0 || distance < least) least = distance, label = k;
        }
#pragma unroll
        for (int k = 0; k < Clusters; ++k) {
          const double mine = there && label == k ? weights[i] : 0.0;
          sums[Clusters * Columns + k] += mine;
#pragma unroll
          for (int j = 0; j < Columns; ++j) {
            const double difference = there && label == k ? x[i][j] - centroids[k][j] : 0.0;
            sums[k * Columns + j] = fma(mine, difference, sums[k * Columns + j]);
          }
        }
        if (there) {
          sums[terms - 1] = fma(weights[i], least, sums[terms - 1]);
          const uint2 word = words[place];
          low += static_cast<unsigned>(label) * word.x;
          high += static_cast<unsigned>(label) * word.y;
          if (in.labels != nullptr) in.labels[block + place] = label;
        }
      }
    }
    low = __reduce_add_sync(~0u, low);
    high = __reduce_add_sync(~0u, high);
    fingerprint += hash_of_block(odd_of_block((in.piece.first + block) / hashed_rows), low, high);
  }

  if (thread == 0) hashes[warp] = fingerprint;
#pragma unroll
  for (int t = 0; t < terms; ++t) {
    if (complete) {
      sums[t] = cuda::warp_sum(sums[t]);
      if (thread == 0) parts[warp][t] = sums[t];
    } else {
      state[reduced + t * threads + threadIdx.x] = sums[t];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < warps; ++w) fingerprint += hashes[w];
    if (fingerprint != 0) atomicAdd(in.fingerprint, fingerprint);
  }
  if (!complete) return;
  for (int t = threadIdx.x; t < terms; t += threads) {
    double sum = parts[0][t];
    for (int w = 1; w < warps; ++w) sum += parts[w][t];
    const int k = t < Clusters * Columns ? t / Columns : t - Clusters * Columns;
    if (t == terms - 1) {
      state[reduced - 1] = sum;
    } else if (k < in.clusters) {
      state[t < Clusters * Columns ? t : in.clusters * Columns + k] = sum;
    }
  }
}

template <int Columns, int Clusters>
void launch(const fused_arguments& in, unsigned lanes, cudaStream_t stream) {
  const auto kernel =
      in.piece.weights == nullptr ? fused_kernel<Columns, Clusters, false> : fused_kernel<Columns, Clusters, true>;
  cuda::launch_in_turn(kernel, lanes, threads, 0, stream, in);
}

}  // namespace

sum_plan make_fused_float64_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                                 std::size_t multiprocessors) {
  const std::size_t slots = slots_for(clusters);
  const std::size_t block_doubles = clusters * (columns + 1) + 1 + threads * (slots * (columns + 1) + 1);
  return one_pass_plan(summed, clusters, columns, multiprocessors * (slots <= 4 ? 2 : 1), block_doubles, tile_rows);
}

void fold_fused(const sum_plan& plan, const cuda::device_piece<double>& piece,
                const device_centroids<double>& centroids, std::int32_t* labels, double* lanes,
                unsigned long long* fingerprint, const int* stopped, cudaStream_t stream) {
  const fused_arguments in = one_pass(plan, piece, centroids, labels, lanes, fingerprint, stopped);
  const auto count = static_cast<unsigned>(plan.piece_lanes(piece));
  with_shape(static_cast<std::size_t>(in.columns), static_cast<std::size_t>(in.clusters),
             [&](auto columns, auto slots) { launch<columns, slots>(in, count, stream); });
}

}  // namespace shoal::kmeans
