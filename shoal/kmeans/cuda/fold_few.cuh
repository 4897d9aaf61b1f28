// Few columns: rows into labels and sums in one pass over memory. A thread searches its rows among centroids in shared
// memory (few_search.cuh); then its warp adds them up (few_sums.cuh).
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/kmeans/cuda/few_layout.hpp>
#include <shoal/kmeans/cuda/few_search.cuh>
#include <shoal/kmeans/cuda/few_sums.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/label_hash.cuh>
#include <shoal/kmeans/cuda/one_pass.cuh>

namespace shoal::kmeans {

// Asks for `bytes` of rows that the warp reads soon.
template <int Bytes>
__device__ void prefetch_rows(const void* rows) {
  constexpr int line = 128;
#pragma unroll
  for (int first = 0; first < Bytes; first += 32 * line) {
    const int at = first + static_cast<int>(threadIdx.x) % 32 * line;
    if (at < Bytes) asm volatile("prefetch.global.L2 [%0];" ::"l"(static_cast<const char*>(rows) + at));
  }
}

// What all threads of a warp have alike, as the result of an instruction that the compiler does not repeat for each
// use.
__device__ inline unsigned kept_by_warp(unsigned number) { return __reduce_max_sync(~0U, number); }
template <class Scalar>
__device__ const Scalar* kept_by_warp(const Scalar* address) {
  const auto bits = reinterpret_cast<unsigned long long>(address);
  const unsigned low = kept_by_warp(static_cast<unsigned>(bits)),
                 high = kept_by_warp(static_cast<unsigned>(bits >> 32));
  return reinterpret_cast<const Scalar*>(static_cast<unsigned long long>(high) << 32 | low);
}

// Warps that begin together stay together: all of them search, then all of them wait for shared memory. So those of a
// scheduler begin a quarter of a part's time after each other, where there are parts enough. A part's time is that of
// its instructions, about so many a row. Rows of more columns gained nothing.
constexpr int most_staggered_columns = 4;
template <int Columns>
__device__ void stagger_warps(int clusters, unsigned blocks) {
  constexpr int schedulers = 4, least_blocks_of_warp = 4;
  const int warps = static_cast<int>(blockDim.x) / 32, position = static_cast<int>(threadIdx.x) / 32 / schedulers;
  if (blocks < static_cast<unsigned>(warps * least_blocks_of_warp)) return;
  const int row_instructions = 100 + (Columns == 1 ? 0 : clusters * (2 * Columns + 3) / 2);
  const auto delay = static_cast<long long>(position * few_rows(Columns) * row_instructions);
  for (const long long begin = clock64(); clock64() - begin < delay;) __nanosleep(100);
}

__device__ inline unsigned long long sum_of_warp(unsigned long long number) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) number += __shfl_xor_sync(~0U, number, step);
  return number;
}

