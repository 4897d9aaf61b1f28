// Sums of rows by label: a block owns a lane of rows and a group of clusters, a warp some of those clusters. Rows are
// sorted by label, a tile at a time; those of one label are added up in registers, in their order, before they are
// added to what came before.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/label_hash.cuh>

namespace shoal::kmeans {
namespace {

constexpr int most_tile_rows = 4096;  // rows whose labels are sorted together; divides cuda::piece_unit
constexpr int warps = sum_threads / 32;
constexpr int most_turns = most_tile_rows / sum_threads;
static_assert(cuda::piece_unit % most_tile_rows == 0);

constexpr int most_buckets = sum_threads;

// Where blocks share the columns of few rows, so many threads add up what each has of a row at least: a sector of it.
constexpr int least_sharing_threads = 4;

// What a block keeps apart from its sums.
struct tile_memory {
  unsigned rows[most_tile_rows];               // of the tile, sorted: label · most_tile_rows + row
  std::uint16_t places[warps * most_buckets];  // [warp that looks][bucket] of its next row
  int of_warp[warps];                          // rows in the buckets of so many threads
  int starts[warps + 1];                       // [warp that adds] of its first place in rows
  unsigned hashes[warps][2];
};

// Which rows of the whole data a lane's block sums, and where.
template <class Scalar>
struct sum_arguments {
  sum_plan plan;
  cuda::device_piece<Scalar> piece;
  int first_lane;
  int clusters;
  int columns;
  const double* centroids;
  const Scalar* rounded;
  const std::int32_t* labels;
  double* lanes;
  unsigned long long* fingerprint;
  const int* stopped;
};

// Sorts `count` rows by the warp that adds them and by label, stably: a warp looks at `turns` × 32 consecutive rows.
// Where there are more labels than buckets, some share one.
template <class Scalar>
__device__ __noinline__ void sort_tile(const sum_arguments<Scalar>& in, const std::int32_t* labels, int count,
                                       int turns, int first_cluster, int group, bool hashes, tile_memory& memory) {
  const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;
  const int classes = in.plan.classes, slices = warps / classes;
  const int label_bits = __ffs(classes) - 1;
  int shared_bits = 0;
  while (((group - 1) >> label_bits >> shared_bits) >= most_buckets / warps) ++shared_bits;
  const int each = ((group - 1) >> label_bits >> shared_bits) + 1;  // buckets of a warp
  const int buckets = warps * each;
  for (int i = threadIdx.x; i < warps * buckets; i += sum_threads) memory.places[i] = 0;
  int read[most_turns];
#pragma unroll
  for (int turn = 0; turn < most_turns; ++turn) {
    const int row = (warp * turns + turn) * 32 + thread;
    read[turn] = turn < turns && row < count ? labels[row] : 0;
  }
  __syncthreads();
  std::uint16_t* const places = memory.places + warp * buckets;
  int bucket_of[most_turns], rank_of[most_turns];  // in the warp's part of the bucket; negative: nobody's
  unsigned low = 0, high = 0;
#pragma unroll
  for (int turn = 0; turn < most_turns; ++turn) {
    if (turn >= turns) break;
    const int row = (warp * turns + turn) * 32 + thread;
    const int own = read[turn] - first_cluster;
    const bool wanted = row < count && own >= 0 && own < group;
    if (hashes) {
      low += static_cast<unsigned>(read[turn]) * hash_table.words[row % hashed_rows];
      high += static_cast<unsigned>(read[turn]) * hash_table.words[hashed_rows + row % hashed_rows];
    }
    const int owner = (own & (classes - 1)) + classes * (row / 32 % slices);
    const int bucket = wanted ? owner * each + (own >> label_bits >> shared_bits) : -1;
    const unsigned same = __match_any_sync(~0u, bucket);
    const int rank = __popc(same & ((1u << thread) - 1));
    const int before = wanted ? places[bucket] : 0;
    __syncwarp();
    if (wanted && rank == 0) places[bucket] = static_cast<std::uint16_t>(before + __popc(same));
    __syncwarp();
    bucket_of[turn] = bucket;
    rank_of[turn] = before + rank;
  }
  if (hashes) {
    low = __reduce_add_sync(~0u, low);
    high = __reduce_add_sync(~0u, high);
    if (thread == 0) memory.hashes[warp][0] = low, memory.hashes[warp][1] = high;
  }
  __syncthreads();
  const int bucket = threadIdx.x;
  int sum = 0;
  for (int w = 0; w < warps && bucket < buckets; ++w) sum += memory.places[w * buckets + bucket];
  int through = sum;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0u, through, step);
    if (thread >= step) through += other;
  }
  if (thread == 31) memory.of_warp[warp] = through;
  __syncthreads();
  int start = through - sum;
  for (int w = 0; w < warp; ++w) start += memory.of_warp[w];
  if (bucket < buckets) {
    if (bucket % each == 0) memory.starts[bucket / each] = start;
    if (bucket + 1 == buckets) memory.starts[warps] = start + sum;
    for (int w = 0; w < warps; ++w) {
      const int rows = memory.places[w * buckets + bucket];
      memory.places[w * buckets + bucket] = static_cast<std::uint16_t>(start);
      start += rows;
    }
  }
  __syncthreads();
#pragma unroll
  for (int turn = 0; turn < most_turns; ++turn) {
    if (turn >= turns) break;
    if (bucket_of[turn] < 0) continue;
    memory.rows[places[bucket_of[turn]] + rank_of[turn]] =
        static_cast<unsigned>(read[turn] - first_cluster) * most_tile_rows + (warp * turns + turn) * 32 + thread;
  }
  __syncthreads();
}

