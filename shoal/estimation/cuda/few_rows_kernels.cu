// A block for each block_rows rows, which it keeps in its shared memory, a thread for each. They tell each other what
// they find through words of memory that nobody has written before, so that a word is its own sign of being there: no
// block waits for more than it needs, and the host for nothing.
//
// In each step a block measures the trials, says the sums of its masses with each, and hears those of all others. From
// these every block concludes the same: which trial is kept, and in which block the draws for the next step fall. Those
// blocks draw the row, and say it.
#include <shoal/estimation/cuda/few_rows_kernels.hpp>

#include <cuda_runtime.h>

#include <type_traits>

#include <shoal/estimation/cuda/draw_lanes.cuh>
#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {
namespace {

constexpr unsigned threads = block_rows, warps = threads / 32;
constexpr unsigned group_pitch = draw_group + 1;  // of sums in shared memory: a lane reads a group
constexpr unsigned long long unsaid = ~0ULL;      // the bits of no sum and of no finite number
constexpr unsigned long long nowhere = ~1ULL;     // in place of a row where none has any mass
static_assert(draw_group == 32 && most_few_units == 32 * draw_group && most_few_trials <= warps && warps <= 32);

__device__ void say(unsigned long long* where, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(where), "l"(word) : "memory");
}
__device__ unsigned long long heard(const unsigned long long* where) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(where) : "memory");
  return word;
}

// Waits for `count` words, which all threads of the block hear together; take(i, word).
template <class Take>
__device__ void hear(const unsigned long long* words, unsigned count, const Take& take) {
  constexpr unsigned together = 4;  // asked for before the first is there
  for (unsigned first = threadIdx.x; first < count; first += together * threads) {
    unsigned long long word[together];
    bool all;
    do {
      all = true;
#pragma unroll
      for (unsigned w = 0; w < together; ++w) {
        const unsigned i = first + w * threads;
        word[w] = i < count ? heard(words + i) : 0;
      }
#pragma unroll
      for (unsigned w = 0; w < together; ++w) all = all && word[w] != unsaid;
    } while (!all);
#pragma unroll
    for (unsigned w = 0; w < together; ++w) {
      const unsigned i = first + w * threads;
      if (i < count) take(i, word[w]);
    }
  }
}

__device__ unsigned long long bits_of(float value) { return __float_as_uint(value); }
__device__ unsigned long long bits_of(double value) {
  return static_cast<unsigned long long>(__double_as_longlong(value));
}
template <class Work>
__device__ Work from_bits(unsigned long long bits) {
  if constexpr (sizeof(Work) == 4) {
    return __uint_as_float(static_cast<unsigned>(bits));
  } else {
    return __longlong_as_double(static_cast<long long>(bits));
  }
}

// warp_sum() of value(0), …, value(Count − 1), each of which ends in 32 / Count lanes: that of value lane / (32 /
// Count). Half of what a lane has goes to another one as long as it has more than one.
template <unsigned Count, class Value>
__device__ double warp_sums(const Value& value) {
  constexpr unsigned half = Count / 2;
  const unsigned lane = threadIdx.x % 32;
  double own[half];
#pragma unroll
  for (unsigned i = 0; i < half; ++i) {
    const double low = value(i), high = value(i + half);
    const bool upper = (lane & 16) != 0;
    own[i] = (upper ? high : low) + __shfl_xor_sync(~0u, upper ? low : high, 16);
  }
  unsigned step = 8;
#pragma unroll
  for (unsigned left = half; left > 1; left /= 2) {
    const bool upper = (lane & step) != 0;
#pragma unroll
    for (unsigned i = 0; i < left / 2; ++i) {
      const double low = own[i], high = own[i + left / 2];
      own[i] = (upper ? high : low) + __shfl_xor_sync(~0u, upper ? low : high, step);
    }
    step /= 2;
  }
  for (; step > 0; step /= 2) own[0] += __shfl_xor_sync(~0u, own[0], step);
  return own[0];
}

// What a block has in its shared memory beside arrays of constant size.
template <unsigned Trials, class Scalar, class Work>
struct block_memory {
  struct alignas(16) point_column {
    Work values[Trials];
  };

  double* unit_sums;     // [Trials][groups][group_pitch]
  point_column* points;  // [columns] of all trials
  Scalar* rows;          // [columns][threads]
  unsigned trial_pitch;

  static __host__ __device__ std::size_t sums(unsigned units) {
    return std::size_t{(units + draw_group - 1) / draw_group} * group_pitch;
  }
  static std::size_t bytes(unsigned units, unsigned columns) {
    return Trials * sums(units) * sizeof(double) + columns * (sizeof(point_column) + threads * sizeof(Scalar));
  }
  __device__ block_memory(double* shared, unsigned units, unsigned columns) {
    trial_pitch = static_cast<unsigned>(sums(units));
    points = reinterpret_cast<point_column*>(shared);
    rows = reinterpret_cast<Scalar*>(points + columns);
    unit_sums = reinterpret_cast<double*>(rows + columns * threads);
  }
  __device__ double& unit_sum(unsigned unit, unsigned trial) const {
    return unit_sums[trial * trial_pitch + unit / draw_group * group_pitch + unit % draw_group];
  }
};

