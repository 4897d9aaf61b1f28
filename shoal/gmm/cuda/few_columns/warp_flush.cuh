// The end of groups of rows: the warps' sums, from shared memory to the block's lane.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/warp_frame.cuh>
#include <shoal/gmm/cuda/few_columns/warp_operands.cuh>

namespace shoal::gmm::few_columns {

/// A warp's sums over the rows of a group: [2 half + e] is of feature 16 step + 8 half + g and component 2 t + e.
template <class Shape>
using warp_sums = float[Shape::circle.steps()][Shape::tiles][4];

/// Where things lie in the dynamic shared memory of a block, in bytes.
struct warp_places {
  unsigned lane = 0;  ///< [statistics]
  unsigned totals, moved, units, frame, constants, far, elements, head, operands, first_sums, exchanges, bytes;
  unsigned warps, groups;
  unsigned exchange;  ///< of a warp
  unsigned sums;      ///< of a warp
  static constexpr unsigned far_words = static_cast<unsigned>(cuda::piece_unit) / 32 + 1;

  __host__ __device__ warp_places(const warp_sizes& sizes, unsigned components, unsigned statistics) {
    const unsigned columns = sizes.circle.columns;
    warps = sizes.warps();
    groups = sizes.groups();
    sums = sizes.sum_bytes();
    exchange = sizes.exchange_bytes();
    totals = statistics * 8;
    moved = totals + groups * components * sizes.circle.features() * 8;
    units = moved + components * columns * 8;
    frame = (units + columns * 4 + 15) / 16 * 16;
    constants = frame + 2 * columns * 8;
    far = constants + sizes.components() * 8;
    elements = far + groups * far_words * 4;
    head = (elements + (columns + 1) * (columns + 2) / 2 * 4 + 7) / 8 * 8;
    operands = (head + groups * warps * 8 + 15) / 16 * 16;
    first_sums = (operands + sizes.operand_numbers() * 2 + 127) / 128 * 128;
    exchanges = first_sums + (groups - 1) * warps * sums;
    bytes = exchanges + warps * exchange;
  }

  /// A warp's sums of the first of two groups, or of the last, which lie where its rows did.
  __device__ unsigned sums_of(unsigned turn, unsigned warp) const {
    return turn + 1 < groups ? first_sums + warp * sums : exchanges + warp * exchange;
  }
  __device__ unsigned* far_bits(unsigned char* memory, unsigned turn) const {
    return reinterpret_cast<unsigned*>(memory + far) + turn * far_words;
  }
  /// Whether there are any.
  __device__ unsigned* any_far(unsigned char* memory, unsigned turn) const {
    return far_bits(memory, turn) + far_words - 1;
  }
  __device__ void forget_far_rows(unsigned char* memory) const {
    for (unsigned i = threadIdx.x; i < groups * far_words; i += blockDim.x) far_bits(memory, 0)[i] = 0;
  }
  __device__ double* heads(unsigned char* memory) const { return reinterpret_cast<double*>(memory + head); }

  __device__ warp_mixture mixture(unsigned char* memory) const {
    warp_mixture m;
    m.frame = reinterpret_cast<float2*>(memory + frame);
    m.units = reinterpret_cast<float*>(memory + units);
    m.moved = reinterpret_cast<double*>(memory + moved);
    m.constants = reinterpret_cast<float4*>(memory + constants);
    m.operands = reinterpret_cast<std::uint16_t*>(memory + operands);
    m.work = memory + exchanges;  // a frame is found where rows lie later
    return m;
  }
};

/// Of a lane's triangle, how an element comes of a component's sums: their places among its features.
struct triangle_source {
  unsigned char i, j, own, spare;  // four bytes, one load
};

/// Does what does not need the mixture.
template <class Shape>
__device__ void prepare_memory(unsigned char* memory, const warp_places& places) {
  constexpr unsigned columns = Shape::columns;
  constexpr warp_circle circle = Shape::circle;
  places.forget_far_rows(memory);
  if (threadIdx.x < (columns + 1) * (columns + 2) / 2) {
    unsigned i = 0, j = 0;
    triangle_element(columns + 1, threadIdx.x, i, j);
    const unsigned own = j < columns ? circle.pair_place(i, j) : 0;
    reinterpret_cast<triangle_source*>(memory + places.elements)[threadIdx.x] = {
        static_cast<unsigned char>(i), static_cast<unsigned char>(j), static_cast<unsigned char>(own), 0};
  }
  for (unsigned e = threadIdx.x; e < Shape::sizes.operand_numbers() / 2; e += blockDim.x) {
    reinterpret_cast<std::uint32_t*>(memory + places.operands)[e] = 0;
  }
}

/// Leaves a warp's sums of a group, and its sum of log₂ densities, for the block.
template <class Shape>
__device__ void leave_sums(const warp_sums<Shape>& sums, double log_likelihood, unsigned char* memory,
                           const warp_places& places, unsigned turn, unsigned warp) {
  const unsigned thread = threadIdx.x % 32;
  auto* const own_sums = reinterpret_cast<float*>(memory + places.sums_of(turn, warp)) + thread;
#pragma unroll
  for (unsigned step = 0; step < Shape::circle.steps(); ++step) {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) own_sums[((step * Shape::tiles + tile) * 4 + i) * 32] = sums[step][tile][i];
    }
  }
  const double own_head = cuda::warp_sum(log_likelihood);
  if (thread == 0) places.heads(memory)[turn * places.warps + warp] = own_head;
}

