// Each block has some units of block_rows rows, a thread for each row of one. Blocks tell each other what they find
// through words of memory that nobody has written before, so that a word is its own sign of being there: no block waits
// for more than it needs, and the host for nothing.
//
// In each step blocks measure the trials, say the sums of their units' masses with each, and hear those of all units:
// by themselves where these are few, else as sums of groups, which some blocks add up and say. From them every block
// concludes the same: which trial is kept, and in which unit the draws for the next step fall. The blocks that have
// those units draw the rows, and say them.
#include <shoal/estimation/cuda/few_rows_kernels.hpp>

#include <cuda_runtime.h>

#include <type_traits>

#include <shoal/estimation/cuda/draw_lanes.cuh>
#include <shoal/estimation/cuda/squared_distance.cuh>
#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {
namespace {

constexpr unsigned threads = block_rows, warps = threads / 32;
constexpr unsigned group_pitch = draw_group + 1;  // of masses in shared memory: a lane reads those of a group
constexpr unsigned most_heard_units = 320;        // that every block hears by themselves
constexpr unsigned long long unsaid = ~0ULL;      // the bits of no sum and of no finite number
constexpr unsigned long long nowhere = ~1ULL;     // in place of a row where none has any mass
static_assert(draw_group == 32 && most_few_trials <= warps && warps <= 32);

__host__ __device__ unsigned groups_of(unsigned units) { return (units + draw_group - 1) / draw_group; }

__device__ void say(unsigned long long* where, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(where), "l"(word) : "memory");
}
__device__ unsigned long long said(const unsigned long long* where) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(where) : "memory");
  return word;
}
__device__ unsigned long long hear(const unsigned long long* where) {
  unsigned long long word;
  do {
    word = said(where);
  } while (word == unsaid);
  return word;
}

