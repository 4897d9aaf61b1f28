// The end of a group of rows: the warps' sums to the block's lane, and rows beyond the frame in float64.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/term_sums.cuh>

namespace shoal::gmm::few_columns {

/// Sum over the four threads that have the same component.
__device__ inline double sum_of_four(double value) {
  value += __shfl_xor_sync(~0U, value, 1);
  return value + __shfl_xor_sync(~0U, value, 2);
}

/// Adds a warp's sums to the lane, in float64 and about the components' centres. `sum_of(i, value)` is what all warps
/// with the same components have in place i together.
template <class Shape, class SumOf>
__device__ void flush_components(const term_arguments& a, const product_column* frame, unsigned first_tile,
                                 const term_sums<Shape>& sums, const SumOf& sum_of, double* lane) {
  const unsigned thread = threadIdx.x % 32, g = thread / 4, t = thread % 4;
  const unsigned columns = a.columns, size = 1 + 2 * columns;
  constexpr double back = 1.0 / responsibility_scale;
  constexpr int tile_places = 4 * Shape::eights + 4, eights = Shape::columns / 8;
  const prepared_components<double>& c = a.parameters.in_double;
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const unsigned k = (first_tile + tile) * product_components + 8 * half + g;
      const bool inside = k < a.components;
      const int place = tile * tile_places;
      const auto moment = [&](int eight, int e) {
        return back * sum_of(place + 4 + 4 * eight + 2 * half + e, sums.moments[tile][eight][2 * half + e]);
      };
      double weight, norm = 0;
      if constexpr (Shape::extended) {
        // Features 8 and 9.
        weight = __shfl_sync(~0U, moment(1, 1), static_cast<int>(4 * g));
        norm = __shfl_sync(~0U, moment(1, 0), static_cast<int>(4 * g));
      } else {
        weight = back * sum_of(place + half, sums.weights[tile][half]);
        if constexpr (Shape::fine) weight = sum_of_four(weight);
        if constexpr (Shape::spherical) norm = sum_of_four(back * sum_of(place + 2 + half, sums.norms[tile][half]));
      }
      double* const to = lane + head_size + std::size_t{inside ? k : 0} * size;
      double trace = 0;
#pragma unroll
      for (int eight = 0; eight < eights; ++eight) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const unsigned j = 8 * eight + 2 * t + e;
          const double first = moment(eight, e), second = Shape::spherical ? 0 : moment(Shape::spherical ? 0 : eights + eight, e);
          if (!inside || j >= columns) continue;
          const double unit = static_cast<double>(frame[j].unit);
          const double moved = -static_cast<double>(frame[j].shift) * unit - c.centres[k * columns + j];
          const double line = unit * first;
          to[1 + j] += line + weight * moved;
          const double square = 2 * moved * line + weight * moved * moved;
          if constexpr (Shape::spherical) {
            trace += square;
          } else {
            to[1 + columns + j] += unit * unit * second + square;
          }
        }
      }
      if constexpr (Shape::spherical) {
        const double unit = static_cast<double>(frame[0].unit);
        trace = sum_of_four(trace);
        if (inside && t == 0) to[1 + columns] += unit * unit * norm + trace;
      }
      if (inside && t == 0) to[0] += weight;
    }
  }
}

/// Adds the warps' sums to the lane, those of the same components in the warps' order. All threads call it.
template <class Shape>
__device__ void flush_terms(const term_arguments& a, const product_column* frame, float* buffer, unsigned first_tile,
                            const term_sums<Shape>& sums, double* lane) {
  if (a.parts == term_warps) {
    flush_components<Shape>(
        a, frame, first_tile, sums, [](int, float value) { return static_cast<double>(value); }, lane);
    return;
  }
  constexpr int tile_places = 4 * Shape::eights + 4, warp_places = Shape::tiles * tile_places * 32;
  __syncthreads();  // the stage, in whose place the buffer lies, has been read
  float* const own = buffer + threadIdx.x / 32 * warp_places + threadIdx.x % 32;
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
    float* const to = own + tile * tile_places * 32;
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
  if (threadIdx.x / 32 < a.parts) {
    flush_components<Shape>(
        a, frame, first_tile, sums,
        [&](int place, float value) {
          double sum = static_cast<double>(value);
          for (unsigned warp = a.parts; warp < term_warps; warp += a.parts) {
            sum += static_cast<double>(own[warp * warp_places + place * 32]);
          }
          return sum;
        },
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
    for (unsigned warp = 0; warp < term_warps; ++warp) {
      all.log_likelihood += heads[warp].log_likelihood;
      all.weight += heads[warp].weight;
    }
    lane[log_likelihood_place] += ln_2 * all.log_likelihood + all.weight * *a.parameters.packed.log_shift;
    lane[total_weight_place] += all.weight;
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
      for (unsigned k = threadIdx.x; k < a.components; k += term_threads) best = fmax(best, log_density(k));
      buffer[threadIdx.x] = best;
      __syncthreads();
      for (unsigned other = 0; other < term_threads; ++other) best = fmax(best, buffer[other]);
      double sum = 0;
      for (unsigned k = threadIdx.x; k < a.components; k += term_threads) sum += exp(log_density(k) - best);
      sum = block.sum(sum);
      for (unsigned k = threadIdx.x; k < a.components; k += term_threads) {
        const double share = exp(log_density(k) - best) / sum;
        double* const to = lane + head_size + std::size_t{k} * size;
        to[0] += share;
        double norm = 0;
        for (unsigned j = 0; j < columns; ++j) {
          const double z = centred(k, j);
          to[1 + j] += share * z;
          norm += z * z;
          if (!Shape::spherical) to[1 + columns + j] += share * z * z;
        }
        if (Shape::spherical) to[1 + columns] += share * norm;
      }
      if (threadIdx.x == 0) {
        lane[log_likelihood_place] += best + log(sum) + *c.log_shift;
        lane[total_weight_place] += 1;
        lane[far_rows_place] += 1;
      }
      __syncthreads();
    }
  }
}

}  // namespace shoal::gmm::few_columns
