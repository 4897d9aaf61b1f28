// Products of float16 numbers of rows and centroids of any width on Hopper's tensor cores: column slab after column
// slab from shared memory into sums in registers. What becomes of a tile's scores is the search's: a class
//   Search(arguments, const scored_row (&)[2], largest_norm, scored_place), expect_tile(tile) before its scores are
// there, take_tile(scores, tile), finish(), tile_centroids, one of the widths that multiply() has (64, 128 or 256), and
// adds_sections
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <type_traits>

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
static_assert(segment_positions * 4 == float16_cluster_tile);  // a thread sees every fourth score of a row

constexpr int groups = float16_block_rows / unit_rows;  // warpgroups of a block, each with rows of its own
constexpr int threads = 128 * (groups + 1);             // and one that fetches: a warp what all share, and one for
                                                        // the rows of each group
constexpr int most_stages = 8, most_resident_slabs = 11;
constexpr int section_slabs = 4;  // whose products are summed apart, where a search adds sections up

template <class Search>
constexpr int units_of_tile = Search::tile_centroids / unit_rows;

template <class Search>
constexpr bool has_products_of_tile =
    units_of_tile<Search> == 1 || units_of_tile<Search> == 2 || units_of_tile<Search> == 4;

using cuda::multiply;

// As in warpgroup_products.cuh: d (64 × 64) = keep · d + a (64 × 16) · (b (64 × 16))ᵀ.
__device__ inline void multiply(float (&d)[32], unsigned long long a, unsigned long long b, int keep) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0;"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
      "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, 0, 0;}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(keep));
}

// Where the operand of a block's rows comes from.
enum class fetching {
  streamed,  // with that of the centroids, slab after slab, for every tile of them
  resident,  // it stays in shared memory while all tiles of centroids pass
};

// How shared memory is cut when a slab has so many products.
template <int Steps, fetching Way, int TileUnits>
struct cut {
  static constexpr unsigned slab_bytes = float16_layout::slab_bytes(Steps);
  static constexpr int stage_rows = Way == fetching::resident ? 0 : groups;  // units of rows in a stage
  static constexpr unsigned stage_bytes = (stage_rows + TileUnits) * slab_bytes;
  static constexpr unsigned all_bytes = 225 * 1024;
  // Of rows that stay, of so many items at a time.
  static constexpr unsigned rows_bytes(int slabs, int items) {
    return Way == fetching::resident ? items * slabs * groups * slab_bytes : 0;
  }
  static constexpr int stages(int slabs, int items) {
    const int fit = static_cast<int>((all_bytes - rows_bytes(slabs, items)) / stage_bytes);
    return fit < most_stages ? fit : most_stages;
  }
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
  int stages;
  int kept_items;  // whose rows are in shared memory at a time, where rows stay
  bool in_turn;    // warpgroups multiply one after the other
  const int* stopped;
  // Not null: only tiles with rows that products of bytes left open, unless all are (byte_operands).
  const unsigned long long* left;
  const int* all_left;

  __device__ int first_tile(int part) const { return tiles * part / parts; }
};

// The bound of search_tensor.cu in two parts. What rounding to float16 lost and what sums cut off (of each product 16
// terms and what came before, at a unit of the greatest of them, and so their sum) is in proportion to a norm of the
// centroid's own (float16_centroid): scores are kept less that, so that centroids of large norms, which are less well
// known, put no others in doubt. The rest is the same for all centroids.
// Of sections that are added up apart each cuts off in proportion to its own part of the norms, and adding rounds.
__device__ inline float error_of_norm(const float16_row& row, float residual, const float16_layout& layout,
                                      bool in_sections) {
  constexpr float a = 1.05f * 8 * 0x1p-24f;
  // Beyond that, which only numbers near the ends of float32's range reach, keys would not order like scores.
  constexpr float most = 0x1p-9f;
  if (!(row.lost <= most * row.norm && residual <= most)) return INFINITY;
  const int all_steps = layout.padded() / float16_layout::step_columns, section = section_slabs * layout.steps;
  const int steps = in_sections ? min(all_steps, section) : all_steps;
  const int added = in_sections ? (all_steps + section - 1) / section : 0;
  // Second numbers are at most 2⁻¹⁰ of the first ones: the small products come first, and those of two second numbers
  // are left out.
  const float second = layout.twice ? 0x1p-10f : 0.0f;
  const float cut = static_cast<float>(18 * steps + added) * 0x1p-23f * 1.02f * (1 + 8 * second) + second * second;
  return 1.001f * (row.lost + row.norm * (1.001f * residual + cut + a));
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
  unsigned long long full[most_stages], empty[most_stages];
  unsigned long long rows_full[groups][most_resident_slabs], rows_empty[groups][most_resident_slabs];
};