// Neighbours from memory, at once where they are aligned; else one by one, those beyond the last `there` again that
// one. No branch holds up the loads of the rows that follow.
template <bool Aligned, int Count, class Scalar>
__device__ void read_some(const Scalar* from, int there, Scalar (&to)[Count]) {
  if constexpr (!Aligned) {
#pragma unroll
    for (int v = 0; v < Count; ++v) to[v] = from[min(v, there - 1)];
  } else if constexpr (sizeof(Scalar) == 4 && Count == 4) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  } else if constexpr (sizeof(Scalar) == 4) {
    const float2 two = *reinterpret_cast<const float2*>(from);
    to[0] = two.x, to[1] = two.y;
  } else {
#pragma unroll
    for (int v = 0; v < Count; v += 2) {
      const double2 two = *reinterpret_cast<const double2*>(from + v);
      to[v] = two.x, to[v + 1] = two.y;
    }
  }
}

// RowThreads threads add a row up, each of them Columns neighbouring columns of it at a time. In shared memory a
// cluster's sums lie [chunk][Columns][RowThreads], so that neighbouring threads use neighbouring banks.
template <class Scalar, int RowThreads, int Columns, bool Aligned>
__global__ void __launch_bounds__(sum_threads) sum_kernel(sum_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  extern __shared__ double sums[];  // [copies][group_clusters][block_columns], [copies][group_clusters] weights
  __shared__ tile_memory memory;
  constexpr int sub_warps = 32 / RowThreads;
  constexpr int batch = sizeof(Scalar) * Columns <= 8 ? 8 : 4;  // rows on their way from memory at a time
  const sum_plan& plan = in.plan;
  const int lane = in.first_lane + blockIdx.x;
  const int first_cluster = blockIdx.y * plan.group_clusters, first_column = blockIdx.z * plan.block_columns;
  const int group = min(plan.group_clusters, in.clusters - first_cluster);
  const int columns = min(plan.block_columns, in.columns - first_column);
  const int sums_count = plan.copies * plan.group_clusters * plan.padded_columns;
  const int all_count = sums_count + plan.copies * plan.group_clusters;
  double* const state = in.lanes + ((std::size_t(lane) * plan.groups + blockIdx.y) * plan.column_blocks + blockIdx.z) *
                                       plan.block_doubles;

  // The part of the lane that lies in this piece, as rows of the share.
  const std::size_t lane_begin = plan.lane_begin(lane);
  const std::size_t lane_end = plan.lane_end(lane);
  const std::size_t begin = max(lane_begin, in.piece.share_first);
  const std::size_t end = min(lane_end, in.piece.share_first + in.piece.count);

  const bool fresh = begin == lane_begin;
  for (int i = threadIdx.x; i < all_count; i += sum_threads) sums[i] = fresh ? 0.0 : state[i];
  double inertia = fresh ? 0.0 : state[all_count + threadIdx.x];
  const int warp = threadIdx.x / 32, thread = threadIdx.x % 32, sub_warp = thread / RowThreads;
  const int mine = thread % RowThreads;
  const int copy = warp / plan.classes * sub_warps + sub_warp;
  double* const my_sums = sums + copy * plan.group_clusters * plan.padded_columns + mine;
  double* const my_weights = sums + sums_count + copy * plan.group_clusters;
  const int tile_rows = min(plan.lane_rows, most_tile_rows), turns = tile_rows / sum_threads;
  const bool hashes = blockIdx.y == 0 && blockIdx.z == 0;
  unsigned long long fingerprint = 0;

  for (std::size_t tile = begin; tile < end; tile += tile_rows) {
    const int count = static_cast<int>(min(static_cast<std::size_t>(tile_rows), end - tile));
    const std::size_t local = tile - in.piece.share_first;
    sort_tile(in, in.labels + local, count, turns, first_cluster, group, hashes, memory);
    if (hashes && threadIdx.x < tile_rows / hashed_rows && static_cast<int>(threadIdx.x) * hashed_rows < count) {
      unsigned low = 0, high = 0;
      const int looking = hashed_rows / (32 * turns);  // warps
      for (int w = threadIdx.x * looking; w < (static_cast<int>(threadIdx.x) + 1) * looking; ++w) {
        low += memory.hashes[w][0];
        high += memory.hashes[w][1];
      }
      const std::size_t block = (in.piece.first + local) / hashed_rows + threadIdx.x;
      fingerprint += hash_of_block(odd_of_block(block), low, high);
    }

    // Of the warp's rows each part of the warp takes as many as the others, so that runs of a label stay long.
    const int listed = memory.starts[warp + 1] - memory.starts[warp];
    const int listed_begin = memory.starts[warp] + listed * sub_warp / sub_warps;
    const int listed_end = memory.starts[warp] + listed * (sub_warp + 1) / sub_warps;
    const Scalar* const rows = in.piece.rows + local * in.columns + first_column;
    const Scalar* const rounded = in.rounded + std::size_t(first_cluster) * in.columns + first_column;
    const Scalar* const weights = in.piece.weights == nullptr ? nullptr : in.piece.weights + local;
    for (int chunk = 0; chunk < columns; chunk += RowThreads * Columns) {
      const int column = chunk + mine * Columns, there = columns - column;
      const int reading = there > 0 ? column : 0;  // threads without columns add up what they do not keep
      int run = -1, run_rows = 0;                  // the label whose rows are being added
      double run_sums[Columns] = {}, run_weight = 0, run_inertia = 0;
      Scalar c[Columns] = {};
      const auto end_run = [&] {
        if (run < 0) return;
        double* const sum = my_sums + run * plan.padded_columns + chunk;
#pragma unroll
        for (int v = 0; v < Columns; ++v) {
          if (v < there) sum[v * RowThreads] += run_sums[v];
          run_sums[v] = 0;
        }
        if (column == 0) my_weights[run] += weights == nullptr ? static_cast<double>(run_rows) : run_weight;
        run_weight = 0;
        run_rows = 0;
      };
      for (int start = listed_begin; start < listed_end; start += batch) {
        Scalar x[batch][Columns], weight[batch];
        unsigned both[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          both[b] = 0;
          if (start + b < listed_end) both[b] = memory.rows[start + b];
        }
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          read_some<Aligned>(rows + (both[b] % most_tile_rows) * static_cast<unsigned>(in.columns) + reading,
                             max(there, 1), x[b]);
        }
        if (weights != nullptr) {
#pragma unroll
          for (int b = 0; b < batch; ++b) weight[b] = weights[both[b] % most_tile_rows];
        }
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          if (start + b >= listed_end) break;
          const int label = static_cast<int>(both[b] / most_tile_rows);
          if (label != run) {
            end_run();
            run = label;
            read_some<Aligned>(rounded + label * in.columns + reading, max(there, 1), c);
          }
          ++run_rows;
          double w = 1;
          if (weights != nullptr) {
            w = static_cast<double>(weight[b]);
            run_weight += w;
          }
#pragma unroll
          for (int v = 0; v < Columns; ++v) {
            const Scalar apart = x[b][v] - c[v];
            const auto difference = static_cast<double>(Aligned || v < there ? apart : Scalar{0});
            const double weighted = weights == nullptr ? difference : w * difference;
            run_inertia = fma(weighted, difference, run_inertia);
            run_sums[v] += weighted;
          }
        }
      }
      end_run();
      if (there > 0) inertia += run_inertia;
    }
    __syncthreads();
  }
  if (hashes && fingerprint != 0) atomicAdd(in.fingerprint, fingerprint);

  if (end < lane_end) {
    for (int i = threadIdx.x; i < all_count; i += sum_threads) state[i] = sums[i];
    state[all_count + threadIdx.x] = inertia;
    return;
  }
  // The lane is complete: its copies become one, and go from the rounded centroids to the float64 ones.
  const int sums_of_copy = plan.group_clusters * plan.padded_columns;
  for (int i = threadIdx.x; i < plan.group_clusters; i += sum_threads) {
    double weight = sums[sums_count + i];
    for (int other = 1; other < plan.copies; ++other) weight += sums[sums_count + other * plan.group_clusters + i];
    sums[sums_count + i] = weight;
    state[sums_count + i] = weight;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < sums_of_copy; i += sum_threads) {
    const int k = i / plan.padded_columns, place_in_row = i % plan.padded_columns;
    const int in_chunk = place_in_row % (RowThreads * Columns);
    const int j = place_in_row - in_chunk + in_chunk % RowThreads * Columns + in_chunk / RowThreads;
    if (k >= group || j >= columns) continue;
    double sum = sums[i];
    for (int other = 1; other < plan.copies; ++other) sum += sums[other * sums_of_copy + i];
    const std::size_t place = std::size_t(first_cluster + k) * in.columns + first_column + j;
    const double moved = in.centroids[place] - static_cast<double>(in.rounded[place]);
    const double weight = sums[sums_count + k];
    inertia += moved * (weight * moved - 2 * sum);
    state[k * plan.block_columns + j] = sum - weight * moved;
  }
  __syncthreads();
  inertia = cuda::warp_sum(inertia);
  if (thread == 0) sums[warp] = inertia;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps; ++w) inertia += sums[w];
  state[all_count] = inertia;
}

