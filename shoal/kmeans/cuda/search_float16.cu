// The nearest centroid of rows of any width on Hopper's tensor cores: products of float16 numbers, column slab after
// column slab from shared memory into sums in registers, from which each thread keeps the least scores of its columns.
//
// Float16 has as many significant bits as TF32 and twice its rate; powers of two keep its range. What rounding lost is
// known of each row, so that the labels are proved as in search_tensor.cu.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/kmeans/cuda/doubt.cuh>
#include <shoal/kmeans/cuda/float16_operands.hpp>
#include <shoal/kmeans/cuda/float16_scale.cuh>
#include <shoal/kmeans/cuda/least_keys.cuh>

namespace shoal::kmeans {
namespace {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

constexpr int unit_rows = float16_layout::unit_rows;
constexpr int tile_units = float16_cluster_tile / unit_rows;
static_assert(segment_positions * 4 == float16_cluster_tile);  // a thread sees every fourth score of a row

constexpr int groups = float16_block_rows / unit_rows;  // warpgroups of a block, each with rows of its own
constexpr int threads = 128 * (groups + 1);             // and one that fetches

// How shared memory is cut when a slab has so many products.
template <int Steps>
struct cut {
  static constexpr unsigned slab_bytes = float16_layout::slab_bytes(Steps);
  static constexpr unsigned stage_bytes = (groups + tile_units) * slab_bytes;
  static constexpr int stages = static_cast<int>(225 * 1024 / stage_bytes);
};

struct float16_arguments {
  float16_operands operands;
  device_centroids<float> centroids;
  std::int32_t* labels;
  doubtful_rows doubtful;
  std::size_t first_row;
  int count;
  int row_tiles;  // of groups · 64 rows
  int tiles;      // of centroids
  const int* stopped;
};

// The bound of search_tensor.cu in two parts. What rounding to float16 lost and what sums cut off (of each product 16
// terms and what came before, at a unit of the greatest of them, and so their sum) is in proportion to a norm of the
// centroid's own (float16_centroid): scores are kept less that, so that centroids of large norms, which are less well
// known, put no others in doubt. The rest is the same for all centroids.
__device__ float error_of_norm(const float16_row& row, float residual, int steps) {
  constexpr float a = 1.05f * 8 * 0x1p-24f;
  // Beyond that, which only numbers near the ends of float32's range reach, keys would not order like scores.
  constexpr float most = 0x1p-9f;
  if (!(row.lost <= most * row.norm && residual <= most)) return INFINITY;
  return 1.001f * (row.lost + row.norm * (1.001f * residual + static_cast<float>(18 * steps) * 0x1p-23f * 1.02f + a));
}
__device__ float error_of_all(float largest_norm, float unit, int steps) {
  constexpr float a = 1.05f * 8 * 0x1p-24f;
  // Magnitudes near the largest number make the gap infinite: nothing is proved there.
  return a / 16 * (16 * largest_norm) + 3 * unit +
         4 * static_cast<float>(16 * steps + 8) * std::numeric_limits<float>::min();
}

// A place in the ring of stages.
struct ring_place {
  int stage = 0;
  unsigned round = 0;
  __device__ void next(int stages) {
    if (++stage == stages) stage = 0, round ^= 1;
  }
};

struct barriers {
  unsigned long long full[8], empty[8];
};

template <class Value>
__device__ void swap(Value& a, Value& b) {
  const Value before = a;
  a = b;
  b = before;
}

template <int Steps>
__device__ void fetch_stages(const float16_arguments& in, unsigned char* shared, barriers& bars) {
  constexpr unsigned bytes = cut<Steps>::slab_bytes;
  const int lane = threadIdx.x % 32;
  const float16_layout layout(in.centroids.columns);
  const int units = (in.count + unit_rows - 1) / unit_rows;
  ring_place at;
  for (int row_tile = static_cast<int>(blockIdx.x); row_tile < in.row_tiles; row_tile += static_cast<int>(gridDim.x)) {
    for (int tile = 0; tile < in.tiles; ++tile) {
      for (int slab = 0; slab < layout.slabs; ++slab) {
        const std::size_t offset = std::size_t(slab) * bytes;
        unsigned char* const stage = shared + at.stage * cut<Steps>::stage_bytes;
        wait(bars.empty + at.stage, at.round ^ 1);
        if (lane == 0) expect(bars.full + at.stage, cut<Steps>::stage_bytes);
        __syncwarp();
        if (lane < groups + tile_units) {
          // A unit for each thread: of rows first.
          const int unit = lane < groups ? min(row_tile * groups + lane, units - 1) : tile * tile_units + lane - groups;
          const unsigned char* const from = lane < groups ? in.operands.rows : in.operands.centroids;
          fetch_expected(stage + lane * bytes, from + unit * layout.unit_bytes() + offset, bytes, bars.full + at.stage);
        }
        at.next(cut<Steps>::stages);
      }
    }
  }
}

template <int Steps, precision Precision>
__device__ void score_rows(const float16_arguments& in, unsigned char* shared, barriers& bars) {
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, q = lane % 4;
  const float16_layout layout(in.centroids.columns);
  const int slabs = layout.slabs;
  const float largest_norm =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_norm)) * 1.0001);
  const float largest = sqrtf(largest_norm);
  const float scale = power_of_two(-float16_exponent(*in.centroids.bounds));
  const unsigned multiplier = segment_positions + (__float_as_uint(largest_norm) >> 31);
  const float residual = sqrtf(
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_residual)) * 1.0001));
  const auto release = [&](int stage) {
    if (threadIdx.x % 128 == 0) arrive(bars.empty + stage);
  };
  ring_place at;
  for (int row_tile = static_cast<int>(blockIdx.x); row_tile < in.row_tiles; row_tile += static_cast<int>(gridDim.x)) {
    const int unit = row_tile * groups + group;
    const auto row_of = [&](int half) { return unit * unit_rows + warp * 16 + lane / 4 + 8 * half; };
    float magnitudes[2], inverses[2], errors[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float4 facts = __ldg(reinterpret_cast<const float4*>(in.operands.facts) + min(row_of(half), in.count - 1));
      magnitudes[half] = facts.x * largest + 0.5f * largest_norm;
      inverses[half] = facts.z * scale;
      errors[half] = error_of_norm({facts.x, facts.y}, residual, layout.padded() / float16_layout::step_columns);
    }
    const score_scale scales[2] = {score_scale(magnitudes[0]), score_scale(magnitudes[1])};
    least_scores least[2];
    for (int tile = 0; tile < in.tiles; ++tile) {
      float scores[2 * segment_positions];
      const auto multiply_slab = [&](int keep) {
        constexpr unsigned stride = float16_layout::stride(Steps);
        unsigned char* const stage = shared + at.stage * cut<Steps>::stage_bytes;
        const unsigned long long row_operand = describe(shared_address(stage + group * cut<Steps>::slab_bytes), stride);
        const unsigned long long centroid_operand =
            describe(shared_address(stage + groups * cut<Steps>::slab_bytes), stride);
        wait(bars.full + at.stage, at.round);
        begin_products();
#pragma unroll
        for (int s = 0; s < Steps; ++s) {
          multiply(scores, advance(row_operand, 256 * s), advance(centroid_operand, 256 * s), s > 0 ? 1 : keep);
        }
        end_products();
      };
      multiply_slab(0);
      for (int slab = 1; slab < slabs; ++slab) {
        const int before = at.stage;
        at.next(cut<Steps>::stages);
        multiply_slab(1);
        wait_for_products<1>();
        release(before);
      }
      wait_for_products<0>();
      release(at.stage);
      at.next(cut<Steps>::stages);
      const float16_centroid* const starts = in.operands.starts + tile * float16_cluster_tile + 2 * q;
      const int here = in.centroids.clusters - tile * float16_cluster_tile;
      least_keys<Precision> keys[2];
      const auto take = [&](auto number) {
        constexpr int part = number.value;
        if (part * cluster_tile >= here) return;
#pragma unroll
        for (int i = part * positions / 2; i < (part + 1) * positions / 2; ++i) {
          const float4 two = __ldg(reinterpret_cast<const float4*>(starts + 8 * i));
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float& a = scores[4 * i + 2 * half];
            float& b = scores[4 * i + 2 * half + 1];
            float start_a = two.x + scales[half].offset, start_b = two.z + scales[half].offset;
            if constexpr (Precision == precision::float32) {
              start_a = fmaf(-errors[half], two.y, start_a);
              start_b = fmaf(-errors[half], two.w, start_b);
            }
            a = fmaf(a, inverses[half], start_a);
            b = fmaf(b, inverses[half], start_b);
          }
        }
        if ((part + 1) * cluster_tile > here) {
#pragma unroll
          for (int i = 2 * part * positions; i < 2 * (part + 1) * positions; ++i) {
            if (i / 4 * 8 + 2 * q + i % 2 >= here) scores[i] = scales[i / 2 % 2].beyond;
          }
        }
        keys[0].template take<2 * part * positions>(scores, 0, multiplier, part * positions);
        keys[1].template take<2 * part * positions>(scores, 1, multiplier, part * positions);
      };
      take(std::integral_constant<int, 0>());
      take(std::integral_constant<int, 1>());
      take(std::integral_constant<int, 2>());
      take(std::integral_constant<int, 3>());
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto cluster = [&](unsigned key) {
          const auto p = static_cast<int>(key % segment_positions);
          return tile * float16_cluster_tile + p / 2 * 8 + 2 * q + p % 2;
        };
        const least_keys<Precision>& of = keys[half];
        least[half].take({of.first, of.second, of.third, cluster(of.first), cluster(of.second)});
      }
    }

    // Of the four threads that share two rows, those with odd q finish the second row.
    const bool odd = q % 2 != 0;
    if (odd) {
      swap(least[0], least[1]);
      swap(errors[0], errors[1]);
      swap(magnitudes[0], magnitudes[1]);
    }
    least_scores all = least[0];
    all.take(least[1].of_lane(1));
    all.take(all.of_lane(2));
    const int row = row_of(odd ? 1 : 0);
    if (q > 1 || row >= in.count) continue;
    const std::size_t in_piece = in.first_row + static_cast<std::size_t>(row);
    if constexpr (Precision == precision::float32) {
      const float unit_of_key = score_scale(magnitudes[0]).unit;
      // The least score of a centroid is no less than its key; that of the first is no more than twice its error above.
      const int first = min(all.first_cluster, in.centroids.clusters - 1);
      const float error = errors[0] * __ldg(&in.operands.starts[first].norm) +
                          error_of_all(largest_norm, unit_of_key, layout.padded() / float16_layout::step_columns);
      settle_row(least_units(all), 2 * error / unit_of_key + 1, static_cast<int>(in_piece), in.labels, in.doubtful);
    } else {
      // Scores that left float32's range may name any place.
      in.labels[in_piece] = min(all.first_cluster, in.centroids.clusters - 1);
    }
  }
}