// The items of a block, one after another: a tile of rows and a part of the centroids.
struct item_of_block {
  int item;
  const float16_arguments& in;
  bool some;  // of the tiles are searched
  __device__ explicit item_of_block(const float16_arguments& all)
      : item(static_cast<int>(blockIdx.x)), in(all), some(all.left != nullptr && *all.all_left == 0) {
    skip();
  }
  __device__ bool there() const { return item < in.row_tiles * in.parts; }
  __device__ void next() {
    item += static_cast<int>(gridDim.x);
    skip();
  }
  __device__ void skip() {
    while (some && there() && in.left[row_tile()] == 0) item += static_cast<int>(gridDim.x);
  }
  __device__ int row_tile() const { return item / in.parts; }
  __device__ int part() const { return item % in.parts; }
  __device__ int first_tile() const { return in.first_tile(part()); }
  __device__ int last_tile() const { return in.first_tile(part() + 1) - 1; }
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

// Where rows that stay are: those of one item after another.
struct kept_rows {
  int slabs, items;
  int item = 0;
  unsigned round = 0;
  __device__ int slot(int slab) const { return item * slabs + slab; }
  __device__ void next() {
    if (++item == items) item = 0, round ^= 1;
  }
};

__device__ inline const unsigned char* row_unit(const float16_arguments& in, const float16_layout& layout,
                                                const item_of_block& item, int group) {
  const int units = (in.count + unit_rows - 1) / unit_rows;
  return in.operands.rows + min(item.row_tile() * groups + group, units - 1) * layout.unit_bytes();
}

// The operands of one group's rows, each as soon as the group has done with the one before it there.
template <int Steps>
__device__ void fetch_rows(const float16_arguments& in, unsigned char* shared, barriers& bars, int group) {
  constexpr unsigned bytes = float16_layout::slab_bytes(Steps);
  const float16_layout layout(in.centroids.columns, in.operands.digits);
  kept_rows kept{layout.stored_slabs(), in.kept_items};
  for (item_of_block item(in); item.there(); item.next(), kept.next()) {
    const unsigned char* const from = row_unit(in, layout, item, group);
    for (int slab = 0; slab < kept.slabs; ++slab) {
      const int slot = kept.slot(slab);
      wait(bars.rows_empty[group] + slot, kept.round ^ 1);
      if (threadIdx.x % 32 == 0) {
        fetch(shared + (slot * groups + group) * bytes, from + std::size_t(slab) * bytes, bytes,
              bars.rows_full[group] + slot);
      }
      __syncwarp();
    }
  }
}

// The operands of centroids, and of rows that do not stay.
template <int Steps, fetching Way, class Search>
__device__ void fetch_stages(const float16_arguments& in, unsigned char* shared, barriers& bars) {
  constexpr int tile_units = units_of_tile<Search>;
  using cut = cut<Steps, Way, tile_units>;
  constexpr unsigned bytes = cut::slab_bytes;
  const int lane = threadIdx.x % 32;
  const float16_layout layout(in.centroids.columns, in.operands.digits);
  unsigned char* const stages = shared + cut::rows_bytes(layout.stored_slabs(), in.kept_items);
  ring_place at;
  for (item_of_block item(in); item.there(); item.next()) {
    for (int tile = item.first_tile(); tile <= item.last_tile(); ++tile) {
      for (int turn = 0; turn < layout.turns(); ++turn) {
        unsigned char* const stage = stages + at.stage * cut::stage_bytes;
        wait(bars.empty + at.stage, at.round ^ 1);
        if (lane == 0) expect(bars.full + at.stage, cut::stage_bytes);
        __syncwarp();
        // A unit for each thread: of rows first.
        const int unit = lane - cut::stage_rows;
        if (unit < 0) {
          const unsigned char* const from =
              row_unit(in, layout, item, lane) + std::size_t(layout.row_slab(turn)) * bytes;
          fetch_expected(stage + lane * bytes, from, bytes, bars.full + at.stage);
        } else if (unit < tile_units) {
          const unsigned char* const from = in.operands.centroids + (tile * tile_units + unit) * layout.unit_bytes() +
                                            std::size_t(layout.centroid_slab(turn)) * bytes;
          fetch_expected(stage + lane * bytes, from, bytes, bars.full + at.stage);
        }
        at.next(in.stages);
      }
    }
  }
}

template <int Steps, fetching Way, class Search>
__device__ void score_rows(const float16_arguments& in, unsigned char* shared, barriers& bars) {
  static_assert(has_products_of_tile<Search>);
  using cut = cut<Steps, Way, units_of_tile<Search>>;
  constexpr bool stay = Way == fetching::resident;
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, q = lane % 4;
  const float16_layout layout(in.centroids.columns, in.operands.digits);
  const bool in_sections = Search::adds_sections && !layout.twice;
  const int turns = layout.turns(), steps = layout.padded() / float16_layout::step_columns * (layout.twice ? 3 : 1);
  unsigned char* const stages = shared + cut::rows_bytes(layout.stored_slabs(), in.kept_items);
  const float largest_norm =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_norm)) * 1.0001);
  const float largest = sqrtf(largest_norm);
  const float scale = power_of_two(-float16_exponent(*in.centroids.bounds));
  const float residual = sqrtf(
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_residual)) * 1.0001));
  if (in.in_turn && group == 1) let_go(0);
  ring_place at;
  kept_rows kept{layout.stored_slabs(), in.kept_items};
  item_of_block item(in);
  const auto row_of_item = [&] { return (item.row_tile() * groups + group) * unit_rows + warp * 16 + lane / 4; };
  float4 known[2];  // of an item's rows, read while the item before is searched
  const auto read_known = [&] {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(row_of_item() + 8 * half, in.count - 1);
      known[half] = __ldg(reinterpret_cast<const float4*>(in.operands.facts) + row);
    }
  };
  if (item.there()) read_known();
  for (; item.there(); kept.next()) {
    scored_row facts[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      facts[half].norm = known[half].x;
      facts[half].magnitude = known[half].x * largest + 0.5f * largest_norm;
      facts[half].inverse = known[half].z * scale;
      facts[half].error = error_of_norm({known[half].x, known[half].y}, residual, layout, in_sections);
    }
    Search taker(in, facts, largest_norm, {row_of_item(), item.part(), q, steps});
    const int first_tile = item.first_tile(), last_tile = item.last_tile();
    item.next();
    if (item.there()) read_known();
    for (int tile = first_tile; tile <= last_tile; ++tile) {
      float scores[Search::tile_centroids / 2];
      const auto release = [&](int stage, int turn) {
        if (threadIdx.x % 128 != 0) return;
        arrive(bars.empty + stage);
        // Of rows the first numbers are taken twice.
        const bool again = layout.twice && turn >= layout.slabs && turn < 2 * layout.slabs;
        if (stay && tile == last_tile && !again) arrive(bars.rows_empty[group] + kept.slot(layout.row_slab(turn)));
      };
      const auto multiply_slab = [&](int turn, int keep) {
        const int slab = layout.row_slab(turn);
        constexpr unsigned stride = float16_layout::stride(Steps);
        unsigned char* const stage = stages + at.stage * cut::stage_bytes;
        unsigned char* const rows =
            stay ? shared + (kept.slot(slab) * groups + group) * cut::slab_bytes : stage + group * cut::slab_bytes;
        const unsigned long long row_operand = describe(shared_address(rows), stride);
        const unsigned long long centroid_operand =
            describe(shared_address(stage + cut::stage_rows * cut::slab_bytes), stride);
        if (stay && tile == first_tile) wait(bars.rows_full[group] + kept.slot(slab), kept.round);
        wait(bars.full + at.stage, at.round);
        begin_products();
#pragma unroll
        for (int s = 0; s < Steps; ++s) {
          multiply(scores, advance(row_operand, 256 * s), advance(centroid_operand, 256 * s), s > 0 ? 1 : keep);
        }
        end_products();
      };
      if (in.in_turn) wait_for_turn(group);
      multiply_slab(0, 0);
      float sums[Search::adds_sections ? Search::tile_centroids / 2 : 1] = {};
      const auto add_section = [&] {
        if constexpr (Search::adds_sections) {
#pragma unroll
          for (int i = 0; i < Search::tile_centroids / 2; ++i) {
            asm volatile("" : "+f"(scores[i])::"memory");  // not before the products are there
            sums[i] += scores[i];
          }
        }
      };
      for (int turn = 1; turn < turns; ++turn) {
        const int before = at.stage;
        at.next(in.stages);
        if (in_sections && turn % section_slabs == 0) {
          wait_for_products<0>();
          release(before, turn - 1);
          add_section();
          multiply_slab(turn, 0);
          continue;
        }
        multiply_slab(turn, 1);
        wait_for_products<1>();
        release(before, turn - 1);
      }
      // The last turn of all is nobody's to wait for.
      if (in.in_turn && (group == 0 || tile < last_tile || item.there())) let_go(1 - group);
      taker.expect_tile(tile);
      wait_for_products<0>();
      release(at.stage, turns - 1);
      at.next(in.stages);
      if (in_sections) {
        add_section();
        if constexpr (Search::adds_sections) taker.take_tile(sums, tile);
      } else {
        taker.take_tile(scores, tile);
      }
    }
    taker.finish();
  }
}

