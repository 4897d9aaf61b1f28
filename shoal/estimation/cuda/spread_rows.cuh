// Greedy k-means++ among rows that all multiprocessors share, a block for each (spread_rows_kernels.hpp).
//
// A warp has rows that follow each other, and measures them against the trials without waiting for another: it adds up
// their masses with each trial lane by lane, and over its lanes once. Blocks tell each other one sum for each trial,
// and all hear those of all: from them every block concludes the same, which trial is kept, and in which block the
// draws for the next step fall. That block draws the rows, and tells which they are. Meanwhile the others apply the
// trial that is kept.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <shoal/estimation/cuda/array_places.cuh>
#include <shoal/estimation/cuda/draw_lanes.cuh>
#include <shoal/estimation/cuda/said_words.cuh>
#include <shoal/estimation/cuda/spread_measures.cuh>
#include <shoal/estimation/cuda/spread_rows_kernels.hpp>
#include <shoal/estimation/cuda/trial_masses.cuh>
#include <shoal/estimation/cuda/warp_sums.cuh>
#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/check.hpp>

namespace shoal {

inline constexpr unsigned blocks_of_lane = 5;  // whose sums a lane hears
inline constexpr unsigned most_spread_blocks = 32 * blocks_of_lane;
inline constexpr unsigned most_spread_columns = 16;  // of more, bytes say sooner which trials need not be measured
inline constexpr unsigned most_spread_trials = 16;

// What a block has in its shared memory, besides what it measures with.
template <unsigned Trials, class Work>
struct spread_memory {
  static constexpr unsigned pitch = 34;

  double* part_masses;   // [Trials][pitch] of warps
  double* part_before;   // [Trials][pitch] those before them
  double* block_masses;  // [Trials][most_spread_blocks]
  double* block_before;  // [Trials][most_spread_blocks]
  Work* least;           // [2][rows] before even and odd steps; zero where a row has no weight
  unsigned* nearer;      // [row warps][Trials] a bit for each row where a trial is nearer

  __host__ __device__ spread_memory(array_places& places, const spread_rows_cut& cut) {
    part_masses = places.place<double>(Trials * pitch);
    part_before = places.place<double>(Trials * pitch);
    block_masses = places.place<double>(Trials * most_spread_blocks);
    block_before = places.place<double>(Trials * most_spread_blocks);
    least = places.place<Work>(2 * cut.row_warps * 32);
    nearer = places.place<unsigned>(cut.row_warps * Trials);
  }
};

// The trial that share_of_better says is best: that of the least sum, unless others come near it.
template <unsigned Trials>
__device__ unsigned best_of(const double* totals, unsigned trials) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned high = lane < trials ? static_cast<unsigned>(__double2hiint(totals[lane % Trials])) : ~0u;
  const unsigned least = __reduce_min_sync(~0u, high);
  constexpr unsigned infinite = 0x7ff00000;
  const unsigned near = __ballot_sync(~0u, high <= least + 1);
  if (least < infinite && __popc(near) == 1) return __ffs(static_cast<int>(near)) - 1;
  unsigned found = 0;
  double least_total = __builtin_huge_val();
#pragma unroll 1
  for (unsigned t = 0; t < trials; ++t) {
    if (totals[t] < least_total * share_of_better) {
      least_total = totals[t];
      found = t;
    }
  }
  return found;
}

