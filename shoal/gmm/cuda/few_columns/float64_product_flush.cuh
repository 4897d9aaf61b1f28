// The end of a launch of float64_product_kernel.cuh: warps' sums about the frame's origin to the lane, about the
// components' own centres.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/float64_product_shape.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>

namespace shoal::gmm::few_columns {

/// A warp's sums: [2 half + e] of component g + 8 half and feature 8 eight + 2 q + e.
template <class Shape>
using float64_sums = double[Shape::tiles][Shape::eights][4];

/// Adds the sums of all groups of warps up, in the first group. `buffer` [groups / 2 · parts][sums of a warp].
template <class Shape>
__device__ void add_groups(float64_sums<Shape>& sums, double* buffer, unsigned groups, unsigned parts) {
  constexpr unsigned own = Shape::tiles * Shape::eights * 128;
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32, group = warp / parts, part = warp % parts;
  const auto for_each_sum = [&](double* at, const auto& use) {
    at += thread;
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (int i = 0; i < 4; ++i) use(at[((tile * Shape::eights + eight) * 4 + i) * 32], sums[tile][eight][i]);
      }
    }
  };
  for (unsigned left = groups; left > 1;) {
    const unsigned half = (left + 1) / 2;
    if (group >= half && group < left) {
      for_each_sum(buffer + ((group - half) * parts + part) * own, [](double& to, double sum) { to = sum; });
    }
    __syncthreads();
    if (group < left - half) {
      for_each_sum(buffer + (group * parts + part) * own, [](double from, double& sum) { sum += from; });
    }
    __syncthreads();
    left = half;
  }
}

/// Writes the first group's sums to the lane. `work` [parts][eights · 128 and then features].
template <class Shape>
__device__ void flush_float64(const float64_product_arguments& a, const float64_sums<Shape>& sums, double* work,
                              const double* origin, const double* unit, double* lane) {
  const unsigned d = Shape::matrix ? Shape::columns : a.columns;
  const unsigned count = Shape::matrix ? Shape::features : 2 * d + 1;
  constexpr int turns = (Shape::features + 31) / 32;
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32, g = thread / 4, q = thread % 4;
  const bool tied = Shape::matrix && a.shared_triangle != 0;
  const auto place_in_lane = [&](unsigned k, unsigned sum) {
    if constexpr (Shape::matrix) return lane_place<Shape::columns, Shape::type>(a, k, sum);
    return head_size + std::size_t{k} * count + sum;
  };
  double* const own = work + warp * (Shape::eights * 128);
  double* const triangles = work + a.parts * (Shape::eights * 128);
  if (warp < a.parts) {
    double triangle[turns] = {};
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      __syncwarp();
#pragma unroll
      for (int eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
          own[(8 * eight + 2 * q + i % 2) * float64_tile + g + 8 * (i / 2)] = sums[tile][eight][i];
        }
      }
      __syncwarp();
      const unsigned first = (warp * Shape::tiles + tile) * float64_tile;
      // Sum `sum` of component first + c about its centre.
      const auto about_centre = [&](unsigned c, unsigned i, unsigned j) {
        const auto total = [&](unsigned l, unsigned m) {
          const double value = own[feature_of_pair<Shape>(l, m, d) * float64_tile + c];
          return value * (l < d ? unit[l] : 1.0) * (m < d ? unit[m] : 1.0);
        };
        const auto shift = [&](unsigned column) {
          return a.parameters.packed.centres[(first + c) * d + column] - origin[column];
        };
        const double all = total(i, j);
        if (i == d) return all;
        const double weight = total(d, d);
        if (j == d) return all - weight * shift(i);
        return all + (shift(i) * (weight * shift(j) - total(j, d)) - shift(j) * total(i, d));
      };
      const auto place = [&](unsigned sum, unsigned& i, unsigned& j) {
        if constexpr (Shape::matrix) {
          triangle_element(d + 1, sum, i, j);
        } else {
          i = sum == 0 ? d : (sum - 1) % d;
          j = sum <= d ? d : i;
        }
      };
      for (unsigned e = thread; e < count * float64_tile; e += 32) {
        const unsigned c = e % float64_tile, sum = e / float64_tile;
        unsigned i = 0, j = 0;
        place(sum, i, j);
        if (first + c >= a.components || (tied && j < d)) continue;
        lane[place_in_lane(first + c, sum)] = about_centre(c, i, j);
      }
      if (!tied) continue;
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
        unsigned i = 0, j = 0;
        const unsigned sum = static_cast<unsigned>(32 * turn) + thread;
        if (sum >= count) continue;
        place(sum, i, j);
        if (j == d) continue;
        for (unsigned c = 0; c < float64_tile && first + c < a.components; ++c) {
          triangle[turn] += about_centre(c, i, j);
        }
      }
    }
    if (tied) {
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
        const unsigned sum = static_cast<unsigned>(32 * turn) + thread;
        if (sum < count) triangles[warp * count + sum] = triangle[turn];
      }
    }
  }
  if (!tied) return;
  __syncthreads();
  for (unsigned sum = threadIdx.x; sum < count; sum += blockDim.x) {
    unsigned i = 0, j = 0;
    triangle_element(d + 1, sum, i, j);
    if (j == d) continue;
    double total = 0;
    for (unsigned part = 0; part < a.parts; ++part) total += triangles[part * count + sum];
    lane[place_in_lane(0, sum)] = total;
  }
}

}  // namespace shoal::gmm::few_columns