template <int Steps, fetching Way, class Search>
__device__ void search_rows(const float16_arguments& in) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ barriers bars;
  if (threadIdx.x == 0) {
    for (int s = 0; s < most_stages; ++s) {
      make_barrier(bars.full + s, 1);
      make_barrier(bars.empty + s, groups);
    }
    for (int s = 0; s < groups * most_resident_slabs; ++s) {
      make_barrier(bars.rows_full[0] + s, 1);
      make_barrier(bars.rows_empty[0] + s, 1);
    }
    publish_barriers();
  }
  __syncthreads();
  cuda::wait_for_predecessor();
  if (in.stopped != nullptr && *in.stopped) return;
  if (in.left != nullptr && *in.all_left == 0) {
    bool open = false;
    for (int tile = static_cast<int>(blockIdx.x + threadIdx.x * gridDim.x); tile < in.row_tiles;
         tile += threads * static_cast<int>(gridDim.x)) {
      open = open || in.left[tile] != 0;
    }
    if (!__syncthreads_or(open)) return;
  }
  if (threadIdx.x / 128 == groups) {
    give_registers<40>();
    const int warp = threadIdx.x % 128 / 32;
    if (warp == 0) fetch_stages<Steps, Way, Search>(in, shared, bars);
    if (Way == fetching::resident && warp > 0 && warp <= groups) fetch_rows<Steps>(in, shared, bars, warp - 1);
  } else {
    take_registers<232>();
    score_rows<Steps, Way, Search>(in, shared, bars);
  }
}

