// Few clusters and many columns: rows into labels and sums in one pass over memory, a warp for each row, the sums of
// all clusters in registers.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

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
constexpr int warp_rows = hashed_rows / warps;  // of a block of the fingerprint
constexpr int together = 4;                     // rows that a warp labels at a time
constexpr int clusters = most_wide_clusters;    // that a thread has registers for
static_assert(cuda::piece_unit % hashed_rows == 0);

using wide_arguments = one_pass_arguments<float>;

// A thread's columns: four neighbours of each 128.
template <int Parts>
struct columns_of_thread {
  float values[4 * Parts];
};

template <int Parts, bool Aligned>
__device__ void read_columns(const float* row, int columns, columns_of_thread<Parts>& to) {
  const int first = static_cast<int>(threadIdx.x) % 32 * 4;
#pragma unroll
  for (int p = 0; p < Parts; ++p) {
    const int column = 128 * p + first;
    if constexpr (Aligned) {
      float4 four = make_float4(0, 0, 0, 0);
      if (column < columns) four = *reinterpret_cast<const float4*>(row + column);
      to.values[4 * p] = four.x, to.values[4 * p + 1] = four.y;
      to.values[4 * p + 2] = four.z, to.values[4 * p + 3] = four.w;
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) to.values[4 * p + e] = column + e < columns ? row[column + e] : 0.0f;
    }
  }
}

// The definition's label of a row, by all threads of a warp: sums in another order decide unless they are so close that
// rounding, (columns + 2) units of each at most, could have turned them.
template <int Parts>
__device__ int nearest_in_float64(const wide_arguments& in, const columns_of_thread<Parts>& x, const float* row) {
  const int thread = threadIdx.x % 32;
  int nearest = 0;
  double least = static_cast<double>(INFINITY), second = least;
  for (int k = 0; k < in.clusters; ++k) {
    double distance = 0;
#pragma unroll
    for (int i = 0; i < 4 * Parts; ++i) {
      const int column = i / 4 * 128 + thread * 4 + i % 4;
      if (column >= in.columns) continue;
      const double difference = static_cast<double>(x.values[i]) - in.centroids[std::size_t(k) * in.columns + column];
      distance += difference * difference;
    }
    distance = cuda::warp_sum(distance);
    second = fmin(second, fmax(least, distance));
    if (distance < least) least = distance, nearest = k;
  }
  if (second - least > 4.0 * (in.columns + 4) * 0x1p-53 * second + 0x1p-1000) return nearest;
  double distance = static_cast<double>(INFINITY);
  if (thread < in.clusters) {
    distance = 0;
    for (int j = 0; j < in.columns; ++j) {
      const double difference =
          __dsub_rn(static_cast<double>(row[j]), in.centroids[std::size_t(thread) * in.columns + j]);
      distance = __dadd_rn(distance, __dmul_rn(difference, difference));
    }
  }
  nearest = thread;
  for (int step = 16; step > 0; step /= 2) {
    const double other = __shfl_xor_sync(~0u, distance, step);
    const int other_nearest = __shfl_xor_sync(~0u, nearest, step);
    if (other < distance || (other == distance && other_nearest < nearest)) distance = other, nearest = other_nearest;
  }
  return nearest;
}

template <int Parts, bool Aligned>
__global__ void __launch_bounds__(threads, Parts == 1 ? 2 : 1) wide_kernel(wide_arguments in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  constexpr int width = 4 * Parts, terms = clusters * (width + 1) + 1;  // [k][width] sums, [k] weights, inertia
  __shared__ uint2 words[hashed_rows];
  __shared__ double shared_sums[clusters * 128 * Parts], shared_weights[warps][clusters], shared_inertia[warps];
  __shared__ float norms[clusters];
  __shared__ unsigned hashes[warps][2];
  const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;
  for (int i = threadIdx.x; i < hashed_rows; i += threads) {
    words[i] = make_uint2(hash_table.words[i], hash_table.words[hashed_rows + i]);
  }
  const auto column_of = [&](int i) { return i / 4 * 128 + thread * 4 + i % 4; };
  const auto is_column = [&](int k, int i) { return k < in.clusters && column_of(i) < in.columns; };
  float c[clusters][width];
#pragma unroll
  for (int k = 0; k < clusters; ++k) {
    float norm = 0;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      c[k][i] = is_column(k, i) ? static_cast<float>(in.centroids[std::size_t(k) * in.columns + column_of(i)]) : 0.0f;
      norm = fmaf(c[k][i], c[k][i], norm);
    }
    norm = cuda::warp_sum(norm);
    if (threadIdx.x == 0) norms[k] = norm;
  }
  __syncthreads();
  float largest = 0;
  for (int k = 0; k < clusters; ++k) largest = fmaxf(largest, norms[k]);
  constexpr float unit = 0x1p-24f * 1.05f;
  const float moved = unit * sqrtf(largest) * 1.0001f;

  const int lane = in.first_lane + static_cast<int>(blockIdx.x);
  double* const state = in.lanes + std::size_t(lane) * in.plan.block_doubles;
  const std::size_t lane_begin = in.plan.lane_begin(lane);
  const std::size_t lane_end = in.plan.lane_end(lane);
  const std::size_t begin = max(lane_begin, in.piece.share_first) - in.piece.share_first;
  const std::size_t end = min(lane_end, in.piece.share_first + in.piece.count) - in.piece.share_first;
  const bool fresh = begin + in.piece.share_first == lane_begin, complete = end + in.piece.share_first == lane_end;
  const int reduced = in.clusters * (in.columns + 1) + 1;  // of a complete lane, before the threads' own sums
  double sums[clusters][width], weights[clusters], inertia;
  const auto saved = [&](int term) -> double& { return state[reduced + term * threads + threadIdx.x]; };
