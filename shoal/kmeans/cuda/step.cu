// The end of a step: lanes into statistics, statistics into centroids, and whether to go on.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {
namespace {

constexpr int merge_threads = 512;
// From so many elements on a thread for each keeps a GPU busy.
constexpr std::size_t least_merged_alone = std::size_t{1} << 16;

struct merge_arguments {
  sum_plan plan;
  statistics_layout layout;
  const double* lanes;
  double* statistics;
  loop_state* state;
};

// Moves the centroids of block's share and returns what that changed, to thread 0 of the block.
template <int Threads>
__device__ double move_some(const move_arguments& in, bool moves, unsigned block, unsigned blocks) {
  __shared__ double parts[Threads];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const std::size_t count = in.layout.clusters * in.layout.columns;
  double change = 0;
  if (moves) {
    for (std::size_t i = std::size_t{block} * Threads + thread; i < count; i += std::size_t{blocks} * Threads) {
      const double before = in.centroids[i];
      const double after =
          before + __ldcg(in.statistics + in.layout.sums() + i) / __ldcg(in.statistics + i / in.layout.columns);
      in.centroids[i] = after;
      change += (after - before) * (after - before);
    }
  }
  parts[thread] = change;
  for (int step = Threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (thread < step) parts[thread] += parts[thread + step];
  }
  return parts[0];
}

// What the end of a step needs of the loop's state, read at once: each read alone would take as long as all of them.
struct step_end {
  bool settled;
  bool empty;
  unsigned steps;
  unsigned most_steps;
  double change_before;
  double inertia;
  unsigned long long fingerprint;

  __device__ explicit step_end(const move_arguments& in) {
    const loop_state& state = *in.state;
    const int labelled = state.labelled;
    const unsigned long long before = state.fingerprint_before;
    fingerprint = __ldcg(&state.fingerprint);
    empty = __ldcg(&state.empty) != 0;
    steps = state.steps;
    most_steps = state.most_steps;
    change_before = state.change_before;
    inertia = __ldcg(in.statistics + in.layout.inertia());
    settled = labelled && fingerprint == before;
  }
  __device__ bool moves() const { return !settled && !empty; }
};

__device__ void stop(const move_arguments& in, int reason) {
  in.state->stopped = reason;
  if (in.told != nullptr) *in.told = reason;
}

// One thread, after every block has moved.
__device__ void record_step(const move_arguments& in, const step_end& end, double change) {
  loop_state& state = *in.state;
  state.ticket = 0;
  state.empty = 0;
  if (!end.settled && end.empty) {
    return stop(in, found_empty_cluster);
  }
  device_record record;
  record.inertia = end.inertia;
  record.change = change;
  record.settled = end.settled || change == 0;  // the same centroids would give the same labels
  in.records[end.steps] = record;
  state.steps = end.steps + 1;
  const bool by_rule =
      !end.settled && (change <= in.limits.absolute || change <= in.limits.relative * end.change_before);
  if (!end.settled) {
    state.fingerprint_before = end.fingerprint;
    state.labelled = 1;
    state.change_before = change;
  }
  if (record.settled || by_rule || end.steps + 1 == end.most_steps) stop(in, has_finished);
  // The last statistics stay readable; the next step's sums start from zero.
  state.fingerprint = 0;
  in.bounds->largest_norm = 0;
  in.bounds->largest_residual = 0;
}

// True in every thread of the last of `blocks` blocks to come here; it then sees what the others wrote.
__device__ bool is_last(loop_state* state, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) last = atomicAdd(&state->ticket, 1u) + 1 == blocks;
  __syncthreads();
  __threadfence();
  return last;
}

__device__ const double* block_of(const merge_arguments& in, int lane, int group, int column_block) {
  return in.lanes +
         ((std::size_t(lane) * in.plan.groups + group) * in.plan.column_blocks + column_block) * in.plan.block_doubles;
}