template <int Steps, fetching Way, class Search>
__global__ void __launch_bounds__(threads, 1) search_kernel(float16_arguments in) {
  if constexpr (has_warpgroup_products) search_rows<Steps, Way, Search>(in);
}

template <int Steps, fetching Way, class Search>
void launch_as(float16_arguments in, std::size_t multiprocessors, cudaStream_t stream) {
  using cut = cut<Steps, Way, units_of_tile<Search>>;
  const float16_layout layout(in.centroids.columns, in.operands.digits);
  const int slabs = layout.stored_slabs();
  // The next rows come while these are searched: into memory of their own where warpgroups then still multiply in turn.
  const bool ahead = 2 * slabs <= most_resident_slabs && cut::stages(slabs, 2) > layout.turns();
  in.kept_items = ahead ? 2 : 1;
  in.stages = cut::stages(slabs, in.kept_items);
  in.in_turn = Way == fetching::resident && in.stages > layout.turns();
  const std::size_t bytes = cut::rows_bytes(slabs, in.kept_items) + in.stages * cut::stage_bytes;
  const auto blocks = static_cast<unsigned>(std::min(in.row_tiles * in.parts, static_cast<int>(multiprocessors)));
  cuda::launch_in_turn(search_kernel<Steps, Way, Search>, blocks, threads, bytes, stream, in);
}

template <class Search>
void launch(const float16_arguments& in, std::size_t multiprocessors, cudaStream_t stream) {
  const float16_layout layout(in.centroids.columns, in.operands.digits);
  const auto take = [&](auto steps) {
    constexpr int Steps = decltype(steps)::value;
    if (layout.resident()) {
      launch_as<Steps, fetching::resident, Search>(in, multiprocessors, stream);
    } else {
      launch_as<Steps, fetching::streamed, Search>(in, multiprocessors, stream);
    }
  };
  if (layout.steps == 3) return take(std::integral_constant<int, 3>());
  take(std::integral_constant<int, 4>());
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
