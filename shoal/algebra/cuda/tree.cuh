// The tree of the host's reduce on a GPU: ((0 1) (2 3)) ((4 5) …), by warps and blocks.
#pragma once

#include <cstddef>

#include <shoal/algebra/cuda/operation.cuh>

namespace shoal::algebra::gpu::detail {

inline constexpr int warp_lanes = 32;
inline constexpr int warps_of_block = 8;
inline constexpr int block_threads = warps_of_block * warp_lanes;
inline constexpr int rows_of_round = 16;  // values that a lane loads at once
inline constexpr int rounds_of_warp = 8;
inline constexpr int round_values = rows_of_round * warp_lanes;    // 512
inline constexpr int warp_values = rounds_of_warp * round_values;  // 4096
inline constexpr int block_values = warps_of_block * warp_values;  // 32768

// Halves the rows that a lane holds until one is left: half of them go to the lane across, and the other half meet what
// comes back, so that no lane combines what another combines too.
template <int Rows, int Bit, class Structure>
__device__ __forceinline__ value_of<Structure> halved_rows(const Structure& structure,
                                                           const value_of<Structure> (&values)[Rows], unsigned lane) {
  if constexpr (Rows == 1) {
    return values[0];
  } else {
    const bool right = (lane & Bit) != 0;
    value_of<Structure> half[Rows / 2];
#pragma unroll
    for (int i = 0; i < Rows / 2; ++i) {
      const auto other = from_lane_across(chosen(right, values[2 * i], values[2 * i + 1]), Bit);
      half[i] = in_order_of_lanes(structure, chosen(right, values[2 * i + 1], values[2 * i]), other, right);
    }
    return halved_rows<Rows / 2, 2 * Bit>(structure, half, lane);
  }
}

// Meets the lanes whose numbers differ in the bits [Bit, End).
template <int Bit, int End, class Structure>
__device__ __forceinline__ value_of<Structure> met_lanes(const Structure& structure, const value_of<Structure>& mine,
                                                         unsigned lane) {
  if constexpr (Bit >= End) {
    return mine;
  } else {
    return met_lanes<2 * Bit, End>(structure, meet(structure, mine, lane, Bit), lane);
  }
}

// The tree of Rows·32 neighbours, of which lane l holds those at r·32 + l.
template <int Rows, class Structure>
__device__ __forceinline__ value_of<Structure> tree_of_rows(const Structure& structure,
                                                            const value_of<Structure> (&values)[Rows], unsigned lane) {
  // Lane l gets row l mod Rows: first the lanes that share a row meet, then the rows.
  const auto of_lane = halved_rows<Rows, 1>(structure, values, lane);
  return met_lanes<1, Rows>(structure, met_lanes<Rows, warp_lanes>(structure, of_lane, lane), lane);
}

// The tree of at most Rows·32 neighbours; the identity takes the places behind the last one, and changes nothing there.
template <int Rows, class Structure>
__device__ __forceinline__ value_of<Structure> tree_of_round(const Structure& structure,
                                                             const value_of<Structure>* values, std::size_t count,
                                                             const value_of<Structure>& identity, unsigned lane) {
  value_of<Structure> held[Rows];
  if (count >= Rows * warp_lanes) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) held[r] = values[r * warp_lanes + lane];
  } else {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      held[r] = r * warp_lanes + lane < count ? values[r * warp_lanes + lane] : identity;
    }
  }
  return tree_of_rows<Rows>(structure, held, lane);
}

// The tree of at most warp_values neighbours by one warp; every lane gets the result.
template <class Structure>
__device__ __forceinline__ value_of<Structure> tree_of_warp(const Structure& structure,
                                                            const value_of<Structure>* values, std::size_t count,
                                                            const value_of<Structure>& identity, unsigned lane) {
  if (count <= warp_lanes) return tree_of_round<1>(structure, values, count, identity, lane);
  if (count <= 4 * warp_lanes) return tree_of_round<4>(structure, values, count, identity, lane);
  value_of<Structure> mine = identity;  // lane r keeps the total of round r
#pragma unroll 1
  for (int round = 0; round < rounds_of_warp && round * round_values < count; ++round) {
    const value_of<Structure> total = tree_of_round<rows_of_round>(structure, values + round * round_values,
                                                                   count - round * round_values, identity, lane);
    mine = chosen(lane % rounds_of_warp == round, total, mine);
  }
  return met_lanes<1, rounds_of_warp>(structure, mine, lane);
}

// The tree of at most block_values neighbours by one block; the threads of its first warp get the result.
template <class Structure>
__device__ __forceinline__ value_of<Structure> tree_of_block(const Structure& structure,
                                                             const value_of<Structure>* values, std::size_t count,
                                                             const value_of<Structure>& identity) {
  __shared__ alignas(16) unsigned char memory[warps_of_block * sizeof(value_of<Structure>)];
  auto* const totals = reinterpret_cast<value_of<Structure>*>(memory);
  const unsigned warp = threadIdx.x / warp_lanes, lane = threadIdx.x % warp_lanes;
  const std::size_t first = std::size_t{warp} * warp_values;
  const value_of<Structure> of_warp =
      first < count ? tree_of_warp(structure, values + first, count - first, identity, lane) : identity;
  __syncthreads();  // an earlier result has been read
  if (lane == 0) totals[warp] = of_warp;
  __syncthreads();
  return met_lanes<1, warps_of_block>(structure, totals[lane % warps_of_block], lane);
}

}  // namespace shoal::algebra::gpu::detail
