// Rows of a tile in order of their labels, and the whole numbers that a run of one label adds to the sums.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/som/cuda/settle_row.cuh>

namespace shoal::som {
namespace {

constexpr int most_warps = 16;  // of a block
constexpr int most_tile_rows = 4096;
constexpr int few_sorted = 16;  // units
constexpr int row_bits = 12;
static_assert(1 << row_bits == most_tile_rows);

// Rows from which on they are added by label, and those of a tile at least. The rows of few units that are added one by
// one wait for each other at the same places of memory: these are added by label when there are fewer of them too, in
// tiles of which most multiprocessors have one. An epoch of 10⁴ rows × 512 columns on 10 units takes 0.035 ms on an
// H200 instead of 0.060 in TF32, × 256 on 64 0.040 instead of 0.050, float64 × 33 on 33 0.037 instead of 0.049, float32
// × 64 on 33 0.054 instead of 0.055; but of 5000 × 64 0.051 instead of 0.048.
constexpr int least_summed_units = 8, few_summed_units = 64;
constexpr std::size_t many_summed_rows = 32768, some_summed_rows = 8192, few_summed_rows = 4096;
constexpr std::size_t least_rows(int units) {
  if (units <= least_summed_units) return few_summed_rows;
  return units <= few_summed_units ? some_summed_rows : many_summed_rows;
}
constexpr int least_tile_rows(std::size_t rows) { return rows < many_summed_rows ? 64 : 256; }

// Sorts the labels of a tile by counting; rows of one label come in any order. `counts` has a place for each unit,
// `order` one for each row: label · most_tile_rows + row. Every thread of the block comes here.
__device__ void sort_tile(const std::int32_t* labels, int count, int units, unsigned* counts, unsigned* order) {
  __shared__ unsigned of_warps[most_warps];
  const int threads = static_cast<int>(blockDim.x);
  __syncthreads();  // the tile before is done
  for (int k = threadIdx.x; k < units; k += threads) counts[k] = 0;
  __syncthreads();
  // Beside few units most of a warp's rows would wait for each other at one place.
  const bool few = units <= few_sorted;
  const auto all_turns = [&](const auto& visit) {
    for (int start = 0; start < count; start += threads) {
      const int i = start + static_cast<int>(threadIdx.x);
      const int label = i < count ? labels[i] : -1;
      visit(i, label, __match_any_sync(all_lanes, label));
    }
  };
  const unsigned below = (1u << threadIdx.x % 32) - 1;
  if (few) {
    all_turns([&](int, int label, unsigned alike) {
      if (label >= 0 && (alike & below) == 0) atomicAdd(counts + label, static_cast<unsigned>(__popc(alike)));
    });
  } else {
    for (int i = threadIdx.x; i < count; i += threads) atomicAdd(counts + labels[i], 1u);
  }
  __syncthreads();
  // Each thread has neighbouring units.
  const int each = (units + threads - 1) / threads, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int begin = min(static_cast<int>(threadIdx.x) * each, units), end = min(begin + each, units);
  unsigned sum = 0;
  for (int k = begin; k < end; ++k) sum += counts[k];
  unsigned through = sum;
  for (int step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(all_lanes, through, step);
    if (lane >= step) through += other;
  }
  if (lane == 31) of_warps[warp] = through;
  __syncthreads();
  unsigned start = through - sum;
  for (int w = 0; w < warp; ++w) start += of_warps[w];
  for (int k = begin; k < end; ++k) {
    const unsigned here = counts[k];
    counts[k] = start;
    start += here;
  }
  __syncthreads();
  if (few) {
    all_turns([&](int i, int label, unsigned alike) {
      unsigned first = 0;
      if (label >= 0 && (alike & below) == 0) first = atomicAdd(counts + label, static_cast<unsigned>(__popc(alike)));
      first = __shfl_sync(all_lanes, first, __ffs(alike) - 1);
      if (label < 0) return;
      order[first + __popc(alike & below)] = static_cast<unsigned>(label) << row_bits | static_cast<unsigned>(i);
    });
  }
  for (int i = threadIdx.x; i < count && !few; i += threads) {
    const auto label = static_cast<unsigned>(labels[i]);
    order[atomicAdd(counts + label, 1u)] = label << row_bits | static_cast<unsigned>(i);
  }
  __syncthreads();
}

// The sums of one thread's columns over a run of rows of one label. Plain: all weights are one, and there are so many
// rows that no term, and nothing that is left of one, reaches 2⁵¹ in its unit: adding 1.5 · 2⁵² rounds it to the whole
// number that the last bits of the sum then are, which is cheaper than a conversion and there and back again.
template <int Slots, bool Plain>
struct run_sums {
  static constexpr double shift = 0x1.8p52;
  long long whole[Slots] = {}, rest[Slots] = {};
  long long weight_whole = 0, weight_rest = 0;
  int rows = 0;

  __device__ void add(int s, double value, double weight, double scale, double rest_scale) {
    if constexpr (Plain) {
      const double rounded = __fma_rn(value, scale, shift);
      const double left = __fma_rn(value, scale, -__dsub_rn(rounded, shift));
      whole[s] += __double_as_longlong(rounded);
      rest[s] += __double_as_longlong(__fma_rn(left, rest_scale, shift));
    } else {
      const fixed_number fixed(weight * value, scale, rest_scale);
      whole[s] += fixed.whole;
      if (fixed.left != 0) rest[s] += __double2ll_rn(fixed.left * rest_scale);
    }
  }
  __device__ void add_weight(double weight, double scale, double rest_scale) {
    ++rows;
    if constexpr (!Plain) {
      const fixed_number fixed(weight, scale, rest_scale);
      weight_whole += fixed.whole;
      if (fixed.left != 0) weight_rest += __double2ll_rn(fixed.left * rest_scale);
    }
  }
  __device__ long long shifted() const { return Plain ? rows * __double_as_longlong(shift) : 0; }
};

__device__ void add_whole(long long* to, long long value) {
  if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// What a block keeps of a tile beside rows on their way: their order, how many each unit has, and of so many chunks of
// columns parts of their distances.
inline std::size_t shared_bytes_of(int tile_rows, int units, int measured) {
  return static_cast<std::size_t>(tile_rows + units) * sizeof(unsigned) +
         static_cast<std::size_t>(measured) * static_cast<std::size_t>(tile_rows) * sizeof(double);
}

}  // namespace
}  // namespace shoal::som
