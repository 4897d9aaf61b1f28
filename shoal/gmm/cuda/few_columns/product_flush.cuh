// The end of a group of rows: rows beyond the frame in float64, and sums of registers into the lane.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/product_sums.cuh>

namespace shoal::gmm::few_columns {

/// Far rows of a group in float64, one after another, all threads on each; `terms` [components] is room to work.
template <class Shape>
__device__ void far_product_rows(const product_arguments& a, const std::uint16_t* far, double* terms, const float* from,
                                 unsigned count, double* lane) {
  const prepared_components<double>& c = a.parameters.in_double;
  const unsigned columns = a.columns, order = columns + 1;
  const unsigned size = Shape::full ? order * (columns + 2) / 2 : 1 + 2 * columns;
  for (unsigned tile = 0; tile * product_rows < count; ++tile) {
    for (unsigned bits = far[tile]; bits != 0; bits &= bits - 1) {
      const unsigned row = tile * product_rows + static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
      const float* const x = from + static_cast<std::size_t>(row) * columns;
      const auto centred = [&](unsigned k, unsigned j) {
        return j < columns ? static_cast<double>(x[j]) - c.centres[k * columns + j] : 1.0;
      };
      for (unsigned k = threadIdx.x; k < a.components; k += product_threads) {
        double norm = 0;
        for (unsigned j = 0; j < columns; ++j) {
          double y = c.offsets[k * columns + j];
          if constexpr (Shape::full) {
            for (unsigned i = 0; i <= j; ++i) y += c.factors[(k * columns + i) * columns + j] * centred(k, i);
          } else {
            y += c.factors[k * columns + j] * centred(k, j);
          }
          norm += y * y;
        }
        terms[k] = c.log_constants[k] - 0.5 * norm;
      }
      __syncthreads();
      double best = -INFINITY;
      for (unsigned k = 0; k < a.components; ++k) best = fmax(best, terms[k]);
      double sum = 0;
      for (unsigned k = 0; k < a.components; ++k) sum += exp(terms[k] - best);
      for (unsigned k = threadIdx.x; k < a.components; k += product_threads) {
        const double share = exp(terms[k] - best) / sum;
        double* to = lane + head_size + std::size_t{k} * size;
        if constexpr (Shape::full) {
          for (unsigned i = 0; i < order; ++i) {
            for (unsigned j = i; j < order; ++j) *to++ += share * centred(k, i) * centred(k, j);
          }
          continue;
        }
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

/// A group's sums, from the warps' registers through shared memory to the lane, in float64 and about the components'
/// centres.
template <class Shape>
__device__ void flush_products(const product_arguments& a, const product_team& team, const product_sums<Shape>& sums,
                               const product_column* frame, float* buffer, row_sums* heads, double* lane) {
  constexpr unsigned width = flushed_width(Shape::type, Shape::columns);
  const unsigned lane_number = threadIdx.x % 32, g = lane_number / 4, t = lane_number % 4;
  const unsigned padded = a.tiles * product_components, teams = product_warps / a.share;
  row_sums head = sums.head;
  head.log_likelihood = cuda::warp_sum(head.log_likelihood);
  head.weight = cuda::warp_sum(head.weight);
  __syncthreads();  // the stages, in whose place the buffer lies, have been read
  if (lane_number == 0) heads[threadIdx.x / 32] = head;
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const unsigned k = (team.rank * Shape::tiles + tile) * product_components + 8 * half + g;
      float* const to = buffer + (team.number * padded + k) * width;
      float weight = sums.weights[tile][half];
      weight += __shfl_xor_sync(~0U, weight, 1);
      weight += __shfl_xor_sync(~0U, weight, 2);
      if (t == 0) to[0] = weight;
      if constexpr (Shape::spherical) {
        float norm = sums.norms[tile][half];
        norm += __shfl_xor_sync(~0U, norm, 1);
        norm += __shfl_xor_sync(~0U, norm, 2);
        if (t == 0) to[1 + Shape::features] = norm;
      }
#pragma unroll
      for (int eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (int e = 0; e < 2; ++e) to[1 + 8 * eight + 2 * t + e] = sums.moments[tile][eight][2 * half + e];
      }
    }
  }
  __syncthreads();
  constexpr double back = 1.0 / responsibility_scale;
  const unsigned columns = a.columns, size = 1 + 2 * columns;
  const auto total = [&](unsigned k, unsigned sum) {
    double all = 0;
    for (unsigned other = 0; other < teams; ++other) {
      all += static_cast<double>(buffer[(other * padded + k) * width + sum]);
    }
    return back * all;
  };
  const auto unit_of = [&](unsigned j) { return static_cast<double>(frame[j].unit); };
  const auto moved_by = [&](unsigned k, unsigned j) {
    return -static_cast<double>(frame[j].shift) * unit_of(j) - a.parameters.in_double.centres[k * columns + j];
  };
  if constexpr (Shape::full) {
    const unsigned triangle = (columns + 1) * (columns + 2) / 2;
    for (unsigned e = threadIdx.x; e < a.components * triangle; e += product_threads) {
      const unsigned k = e / triangle;
      unsigned i = 0, j = 0;
      triangle_element(columns + 1, e % triangle, i, j);
      const double weight = total(k, 0);
      const auto first = [&](unsigned column) {
        return unit_of(column) * total(k, 1 + line_feature(Shape::columns, column));
      };
      double& to = lane[head_size + e];
      if (i == columns) {
        to += weight;
      } else if (j == columns) {
        to += first(i) + weight * moved_by(k, i);
      } else {
        const double moved_i = moved_by(k, i), moved_j = moved_by(k, j);
        to += unit_of(i) * unit_of(j) * total(k, 1 + pair_feature(Shape::columns, i, j)) + moved_j * first(i) +
              moved_i * first(j) + weight * moved_i * moved_j;
      }
    }
  } else {
    for (unsigned e = threadIdx.x; e < a.components * columns; e += product_threads) {
      const unsigned k = e / columns, j = e % columns;
      double* const to = lane + head_size + std::size_t{k} * size;
      const double weight = total(k, 0), unit = unit_of(j), moved = moved_by(k, j);
      const double first = unit * total(k, 1 + j);
      to[1 + j] += first + weight * moved;
      if constexpr (!Shape::spherical) {
        to[1 + columns + j] +=
            unit * unit * total(k, 1 + Shape::columns + j) + 2 * moved * first + weight * moved * moved;
      }
      if (j == 0) to[0] += weight;
    }
  }
  if constexpr (Shape::spherical) {
    for (unsigned k = threadIdx.x; k < a.components; k += product_threads) {
      const double weight = total(k, 0), unit = unit_of(0);
      double trace = unit * unit * total(k, 1 + Shape::features);
      for (unsigned j = 0; j < columns; ++j) {
        const double moved = moved_by(k, j);
        trace += 2 * moved * unit * total(k, 1 + j) + weight * moved * moved;
      }
      lane[head_size + std::size_t{k} * size + 1 + columns] += trace;
    }
  }
  if (threadIdx.x == 0) {
    row_sums all;
    for (unsigned warp = 0; warp < product_warps; ++warp) {
      all.log_likelihood += heads[warp].log_likelihood;
      all.weight += heads[warp].weight;
    }
    lane[log_likelihood_place] += ln_2 * all.log_likelihood + all.weight * *a.parameters.packed.log_shift;
    lane[total_weight_place] += all.weight;
  }
  __syncthreads();
}

}  // namespace shoal::gmm::few_columns
