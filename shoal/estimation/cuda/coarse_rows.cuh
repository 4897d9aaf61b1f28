// Which points may be nearer to rows than what they know: coarse_rows.hpp, by tensor cores.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <shoal/estimation/cuda/coarse_rows.hpp>
#include <shoal/estimation/cuda/squared_distance.cuh>
#include <shoal/execution/cuda/thread_group.cuh>

namespace shoal {

// What a row at that least distance reaches, in units of s: with room for the roundings of both distances.
template <class Work>
__device__ float reach_of(Work least, float error, double scale, std::size_t columns) {
  if constexpr (sizeof(Work) == 4) {
    // In float32, rounded up all the way: few lanes do this while the others wait.
    const float room = __fadd_ru(1.0f + 2e-6f, __fmul_ru(static_cast<float>(columns + 16), 0x1p-23f));
    return __fadd_ru(__fdiv_ru(__fmul_ru(__fsqrt_ru(least), room), __double2float_rd(scale)), error);
  } else {
    const double room = 1 + static_cast<double>(columns + 16) * 0x1p-52 + 1e-6;
    return __fadd_ru(__double2float_ru(sqrt(static_cast<double>(least)) / scale * room), error);
  }
}

// Bytes of so many columns at a time of 16 rows (a) against those of 8 points (b).
__device__ inline void multiply_bytes(int (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void multiply_bytes(int (&sums)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

// Points 8 · Tiles, of which a warp learns for its 32 rows, a lane each, which of them may be nearer than the row's
// reach: bit p. `step` columns go into a product: 32, or 16 where there are no more.
template <int step, int Tiles>
__device__ unsigned points_within_reach(const std::int8_t* rows, coarse_bound mine, bool inside,
                                        const coarse_rows& points, std::size_t first_point = 0) {
  constexpr int words = step / 16;  // of a row in a thread's hands
  using part = std::conditional_t<words == 2, uint2, unsigned>;
  const unsigned lane = threadIdx.x % 32, group = lane / 4, within = lane % 4;
  const std::size_t pitch = points.pitch;
  const coarse_bound* const bounds = points.bounds + first_point;
  const std::int8_t* const values = points.values + first_point * pitch;
  float widest = 0;
  if (lane < 8 * Tiles) widest = points.errors[first_point + lane];
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) widest = fmaxf(widest, __shfl_xor_sync(~0u, widest, apart));
  // |q_x|² + |q_y|² − 2 q_x·q_y < reach² as a bound on q_x·q_y − |q_y|²/2, in integers.
  const float distance = __fadd_ru(mine.reach, widest), square = __fmul_ru(distance, distance);
  int limit = INT_MAX;
  if (inside) limit = square < 1e9f ? (mine.norm - __float2int_ru(square)) >> 1 : INT_MIN;

  int sums[2][Tiles][4];
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
    const int first = bounds[tile * 8 + within * 2].norm >> 1, second = bounds[tile * 8 + within * 2 + 1].norm >> 1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sums[half][tile][0] = sums[half][tile][2] = -first;
      sums[half][tile][1] = sums[half][tile][3] = -second;
    }
  }
  const auto load = [&](const std::int8_t* from) {
    return *reinterpret_cast<const part*>(from + within * (4 * words));
  };
  // Columns may come in any order as long as rows and points agree.
#pragma unroll 4
  for (std::size_t from = 0; from < pitch; from += step) {
    unsigned b[Tiles][words];
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      const part of = load(values + (tile * 8 + group) * pitch + from);
      if constexpr (words == 2) {
        b[tile][0] = of.x;
        b[tile][1] = of.y;
      } else {
        b[tile][0] = of;
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const part upper = load(rows + (half * 16 + group) * pitch + from);
      const part lower = load(rows + (half * 16 + 8 + group) * pitch + from);
      unsigned a[2 * words];
      if constexpr (words == 2) {
        a[0] = upper.x;
        a[1] = lower.x;
        a[2] = upper.y;
        a[3] = lower.y;
      } else {
        a[0] = upper;
        a[1] = lower;
      }
#pragma unroll
      for (int tile = 0; tile < Tiles; ++tile) multiply_bytes(sums[half][tile], a, b[tile]);
    }
  }
  unsigned found = 0;
#pragma unroll
  for (int eighth = 0; eighth < 4; ++eighth) {
    const int bound = __shfl_sync(~0u, limit, eighth * 8 + static_cast<int>(group));
    unsigned bits = 0;
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      if (sums[eighth / 2][tile][eighth % 2 * 2] > bound) bits |= 1u << (tile * 8 + within * 2);
      if (sums[eighth / 2][tile][eighth % 2 * 2 + 1] > bound) bits |= 2u << (tile * 8 + within * 2);
    }
    bits |= __shfl_xor_sync(~0u, bits, 1);
    bits |= __shfl_xor_sync(~0u, bits, 2);
    const unsigned of_mine = __shfl_sync(~0u, bits, lane % 8 * 4);
    if (lane / 8 == static_cast<unsigned>(eighth)) found = of_mine;
  }
  return found;
}

}  // namespace shoal
