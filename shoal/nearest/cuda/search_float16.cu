// The nearest centroid of rows of any width by products of float16 numbers, from which each thread keeps the least
// scores of its columns.
//
// Float16 has as many significant bits as TF32 and twice its rate; powers of two keep its range. What rounding lost is
// known of each row, so that the labels are proved as with TF32.
#include <cuda_runtime.h>

#include <type_traits>

#include <shoal/nearest/cuda/byte_operands.hpp>
#include <shoal/nearest/cuda/doubt.cuh>
#include <shoal/nearest/cuda/float16_products.cuh>

namespace shoal {
namespace {

constexpr int cluster_tile = 4 * positions;  // whose scores four neighbouring threads take in at a time

// Whether labels are proved.
enum class wanted { label, proved_label };

template <class Value>
__device__ void swap(Value& a, Value& b) {
  const Value before = a;
  a = b;
  b = before;
}

// Of the least three scores of each row. With few centroids tiles of fewer places have fewer products with places that
// hold none.
template <wanted Wanted, int TileCentroids>
class nearest_of_rows {
 public:
  static constexpr int tile_centroids = TileCentroids;
  // A proof is sharper then: sums cut off what is small against them. Wider tiles have no registers for it.
  static constexpr bool adds_sections = Wanted == wanted::proved_label && TileCentroids == 64;
  static constexpr precision Precision = Wanted == wanted::label ? precision::tf32 : precision::float32;

  __device__ nearest_of_rows(const float16_arguments& in, const scored_row (&facts)[2], float largest_norm,
                             const scored_place& place)
      : in_(in),
        place_(place),
        facts_{facts[0], facts[1]},
        scales_{score_scale(facts[0].magnitude), score_scale(facts[1].magnitude)},
        largest_norm_(largest_norm),
        multiplier_(key_multiplier(largest_norm)) {}

  // Asks for what the first scores of a tile need, before these are there.
  __device__ void expect_tile(int tile) { read_starts(tile, 0); }

  __device__ void take_tile(float (&scores)[tile_centroids / 2], int tile) {
    const int here = in_.centroids.clusters - tile * tile_centroids;
    if (here >= tile_centroids) {
      take_tile<true>(scores, tile, here);
    } else {
      take_tile<false>(scores, tile, here);
    }
  }

  __device__ void finish() {
    // Of the four threads that share two rows, those with odd q finish the second row.
    const bool odd = place_.q % 2 != 0;
    if (odd) {
      swap(least_[0], least_[1]);
      swap(facts_[0], facts_[1]);
    }
    least_scores all = least_[0];
    all.take(least_[1].of_lane(1));
    all.take(all.of_lane(2));
    const int row = place_.first_row + (odd ? 8 : 0);
    if (place_.q > 1 || row >= in_.count) return;
    const std::size_t in_piece = in_.first_row + static_cast<std::size_t>(row);
    if constexpr (Precision == precision::float32) {
      const float unit_of_key = score_scale(facts_[0].magnitude).unit;
      // The least score of a centroid is no less than its key; that of the first is no more than twice its error above.
      const int first = min(all.first_cluster, in_.centroids.clusters - 1);
      const float error = facts_[0].error * __ldg(&in_.operands.starts[first].norm) +
                          error_of_all(largest_norm_, unit_of_key, place_.steps);
      settle_row(least_units(all), 2 * error / unit_of_key + 1, static_cast<int>(in_piece), in_.labels, in_.doubtful);
    } else {
      if (in_.left != nullptr && *in_.all_left == 0 && in_.labels[in_piece] >= 0) return;
      // Scores that left float32's range may name any place.
      in_.labels[in_piece] = min(all.first_cluster, in_.centroids.clusters - 1);
    }
  }

 private:
  // Of two neighbouring centroids: ‖c′‖²/2, and with a proof ‖c′‖ too, as they lie in memory.
  using start = std::conditional_t<Precision == precision::float32, float4, float2>;
  static constexpr int pairs = positions / 2;  // of a thread in a part of a tile
  static constexpr int parts = tile_centroids / cluster_tile;

  __device__ void read_starts(int tile, int part) {
    const int first = tile * tile_centroids + part * cluster_tile + 2 * place_.q;
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      if constexpr (Precision == precision::float32) {
        starts_[i] = __ldg(reinterpret_cast<const float4*>(in_.operands.starts + first + 8 * i));
      } else {
        starts_[i] = __ldg(reinterpret_cast<const float2*>(in_.centroids.half_norms + first + 8 * i));
      }
    }
  }

