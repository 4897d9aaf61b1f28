// Rows of diagonal and spherical mixtures that are summed one by one in float64: far ones, whose responsibilities are
// found again first, all of them when there is no common frame, and those of components that a common frame leaves out.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/far_rows.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/held_rows.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/left_out_moments.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

constexpr int threads = 128;

// How a chunk is arranged, for find_far_responsibilities().
struct arrangement {
  static constexpr int tile_words = tile_rows / 32;
  __device__ static int row_of(int bit) { return bit; }
  __device__ static double norm_of(const problem& mixture, int k, const float* row) {
    const std::size_t start = static_cast<std::size_t>(k) * mixture.columns;
    double norm = 0;
    for (int j = static_cast<int>(threadIdx.x) % 32; j < mixture.columns; j += 32) {
      const double y =
          fma(static_cast<double>(row[j]) - mixture.parameters.in_double.centres[start + j],
              mixture.parameters.in_double.factors[start + j], mixture.parameters.in_double.offsets[start + j]);
      norm = fma(y, y, norm);
    }
    return cuda::warp_sum(norm);
  }
  __device__ static float& term(const problem& mixture, int k, int index) {
    return mixture.terms[term_place(mixture.tiles, k, index)];
  }
  __device__ static double2* sums(const problem& mixture) { return mixture.tile_sums; }
};

__global__ void __launch_bounds__(threads)
    responsibilities_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  cuda::wait_for_predecessor();
  find_far_responsibilities<arrangement>(mixture, rows);
}

// Threads of a block that sums, and those that list rows: each looks at 32 neighbours.
constexpr int sum_threads = 256;
constexpr int list_threads = 128;
static_assert(sum_threads >= most_columns);
static_assert(32 * list_threads >= cuda::piece_unit);

// A section's rows that a component holds are listed, few of many, and then summed.
struct listed_rows {
  std::uint16_t row[32 * list_threads];  // in the section
  float responsibility[32 * list_threads];
  int counts[list_threads / 32];
};

// Lists, in order, the rows of a section from `begin` to `end` that component k may hold and that dense_moments() has
// left: far ones, and without a common frame those whose terms count. Returns their number.
__device__ int list_rows(const problem& mixture, int k, int begin, int end, bool all, listed_rows& list) {
  const int thread = static_cast<int>(threadIdx.x);
  const int row = begin + 32 * thread;
  unsigned found = 0;
  if (thread < list_threads && row < end) {
    found = mixture.far_masks[row / 32];
    if (all) {
      found |= mixture.kept[kept_place(mixture.components, k, row)];
      if (mixture.dense != nullptr && mixture.dense[dense_place(mixture, k, row)] != 0) found = 0;
    }
  }
  // Also ends the reading of the list before.
  if (__syncthreads_or(static_cast<int>(found != 0)) == 0) return 0;
  const int own = __popc(found);
  int before = own;
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(~0U, before, distance);
    if (thread % 32 >= distance) before += other;
  }
  if (thread < list_threads && thread % 32 == 31) list.counts[thread / 32] = before;
  before -= own;
  __syncthreads();
  int count = 0;
  for (int warp = 0; warp < list_threads / 32; ++warp) {
    if (warp < thread / 32) before += list.counts[warp];
    count += list.counts[warp];
  }
  for (; found != 0; found &= found - 1) {
    list.row[before++] = static_cast<std::uint16_t>(32 * thread + __ffs(static_cast<int>(found)) - 1);
  }
  __syncthreads();
  return count;
}

// Threads of a block that share out the columns; as many groups of them as there are take rows by turns. One thread a
// column took 3.6 ms for 286,000 rows of 10 columns, nearly all of which one component held.
__device__ int threads_a_row(int columns) { return columns == 1 ? 1 : 1 << (32 - __clz(columns - 1)); }

// What a thread sums of one column of some rows.
struct column_sums {
  double weight = 0;
  double first = 0;
  double second = 0;

  __device__ void add(const column_sums& other) {
    weight += other.weight;
    first += other.first;
    second += other.second;
  }
};

