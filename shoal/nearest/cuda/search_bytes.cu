// The nearest centroid of rows of up to 128 columns by products of whole numbers of 8 bits.
//
// Each warpgroup has two units of 64 rows in registers, and all of a multiprocessor share the centroids that stay in
// its shared memory, as many as it holds. While one unit is multiplied the scores of the other are taken in. What
// scores start from is read once for both: its way from shared memory is as long as that of the factors.
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/nearest/cuda/byte_products.cuh>

namespace shoal {
namespace {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

constexpr int unit_rows = 64;  // of a product

constexpr int units = 2;   // that a warpgroup has at a time
constexpr int groups = 2;  // warpgroups
constexpr int threads = 128 * groups;
constexpr int group_rows = units * unit_rows;
constexpr std::size_t most_shared_bytes = 225u << 10;
// Of the promise, what may be taken up by rows that lose more than most: then nearly all are decided.
constexpr float usual_share = 0.92f;

struct byte_arguments {
  byte_operands operands;
  searched_centroids centroids;
  std::int32_t* labels;
  std::size_t first_row;
  int count;
  int first_tile;  // of the centroids that stay
  int tiles;
  bool first_part, last_part;
  const int* stopped;
};

// What the promise of bf16 leaves room for, as a score: half of what it says of squared distances, less what sums in
// float32 may be off by.
__device__ float promised(float norm, float largest) { return 4.06f * 0x1p-8f * largest * (norm + 0.5f * largest); }

// What all rows have in common.
struct byte_bounds {
  float largest;      // ‖c′‖
  float unit;         // of a score
  float length_room;  // what ‖x̂‖ may be at most, for scores that are numbers of keys

  // pair: D and P.
  __device__ bool keeps(const byte_row& row, float2 pair, float share = 1) const {
    return row.length <= length_room &&
           row.lost * pair.x + row.length * pair.y + unit <= share * promised(row.norm, largest);
  }
};

// The means of all centroids' D and P; the same in every block.
__device__ float2 usual_pair(const byte_arguments& in, float2 (&of_warp)[threads / 32]) {
  float2 sum = make_float2(0, 0);
  for (int k = threadIdx.x; k < in.centroids.clusters; k += threads) {
    const float2 some = in.operands.pair_bounds[k];
    sum.x += some.x, sum.y += some.y;
  }
  for (int step = 16; step > 0; step /= 2) {
    sum.x += __shfl_xor_sync(~0u, sum.x, step);
    sum.y += __shfl_xor_sync(~0u, sum.y, step);
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = make_float2(0, 0);
  for (int w = 0; w < threads / 32; ++w) sum.x += of_warp[w].x, sum.y += of_warp[w].y;
  const auto count = static_cast<float>(in.centroids.clusters);
  return make_float2(sum.x / count, sum.y / count);
}

__device__ byte_bounds bounds_of_all(const byte_arguments& in) {
  constexpr float above = 1.0002f;
  byte_bounds bounds;
  const float value = byte_unit(in.operands);
  bounds.unit = value * in.operands.unit;
  // Not more than it is: the promise is in proportion to it.
  bounds.largest =
      sqrtf(static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_norm)))) /
      above;
  const float whole = bounds.largest * 1.001f + value * sqrtf(static_cast<float>(in.centroids.columns)) / 2;
  bounds.length_room = (static_cast<float>(most_byte_score - 64) * bounds.unit - 0.5f * whole * whole) / whole;
  return bounds;
}

template <int Steps>
__device__ void read_row(const signed char* row, int q, int half, unsigned (&a)[Steps][4]) {
#pragma unroll
  for (int pair = 0; pair < Steps / 2; ++pair) {
    const uint4 four = __ldg(reinterpret_cast<const uint4*>(row + 64 * pair + 16 * q));
    a[2 * pair][half] = four.x, a[2 * pair][half + 2] = four.y;
    a[2 * pair + 1][half] = four.z, a[2 * pair + 1][half + 2] = four.w;
  }
  if constexpr (Steps % 2 != 0) {
    const uint2 two = __ldg(reinterpret_cast<const uint2*>(row + 64 * (Steps / 2) + 8 * q));
    a[Steps - 1][half] = two.x, a[Steps - 1][half + 2] = two.y;
  }
}

__device__ inline void read_starts(unsigned address, int4 (&to)[8]) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[j].x), "=r"(to[j].y), "=r"(to[j].z), "=r"(to[j].w)
                 : "r"(address + 64 * j));
  }
}

