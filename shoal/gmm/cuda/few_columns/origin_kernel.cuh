// A block of the kernels that move rows to one origin: how it finds the origin and components' parameters about it, and
// how its warps' sums come to the lane, about the components' own centres.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/copy_early.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/origin_features.cuh>
#include <shoal/gmm/cuda/few_columns/origin_places.hpp>
#include <shoal/gmm/cuda/few_columns/origin_warp.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>

namespace shoal::gmm::few_columns {

/// Whether rows of so many columns may be moved to one origin.
template <class T>
constexpr bool may_share_origin(int columns, bool matrix) {
  return sizeof(T) == 8 && matrix && columns >= 7 && columns <= static_cast<int>(origin_columns);
}

/// What needs no parameters, while the launch before goes on.
template <int Columns>
__device__ void prepare_origin(const origin_arguments& a) {
  extern __shared__ __align__(16) unsigned char shared[];
  const origin_places places(Columns, a.components, blockDim.x / 32);
  const origin_tiles tiles(a);
  if (const unsigned count = tiles.count(); threadIdx.x % 32 < count) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.rows + (tiles.row() + threadIdx.x % 32) * Columns));
  }
  write_powers(reinterpret_cast<double*>(shared) + places.powers);
}

/// Copies numbers to shared memory, without waiting for them.
__device__ inline void fetch(double* to, const double* from, unsigned count) {
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) cuda::copy_early(to + i, from + i);
}

/// Where components lie so close together that they can share an origin, leaves it and their parameters in `memory`.
template <int Columns>
__device__ bool move_to_origin(const kernel_arguments<double>& a, double* memory) {
  const origin_places places(Columns, a.components, blockDim.x / 32);
  const prepared_components<double>& from = a.parameters.packed;
  // All that is needed comes at once, where warps' rows will lie.
  const unsigned numbers = a.components * Columns;
  double* const factors = memory + places.warps;
  double* const centres = factors + numbers * Columns;
  double* const offsets = centres + numbers;
  double* const constants = offsets + numbers;
  fetch(centres, from.centres, numbers);
  fetch(offsets, from.offsets, numbers);
  fetch(constants, from.log_constants, a.components);
  fetch(factors, from.factors, numbers * Columns);
  cuda::wait_for_copies();
  __syncthreads();

  double* const origin = memory + places.origin;
  if (threadIdx.x < origin_columns) {
    double sum = 0;
    if (threadIdx.x < Columns) {
#pragma unroll 4
      for (unsigned k = 0; k < a.components; ++k) sum += centres[k * Columns + threadIdx.x];
    }
    origin[threadIdx.x] = sum / static_cast<double>(a.components);
  }
  const unsigned quads = (a.components + quad - 1) / quad;
  for (unsigned e = threadIdx.x; e < 64 * quad_factors * quads; e += blockDim.x) {
    const unsigned thread = e % 64 / 2, number = e / 64 % quad_factors, k = e / (64 * quad_factors) * quad + thread / 8;
    const unsigned i = thread % 4 + (number > 0 ? e % 2 * 4 : 0);
    const unsigned j = 2 * (number > 0 ? number + 1 : e % 2) + thread / 4 % 2;
    const bool inside = k < a.components && i < Columns && j < Columns;
    memory[places.factors + e] = inside ? root_half_log2_e * factors[(k * Columns + i) * Columns + j] : 0.0;
  }
  if (threadIdx.x < most_origin_components) {
    const unsigned k = threadIdx.x;
    memory[places.constants + k] = k < a.components ? constants[k] * log2_e : -INFINITY;
  }
  __syncthreads();
  bool apart = false;
  for (unsigned e = threadIdx.x; e < origin_columns * quad * quads; e += blockDim.x) {
    const unsigned k = e / origin_columns, j = e % origin_columns;
    double offset = 0;
    if (k < a.components && j < Columns) {
      offset = offsets[k * Columns + j];
      for (unsigned i = 0; i <= j; ++i) {
        offset += factors[(k * Columns + i) * Columns + j] * (origin[i] - centres[k * Columns + i]);
      }
      offset *= root_half_log2_e;
      apart = apart || !(fabs(offset) <= most_origin_distance);
      memory[places.shifts + k * Columns + j] = centres[k * Columns + j] - origin[j];
    }
    memory[places.offsets + k * origin_offset_stride + j] = offset;
  }
  return __syncthreads_or(apart ? 1 : 0) == 0;
}

