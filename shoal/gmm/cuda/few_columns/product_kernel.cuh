// The kernel for mixtures of few columns whose components lie near each other. In a frame that
// all components share,
//   log₂ πₖN(x) = constantₖ + Σⱼ pₖⱼ zⱼ + Σⱼ qₖⱼ zⱼ²,
// a product of components (p, q) with rows (z, z²) on tensor cores; the moments are a product of responsibilities with
// the same rows. A warp has 16 rows and some components: what the first product leaves in a thread's registers is what
// the second one reads there. Numbers are sums of two float16 terms, and of their products the least is left out.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/product_flush.cuh>

namespace shoal::gmm::few_columns {

/// Adds the groups of a piece that belong to the block's lane.
template <class Shape>
__global__ void __launch_bounds__(product_threads, Shape::blocks)
    accumulate_by_products(const __grid_constant__ product_arguments a) {
  extern __shared__ __align__(16) unsigned char memory[];
  cuda::wait_for_predecessor();
  if (*a.parameters.stopped != 0) return;
  const product_places places(Shape::type, Shape::columns, a.tiles, a.share);
  auto* const all_operands = reinterpret_cast<uint4*>(memory);
  auto* const all_constants = reinterpret_cast<product_constants*>(memory + places.constants);
  auto* const frame = reinterpret_cast<product_column*>(memory + places.columns);
  auto* const all_notes = reinterpret_cast<row_note*>(memory + places.notes);
  auto* const all_exchanges = reinterpret_cast<float2*>(memory + places.exchange);
  auto* const heads = reinterpret_cast<row_sums*>(memory + places.heads);
  auto* const far = reinterpret_cast<std::uint16_t*>(memory + places.far);
  auto* const stage = reinterpret_cast<std::uint16_t*>(memory + places.stage);
  auto* const buffer = reinterpret_cast<float*>(memory + places.stage);
  double* const lane = a.lanes + (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * a.statistics;
  for (unsigned i = threadIdx.x; i < a.tiles * Shape::steps * 64; i += product_threads) {
    all_operands[i] = reinterpret_cast<const uint4*>(a.mixture.operands)[i];
  }
  for (unsigned i = threadIdx.x; i < a.tiles * product_components; i += product_threads) {
    all_constants[i] = a.mixture.constants[i];
  }
  if (threadIdx.x < Shape::columns) frame[threadIdx.x] = a.mixture.columns[threadIdx.x];
  if (a.fresh) {
    for (unsigned i = threadIdx.x; i < a.statistics; i += product_threads) lane[i] = 0;
  }
  __syncthreads();

  const product_team team(a.share);
  const unsigned warp = threadIdx.x / 32, lane_number = threadIdx.x % 32;
  constexpr unsigned own_size = Shape::rows * Shape::stride;
  const auto high_rows = [&](unsigned of) { return stage + of * (2 * own_size); };
  const uint4* const operands = all_operands + team.rank * Shape::tiles * Shape::steps * 64 + lane_number;
  const product_constants* const constants =
      all_constants + team.rank * Shape::tiles * product_components + lane_number / 4;
  constexpr unsigned warp_rows = Shape::rows, block_rows = warp_rows * product_warps;
  const unsigned stage_rows = warp_rows * a.share;
  unsigned turn = 0;

  const std::size_t lanes = gridDim.x;
  const std::size_t first_group = a.first_unit * a.unit_groups;
  const std::size_t units = (a.count + cuda::piece_unit - 1) / cuda::piece_unit;
  const std::size_t shard = blockIdx.y * a.shard_units;
  const std::size_t past = min(units, shard + a.shard_units) * a.unit_groups;
  for (std::size_t group = shard * a.unit_groups + (blockIdx.x + lanes - first_group % lanes) % lanes; group < past;
       group += lanes) {
    const std::size_t unit = group / a.unit_groups * cuda::piece_unit;
    const std::size_t begin = unit + group % a.unit_groups * a.group_rows;
    const std::size_t end = min(min(begin + a.group_rows, unit + cuda::piece_unit), a.count);
    if (begin >= end) continue;
    const float* const rows = a.rows + begin * a.columns;
    const auto count = static_cast<unsigned>(end - begin);
    product_sums<Shape> sums;
    bool any_far = false;
    unsigned first = team.number * stage_rows;
    row_part<Shape> part[Shape::parts];
    const auto load = [&](unsigned from) {
#pragma unroll
      for (int i = 0; i < Shape::parts; ++i) {
        part[i].load(rows, a.columns, from + team.rank * warp_rows + i * product_rows, count);
      }
    };
    load(first);
    while (first < count) {
#pragma unroll
      for (int i = 0; i < Shape::parts; ++i) {
        std::uint16_t* const high = high_rows(warp) + i * product_rows * Shape::stride;
        part[i].convert(frame, high, high + own_size, all_notes + warp * warp_rows + i * product_rows);
      }
      team.sync();
      load(first + block_rows);
      for (unsigned tile = 0; tile < a.share && first + tile * warp_rows < count; ++tile, ++turn) {
        const unsigned of = team.number * a.share + tile, row = first + tile * warp_rows;
        const bool found =
            add_rows<Shape>(team, high_rows(of), high_rows(of) + own_size, all_notes + of * warp_rows, operands,
                            constants, all_exchanges + (turn % 2 * product_warps + team.number * a.share) * warp_rows,
                            count - row, a.components, tile == team.rank, far + row / product_rows, sums);
        any_far = any_far || found;
      }
      team.sync();
      first += block_rows;
    }
    any_far = __syncthreads_or(any_far) != 0;
    flush_products<Shape>(a, team, sums, frame, buffer, heads, lane);
    if (any_far) {
      far_product_rows<Shape>(a, far, reinterpret_cast<double*>(buffer), rows, count, lane);
    }
  }
}

template <covariance_type Type, int Columns, int Tiles = 1>
product_kernel find_product_kernel_of(unsigned tiles) {
  if constexpr (Tiles < static_cast<int>(most_tiles_of_warp(Type, Columns))) {
    if (tiles > Tiles) return find_product_kernel_of<Type, Columns, Tiles + 1>(tiles);
  }
  using Shape = product_shape<Type, Columns, Tiles>;
  return {reinterpret_cast<const void*>(&accumulate_by_products<Shape>), Shape::blocks};
}

}  // namespace shoal::gmm::few_columns