template <unsigned Trials, class Measure, class Scalar, class Work>
__global__ void __launch_bounds__(Measure::threads, 1)
    choose_among_blocks_kernel(const __grid_constant__ few_rows<Scalar, Work> of,
                               const __grid_constant__ spread_rows_cut cut) {
  using memory_of_block = spread_memory<Trials, Work>;
  constexpr unsigned threads = Measure::threads, warps = threads / 32, pitch = memory_of_block::pitch;
  extern __shared__ __align__(16) char shared[];
  __shared__ double totals[Trials];
  __shared__ unsigned long long indices[2][Trials];  // of even and of odd steps
  array_places places(shared);
  const memory_of_block memory(places, cut);
  Measure measure(places, cut);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, blocks = gridDim.x, count = cut.row_warps * 32;
  const auto begin_of_part = [&](unsigned part) { return part * cut.row_warps / warps; };
  const rows_of_block<Scalar, Work> rows{
      &of, std::size_t{blockIdx.x} * count, count, lane, begin_of_part(warp), begin_of_part(warp + 1)};
  const bool weighted = rows.weighted();

  for (unsigned i = threadIdx.x; i < count; i += threads) {
    memory.least[i] = rows.weight(i) > 0 ? static_cast<Work>(__builtin_huge_val()) : Work{0};
  }
  measure.begin(rows);
  if (threadIdx.x == 0) indices[0][0] = of.first;
  __syncthreads();

  double kept = 0;  // the mass of the warp's rows
  unsigned step = 0, trials = 1;
  for (;; ++step) {
    const unsigned parity = step % 2, next = 1 - parity;
    const Work* const least = memory.least + parity * count;
    double sums[Trials], others = 0;  // others: of rows that no trial is nearer to
#pragma unroll
    for (unsigned t = 0; t < Trials; ++t) sums[t] = 0;
    bool any_nearer = false;
    measure.measure(rows, parity, [&](unsigned row_warp, double weight, const Work(&distances)[Trials]) {
      const Work before = least[row_warp * 32 + lane];
      unsigned bits = 0;
#pragma unroll
      for (unsigned t = 0; t < Trials; ++t) {
        const unsigned all = __ballot_sync(~0u, distances[t] < before);
        if (lane == t) bits = all;
      }
      if (lane < Trials) memory.nearer[row_warp * Trials + lane] = bits;
      if (!__any_sync(~0u, bits != 0)) {
        if (!Measure::held) others = fma(weight, static_cast<double>(before), others);
        return;
      }
      any_nearer = true;
#pragma unroll
      for (unsigned t = 0; t < Trials; ++t) {
        const bool near = distances[t] < before;
        if (near) measure.keep(t, rows, row_warp * 32 + lane, distances[t]);
        sums[t] = fma(weight, static_cast<double>(near ? distances[t] : before), sums[t]);
      }
    });
    // Masses that no trial changes are what they were before.
    if (any_nearer) kept = warp_sums<Trials>([&](unsigned t) { return sums[t] + others; });
    if (lane % (32 / Trials) == 0) memory.part_masses[lane / (32 / Trials) * pitch + warp] = kept;
    __syncthreads();

    double uniform = 0;
    if (warp < trials) {
      const double up_to = sums_up_to(lane < warps ? memory.part_masses[warp * pitch + lane] : 0.0, warps);
      unsigned long long* const words = of.said_groups + (std::size_t{step} * of.trials + warp) * blocks;
      if (lane == warps - 1) say(words + blockIdx.x, bits_of(up_to));
      memory.part_before[warp * pitch + lane] = sum_before(up_to);
      uniform = of.draws.uniform(step + 1, warp);
      // Only what is not there yet is asked for again: the fewer ask for a line, the sooner it can be written.
      unsigned long long heard[blocks_of_lane];
#pragma unroll
      for (unsigned b = 0; b < blocks_of_lane; ++b) {
        heard[b] = lane * blocks_of_lane + b < blocks ? unsaid : 0;
      }
      bool all;
      do {
        all = true;
#pragma unroll
        for (unsigned b = 0; b < blocks_of_lane; ++b) {
          if (heard[b] == unsaid) heard[b] = said(words + lane * blocks_of_lane + b);
        }
#pragma unroll
        for (unsigned b = 0; b < blocks_of_lane; ++b) all = all && heard[b] != unsaid;
      } while (!all);
      double sum = 0, before[blocks_of_lane];
#pragma unroll
      for (unsigned b = 0; b < blocks_of_lane; ++b) {
        before[b] = sum;
        sum += from_bits<double>(heard[b]);
      }
      __syncwarp();
      const double through = sums_up_to(sum), before_lane = sum_before(through);
#pragma unroll
      for (unsigned b = 0; b < blocks_of_lane; ++b) {
        const unsigned i = warp * most_spread_blocks + lane * blocks_of_lane + b;
        memory.block_masses[i] = from_bits<double>(heard[b]);
        memory.block_before[i] = before_lane + before[b];
      }
      if (lane == 31) totals[warp] = through;
    } else if (warp < of.trials) {
      uniform = of.draws.uniform(step + 1, warp);
    }
    __syncthreads();

    const unsigned best = best_of<Trials>(totals, trials);
    const double total = totals[best];
    const bool none = !(total > 0 && total * 0 == 0);
    if (blockIdx.x == blocks - 1 && warp == warps - 1) {
      if (lane == 0) of.chosen[1 + step] = indices[parity][best];
    }
    if (none || step + 1 == of.clusters) break;
    kept = memory.part_masses[best * pitch + warp];

    // What is least with the trial that is kept.
    const auto least_with = [&](unsigned row_warp) {
      const unsigned i = row_warp * 32 + lane;
      const bool is_nearer = memory.nearer[row_warp * Trials + best] >> lane & 1;
      return is_nearer ? measure.distance(rows, i, parity, best) : least[i];
    };
    const unsigned words = measure.words(of.columns);
    unsigned long long* const said_rows = of.said_rows + std::size_t{step} * of.trials * words;
    if (warp < of.trials) {  // a warp for each draw
      const double target = uniform * total;
      // The last block that has any mass and begins at most at the target, or the first one that has any.
      int reached = -1, first = -1;
      double reached_at = 0, first_at = 0;
#pragma unroll
      for (unsigned b = 0; b < blocks_of_lane; ++b) {
        const unsigned block = lane * blocks_of_lane + b, i = best * most_spread_blocks + block;
        const double at = memory.block_before[i];
        if (!(memory.block_masses[i] > 0)) continue;
        if (first < 0) {
          first = static_cast<int>(block);
          first_at = at;
        }
        if (at <= target) {
          reached = static_cast<int>(block);
          reached_at = at;
        }
      }
      const unsigned any = __ballot_sync(~0u, first >= 0), before = __ballot_sync(~0u, reached >= 0);
      const int of_lane = before != 0 ? 31 - __clz(static_cast<int>(before)) : max(0, __ffs(static_cast<int>(any)) - 1);
      const double begins = __shfl_sync(~0u, before != 0 ? reached_at : first_at, of_lane);
      const int block = __shfl_sync(~0u, before != 0 ? reached : first, of_lane);
      if (block == static_cast<int>(blockIdx.x)) {
        const bool some = lane < warps;
        double through = 0;
        const int part = draw_lane(some ? memory.part_masses[best * pitch + lane] : 0.0,
                                   some ? memory.part_before[best * pitch + lane] : 0.0, begins, target, through);
        int found = -1;  // 32 rows
        double found_mass = 0, found_at = through;
        if constexpr (Measure::held) {
          if (part >= 0) {
            found = static_cast<int>(begin_of_part(static_cast<unsigned>(part)));
            const auto row_warp = static_cast<unsigned>(found);
            found_mass = static_cast<double>(least_with(row_warp));
            if (weighted) found_mass *= rows.weight(row_warp * 32 + lane);
          }
        } else {
          constexpr unsigned together = 4;
          const unsigned end = part < 0 ? 0 : begin_of_part(static_cast<unsigned>(part) + 1);
          for (unsigned from = part < 0 ? 0 : begin_of_part(static_cast<unsigned>(part)); from < end;
               from += together) {
            double masses[together];
#pragma unroll
            for (unsigned r = 0; r < together; ++r) {
              const bool there = from + r < end;
              masses[r] = there ? static_cast<double>(least_with(from + r)) : 0.0;
              if (there && weighted) masses[r] *= rows.weight((from + r) * 32 + lane);
            }
            const double sums_of_rows = warp_sums<together>([&](unsigned r) { return masses[r]; });
#pragma unroll
            for (unsigned r = 0; r < together; ++r) {
              const double sum = __shfl_sync(~0u, sums_of_rows, r * (32 / together));
              if (sum > 0 && (found < 0 || through <= target)) {
                found = static_cast<int>(from + r);
                found_mass = masses[r];
                found_at = through;
              }
              through += sum;
            }
          }
        }
        int row_lane = -1;
        if (found >= 0) {
          double row_begins = 0;
          row_lane = draw_lane(found_mass, sum_before(sums_up_to(found_mass)), found_at, target, row_begins);
        }
        const unsigned drawn = row_lane < 0 ? 0 : static_cast<unsigned>(found) * 32 + static_cast<unsigned>(row_lane);
        measure.tell(rows, drawn, row_lane < 0 ? nowhere : rows.first + drawn, said_rows + warp * words);
      }
    }
    for (unsigned row_warp = rows.first_own; row_warp < rows.end_own; ++row_warp) {
      const unsigned i = row_warp * 32 + lane;
      memory.least[next * count + i] = least_with(row_warp);
    }
    trials = of.trials;
    measure.hear_rows(rows, said_rows, next, trials, indices[next]);
    __syncthreads();
    if (__any_sync(~0u, lane < trials && indices[next][lane % Trials] == nowhere)) break;
  }
  if (blockIdx.x == blocks - 1) {
    if (threadIdx.x == 0) of.chosen[0] = step + 1;
    __syncthreads();  // the block's own words
    for (std::size_t i = threadIdx.x; i < (step + 1) * of.columns; i += threads) {
      of.points[i] = static_cast<double>(of.rows[of.chosen[1 + i / of.columns] * of.columns + i % of.columns]);
    }
  }
}