template <class Scalar, int Columns>
__global__ void __launch_bounds__(32 * most_few_warps, 1) few_kernel(one_pass_arguments<Scalar> in) {
  // What needs no centroids is done while the work before this ends.
  using sums_of_warp = few_sums<Scalar, Columns>;
  constexpr int each = few_rows(Columns), part_rows = 32 * each;
  static_assert(hashed_rows % part_rows == 0 && hashed_rows == few_block_rows);
  extern __shared__ float4 memory[];
  __shared__ few_frame<Scalar> frame;
  __shared__ uint2 words[hashed_rows];
  __shared__ unsigned long long hashes[most_few_warps];
  __shared__ double inertias[most_few_warps];
  __shared__ uint2 last_hashes[most_few_warps];
  if (threadIdx.x < most_few_warps) last_hashes[threadIdx.x] = make_uint2(0, 0);
  const int clusters = in.clusters, warps = static_cast<int>(blockDim.x) / 32;
  const int warp = static_cast<int>(threadIdx.x) / 32, thread = static_cast<int>(threadIdx.x) % 32;
  float4* const searched = memory;
  auto* const centres = reinterpret_cast<Scalar*>(searched + few_searched_bytes(clusters, Columns) / 16);
  Scalar* const all_sums = centres + clusters * 32;
  const int warp_numbers = clusters * sums_of_warp::values * (32 / in.plan.sharers);
  for (int i = static_cast<int>(threadIdx.x); i < hashed_rows; i += static_cast<int>(blockDim.x)) {
    words[i] = make_uint2(hash_table.words[i], hash_table.words[hashed_rows + i]);
  }
  const int lane = in.first_lane + static_cast<int>(blockIdx.x);
  double* const state = in.lanes + std::size_t(lane) * in.plan.block_doubles;
  const std::size_t lane_begin = in.plan.lane_begin(lane), lane_end = in.plan.lane_end(lane);
  const std::size_t first = max(lane_begin, in.piece.share_first) - in.piece.share_first;
  const std::size_t end = min(lane_end, in.piece.share_first + in.piece.count) - in.piece.share_first;
  const bool fresh = first + in.piece.share_first == lane_begin, complete = end + in.piece.share_first == lane_end;
  const int items = clusters * (Columns + 1);  // and the inertia: a complete lane, before what its warps keep
  double* const totals = state + items + 1;
  double* const kept = totals + warps * items + warp * few_kept_numbers(clusters, Columns, sizeof(Scalar));
  sums_of_warp sums(clusters, in.plan.sharers, all_sums + warp * warp_numbers, centres, totals + warp * items);
  // A warp takes the 512 rows of a block, in the order of the lane whatever the piece; of the last blocks, which are
  // fewer than warps, parts. Their hashes are added up by all warps.
  constexpr int block_parts = hashed_rows / part_rows;
  const auto blocks_in = [](std::size_t rows) { return static_cast<unsigned>((rows + hashed_rows - 1) / hashed_rows); };
  const unsigned lane_blocks = blocks_in(lane_end - lane_begin), whole = lane_blocks / warps * warps;
  const unsigned passed = blocks_in(first + in.piece.share_first - lane_begin), ended = passed + blocks_in(end - first);
  const std::size_t first_block = (in.piece.first + first) / hashed_rows - passed;  // of the lane, among all rows'
  const unsigned last_parts = ended > whole ? (ended - whole) * block_parts : 0;
  const auto next_of_warp = [&](unsigned from) { return from + (warp + warps - from % warps) % warps; };
  unsigned block = next_of_warp(passed), last_part = next_of_warp(passed > whole ? (passed - whole) * block_parts : 0);
  unsigned blocks = (min(passed, whole) + warps - 1 - warp) / warps;  // that the warp has had
  bool last = block >= min(whole, ended);
  // Rows of the piece in the lane are counted by 32 bits, from the first. What is the same for every part is kept,
  // where the compiler would work it out anew for each.
  const Scalar* const rows = kept_by_warp(in.piece.rows + first * Columns);
  const unsigned to_next_block = (warps - 1) * hashed_rows + part_rows;  // from a block's last part
  const unsigned rows_end = kept_by_warp(static_cast<unsigned>(end - first));
  const auto row_of = [&](unsigned of_block) { return (of_block - passed) * unsigned{hashed_rows}; };
  unsigned at = last ? row_of(whole) + last_part * part_rows : row_of(block);
  const auto prefetch = [&](unsigned from) {
    if (from + part_rows > rows_end) return;
    prefetch_rows<part_rows * Columns* static_cast<int>(sizeof(Scalar))>(rows + std::size_t{from} * Columns);
  };
  prefetch(at);

  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  if (!fresh) sums.restore(kept);
  prepare<Scalar, Columns>(in, searched, centres, frame);
  if constexpr (Columns <= most_staggered_columns) stagger_warps<Columns>(clusters, ended - passed);

  unsigned low = 0, high = 0;
  unsigned long long fingerprint = 0;
  // A thread keeps what one of 32 blocks hashes to: the block's own number takes longer than all else that ends it.
  unsigned its_block = 0, its_low = 0, its_high = 0;
  const auto add_hash = [&] {
    fingerprint += hash_of_block(odd_of_block(first_block + its_block), its_low, its_high);
    its_low = its_high = 0;
  };
  int part = 0;
  while (!last || last_part < last_parts) {
    if (last) {
      block = whole + last_part / block_parts;
      part = static_cast<int>(last_part % block_parts) * part_rows;
      at = row_of(block) + part;
    }
    const unsigned next = at + (part + part_rows < hashed_rows ? part_rows : to_next_block);
    if (at < rows_end) {
      prefetch(next);
      const int count = static_cast<int>(min(unsigned{part_rows}, rows_end - at));
      const Scalar* const from = rows + std::size_t{at} * Columns;
      int labels[each];
      Scalar read[each][Columns];
      const bool far = search_rows<Scalar, Columns>(in, searched, frame, from, count, read, labels);
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const uint2 word = words[part + i * 32 + thread];
        low += static_cast<unsigned>(labels[i]) * word.x;
        high += static_cast<unsigned>(labels[i]) * word.y;
      }
      if (in.labels != nullptr) {
#pragma unroll
        for (int i = 0; i < each; ++i) {
          if (i * 32 + thread < count) in.labels[first + at + i * 32 + thread] = labels[i];
        }
      }
      const Scalar* const weights = in.piece.weights == nullptr ? nullptr : in.piece.weights + first + at;
      if (sizeof(Scalar) == 4 && far) {
        sums.add_in_float64(from, weights, count, labels);
      } else {
        sums.add(from, read, weights, count, labels);
      }
    }
    at = next;
    part += part_rows;
    if (!last && part < hashed_rows) continue;
    low = __reduce_add_sync(~0U, low);
    high = __reduce_add_sync(~0U, high);
    if (last) {
      if (thread == 0) atomicAdd(&last_hashes[block - whole].x, low);
      if (thread == 0) atomicAdd(&last_hashes[block - whole].y, high);
      last_part += warps;
    } else {
      if (thread == static_cast<int>(blocks % 32)) its_block = block, its_low = low, its_high = high;
      if (++blocks % 32 == 0) add_hash();
      sums.end_block(blocks);
      block += warps;
      last = block >= min(whole, ended);
    }
    part = 0;
    low = high = 0;
  }

  add_hash();
  fingerprint = sum_of_warp(fingerprint);
  if (thread == 0) hashes[warp] = fingerprint;
  if (complete) {
    sums.finish();
  } else {
    sums.save(kept);
  }
  __syncthreads();
  if (warp == 0) {
    fingerprint = thread < warps ? hashes[thread] : 0;
    const unsigned of_thread = whole + thread;
    if (of_thread >= passed && of_thread < ended) {
      fingerprint += hash_of_block(odd_of_block(first_block + of_thread), last_hashes[thread].x, last_hashes[thread].y);
    }
    fingerprint = sum_of_warp(fingerprint);
    if (thread == 0 && fingerprint != 0) atomicAdd(in.fingerprint, fingerprint);
  }
  if (!complete) return;
  // The lane is complete: the sums of all warps, where the first one's were, and from the rounded centroids to the
  // float64 ones.
  auto* const sum_of = reinterpret_cast<double*>(all_sums);
  for (int i = static_cast<int>(threadIdx.x); i < items; i += static_cast<int>(blockDim.x)) {
    double sum = sum_of[i];
    for (int w = 1; w < warps; ++w) sum += reinterpret_cast<const double*>(all_sums + w * warp_numbers)[i];
    sum_of[i] = sum;
  }
  __syncthreads();
  double inertia = sums.inertia();
  for (int i = static_cast<int>(threadIdx.x); i < items; i += static_cast<int>(blockDim.x)) {
    const int k = i / (Columns + 1), j = i % (Columns + 1);
    const double sum = sum_of[i], weight = sum_of[k * (Columns + 1) + Columns];
    if (j == Columns) {
      state[clusters * Columns + k] = weight;
      continue;
    }
    const double moved = in.centroids[k * Columns + j] - static_cast<double>(centres[k * 32 + j]);
    inertia += moved * (weight * moved - 2 * sum);
    state[k * Columns + j] = sum - weight * moved;
  }
  inertia = cuda::warp_sum(inertia);
  if (thread == 0) inertias[warp] = inertia;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps; ++w) inertia += inertias[w];
  state[items] = inertia;
}

template <class Scalar, int Columns = 1>
void launch_few(const one_pass_arguments<Scalar>& in, unsigned lanes, cudaStream_t stream) {
  if constexpr (Columns < static_cast<int>(most_one_pass_columns)) {
    if (in.columns > Columns) return launch_few<Scalar, Columns + 1>(in, lanes, stream);
  }
  cuda::launch_in_turn(few_kernel<Scalar, Columns>, lanes, static_cast<unsigned>(32 * in.plan.warps),
                       in.plan.shared_bytes, stream, in);
}

template <class Scalar>
void fold_few(const sum_plan& plan, const cuda::device_piece<Scalar>& piece, const device_centroids<Scalar>& centroids,
              std::int32_t* labels, double* lanes, unsigned long long* fingerprint, const int* stopped,
              cudaStream_t stream) {
  launch_few(one_pass(plan, piece, centroids, labels, lanes, fingerprint, stopped),
             static_cast<unsigned>(plan.piece_lanes(piece)), stream);
}

}  // namespace shoal::kmeans