template <class Scalar, int RowThreads, int Columns, bool Aligned>
void launch(const sum_arguments<Scalar>& in, int lanes, cudaStream_t stream) {
  const auto kernel = sum_kernel<Scalar, RowThreads, Columns, Aligned>;
  const dim3 grid(static_cast<unsigned>(lanes), static_cast<unsigned>(in.plan.groups),
                  static_cast<unsigned>(in.plan.column_blocks));
  cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(in.plan.shared_bytes)),
      "give a kernel its shared memory");
  cuda::launch_in_turn(kernel, grid, sum_threads, in.plan.shared_bytes, stream, in);
}

template <class Scalar, int Columns, bool Aligned>
void launch_aligned(const sum_arguments<Scalar>& in, int lanes, cudaStream_t stream) {
  switch (in.plan.row_threads) {
    case 1:
      return launch<Scalar, 1, Columns, Aligned>(in, lanes, stream);
    case 2:
      return launch<Scalar, 2, Columns, Aligned>(in, lanes, stream);
    case 4:
      return launch<Scalar, 4, Columns, Aligned>(in, lanes, stream);
    case 8:
      return launch<Scalar, 8, Columns, Aligned>(in, lanes, stream);
    case 16:
      return launch<Scalar, 16, Columns, Aligned>(in, lanes, stream);
    default:
      return launch<Scalar, 32, Columns, Aligned>(in, lanes, stream);
  }
}

