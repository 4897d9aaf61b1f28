// Few clusters and columns: rows into labels and sums in one pass over memory, everything in registers.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <type_traits>

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
constexpr int each = 8;               // rows of a thread at a time; they are summed in float32
constexpr int part_rows = 32 * each;  // of a warp at a time
constexpr int most_clusters = static_cast<int>(most_fused_clusters_on_device);

using fused_arguments = one_pass_arguments<float>;

// What the block knows of the centroids.
template <int Columns>
struct fused_centroids {
  double values[most_clusters * Columns];
  float rounded[most_clusters * Columns];
  double norms[most_clusters];
  double gaps[most_clusters];  // least squared distance to a centroid before it
  float relative, absolute;    // how far two distances must be apart: relative · the larger + absolute
};

// The bound of add_fused in kmeans/accumulate.cpp: (d + 3) roundings of a distance D, and 2√D·η + η² for centroids
// moved by η ≤ unit·‖c‖, where 2√D ≤ D/r + r for any r; a row between two centroids has √D near half their distance.
template <int Columns>
__device__ void prepare(const fused_arguments& in, fused_centroids<Columns>& c) {
  const int k = threadIdx.x;
  if (k < in.clusters * Columns) {
    c.values[k] = in.centroids[k];
    c.rounded[k] = static_cast<float>(in.centroids[k]);
  }
  __syncthreads();
  if (k < in.clusters) {
    double norm = 0, least = static_cast<double>(INFINITY);
    for (int j = 0; j < Columns; ++j) norm += c.values[k * Columns + j] * c.values[k * Columns + j];
    for (int other = 0; other < k; ++other) {
      double squared = 0;
      for (int j = 0; j < Columns; ++j) {
        const double difference = c.values[k * Columns + j] - c.values[other * Columns + j];
        squared += difference * difference;
      }
      least = fmin(least, squared);
    }
    c.norms[k] = norm;
    c.gaps[k] = least;
  }
  __syncthreads();
  if (k == 0) {
    double norm = 0, gap = static_cast<double>(INFINITY);
    for (int i = 0; i < in.clusters; ++i) {
      norm = fmax(norm, c.norms[i]);
      gap = fmin(gap, c.gaps[i]);
    }
    constexpr double unit = 0x1p-24 * 1.05;
    const double moved = unit * sqrt(norm), half_gap = isfinite(gap) ? sqrt(gap) / 2 : 1.0;
    const double radius = fmax(half_gap, fmax(moved, 1e-30));
    c.relative = static_cast<float>((4 * Columns + 12) * unit + 2 * moved / radius);
    c.absolute = static_cast<float>(2 * moved * radius + 2 * moved * moved) + 16 * std::numeric_limits<float>::min();
  }
  __syncthreads();
}

template <int Columns>
__device__ int nearest_in_float64(const fused_centroids<Columns>& c, int clusters, const float (&x)[Columns]) {
  int nearest = 0;
  double least = 0;
  for (int k = 0; k < clusters; ++k) {
    double distance = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      const double difference = __dsub_rn(static_cast<double>(x[j]), c.values[k * Columns + j]);
      distance = __dadd_rn(distance, __dmul_rn(difference, difference));
    }
    if (k == 0 || distance < least) {
      least = distance;
      nearest = k;
    }
  }
  return nearest;
}