// Of a tile's scores of one of a thread's rows.
__device__ inline int least_key(const int (&scores)[64], int half, int multiplier, const int4 (&starts)[8]) {
  int chains[2] = {INT_MAX, INT_MAX};
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int a = scores[8 * j + 2 * half] * multiplier + starts[j].x;
    const int b = scores[8 * j + 2 * half + 1] * multiplier + starts[j].y;
    const int c = scores[8 * j + 4 + 2 * half] * multiplier + starts[j].z;
    const int d = scores[8 * j + 4 + 2 * half + 1] * multiplier + starts[j].w;
    chains[0] = j == 0 ? min(a, b) : __vimin3_s32(chains[0], a, b);
    chains[1] = j == 0 ? min(c, d) : __vimin3_s32(chains[1], c, d);
  }
  return min(chains[0], chains[1]);
}

// Two of a thread's rows, which it shares with three others: the second of these finishes the second row.
__device__ inline void finish_rows(const byte_arguments& in, const byte_bounds& bounds, int first_row, int q,
                                   const int (&best)[2], const int (&best_tile)[2], int sixteen) {
  const int row = first_row + 8 * (q % 2);
  const int4 known = __ldg(reinterpret_cast<const int4*>(in.operands.facts) + min(row, in.count - 1));
  int score[2], cluster[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int position = best[half] & (byte_positions - 1);
    score[half] = best[half] >> 5;
    cluster[half] = (in.first_tile + best_tile[half]) * byte_cluster_tile + position / 2 * 8 + 2 * q + position % 2;
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
      const int other = __shfl_xor_sync(~0u, score[half], step);
      const int other_cluster = __shfl_xor_sync(~0u, cluster[half], step);
      if (other < score[half] || (other == score[half] && other_cluster < cluster[half])) {
        score[half] = other, cluster[half] = other_cluster;
      }
    }
  }
  const bool mine = q < 2 && row < in.count;
  int own_score = q % 2 == 0 ? score[0] : score[1], own_cluster = q % 2 == 0 ? cluster[0] : cluster[1];
  if (mine && !in.first_part) {
    const int2 before = in.operands.best[row];
    if (before.x <= own_score) own_score = before.x, own_cluster = before.y;
  }
  if (!in.last_part) {
    if (mine) in.operands.best[row] = make_int2(own_score, own_cluster);
    return;
  }
  bool open = false;
  if (mine) {
    own_cluster = min(own_cluster, in.centroids.clusters - 1);  // keys of rows without room may name any
    const byte_row own{__int_as_float(known.x), __int_as_float(known.y), __int_as_float(known.z), known.w};
    open = !bounds.keeps(own, __ldg(in.operands.pair_bounds + own_cluster));
    in.labels[in.first_row + static_cast<std::size_t>(row)] = open ? -1 : own_cluster;
  }
  const bool any_open = __any_sync(~0u, open);
  if (threadIdx.x % 32 == 0) reinterpret_cast<unsigned char*>(in.operands.left)[sixteen] = any_open;
}

template <int Steps>
__device__ void search_rows(const byte_arguments& in) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ unsigned long long full;
  __shared__ float2 of_warp[threads / 32];
  constexpr unsigned tile_bytes = byte_cluster_tile * byte_step_columns * Steps;
  constexpr unsigned start_bytes = byte_cluster_tile * sizeof(std::int32_t);
  constexpr int row_bytes = byte_step_columns * Steps;
  if (threadIdx.x == 0) {
    make_barrier(&full, 1);
    publish_barriers();
  }
  __syncthreads();
  cuda::wait_for_predecessor();
  if (in.stopped != nullptr && *in.stopped) return;
  const byte_bounds bounds = bounds_of_all(in);
  const byte_row usual{in.operands.usual_norm, in.operands.usual_lost, in.operands.usual_norm, 1};
  const bool all_left = !bounds.keeps(usual, usual_pair(in, of_warp), usual_share);
  if (blockIdx.x == 0 && threadIdx.x == 0) *in.operands.all_left = all_left;
  if (all_left) return;
  unsigned shared_begin = shared_address(shared);
  asm volatile("" : "+r"(shared_begin));  // computed once
  if (threadIdx.x == 0) {
    expect(&full, in.tiles * (tile_bytes + start_bytes));
    for (int tile = 0; tile < in.tiles; ++tile) {
      fetch_expected(shared + tile * tile_bytes,
                     in.operands.centroids + static_cast<std::size_t>(in.first_tile + tile) * tile_bytes, tile_bytes,
                     &full);
    }
    fetch_expected(shared + in.tiles * tile_bytes, in.operands.starts + in.first_tile * byte_cluster_tile,
                   in.tiles * start_bytes, &full);
  }
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, q = lane % 4;
  const unsigned long long centroid_operand = describe(shared_begin, 8 * row_bytes);
  const int items = (in.count + float16_block_rows - 1) / float16_block_rows * (float16_block_rows / group_rows);
  bool here = false;
  for (int item = static_cast<int>(blockIdx.x) + group * static_cast<int>(gridDim.x); item < items;
       item += groups * static_cast<int>(gridDim.x)) {
    const auto first_row = [&](int unit) { return item * group_rows + unit * unit_rows + warp * 16 + lane / 4; };
    unsigned a[units][Steps][4];
    int multipliers[units][2];
#pragma unroll
    for (int unit = 0; unit < units; ++unit) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto row = static_cast<std::size_t>(min(first_row(unit) + 8 * half, in.count - 1));
        read_row<Steps>(in.operands.rows + row * row_bytes, q, half, a[unit]);
        multipliers[unit][half] = __ldg(&in.operands.facts[row].multiplier) * byte_positions;
      }
    }
    if (!here) wait(&full, 0);
    here = true;
    int best[units][2], best_tile[units][2];