template <class Scalar, int Columns>
void launch_columns(const sum_arguments<Scalar>& in, int lanes, cudaStream_t stream) {
  if (in.columns % Columns == 0 && in.plan.block_columns % Columns == 0) {
    launch_aligned<Scalar, Columns, true>(in, lanes, stream);
  } else {
    launch_aligned<Scalar, Columns, false>(in, lanes, stream);
  }
}

int power_of_two_up_to(std::size_t least, int most) {
  int power = 1;
  while (power < most && static_cast<std::size_t>(power) < least) power *= 2;
  return power;
}

}  // namespace

sum_plan make_sum_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                       std::size_t multiprocessors, std::size_t shared_bytes) {
  sum_plan plan;
  plan.classes = power_of_two_up_to(clusters, warps);
  constexpr std::size_t reserved = sizeof(tile_memory) + 1024;
  const std::size_t whole = shared_bytes - reserved;
  const auto padded = [&](std::size_t some_columns) {
    const std::size_t chunk =
        static_cast<std::size_t>(plan.row_threads) * static_cast<std::size_t>(plan.thread_columns);
    return (some_columns + chunk - 1) / chunk * chunk;
  };
  const auto bytes_of = [&](std::size_t some_clusters, std::size_t some_columns) {
    return static_cast<std::size_t>(plan.copies) * some_clusters * (padded(some_columns) + 1) * sizeof(double);
  };
  // The fewer threads add a row up, the fewer instructions a row costs, and the more copies of the sums there are.
  for (const int each : {4, 2}) {
    plan.thread_columns = each;
    plan.row_threads = power_of_two_up_to((columns + each - 1) / each, 32);
    plan.copies = warps / plan.classes * (32 / plan.row_threads);
    if (bytes_of(clusters, columns) <= whole) break;
    if (plan.row_threads == 32) break;  // no copies to save
  }
  std::size_t block_columns = columns;
  // Few rows make few lanes, none shorter than rows that are hashed together: blocks share their columns.
  const std::size_t most_lanes = std::max<std::size_t>(1, (summed.shard + hashed_rows - 1) / hashed_rows);
  const std::size_t sharers = std::max<std::size_t>(1, multiprocessors / most_lanes);
  const std::size_t shared_columns = (columns + sharers - 1) / sharers;
  // So that they can, fewer threads add a row up, as far as there is room for the copies of all clusters' sums.
  while (sharers > 1 && plan.row_threads > least_sharing_threads) {
    sum_plan fewer = plan;
    fewer.row_threads /= 2;
    fewer.copies *= 2;
    const auto chunk = static_cast<std::size_t>(fewer.row_threads * fewer.thread_columns);
    const std::size_t numbers = static_cast<std::size_t>(fewer.copies) * clusters * (chunk + 1);
    if (chunk < shared_columns || numbers * sizeof(double) > whole) break;
    plan = fewer;
  }
  if (plan.row_threads == 32 || sharers > 1) block_columns = std::min(columns, padded(shared_columns));
  const std::size_t room = whole;
  while (bytes_of(1, block_columns) > room) block_columns = padded((block_columns + 1) / 2);
  plan.block_columns = static_cast<int>(block_columns);
  plan.padded_columns = static_cast<int>(padded(block_columns));
  plan.column_blocks = static_cast<int>((columns + block_columns - 1) / block_columns);
  plan.group_clusters = static_cast<int>(std::min(clusters, room / bytes_of(1, block_columns)));
  plan.groups = static_cast<int>((clusters + plan.group_clusters - 1) / plan.group_clusters);
  // Groups of the same size have no small one at the end.
  plan.group_clusters = static_cast<int>((clusters + plan.groups - 1) / plan.groups);

  const std::size_t bytes = bytes_of(plan.group_clusters, block_columns);
  const std::size_t others = static_cast<std::size_t>(plan.groups) * static_cast<std::size_t>(plan.column_blocks);
  const std::size_t wanted = std::max<std::size_t>(1, multiprocessors / others);
  plan.block_doubles =
      static_cast<std::size_t>(plan.copies) * plan.group_clusters * (padded(block_columns) + 1) + sum_threads;
  const std::size_t rows = wanted_lane_rows(summed, columns, wanted, plan.block_doubles * others * sizeof(double));
  const int few = hashed_rows * power_of_two_up_to((rows + hashed_rows - 1) / hashed_rows, 4);
  plan.set_lanes(summed, rows > 2048 ? (rows + cuda::piece_unit - 1) / cuda::piece_unit * cuda::piece_unit
                                     : static_cast<std::size_t>(few));
  plan.shared_bytes = bytes;
  return plan;
}