// Adds the sums of all groups of `across` threads to those of the first.
__device__ void add_groups(int across, column_sums& own, column_sums (&shared)[sum_threads]) {
  const int thread = static_cast<int>(threadIdx.x);
  shared[thread] = own;
  for (int half = sum_threads / 2; half >= across; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
    own.add(shared[thread + half]);
    shared[thread] = own;
  }
}

// What add_lane() has in shared memory.
struct lane_memory {
  listed_rows list;
  column_sums parts[sum_threads];
};

// One component and lane by a block.
__device__ void add_lane(const problem& mixture, const chunk& rows, int k, bool all, lane_memory& memory) {
  auto& [list, parts] = memory;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = static_cast<int>(blockIdx.y);
  const int across = threads_a_row(mixture.columns), column = thread % across, group = thread / across;
  const bool inside = column < mixture.columns;
  const std::size_t size = 1 + 2 * static_cast<std::size_t>(mixture.columns);
  double* const sums = mixture.own_sums + (static_cast<std::size_t>(lane) * mixture.components + k) * size;
  const double centre =
      inside ? mixture.parameters.in_double.centres[static_cast<std::size_t>(k) * mixture.columns + column] : 0.0;
  column_sums total;
  if (inside) total = {sums[0], sums[1 + column], sums[1 + mixture.columns + column]};
  const int section_rows = mixture.own_section_rows;
  const auto passed = static_cast<int>(rows.share_first / static_cast<std::size_t>(section_rows) %
                                       static_cast<std::size_t>(mixture.own_lanes));
  int section = lane >= passed ? lane - passed : lane - passed + mixture.own_lanes;
  for (; section * section_rows < rows.count; section += mixture.own_lanes) {
    const int begin = section * section_rows;
    const int count = list_rows(mixture, k, begin, min(begin + section_rows, rows.count), all, list);
    if (count == 0) continue;
    column_sums own;
#pragma unroll 4
    for (int i = thread; i < count; i += sum_threads) {
      list.responsibility[i] = responsibility_of(mixture, k, begin + list.row[i]);
    }
    __syncthreads();
#pragma unroll 8
    for (int i = group; i < count; i += sum_threads / across) {
      const auto r = static_cast<double>(list.responsibility[i]);
      const auto row = static_cast<std::size_t>(begin + list.row[i]);
      const float x = inside ? rows.rows[row * mixture.columns + column] : 0.0F;
      const double difference = static_cast<double>(x) - centre;
      own.weight += r;
      own.first = fma(r, difference, own.first);
      own.second = fma(r * difference, difference, own.second);
    }
    add_groups(across, own, parts);
    total.add(own);
  }
  // Every thread has read the weight.
  __syncthreads();
  if (thread == 0) sums[0] = total.weight;
  if (group != 0 || !inside) return;
  sums[1 + column] = total.first;
  sums[1 + mixture.columns + column] = total.second;
}

__global__ void __launch_bounds__(sum_threads)
    moments_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  cuda::wait_for_predecessor();
  using left_out_memory = left_out_sums<sum_threads / 32>;
  constexpr std::size_t bytes = std::max(sizeof(lane_memory), sizeof(left_out_memory));
  const int k = static_cast<int>(blockIdx.x);
  const bool all = arrangement_of(mixture) != common_frame, left_out = leaves_out(mixture, k);
  if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) ||
      (*mixture.any_far == 0 && !all && !left_out))
    return;
  __shared__ __align__(16) unsigned char memory[bytes];
  if (left_out) return add_left_out_lane(mixture, rows, k, *reinterpret_cast<left_out_memory*>(memory));
  add_lane(mixture, rows, k, all, *reinterpret_cast<lane_memory*>(memory));
}

}  // namespace

void far_responsibilities(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  cuda::launch_in_turn(responsibilities_kernel, far_warps * 32 / threads, threads, 0, stream, mixture, rows);
}

void far_moments(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(mixture.components), static_cast<unsigned>(mixture.own_lanes));
  cuda::launch_in_turn(moments_kernel, grid, sum_threads, 0, stream, mixture, rows);
}

}  // namespace shoal::gmm::tensor_diagonal
