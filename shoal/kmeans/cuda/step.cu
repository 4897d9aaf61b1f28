// The end of a step: lanes into statistics, statistics into centroids, and whether to go on.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {
namespace {

constexpr int across = 32;  // elements of a merging block
constexpr int down = 16;    // threads that share an element's lanes

struct merge_arguments {
  sum_plan plan;
  statistics_layout layout;
  const double* lanes;
  double* statistics;
  loop_state* state;
};

__device__ const double* block_of(const merge_arguments& in, int lane, int group, int column_block) {
  return in.lanes + ((std::size_t(lane) * in.plan.groups + group) * in.plan.column_blocks + column_block) *
                        in.plan.block_doubles;
}

// Each of `down` threads adds every down-th lane in order, then a fixed tree adds them.
__global__ void __launch_bounds__(across* down) merge_kernel(merge_arguments in) {
  if (in.state->stopped) return;
  __shared__ double parts[down][across];
  const sum_plan& plan = in.plan;
  const int clusters = static_cast<int>(in.layout.clusters), columns = static_cast<int>(in.layout.columns);
  const int sums_count = plan.copies * plan.group_clusters * plan.block_columns;
  const int all_count = sums_count + plan.copies * plan.group_clusters;
  const std::size_t element = std::size_t{blockIdx.x} * across + threadIdx.x;
  double sum = 0;
  if (blockIdx.x + 1 == gridDim.x) {
    const int count = plan.lanes * plan.groups * plan.column_blocks;
    for (int i = threadIdx.y * across + threadIdx.x; i < count; i += across * down) {
      sum += in.lanes[std::size_t(i) * plan.block_doubles + all_count];
    }
  } else if (element < in.layout.inertia()) {
    const double* from;
    if (element < in.layout.sums()) {
      const int k = static_cast<int>(element);
      from = block_of(in, 0, k / plan.group_clusters, 0) + sums_count + k % plan.group_clusters;
    } else {
      const int k = static_cast<int>((element - clusters) / columns), j = static_cast<int>((element - clusters) % columns);
      from = block_of(in, 0, k / plan.group_clusters, j / plan.block_columns) +
             std::size_t(k % plan.group_clusters) * plan.block_columns + j % plan.block_columns;
    }
    const std::size_t stride = plan.block_doubles * plan.groups * plan.column_blocks;
#pragma unroll 4
    for (int lane = threadIdx.y; lane < plan.lanes; lane += down) sum += from[lane * stride];
  }
  parts[threadIdx.y][threadIdx.x] = sum;
  for (int step = down / 2; step > 0; step /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.y) < step) parts[threadIdx.y][threadIdx.x] += parts[threadIdx.y + step][threadIdx.x];
  }
  if (threadIdx.y != 0) return;
  sum = parts[0][threadIdx.x];
  if (blockIdx.x + 1 == gridDim.x) {
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x != 0) return;
    in.statistics[in.layout.inertia()] = sum;
    const unsigned long long fingerprint = in.state->fingerprint;
    in.statistics[in.layout.fingerprint()] = static_cast<double>(fingerprint & 0xffffffffu);
    in.statistics[in.layout.fingerprint() + 1] = static_cast<double>(fingerprint >> 32);
    return;
  }
  if (element >= in.layout.inertia()) return;
  in.statistics[element] = sum;
  if (element < in.layout.sums() && !(sum > 0)) in.state->empty = 1;
}

__global__ void inspect_kernel(statistics_layout layout, const double* statistics, loop_state* state) {
  if (threadIdx.x == 0) state->empty = 0;  // this GPU's share alone may have had none of a cluster's rows
  __syncthreads();
  for (std::size_t k = threadIdx.x; k < layout.clusters; k += blockDim.x) {
    if (!(statistics[k] > 0)) state->empty = 1;
  }
  if (threadIdx.x != 0) return;
  state->fingerprint = static_cast<unsigned long long>(statistics[layout.fingerprint()]) +
                       (static_cast<unsigned long long>(statistics[layout.fingerprint() + 1]) << 32);
}