  // Whole: all places of the tile have a centroid.
  template <bool Whole>
  __device__ void take_tile(float (&scores)[tile_centroids / 2], int tile, int here) {
    const int q = place_.q;
    least_keys<Precision> keys[2];
    const auto take = [&](auto number) {
      constexpr int part = number.value;
      if (!Whole && part * cluster_tile >= here) return;
      start starts[pairs];
#pragma unroll
      for (int i = 0; i < pairs; ++i) starts[i] = starts_[i];
      if (part + 1 < parts) read_starts(tile, part + 1);
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float& a = scores[4 * (part * pairs + i) + 2 * half];
          float& b = scores[4 * (part * pairs + i) + 2 * half + 1];
          const float offset = scales_[half].offset;
          if constexpr (Precision == precision::float32) {
            a = fmaf(a, facts_[half].inverse, fmaf(-facts_[half].error, starts[i].y, starts[i].x + offset));
            b = fmaf(b, facts_[half].inverse, fmaf(-facts_[half].error, starts[i].w, starts[i].z + offset));
          } else {
            a = fmaf(a, facts_[half].inverse, starts[i].x + offset);
            b = fmaf(b, facts_[half].inverse, starts[i].y + offset);
          }
        }
      }
      if (!Whole && (part + 1) * cluster_tile > here) {
#pragma unroll
        for (int i = 2 * part * positions; i < 2 * (part + 1) * positions; ++i) {
          if (i / 4 * 8 + 2 * q + i % 2 >= here) scores[i] = scales_[i / 2 % 2].beyond;
        }
      }
      keys[0].template take<2 * part * positions, 2>(scores, 0, multiplier_, part * positions);
      keys[1].template take<2 * part * positions, 2>(scores, 1, multiplier_, part * positions);
    };
    take(std::integral_constant<int, 0>());
    if constexpr (parts > 1) take(std::integral_constant<int, 1>());
    if constexpr (parts > 2) take(std::integral_constant<int, 2>());
    if constexpr (parts > 3) take(std::integral_constant<int, 3>());
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto cluster = [&](unsigned key) {
        const auto p = static_cast<int>(key % segment_positions);
        return tile * tile_centroids + p / 2 * 8 + 2 * q + p % 2;
      };
      const least_keys<Precision>& of = keys[half];
      least_[half].take({of.first, of.second, of.third, cluster(of.first), cluster(of.second)});
    }
  }

  const float16_arguments& in_;
  scored_place place_;
  scored_row facts_[2];
  score_scale scales_[2];
  float largest_norm_;
  unsigned multiplier_;
  least_scores least_[2];
  start starts_[pairs];
};

}  // namespace

void search_float16(const float16_operands& operands, std::size_t first_row, std::size_t count,
                    const searched_centroids& centroids, std::int32_t* labels, const doubtful_rows& doubtful,
                    std::size_t multiprocessors, const int* stopped, cudaStream_t stream) {
  float16_arguments in{};
  set(in, operands, count, centroids);
  in.labels = labels;
  in.doubtful = doubtful;
  in.first_row = first_row;
  in.stopped = stopped;
  const auto search = [&](auto tile) {
    if (centroids.products == precision::float32) {
      launch<nearest_of_rows<wanted::proved_label, tile.value>>(in, multiprocessors, stream);
    } else {
      launch<nearest_of_rows<wanted::label, tile.value>>(in, multiprocessors, stream);
    }
  };
  // One narrow tile instead of a wide one; beyond that, narrow tiles would pass all rows several times. A k-means step
  // of 10⁶ float32 rows × 300 columns and K = 64 takes 0.91 ms so on an H200 and 1.26 with a wide one.
  if (centroids.clusters <= 64) return search(std::integral_constant<int, 64>());
  if (centroids.clusters <= 128) return search(std::integral_constant<int, 128>());
  search(std::integral_constant<int, float16_cluster_tile>());
}

void search_left_rows(const float16_operands& operands, const byte_operands& bytes, std::size_t first_row,
                      std::size_t count, const searched_centroids& centroids, std::int32_t* labels,
                      std::size_t multiprocessors, const int* stopped, cudaStream_t stream) {
  float16_arguments in{};
  set(in, operands, count, centroids);
  in.labels = labels;
  in.first_row = first_row;
  in.stopped = stopped;
  in.left = bytes.left;
  in.all_left = bytes.all_left;
  launch<nearest_of_rows<wanted::label, float16_cluster_tile>>(in, multiprocessors, stream);
}

}  // namespace shoal
