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
template <int Tiles>
using warp_sums = float[warp_steps][Tiles][4];

/// Where things lie in the dynamic shared memory of a block, in bytes.
struct warp_places {
  unsigned lane = 0;  ///< [statistics]
  unsigned totals, moved, units, frame, constants, far, elements, head, operands, first_sums, exchanges, bytes;
  unsigned warps;
  unsigned exchange;  ///< of a warp
  unsigned sums;      ///< of a warp
  static constexpr unsigned far_words = static_cast<unsigned>(cuda::piece_unit) / 32 + 1;

  __host__ __device__ warp_places(unsigned components, unsigned statistics) {
    const unsigned tiles = warp_product_tiles(components);
    warps = warp_product_warps(tiles);
    exchange = (2 * sixteen_features + sixteen_shares(tiles)) * 2;
    sums = tiles * warp_steps * 4 * 32 * 4;
    totals = statistics * 8;
    moved = totals + 2 * components * warp_features * 8;
    units = moved + components * warp_product_columns * 8;
    frame = (units + warp_product_columns * 4 + 15) / 16 * 16;
    constants = frame + 2 * warp_product_columns * 8;
    far = constants + most_warp_product_components * 8;
    elements = far + 2 * far_words * 4;
    head = (elements + 64 * 4 + 7) / 8 * 8;
    operands = head + 2 * warps * 8;
    first_sums = (operands + warp_operand_numbers(tiles) * 2 + 127) / 128 * 128;
    exchanges = first_sums + warps * sums;
    bytes = exchanges + warps * exchange;
  }

  /// A warp's sums of the first of two groups, or of the second, which lie where its rows did.
  __device__ unsigned sums_of(unsigned turn, unsigned warp) const {
    return turn == 0 ? first_sums + warp * sums : exchanges + warp * exchange;
  }
  __device__ unsigned* far_bits(unsigned char* memory, unsigned turn) const {
    return reinterpret_cast<unsigned*>(memory + far) + turn * far_words;
  }
  /// Whether there are any.
  __device__ unsigned* any_far(unsigned char* memory, unsigned turn) const {
    return far_bits(memory, turn) + far_words - 1;
  }
  __device__ void forget_far_rows(unsigned char* memory) const {
    for (unsigned i = threadIdx.x; i < 2 * far_words; i += blockDim.x) far_bits(memory, 0)[i] = 0;
  }
  __device__ double* heads(unsigned char* memory) const { return reinterpret_cast<double*>(memory + head); }
};
// A frame is found where rows lie later, of the fewest warps too.
static_assert(warp_work_bytes(warp_product_columns) <=
              warp_product_warps(most_warp_product_tiles) * 2 * sixteen_features * 2);

/// Of a lane's triangle, how an element comes of a component's sums: their places among its features.
struct triangle_source {
  unsigned char i, j, own, spare;  // four bytes, one load
};

/// Rows of a group.
struct row_group {
  const float* rows;
  unsigned count;
};

/// Adds one or two groups to the lane: the warps' sums in their order, in float64, about the components' centres.
/// Called from two places, and too long to be there twice.
template <int Columns, int Tiles>
__device__ __noinline__ void flush_groups(const team_arguments& a, unsigned char* memory, const warp_places& places,
                                          const row_group (&groups)[2], unsigned count, const warp_mixture& mixture,
                                          double* lane) {
  constexpr unsigned warps = warp_product_warps(Tiles);
  __syncthreads();
  auto* const totals = reinterpret_cast<double*>(memory + places.totals);
  const unsigned all = a.components * warp_features;
  constexpr double back = 1.0 / responsibility_scale;
  constexpr unsigned warp_size = warp_steps * Tiles * 4 * 32;
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
    totals[turn * all + k * warp_features + block / Tiles * 16 + i / 2 * 8 + g] = back * total;
  }
  __syncthreads();
  constexpr unsigned triangle = (Columns + 1) * (Columns + 2) / 2;
  const auto* const elements = reinterpret_cast<const triangle_source*>(memory + places.elements);
  const auto unit = [&](unsigned column) { return static_cast<double>(mixture.units[column]); };
  const auto add = [&](unsigned turn) {
    for (unsigned e = threadIdx.x; e < a.components * triangle; e += 32 * warps) {
      const unsigned k = e / triangle;
      const triangle_source element = elements[e % triangle];
      const double* const own = totals + turn * all + k * warp_features;
      const double* const moved = mixture.moved + k * warp_product_columns;
      const double weight = own[one_place];
      double added = weight;
      if (element.i < Columns) {
        const double first = unit(element.i) * own[line_place(element.i)];
        if (element.j == Columns) {
          added = first + weight * moved[element.i];
        } else {
          const double second = unit(element.j) * own[line_place(element.j)];
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
