// Rows of diagonal and spherical mixtures that are summed one by one in float64: far ones, whose responsibilities are
// found again first, and all of them when there is no common frame.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/cuda/large_diagonal_kernels.hpp>
#include <shoal/gmm/cuda/large_diagonal_split.cuh>
#include <shoal/gmm/cuda/thread_group.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::large_diagonal {
namespace {

constexpr int threads = 128;
constexpr int most_blocks = 2048;
static_assert(threads >= most_columns);

// ‖y‖² of one row by one warp.
__device__ double norm_of(const problem& mixture, int k, const float* row) {
  const std::size_t start = static_cast<std::size_t>(k) * mixture.columns;
  double norm = 0;
  for (int j = static_cast<int>(threadIdx.x) % 32; j < mixture.columns; j += 32) {
    const double y = fma(static_cast<double>(row[j]) - mixture.double_centres[start + j],
                         mixture.double_factors[start + j], mixture.double_offsets[start + j]);
    norm = fma(y, y, norm);
  }
  return warp_sum(norm);
}

// A warp takes 32 rows. Leaves the weighted responsibilities of its far rows where their terms were.
__global__ void __launch_bounds__(threads)
    responsibilities_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  if (mixture.stopped != nullptr && *mixture.stopped != 0) return;
  const int warp = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int tiles = (rows.count + tile_rows - 1) / tile_rows;
  double* const logarithms = mixture.scratch + static_cast<std::size_t>(warp) * mixture.components;
  for (int tile = warp; tile < tiles; tile += far_warps) {
    double likelihood = 0;
    bool any = false;
    for (int word = tile * (tile_rows / 32); word < (tile + 1) * (tile_rows / 32); ++word) {
      for (unsigned left = mixture.far_masks[word]; left != 0; left &= left - 1) {
        any = true;
        const int index = word * 32 + __ffs(static_cast<int>(left)) - 1;
        const float* const row = rows.rows + static_cast<std::size_t>(index) * mixture.columns;
        const double weight = rows.weights == nullptr ? 1.0 : static_cast<double>(rows.weights[index]);
        double greatest = -INFINITY;
        for (int k = 0; k < mixture.components; ++k) {
          const double norm = norm_of(mixture, k, row);
          const double logarithm = mixture.double_log_constants[k] - 0.5 * norm;
          if (logarithm > greatest) greatest = logarithm;
          if (thread == 0) logarithms[k] = logarithm;
        }
        __syncwarp();
        double sum = 0;
        for (int k = thread; k < mixture.components; k += 32) {
          const double ratio = logarithms[k] - greatest;
          if (ratio >= -mixture.negligible) sum += exp(ratio);
        }
        sum = warp_sum(sum);
        for (int k = thread; k < mixture.components; k += 32) {
          const double ratio = logarithms[k] - greatest;
          mixture.terms[term_place(mixture.tiles, k, index)] =
              ratio >= -mixture.negligible ? static_cast<float>(weight * exp(ratio) / sum) : 0.0F;
        }
        __syncwarp();
        const double log_density = greatest + log(sum) + *mixture.log_shift;
        if (mixture.log_densities != nullptr && thread == 0) mixture.log_densities[index] = log_density;
        if (weight > 0) likelihood += weight * log_density;
      }
    }
    if (thread == 0 && any) {
      mixture.tile_sums[tile].x += likelihood;
      *mixture.any_far = 1;
    }
  }
}

// A listed row: few of many, so that a section's are found together and then summed.
struct listed_row {
  float responsibility;
  int row;
};
// A thread looks at four neighbours.
constexpr int listed_rows = 4 * threads;

// The weighted responsibilities of the thread's rows of those from `begin` on; zero for rows that are not summed here.
__device__ void find_responsibilities(const problem& mixture, int k, int row, int end, bool all, float (&found)[4]) {
  found[0] = found[1] = found[2] = found[3] = 0;
  if (row >= end) return;
  const unsigned far = mixture.far_masks[row / 32] >> row % 32;
  if (!all && (far & 15) == 0) return;
  const float4 four = *reinterpret_cast<const float4*>(mixture.terms + term_place(mixture.tiles, k, row));
  const float term[4] = {four.x, four.y, four.z, four.w};
  const float4 shifts = *reinterpret_cast<const float4*>(mixture.shifts + row);
  const float shift[4] = {shifts.x, shifts.y, shifts.z, shifts.w};
  constexpr float negligible = static_cast<float>(negligible_log_ratio<float>) * log2_of_e;
  const float least = static_cast<float>(mixture.exponents[row / tile_rows]) - negligible;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (row + i >= end) continue;
    const float logarithm = term[i] - shift[i];
    if (all && logarithm >= least) found[i] = exp2f(logarithm);
    if ((far >> i & 1) != 0) found[i] = term[i];
  }
}