// The sum over lanes as so many threads and their tree make it.
template <int Threads>
__device__ double sum_in_tree(const double* from, std::size_t stride, int lanes) {
  double parts[Threads];
#pragma unroll
  for (int y = 0; y < Threads; ++y) parts[y] = 0.0 + (y < lanes ? from[y * stride] : 0.0);
  for (int first = Threads; first < lanes; first += Threads) {
#pragma unroll
    for (int y = 0; y < Threads; ++y) {
      if (first + y < lanes) parts[y] += from[(first + y) * stride];
    }
  }
#pragma unroll
  for (int step = Threads / 2; step > 0; step /= 2) {
#pragma unroll
    for (int y = 0; y < Threads / 2; ++y) {
      if (y < step) parts[y] += parts[y + step];
    }
  }
  return parts[0];
}

// A block has Across elements. Each of an element's threads adds some of the lanes in order, then a fixed tree adds
// them. Of many elements a thread has one for itself, and does what those threads would do.
template <int Across, bool Alone = false>
__device__ void merge(const merge_arguments& in) {
  constexpr int across = Across, down = merge_threads / Across;
  __shared__ double parts[down][across];
  const sum_plan& plan = in.plan;
  const int first_lane = static_cast<int>(blockIdx.y) * plan.shard_lanes;
  const int lanes = min(plan.shard_lanes, plan.lanes - first_lane);
  double* const statistics = in.statistics + blockIdx.y * in.layout.size();
  const int clusters = static_cast<int>(in.layout.clusters), columns = static_cast<int>(in.layout.columns);
  const int sums_count = plan.copies * plan.group_clusters * plan.padded_columns;
  const int all_count = sums_count + plan.copies * plan.group_clusters;
  const std::size_t element = Alone ? std::size_t{blockIdx.x} * merge_threads + threadIdx.y * across + threadIdx.x
                                    : std::size_t{blockIdx.x} * across + threadIdx.x;
  double sum = 0;
  if (blockIdx.x + 1 == gridDim.x) {
    const double* const from = block_of(in, first_lane, 0, 0) + all_count;
    const int count = lanes * plan.groups * plan.column_blocks;
    for (int i = threadIdx.y * across + threadIdx.x; i < count; i += across * down) {
      sum += from[std::size_t(i) * plan.block_doubles];
    }
  } else if (element < in.layout.inertia()) {
    const double* from;
    if (element < in.layout.sums()) {
      const int k = static_cast<int>(element);
      from = block_of(in, first_lane, k / plan.group_clusters, 0) + sums_count + k % plan.group_clusters;
    } else {
      const int k = static_cast<int>((element - clusters) / columns),
                j = static_cast<int>((element - clusters) % columns);
      from = block_of(in, first_lane, k / plan.group_clusters, j / plan.block_columns) +
             std::size_t(k % plan.group_clusters) * plan.block_columns + j % plan.block_columns;
    }
    const std::size_t stride = plan.block_doubles * plan.groups * plan.column_blocks;
    if constexpr (Alone) {
      sum = sum_in_tree<down>(from, stride, lanes);
    } else {
#pragma unroll 4
      for (int lane = threadIdx.y; lane < lanes; lane += down) sum += from[lane * stride];
    }
  }
  if (!Alone || blockIdx.x + 1 == gridDim.x) {
    parts[threadIdx.y][threadIdx.x] = sum;
    for (int step = down / 2; step > 0; step /= 2) {
      __syncthreads();
      if (static_cast<int>(threadIdx.y) < step) {
        parts[threadIdx.y][threadIdx.x] += parts[threadIdx.y + step][threadIdx.x];
      }
    }
    __syncthreads();
    if (threadIdx.y != 0) return;
    sum = parts[0][threadIdx.x];
  }
  if (blockIdx.x + 1 == gridDim.x) {
    if (threadIdx.x != 0) return;
    for (int i = 1; i < across; ++i) sum += parts[0][i];
    statistics[in.layout.inertia()] = sum;
    const unsigned long long fingerprint = blockIdx.y == 0 ? in.state->fingerprint : 0;
    statistics[in.layout.fingerprint()] = static_cast<double>(fingerprint & 0xffffffffu);
    statistics[in.layout.fingerprint() + 1] = static_cast<double>(fingerprint >> 32);
    return;
  }
  if (element >= in.layout.inertia()) return;
  statistics[element] = sum;
  if (element < in.layout.sums() && !(sum > 0)) in.state->empty = 1;
}

