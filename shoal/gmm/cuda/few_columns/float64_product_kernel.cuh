// The kernel for float64 rows of few columns while components lie near each other: in a frame that all components
// share, log-densities are a product of coefficients with features of the rows, and moments one of responsibilities
// with the same features. What the first product leaves in a thread's registers is what the second one takes from
// there. Warps that share rows exchange their sums over components, so that densities are found once.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/float64_frame.cuh>
#include <shoal/gmm/cuda/few_columns/float64_powers.cuh>
#include <shoal/gmm/cuda/few_columns/float64_product_flush.cuh>
#include <shoal/gmm/cuda/few_columns/float64_product_shape.cuh>
#include <shoal/gmm/cuda/few_columns/float64_warp.cuh>

namespace shoal::gmm::few_columns {

/// Adds the groups of a piece that belong to the block's lane, where all components lie near each other.
template <class Shape>
__global__ void __launch_bounds__(Shape::threads, 1)
    accumulate_float64_products(const __grid_constant__ float64_product_arguments a) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const memory = reinterpret_cast<double*>(shared);
  constexpr float64_sizes sizes = Shape::sizes;
  const float64_places places(sizes, a.parts, a.cluster);
  write_power_table<Shape::table_bits>(memory + places.table);
  cuda::wait_for_predecessor();
  const bool stopped = *a.parameters.stopped != 0;
  const unsigned tiles = a.parts * Shape::tiles, rank = blockIdx.x % a.cluster, first_tile = rank * tiles;
  double* const origin = memory + places.origin;
  double* const unit = origin + 32;
  bool apart = false;
  if (a.pack_blocks == 0) {
    const float64_source source{a.parameters.packed, Shape::matrix, a.columns,
                                Shape::columns,      a.components,  static_cast<unsigned>(a.factor_stride),
                                Shape::features,     Shape::quads};
    if (threadIdx.x < 16) origin[threadIdx.x] = 0;
    if (threadIdx.x < 16) unit[threadIdx.x] = 1;
    __syncthreads();
    if (!stopped) find_float64_frame(source, origin, unit);
    __syncthreads();
    auto* const packed = reinterpret_cast<packed_component*>(memory + places.features) + threadIdx.x / 32;
    for (unsigned k = threadIdx.x / 32; !stopped && k < tiles * float64_tile; k += Shape::warps) {
      const bool alone = pack_float64_component(source, origin, unit, k, *packed, memory + places.coefficients,
                                                memory + places.constants);
      apart = apart || alone;
    }
  } else {
    for (unsigned i = threadIdx.x; i < a.pack_blocks; i += Shape::threads) apart = apart || a.mixture.apart[i] != 0;
    for (unsigned i = threadIdx.x; i < tiles * Shape::quads * 64; i += Shape::threads) {
      memory[places.coefficients + i] = a.mixture.coefficients[first_tile * Shape::quads * 64 + i];
    }
    if constexpr (Shape::apart) {
      for (unsigned i = threadIdx.x; i < tiles * float64_tile; i += Shape::threads) {
        memory[places.constants + i] = a.mixture.constants[first_tile * float64_tile + i];
      }
    }
    if (threadIdx.x < 16) {
      const bool held = threadIdx.x < a.columns;
      origin[threadIdx.x] = held ? a.mixture.origin[threadIdx.x] : 0.0;
      unit[threadIdx.x] = held ? a.mixture.unit[threadIdx.x] : 1.0;
    }
  }
  apart = __syncthreads_or(apart ? 1 : 0) != 0;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
    if (a.mixture.own_stopped != nullptr) *a.mixture.own_stopped = stopped || apart ? 1 : 0;
    *a.mixture.other_stopped = stopped || !apart ? 1 : 0;
  }
  if (stopped || apart) return;
  if (threadIdx.x < 16) origin[16 + threadIdx.x] = 1 / unit[threadIdx.x];
  for (unsigned i = places.features + threadIdx.x; i < places.size; i += Shape::threads) memory[i] = 0;
  __syncthreads();
  float64_warp<Shape> warp(a, memory, places);
  if (a.cluster > 1) warp.group.sync_all();  // then others' memory is there
  warp.begin();
  const unsigned own_lane = blockIdx.x / a.cluster;
  for_each_group(a, own_lane, gridDim.x / a.cluster, [&](std::size_t begin, std::size_t end) {
    warp.add(a.rows + begin * a.columns, a.weights == nullptr ? nullptr : a.weights + begin,
             static_cast<unsigned>(end - begin));
  });
  warp.leave();
  __syncthreads();
  const lane_sums lane{a.lanes + (std::size_t{blockIdx.y} * a.lane_count + own_lane) * a.statistics, true};
  if (rank == 0) flush_head(a, memory + places.head, warp.head, lane);
  double* const work = memory + places.features;
  add_groups<Shape>(warp.sums, work, Shape::warps / a.parts, a.parts);
  flush_float64<Shape>(a, warp.group, warp.sums, work, memory + places.coefficients, memory + places.partial, origin,
                       unit, lane.values);
  // Lanes that only others have blocks for.
  for (unsigned other = gridDim.x; a.fresh && blockIdx.x + other < a.lane_count; other += gridDim.x) {
    for (unsigned i = threadIdx.x; i < a.statistics; i += Shape::threads) lane.values[other * a.statistics + i] = 0;
  }
}

template <covariance_type Type, int Columns, int Tiles = 1>
const void* find_float64_kernel_of_tiles(unsigned tiles) {
  if constexpr (has_float64_tiles(Type, Columns, Tiles)) {
    if (tiles == Tiles) {
      return reinterpret_cast<const void*>(&accumulate_float64_products<float64_shape<Type, Columns, Tiles>>);
    }
    return find_float64_kernel_of_tiles<Type, Columns, Tiles + 1>(tiles);
  } else {
    return nullptr;
  }
}

}  // namespace shoal::gmm::few_columns
