// Lanes of sums that go on from section to section (half_moments.cuh): these wait as float32 numbers of each thread,
// and what a lane has in memory counts only where it was begun.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_ring.cuh>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {
namespace {

constexpr unsigned threads_of_lanes = 128;

// How the blocks of a lane share its sums.
struct kept_blocks {
  unsigned across;            // blocks that share columns
  unsigned columns_of_block;  // that are summed
  unsigned columns;           // and that there is room for
  unsigned components;        // of a block
  unsigned blocks;            // of a lane
  unsigned features;

  explicit kept_blocks(const kernel_layout& layout)
      : across(half_column_blocks(layout, 1)),
        columns_of_block(half_block_columns(layout, 1)),
        columns(half_moment_groups(layout, 1) * half_group_columns),
        components(half_block_components(layout.components)),
        blocks(half_moment_blocks(layout, 1)),
        features(features_of(layout.type)) {}
  __host__ __device__ unsigned sums() const { return columns * components * features; }
};

__global__ void __launch_bounds__(threads_of_lanes)
    clear_kept(const kernel_layout layout, const component_frame frame, const lane_plan plan, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const bool begun = *frame.near != 0;  // by the moments
  // First moments of all components follow their weights, then second ones.
  const std::size_t skipped = begun ? std::size_t{layout.columns} * features_of(layout.type) : 0;
  const std::size_t rest = layout.component_size - skipped, of_lane = layout.header + layout.components * rest;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < plan.lanes * of_lane;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const std::size_t at = i % of_lane;
    double* to = plan.sums + i / of_lane * plan.size;
    if (at >= layout.header) {
      const std::size_t component = (at - layout.header) / rest, own = (at - layout.header) % rest;
      to += layout.header + component * layout.component_size + own + (own > 0 ? skipped : 0);
    } else {
      to += at;
    }
    *to = 0;
  }
}

// What a lane's sums of a block are multiplied by: zero where there are none. And whether its numbers in memory count.
struct lane_part {
  double back;
  bool begun;
};
constexpr unsigned most_merged_lanes = most_lanes;
// Numbers that are asked for before the first is added.
constexpr unsigned at_once = 12;

// The block's second index is that of a lane's block; in the last one of these are the sums that products do not make.
__global__ void __launch_bounds__(threads_of_lanes)
    merge_kept(const kernel_layout layout, const component_frame frame, const lane_plan plan, const kept_blocks parts,
               double* statistics, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const bool near = *frame.near != 0;
  const std::size_t skipped = std::size_t{layout.columns} * parts.features;
  const auto merge_from = [&](std::size_t i) {
    double sum = 0;
#pragma unroll 8
    for (unsigned lane = 0; lane < plan.lanes; ++lane) sum += plan.sums[lane * plan.size + i];
    statistics[i] = sum;
  };
  const std::size_t first = blockIdx.x * std::size_t{threads_of_lanes} + threadIdx.x;
  const std::size_t stride = gridDim.x * std::size_t{threads_of_lanes};
  if (blockIdx.y == parts.blocks) {
    for (std::size_t i = first; i < layout.header; i += stride) merge_from(i);
    const std::size_t rest = near ? layout.component_size - skipped : layout.component_size;
    for (std::size_t i = first; i < layout.components * rest; i += stride) {
      const std::size_t own = i % rest;
      merge_from(layout.header + i / rest * layout.component_size + own + (near && own > 0 ? skipped : 0));
    }
    return;
  }
  if (!near) return;
  // Number `i` is sum `which` of thread `thread`, as half_moment_sums has it.
  const std::size_t i = first;
  const auto ask = [&](unsigned begin, float(&kept)[at_once]) {
#pragma unroll
    for (unsigned l = 0; l < at_once; ++l) {
      const std::size_t block = std::size_t{min(begin + l, plan.lanes - 1)} * parts.blocks + blockIdx.y;
      kept[l] = i < parts.sums() ? frame.kept_sums[block * parts.sums() + i] : 0;
    }
  };
  float next[at_once];
  ask(0, next);
  __shared__ lane_part lanes[most_merged_lanes];
  for (unsigned lane = threadIdx.x; lane < plan.lanes; lane += threads_of_lanes) {
    const kept_state state = frame.kept[lane * parts.blocks + blockIdx.y];
    lanes[lane] = {state.any != 0 ? 1 / static_cast<double>(half_scale(state.exponent)) : 0, state.begun != 0};
  }
  __syncthreads();
  const unsigned threads_of_block = parts.columns / half_group_columns * group_threads;
  const auto thread = static_cast<unsigned>(i) % threads_of_block, which = static_cast<unsigned>(i) / threads_of_block;
  const unsigned feature = which / (parts.components / 2), at = which % (parts.components / 2);
  const unsigned own_column =
      thread / group_threads * half_group_columns + thread % group_threads / 32 * 16 + thread % 32 / 4 + at / 2 % 2 * 8;
  const unsigned column = blockIdx.y % parts.across * parts.columns_of_block + own_column;
  const unsigned component = blockIdx.y / parts.across * parts.components + at / 4 * 8 + thread % 4 * 2 + at % 2;
  if (i >= parts.sums() || own_column >= parts.columns_of_block || column >= layout.columns ||
      component >= layout.components) {
    return;
  }
  const std::size_t to =
      layout.header + component * layout.component_size + 1 + (feature == 1 ? layout.columns : 0) + column;
  double unit = 1 / static_cast<double>(frame.units[column].x);
  if (feature == 1) unit *= unit;
  double sum = 0;
  for (unsigned begin = 0; begin < plan.lanes; begin += at_once) {
    float kept[at_once];
#pragma unroll
    for (unsigned l = 0; l < at_once; ++l) kept[l] = next[l];
    if (begin + at_once < plan.lanes) ask(begin + at_once, next);
#pragma unroll
    for (unsigned l = 0; l < at_once; ++l) {
      if (begin + l >= plan.lanes) break;
      const lane_part part = lanes[begin + l];
      double own = part.begun ? plan.sums[(begin + l) * plan.size + to] : 0;
      if (part.back != 0) own += unit * part.back * static_cast<double>(kept[l]);
      sum += own;
    }
  }
  statistics[to] = sum;
}

}  // namespace

void clear_kept_lanes(const kernel_layout& layout, const component_frame& frame, const lane_plan& plan,
                      const int* stopped, cudaStream_t stream) {
  const std::size_t blocks = (plan.lanes * plan.size + threads_of_lanes - 1) / threads_of_lanes;
  cuda::launch_in_turn(clear_kept, static_cast<unsigned>(std::min<std::size_t>(blocks, 1024)), threads_of_lanes, 0,
                       stream, layout, frame, plan, stopped);
}

void merge_kept_lanes(const kernel_layout& layout, const component_frame& frame, const lane_plan& plan,
                      double* statistics, const int* stopped, cudaStream_t stream) {
  const kept_blocks parts(layout);
  const unsigned blocks = (parts.sums() + threads_of_lanes - 1) / threads_of_lanes;
  cuda::launch_in_turn(merge_kept, dim3(blocks, parts.blocks + 1), threads_of_lanes, 0, stream, layout, frame, plan,
                       parts, statistics, stopped);
}

}  // namespace shoal::gmm::tensor_float64
