// The centroids that may be the nearest one of rows of any width, by products of float16 numbers.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/nearest/cuda/float16_products.cuh>

namespace shoal {
namespace {

// Of the scores that are not beyond the least one by more than both may be off by: their centroids, in a list of the
// thread's own for each row. What a score may be at most gives the limit, known better with each tile.
class near_of_rows {
 public:
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
      // Beyond that nothing is known of the row. Limits are finite, so that places beyond the last centroid, whose
      // scores are not, are never listed.
      const bool known = facts_[half].error < INFINITY && facts_[half].magnitude < 0x1p120f && slack_[half] < 0x1p120f;
      if (!known) counts_[half] = near_capacity + 1;
    }
  }

  __device__ void expect_tile(int) {}

  __device__ void take_tile(float (&scores)[2 * segment_positions], int tile) {
    const int q = place_.q;
    const float16_centroid* const starts = in_.operands.starts + tile * float16_cluster_tile + 2 * q;
    const int here = in_.centroids.clusters - tile * float16_cluster_tile;
    float most[2] = {INFINITY, INFINITY};
    constexpr int segments = 4, segment = segment_positions / segments;  // scores of a row that are passed by together
    float least[2][segments];
#pragma unroll
    for (int i = 0; i < segment_positions / 2; ++i) {
      const float4 two = __ldg(reinterpret_cast<const float4*>(starts + 8 * i));
      const bool there_a = 8 * i + 2 * q < here, there_b = 8 * i + 2 * q + 1 < here;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& a = scores[4 * i + 2 * half];
        float& b = scores[4 * i + 2 * half + 1];
        const float score_a = there_a ? fmaf(a, facts_[half].inverse, two.x) : INFINITY;
        const float score_b = there_b ? fmaf(b, facts_[half].inverse, two.z) : INFINITY;
        a = fmaf(-facts_[half].error, two.y, score_a);
        b = fmaf(-facts_[half].error, two.w, score_b);
        most[half] = fminf(most[half],
                           fminf(fmaf(facts_[half].error, two.y, score_a), fmaf(facts_[half].error, two.w, score_b)));
        float& low = least[half][2 * i / segment];
        low = 2 * i % segment == 0 ? fminf(a, b) : fminf(low, fminf(a, b));
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      most[half] = fminf(most[half], __shfl_xor_sync(~0u, most[half], 1));
      most[half] = fminf(most[half], __shfl_xor_sync(~0u, most[half], 2));
      limits_[half] = fminf(limits_[half], most[half] + slack_[half]);
#pragma unroll
      for (int s = 0; s < segments; ++s) {
        if (!(least[half][s] <= limits_[half])) continue;
        unsigned near = 0;
#pragma unroll
        for (int p = 0; p < segment; ++p) {
          const int at = s * segment + p;
          if (scores[at / 2 * 4 + 2 * half + at % 2] <= limits_[half]) near |= 1u << p;
        }
        while (near != 0) {
          const int at = s * segment + __ffs(near) - 1;
          near &= near - 1;
          append(half, {tile * float16_cluster_tile + at / 2 * 8 + 2 * q + at % 2, least[half][s]});
        }
      }
    }
    __syncwarp();  // products are of whole warps
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
  float limits_[2] = {INFINITY, INFINITY};
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
  launch<near_of_rows>(in, multiprocessors, stream);
}

}  // namespace shoal
