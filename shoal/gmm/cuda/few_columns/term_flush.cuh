// The end of a group of rows: the warps' sums to the block's lane, and rows beyond the frame in float64.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/term_sums.cuh>

namespace shoal::gmm::few_columns {

/// Adds to a number of the block's lane, which one thread of the block adds to at a time, without waiting for it: so
/// sums are as if it did.
__device__ inline void add_to_lane(double& to, double value) { atomicAdd(&to, value); }

/// Sum over the four threads that have the same component.
__device__ inline double sum_of_four(double value) {
  value += __shfl_xor_sync(~0U, value, 1);
  return value + __shfl_xor_sync(~0U, value, 2);
}

/// Adds a warp's sums of a tile of components to the lane, in float64 and about the components' centres. `sum_of` gives
/// what a thread has of them: weights and norms of a half, moments of an eight of features, as in term_sums.
template <class Shape, class SumOf>
__device__ void flush_tile(const term_arguments& a, const product_column* frame, unsigned tile, const SumOf& sum_of,
                           double* lane) {
  const unsigned thread = threadIdx.x % 32, g = thread / 4, t = thread % 4;
  const unsigned columns = a.columns, size = 1 + 2 * columns;
  constexpr double back = 1.0 / responsibility_scale;
  constexpr int eights = Shape::columns / 8;
  const prepared_components<double>& c = a.parameters.in_double;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const unsigned k = tile * product_components + 8 * half + g;
    const bool inside = k < a.components;
    double* const to = lane + head_size + std::size_t{inside ? k : 0} * size;
    double weight, norm = 0;
    if constexpr (Shape::extended) {
      // Behind the columns.
      weight = __shfl_sync(~0U, back * sum_of.moment(eights, 2 * half + 1), static_cast<int>(4 * g));
      norm = __shfl_sync(~0U, back * sum_of.moment(eights, 2 * half), static_cast<int>(4 * g));
    } else {
      weight = back * sum_of.weight(half);
      if constexpr (Shape::fine) weight = sum_of_four(weight);
      if constexpr (Shape::has_norms) norm = sum_of_four(back * sum_of.norm(half));
    }
    double trace = 0;
#pragma unroll
    for (int eight = 0; eight < eights; ++eight) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const unsigned j = 8 * eight + 2 * t + e;
        const double first = back * sum_of.moment(eight, 2 * half + e);
        double second = 0;
        if constexpr (!Shape::spherical) second = back * sum_of.moment(eights + eight, 2 * half + e);
        if (!inside || j >= columns) continue;
        const double unit = static_cast<double>(frame[j].unit);
        const double moved = -static_cast<double>(frame[j].shift) * unit - c.centres[k * columns + j];
        const double line = unit * first;
        add_to_lane(to[1 + j], line + weight * moved);
        const double square = 2 * moved * line + weight * moved * moved;
        if constexpr (Shape::spherical) {
          trace += square;
        } else {
          add_to_lane(to[1 + columns + j], unit * unit * second + square);
        }
      }
    }
    if constexpr (Shape::spherical) {
      const double unit = static_cast<double>(frame[0].unit);
      trace = sum_of_four(trace);
      if (inside && t == 0) add_to_lane(to[1 + columns], unit * unit * norm + trace);
    }
    if (inside && t == 0) add_to_lane(to[0], weight);
  }
}

/// What flush_tile asks for, from a warp's registers.
template <class Shape>
struct sums_in_registers {
  const term_sums<Shape>& sums;
  int tile;
  __device__ double weight(int half) const { return static_cast<double>(sums.weights[tile][half]); }
  __device__ double norm(int half) const { return static_cast<double>(sums.norms[tile][half]); }
  __device__ double moment(int eight, int i) const { return static_cast<double>(sums.moments[tile][eight][i]); }
};

/// The same from shared memory, of all warps with these components, in their order.
template <class Shape>
struct sums_in_memory {
  static constexpr int tile_places = 4 * Shape::eights + 4, warp_places = Shape::tiles * tile_places * 32;
  const float* from;
  unsigned step, end;  // between these warps, and behind the last
  __device__ double at(int place) const {
    double sum = 0;
    for (unsigned other = 0; other < end; other += step) sum += static_cast<double>(from[other + place * 32]);
    return sum;
  }
  __device__ double weight(int half) const { return at(half); }
  __device__ double norm(int half) const { return at(2 + half); }
  __device__ double moment(int eight, int i) const { return at(4 + 4 * eight + i); }
};

