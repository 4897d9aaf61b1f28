// Sums by label of many clusters and columns: the rows of each lane are sorted by label, and a warp adds up those of
// one cluster, one after another, in registers. A cluster's sums go from row to row, so that no cut changes a bit.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/kmeans/cuda/sum_sorted.cuh>

namespace shoal::kmeans {
namespace {

constexpr int warps = 8;  // of a block that sums
constexpr int finish_threads = 1024;
constexpr int part_columns = 128;  // of a warp: four of each thread
constexpr int most_parts = 2;      // that a warp takes together

// A thread's columns of a row: four neighbours of each 128, or every 32nd.
template <int Parts, bool Aligned>
__device__ int column_of(int i) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return Aligned ? i / 4 * part_columns + lane * 4 + i % 4 : i * 32 + lane;
}
template <int Parts, bool Aligned>
__device__ void read_columns(const float* row, int columns, float (&to)[4 * Parts]) {
#pragma unroll
  for (int i = 0; i < 4 * Parts; i += 4) {
    if constexpr (Aligned) {
      const int column = column_of<Parts, true>(i);
      float4 four = make_float4(0, 0, 0, 0);
      if (column < columns) four = __ldg(reinterpret_cast<const float4*>(row + column));
      to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    } else {
#pragma unroll
      for (int e = i; e < i + 4; ++e) {
        const int column = column_of<Parts, false>(e);
        to[e] = column < columns ? __ldg(row + column) : 0.0f;
      }
    }
  }
}
template <int Parts, bool Aligned>
__device__ void read_columns(const double* row, int columns, double (&to)[4 * Parts]) {
#pragma unroll
  for (int i = 0; i < 4 * Parts; i += 2) {
    if constexpr (Aligned) {
      const int column = column_of<Parts, true>(i);
      double2 two = make_double2(0, 0);
      if (column < columns) two = __ldg(reinterpret_cast<const double2*>(row + column));
      to[i] = two.x, to[i + 1] = two.y;
    } else {
#pragma unroll
      for (int e = i; e < i + 2; ++e) {
        const int column = column_of<Parts, false>(e);
        to[e] = column < columns ? __ldg(row + column) : 0.0;
      }
    }
  }
}

// A warp for each cluster of a lane and chunk of columns.
template <class Scalar, int Parts, bool Aligned>
__global__ void __launch_bounds__(32 * warps) sum_kernel(sorted_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  constexpr int width = 4 * Parts, chunk_columns = part_columns * Parts;
  constexpr int batch = sizeof(Scalar) * Parts <= 8 ? (sizeof(Scalar) * Parts <= 4 ? 8 : 4) : 2;
  const int lane = threadIdx.x % 32;
  const int task = static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / 32;
  const int k = task / in.chunks, chunk = task % in.chunks;
  if (k >= in.clusters) return;
  const lane_part part(in, static_cast<int>(blockIdx.y));
  const unsigned* const starts = in.memory.starts + std::size_t{blockIdx.y} * (in.clusters + 1) + k;
  const unsigned begin = starts[0], end = starts[1];
  const int first_column = chunk * chunk_columns, columns = min(in.columns - first_column, chunk_columns);
  double* const state = in.lanes + std::size_t(in.first_lane + blockIdx.y) * in.plan.block_doubles;
  double* const state_sums = state + std::size_t(k) * in.columns + first_column;
  double* const state_weight = state + std::size_t(in.clusters) * in.columns + k;
  double* const state_inertia = state + sorted_reduced(in.clusters, in.columns) + std::size_t(task) * 32;
  Scalar c[width];
  read_columns<Parts, Aligned>(in.rounded + std::size_t(k) * in.columns + first_column, columns, c);
  double sums[width], weight = 0, inertia = 0;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const int column = column_of<Parts, Aligned>(i);
    sums[i] = part.fresh || column >= columns ? 0.0 : state_sums[column];
  }
  if (!part.fresh) {
    weight = *state_weight;
    inertia = state_inertia[lane];
  }
  const Scalar* const rows = in.piece.rows + first_column;
  for (unsigned first = begin; first < end; first += 32) {
    const int count = static_cast<int>(min(end - first, 32u));
    const unsigned own = in.memory.order[first + min(lane, count - 1)];
    double own_weight = 1;
    if (in.piece.weights != nullptr) own_weight = static_cast<double>(in.piece.weights[own]);
    for (int r = 0; r < count; r += batch) {
      Scalar x[batch][width];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        const unsigned row = __shfl_sync(~0u, own, min(r + b, count - 1));
        read_columns<Parts, Aligned>(rows + std::size_t{row} * in.columns, columns, x[b]);
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        if (r + b >= count) break;
        const double w = __shfl_sync(~0u, own_weight, r + b);
        weight += w;
#pragma unroll
        for (int i = 0; i < width; ++i) {
          const auto difference = static_cast<double>(x[b][i] - c[i]);
          const double weighted = w * difference;
          inertia = fma(weighted, difference, inertia);
          sums[i] += weighted;
        }
      }
    }
  }
  __syncwarp();  // all have read the state
  if (part.complete) {
    // From the rounded centroid to the float64 one.
    const double* const exact = in.centroids + std::size_t(k) * in.columns + first_column;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const int column = column_of<Parts, Aligned>(i);
      if (column >= columns) continue;
      const double moved = exact[column] - static_cast<double>(c[i]);
      inertia += moved * (weight * moved - 2 * sums[i]);
      sums[i] -= weight * moved;
    }
    inertia = cuda::warp_sum(inertia);
  }
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const int column = column_of<Parts, Aligned>(i);
    if (column < columns) state_sums[column] = sums[i];
  }
  if (lane == 0 && chunk == 0) in.memory.weights[std::size_t{blockIdx.y} * in.clusters + k] = weight;
  if (!part.complete || lane == 0) state_inertia[lane] = inertia;
}

