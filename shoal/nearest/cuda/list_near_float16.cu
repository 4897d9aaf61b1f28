// The centroids that may be the nearest one of rows of any width, by products of float16 numbers.
#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

#include <shoal/nearest/cuda/float16_products.cuh>

namespace shoal {
namespace {

// Of the scores that are not beyond the least one by more than both may be off by: their centroids, in a list of the
// thread's own for each row. What a score may be at most gives the limit, known better with each tile: the least of it,
// and for the two nearest centroids the next one.
template <bool Two>
class near_of_rows {
  static constexpr int scores_of_tile = 2 * segment_positions;
  static constexpr int positions_of_row = scores_of_tile / 2;  // scores of one row that the thread sees in a tile
  static constexpr int segment = 16;                           // scores of a row that are passed by together
  static constexpr int segments = positions_of_row / segment;

 public:
  static constexpr int tile_centroids = float16_cluster_tile;
  static constexpr bool adds_sections = false;

  __device__ near_of_rows(const float16_arguments& in, const scored_row (&facts)[2], float largest_norm,
                          const scored_place& place)
      : in_(in), place_(place), facts_{facts[0], facts[1]} {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int wanted_row = place.first_row + 8 * half, row = min(wanted_row, in.count - 1);
      lists_[half] = in.listed.lists +
                     ((static_cast<std::size_t>(row) * in.parts + place.part) * near_lists + place.q) * near_capacity;
      if (wanted_row >= in.count) counts_[half] = near_capacity + 1;
      // The definition's own roundings in float64 are relative to the distance, which scores are not.
      const float most = facts[half].norm + sqrtf(largest_norm);
      slack_[half] = 2 * error_of_all(largest_norm, 0x1p-23f * facts[half].magnitude, place.steps) +
                     static_cast<float>(16 * place.steps + 16) * 0x1p-52f * most * most;
      // Beyond that nothing is known of the row.
      const bool known = facts_[half].error < INFINITY && facts_[half].magnitude < 0x1p120f && slack_[half] < 0x1p120f;
      if (!known) counts_[half] = near_capacity + 1;
    }
  }

  __device__ void expect_tile(int) {}

  __device__ void take_tile(const float (&scores)[scores_of_tile], int tile) {
    set_limits(scores, tile);
    list_all(scores, tile, std::make_integer_sequence<int, segments>());
  }
  __device__ void finish() const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = place_.first_row + 8 * half;
      if (row >= in_.count) continue;
      const std::size_t place = static_cast<std::size_t>(row) * in_.parts + place_.part;
      in_.listed.counts[place * near_lists + place_.q] = static_cast<unsigned char>(counts_[half]);
      if (place_.q == 0) in_.listed.limits[place] = limits_[half];
    }
  }

 private:
  // What scores may be at most. All of what they may be at least would not stay in registers with the scores.
  __device__ __forceinline__ void set_limits(const float (&scores)[scores_of_tile], int tile) {
    const float16_centroid* const starts = in_.operands.starts + tile * tile_centroids + 2 * place_.q;
    float most[2] = {INFINITY, INFINITY};
    [[maybe_unused]] float next[2] = {INFINITY, INFINITY};
    // A centroid that is there again would be two.
    const int here = in_.centroids.clusters - tile * tile_centroids - 2 * place_.q;
#pragma unroll
    for (int i = 0; i < scores_of_tile / 4; ++i) {
      const float4 two = __ldg(reinterpret_cast<const float4*>(starts + 8 * i));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float error = facts_[half].error, inverse = facts_[half].inverse;
        const float a = fmaf(error, two.y, fmaf(scores[4 * i + 2 * half], inverse, two.x));
        const float b = fmaf(error, two.w, fmaf(scores[4 * i + 2 * half + 1], inverse, two.z));
        if constexpr (Two) {
          take_two(most[half], next[half], 8 * i < here ? a : INFINITY, 8 * i + 1 < here ? b : INFINITY);
        } else {
          most[half] = fminf(most[half], fminf(a, b));
        }
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if constexpr (Two) {
#pragma unroll
        for (int step = 1; step <= 2; step *= 2) {
          const float other = __shfl_xor_sync(~0u, most[half], step);
          take_two(most[half], next[half], other, __shfl_xor_sync(~0u, next[half], step));
        }
        take_two(least_[half], second_[half], most[half], next[half]);
        limits_[half] = fminf(limits_[half], second_[half] + slack_[half]);
      } else {
        most[half] = fminf(most[half], __shfl_xor_sync(~0u, most[half], 1));
        most[half] = fminf(most[half], __shfl_xor_sync(~0u, most[half], 2));
        limits_[half] = fminf(limits_[half], most[half] + slack_[half]);
      }
    }
  }
  // The least two of four numbers.
  __device__ static void take_two(float& least, float& second, float a, float b) {
    const float low = fminf(a, b);
    second = fminf(fminf(second, fmaxf(a, b)), fmaxf(least, low));
    least = fminf(least, low);
  }
  // For each of the segments in turn. Places beyond the last centroid hold that again.
  template <int Number>
  __device__ __forceinline__ void list_near(const float (&scores)[scores_of_tile], int tile) {
    constexpr int first = Number * segment / 2;  // of the fours
    const float16_centroid* const starts = in_.operands.starts + tile * tile_centroids + 2 * place_.q;
    float low[2][segment], least[2] = {INFINITY, INFINITY};
#pragma unroll
    for (int p = 0; p < segment; p += 2) {
      const int i = first + p / 2;
      const float4 two = __ldg(reinterpret_cast<const float4*>(starts + 8 * i));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float error = facts_[half].error, inverse = facts_[half].inverse;
        low[half][p] = fmaf(-error, two.y, fmaf(scores[4 * i + 2 * half], inverse, two.x));
        low[half][p + 1] = fmaf(-error, two.w, fmaf(scores[4 * i + 2 * half + 1], inverse, two.z));
        least[half] = fminf(least[half], fminf(low[half][p], low[half][p + 1]));
      }
    }
    const int here = in_.centroids.clusters;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (!(least[half] <= limits_[half])) continue;
      unsigned near = 0;
