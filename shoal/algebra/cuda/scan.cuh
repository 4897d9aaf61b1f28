// Scans on a GPU, in one pass over the values and in an order that the number of values decides.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <shoal/algebra/cuda/operation.cuh>
#include <shoal/algebra/cuda/tree.cuh>
#include <shoal/algebra/cuda/workspace.cuh>

namespace shoal::algebra::gpu {

namespace detail {

inline constexpr int group_tiles = 64;  // tiles whose totals are combined before the groups before them are

// Values that a thread scans: an odd number, so that lanes that read neighbouring runs do not meet in a bank of shared
// memory.
template <class Value>
inline constexpr int scan_items = sizeof(Value) <= 8    ? 19
                                  : sizeof(Value) <= 16 ? 11
                                  : sizeof(Value) <= 32 ? 5
                                                        : 1;

// Where blocks leave a value for others, who wait for it: values of at most eight bytes together with their mark, which
// one access of 16 bytes reads and writes whole; others behind a mark.
template <class Value>
class mailboxes {
 public:
  static constexpr bool together = sizeof(Value) <= 8;

  static std::size_t bytes_of_marks(std::size_t count) { return count * (together ? 16 : 4); }
  static std::size_t values_apart(std::size_t count) { return together ? 0 : count; }

  mailboxes(void* marks, Value* values) : marks_(marks), values_(values) {}

  __device__ __forceinline__ void put(std::size_t at, const Value& value) const {
    if constexpr (together) {
      unsigned long long bits = 0;
      memcpy(&bits, &value, sizeof value);
      asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.gpu.global.b128 [%0], both; }" ::"l"(
                       static_cast<char*>(marks_) + 16 * at),
                   "l"(bits), "l"(1ull)
                   : "memory");
    } else {
      values_[at] = value;
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(static_cast<unsigned*>(marks_) + at) : "memory");
    }
  }

  // Waits for what is at first, …, first + wanted − 1; `wanted` is at most Most.
  template <int Most>
  __device__ __forceinline__ void take(std::size_t first, unsigned wanted, Value (&values)[Most]) const {
    bool missing;
    do {  // all at once: one after the other they would take as many times as long
      missing = false;
#pragma unroll
      for (unsigned k = 0; k < Most; ++k) {
        unsigned long long bits = 0, mark = 1;
        if (k < wanted) mark = look(first + k, bits);
        missing = missing || mark == 0;
        if constexpr (together) memcpy(&values[k], &bits, sizeof(Value));
      }
    } while (missing);
    if constexpr (!together) {
      __threadfence();
#pragma unroll
      for (unsigned k = 0; k < Most; ++k) {
        if (k < wanted) values[k] = values_[first + k];
      }
    }
  }

 private:
  __device__ __forceinline__ unsigned long long look(std::size_t at, unsigned long long& bits) const {
    if constexpr (together) {
      unsigned long long mark;
      asm volatile("{ .reg .b128 both; ld.relaxed.gpu.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                   : "=l"(bits), "=l"(mark)
                   : "l"(static_cast<const char*>(marks_) + 16 * at)
                   : "memory");
      return mark;
    } else {
      unsigned mark;
      asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                   : "=r"(mark)
                   : "l"(static_cast<const unsigned*>(marks_) + at)
                   : "memory");
      return mark;
    }
  }

  void* marks_;
  Value* values_;
};

// What blocks tell each other.
template <class Value>
struct scan_state {
  mailboxes<Value> tile_totals;
  mailboxes<Value> group_prefixes;  // of all tiles up to the last one of the group
  unsigned* next_tile;
};

