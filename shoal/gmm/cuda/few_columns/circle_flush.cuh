// The end of a group of rows: the warps' sums to the block's lane, and rows beyond the frame in float64.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/circle_sums.cuh>

namespace shoal::gmm::few_columns {

/// A number of the block's lane, which one thread of the block adds to at a time, without waiting for it: so sums are
/// as if it did.
__device__ inline void add_to_lane(const lane_sums& lane, std::size_t place, double value) {
  if (lane.empty) {
    lane.values[place] = value;
  } else {
    atomicAdd(lane.values + place, value);
  }
}

/// Adds the sums of some parts' components, which the teams have left in `buffer` [parts][teams][sums of a warp], to
/// the lane: in float64, in the teams' order, and about the components' centres. `totals` [parts][components][features]
/// is room to work.
template <class Shape>
__device__ __noinline__ void flush_parts(const circle_arguments& a, const product_column* frame,
                                         const triangle_source* elements, const float* buffer, double* totals,
                                         unsigned first_part, unsigned parts, const lane_sums& lane) {
  constexpr warp_circle circle = Shape::circle;
  constexpr unsigned warp_places = Shape::sizes.sum_bytes() / 4, features = circle.features();
  constexpr unsigned part_components = Shape::sizes.components();
  constexpr double back = 1.0 / responsibility_scale;
  for (unsigned e = threadIdx.x; e < parts * warp_places; e += blockDim.x) {
    const unsigned part = e / warp_places, place = e % warp_places;
    const float* const from = buffer + part * a.teams * warp_places + place;
    double total = 0;
    for (unsigned team = 0; team < a.teams; ++team) total += static_cast<double>(from[team * warp_places]);
    const unsigned thread = place % 32, i = place / 32 % 4, eight = place / 128 % (2 * Shape::steps);
    const unsigned k = place / (256 * Shape::steps) * product_components + 8 * (i / 2) + thread / 4;
    totals[(part * part_components + k) * features + eight * 8 + 2 * (thread % 4) + i % 2] = back * total;
  }
  __syncthreads();
  const unsigned columns = a.columns, size = (columns + 1) * (columns + 2) / 2;
  const unsigned first = first_part * part_components;
  if (first >= a.components) return;
  const unsigned all = min(parts * part_components, a.components - first);
  for (unsigned e = threadIdx.x; e < all * size; e += blockDim.x) {
    const unsigned k = e / size;
    const triangle_source element = elements[e % size];
    const double* const own = totals + k * features;
    const auto unit = [&](unsigned column) { return static_cast<double>(frame[column].unit); };
    const auto moved = [&](unsigned column) {  // from the component's centre to the frame's
      return -static_cast<double>(frame[column].shift) * unit(column) -
             a.parameters.in_double.centres[std::size_t{first + k} * columns + column];
    };
    const double weight = own[circle.one_place()];
    double added = weight;
    if (element.i < columns) {
      const double line = unit(element.i) * own[circle.line_place(element.i)], shift = moved(element.i);
      if (element.j == columns) {
        added = line + weight * shift;
      } else {
        const double other_line = unit(element.j) * own[circle.line_place(element.j)], other_shift = moved(element.j);
        added = unit(element.i) * unit(element.j) * own[element.own] + other_shift * line + shift * other_line +
                weight * shift * other_shift;
      }
    }
    add_to_lane(lane, head_size + std::size_t{first} * size + e, added);
  }
}

/// Adds the teams' sums of a group to the lane. All threads of the block call it.
template <class Shape>
__device__ void flush_circle(const circle_arguments& a, const circle_team<Shape>& team, unsigned char* memory,
                             const circle_places& places, const circle_moments<Shape>& sums, const lane_sums& lane) {
  constexpr unsigned eights = 2 * Shape::steps, warp_places = Shape::sizes.sum_bytes() / 4;
  auto* const buffer = reinterpret_cast<float*>(memory + places.stages);
  for (unsigned first = 0; first < team.parts; first += places.flushed_parts) {
    __syncthreads();  // what lay there has been read
    if (team.part >= first && team.part - first < places.flushed_parts) {
      float* const to = buffer + ((team.part - first) * a.teams + team.team) * warp_places + threadIdx.x % 32;
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
        for (unsigned eight = 0; eight < eights; ++eight) {
#pragma unroll
          for (int i = 0; i < 4; ++i) to[((tile * eights + eight) * 4 + i) * 32] = sums[tile][eight][i];
        }
      }
    }
    __syncthreads();
    auto* const totals = reinterpret_cast<double*>(buffer + places.flushed_parts * a.teams * warp_places);
    flush_parts<Shape>(a, reinterpret_cast<const product_column*>(memory + places.columns),
                       reinterpret_cast<const triangle_source*>(memory + places.elements), buffer, totals, first,
                       min(places.flushed_parts, team.parts - first), lane);
  }
  __syncthreads();
}

/// Adds up what the teams know of rows to the head of the lane.
__device__ inline void flush_circle_heads(const circle_arguments& a, row_sums* heads, row_sums head,
                                          const lane_sums& lane) {
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
    add_to_lane(lane, log_likelihood_place, ln_2 * all.log_likelihood + all.weight * *a.parameters.packed.log_shift);
    add_to_lane(lane, total_weight_place, all.weight);
    if (lane.empty) lane.values[far_rows_place] = lane.values[head_size - 1] = 0;
  }
}

/// Far rows of a group in float64, one after another, all threads on each. `terms` [components] is room to work; the
/// lane is not empty.
inline __device__ __noinline__ void far_circle_rows(const circle_arguments& a, const unsigned* far, double* terms,
                                                    const float* from, unsigned count, const lane_sums& lane) {
  const prepared_components<double>& c = a.parameters.in_double;
  const unsigned columns = a.columns, order = columns + 1, size = order * (order + 1) / 2;
  for (unsigned word = 0; word * 32 < count; ++word) {
    for (unsigned bits = far[word]; bits != 0; bits &= bits - 1) {
      const unsigned row = word * 32 + static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
      const float* const x = from + static_cast<std::size_t>(row) * columns;
      const auto centred = [&](unsigned k, unsigned j) {
        return j == columns ? 1.0 : static_cast<double>(x[j]) - c.centres[std::size_t{k} * columns + j];
      };
      for (unsigned k = threadIdx.x; k < a.components; k += blockDim.x) {
        double norm = 0;
        for (unsigned j = 0; j < columns; ++j) {
          double y = c.offsets[std::size_t{k} * columns + j];
          for (unsigned i = 0; i <= j; ++i)
            y += c.factors[(std::size_t{k} * columns + i) * columns + j] * centred(k, i);
          norm += y * y;
        }
        terms[k] = c.log_constants[k] - 0.5 * norm;
      }
      __syncthreads();
      double best = -INFINITY, sum = 0;
      for (unsigned k = 0; k < a.components; ++k) best = fmax(best, terms[k]);
      for (unsigned k = 0; k < a.components; ++k) sum += exp(terms[k] - best);
      for (unsigned e = threadIdx.x; e < a.components * size; e += blockDim.x) {
        const unsigned k = e / size;
        unsigned i = 0, j = 0;
        triangle_element(order, e % size, i, j);
        add_to_lane(lane, head_size + e, exp(terms[k] - best) / sum * centred(k, i) * centred(k, j));
      }
      if (threadIdx.x == 0) {
        add_to_lane(lane, log_likelihood_place, best + log(sum) + *c.log_shift);
        add_to_lane(lane, total_weight_place, 1);
        add_to_lane(lane, far_rows_place, 1);
      }
      __syncthreads();
    }
  }
}

}  // namespace shoal::gmm::few_columns
