// Scores of a row that tensor cores leave, as keys: the least three of them and where they are.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/precision.hpp>

namespace shoal {

inline constexpr int positions = 16;                                 // scores of one row that a thread sees in a tile
inline constexpr int segment_tiles = 4;                              // tiles whose scores are told apart by their keys
inline constexpr int segment_positions = segment_tiles * positions;  // a power of two

// Scores become keys, whole numbers that order like them and carry their position, and the least of which one minimum
// finds. To that end a row's scores are sums with a constant so large that they all have the same exponent; the
// mantissa is then the score in units of its last bit. A key is the mantissa, less what overflows of the number's
// upper bits (the same for all of a row's scores), and the position below it. The multiplier is a value that the
// compiler cannot know: multiply-adds have units of their own, which shifts would take from the minima.
__device__ inline unsigned key_of(float score, unsigned multiplier, unsigned position) {
  return __float_as_uint(score) * multiplier + position;
}
// A multiplier for positive scores, and a number that is not negative.
__device__ inline unsigned key_multiplier(float value) { return segment_positions + (__float_as_uint(value) >> 31); }
inline constexpr unsigned beyond_all = 0xffffffffu;

// The least keys of a row among a thread's columns in a segment. No key but the first two is below the third.
template <precision Precision>
struct least_keys {
  unsigned first = beyond_all, second = beyond_all, third = beyond_all;

  // Takes in the thread's scores of a tile: those at First + 4i + 2·half and the place after. Where few warps share a
  // processor, more chains of minima keep it busy.
  template <int First, int Chains = 1, int Count>
  __device__ void take(const float (&scores)[Count], int half, unsigned multiplier, unsigned start) {
    const auto key = [&](int p) { return key_of(scores[First + p / 2 * 4 + 2 * half + p % 2], multiplier, start + p); };
    if constexpr (Precision == precision::float32) {
      unsigned best = min(key(0), key(1)), next = max(key(0), key(1));
#pragma unroll
      for (int p = 2; p < positions; p += 2) {
        const unsigned a = key(p), b = key(p + 1), less = min(a, b);
        next = __vimin3_u32(next, max(a, b), max(best, less));
        best = min(best, less);
      }
      // A tile's third key is not known, but it is no less than its second.
      const unsigned loser = max(first, best);
      first = min(first, best);
      third = __vimin3_u32(third, next, max(second, loser));
      second = __vimin3_u32(second, loser, next);
    } else {
      unsigned chains[Chains];
#pragma unroll
      for (int p = 0; p < positions; p += 2) {
        unsigned& chain = chains[p / 2 % Chains];
        chain = p / 2 < Chains ? (p == 0 ? __vimin3_u32(first, key(p), key(p + 1)) : min(key(p), key(p + 1)))
                               : __vimin3_u32(chain, key(p), key(p + 1));
      }
      first = chains[0];
#pragma unroll
      for (int chain = 1; chain < Chains; ++chain) first = min(first, chains[chain]);
    }
  }
};

// The least keys of a row, and the centroids of the first two.
struct least_scores {
  unsigned first = beyond_all, second = beyond_all, third = beyond_all;
  int first_cluster = 0, second_cluster = 0;

  __device__ void take(const least_scores& other) {
    const bool better = other.first < first;
    const unsigned loser = max(first, other.first);
    const unsigned follower = better ? other.second : second, last = better ? second : other.second;
    const int loser_cluster = better ? first_cluster : other.first_cluster;
    const int follower_cluster = better ? other.second_cluster : second_cluster;
    first = min(first, other.first);
    first_cluster = better ? other.first_cluster : first_cluster;
    third = __vimin3_u32(third, other.third, min(last, max(loser, follower)));
    second_cluster = loser < follower ? loser_cluster : follower_cluster;
    second = min(loser, follower);
  }
  __device__ least_scores of_lane(int step) const {
    return {__shfl_xor_sync(~0u, first, step), __shfl_xor_sync(~0u, second, step), __shfl_xor_sync(~0u, third, step),
            __shfl_xor_sync(~0u, first_cluster, step), __shfl_xor_sync(~0u, second_cluster, step)};
  }
};

// The same in whole units, for settle_row().
struct least_units {
  int first, second, third, first_cluster, second_cluster;

  __device__ explicit least_units(const least_scores& keys)
      : first(static_cast<int>(keys.first / segment_positions)),
        second(static_cast<int>(keys.second / segment_positions)),
        third(static_cast<int>(keys.third / segment_positions)),
        first_cluster(keys.first_cluster),
        second_cluster(keys.second_cluster) {}
};

// The numbers among which a row's scores lie. Scores are at most `magnitude`, up to what rounding adds.
struct score_scale {
  float offset;  // added to each score: magnitudes below 2ᴱ lie about it in [2ᴱ⁺¹, 2ᴱ⁺²)
  float beyond;  // a score that no centroid has
  float unit;    // of a key's mantissa, 2ᴱ⁻²²

  __device__ explicit score_scale(float magnitude) {
    // 2ᴱ⁻¹; products of rounded factors may exceed those of the factors by less than 2 %.
    const float half = fmaxf(__uint_as_float(__float_as_uint(1.02f * magnitude) & 0x7f800000u), 0x1p-100f);
    offset = 6 * half;
    beyond = offset + 2 * half * (1 - 0x1p-16f);
    unit = half * 0x1p-21f;
  }
};

// A square root that is at most 0.01 % too small, once multiplied by what its users multiply it by.
__device__ inline float quick_root(float value) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(value));
  return root;
}

}  // namespace shoal
