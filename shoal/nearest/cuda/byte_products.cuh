// Products of whole numbers of 8 bits on Hopper's tensor cores, and where their operands lie.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/nearest/cuda/byte_operands.hpp>

namespace shoal {

inline constexpr int byte_positions = 32;              // scores of one row that a thread sees in a tile
inline constexpr int most_byte_score = (1 << 26) - 1;  // a key is a score and a position
static_assert(byte_positions * 4 == byte_cluster_tile);

/// Where a centroid's start is, so that a thread reads four of its own at a time, and its position in the key.
struct byte_start {
  int place, position;
  __device__ explicit byte_start(int k) {
    const int within = k % byte_cluster_tile, pair = within / 8, q = within % 8 / 2, e = within % 2;
    place = k - within + pair / 2 * 16 + q * 4 + pair % 2 * 2 + e;
    position = 2 * pair + e;
  }
};

/// Byte of the four columns of a word of a centroid. Rows lie as they are read, column after column, and a thread takes
/// 16 bytes of a row for two products, or 8 for a last one; centroids lie in core matrices of 8 × 16 bytes.
__device__ inline std::size_t byte_place(int k, int word, int steps) {
  const int in_pair = word % 16, pair = word / 16;
  const bool last = steps % 2 != 0 && pair == steps / 2;
  const int q = last ? in_pair / 2 : in_pair / 4;
  const int step = 2 * pair + (last ? 0 : in_pair % 4 / 2), half = in_pair % 2;
  return static_cast<std::size_t>(k / 8) * 8 * byte_step_columns * steps + (2 * step + half) * 128 + k % 8 * 16 + 4 * q;
}

/// The unit of centroids. All threads of a warp come here.
__device__ inline float byte_unit(const byte_operands& of) {
  static_assert(byte_value_blocks == 64);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float largest = fmaxf(__ldcg(of.largest_values + lane), __ldcg(of.largest_values + lane + 32));
  // Numbers that are not negative order like their bits.
  return fmaxf(__uint_as_float(__reduce_max_sync(~0u, __float_as_uint(largest))), 0x1p-60f) / 127;
}
/// What stands for a value, given the inverse of the unit: what that loses is measured, so that it need not be nearest.
__device__ inline float byte_of(float value, float inverse) {
  return fminf(fmaxf(rintf(__fmul_rn(value, inverse)), -127.0f), 127.0f);
}

// d (64 × 128) = keep · d + a (64 × 32) · (b (128 × 32))ᵀ, the first factor from registers.
__device__ inline void multiply_bytes(int (&d)[64], const unsigned (&a)[4], unsigned long long b, int keep) {
#define SHOAL_EIGHT(i)                                                                                        \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]), \
      "+r"(d[i + 7])
  asm volatile(
      "{.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
      "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "
      "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, "
      "%58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, p;}"
      : SHOAL_EIGHT(0), SHOAL_EIGHT(8), SHOAL_EIGHT(16), SHOAL_EIGHT(24), SHOAL_EIGHT(32), SHOAL_EIGHT(40),
        SHOAL_EIGHT(48), SHOAL_EIGHT(56)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
#undef SHOAL_EIGHT
}

}  // namespace shoal