template <int Columns, int Clusters, bool Weighted>
__global__ void __launch_bounds__(threads, Columns <= 2 && Clusters <= 4 ? 2 : 1) fused_kernel(fused_arguments in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  constexpr int terms = Clusters * (Columns + 1) + 1;                // [k][d] sums, [k] weights, inertia
  constexpr int together = Columns == 2 ? 2 : Columns == 4 ? 1 : 4;  // consecutive rows of a thread
  constexpr int vectors = together * Columns / 4;                    // float4 that hold them
  __shared__ fused_centroids<Columns> centroids;
  __shared__ uint2 words[hashed_rows];
  __shared__ double parts[warps][terms];
  __shared__ unsigned long long hashes[warps];
  for (int i = threadIdx.x; i < hashed_rows; i += threads) {
    words[i] = make_uint2(hash_table.words[i], hash_table.words[hashed_rows + i]);
  }
  prepare(in, centroids);
  float c[Clusters][Columns];
#pragma unroll
  for (int k = 0; k < Clusters; ++k) {
#pragma unroll
    for (int j = 0; j < Columns; ++j) c[k][j] = k < in.clusters ? centroids.rounded[k * Columns + j] : 0.0f;
  }
  // With two places for clusters and one cluster, the other is too far for any row.
  if (Clusters == 2 && in.clusters == 1) c[1][0] = std::numeric_limits<float>::max();
  const float relative = centroids.relative, absolute = centroids.absolute;
  const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;
  const int lane = in.first_lane + blockIdx.x;
  double* const state = in.lanes + std::size_t(lane) * in.plan.block_doubles;
  const std::size_t lane_begin = in.plan.lane_begin(lane);
  const std::size_t lane_end = in.plan.lane_end(lane);
  const std::size_t begin = max(lane_begin, in.piece.share_first);
  const std::size_t end = min(lane_end, in.piece.share_first + in.piece.count);
  const int reduced = in.clusters * (Columns + 1) + 1;  // of a complete lane, before the threads' own sums
  double sums[terms];
#pragma unroll
  for (int t = 0; t < terms; ++t) {
    sums[t] = begin == lane_begin ? 0.0 : state[reduced + t * threads + threadIdx.x];
  }
  unsigned long long fingerprint = 0;
  // Rows of the next tile are on their way while those of this one are added up, where there are registers for both.
  constexpr bool early = Columns <= 2;
  float4 read[each / together * vectors];
  const auto read_full_part = [&](std::size_t local) {
    const auto* from = reinterpret_cast<const float4*>(in.piece.rows + local * Columns);
#pragma unroll
    for (int i = 0; i < each / together; ++i) {
#pragma unroll
      for (int v = 0; v < vectors; ++v) read[i * vectors + v] = from[(i * 32 + thread) * vectors + v];
    }
  };
  const std::size_t past = end - in.piece.share_first;
  const auto is_full = [&](std::size_t at) { return at + part_rows <= past; };
  const std::size_t warp_begin = begin - in.piece.share_first + warp * hashed_rows;
  if (early && is_full(warp_begin)) read_full_part(warp_begin);

  for (std::size_t local = warp_begin; local < past; local += tile_rows) {
    unsigned low = 0, high = 0;
#pragma unroll 1
    for (int first = 0; first < hashed_rows && local + first < past; first += part_rows) {
      const std::size_t at = local + first;
      const std::size_t next = first + part_rows < hashed_rows ? at + part_rows : local + tile_rows;
      const int count = static_cast<int>(min(std::size_t{part_rows}, past - at));
      float partial[terms] = {};
      const auto row_of = [&](int i) { return (i / together * 32 + thread) * together + i % together; };
      const auto add_tile = [&](auto wholly) {
        constexpr bool full = wholly.value;
        float x[each][Columns];
        if constexpr (full) {
          if (!early) read_full_part(at);
#pragma unroll
          for (int i = 0; i < each / together; ++i) {
            float values[4 * vectors];
#pragma unroll
            for (int v = 0; v < vectors; ++v) {
              const float4 four = read[i * vectors + v];
              values[4 * v] = four.x, values[4 * v + 1] = four.y, values[4 * v + 2] = four.z,
                         values[4 * v + 3] = four.w;
            }
#pragma unroll
            for (int r = 0; r < together; ++r) {
#pragma unroll
              for (int j = 0; j < Columns; ++j) x[i * together + r][j] = values[r * Columns + j];
            }
          }
          if (early && is_full(next)) read_full_part(next);
        } else {
#pragma unroll
          for (int i = 0; i < each; ++i) {
#pragma unroll
            for (int j = 0; j < Columns; ++j) x[i][j] = in.piece.rows[(at + min(row_of(i), count - 1)) * Columns + j];
          }
        }

        float distances[each];
        int labels[each];
        unsigned doubtful = 0;
#pragma unroll
        for (int i = 0; i < each; ++i) {
          float best = 0, second = std::numeric_limits<float>::max() / 16;
          int label = 0;
#pragma unroll
          for (int k = 0; k < Clusters; ++k) {
            if (Clusters > 2 && k >= in.clusters) continue;
            float distance = 0;
#pragma unroll
            for (int j = 0; j < Columns; ++j) distance = fmaf(x[i][j] - c[k][j], x[i][j] - c[k][j], distance);
            if (k == 0) {
              best = distance;
            } else {
              label = distance < best ? k : label;
              second = fminf(second, fmaxf(best, distance));
              best = fminf(best, distance);
            }
          }
          distances[i] = best;
          labels[i] = label;
          doubtful |= second - best > fmaf(relative, second, absolute) ? 0u : 1u << i;
        }
        while (doubtful != 0) {
          const int which = __ffs(doubtful) - 1;
          doubtful &= doubtful - 1;
          float again[Columns];
#pragma unroll
          for (int j = 0; j < Columns; ++j) {
            again[j] = in.piece.rows[(at + min(row_of(which), count - 1)) * Columns + j];
          }
          const int label = nearest_in_float64(centroids, in.clusters, again);
          float distance = 0;
#pragma unroll
          for (int j = 0; j < Columns; ++j) {
            const float difference = again[j] - centroids.rounded[label * Columns + j];
            distance = fmaf(difference, difference, distance);
          }
#pragma unroll
          for (int i = 0; i < each; ++i) {
            if (i != which) continue;
            labels[i] = label;
            distances[i] = distance;
          }
        }

#pragma unroll
        for (int i = 0; i < each; ++i) {
          if (full || row_of(i) < count) {
            const uint2 word = words[first + row_of(i)];
            low += static_cast<unsigned>(labels[i]) * word.x;
            high += static_cast<unsigned>(labels[i]) * word.y;
          }
          float weight = 1;
          if constexpr (Weighted) weight = full || row_of(i) < count ? in.piece.weights[at + row_of(i)] : 0.0f;
          if constexpr (!full && !Weighted) weight = row_of(i) < count ? 1.0f : 0.0f;
          partial[terms - 1] = fmaf(weight, distances[i], partial[terms - 1]);
#pragma unroll
          for (int k = 0; k < Clusters; ++k) {
            const float mine = labels[i] == k ? weight : 0.0f;
            partial[Clusters * Columns + k] += mine;
#pragma unroll
            for (int j = 0; j < Columns; ++j) {
              partial[k * Columns + j] = fmaf(mine, x[i][j] - c[k][j], partial[k * Columns + j]);
            }
          }
        }
        if (in.labels != nullptr) {
#pragma unroll
          for (int i = 0; i < each; ++i) {
            if (full || row_of(i) < count) in.labels[at + row_of(i)] = labels[i];
          }
        }
      };
      if (count == part_rows) {
        add_tile(std::true_type());
      } else {
        add_tile(std::false_type());
      }
      // Squares lost below the normal numbers, or that overflowed, are summed again in float64.
      bool sound = isfinite(partial[terms - 1]) && partial[terms - 1] > std::numeric_limits<float>::min() * 0x1p60f;
#pragma unroll
      for (int t = 0; t + 1 < terms; ++t) sound = sound && isfinite(partial[t]);
      if (sound) {
#pragma unroll
        for (int t = 0; t < terms; ++t) sums[t] += static_cast<double>(partial[t]);
      } else {
#pragma unroll 1
        for (int i = 0; i < each; ++i) {
          const int row = row_of(i);
          if (row >= count) continue;
          float again[Columns];
          const float weight = Weighted ? in.piece.weights[at + row] : 1.0f;
#pragma unroll
          for (int j = 0; j < Columns; ++j) again[j] = in.piece.rows[(at + row) * Columns + j];
          const int label = nearest_in_float64(centroids, in.clusters, again);
#pragma unroll
          for (int k = 0; k < Clusters; ++k) {
            if (k != label) continue;
            sums[Clusters * Columns + k] += static_cast<double>(weight);
#pragma unroll
            for (int j = 0; j < Columns; ++j) {
              const double difference = static_cast<double>(again[j]) - static_cast<double>(c[k][j]);
              sums[k * Columns + j] += static_cast<double>(weight) * difference;
              sums[terms - 1] += static_cast<double>(weight) * difference * difference;
            }
          }
        }
      }
    }
    low = __reduce_add_sync(~0u, low);
    high = __reduce_add_sync(~0u, high);
    fingerprint += hash_of_block(odd_of_block((in.piece.first + local) / hashed_rows), low, high);
  }

  if (thread == 0) hashes[warp] = fingerprint;
  if (end < lane_end) {
#pragma unroll
    for (int t = 0; t < terms; ++t) state[reduced + t * threads + threadIdx.x] = sums[t];
  } else {
#pragma unroll
    for (int t = 0; t < terms; ++t) {
      sums[t] = cuda::warp_sum(sums[t]);
      if (thread == 0) parts[warp][t] = sums[t];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < warps; ++w) fingerprint += hashes[w];
    if (fingerprint != 0) atomicAdd(in.fingerprint, fingerprint);
  }
  if (end < lane_end) return;
  // The lane is complete: from the rounded centroids to the float64 ones.
  for (int t = threadIdx.x; t < terms; t += threads) {
    double sum = parts[0][t];
    for (int w = 1; w < warps; ++w) sum += parts[w][t];
    parts[0][t] = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  double inertia = parts[0][terms - 1];
  for (int k = 0; k < in.clusters; ++k) {
    const double weight = parts[0][Clusters * Columns + k];
    for (int j = 0; j < Columns; ++j) {
      const double sum = parts[0][k * Columns + j];
      const double moved = centroids.values[k * Columns + j] - static_cast<double>(centroids.rounded[k * Columns + j]);
      inertia += moved * (weight * moved - 2 * sum);
      state[k * Columns + j] = sum - weight * moved;
    }
    state[in.clusters * Columns + k] = weight;
  }
  state[reduced - 1] = inertia;
}

template <int Columns, int Clusters>
void launch(const fused_arguments& in, unsigned lanes, cudaStream_t stream) {
  if (in.piece.weights == nullptr) {
    cuda::launch_in_turn(fused_kernel<Columns, Clusters, false>, lanes, threads, 0, stream, in);
  } else {
    cuda::launch_in_turn(fused_kernel<Columns, Clusters, true>, lanes, threads, 0, stream, in);
  }
}

}  // namespace

sum_plan make_fused_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                         std::size_t multiprocessors) {
  // What a block does before its first tile and after its last costs as much as a tile, so all blocks run at once.
  const std::size_t wanted = multiprocessors * 2;
  const std::size_t slots = slots_for(clusters);
  const std::size_t block_doubles = clusters * (columns + 1) + 1 + threads * (slots * (columns + 1) + 1);
  return one_pass_plan(summed, clusters, columns, wanted, block_doubles, tile_rows);
}

void fold_fused(const sum_plan& plan, const cuda::device_piece<float>& piece, const device_centroids<float>& centroids,
                std::int32_t* labels, double* lanes, unsigned long long* fingerprint, const int* stopped,
                cudaStream_t stream) {
  const fused_arguments in = one_pass(plan, piece, centroids, labels, lanes, fingerprint, stopped);
  const auto count = static_cast<unsigned>(plan.piece_lanes(piece));
  with_shape(static_cast<std::size_t>(in.columns), static_cast<std::size_t>(in.clusters),
             [&](auto columns, auto slots) { launch<columns, slots>(in, count, stream); });
}

}  // namespace shoal::kmeans