// Waits for `count` words, which all threads of the block hear together; take(i, word).
template <class Take>
__device__ void hear_all(const unsigned long long* words, unsigned count, const Take& take) {
  constexpr unsigned together = 4;  // asked for before the first is there
  for (unsigned first = threadIdx.x; first < count; first += together * threads) {
    unsigned long long word[together];
    bool all;
    do {
      all = true;
#pragma unroll
      for (unsigned w = 0; w < together; ++w) {
        const unsigned i = first + w * threads;
        word[w] = i < count ? said(words + i) : 0;
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

// What a block has in its shared memory.
template <unsigned Trials, bool AtHand, class Scalar, class Work>
struct block_memory {
  struct alignas(16) point_column {
    Work values[Trials];
  };

  point_column* all_points;  // [2][columns] the trials of even and of odd steps
  double* drawn_masses;      // [Trials][warps][group_pitch] of the units that were drawn
  double* group_sums;        // [Trials][groups]
  double* groups_before;     // [Trials][groups]
  double* unit_sums;         // [Trials][groups][group_pitch], where units are heard by themselves
  Work* least;               // [units of the block][threads]
  Scalar* rows;              // [units of the block][columns][threads], when they are at hand
  unsigned groups;

  static std::size_t bytes(unsigned units, unsigned own_units, unsigned columns) {
    const std::size_t groups = groups_of(units), sums = units <= most_heard_units ? groups * group_pitch : 0;
    return 2 * columns * sizeof(point_column) + Trials * (warps * group_pitch + 2 * groups + sums) * sizeof(double) +
           own_units * threads * (sizeof(Work) + (AtHand ? columns * sizeof(Scalar) : 0));
  }
  __device__ block_memory(double* shared, unsigned units, unsigned own_units, unsigned columns)
      : groups(groups_of(units)) {
    all_points = reinterpret_cast<point_column*>(shared);
    drawn_masses = reinterpret_cast<double*>(all_points + 2 * columns);
    group_sums = drawn_masses + Trials * warps * group_pitch;
    groups_before = group_sums + Trials * groups;
    unit_sums = groups_before + Trials * groups;
    least = reinterpret_cast<Work*>(unit_sums + (units <= most_heard_units ? Trials * groups * group_pitch : 0));
    rows = reinterpret_cast<Scalar*>(least + own_units * threads);
  }
  __device__ double& unit_sum(unsigned unit, unsigned trial) const {
    return unit_sums[(trial * groups + unit / draw_group) * group_pitch + unit % draw_group];
  }
};

// Calls with each column of a row in order, and its value: neighbours are read together where they can be.
template <bool AtHand, class Scalar, class Visit>
__device__ void for_each_column(const Scalar* row, unsigned columns, const Visit& visit) {
  constexpr unsigned together = neighbours<Scalar>::count;
  if constexpr (AtHand) {
#pragma unroll 4
    for (unsigned j = 0; j < columns; ++j) visit(j, row[j * threads]);
  } else if (columns % together == 0) {
#pragma unroll 2
    for (unsigned from = 0; from < columns; from += together) {
      const neighbours<Scalar> read = *reinterpret_cast<const neighbours<Scalar>*>(row + from);
#pragma unroll
      for (unsigned j = 0; j < together; ++j) visit(from + j, read.values[j]);
    }
  } else {
#pragma unroll 4
    for (unsigned j = 0; j < columns; ++j) visit(j, row[j]);
  }
}

template <unsigned Trials, class Work>
constexpr int resident_blocks = sizeof(Work) == 4 && Trials <= 8 ? 2 : 1;

template <unsigned Trials, bool AtHand, class Scalar, class Work>
__global__ void __launch_bounds__(threads, (resident_blocks<Trials, Work>))
    choose_kernel(few_rows<Scalar, Work> of, unsigned own_units) {
  extern __shared__ double shared[];
  __shared__ double warp_masses[2][Trials][warps], totals[Trials];
  __shared__ unsigned long long indices[2][Trials];  // of even and of odd steps
  const block_memory<Trials, AtHand, Scalar, Work> memory(shared, of.units, own_units, of.columns);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned first_unit = blockIdx.x * own_units, end_unit = min(of.units, first_unit + own_units);
  const bool heard_by_themselves = of.units <= most_heard_units;
  const auto weight_of = [&](std::size_t row) {
    if (row >= of.count) return 0.0;
    if (of.wide_weights != nullptr) return of.wide_weights[row];
    return of.weights == nullptr ? 1.0 : static_cast<double>(of.weights[row]);
  };
  // Rows beyond the last are as the last, without weight.
  const auto row_of = [&](unsigned unit, unsigned i) -> const Scalar* {
    if constexpr (AtHand) return memory.rows + (unit - first_unit) * of.columns * threads + i;
    return of.rows + min(std::size_t{unit} * threads + i, of.count - 1) * of.columns;
  };
  for (unsigned unit = first_unit; unit < end_unit; ++unit) {
    memory.least[(unit - first_unit) * threads + threadIdx.x] = static_cast<Work>(__builtin_huge_val());
    if constexpr (AtHand) {
      const std::size_t row = min(std::size_t{unit} * threads + threadIdx.x, of.count - 1);
      for (unsigned j = 0; j < of.columns; ++j) {
        memory.rows[((unit - first_unit) * of.columns + j) * threads + threadIdx.x] = of.rows[row * of.columns + j];
      }
    }
  }
  if (heard_by_themselves) {
    for (unsigned i = threadIdx.x; i < Trials * memory.groups * group_pitch; i += threads) memory.unit_sums[i] = 0;
  }
  for (unsigned i = threadIdx.x; i < of.columns * Trials; i += threads) {
    const unsigned j = i / Trials;
    memory.all_points[j].values[i % Trials] =
        i % Trials == 0 ? static_cast<Work>(of.rows[of.first * of.columns + j]) : Work{0};
    memory.all_points[of.columns + j].values[i % Trials] = 0;
  }
  if (threadIdx.x == 0) indices[0][0] = of.first;
  __syncthreads();

  unsigned step = 0, trials = 1, best = 0;  // best: of the trials of the step before
  for (;; ++step) {
    const auto* const points = memory.all_points + step % 2 * of.columns;
    const auto* const points_before = memory.all_points + (step + 1) % 2 * of.columns;
    double uniform = 0;
    if (warp < of.trials && step + 1 < of.clusters) uniform = of.uniforms[std::size_t{step} * of.trials + warp];
    unsigned long long* const sums = of.said_sums + std::size_t{step} * of.units * of.trials;
    for (unsigned unit = first_unit; unit < end_unit; ++unit) {
      Work distances[Trials] = {}, to_winner = 0;
      for_each_column<AtHand>(row_of(unit, threadIdx.x), of.columns, [&](unsigned j, Scalar value) {
        const Work own = static_cast<Work>(value);
        const auto at = points[j];
#pragma unroll
        for (unsigned t = 0; t < Trials; ++t) {
          const Work difference = own - at.values[t];
          distances[t] = fma(difference, difference, distances[t]);
        }
        const Work difference = own - points_before[j].values[best];
        to_winner = fma(difference, difference, to_winner);
      });
      Work& kept = memory.least[(unit - first_unit) * threads + threadIdx.x];
      Work least = kept;
      if (step > 0 && to_winner < least) kept = least = to_winner;
      const double weight = weight_of(std::size_t{unit} * threads + threadIdx.x);
      const double of_warp = warp_sums<Trials>([&](unsigned t) {
        return weight > 0 ? weight * static_cast<double>(distances[t] < least ? distances[t] : least) : 0.0;
      });
      auto& masses = warp_masses[unit % 2];
      if (lane % (32 / Trials) == 0) masses[lane / (32 / Trials)][warp] = of_warp;
      __syncthreads();
      if (threadIdx.x < trials) {
        double sum = 0;
#pragma unroll
        for (unsigned w = 0; w < warps; ++w) sum += masses[threadIdx.x][w];
        say(sums + unit * trials + threadIdx.x, bits_of(sum));
      }
    }

    if (heard_by_themselves) {
      hear_all(sums, of.units * trials, [&](unsigned i, unsigned long long word) {
        memory.unit_sum(i / trials, i % trials) = from_bits<double>(word);
      });
      __syncthreads();
      if (warp < trials && lane < memory.groups) {  // a warp for each trial, a lane for each group
        double of_group = 0;
#pragma unroll
        for (unsigned u = 0; u < draw_group; ++u) of_group += memory.unit_sum(lane * draw_group + u, warp);
        memory.group_sums[warp * memory.groups + lane] = of_group;
      }
      __syncwarp();
    } else {
      unsigned long long* const group_sums = of.said_groups + std::size_t{step} * memory.groups * of.trials;
      for (unsigned group = blockIdx.x; group < memory.groups; group += gridDim.x) {
        if (warp >= trials) break;
        const unsigned unit = group * draw_group + lane;
        const double mass = unit < of.units ? from_bits<double>(hear(sums + unit * trials + warp)) : 0.0;
        const double sum = lane_sums(mass, 0).all;
        if (lane == 0) say(group_sums + group * trials + warp, bits_of(sum));
      }
      hear_all(group_sums, memory.groups * trials, [&](unsigned i, unsigned long long word) {
        memory.group_sums[i % trials * memory.groups + i / trials] = from_bits<double>(word);
      });
      __syncthreads();
    }
    if (warp < trials) {
      double total = 0;
      for (unsigned first = 0; first < memory.groups; first += 32) {
        const unsigned group = first + lane;
        const bool within = group < memory.groups;
        const double of_group = within ? memory.group_sums[warp * memory.groups + group] : 0.0;
        const lane_sums of_groups(of_group, total, memory.groups - first);
        if (within) memory.groups_before[warp * memory.groups + group] = of_groups.before;
        total = of_groups.all;
      }
      if (lane == 0) totals[warp] = total;
    }
    __syncthreads();
    double all[Trials], least_total = __builtin_huge_val();
#pragma unroll
    for (unsigned t = 0; t < Trials; ++t) all[t] = totals[t];
    best = 0;
#pragma unroll
    for (unsigned t = 0; t < Trials; ++t) {
      if (t < trials && all[t] < least_total * share_of_better) {
        least_total = all[t];
        best = t;
      }
    }
    const double total = totals[best];
    const bool there = total > 0 && total * 0 == 0;
    if (blockIdx.x == gridDim.x - 1) {
      if (threadIdx.x == 0) of.chosen[1 + step] = indices[step % 2][best];
      for (unsigned j = threadIdx.x; j < of.columns; j += threads) {
        of.points[std::size_t{step} * of.columns + j] = static_cast<double>(points[j].values[best]);
      }
    }
    if (!there || step + 1 == of.clusters) break;

    unsigned long long* const drawn_rows = of.said_rows + std::size_t{step} * of.trials * (1 + of.columns);
    if (warp < of.trials) {  // a warp for each draw
      const double target = uniform * total;
      double group_before = 0, unit_before = 0, warp_before = 0, row_before = 0;
      int group = -1, first_group = -1;
      for (unsigned first = 0; first < memory.groups; first += 32) {
        const unsigned one = best * memory.groups + first + lane;
        const bool within = first + lane < memory.groups;
        const bool positive = within && memory.group_sums[one] > 0;
        const unsigned any = __ballot_sync(~0u, positive);
        const unsigned reached = __ballot_sync(~0u, positive && memory.groups_before[one] <= target);
        if (first_group < 0 && any != 0) first_group = static_cast<int>(first) + __ffs(static_cast<int>(any)) - 1;
        if (reached != 0) group = static_cast<int>(first) + 31 - __clz(static_cast<int>(reached));
      }
      if (group < 0) group = first_group;
      group_before = memory.groups_before[best * memory.groups + static_cast<unsigned>(group)];
      const unsigned first = static_cast<unsigned>(group) * draw_group;
      double mass = 0;
      if (first + lane < of.units) {
        mass = heard_by_themselves ? memory.unit_sum(first + lane, best)
                                   : from_bits<double>(hear(sums + (first + lane) * trials + best));
      }
      const unsigned unit =
          first + static_cast<unsigned>(draw_lane(mass, lane_sums(mass, 0).before, group_before, target, unit_before));
      if (first_unit <= unit && unit < end_unit) {
        double* const masses = memory.drawn_masses + warp * warps * group_pitch;
        for (unsigned w = 0; w < warps; ++w) {
          Work to_winner = 0;
          for_each_column<AtHand>(row_of(unit, w * 32 + lane), of.columns, [&](unsigned j, Scalar value) {
            const Work difference = static_cast<Work>(value) - points[j].values[best];
            to_winner = fma(difference, difference, to_winner);
          });
          const Work least = memory.least[(unit - first_unit) * threads + w * 32 + lane];
          const double weight = weight_of(std::size_t{unit} * threads + w * 32 + lane);
          masses[w * group_pitch + lane] =
              weight > 0 ? weight * static_cast<double>(to_winner < least ? to_winner : least) : 0.0;
        }
        __syncwarp();
        double of_warp = 0;
        if (lane < warps) {
#pragma unroll 8
          for (unsigned i = 0; i < 32; ++i) of_warp += masses[lane * group_pitch + i];
        }
        const int drawn = draw_lane(of_warp, lane_sums(of_warp, unit_before, warps).before, 0, target, warp_before);
        const double own = drawn < 0 ? 0.0 : masses[static_cast<unsigned>(drawn) * group_pitch + lane];
        const int of_lane = draw_lane(own, lane_sums(own, 0).before, warp_before, target, row_before);
        const unsigned found = of_lane < 0 ? 0 : static_cast<unsigned>(drawn * 32 + of_lane);
        unsigned long long* const to = drawn_rows + warp * (1 + of.columns);
        if (lane == 0) say(to, of_lane < 0 ? nowhere : std::size_t{unit} * threads + found);
        const Scalar* const row = row_of(unit, found);
        for (unsigned j = lane; j < of.columns; j += 32) {
          say(to + 1 + j, bits_of(static_cast<Work>(row[AtHand ? j * threads : j])));
        }
      }
    }
    trials = of.trials;
    auto* const next = memory.all_points + (step + 1) % 2 * of.columns;
    hear_all(drawn_rows, trials * (1 + of.columns), [&](unsigned i, unsigned long long word) {
      const unsigned t = i / (1 + of.columns), j = i % (1 + of.columns);
      if (j == 0) {
        indices[(step + 1) % 2][t] = word;
      } else {
        next[j - 1].values[t] = from_bits<Work>(word);
      }
    });
    __syncthreads();
    bool none = false;
    for (unsigned t = 0; t < trials; ++t) none = none || indices[(step + 1) % 2][t] == nowhere;
    if (none) break;
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) of.chosen[0] = step + 1;
}

// Calls with the kernel for so many trials, and what tells the bytes of shared memory that it needs.
template <bool AtHand, class Scalar, class Work, class Call>
auto with_kernel(const few_rows<Scalar, Work>& of, const Call& call) {
  const auto at_most = [&](auto trials) {
    constexpr unsigned Trials = decltype(trials)::value;
    return call(choose_kernel<Trials, AtHand, Scalar, Work>, [&](unsigned own_units) {
      return block_memory<Trials, AtHand, Scalar, Work>::bytes(of.units, own_units, of.columns);
    });
  };
  if (of.trials <= 4) return at_most(std::integral_constant<unsigned, 4>());
  if (of.trials <= 8) return at_most(std::integral_constant<unsigned, 8>());
  return at_most(std::integral_constant<unsigned, 16>());
}

void let_have_shared(auto* kernel, std::size_t bytes) {
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "give a kernel shared memory");
}

// As many blocks as a multiprocessor runs at once, at most two: the fewer units has each.
template <bool AtHand, class Scalar, class Work>
few_rows_cut cut_with(const few_rows<Scalar, Work>& rows, std::size_t multiprocessors, std::size_t most_shared_bytes) {
  return with_kernel<AtHand>(rows, [&](auto* kernel, const auto& bytes_of) {
    for (std::size_t resident = 2; resident > 0; --resident) {
      const auto most = static_cast<unsigned>(resident * multiprocessors);
      few_rows_cut cut;
      cut.units = (rows.units + most - 1) / most;
      cut.blocks = (rows.units + cut.units - 1) / cut.units;
      cut.rows_at_hand = AtHand;
      const std::size_t bytes = bytes_of(cut.units);
      if (bytes > most_shared_bytes) continue;
      let_have_shared(kernel, bytes);
      int found = 0;
      cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found, kernel, threads, bytes),
                  "ask how many blocks it runs at once");
      if (cut.blocks <= static_cast<std::size_t>(found) * multiprocessors) return cut;
    }
    return few_rows_cut{};
  });
}

}  // namespace