template <int Across, bool Alone>
__global__ void __launch_bounds__(merge_threads) merge_kernel(merge_arguments in) {
  cuda::wait_for_predecessor();
  if (!in.state->stopped) merge<Across, Alone>(in);
}

template <int Across>
__global__ void __launch_bounds__(merge_threads) merge_and_move_kernel(merge_arguments in, move_arguments move) {
  cuda::wait_for_predecessor();
  if (in.state->stopped) return;
  merge<Across>(in);
  if (!is_last(in.state, gridDim.x)) return;
  const step_end end(move);
  const double change = move_some<merge_threads>(move, end.moves(), 0, 1);
  if (threadIdx.x == 0 && threadIdx.y == 0) record_step(move, end, change);
}

__global__ void inspect_kernel(statistics_layout layout, const double* statistics, loop_state* state) {
  cuda::wait_for_predecessor();
  if (state->stopped) return;
  if (threadIdx.x == 0) state->empty = 0;  // one shard alone may have had none of a cluster's rows
  __syncthreads();
  for (std::size_t k = threadIdx.x; k < layout.clusters; k += blockDim.x) {
    if (!(statistics[k] > 0)) state->empty = 1;
  }
  if (threadIdx.x != 0) return;
  state->fingerprint = static_cast<unsigned long long>(statistics[layout.fingerprint()]) +
                       (static_cast<unsigned long long>(statistics[layout.fingerprint() + 1]) << 32);
}

constexpr int move_threads = 256;

__global__ void __launch_bounds__(move_threads) move_kernel(move_arguments in) {
  cuda::wait_for_predecessor();
  if (in.state->stopped) return;
  const step_end end(in);
  const double part = move_some<move_threads>(in, end.moves(), blockIdx.x, gridDim.x);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = part;
  if (!is_last(in.state, gridDim.x) || threadIdx.x != 0) return;
  double change = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) change += __ldcg(in.partial + b);
  record_step(in, end, change);
}

}  // namespace

void merge_lanes(const sum_plan& plan, const statistics_layout& layout, const double* lanes, double* statistics,
                 loop_state* state, cudaStream_t stream) {
  const merge_arguments in{plan, layout, lanes, statistics, state};
  if (plan.lanes == 0) return;
  const auto blocks = [&](std::size_t across) {  // of a shard, and one for the inertia
    return dim3(static_cast<unsigned>((layout.inertia() + across - 1) / across) + 1,
                static_cast<unsigned>(plan.shards()));
  };
  if (layout.inertia() <= 4096) {
    cuda::launch_in_turn(merge_kernel<4, false>, blocks(4), dim3(4, merge_threads / 4), 0, stream, in);
  } else if (layout.inertia() * static_cast<std::size_t>(plan.shards()) < least_merged_alone) {
    cuda::launch_in_turn(merge_kernel<32, false>, blocks(32), dim3(32, merge_threads / 32), 0, stream, in);
  } else {
    cuda::launch_in_turn(merge_kernel<32, true>, blocks(merge_threads), dim3(32, merge_threads / 32), 0, stream, in);
  }
}

void inspect_statistics(const statistics_layout& layout, const double* statistics, loop_state* state,
                        cudaStream_t stream) {
  cuda::launch_in_turn(inspect_kernel, 1, 1024, 0, stream, layout, statistics, state);
}

void move_centroids(const move_arguments& move, cudaStream_t stream) {
  const std::size_t wanted = (move.layout.clusters * move.layout.columns + 4 * move_threads - 1) / (4 * move_threads);
  const auto blocks = static_cast<unsigned>(wanted < move_blocks ? wanted : move_blocks);
  cuda::launch_in_turn(move_kernel, blocks, move_threads, 0, stream, move);
}

void merge_and_move(const sum_plan& plan, const double* lanes, double* statistics, const move_arguments& move,
                    cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((move.layout.inertia() + 3) / 4) + 1;
  cuda::launch_in_turn(merge_and_move_kernel<4>, blocks, dim3(4, merge_threads / 4), 0, stream,
                       merge_arguments{plan, move.layout, lanes, statistics, move.state}, move);
}

}  // namespace shoal::kmeans