template <class Scalar, class Work>
constexpr int resident_blocks(unsigned trials) {
  return sizeof(Work) == 4 && trials <= 8 ? 2 : 1;
}

template <unsigned Trials, class Scalar, class Work>
__global__ void __launch_bounds__(threads, resident_blocks<Scalar, Work>(Trials))
    choose_kernel(few_rows<Scalar, Work> of) {
  extern __shared__ double shared[];
  __shared__ double warp_masses[Trials][warps], totals[Trials], group_sums[Trials][draw_group],
      groups_before[Trials][draw_group], row_sums[warps], unit_before[Trials], target[Trials];
  __shared__ unsigned long long indices[Trials];
  __shared__ int unit_drawn[Trials];
  const block_memory<Trials, Scalar, Work> memory(shared, of.units, of.columns);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t row = std::size_t{blockIdx.x} * threads + threadIdx.x;
  const bool inside = row < of.count;
  const unsigned groups = (of.units + draw_group - 1) / draw_group;
  double weight = 0;
  if (inside) weight = of.weights == nullptr ? 1.0 : static_cast<double>(of.weights[row]);
  for (unsigned j = 0; j < of.columns; ++j) {
    memory.rows[j * threads + threadIdx.x] = inside ? of.rows[row * of.columns + j] : Scalar{0};
  }
  for (unsigned i = threadIdx.x; i < Trials * memory.trial_pitch; i += threads) memory.unit_sums[i] = 0;
  for (unsigned i = threadIdx.x; i < of.columns * Trials; i += threads) {
    const std::size_t j = i / Trials;
    memory.points[j].values[i % Trials] =
        i % Trials == 0 ? static_cast<Work>(of.rows[of.first * of.columns + j]) : Work{0};
  }
  if (threadIdx.x == 0) indices[0] = of.first;

  Work least = static_cast<Work>(__builtin_huge_val());
  unsigned step = 0, trials = 1;
  bool there = true;
  for (;; ++step) {
    double uniform = 0;
    if (warp < of.trials && step + 1 < of.clusters) uniform = of.uniforms[std::size_t{step} * of.trials + warp];
    __syncthreads();  // the points are there
    Work distances[Trials] = {};
    for (unsigned j = 0; j < of.columns; ++j) {
      const Work own = static_cast<Work>(memory.rows[j * threads + threadIdx.x]);
      const auto at = memory.points[j];
#pragma unroll
      for (unsigned t = 0; t < Trials; ++t) {
        const Work difference = own - at.values[t];
        distances[t] = fma(difference, difference, distances[t]);
      }
    }
    const auto mass_with = [&](Work distance) {
      return weight > 0 ? weight * static_cast<double>(distance < least ? distance : least) : 0.0;
    };
    const double of_warp = warp_sums<Trials>([&](unsigned t) { return mass_with(distances[t]); });
    if (lane % (32 / Trials) == 0) warp_masses[lane / (32 / Trials)][warp] = of_warp;
    __syncthreads();
    unsigned long long* const sums = of.said_sums + std::size_t{step} * of.units * of.trials;
    if (threadIdx.x < trials) {
      double sum = 0;
      for (unsigned w = 0; w < warps; ++w) sum += warp_masses[threadIdx.x][w];
      say(sums + blockIdx.x * trials + threadIdx.x, bits_of(sum));
    }
    hear(sums, of.units * trials, [&](unsigned i, unsigned long long word) {
      memory.unit_sum(i / trials, i % trials) = from_bits<double>(word);
    });
    __syncthreads();
    if (warp < trials) {  // a warp for each trial, a lane for each group
      double of_group = 0;
      if (lane * draw_group < of.units) {
#pragma unroll
        for (unsigned u = 0; u < draw_group; ++u) of_group += memory.unit_sum(lane * draw_group + u, warp);
      }
      const lane_sums of_groups(of_group, 0, groups);
      group_sums[warp][lane] = of_group;
      groups_before[warp][lane] = of_groups.before;
      if (lane == 0) totals[warp] = of_groups.all;
    }
    __syncthreads();
    unsigned best = 0;
    double least_total = __builtin_huge_val();
    for (unsigned t = 0; t < trials; ++t) {
      if (totals[t] < least_total * share_of_better) {
        least_total = totals[t];
        best = t;
      }
    }
    const double total = totals[best];
    there = total > 0 && total * 0 == 0;
#pragma unroll
    for (unsigned t = 0; t < Trials; ++t) {
      if (t == best && distances[t] < least) least = distances[t];
    }
    if (blockIdx.x == 0) {
      if (threadIdx.x == 0) of.chosen[1 + step] = indices[best];
      for (unsigned j = threadIdx.x; j < of.columns; j += threads) {
        of.points[std::size_t{step} * of.columns + j] = static_cast<double>(memory.points[j].values[best]);
      }
    }
    if (!there || step + 1 == of.clusters) break;

    if (warp < of.trials) {  // a warp for each draw
      const double sought = uniform * total;
      double group_before = 0, before = 0;
      const int group = draw_lane(group_sums[best][lane], groups_before[best][lane], 0, sought, group_before);
      const unsigned first = static_cast<unsigned>(group) * draw_group;
      const double mass = first + lane < of.units ? memory.unit_sum(first + lane, best) : 0.0;
      const int found = draw_lane(mass, lane_sums(mass, 0).before, group_before, sought, before);
      if (lane == 0) {
        unit_drawn[warp] = static_cast<int>(first) + found;
        unit_before[warp] = before;
        target[warp] = sought;
      }
    }
    __syncthreads();
    bool mine = false;
    for (unsigned t = 0; t < of.trials; ++t) mine = mine || unit_drawn[t] == static_cast<int>(blockIdx.x);
    unsigned long long* const drawn_rows = of.said_rows + std::size_t{step} * of.trials * (1 + of.columns);
    if (mine) {
      const double mass = weight > 0 ? weight * static_cast<double>(least) : 0.0;
      const lane_sums of_rows(mass, 0);
      if (lane == 0) row_sums[warp] = of_rows.all;
      __syncthreads();
      for (unsigned t = 0; t < of.trials; ++t) {
        if (unit_drawn[t] != static_cast<int>(blockIdx.x)) continue;
        double warp_before = 0, row_before = 0;
        const double masses = lane < warps ? row_sums[lane] : 0.0;
        const int drawn = draw_lane(masses, lane_sums(masses, unit_before[t], warps).before, 0, target[t], warp_before);
        if (static_cast<int>(warp) != (drawn < 0 ? 0 : drawn)) continue;
        // A warp that draws says the row, or that there is none.
        const int of_lane = drawn < 0 ? -1 : draw_lane(mass, of_rows.before, warp_before, target[t], row_before);
        const unsigned found = warp * 32 + static_cast<unsigned>(of_lane < 0 ? 0 : of_lane);
        unsigned long long* const to = drawn_rows + t * (1 + of.columns);
        if (lane == 0) say(to, of_lane < 0 ? nowhere : std::size_t{blockIdx.x} * threads + found);
        for (unsigned j = lane; j < of.columns; j += 32) {
          say(to + 1 + j, bits_of(static_cast<Work>(memory.rows[j * threads + found])));
        }
      }
    }
    trials = of.trials;
    hear(drawn_rows, trials * (1 + of.columns), [&](unsigned i, unsigned long long word) {
      const unsigned t = i / (1 + of.columns), j = i % (1 + of.columns);
      if (j == 0) {
        indices[t] = word;
      } else {
        memory.points[j - 1].values[t] = from_bits<Work>(word);
      }
    });
    __syncthreads();
    bool none = false;
    for (unsigned t = 0; t < trials; ++t) none = none || indices[t] == nowhere;
    if (none) break;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) of.chosen[0] = step + 1;
}