/// Writes all warps' sums to the lane.
template <int Columns, int Quads, int Rest>
__device__ void flush_origin(const origin_arguments& a, double* memory, origin_totals<Columns, Quads, Rest>& own,
                             double* lane) {
  constexpr int Tiles = origin_totals<Columns, Quads, Rest>::tiles;
  constexpr int Products = origin_totals<Columns, Quads, Rest>::products;
  constexpr unsigned sums = sums_of<covariance_type::full>(Columns);
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const origin_places places(Columns, a.components, warps);
  // As a product would have left them; what other threads than q = 0 write there is of no component.
  if constexpr (Rest > 0) {
#pragma unroll
    for (unsigned feature = 0; feature < 2 * feature_tiles; ++feature) {
#pragma unroll
      for (int i = 0; i < Rest; ++i) {
        double sum = own.rest[feature][i];
        sum += __shfl_xor_sync(~0U, sum, 1);
        sum += __shfl_xor_sync(~0U, sum, 2);
        own.sums[feature / 2][Products][2 * (feature % 2) + i] = sum;
      }
    }
  }
  const double log_likelihood = cuda::warp_sum(own.head.log_likelihood + own.densities.sum());
  const double weight = cuda::warp_sum(own.head.weight);
  write_origin_sums<double, Tiles>(own.sums, memory + places.warps + warp * places.warp_size);
  double* const heads = memory + places.heads;
  if (threadIdx.x % 32 == 0) {
    heads[2 * warp] = log_likelihood;
    heads[2 * warp + 1] = weight;
  }
  __syncthreads();
  const unsigned size = sums * a.components;
  double* const totals = memory + places.totals;
  for (unsigned e = threadIdx.x; e < size; e += blockDim.x) {
    unsigned i = 0, j = 0;
    find_element<Columns>(e % sums, i, j);
    const double* const from = memory + places.warps + place_of_sum<Tiles>(Columns, e / sums, i, j);
    double total = 0;
#pragma unroll 4
    for (unsigned of = 0; of < warps; ++of) total += from[of * places.warp_size];
    totals[e] = total;
  }
  if (threadIdx.x == 0) {
    double all = 0, all_weights = 0;
    for (unsigned of = 0; of < warps; ++of) {
      all += heads[2 * of];
      all_weights += heads[2 * of + 1];
    }
    lane[log_likelihood_place] = ln_2 * all + all_weights * *a.parameters.packed.log_shift;
    lane[total_weight_place] = all_weights;
    lane[far_rows_place] = 0;
    lane[head_size - 1] = 0;
  }
  __syncthreads();
  for (unsigned e = threadIdx.x; e < size; e += blockDim.x) {
    const unsigned k = e / sums;
    unsigned i = 0, j = 0;
    find_element<Columns>(e % sums, i, j);
    lane[head_size + e] = sum_about_centre<Columns>(totals + k * sums, i, j, memory + places.shifts + k * Columns);
  }
}

template <int Columns, int Quads, int Rest = 0>
__device__ void sum_about_origin(const origin_arguments& a, double* memory, const origin_tiles& tiles,
                                 warp_rows<Columns>& first) {
  origin_totals<Columns, Quads, Rest> totals;
  const std::size_t block = std::size_t{blockIdx.y} * gridDim.x + blockIdx.x;
  const double* state = a.states + block * origin_kept * blockDim.x + threadIdx.x;
  if (!a.fresh) {
    totals.for_each([&](double& number) {
      number = *state;
      state += blockDim.x;
    });
  }
  add_about_origin(a, memory, tiles, first, totals);
  if (!a.whole) {
    double* left = a.states + block * origin_kept * blockDim.x + threadIdx.x;
    totals.for_each([&](double& number) {
      *left = number;
      left += blockDim.x;
    });
  }
  flush_origin(a, memory, totals, a.lanes + block * a.statistics);
}

/// Adds the tiles of a piece that are the block's, unless components lie apart: then it does nothing. Many: more than
/// origin_components, by a kernel of their own, since in one with them fewer would have registers in memory.
template <int Columns, bool Many>
__device__ bool accumulate_about_origin(const origin_arguments& a) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const memory = reinterpret_cast<double*>(shared);
  if (*a.parameters.stopped != 0) return true;
  const origin_tiles tiles(a);
  warp_rows<Columns> first;
  if (const unsigned count = tiles.count(); count > 0) first.load(a.rows + tiles.row() * Columns, count);
  if (!move_to_origin<Columns>(a, memory)) return false;
  if constexpr (Many) {
    if (keeps_apart<Columns, 3> && a.components <= origin_components + 2) {
      sum_about_origin<Columns, 3, keeps_apart<Columns, 3> ? 2 : 0>(a, memory, tiles, first);
    } else if (a.components <= 3 * quad) {
      sum_about_origin<Columns, 3>(a, memory, tiles, first);
    } else {
      sum_about_origin<Columns, 4>(a, memory, tiles, first);
    }
  } else if (a.components <= quad) {
    sum_about_origin<Columns, 1>(a, memory, tiles, first);
  } else {
    sum_about_origin<Columns, 2>(a, memory, tiles, first);
  }
  return true;
}

}  // namespace shoal::gmm::few_columns
