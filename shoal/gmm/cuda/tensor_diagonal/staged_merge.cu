// After the kernels that have rows in shared memory once: lanes, in the frame, as statistics.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/split.cuh>
#include <shoal/gmm/cuda/tensor_diagonal/staged.hpp>
#include <shoal/gmm/statistics_layout.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

// Columns of a component that a block adds up, and what it adds up of them: z², z and the partial sums of r.
constexpr int columns_of_block = 16;
constexpr int most_weight_sums = 4;
constexpr int sums_of_block = 2 * columns_of_block + most_weight_sums;
constexpr int parts = 16;  // of the lanes, each by threads of its own

// The lanes' sum of what each thread of the first index has the place of, for those of the first part.
__device__ double sum_of_lanes(const double* lanes, std::size_t lane_size, int lane_count, std::size_t place,
                               bool counts) {
  __shared__ double sums[parts][sums_of_block];
  double sum = 0;
  if (counts) {
#pragma unroll 8
    for (int lane = static_cast<int>(threadIdx.y); lane < lane_count; lane += parts) {
      sum += lanes[lane * lane_size + place];
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0) return 0;
  for (int part = 1; part < parts; ++part) sum += sums[part][threadIdx.x];
  return sum;
}

// Columns of a component to a block; the last component's place is the head's.
__global__ void __launch_bounds__(sums_of_block* parts)
    merge(const __grid_constant__ problem mixture, const staged_turn turn, int octets, int weight_sums,
          std::size_t lane_size, int lane_count, const double* lanes, const double* of_others, double* statistics) {
  cuda::wait_for_predecessor();
  const int k = static_cast<int>(blockIdx.x), first = static_cast<int>(blockIdx.y) * columns_of_block;
  const int d = mixture.columns, i = static_cast<int>(threadIdx.x), j = first + i;
  const bool head = k == mixture.components;
  const std::size_t component_size = 1 + 2 * static_cast<std::size_t>(d);
  const std::size_t own = staged_head + static_cast<std::size_t>(k) * component_size;
  const std::size_t size = staged_head + static_cast<std::size_t>(mixture.components) * component_size;
  lanes += blockIdx.z * lane_count * lane_size;
  statistics += blockIdx.z * size;
  if (*turn.own_stopped != 0) {
    if (*turn.others_stopped != 0 || threadIdx.y != 0) return;
    const bool first_of_all = head && i == 0 && first == 0 && blockIdx.z == 0;
    if (turn.has_condition && first_of_all) cudaGraphSetConditional(turn.condition, 1);
    if (of_others == nullptr) return;
    of_others += blockIdx.z * size;
    const auto copy = [&](std::size_t place) { statistics[place] = of_others[place]; };
    if (head) {
      if (first == 0 && i < staged_head) copy(static_cast<std::size_t>(i));
      return;
    }
    if (j == 0) copy(own);
    if (i >= columns_of_block || j >= d) return;
    copy(own + 1 + j);
    copy(own + 1 + d + j);
    return;
  }
  if (head) {
    if (first != 0) return;
    const double sum = sum_of_lanes(lanes, lane_size, lane_count, i, i < staged_head);
    if (threadIdx.y != 0 || i >= staged_head) return;
    const unsigned heads = (1U << staged_head) - 1;
    const double weight = __shfl_sync(heads, sum, static_cast<int>(statistics_layout::total_weight()));
    const double shift = i == static_cast<int>(statistics_layout::log_likelihood())
                             ? weight * *mixture.parameters.packed.log_shift
                             : 0.0;
    statistics[i] = i == staged_head - 1                                         ? 0.0
                    : i == static_cast<int>(statistics_layout::log_likelihood()) ? fma(ln_2, sum, shift)
                                                                                 : sum;
    return;
  }
  // Which sum of its component a thread adds up.
  const int stored = 8 * octets;
  const bool squares = i < columns_of_block, lines = !squares && i < 2 * columns_of_block;
  const int place = squares ? j : (lines ? stored + j - columns_of_block : 2 * stored + i - 2 * columns_of_block);
  const bool counts = squares ? j < d : (lines ? j - columns_of_block < d : i - 2 * columns_of_block < weight_sums);
  const std::size_t from = staged_head + static_cast<std::size_t>(k) * (2 * stored + weight_sums) + place;
  const double sum = sum_of_lanes(lanes, lane_size, lane_count, from, counts);
  __shared__ double all[sums_of_block];
  if (threadIdx.y == 0) all[i] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || !squares || j >= d) return;
  double weight = 0;
  for (int part = 0; part < weight_sums; ++part) weight += all[2 * columns_of_block + part];
  double* const to = statistics + own;
  if (j == 0) to[0] = weight;
  // With z = (x − m)/u: x − c = u z + (m − c).
  const double unit = 1 / static_cast<double>(mixture.frame[j].x);
  const double distance = -static_cast<double>(mixture.frame[j].y) * unit -
                          mixture.parameters.in_double.centres[static_cast<std::size_t>(k) * d + j];
  const double line = unit * all[columns_of_block + i];
  to[1 + j] = line + weight * distance;
  to[1 + d + j] = unit * unit * sum + (2 * line + weight * distance) * distance;
}

}  // namespace

void merge_staged(const problem& mixture, const staged_kernel& kernel, const staged_turn& turn, std::size_t shards,
                  std::size_t lane_count, const double* lanes, const double* of_others, double* statistics,
                  cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(mixture.components + 1),
                    static_cast<unsigned>((mixture.columns + columns_of_block - 1) / columns_of_block),
                    static_cast<unsigned>(shards));
  cuda::launch_in_turn(merge, blocks, dim3(sums_of_block, parts), 0, stream, mixture, turn, kernel.octets,
                       kernel.weight_sums, staged_lane_size(kernel), static_cast<int>(lane_count), lanes, of_others,
                       statistics);
}

}  // namespace shoal::gmm::tensor_diagonal
