// The kernel for diagonal and spherical mixtures of few columns in eleven bits whose components the warps of a block
// have registers for: log-densities are a product of coefficients with the rows' features, as in
// term_product_kernel.cuh, and found once.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/term_flush.cuh>
#include <shoal/gmm/cuda/few_columns/term_held_rows.cuh>

namespace shoal::gmm::few_columns {

/// Adds the groups of a piece that belong to the block's lane.
template <class Shape>
__global__ void __launch_bounds__(term_threads, term_blocks)
    accumulate_held_terms(const __grid_constant__ term_arguments a) {
  extern __shared__ __align__(16) unsigned char memory[];
  cuda::wait_for_predecessor();
  if (*a.parameters.stopped != 0) return;
  const held_places places(Shape::type, Shape::columns, Shape::tiles);
  auto* const frame = reinterpret_cast<product_column*>(memory + places.frame);
  auto* const heads = reinterpret_cast<row_sums*>(memory + places.heads);
  auto* const far = reinterpret_cast<unsigned*>(memory + places.far);
  auto* const buffer = reinterpret_cast<float*>(memory + places.stage);
  lane_sums lane = lane_of_block(a);
  fill_empty(a, lane);
  if (threadIdx.x < Shape::columns) frame[threadIdx.x] = a.mixture.columns[threadIdx.x];
  for (unsigned i = threadIdx.x; i < cuda::piece_unit / 32; i += blockDim.x) far[i] = 0;
  __syncthreads();
  const unsigned warp = threadIdx.x / 32, teams = blockDim.x / 32 / a.parts;
  held_team team{warp / a.parts, warp % a.parts, a.parts, nullptr};
  team.exchange = reinterpret_cast<float*>(memory + places.exchange) + team.team * 2 * a.parts * 32;
  const unsigned team_rows = held_stage_rows * a.parts, own_rows = team.part * held_stage_rows;
  auto* const stage = reinterpret_cast<std::uint16_t*>(memory + places.stage) + team.team * team_rows * Shape::stride;
  auto* const notes = reinterpret_cast<float*>(memory + places.notes) + team.team * team_rows;
  const unsigned first_tile = team.part * Shape::tiles;
  term_coefficients<Shape> coefficients[Shape::tiles];
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) coefficients[tile].load(a.mixture, first_tile + tile);

  for_each_group(a, [&](std::size_t begin, std::size_t end) {
    const auto count = static_cast<unsigned>(end - begin);
    const float* const rows = a.rows + begin * a.columns;
    row_sums head;
    bool any_far = false;
    term_sums<Shape> sums;
    sums.clear();
    for (unsigned first = team.team * team_rows; first < count; first += teams * team_rows) {
      team.sync();  // all have read the rows before
      stage_held_rows<Shape>(a, frame, stage + own_rows * Shape::stride, notes + own_rows, rows, first + own_rows,
                             count);
      team.sync();
      const unsigned some = min(team_rows, count - first);
      unsigned speaker = 0;  // for these rows
      stage_sums found;
#pragma unroll 1
      for (unsigned row = 0; row < some; row += Shape::rows) {
        any_far = add_held_rows<Shape>(a, coefficients, stage + row * Shape::stride, notes + row, first + row, count,
                                       speaker == team.part, team, far, found, sums) ||
                  any_far;
        if (++speaker == a.parts) speaker = 0;
      }
      head.log_likelihood += static_cast<double>(found.logarithms);
      head.weight += static_cast<double>(found.rows);
    }
    any_far = __syncthreads_or(any_far) != 0;
    flush_terms<Shape>(a, frame, buffer, first_tile, sums, lane.values);
    flush_term_heads(a, heads, head, lane.values);
    if (any_far) {
      __syncthreads();
      far_term_rows<Shape>(a, far, reinterpret_cast<double*>(buffer), rows, count, lane.values);
      for (unsigned i = threadIdx.x; i < cuda::piece_unit / 32; i += blockDim.x) far[i] = 0;
      __syncthreads();
    }
  });
}

template <covariance_type Type>
const void* find_held_kernel_of(std::size_t columns, unsigned tiles) {
  if (columns > 8) return reinterpret_cast<const void*>(&accumulate_held_terms<held_shape<Type, 16, 2>>);
  return tiles > 2 ? reinterpret_cast<const void*>(&accumulate_held_terms<held_shape<Type, 8, 3>>)
                   : reinterpret_cast<const void*>(&accumulate_held_terms<held_shape<Type, 8, 2>>);
}

}  // namespace shoal::gmm::few_columns