#pragma unroll
    for (int unit = 0; unit < units; ++unit) {
      best[unit][0] = best[unit][1] = INT_MAX;
      best_tile[unit][0] = best_tile[unit][1] = 0;
    }
    unsigned start_address = shared_begin + in.tiles * tile_bytes + 16 * q;
    for (int tile = 0; tile < in.tiles; ++tile, start_address += start_bytes) {
      int scores[units][64];
      const unsigned long long operand = advance(centroid_operand, tile * tile_bytes);
      begin_products();
#pragma unroll
      for (int unit = 0; unit < units; ++unit) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) {
          multiply_bytes(scores[unit], a[unit][s], advance(operand, 256 * s), s > 0 ? 1 : 0);
        }
        end_products();
      }
      int4 starts[8];
      read_starts(start_address, starts);
      const auto take = [&](int unit) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int key = least_key(scores[unit], half, multipliers[unit][half], starts);
          if (key < best[unit][half]) best[unit][half] = key, best_tile[unit][half] = tile;
        }
      };
      // The products of the second unit go on while the scores of the first are taken in.
      wait_for_products<1>();
      take(0);
      wait_for_products<0>();
      take(1);
    }
#pragma unroll
    for (int unit = 0; unit < units; ++unit) {
      finish_rows(in, bounds, first_row(unit), q, best[unit], best_tile[unit],
                  item * (group_rows / 16) + unit * (unit_rows / 16) + warp);
    }
  }
  // A copy must have come before its block ends.
  if (!here) wait(&full, 0);
}

template <int Steps>
__global__ void __launch_bounds__(threads, 1) search_bytes_kernel(byte_arguments in) {
  if constexpr (has_warpgroup_products) search_rows<Steps>(in);
}

template <int Steps>
void launch(byte_arguments in, std::size_t multiprocessors, cudaStream_t stream) {
  constexpr std::size_t tile_bytes = byte_cluster_tile * (byte_step_columns * Steps + sizeof(std::int32_t));
  constexpr int most_tiles = static_cast<int>(most_shared_bytes / tile_bytes);
  const int all = (in.centroids.clusters + byte_cluster_tile - 1) / byte_cluster_tile;
  const int parts = (all + most_tiles - 1) / most_tiles;
  const int items = (in.count + group_rows - 1) / group_rows;
  const auto blocks = static_cast<unsigned>(std::min(items, static_cast<int>(multiprocessors)));
  for (int part = 0; part < parts; ++part) {
    in.first_tile = all * part / parts;
    in.tiles = all * (part + 1) / parts - in.first_tile;
    in.first_part = part == 0;
    in.last_part = part + 1 == parts;
    cuda::launch_in_turn(search_bytes_kernel<Steps>, blocks, threads, static_cast<std::size_t>(in.tiles) * tile_bytes,
                         stream, in);
  }
}

}  // namespace

void search_bytes(const byte_operands& operands, std::size_t first_row, std::size_t count,
                  const searched_centroids& centroids, std::int32_t* labels, std::size_t multiprocessors,
                  const int* stopped, cudaStream_t stream) {
  byte_arguments in{};
  in.operands = operands;
  in.centroids = centroids;
  in.labels = labels;
  in.first_row = first_row;
  in.count = static_cast<int>(count);
  in.stopped = stopped;
  switch (byte_steps(centroids.columns)) {
    case 2:
      return launch<2>(in, multiprocessors, stream);
    case 3:
      return launch<3>(in, multiprocessors, stream);
    default:
      return launch<4>(in, multiprocessors, stream);
  }
}

}  // namespace shoal