template <class Scalar, class Work>
few_rows_cut cut_at_once(const few_rows<Scalar, Work>& rows, std::size_t multiprocessors,
                         std::size_t most_shared_bytes) {
  const few_rows_cut at_hand = cut_with<true>(rows, multiprocessors, most_shared_bytes);
  return at_hand.blocks > 0 ? at_hand : cut_with<false>(rows, multiprocessors, most_shared_bytes);
}

template <class Scalar, class Work>
void choose_at_once(const few_rows<Scalar, Work>& rows, const few_rows_cut& cut, cudaStream_t stream) {
  const auto launch = [&](auto* kernel, const auto& bytes_of) {
    const std::size_t bytes = bytes_of(cut.units);
    let_have_shared(kernel, bytes);
    few_rows<Scalar, Work> of = rows;
    unsigned own_units = cut.units;
    void* arguments[] = {&of, &own_units};
    // Only a cooperative launch begins all blocks at once, or none.
    cuda::check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), cut.blocks, threads, arguments,
                                            bytes, stream),
                "choose among few rows");
  };
  cut.rows_at_hand ? with_kernel<true>(rows, launch) : with_kernel<false>(rows, launch);
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                                       \
  template few_rows_cut cut_at_once(const few_rows<Scalar, Work>&, std::size_t, std::size_t); \
  template void choose_at_once(const few_rows<Scalar, Work>&, const few_rows_cut&, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