/// Rows of a group.
struct row_group {
  const float* rows;
  unsigned count;
};

/// Adds one or two groups to the lane: the warps' sums in their order, in float64, about the components' centres.
/// Called from two places, and too long to be there twice.
template <class Shape>
__device__ __noinline__ void flush_groups(const team_arguments& a, unsigned char* memory, const warp_places& places,
                                          const row_group* groups, unsigned count, const warp_mixture& mixture,
                                          double* lane) {
  constexpr unsigned Columns = Shape::columns, Tiles = Shape::tiles;
  constexpr warp_circle circle = Shape::circle;
  constexpr unsigned warps = Shape::sizes.warps(), features = Shape::circle.features();
  static_assert(warps % 4 == 0 && warp_work_bytes(Shape::sizes) <= warps * Shape::sizes.exchange_bytes());
  __syncthreads();
  auto* const totals = reinterpret_cast<double*>(memory + places.totals);
  const unsigned all = a.components * features;
  constexpr double back = 1.0 / responsibility_scale;
  constexpr unsigned warp_size = Shape::circle.steps() * Tiles * 4 * 32;
  for (unsigned e = threadIdx.x; e < count * warp_size; e += 32 * warps) {
    const unsigned turn = e / warp_size, place = e % warp_size;
    const unsigned g = place % 32 / 4, t = place % 4, i = place / 32 % 4, block = place / 128;
    const unsigned k = block % Tiles * warp_product_tile + 2 * t + i % 2;
    if (k >= a.components) continue;
    const auto* const from = reinterpret_cast<const float*>(memory + places.sums_of(turn, 0)) + place;
    const unsigned stride = (places.sums_of(turn, 1) - places.sums_of(turn, 0)) / 4;
    double total = 0;
#pragma unroll
    for (unsigned of = 0; of < warps; of += 4) {
      total += static_cast<double>((from[of * stride] + from[(of + 1) * stride]) +
                                   (from[(of + 2) * stride] + from[(of + 3) * stride]));
    }
    totals[turn * all + k * features + block / Tiles * 16 + i / 2 * 8 + g] = back * total;
  }
  __syncthreads();
  constexpr unsigned triangle = (Columns + 1) * (Columns + 2) / 2;
  const auto* const elements = reinterpret_cast<const triangle_source*>(memory + places.elements);
  const auto unit = [&](unsigned column) { return static_cast<double>(mixture.units[column]); };
  const auto add = [&](unsigned turn) {
    for (unsigned e = threadIdx.x; e < a.components * triangle; e += 32 * warps) {
      const unsigned k = e / triangle;
      const triangle_source element = elements[e % triangle];
      const double* const own = totals + turn * all + k * features;
      const double* const moved = mixture.moved + k * circle.columns;
      const double weight = own[circle.one_place()];
      double added = weight;
      if (element.i < Columns) {
        const double first = unit(element.i) * own[circle.line_place(element.i)];
        if (element.j == Columns) {
          added = first + weight * moved[element.i];
        } else {
          const double second = unit(element.j) * own[circle.line_place(element.j)];
          added = unit(element.i) * unit(element.j) * own[element.own] + moved[element.j] * first +
                  moved[element.i] * second + weight * moved[element.i] * moved[element.j];
        }
      }
      lane[head_size + e] += added;
    }
    if (threadIdx.x != 0) return;
    double log_likelihood = 0;
    for (unsigned of = 0; of < warps; ++of) {
      log_likelihood += places.heads(memory)[turn * warps + of];
    }
    unsigned near = groups[turn].count;  // far rows add themselves
    if (*places.any_far(memory, turn) != 0) {
      for (unsigned word = 0; word + 1 < warp_places::far_words; ++word) {
        near -= static_cast<unsigned>(__popc(places.far_bits(memory, turn)[word]));
      }
    }
    lane[log_likelihood_place] += ln_2 * log_likelihood + near * *a.parameters.packed.log_shift;
    lane[total_weight_place] += near;
  };
  bool any_far = false;
  for (unsigned turn = 0; turn < count; ++turn) {
    add(turn);
    if (*places.any_far(memory, turn) == 0) continue;
    any_far = true;
    __syncthreads();
    far_rows<Columns, covariance_type::full>(a, block_team(), places.far_bits(memory, turn),
                                             reinterpret_cast<double*>(memory + places.exchanges), groups[turn].rows,
                                             nullptr, groups[turn].count, lane);
    __syncthreads();
  }
  if (any_far) places.forget_far_rows(memory);
  __syncthreads();
}

}  // namespace shoal::gmm::few_columns