// The weights of a lane's clusters, which warps of other columns have read by now, and the inertia of a complete one.
template <class Scalar>
__global__ void __launch_bounds__(finish_threads) finish_kernel(sorted_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  __shared__ double parts[finish_threads / 32];
  const lane_part part(in, static_cast<int>(blockIdx.x));
  double* const state = in.lanes + std::size_t(in.first_lane + blockIdx.x) * in.plan.block_doubles;
  for (int k = threadIdx.x; k < in.clusters; k += finish_threads) {
    state[std::size_t(in.clusters) * in.columns + k] = in.memory.weights[std::size_t{blockIdx.x} * in.clusters + k];
  }
  if (!part.complete) return;
  const double* const inertias = state + sorted_reduced(in.clusters, in.columns);
  double sum = 0;
  for (int i = threadIdx.x; i < in.clusters * in.chunks; i += finish_threads) sum += inertias[std::size_t(i) * 32];
  sum = cuda::warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < finish_threads / 32; ++w) sum += parts[w];
  state[sorted_reduced(in.clusters, in.columns) - 1] = sum;
}

int parts_for(int columns) { return columns <= part_columns ? 1 : most_parts; }
int chunks_for(int columns) {
  const int chunk = part_columns * parts_for(columns);
  return (columns + chunk - 1) / chunk;
}
int tile_rows_for(std::size_t clusters) { return 1024 * static_cast<int>((clusters + 4095) / 4096); }
std::size_t most_piece_lanes(const sum_plan& plan, std::size_t piece_rows) {
  const std::size_t of_rows = piece_rows / static_cast<std::size_t>(plan.lane_rows) + 2 * plan.shards() + 1;
  return std::min(static_cast<std::size_t>(plan.lanes), of_rows);
}

template <class Scalar, int Parts, bool Aligned>
void launch_sum(const sorted_arguments<Scalar>& in, int lanes, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((in.clusters * in.chunks + warps - 1) / warps), static_cast<unsigned>(lanes));
  cuda::launch_in_turn(sum_kernel<Scalar, Parts, Aligned>, grid, 32 * warps, 0, stream, in);
}

}  // namespace