template <class Scalar>
void sum_by_label(const sum_plan& plan, const cuda::device_piece<Scalar>& piece,
                  const device_centroids<Scalar>& centroids, const std::int32_t* labels, double* lanes,
                  unsigned long long* fingerprint, const int* stopped, cudaStream_t stream) {
  sum_arguments<Scalar> in;
  in.plan = plan;
  in.piece = piece;
  in.first_lane = plan.first_lane(piece);
  in.clusters = centroids.clusters;
  in.columns = centroids.columns;
  in.centroids = centroids.values;
  in.rounded = centroids.rounded;
  in.labels = labels;
  in.lanes = lanes;
  in.fingerprint = fingerprint;
  in.stopped = stopped;
  const int count = plan.piece_lanes(piece);
  if (plan.thread_columns == 2) return launch_columns<Scalar, 2>(in, count, stream);
  launch_columns<Scalar, 4>(in, count, stream);
}
template void sum_by_label(const sum_plan&, const cuda::device_piece<float>&, const device_centroids<float>&,
                           const std::int32_t*, double*, unsigned long long*, const int*, cudaStream_t);
template void sum_by_label(const sum_plan&, const cuda::device_piece<double>&, const device_centroids<double>&,
                           const std::int32_t*, double*, unsigned long long*, const int*, cudaStream_t);

}  // namespace shoal::kmeans
