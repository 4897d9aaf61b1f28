// The moments of components that a common frame leaves out, in float64 about their own centres: most of them hold few
// rows. Device code of far_rows.cu.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/held_rows.cuh>

namespace shoal::gmm::tensor_diagonal {

// A section to a warp of the block.
template <int Warps>
struct left_out_sums {
  static constexpr int word_rows = 32 * 32;  // whose words a warp reads at once
  double weights[Warps];
  double sums[Warps][2][most_columns];
  std::uint16_t rows[Warps][word_rows];
  int counts[Warps];
};

// The weighted responsibility of component k for a row that it may hold.
__device__ inline float left_out_responsibility(const problem& mixture, const chunk& rows, int k, int row) {
  row_facts facts(mixture, row);
  if (facts.far) return facts.responsibility(mixture.terms[term_place(mixture.tiles, k, row)]);
  const auto& packed = mixture.parameters.packed;
  const std::size_t start = static_cast<std::size_t>(k) * mixture.columns;
  const float* const x = rows.rows + static_cast<std::size_t>(row) * mixture.columns;
  float norm = 0;
#pragma unroll 4
  for (int j = 0; j < mixture.columns; ++j) {
    const float y = fmaf(x[j] - __ldg(packed.centres + start + j), __ldg(packed.factors + start + j),
                         __ldg(packed.offsets + start + j));
    norm = fmaf(y, y, norm);
  }
  facts.shift = mixture.densities[row] - log2f(rows.weights == nullptr ? 1.0F : rows.weights[row]);
  return facts.responsibility(fmaf(norm, -0.5F, packed.log_constants[k]) * log2_of_e);
}

// The sums of the rows from `begin` to `end` by one warp, row after row.
template <int Warps>
__device__ void sum_left_out(const problem& mixture, const chunk& rows, int k, int begin, int end,
                             const double (&centre)[most_columns / 32], int warp, left_out_sums<Warps>& shared) {
  constexpr int own_columns = most_columns / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  double weight = 0, first[own_columns] = {}, second[own_columns] = {};
  int all = 0;
  for (int from = begin; from < end; from += left_out_sums<Warps>::word_rows) {
    const int own_row = from + 32 * lane;
    unsigned found =
        own_row < end ? mixture.far_masks[own_row / 32] | mixture.kept[kept_place(mixture.components, k, own_row)] : 0;
    int before = __popc(found);
    const int own = before;
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(~0U, before, distance);
      if (lane >= distance) before += other;
    }
    const int count = __shfl_sync(~0U, before, 31);
    if (count == 0) continue;
    all += count;
    before -= own;
    for (; found != 0; found &= found - 1) {
      shared.rows[warp][before++] = static_cast<std::uint16_t>(32 * lane + __ffs(static_cast<int>(found)) - 1);
    }
    __syncwarp();
    for (int at = 0; at < count; at += 32) {
      const int listed = at + lane < count ? from + shared.rows[warp][at + lane] : 0;
      const float responsibility = at + lane < count ? left_out_responsibility(mixture, rows, k, listed) : 0.0F;
      const int some = min(32, count - at);
#pragma unroll 8
      for (int i = 0; i < some; ++i) {
        const auto r = static_cast<double>(__shfl_sync(~0U, responsibility, i));
        const auto row = static_cast<std::size_t>(__shfl_sync(~0U, listed, i)) * mixture.columns;
        weight += r;
#pragma unroll
        for (int part = 0; part < own_columns; ++part) {
          const int column = 32 * part + lane;
          if (32 * part >= mixture.columns) break;
          const float x = column < mixture.columns ? rows.rows[row + column] : 0.0F;
          const double difference = static_cast<double>(x) - centre[part];
          first[part] = fma(r, difference, first[part]);
          second[part] = fma(r * difference, difference, second[part]);
        }
      }
    }
    __syncwarp();
  }
  if (lane == 0) {
    shared.counts[warp] = all;
    shared.weights[warp] = weight;
  }
#pragma unroll
  for (int part = 0; part < own_columns; ++part) {
    shared.sums[warp][0][32 * part + lane] = first[part];
    shared.sums[warp][1][32 * part + lane] = second[part];
  }
}

// One component and lane by a block: several sections at once, which are added in order.
template <int Warps>
__device__ void add_left_out_lane(const problem& mixture, const chunk& rows, int k, left_out_sums<Warps>& shared) {
  static_assert(32 * Warps >= most_columns);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = static_cast<int>(blockIdx.y);
  const int columns = mixture.columns;
  const std::size_t start = static_cast<std::size_t>(k) * columns;
  double centre[most_columns / 32];
#pragma unroll
  for (int part = 0; part < most_columns / 32; ++part) {
    const int column = 32 * part + thread % 32;
    centre[part] = column < columns ? mixture.parameters.in_double.centres[start + column] : 0.0;
  }
  const std::size_t size = 1 + 2 * static_cast<std::size_t>(columns);
  double* const sums = mixture.own_sums + (static_cast<std::size_t>(lane) * mixture.components + k) * size;
  const bool inside = thread < columns;
  double weight = thread == 0 ? sums[0] : 0;
  double first = inside ? sums[1 + thread] : 0, second = inside ? sums[1 + columns + thread] : 0;
  const int section_rows = mixture.own_section_rows, lanes = mixture.own_lanes;
  const auto passed =
      static_cast<int>(rows.share_first / static_cast<std::size_t>(section_rows) % static_cast<std::size_t>(lanes));
  int section = lane >= passed ? lane - passed : lane - passed + lanes;
  for (; section * section_rows < rows.count; section += Warps * lanes) {
    const int begin = (section + warp * lanes) * section_rows;
    if (begin < rows.count) {
      sum_left_out(mixture, rows, k, begin, min(begin + section_rows, rows.count), centre, warp, shared);
    } else if (thread % 32 == 0) {
      shared.counts[warp] = 0;
    }
    __syncthreads();
    for (int other = 0; other < Warps; ++other) {
      if (shared.counts[other] == 0) continue;
      weight += shared.weights[other];
      if (inside) {
        first += shared.sums[other][0][thread];
        second += shared.sums[other][1][thread];
      }
    }
    __syncthreads();
  }
  if (thread == 0) sums[0] = weight;
  if (!inside) return;
  sums[1 + thread] = first;
  sums[1 + columns + thread] = second;
}

}  // namespace shoal::gmm::tensor_diagonal