void let_have_shared(auto* kernel, std::size_t bytes) {
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "give a kernel shared memory");
}

// Calls with the kernel for so many trials, and the bytes of shared memory that it needs.
template <class Scalar, class Work, class Call>
auto with_kernel(const few_rows<Scalar, Work>& of, const Call& call) {
  const auto at_most = [&](auto trials) {
    constexpr unsigned Trials = decltype(trials)::value;
    return call(choose_kernel<Trials, Scalar, Work>, block_memory<Trials, Scalar, Work>::bytes(of.units, of.columns));
  };
  if (of.trials <= 4) return at_most(std::integral_constant<unsigned, 4>());
  if (of.trials <= 8) return at_most(std::integral_constant<unsigned, 8>());
  return at_most(std::integral_constant<unsigned, 16>());
}

}  // namespace

template <class Scalar, class Work>
bool fit_at_once(const few_rows<Scalar, Work>& rows, std::size_t multiprocessors, std::size_t most_shared_bytes) {
  return with_kernel(rows, [&](auto* kernel, std::size_t bytes) {
    if (bytes > most_shared_bytes) return false;
    let_have_shared(kernel, bytes);
    int resident = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes),
                "ask how many blocks it runs at once");
    return rows.units <= static_cast<std::size_t>(resident) * multiprocessors;
  });
}

template <class Scalar, class Work>
void choose_at_once(const few_rows<Scalar, Work>& rows, cudaStream_t stream) {
  with_kernel(rows, [&](auto* kernel, std::size_t bytes) {
    let_have_shared(kernel, bytes);
    few_rows<Scalar, Work> of = rows;
    void* arguments[] = {&of};
    // Only a cooperative launch begins all blocks at once, or none.
    cuda::check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), rows.units, threads, arguments,
                                            bytes, stream),
                "choose among few rows");
  });
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                               \
  template bool fit_at_once(const few_rows<Scalar, Work>&, std::size_t, std::size_t); \
  template void choose_at_once(const few_rows<Scalar, Work>&, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
