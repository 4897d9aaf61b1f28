// Few columns: rows into labels and sums in one pass over memory. A thread searches its rows among centroids in shared
// memory; then the threads of a warp take a column each, and add rows one after the other to sums of the warp's own,
// of which each thread has a place in its own bank.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/kmeans/cuda/few_layout.hpp>
#include <shoal/kmeans/cuda/few_search.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/label_hash.cuh>
#include <shoal/kmeans/cuda/one_pass.cuh>

namespace shoal::kmeans {

template <class Scalar, int Columns>
__global__ void __launch_bounds__(32 * most_few_warps) few_kernel(one_pass_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  constexpr int each = few_rows(Columns), part_rows = 32 * each;
  constexpr int row_threads = few_row_threads(Columns);
  static_assert(hashed_rows % part_rows == 0 && hashed_rows == few_block_rows);
  extern __shared__ double memory[];
  __shared__ few_frame<Scalar> frame;
  __shared__ uint2 words[hashed_rows];
  __shared__ unsigned long long hashes[most_few_warps];
  const int clusters = in.clusters, warps = static_cast<int>(blockDim.x) / 32;
  const int warp = static_cast<int>(threadIdx.x) / 32, thread = static_cast<int>(threadIdx.x) % 32;
  double* const all_sums = memory;  // [warps][clusters][32]
  auto* const searched = reinterpret_cast<float4*>(all_sums + warps * clusters * 32);
  auto* const centres = reinterpret_cast<Scalar*>(searched + few_padded(clusters) * few_vectors(Columns));
  for (int i = static_cast<int>(threadIdx.x); i < hashed_rows; i += static_cast<int>(blockDim.x)) {
    words[i] = make_uint2(hash_table.words[i], hash_table.words[hashed_rows + i]);
  }
  const int lane = in.first_lane + static_cast<int>(blockIdx.x);
  double* const state = in.lanes + std::size_t(lane) * in.plan.block_doubles;
  const std::size_t lane_begin = in.plan.lane_begin(lane), lane_end = in.plan.lane_end(lane);
  const std::size_t first = max(lane_begin, in.piece.share_first) - in.piece.share_first;
  const std::size_t end = min(lane_end, in.piece.share_first + in.piece.count) - in.piece.share_first;
  const bool fresh = first + in.piece.share_first == lane_begin, complete = end + in.piece.share_first == lane_end;
  const int reduced = clusters * (Columns + 1) + 1;  // of a complete lane, before the threads' own sums
  double* const own = all_sums + warp * clusters * 32 + thread;
  double* const kept = state + reduced + warp * clusters * 32 + thread;
  for (int k = 0; k < clusters; ++k) own[k * 32] = fresh ? 0.0 : kept[k * 32];
  double* const kept_inertia = state + reduced + warps * clusters * 32 + threadIdx.x;
  double inertia = fresh ? 0.0 : *kept_inertia;
  prepare<Scalar, Columns>(in, searched, centres, frame);

  // A warp takes the 512 rows of a block, in the order of the lane whatever the piece.
  const std::size_t passed = (first + in.piece.share_first - lane_begin) / hashed_rows;
  const std::size_t offset = (warp + warps - passed % warps) % warps;
  const int column = thread % row_threads, sub_warp = thread / row_threads;
  const bool sums = column <= Columns, weighs = column == Columns;
  unsigned long long fingerprint = 0;
  for (std::size_t block = first + offset * hashed_rows; block < end; block += std::size_t(warps) * hashed_rows) {
    unsigned low = 0, high = 0;
#pragma unroll 1
    for (int part = 0; part < hashed_rows && block + part < end; part += part_rows) {
      const std::size_t at = block + part;
      const int count = static_cast<int>(min(std::size_t{part_rows}, end - at));
      int labels[each];
      {
        const Scalar* rows[each];
#pragma unroll
        for (int i = 0; i < each; ++i) {
          rows[i] = in.piece.rows + (at + min(i * 32 + thread, count - 1)) * Columns;
        }
        search_rows<Scalar, Columns>(in, searched, frame, rows, labels);
      }
#pragma unroll
      for (int i = 0; i < each; ++i) {
        if (i * 32 + thread >= count) continue;
        const uint2 word = words[part + i * 32 + thread];
        low += static_cast<unsigned>(labels[i]) * word.x;
        high += static_cast<unsigned>(labels[i]) * word.y;
        if (in.labels != nullptr) in.labels[at + i * 32 + thread] = labels[i];
      }
      // Steps of 32 / row_threads rows, two at a time: they wait for the sums of both, and the second adds to the
      // first's where they are of one cluster.
      constexpr int step_rows = 32 / row_threads;
#pragma unroll
      for (int i = 0; i < each; ++i) {
        if (i * 32 >= count) break;
        const Scalar* const from = in.piece.rows + (at + i * 32) * Columns + column;
        const Scalar* const weights = in.piece.weights == nullptr ? nullptr : in.piece.weights + at + i * 32;
#pragma unroll 4
        for (int row = sub_warp; row < 32; row += 2 * step_rows) {
          int label[2];
          double added[2];
#pragma unroll
          for (int which = 0; which < 2; ++which) {
            const int mine = row + which * step_rows;
            label[which] = __shfl_sync(~0U, labels[i], mine);
            const bool there = i * 32 + mine < count;
            const Scalar x = there && !weighs && sums ? from[mine * Columns] : Scalar{1};
            const auto difference = static_cast<double>(x - centres[label[which] * 32 + thread]);
            const double weight = !there ? 0.0 : weights == nullptr ? 1.0 : static_cast<double>(weights[mine]);
            added[which] = weight * difference;
            inertia = fma(added[which], difference, inertia);
          }
          double* const to = own + label[0] * 32;
          double* const next = own + label[1] * 32;
          const double sum = *to + added[0];
          double other = *next;
          if (label[1] == label[0]) other = sum;
          *to = sum;
          *next = other + added[1];
        }
      }
    }
    low = __reduce_add_sync(~0U, low);
    high = __reduce_add_sync(~0U, high);
    fingerprint += hash_of_block(odd_of_block((in.piece.first + block) / hashed_rows), low, high);
  }

  if (thread == 0) hashes[warp] = fingerprint;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < warps; ++w) fingerprint += hashes[w];
    if (fingerprint != 0) atomicAdd(in.fingerprint, fingerprint);
  }
  if (!complete) {
    for (int k = 0; k < clusters; ++k) kept[k * 32] = own[k * 32];
    *kept_inertia = inertia;
    return;
  }
  // The lane is complete: the sums of all warps and their parts, and from the rounded centroids to the float64 ones.
  if (column >= Columns) inertia = 0;
  const auto total = [&](int k, int j) {
    double sum = 0;
    for (int w = 0; w < warps; ++w) {
#pragma unroll
      for (int part = 0; part < 32; part += row_threads) sum += all_sums[(w * clusters + k) * 32 + part + j];
    }
    return sum;
  };
  for (int i = static_cast<int>(threadIdx.x); i < clusters * (Columns + 1); i += static_cast<int>(blockDim.x)) {
    const int k = i / (Columns + 1), j = i % (Columns + 1);
    const double sum = total(k, j);
    if (j == Columns) {
      state[clusters * Columns + k] = sum;
      continue;
    }
    const double weight = total(k, Columns);
    const double moved = in.centroids[k * Columns + j] - static_cast<double>(centres[k * 32 + j]);
    inertia += moved * (weight * moved - 2 * sum);
    state[k * Columns + j] = sum - weight * moved;
  }
  __syncthreads();
  inertia = cuda::warp_sum(inertia);
  if (thread == 0) all_sums[warp] = inertia;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps; ++w) inertia += all_sums[w];
  state[reduced - 1] = inertia;
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