constexpr int move_threads = 256;

template <class Scalar>
__global__ void __launch_bounds__(move_threads)
    move_kernel(statistics_layout layout, const double* statistics, device_centroids<Scalar> centroids,
                stop_limits limits, double* partial, device_record* records, loop_state* state) {
  if (state->stopped) return;
  __shared__ double parts[move_threads];
  __shared__ bool last;
  const bool settled = state->labelled && state->fingerprint == state->fingerprint_before;
  const bool moves = !settled && !state->empty;
  const std::size_t count = layout.clusters * layout.columns;
  double change = 0;
  if (moves) {
    for (std::size_t i = std::size_t{blockIdx.x} * move_threads + threadIdx.x; i < count;
         i += std::size_t{gridDim.x} * move_threads) {
      const double before = centroids.values[i];
      const double after = before + statistics[layout.sums() + i] / statistics[i / layout.columns];
      centroids.values[i] = after;
      change += (after - before) * (after - before);
    }
  }
  parts[threadIdx.x] = change;
  for (int step = move_threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < step) parts[threadIdx.x] += parts[threadIdx.x + step];
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = parts[0];
    __threadfence();
    last = atomicAdd(&state->ticket, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  state->ticket = 0;
  if (!settled && state->empty) {
    state->empty = 0;
    state->stopped = found_empty_cluster;
    return;
  }
  change = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) change += __ldcg(partial + b);
  device_record record;
  record.inertia = statistics[layout.inertia()];
  record.change = change;
  record.settled = settled || change == 0;  // the same centroids would give the same labels
  records[state->steps++] = record;
  const bool by_rule = !settled && (change <= limits.absolute || change <= limits.relative * state->change_before);
  if (!settled) {
    state->fingerprint_before = state->fingerprint;
    state->labelled = 1;
    state->change_before = change;
  }
  state->empty = 0;
  if (record.settled || by_rule || state->steps == state->most_steps) state->stopped = has_finished;
  // The last statistics stay readable; the next step's sums start from zero.
  state->fingerprint = 0;
  centroids.bounds->largest_norm = 0;
  centroids.bounds->largest_residual = 0;
}

}  // namespace

void merge_lanes(const sum_plan& plan, const statistics_layout& layout, const double* lanes, double* statistics,
                 loop_state* state, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((layout.inertia() + across - 1) / across) + 1;
  merge_kernel<<<blocks, dim3(across, down), 0, stream>>>({plan, layout, lanes, statistics, state});
  cuda::check_launch("merge_lanes");
}

void inspect_statistics(const statistics_layout& layout, const double* statistics, loop_state* state,
                        cudaStream_t stream) {
  inspect_kernel<<<1, 1024, 0, stream>>>(layout, statistics, state);
  cuda::check_launch("inspect_statistics");
}

template <class Scalar>
void move_centroids(const statistics_layout& layout, const double* statistics, const device_centroids<Scalar>& centroids,
                    const stop_limits& limits, double* partial, device_record* records, loop_state* state,
                    cudaStream_t stream) {
  const std::size_t wanted = (layout.clusters * layout.columns + 4 * move_threads - 1) / (4 * move_threads);
  const auto blocks = static_cast<unsigned>(wanted < move_blocks ? wanted : move_blocks);
  move_kernel<<<blocks, move_threads, 0, stream>>>(layout, statistics, centroids, limits, partial, records, state);
  cuda::check_launch("move_centroids");
}
template void move_centroids(const statistics_layout&, const double*, const device_centroids<float>&,
                             const stop_limits&, double*, device_record*, loop_state*, cudaStream_t);
template void move_centroids(const statistics_layout&, const double*, const device_centroids<double>&,
                             const stop_limits&, double*, device_record*, loop_state*, cudaStream_t);

}  // namespace shoal::kmeans