// Calls with the kernel, its threads, and the bytes of shared memory that it needs.
template <unsigned Trials, class Scalar, class Work, class Call>
auto with_kernel_of_trials(const few_rows<Scalar, Work>& of, const spread_rows_cut& cut, const Call& call) {
  const auto with = [&]<class Measure>(std::type_identity<Measure>) {
    array_places places = array_places::anywhere();
    spread_memory<Trials, Work>(places, cut);
    Measure(places, cut);
    return call(choose_among_blocks_kernel<Trials, Measure, Scalar, Work>, Measure::threads, places.bytes());
  };
  const auto with_held = [&](auto held) {
    constexpr bool Held = decltype(held)::value;
    const auto by_columns = [&](auto columns) {
      return with(std::type_identity<row_measure<Trials, decltype(columns)::value, Held, Scalar, Work>>());
    };
    if (of.columns <= 2) return by_columns(std::integral_constant<unsigned, 2>());
    if (of.columns <= 4) return by_columns(std::integral_constant<unsigned, 4>());
    if (of.columns <= 8) return by_columns(std::integral_constant<unsigned, 8>());
    return by_columns(std::integral_constant<unsigned, 16>());
  };
  return cut.held ? with_held(std::true_type()) : with_held(std::false_type());
}
template <class Scalar, class Work, class Call>
auto with_spread_kernel(const few_rows<Scalar, Work>& of, const spread_rows_cut& cut, const Call& call) {
  if (of.trials <= most_spread_trials / 4) return with_kernel_of_trials<most_spread_trials / 4>(of, cut, call);
  if (of.trials <= most_spread_trials / 2) return with_kernel_of_trials<most_spread_trials / 2>(of, cut, call);
  return with_kernel_of_trials<most_spread_trials>(of, cut, call);
}