// Lists the rows of `begin` to `end` that component k holds, in order; returns their number.
__device__ int list_rows(const problem& mixture, int k, int begin, int end, bool all, listed_row* list) {
  __shared__ int counts[threads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  const int row = begin + 4 * thread;
  float found[4];
  find_responsibilities(mixture, k, row, end, all, found);
  const bool any = found[0] > 0 || found[1] > 0 || found[2] > 0 || found[3] > 0;
  if (__syncthreads_or(static_cast<int>(any)) == 0) return 0;
  int before = 0;
  int count = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned mask = __ballot_sync(~0U, found[i] > 0);
    before += __popc(mask & ((1U << thread % 32) - 1));
    count += __popc(mask);
  }
  if (thread % 32 == 0) counts[thread / 32] = count;
  __syncthreads();
  count = 0;
  for (int warp = 0; warp < threads / 32; ++warp) {
    if (warp < thread / 32) before += counts[warp];
    count += counts[warp];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (found[i] > 0) list[before++] = {found[i], row + i};
  }
  __syncthreads();
  return count;
}

// One component and lane by a block, a column to a thread, row after row.
__device__ void add_lane(const problem& mixture, const chunk& rows, int k, int lane, bool all) {
  __shared__ listed_row list[listed_rows];
  const int thread = static_cast<int>(threadIdx.x);
  const bool column = thread < mixture.columns;
  const std::size_t size = 1 + 2 * static_cast<std::size_t>(mixture.columns);
  double* const sums = mixture.own_sums + (static_cast<std::size_t>(lane) * mixture.components + k) * size;
  const double centre = column ? mixture.double_centres[static_cast<std::size_t>(k) * mixture.columns + thread] : 0.0;
  double weight = sums[0];
  double first = column ? sums[1 + thread] : 0.0;
  double second = column ? sums[1 + mixture.columns + thread] : 0.0;
  const auto passed = static_cast<int>(rows.share_first / static_cast<std::size_t>(mixture.section_rows) %
                                       static_cast<std::size_t>(mixture.lanes));
  int section = lane >= passed ? lane - passed : lane - passed + mixture.lanes;
  for (; section * mixture.section_rows < rows.count; section += mixture.lanes) {
    const int end = min((section + 1) * mixture.section_rows, rows.count);
    for (int begin = section * mixture.section_rows; begin < end; begin += listed_rows) {
      const int count = list_rows(mixture, k, begin, end, all, list);
#pragma unroll 4
      for (int i = 0; i < count; ++i) {
        const auto r = static_cast<double>(list[i].responsibility);
        weight += r;
        if (!column) continue;
        const double difference =
            static_cast<double>(rows.rows[static_cast<std::size_t>(list[i].row) * mixture.columns + thread]) - centre;
        first = fma(r, difference, first);
        second = fma(r * difference, difference, second);
      }
    }
  }
  __syncthreads();
  if (thread == 0) sums[0] = weight;
  if (!column) return;
  sums[1 + thread] = first;
  sums[1 + mixture.columns + thread] = second;
}

__global__ void __launch_bounds__(threads)
    moments_kernel(const __grid_constant__ problem mixture, const __grid_constant__ chunk rows) {
  const bool all = *mixture.arrangement != common_frame;
  if ((mixture.stopped != nullptr && *mixture.stopped != 0) || (*mixture.any_far == 0 && !all)) return;
  for (int lane = static_cast<int>(blockIdx.y); lane < mixture.lanes; lane += static_cast<int>(gridDim.y)) {
    add_lane(mixture, rows, static_cast<int>(blockIdx.x), lane, all);
  }
}

}  // namespace

void far_responsibilities(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  responsibilities_kernel<<<far_warps * 32 / threads, threads, 0, stream>>>(mixture, rows);
  cuda::check_launch("far_responsibilities");
}

void far_moments(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  // Mostly there is nothing to do, and many blocks cost more than a few.
  const int some = std::min(mixture.lanes, std::max(1, most_blocks / mixture.components));
  const dim3 grid(static_cast<unsigned>(mixture.components), static_cast<unsigned>(some));
  moments_kernel<<<grid, threads, 0, stream>>>(mixture, rows);
  cuda::check_launch("far_moments");
}

}  // namespace shoal::gmm::large_diagonal
