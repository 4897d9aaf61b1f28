// Products of float16 numbers of rows and centroids of any width on Hopper's tensor cores: column slab after column
// slab from shared memory into sums in registers. What becomes of a tile's scores is the search's: a class
//   Search(arguments, const scored_row (&)[2], largest_norm, scored_place), take_tile(scores, tile), finish()
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/nearest/cuda/float16_operands.hpp>
#include <shoal/nearest/cuda/float16_scale.cuh>
#include <shoal/nearest/cuda/least_keys.cuh>

namespace shoal {
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
  searched_centroids centroids;
  std::int32_t* labels;
  doubtful_rows doubtful;
  listed_centroids listed;
  std::size_t first_row;
  int count;
  int row_tiles;  // of groups · 64 rows
  int tiles;      // of centroids
  int parts;      // of the tiles, which different blocks take for the same rows
  const int* stopped;

  __device__ int items() const { return row_tiles * parts; }
  __device__ int first_tile(int part) const { return tiles * part / parts; }
};

// The bound of search_tensor.cu in two parts. What rounding to float16 lost and what sums cut off (of each product 16
// terms and what came before, at a unit of the greatest of them, and so their sum) is in proportion to a norm of the
// centroid's own (float16_centroid): scores are kept less that, so that centroids of large norms, which are less well
// known, put no others in doubt. The rest is the same for all centroids.
__device__ inline float error_of_norm(const float16_row& row, float residual, int steps) {
  constexpr float a = 1.05f * 8 * 0x1p-24f;
  // Beyond that, which only numbers near the ends of float32's range reach, keys would not order like scores.
  constexpr float most = 0x1p-9f;
  if (!(row.lost <= most * row.norm && residual <= most)) return INFINITY;
  return 1.001f * (row.lost + row.norm * (1.001f * residual + static_cast<float>(18 * steps) * 0x1p-23f * 1.02f + a));
}
__device__ inline float error_of_all(float largest_norm, float unit, int steps) {
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

// What a search knows of one of a thread's two rows.
struct scored_row {
  float norm;       // of the row
  float magnitude;  // of its scores
  float inverse;    // of the power of two in its products
  float error;      // of a score, in units of its centroid's norm
};

// What a thread sees: every fourth pair of columns of two rows, and which part of the centroids.
struct scored_place {
  int first_row;  // the other one is 8 below
  int part;
  int q;      // the first pair
  int steps;  // products of a row with a centroid
};

template <int Steps>
__device__ void fetch_stages(const float16_arguments& in, unsigned char* shared, barriers& bars) {
  constexpr unsigned bytes = cut<Steps>::slab_bytes;
  const int lane = threadIdx.x % 32;
  const float16_layout layout(in.centroids.columns);
  const int units = (in.count + unit_rows - 1) / unit_rows;
  ring_place at;
  for (int item = static_cast<int>(blockIdx.x); item < in.items(); item += static_cast<int>(gridDim.x)) {
    const int row_tile = item / in.parts, part = item % in.parts;
    for (int tile = in.first_tile(part); tile < in.first_tile(part + 1); ++tile) {
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

template <int Steps, class Search>
__device__ void score_rows(const float16_arguments& in, unsigned char* shared, barriers& bars) {
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, q = lane % 4;
  const float16_layout layout(in.centroids.columns);
  const int slabs = layout.slabs, steps = layout.padded() / float16_layout::step_columns;
  const float largest_norm =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_norm)) * 1.0001);
  const float largest = sqrtf(largest_norm);
  const float scale = power_of_two(-float16_exponent(*in.centroids.bounds));
  const float residual = sqrtf(
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_residual)) * 1.0001));
  const auto release = [&](int stage) {
    if (threadIdx.x % 128 == 0) arrive(bars.empty + stage);
  };
  ring_place at;
  for (int item = static_cast<int>(blockIdx.x); item < in.items(); item += static_cast<int>(gridDim.x)) {
    const int row_tile = item / in.parts, part = item % in.parts;
    const int first_row = (row_tile * groups + group) * unit_rows + warp * 16 + lane / 4;
    scored_row facts[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float4 known =
          __ldg(reinterpret_cast<const float4*>(in.operands.facts) + min(first_row + 8 * half, in.count - 1));
      facts[half].norm = known.x;
      facts[half].magnitude = known.x * largest + 0.5f * largest_norm;
      facts[half].inverse = known.z * scale;
      facts[half].error = error_of_norm({known.x, known.y}, residual, steps);
    }
    Search taker(in, facts, largest_norm, {first_row, part, q, steps});
    for (int tile = in.first_tile(part); tile < in.first_tile(part + 1); ++tile) {
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
      taker.take_tile(scores, tile);
    }
    taker.finish();
  }
}

template <int Steps, class Search>
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
  if (in.stopped != nullptr && *in.stopped) return;
  if (threadIdx.x / 128 == groups) {
    give_registers<40>();
    if (threadIdx.x % 128 / 32 == 0) fetch_stages<Steps>(in, shared, bars);
  } else {
    take_registers<232>();
    score_rows<Steps, Search>(in, shared, bars);
  }
}

template <int Steps, class Search>
__global__ void __launch_bounds__(threads, 1) search_kernel(float16_arguments in) {
  if constexpr (has_warpgroup_products) search_rows<Steps, Search>(in);
}

template <class Search>
void launch(const float16_arguments& in, std::size_t multiprocessors, cudaStream_t stream) {
  const bool threes = float16_layout(in.centroids.columns).steps == 3;
  const auto kernel = threes ? search_kernel<3, Search> : search_kernel<4, Search>;
  const std::size_t bytes = threes ? cut<3>::stages * cut<3>::stage_bytes : cut<4>::stages * cut<4>::stage_bytes;
  const int blocks = std::min(in.row_tiles * in.parts, static_cast<int>(multiprocessors));
  cuda::launch_in_turn(kernel, static_cast<unsigned>(blocks), threads, bytes, stream, in);
}

inline void set(float16_arguments& in, const float16_operands& operands, std::size_t count,
                const searched_centroids& centroids) {
  in.operands = operands;
  in.centroids = centroids;
  in.count = static_cast<int>(count);
  in.row_tiles = (in.count + float16_block_rows - 1) / float16_block_rows;
  in.tiles = centroids.padded / float16_cluster_tile;
  in.parts = 1;
}

}  // namespace
}  // namespace shoal