// All that comes before `tile`, by one warp, for lane 0: (groups before)·(tiles before it in its group). Which tiles
// are done when decides only how long it waits, not what is combined with what.
template <int Group, class Structure>
__device__ __forceinline__ value_of<Structure> prefix_of_tile(const Structure& structure,
                                                              const scan_state<value_of<Structure>>& state,
                                                              std::size_t tile, unsigned lane) {
  constexpr unsigned each = Group / warp_lanes;
  const std::size_t group = tile / Group;
  const unsigned before = tile % Group;
  const unsigned wanted = lane * each < before ? min(each, before - lane * each) : 0;
  value_of<Structure> totals[each];
  state.tile_totals.take(group * Group + lane * each, wanted, totals);
  value_of<Structure> mine = totals[0];
#pragma unroll
  for (unsigned k = 1; k < each; ++k) {
    if (k < wanted) mine = combine_on_device(structure, mine, totals[k]);
  }
  __syncwarp();
#pragma unroll
  for (unsigned distance = 1; distance < warp_lanes; distance *= 2) {
    const value_of<Structure> behind = from_lane_behind(mine, distance);
    if (lane % (2 * distance) == 0 && (lane + distance) * each < before) {
      mine = combine_on_device(structure, mine, behind);
    }
  }
  if (lane == 0 && group > 0) {
    value_of<Structure> groups[1];
    state.group_prefixes.take(group - 1, 1, groups);
    mine = before > 0 ? combine_on_device(structure, groups[0], mine) : groups[0];
  }
  return mine;
}

// Each block takes the next tile, scans it, says its total, waits for all before it, and writes. Tiles are taken in
// order, so whoever is waited for is at work.
template <int Items, int Group, bool Exclusive, class Structure>
__global__ void __launch_bounds__(block_threads)
    scan_tiles(Structure structure, const value_of<Structure>* values, value_of<Structure>* result, std::size_t count,
               value_of<Structure> identity, scan_state<value_of<Structure>> state) {
  using value_type = value_of<Structure>;
  constexpr int warp_items = Items * warp_lanes, tile_items = Items * block_threads;
  __shared__ alignas(16) unsigned char tile_memory[tile_items * sizeof(value_type)];
  __shared__ alignas(16) unsigned char total_memory[(warps_of_block + 1) * sizeof(value_type)];
  __shared__ unsigned claimed;
  auto* const warp_totals = reinterpret_cast<value_type*>(total_memory);
  value_type* const tile_prefix = warp_totals + warps_of_block;
  const unsigned warp = threadIdx.x / warp_lanes, lane = threadIdx.x % warp_lanes;
  value_type* const mine = reinterpret_cast<value_type*>(tile_memory) + warp * warp_items;

  if (threadIdx.x == 0) claimed = atomicAdd(state.next_tile, 1u);
  __syncthreads();
  const std::size_t tile = claimed;
  const std::size_t first = tile * tile_items + warp * warp_items;
  const bool full = first + warp_items <= count;

  // Neighbouring lanes read neighbouring values; shared memory turns that into a run of neighbours for each lane.
  value_type held[Items];
  if (full) {
#pragma unroll
    for (int i = 0; i < Items; ++i) held[i] = values[first + i * warp_lanes + lane];
  } else {
#pragma unroll
    for (int i = 0; i < Items; ++i) {  // any value will do behind the end: nothing flows from there to a result
      const std::size_t at = first + i * warp_lanes + lane;
      held[i] = values[at < count ? at : count - 1];
    }
  }
#pragma unroll
  for (int i = 0; i < Items; ++i) mine[i * warp_lanes + lane] = held[i];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < Items; ++i) held[i] = mine[lane * Items + i];
#pragma unroll
  for (int i = 1; i < Items; ++i) held[i] = combine_on_device(structure, held[i - 1], held[i]);

  value_type lanes = held[Items - 1];  // lanes up to this one