bool is_summed_sorted(std::size_t clusters, std::size_t columns, std::size_t shared_bytes) {
  return columns >= least_sorted_columns && clusters >= least_sorted_clusters && clusters <= most_sorted_clusters &&
         clusters * columns >= least_sorted_numbers && sort_shared_bytes(clusters) <= shared_bytes;
}

sum_plan make_sorted_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                          std::size_t multiprocessors) {
  const auto chunks = static_cast<std::size_t>(chunks_for(static_cast<int>(columns)));
  // So many warps keep a GPU busy; more lanes than that, or of fewer rows, would only have their sums to write and
  // read.
  const std::size_t wanted = 64 * multiprocessors, tasks = clusters * chunks;
  const std::size_t of_rows = summed.shard / (16 * clusters);
  const std::size_t lanes = std::clamp<std::size_t>(std::min((wanted + tasks - 1) / tasks, of_rows), 1, 64);
  return one_pass_plan(summed, clusters, columns, lanes, sorted_reduced(clusters, columns) + 32 * tasks,
                       cuda::piece_unit);
}

void sort_memory::grow(const sum_plan& plan, std::size_t clusters, std::size_t piece_rows) {
  const std::size_t lanes = most_piece_lanes(plan, piece_rows);
  const std::size_t tiles = piece_rows / static_cast<std::size_t>(tile_rows_for(clusters)) + lanes + 1;
  counts_.grow(tiles * clusters);
  starts_.grow(lanes * (clusters + 1));
  order_.grow(piece_rows);
  weights_.grow(lanes * clusters);
  buffers_ = {counts_.data(), starts_.data(), order_.data(), weights_.data()};
}

template <class Scalar>
void sum_sorted(const sum_plan& plan, const cuda::device_piece<Scalar>& piece,
                const device_centroids<Scalar>& centroids, const std::int32_t* labels, const sort_buffers& memory,
                double* lanes, unsigned long long* fingerprint, const int* stopped, cudaStream_t stream) {
  sorted_arguments<Scalar> in;
  in.plan = plan;
  in.piece = piece;
  in.memory = memory;
  in.first_lane = plan.first_lane(piece);
  in.clusters = centroids.clusters;
  in.columns = centroids.columns;
  in.tile_rows = tile_rows_for(static_cast<std::size_t>(in.clusters));
  in.chunks = chunks_for(in.columns);
  in.centroids = centroids.values;
  in.rounded = centroids.rounded;
  in.labels = labels;
  in.lanes = lanes;
  in.fingerprint = fingerprint;
  in.stopped = stopped;
  const int count = plan.piece_lanes(piece);
  const auto of_piece = static_cast<unsigned>(count);
  sort_rows(in, count, stream);
  const bool aligned = in.columns % (16 / sizeof(Scalar)) == 0;
  if (parts_for(in.columns) == 1) {
    aligned ? launch_sum<Scalar, 1, true>(in, count, stream) : launch_sum<Scalar, 1, false>(in, count, stream);
  } else {
    aligned ? launch_sum<Scalar, 2, true>(in, count, stream) : launch_sum<Scalar, 2, false>(in, count, stream);
  }
  cuda::launch_in_turn(finish_kernel<Scalar>, of_piece, finish_threads, 0, stream, in);
}
template void sum_sorted(const sum_plan&, const cuda::device_piece<float>&, const device_centroids<float>&,
                         const std::int32_t*, const sort_buffers&, double*, unsigned long long*, const int*,
                         cudaStream_t);
template void sum_sorted(const sum_plan&, const cuda::device_piece<double>&, const device_centroids<double>&,
                         const std::int32_t*, const sort_buffers&, double*, unsigned long long*, const int*,
                         cudaStream_t);

}  // namespace shoal::kmeans
