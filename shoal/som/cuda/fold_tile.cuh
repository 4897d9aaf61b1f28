// A tile of rows that a block has in its shared memory: how it comes there, the order of its labels, and what it adds
// up to in whole numbers, which no order changes.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/som/cuda/fold_tile.hpp>
#include <shoal/som/cuda/sum_runs.cuh>

namespace shoal::som {
namespace {

constexpr int fold_warps = fold_threads / 32;
constexpr int fold_row_bits = 16;  // of an entry of the order, below the label
// Up to so many units a warp counts its rows of each by a vote, where atomics would wait for each other.
constexpr int most_voted_units = 8;

// The place of a row among those of its label in the tile.
__device__ inline unsigned rank_of(unsigned* counts, int units, int label, bool there) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned alike = 0;
  if (units <= most_voted_units) {
    for (int u = 0; u < units; ++u) {
      const unsigned of_unit = __ballot_sync(all_lanes, there && label == u);
      if (label == u) alike = of_unit;
    }
  } else {
    const int first = __shfl_sync(all_lanes, label, 0);
    if (!__all_sync(all_lanes, there && label == first)) return there ? atomicAdd(counts + label, 1u) : 0u;
    alike = all_lanes;
  }
  const int leader = max(__ffs(static_cast<int>(alike)) - 1, 0);
  unsigned before = 0;
  if (there && lane == leader) before = atomicAdd(counts + label, static_cast<unsigned>(__popc(alike)));
  before = __shfl_sync(all_lanes, before, leader);
  return before + static_cast<unsigned>(__popc(alike & ((1u << lane) - 1)));
}

// Σ w · distance of a thread's rows.
struct folded_error {
  double scale, rest_scale;
  long long whole = 0, rest = 0;

  __device__ void add(double distance) {
    const double scaled = distance * scale;
    const long long rounded = __double2ll_rn(scaled);
    whole += rounded;
    rest += __double2ll_rn((scaled - static_cast<double>(rounded)) * rest_scale);
  }
};

// A block's sums in two halves of each number, which shared memory has atomics for.
struct folded_sums {
  unsigned* memory;  // [4][values]: halves of whole parts, then of what they leave
  int values;

  __device__ void add(int at, long long value) const {
    if (value == 0) return;
    const auto bits = static_cast<unsigned long long>(value);
    const auto low = static_cast<unsigned>(bits);
    const unsigned before = atomicAdd(memory + at, low);
    const unsigned high = static_cast<unsigned>(bits >> 32) + (before + low < before ? 1 : 0);
    if (high != 0) atomicAdd(memory + values + at, high);
  }
  __device__ long long read(int at) const {
    return static_cast<long long>(static_cast<unsigned long long>(memory[values + at]) << 32 | memory[at]);
  }
};

// Rows that a block takes a tile after the other: whole words of 16 bytes by a bulk copy, the others by its threads.
template <class Scalar>
struct fetched_tiles {
  const Scalar* rows;
  int count, columns, tile_rows;
  Scalar* memory;

  __device__ unsigned bytes(int first) const {
    const int here = min(tile_rows, count - first);
    return static_cast<unsigned>(here * columns * static_cast<int>(sizeof(Scalar))) / 16 * 16;
  }
  __device__ const Scalar* row_at(int first) const { return rows + static_cast<std::size_t>(first) * columns; }
  __device__ void fetch(int first, unsigned long long* full) const {
    if (first >= count) return;
    const unsigned all = bytes(first);
    if (all == 0) return cuda::arrive(full);  // all of it is tail
    cuda::fetch(memory, row_at(first), all, full);
  }
  // Asks for rows that are fetched next.
  __device__ void prefetch(int first) const {
    const unsigned all = bytes(first);
    if (all == 0) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(row_at(first)), "r"(all) : "memory");
  }
  // What of a tile is no whole 16 bytes.
  __device__ void take_tail(int first) const {
    const int from = static_cast<int>(bytes(first) / sizeof(Scalar)), numbers = min(tile_rows, count - first) * columns;
    const int i = from + static_cast<int>(threadIdx.x);
    if (i < numbers) memory[i] = row_at(first)[i];
  }
};

// A tile's rows in the order of their labels: `ranked` has of each row its label above fold_row_bits and its place
// among those of it, `counts` how many each unit has, `order` gets labels and rows. Every thread of the block comes
// here; returns the rows of the unit of the thread's number.
__device__ inline int sort_ranked(int count, int units, unsigned* counts, const unsigned* ranked, unsigned* order,
                                  unsigned* of_warps) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const unsigned own = thread < units ? counts[thread] : 0;
  unsigned through = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(all_lanes, through, step);
    if (lane >= step) through += other;
  }
  if (lane == 31) of_warps[warp] = through;
  __syncthreads();
  unsigned start = through - own;
  for (int w = 0; w < warp; ++w) start += of_warps[w];
  if (thread < units) counts[thread] = start;
  __syncthreads();
  constexpr unsigned mask = (1u << fold_row_bits) - 1;
  for (int i = thread; i < count; i += fold_threads) {
    const unsigned entry = ranked[i];
    order[counts[entry >> fold_row_bits] + (entry & mask)] = (entry & ~mask) | static_cast<unsigned>(i);
  }
  __syncthreads();
  return static_cast<int>(own);
}

}  // namespace
}  // namespace shoal::som