template <int Steps, precision Precision>
__device__ void search_rows(const float16_arguments& in) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ barriers bars;
  static_assert(cut<Steps>::stages <= 8);
  if (threadIdx.x == 0) {
    for (int s = 0; s < cut<Steps>::stages; ++s) {
      make_barrier(bars.full + s, 1);
      make_barrier(bars.empty + s, groups);
    }
    publish_barriers();
  }
  __syncthreads();
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  if (threadIdx.x / 128 == groups) {
    give_registers<40>();
    if (threadIdx.x % 128 / 32 == 0) fetch_stages<Steps>(in, shared, bars);
  } else {
    take_registers<232>();
    score_rows<Steps, Precision>(in, shared, bars);
  }
}

template <int Steps, precision Precision>
__global__ void __launch_bounds__(threads, 1) search_kernel(float16_arguments in) {
  if constexpr (has_warpgroup_products) search_rows<Steps, Precision>(in);
}

template <precision Precision>
void launch(const float16_arguments& in, std::size_t multiprocessors, cudaStream_t stream) {
  const bool threes = float16_layout(in.centroids.columns).steps == 3;
  const auto kernel = threes ? search_kernel<3, Precision> : search_kernel<4, Precision>;
  const std::size_t bytes = threes ? cut<3>::stages * cut<3>::stage_bytes : cut<4>::stages * cut<4>::stage_bytes;
  const int blocks = std::min(in.row_tiles, static_cast<int>(multiprocessors));
  cuda::launch_in_turn(kernel, static_cast<unsigned>(blocks), threads, bytes, stream, in);
}

}  // namespace

void search_float16(const float16_operands& operands, std::size_t first_row, std::size_t count,
                    const device_centroids<float>& centroids, std::int32_t* labels, const doubtful_rows& doubtful,
                    std::size_t multiprocessors, const int* stopped, cudaStream_t stream) {
  float16_arguments in{};
  in.operands = operands;
  in.centroids = centroids;
  in.labels = labels;
  in.doubtful = doubtful;
  in.first_row = first_row;
  in.count = static_cast<int>(count);
  in.row_tiles = (in.count + float16_block_rows - 1) / float16_block_rows;
  in.tiles = centroids.padded / float16_cluster_tile;
  in.stopped = stopped;
  if (centroids.products == precision::float32) {
    launch<precision::float32>(in, multiprocessors, stream);
  } else {
    launch<precision::tf32>(in, multiprocessors, stream);
  }
}

}  // namespace shoal::kmeans
