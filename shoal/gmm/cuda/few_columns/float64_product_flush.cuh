// The end of a launch of float64_product_kernel.cuh: warps' sums about the frame's origin to the lane, about the
// components' own centres.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/cluster.cuh>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/float64_product_shape.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>

namespace shoal::gmm::few_columns {

/// Warps that share rows: of a block, or all of the blocks of a cluster.
struct float64_group {
  unsigned number, warps, blocks;
  /// Those of the block.
  __device__ void sync() const {
    if (warps > 1) {
      asm volatile("bar.sync %0, %1;" ::"r"(1 + number), "r"(32 * warps) : "memory");
    } else {
      __syncwarp();
    }
  }
  __device__ void sync_all() const {
    if (blocks > 1) {
      cuda::come_with_writes();
      cuda::wait_for_writes();
    } else {
      sync();
    }
  }
  __device__ unsigned all() const { return warps * blocks; }
  /// Writes a number to the same place of each block.
  __device__ void tell(double* place, double value) const {
    if (blocks > 1) {
      for (unsigned block = 0; block < blocks; ++block) cuda::write_in_block(place, value, block);
    } else {
      *place = value;
    }
  }
};

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

/// Writes the first group's sums to the lane. `work` [parts][eights · 128 and then features]; `shifts`
/// [parts · tiles · 16][columns] is room, too, and `blocks_triangles` [blocks of a cluster][features].
template <class Shape>
__device__ void flush_float64(const float64_product_arguments& a, const float64_group& group,
                              const float64_sums<Shape>& sums, double* work, double* shifts, double* blocks_triangles,
                              const double* origin, const double* unit, double* lane) {
  constexpr unsigned tile_sums = Shape::eights * 128;
  constexpr int turns = (Shape::features * most_float64_parts + Shape::threads - 1) / Shape::threads;
  const unsigned d = Shape::matrix ? Shape::columns : a.columns;
  const unsigned count = Shape::matrix ? Shape::features : 2 * d + 1;
  const unsigned warp = threadIdx.x / 32, thread = threadIdx.x % 32, g = thread / 4, q = thread % 4;
  const bool tied = Shape::matrix && a.shared_triangle != 0;
  const auto place_in_lane = [&](unsigned k, unsigned sum) {
    if constexpr (Shape::matrix) return lane_place<Shape::columns, Shape::type>(a, k, sum);
    return head_size + std::size_t{k} * count + sum;
  };
  const auto columns_of_sum = [&](unsigned sum, unsigned& i, unsigned& j) {
    if constexpr (Shape::matrix) {
      triangle_element(d + 1, sum, i, j);
    } else {
      i = sum == 0 ? d : (sum - 1) % d;
      j = sum <= d ? d : i;
    }
  };
  const unsigned rank = blockIdx.x % a.cluster, most = a.parts * Shape::tiles * float64_tile;
  const unsigned before = min(a.components, rank * most), components = min(a.components - before, most);
  for (unsigned e = threadIdx.x; e < components * d; e += Shape::threads) {
    shifts[e] = a.parameters.packed.centres[before * d + e] - origin[e % d];
  }
  // Of the sums that lie in `own` [eights · 8][16] that of component c, whose centre is `shift` beyond the origin.
  const auto about_centre = [&](const double* own, const double* shift, unsigned c, unsigned i, unsigned j) {
    const auto total = [&](unsigned l, unsigned m) {
      const double value = own[feature_of_pair<Shape>(l, m, d) * float64_tile + c];
      return value * (l < d ? unit[l] : 1.0) * (m < d ? unit[m] : 1.0);
    };
    const double all = total(i, j);
    if (i == d) return all;
    const double weight = total(d, d);
    if (j == d) return all - weight * shift[i];
    return all + (shift[i] * (weight * shift[j] - total(j, d)) - shift[j] * total(i, d));
  };
  double triangle[turns] = {};
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
    if (warp < a.parts) {
#pragma unroll
      for (int eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
          work[warp * tile_sums + (8 * eight + 2 * q + i % 2) * float64_tile + g + 8 * (i / 2)] = sums[tile][eight][i];
        }
      }
    }
    __syncthreads();
    for (unsigned e = threadIdx.x; e < a.parts * float64_tile * count; e += Shape::threads) {
      const unsigned c = e % float64_tile, part = e / float64_tile % a.parts, sum = e / (float64_tile * a.parts);
      const unsigned k = (part * Shape::tiles + tile) * float64_tile + c;
      unsigned i = 0, j = 0;
      columns_of_sum(sum, i, j);
      if (k >= components || (tied && j < d)) continue;
      lane[place_in_lane(before + k, sum)] = about_centre(work + part * tile_sums, shifts + k * d, c, i, j);
    }
    if (tied) {
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
        const unsigned e = static_cast<unsigned>(turn * Shape::threads) + threadIdx.x;
        const unsigned part = e % a.parts, sum = e / a.parts;
        if (sum >= count) continue;
        unsigned i = 0, j = 0;
        columns_of_sum(sum, i, j);
        if (j == d) continue;
        const unsigned first = (part * Shape::tiles + tile) * float64_tile;
#pragma unroll 1
        for (unsigned c = 0; c < float64_tile && first + c < components; ++c) {
          triangle[turn] += about_centre(work + part * tile_sums, shifts + (first + c) * d, c, i, j);
        }
      }
    }
    __syncthreads();
  }
  if (!tied) return;
  if (a.cluster > 1) group.sync_all();  // nobody reads there any more
  double* const triangles = work + a.parts * tile_sums;
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
    const unsigned e = static_cast<unsigned>(turn * Shape::threads) + threadIdx.x;
    if (e < count * a.parts) triangles[e] = triangle[turn];
  }
  __syncthreads();
  for (unsigned sum = threadIdx.x; sum < count; sum += Shape::threads) {
    unsigned i = 0, j = 0;
    columns_of_sum(sum, i, j);
    if (j == d) continue;
    double total = 0;
    for (unsigned part = 0; part < a.parts; ++part) total += triangles[sum * a.parts + part];
    if (a.cluster == 1) {
      lane[place_in_lane(0, sum)] = total;
    } else {
      cuda::write_in_block(blocks_triangles + rank * count + sum, total, 0);
    }
  }
  if (a.cluster == 1) return;
  group.sync_all();
  for (unsigned sum = threadIdx.x; rank == 0 && sum < count; sum += Shape::threads) {
    unsigned i = 0, j = 0;
    columns_of_sum(sum, i, j);
    if (j == d) continue;
    double total = 0;
    for (unsigned block = 0; block < a.cluster; ++block) total += blocks_triangles[block * count + sum];
    lane[place_in_lane(0, sum)] = total;
  }
}

}  // namespace shoal::gmm::few_columns