#pragma unroll
      for (int p = 0; p < segment; ++p) {
        if (low[half][p] <= limits_[half]) near |= 1u << p;
      }
      while (near != 0) {
        const int at = Number * segment + __ffs(near) - 1;
        near &= near - 1;
        const int centroid = tile * tile_centroids + at / 2 * 8 + 2 * place_.q + at % 2;
        if (centroid < here) append(half, {centroid, least[half]});
      }
    }
    __syncwarp();  // products are of whole warps
  }

  template <int... Numbers>
  __device__ __forceinline__ void list_all(const float (&scores)[scores_of_tile], int tile,
                                           std::integer_sequence<int, Numbers...>) {
    (list_near<Numbers>(scores, tile), ...);
  }
  // A full list first loses what the limit has passed by.
  __device__ __forceinline__ void append(int half, const near_centroid& one) {
    int& count = counts_[half];
    if (count > near_capacity) return;
    if (count == near_capacity) {
      int kept = 0;
      for (int i = 0; i < near_capacity; ++i) {
        const near_centroid old = lists_[half][i];
        if (old.least <= limits_[half]) lists_[half][kept++] = old;
      }
      count = kept;
      if (kept == near_capacity) {
        count = near_capacity + 1;
        return;
      }
    }
    lists_[half][count++] = one;
  }

  const float16_arguments& in_;
  scored_place place_;
  scored_row facts_[2];
  float limits_[2] = {unlisted_half_norm / 4, unlisted_half_norm / 4};
  [[maybe_unused]] float least_[2] = {INFINITY, INFINITY},
                         second_[2] = {INFINITY, INFINITY};  // what scores are at most
  float slack_[2];
  near_centroid* lists_[2];
  int counts_[2] = {0, 0};
};

}  // namespace

int float16_parts(std::size_t count, const searched_centroids& centroids, std::size_t multiprocessors, int most) {
  const int row_tiles = static_cast<int>((count + float16_block_rows - 1) / float16_block_rows);
  const int tiles = centroids.padded / float16_cluster_tile, blocks = static_cast<int>(multiprocessors);
  // Multiprocessors take their items in rounds, of which the last should be whole too.
  const auto cost = [&](int parts) {
    return (row_tiles * parts + blocks - 1) / blocks * ((tiles + parts - 1) / parts);
  };
  int best = 1;
  for (int parts = 2; parts <= std::min(most, tiles); ++parts) {
    if (cost(parts) < cost(best)) best = parts;
  }
  return best;
}

void list_near_float16(const float16_operands& operands, std::size_t count, const searched_centroids& centroids,
                       const listed_centroids& to, std::size_t multiprocessors, cudaStream_t stream) {
  float16_arguments in{};
  set(in, operands, count, centroids);
  in.listed = to;
  in.parts = to.parts;
  if (to.two) return launch<near_of_rows<true>>(in, multiprocessors, stream);
  launch<near_of_rows<false>>(in, multiprocessors, stream);
}

}  // namespace shoal