/// Adds the warps' sums to the lane. All threads call it.
template <class Shape>
__device__ void flush_terms(const term_arguments& a, const product_column* frame, float* buffer, unsigned first_tile,
                            const term_sums<Shape>& sums, double* lane) {
  const unsigned warps = blockDim.x / 32;
  if (a.parts == warps) {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      flush_tile<Shape>(a, frame, first_tile + tile, sums_in_registers<Shape>{sums, tile}, lane);
    }
    return;
  }
  using in_memory = sums_in_memory<Shape>;
  __syncthreads();  // the stage, in whose place the buffer lies, has been read
  float* const own = buffer + threadIdx.x / 32 * in_memory::warp_places + threadIdx.x % 32;
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
    float* const to = own + tile * in_memory::tile_places * 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      to[half * 32] = sums.weights[tile][half];
      to[(2 + half) * 32] = Shape::has_norms ? sums.norms[Shape::has_norms ? tile : 0][half] : 0.0F;
    }
#pragma unroll
    for (int eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
      for (int i = 0; i < 4; ++i) to[(4 + 4 * eight + i) * 32] = sums.moments[tile][eight][i];
    }
  }
  __syncthreads();
  for (unsigned tile = threadIdx.x / 32; tile < a.parts * Shape::tiles; tile += warps) {
    const unsigned part = tile / Shape::tiles, of = tile % Shape::tiles;
    const float* const from =
        buffer + part * in_memory::warp_places + of * in_memory::tile_places * 32 + threadIdx.x % 32;
    flush_tile<Shape>(a, frame, tile, in_memory{from, a.parts * in_memory::warp_places, warps * in_memory::warp_places},
                      lane);
  }
  __syncthreads();
}

/// Adds up what the warps know of rows to the head of the lane.
__device__ inline void flush_term_heads(const term_arguments& a, row_sums* heads, row_sums head, double* lane) {
  head.log_likelihood = cuda::warp_sum(head.log_likelihood);
  head.weight = cuda::warp_sum(head.weight);
  if (threadIdx.x % 32 == 0) heads[threadIdx.x / 32] = head;
  __syncthreads();
  if (threadIdx.x == 0) {
    row_sums all;
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
      all.log_likelihood += heads[warp].log_likelihood;
      all.weight += heads[warp].weight;
    }
    add_to_lane(lane[log_likelihood_place], ln_2 * all.log_likelihood + all.weight * *a.parameters.packed.log_shift);
    add_to_lane(lane[total_weight_place], all.weight);
  }
}

/// Far rows of a group in float64, one after another, all threads on each. Log-densities are found again each time that
/// they are asked for, so that there is no room to take for them.
template <class Shape>
__device__ __noinline__ void far_term_rows(const term_arguments& a, const unsigned* far, double* buffer,
                                           const float* from, unsigned count, double* lane) {
  const prepared_components<double>& c = a.parameters.in_double;
  const unsigned columns = a.columns, size = 1 + 2 * columns;
  const cuda::block_group block;
  for (unsigned word = 0; word * 32 < count; ++word) {
    for (unsigned bits = far[word]; bits != 0; bits &= bits - 1) {
      const unsigned row = word * 32 + static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
      const float* const x = from + static_cast<std::size_t>(row) * columns;
      const auto centred = [&](unsigned k, unsigned j) {
        return static_cast<double>(x[j]) - c.centres[std::size_t{k} * columns + j];
      };
      const auto log_density = [&](unsigned k) {
        double norm = 0;
        for (unsigned j = 0; j < columns; ++j) {
          const std::size_t at = std::size_t{k} * columns + j;
          const double y = c.offsets[at] + c.factors[at] * centred(k, j);
          norm += y * y;
        }
        return c.log_constants[k] - 0.5 * norm;
      };
      double best = -INFINITY;
      for (unsigned k = threadIdx.x; k < a.components; k += blockDim.x) best = fmax(best, log_density(k));
      buffer[threadIdx.x] = best;
      __syncthreads();
      for (unsigned other = 0; other < blockDim.x; ++other) best = fmax(best, buffer[other]);
      double sum = 0;
      for (unsigned k = threadIdx.x; k < a.components; k += blockDim.x) sum += exp(log_density(k) - best);
      sum = block.sum(sum);
      for (unsigned k = threadIdx.x; k < a.components; k += blockDim.x) {
        const double share = exp(log_density(k) - best) / sum;
        double* const to = lane + head_size + std::size_t{k} * size;
        add_to_lane(to[0], share);
        double norm = 0;
        for (unsigned j = 0; j < columns; ++j) {
          const double z = centred(k, j);
          add_to_lane(to[1 + j], share * z);
          norm += z * z;
          if (!Shape::spherical) add_to_lane(to[1 + columns + j], share * z * z);
        }
        if (Shape::spherical) add_to_lane(to[1 + columns], share * norm);
      }
      if (threadIdx.x == 0) {
        add_to_lane(lane[log_likelihood_place], best + log(sum) + *c.log_shift);
        add_to_lane(lane[total_weight_place], 1);
        add_to_lane(lane[far_rows_place], 1);
      }
      __syncthreads();
    }
  }
  __syncthreads();  // all have read which rows are far
}

}  // namespace shoal::gmm::few_columns