#pragma unroll
  for (int distance = 1; distance < warp_lanes; distance *= 2) {
    const value_type before = from_lane_before(lanes, distance);
    if (lane >= distance) lanes = combine_on_device(structure, before, lanes);
  }
  if (lane == warp_lanes - 1) warp_totals[warp] = lanes;
  __syncthreads();

  if (warp == 0) {
    value_type total = warp_totals[0];
#pragma unroll
    for (int w = 1; w < warps_of_block; ++w) total = combine_on_device(structure, total, warp_totals[w]);
    if (lane == 0) state.tile_totals.put(tile, total);
    if (tile > 0) {
      const value_type prefix = prefix_of_tile<Group>(structure, state, tile, lane);
      if (lane == 0) *tile_prefix = prefix;
      total = combine_on_device(structure, prefix, total);
    }
    if (lane == 0 && tile % Group == Group - 1) state.group_prefixes.put(tile / Group, total);
  }

  // What comes before this lane: (tiles)·((warps)·(lanes)), each only where there is any.
  value_type before = from_lane_before(lanes, 1);
  if (warp > 0) {
    value_type warps = warp_totals[0];
    for (unsigned w = 1; w < warp; ++w) warps = combine_on_device(structure, warps, warp_totals[w]);
    before = lane > 0 ? combine_on_device(structure, warps, before) : warps;
  }
  __syncthreads();
  if (tile > 0) before = warp > 0 || lane > 0 ? combine_on_device(structure, *tile_prefix, before) : *tile_prefix;
  const bool any = tile > 0 || warp > 0 || lane > 0;

  if constexpr (Exclusive) {
#pragma unroll
    for (int i = Items - 1; i > 0; --i) {
      held[i] = any ? combine_on_device(structure, before, held[i - 1]) : held[i - 1];
    }
    held[0] = any ? before : identity;
  } else if (any) {
#pragma unroll
    for (int i = 0; i < Items; ++i) held[i] = combine_on_device(structure, before, held[i]);
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < Items; ++i) mine[lane * Items + i] = held[i];
  __syncwarp();
  if (full) {
#pragma unroll
    for (int i = 0; i < Items; ++i) result[first + i * warp_lanes + lane] = mine[i * warp_lanes + lane];
  } else {
    for (int i = 0; i < Items; ++i) {
      const std::size_t at = first + i * warp_lanes + lane;
      if (at < count) result[at] = mine[i * warp_lanes + lane];
    }
  }
}

template <bool Exclusive, int Items, int Group, class Structure>
void scan(const Structure& structure, const value_of<Structure>* values, value_of<Structure>* result, std::size_t count,
          const value_of<Structure>& identity, workspace& memory, cudaStream_t stream) {
  if (count == 0) return;
  using value_type = value_of<Structure>;
  const std::size_t tiles = divided_up(count, std::size_t{Items} * block_threads);
  const std::size_t groups = divided_up(tiles, Group);
  using mailbox = mailboxes<value_type>;
  const std::size_t tile_bytes = mailbox::bytes_of_marks(tiles);
  const std::size_t marked_bytes = tile_bytes + mailbox::bytes_of_marks(groups) + sizeof(unsigned);
  arrays_of_workspace arrays;
  const std::size_t marks = arrays.add<char>(marked_bytes);
  const std::size_t totals = arrays.add<value_type>(mailbox::values_apart(tiles));
  const std::size_t prefixes = arrays.add<value_type>(mailbox::values_apart(groups));
  arrays.take(memory);
  char* const marked = arrays.at<char>(marks);
  check(cudaMemsetAsync(marked, 0, marked_bytes, stream), "clear device memory");
  scan_tiles<Items, Group, Exclusive><<<static_cast<unsigned>(tiles), block_threads, 0, stream>>>(
      structure, values, result, count, identity,
      scan_state<value_type>{mailbox(marked, arrays.at<value_type>(totals)),
                             mailbox(marked + tile_bytes, arrays.at<value_type>(prefixes)),
                             reinterpret_cast<unsigned*>(marked + marked_bytes) - 1});
  check(cudaGetLastError(), "launch a scan");
}

}  // namespace detail

/// result[i] = values[0]·…·values[i] for `count` values in device memory, in the order of `stream`; does not wait.
/// `result` may be `values`. The order of operations depends on `count` and on the size of a value alone, so the bits
/// are the same on every GPU and in every run. It is not the host's order: sums of floating-point numbers agree with
/// the host's within the structure's bound, exact operations to the bit.
template <device_semigroup Structure>
void inclusive_scan(const Structure& structure, const value_of<Structure>* values, value_of<Structure>* result,
                    std::size_t count, workspace& memory, cudaStream_t stream = nullptr) {
  detail::scan<false, detail::scan_items<value_of<Structure>>, detail::group_tiles>(structure, values, result, count,
                                                                                    {}, memory, stream);
}

/// result[0] = identity and result[i] = values[0]·…·values[i − 1]; everything else as inclusive_scan.
template <device_monoid Structure>
void exclusive_scan(const Structure& structure, const value_of<Structure>* values, value_of<Structure>* result,
                    std::size_t count, workspace& memory, cudaStream_t stream = nullptr) {
  detail::scan<true, detail::scan_items<value_of<Structure>>, detail::group_tiles>(
      structure, values, result, count, structure.identity(), memory, stream);
}

}  // namespace shoal::algebra::gpu