#pragma unroll
  for (int k = 0; k < clusters; ++k) {
#pragma unroll
    for (int i = 0; i < width; ++i) sums[k][i] = fresh ? 0.0 : saved(k * width + i);
    weights[k] = fresh ? 0.0 : saved(clusters * width + k);
  }
  inertia = fresh ? 0.0 : saved(terms - 1);
  unsigned long long fingerprint = 0;

  for (std::size_t tile = begin; tile < end; tile += hashed_rows) {
    const std::size_t first = tile + warp * warp_rows;
    const int count = static_cast<int>(min(std::size_t{warp_rows}, end > first ? end - first : 0));
    unsigned low = 0, high = 0;
    columns_of_thread<Parts> next[together];
    const auto read = [&](int start) {
#pragma unroll
      for (int r = 0; r < together; ++r) {
        read_columns<Parts, Aligned>(in.piece.rows + (first + min(start + r, count - 1)) * in.columns, in.columns,
                                     next[r]);
      }
    };
    if (count > 0) read(0);
    for (int start = 0; start < count; start += together) {
      columns_of_thread<Parts> x[together];
#pragma unroll
      for (int r = 0; r < together; ++r) x[r] = next[r];
      if (start + together < count) read(start + together);
      float distances[together * clusters];
#pragma unroll
      for (int r = 0; r < together; ++r) {
#pragma unroll
        for (int k = 0; k < clusters; ++k) {
          float distance = 0;
#pragma unroll
          for (int i = 0; i < width; ++i) {
            const float difference = x[r].values[i] - c[k][i];
            distance = fmaf(difference, difference, distance);
          }
          distances[r * clusters + k] = distance;
        }
      }
      // At each step a thread gives away the half of its sums that its partner goes on with.
      constexpr int all = together * clusters;
#pragma unroll
      for (int step = 16, left = all; step > 0; step /= 2) {
        if (left > 1) {
          left /= 2;
          const bool upper = (thread & step) != 0;
#pragma unroll
          for (int i = 0; i < left; ++i) {
            const float mine = upper ? distances[left + i] : distances[i];
            const float given = upper ? distances[i] : distances[left + i];
            distances[i] = mine + __shfl_xor_sync(~0u, given, step);
          }
        } else {
          distances[0] += __shfl_xor_sync(~0u, distances[0], step);
        }
      }
      const float whole = distances[0];
#pragma unroll
      for (int r = 0; r < together; ++r) {
        if (start + r >= count) break;
        float best = std::numeric_limits<float>::infinity(), second = best;
        int label = 0;
#pragma unroll
        for (int k = 0; k < clusters; ++k) {
          // Sum r · clusters + k is with the threads that hold its number in their upper bits.
          const float distance = __shfl_sync(~0u, whole, (r * clusters + k) * (32 / all));
          if (k >= in.clusters) continue;
          second = fminf(second, fmaxf(best, distance));
          label = distance < best ? k : label;
          best = fminf(best, distance);
        }
        // (d + 3) roundings of a distance D, and 2√D·η + η² for a centroid that rounding moved by η.
        const float error = static_cast<float>(in.columns + 4) * unit * second + 2.001f * sqrtf(second) * moved +
                            moved * moved + static_cast<float>(in.columns + 8) * std::numeric_limits<float>::min();
        const std::size_t row = first + start + r;
        if (!(second - best > 2 * error) && in.clusters > 1) {
          label = nearest_in_float64(in, x[r], in.piece.rows + row * in.columns);
        }
        const double weight = in.piece.weights == nullptr ? 1.0 : static_cast<double>(in.piece.weights[row]);
#pragma unroll
        for (int k = 0; k < clusters; ++k) {
          if (label != k) continue;
#pragma unroll
          for (int i = 0; i < width; ++i) {
            const auto difference = static_cast<double>(x[r].values[i] - c[k][i]);
            const double weighted = weight * difference;
            inertia = fma(weighted, difference, inertia);
            sums[k][i] += weighted;
          }
          weights[k] += weight;
        }
        const uint2 word = words[warp * warp_rows + start + r];
        low += static_cast<unsigned>(label) * word.x;
        high += static_cast<unsigned>(label) * word.y;
        if (in.labels != nullptr && thread == 0) in.labels[row] = label;
      }
    }
    if (thread == 0) hashes[warp][0] = low, hashes[warp][1] = high;
    __syncthreads();
    if (threadIdx.x == 0) {
      low = high = 0;
      for (int w = 0; w < warps; ++w) low += hashes[w][0], high += hashes[w][1];
      fingerprint += hash_of_block(odd_of_block((in.piece.first + tile) / hashed_rows), low, high);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0 && fingerprint != 0) atomicAdd(in.fingerprint, fingerprint);

  if (!complete) {
#pragma unroll
    for (int k = 0; k < clusters; ++k) {
#pragma unroll
      for (int i = 0; i < width; ++i) saved(k * width + i) = sums[k][i];
      saved(clusters * width + k) = weights[k];
    }
    saved(terms - 1) = inertia;
    return;
  }
  // The lane is complete: warps add their sums one after another, which go from the rounded centroids to the float64
  // ones. Every thread of a warp has its weights.
  for (int w = 0; w < warps; ++w) {
    if (warp == w) {
#pragma unroll
      for (int k = 0; k < clusters; ++k) {
#pragma unroll
        for (int i = 0; i < width; ++i) {
          double& sum = shared_sums[k * 128 * Parts + column_of(i)];
          sum = w == 0 ? sums[k][i] : sum + sums[k][i];
        }
        if (thread == 0) shared_weights[w][k] = weights[k];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < clusters; ++k) {
    double weight = 0;
    for (int w = 0; w < warps; ++w) weight += shared_weights[w][k];
    for (int j = threadIdx.x; k < in.clusters && j < in.columns; j += threads) {
      const double value = in.centroids[std::size_t(k) * in.columns + j];
      const double moved_by = value - static_cast<double>(static_cast<float>(value));
      const double sum = shared_sums[k * 128 * Parts + j];
      inertia += moved_by * (weight * moved_by - 2 * sum);
      state[k * in.columns + j] = sum - weight * moved_by;
    }
    if (threadIdx.x == 0 && k < in.clusters) state[in.clusters * in.columns + k] = weight;
  }
  inertia = cuda::warp_sum(inertia);
  if (thread == 0) shared_inertia[warp] = inertia;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps; ++w) inertia += shared_inertia[w];
  state[reduced - 1] = inertia;
}

constexpr int parts_for(int columns) { return columns <= 128 ? 1 : 2; }

template <int Parts>
void launch(const wide_arguments& in, unsigned lanes, cudaStream_t stream) {
  cuda::launch_in_turn(in.columns % 4 == 0 ? wide_kernel<Parts, true> : wide_kernel<Parts, false>, lanes, threads, 0,
                       stream, in);
}

}  // namespace

bool is_wide(std::size_t clusters, std::size_t columns) {
  return columns >= least_wide_columns && columns <= most_wide_columns && clusters <= most_wide_clusters;
}

sum_plan make_wide_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                        std::size_t multiprocessors) {
  const std::size_t wanted = multiprocessors * 2;
  const auto width = static_cast<std::size_t>(4 * parts_for(static_cast<int>(columns)));
  const std::size_t block_doubles = clusters * (columns + 1) + 1 + threads * (most_wide_clusters * (width + 1) + 1);
  return one_pass_plan(summed, clusters, columns, wanted, block_doubles, hashed_rows);
}

void fold_wide(const sum_plan& plan, const cuda::device_piece<float>& piece, const device_centroids<float>& centroids,
               std::int32_t* labels, double* lanes, unsigned long long* fingerprint, const int* stopped,
               cudaStream_t stream) {
  const wide_arguments in = one_pass(plan, piece, centroids, labels, lanes, fingerprint, stopped);
  const auto count = static_cast<unsigned>(plan.piece_lanes(piece));
  parts_for(in.columns) == 2 ? launch<2>(in, count, stream) : launch<1>(in, count, stream);
}

}  // namespace shoal::kmeans