template <class Scalar, class Work>
spread_rows_cut cut_among_blocks(const few_rows<Scalar, Work>& rows, std::size_t multiprocessors,
                                 std::size_t most_shared_bytes) {
  if (rows.trials > most_spread_trials || rows.columns > most_spread_columns) return {};
  spread_rows_cut cut;
  const std::size_t most = std::min<std::size_t>(multiprocessors, most_spread_blocks);
  const std::size_t row_warps = (rows.count + 31) / 32;
  cut.row_warps = static_cast<unsigned>((row_warps + most - 1) / most);
  cut.blocks = static_cast<unsigned>((row_warps + cut.row_warps - 1) / cut.row_warps);
  for (const bool held : {true, false}) {
    cut.held = held;
    const bool can = with_spread_kernel(rows, cut, [&](auto* kernel, unsigned threads, std::size_t bytes) {
      if (held && cut.row_warps > threads / 32) return false;
      if (bytes > most_shared_bytes) return false;
      cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                  "give a kernel shared memory");
      int found = 0;
      cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found, kernel, static_cast<int>(threads), bytes),
                  "ask how many blocks it runs at once");
      return found > 0;
    });
    if (can) return cut;
  }
  return {};
}

template <class Scalar, class Work>
void choose_among_blocks(const few_rows<Scalar, Work>& rows, const spread_rows_cut& cut, cudaStream_t stream) {
  with_spread_kernel(rows, cut, [&](auto* kernel, unsigned threads, std::size_t bytes) {
    few_rows<Scalar, Work> of = rows;
    spread_rows_cut how = cut;
    void* arguments[] = {&of, &how};
    // Only a cooperative launch begins all blocks at once, or none.
    cuda::check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), cut.blocks, threads, arguments,
                                            bytes, stream),
                "choose among all blocks");
  });
}

}  // namespace shoal
