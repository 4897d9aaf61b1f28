// The kernel for diagonal and spherical mixtures of few columns and any number of components that lie near each other.
// Log-densities are a product of coefficients with the rows' features, as in product_kernel.cuh, and found twice: for
// their sums over all components, by warps that have rows of their own, and for the moments, by warps that have
// components of their own. So no number of components is too large for registers, and no row waits for another warp's
// sum but at the two ends of a stage.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/term_flush.cuh>
#include <shoal/gmm/cuda/few_columns/term_sums.cuh>

namespace shoal::gmm::few_columns {

/// Leaves rows of a stage, from `first` on, as features in shared memory.
template <class Shape, unsigned Rows>
__device__ void stage_rows(const term_arguments& a, const term_places& places, unsigned char* memory, const float* rows,
                           unsigned first, unsigned count) {
  auto* const stage = reinterpret_cast<std::uint16_t*>(memory + places.stage);
  auto* const notes = reinterpret_cast<row_note*>(memory + places.notes);
  const auto* const frame = reinterpret_cast<const product_column*>(memory + places.frame);
  row_part<Shape> parts[Rows / product_rows];
#pragma unroll
  for (unsigned i = 0; i < Rows / product_rows; ++i) parts[i].load(rows, a.columns, first + i * product_rows, count);
#pragma unroll
  for (unsigned i = 0; i < Rows / product_rows; ++i) {
    const unsigned at = first + i * product_rows;
    parts[i].convert(frame, stage + at * Shape::stride, stage + (term_stage_rows + at) * Shape::stride, notes + at);
  }
  if constexpr (Shape::extended) {
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < Rows / product_rows; ++i) {
      const unsigned at = first + i * product_rows;
      extend_rows(stage + at * Shape::stride, stage + (term_stage_rows + at) * Shape::stride, notes + at,
                  Shape::stride);
    }
  }
  __syncwarp();
}

/// Makes a stage's rows ready, and finds what each of them is divided by. Returns whether the thread saw a far row.
template <class Shape>
__device__ bool settle_stage(const term_arguments& a, const term_places& places, unsigned char* memory,
                             const float* rows, unsigned count, unsigned* far, row_sums& head) {
  constexpr unsigned chunk = 8 * Shape::row_eights;
  bool any_far = false;
  for (unsigned first = threadIdx.x / 32 * chunk; first < count; first += term_warps * chunk) {
    stage_rows<Shape, chunk>(a, places, memory, rows, first, count);
    any_far = settle_rows<Shape>(a, places, memory, first, count, far, head) || any_far;
  }
  return any_far;
}

/// Adds the groups of a piece that belong to the block's lane.
template <class Shape>
__global__ void __launch_bounds__(term_threads, term_blocks)
    accumulate_by_terms(const __grid_constant__ term_arguments a) {
  extern __shared__ __align__(16) unsigned char memory[];
  cuda::wait_for_predecessor();
  if (*a.parameters.stopped != 0) return;
  const term_places places(Shape::type, Shape::columns, Shape::tiles);
  auto* const frame = reinterpret_cast<product_column*>(memory + places.frame);
  const auto* const notes = reinterpret_cast<const row_note*>(memory + places.notes);
  const auto* const shifts = reinterpret_cast<const float*>(memory + places.shifts);
  auto* const heads = reinterpret_cast<row_sums*>(memory + places.heads);
  auto* const far = reinterpret_cast<unsigned*>(memory + places.far);
  const auto* const stage = reinterpret_cast<const std::uint16_t*>(memory + places.stage);
  auto* const buffer = reinterpret_cast<float*>(memory + places.stage);
  lane_sums lane = lane_of_block(a);
  fill_empty(a, lane);
  if (threadIdx.x < Shape::columns) frame[threadIdx.x] = a.mixture.columns[threadIdx.x];
  for (unsigned i = threadIdx.x; i < term_places::far_words; i += term_threads) far[i] = 0;
  __syncthreads();
  const unsigned warp = threadIdx.x / 32, part = warp % a.parts, slice = warp / a.parts, slices = term_warps / a.parts;

  for_each_group(a, [&](std::size_t begin, std::size_t end) {
    const auto count = static_cast<unsigned>(end - begin);
    const float* const rows = a.rows + begin * a.columns;
    row_sums head;
    bool any_far = false;
    term_sums<Shape> sums;
    sums.clear();
    unsigned first_tile = 0;
    for (unsigned first = 0; first < count; first += term_stage_rows) {
      const unsigned some = min(term_stage_rows, count - first);
      any_far = settle_stage<Shape>(a, places, memory, rows + static_cast<std::size_t>(first) * a.columns, some,
                                    far + first / 32, head) ||
                any_far;
      __syncthreads();
#pragma unroll 1
      for (unsigned round = 0; round < a.rounds; ++round) {
        first_tile = (round * a.parts + part) * Shape::tiles;
        term_coefficients<Shape> coefficients[Shape::tiles];
#pragma unroll
        for (int tile = 0; tile < Shape::tiles; ++tile) {
          coefficients[tile].load(a.mixture, min(first_tile + tile, a.tiles - 1));
        }
#pragma unroll 1
        for (unsigned row = slice * product_rows; row < some; row += slices * product_rows) {
          const std::uint16_t* const high = stage + row * Shape::stride;
          add_term_moments<Shape>(coefficients, high, high + term_stage_rows * Shape::stride, notes + row, shifts + row,
                                  sums);
        }
        if (a.rounds > 1) {
          flush_terms<Shape>(a, frame, buffer, first_tile, sums, lane.values);
          sums.clear();
        }
      }
      __syncthreads();
    }
    any_far = __syncthreads_or(any_far) != 0;
    if (a.rounds == 1) flush_terms<Shape>(a, frame, buffer, first_tile, sums, lane.values);
    flush_term_heads(a, heads, head, lane.values);
    if (any_far) {
      __syncthreads();
      far_term_rows<Shape>(a, far, reinterpret_cast<double*>(buffer), rows, count, lane.values);
      for (unsigned i = threadIdx.x; i < term_places::far_words; i += term_threads) far[i] = 0;
      __syncthreads();
    }
  });
}

template <covariance_type Type, int Columns, int Tiles = static_cast<int>(least_term_tiles(Type, Columns))>
const void* find_term_kernel_of(unsigned tiles, bool fine) {
  if constexpr (Tiles < static_cast<int>(most_term_tiles(Type, Columns))) {
    if (tiles > Tiles) return find_term_kernel_of<Type, Columns, Tiles + 1>(tiles, fine);
  }
  return fine ? reinterpret_cast<const void*>(&accumulate_by_terms<term_shape<Type, Columns, Tiles, 3>>)
              : reinterpret_cast<const void*>(&accumulate_by_terms<term_shape<Type, Columns, Tiles, 1>>);
}
}  // namespace shoal::gmm::few_columns
