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
#include <shoal/estimation/cuda/said_words.cuh>
#include <shoal/estimation/cuda/squared_distance.cuh>
#include <shoal/estimation/cuda/warp_sums.cuh>
#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {
namespace {

constexpr unsigned threads = block_rows, warps = threads / 32;
constexpr unsigned group_pitch = draw_group + 2;  // of masses in shared memory: a lane reads two of a group at once
constexpr unsigned most_heard_units = 320;        // that every block hears by themselves
// Of rows of more columns, where a block has several units, bytes say sooner which points need not be measured.
constexpr unsigned most_columns_of_several = 16;
static_assert(draw_group == 32 && most_few_trials <= warps && warps <= 32);

__host__ __device__ unsigned groups_of(unsigned units) { return (units + draw_group - 1) / draw_group; }

// The sum, in order, of `Count` masses in shared memory, and of those before the lane's own; from `start` on. Eight are
// read before the first is added.
struct placed_sums {
  double before, all;
};
template <unsigned Count>
__device__ placed_sums sums_in_order(const double* masses, double start) {
  placed_sums sums{start, start};
#pragma unroll
  for (unsigned first = 0; first < Count; first += 8) {
    double2 two[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) two[i] = reinterpret_cast<const double2*>(masses + first)[i];
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) {
      if (first + i == threadIdx.x % 32) sums.before = sums.all;
      sums.all += i % 2 == 0 ? two[i / 2].x : two[i / 2].y;
    }
  }
  return sums;
}

// The same by one lane alone, which writes down those before each.
template <unsigned Count>
__device__ double sum_and_write(const double* masses, double* before) {
  double sum = 0;
#pragma unroll
  for (unsigned first = 0; first < Count; first += 8) {
    double2 two[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) two[i] = reinterpret_cast<const double2*>(masses + first)[i];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const double next = sum + two[i].x;
      reinterpret_cast<double2*>(before + first)[i] = {sum, next};
      sum = next + two[i].y;
    }
  }
  return sum;
}

// What a block has in its shared memory.
template <unsigned Trials, hold Hold, class Scalar, class Work>
struct block_memory {
  struct alignas(16) point_column {
    Work values[Trials];
  };

  point_column* all_points;  // [2][columns] the trials of even and of odd steps
  double* masses;            // [warps][group_pitch] of a unit that rows are drawn from
  double* rows_before;       // [warps][group_pitch] those before each row of a warp
  double* group_sums;        // [trials][group_stride]
  double* groups_before;     // [trials][group_stride]
  double* unit_sums;         // [trials][groups][group_pitch], where units are heard by themselves
  double* units_before;      // [trials][groups][group_pitch] those before each unit of a group
  Work* least;               // [units of the block][threads]
  Scalar* rows;              // [units of the block][columns][threads], unless they are in memory
  unsigned groups, group_stride;

  static __host__ __device__ unsigned stride_of(unsigned groups) { return (groups + 7) / 8 * 8; }
  static std::size_t bytes(unsigned units, unsigned own_units, unsigned columns, unsigned trials) {
    const std::size_t groups = groups_of(units), sums = units <= most_heard_units ? groups * group_pitch : 0;
    return 2 * columns * sizeof(point_column) +
           (warps * group_pitch + trials * (stride_of(groups_of(units)) + sums)) * 2 * sizeof(double) +
           own_units * threads * (sizeof(Work) + (Hold != hold::in_memory ? columns * sizeof(Scalar) : 0));
  }
  __device__ block_memory(double* shared, unsigned units, unsigned own_units, unsigned columns, unsigned trials)
      : groups(groups_of(units)), group_stride(stride_of(groups)) {
    all_points = reinterpret_cast<point_column*>(shared);
    masses = reinterpret_cast<double*>(all_points + 2 * columns);
    rows_before = masses + warps * group_pitch;
    group_sums = rows_before + warps * group_pitch;
    groups_before = group_sums + trials * group_stride;
    unit_sums = groups_before + trials * group_stride;
    const unsigned sums = units <= most_heard_units ? trials * groups * group_pitch : 0;
    units_before = unit_sums + sums;
    least = reinterpret_cast<Work*>(units_before + sums);
    rows = reinterpret_cast<Scalar*>(least + own_units * threads);
  }
  __device__ unsigned group_units(unsigned trial, unsigned group) const {
    return (trial * groups + group) * group_pitch;
  }
};

// Calls with each column of a row in order, and its value: neighbours are read together where they can be.
template <hold Hold, class Scalar, class Visit>
__device__ void for_each_column(const Scalar* row, unsigned columns, const Visit& visit) {
  constexpr unsigned together = neighbours<Scalar>::count;
  if constexpr (Hold != hold::in_memory) {
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

template <unsigned Trials, hold Hold, class Scalar, class Work>
__global__ void __launch_bounds__(threads, (resident_blocks<Trials, Work>))
    choose_kernel(few_rows<Scalar, Work> of, unsigned own_units) {
  constexpr unsigned warp_pitch = warps + 2;
  extern __shared__ __align__(16) double shared[];
  alignas(16) __shared__ double warp_masses[2][Trials][warp_pitch], row_sums[warps];
  __shared__ double totals[Trials], unit_before[Trials], targets[Trials];
  __shared__ unsigned long long indices[2][Trials];  // of even and of odd steps
  __shared__ unsigned units_drawn[Trials];
  const block_memory<Trials, Hold, Scalar, Work> memory(shared, of.units, own_units, of.columns, of.trials);
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
    if constexpr (Hold != hold::in_memory) return memory.rows + (unit - first_unit) * of.columns * threads + i;
    return of.rows + min(std::size_t{unit} * threads + i, of.count - 1) * of.columns;
  };
  const auto least_of = [&](unsigned unit) -> Work& {
    return memory.least[(unit - first_unit) * threads + threadIdx.x];
  };
  for (unsigned unit = first_unit; unit < end_unit; ++unit) {
    least_of(unit) = static_cast<Work>(__builtin_huge_val());
    if constexpr (Hold != hold::in_memory) {
      const std::size_t row = min(std::size_t{unit} * threads + threadIdx.x, of.count - 1);
      for (unsigned j = 0; j < of.columns; ++j) {
        memory.rows[((unit - first_unit) * of.columns + j) * threads + threadIdx.x] = of.rows[row * of.columns + j];
      }
    }
  }
  const double own_weight = weight_of(std::size_t{first_unit} * threads + threadIdx.x);
  for (unsigned i = threadIdx.x; i < 2 * of.trials * memory.group_stride; i += threads) memory.group_sums[i] = 0;
  if (heard_by_themselves) {
    for (unsigned i = threadIdx.x; i < of.trials * memory.groups * group_pitch; i += threads) memory.unit_sums[i] = 0;
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
    unsigned long long* const sums = of.said_sums + std::size_t{step} * of.units * of.trials;
    Work distances[Trials];
    for (unsigned unit = first_unit; unit < end_unit; ++unit) {
      Work to_winner = 0;
#pragma unroll
      for (unsigned t = 0; t < Trials; ++t) distances[t] = 0;
      for_each_column<Hold>(row_of(unit, threadIdx.x), of.columns, [&](unsigned j, Scalar value) {
        const Work own = static_cast<Work>(value);
        const auto at = points[j];
#pragma unroll
        for (unsigned t = 0; t < Trials; ++t) {
          const Work difference = own - at.values[t];
          distances[t] = fma(difference, difference, distances[t]);
        }
        if constexpr (Hold != hold::one_unit) {
          const Work difference = own - points_before[j].values[best];
          to_winner = fma(difference, difference, to_winner);
        }
      });
      Work least = least_of(unit);
      double weight = own_weight;
      if constexpr (Hold != hold::one_unit) {
        if (step > 0 && to_winner < least) least_of(unit) = least = to_winner;
        weight = weight_of(std::size_t{unit} * threads + threadIdx.x);
      }
      const double of_warp = warp_sums<Trials>([&](unsigned t) {
        return weight > 0 ? weight * static_cast<double>(distances[t] < least ? distances[t] : least) : 0.0;
      });
      auto& masses = warp_masses[unit % 2];
      if (lane % (32 / Trials) == 0) masses[lane / (32 / Trials)][warp] = of_warp;
      __syncthreads();
      if (threadIdx.x < trials) {
        say(sums + unit * trials + threadIdx.x, bits_of(sums_in_order<warps>(masses[threadIdx.x], 0).all));
      }
    }

    const double uniform = warp < of.trials ? of.draws.uniform(step + 1, warp) : 0.0;  // while words are on their way
    if (heard_by_themselves) {
      hear_all(sums, of.units * trials, [&](unsigned i, unsigned long long word) {
        const unsigned unit = i / trials;
        memory.unit_sums[memory.group_units(i % trials, unit / draw_group) + unit % draw_group] =
            from_bits<double>(word);
      });
      __syncthreads();
      if (warp < trials && lane < memory.groups) {  // a warp for each trial, a lane for each group
        const unsigned units = memory.group_units(warp, lane);
        memory.group_sums[warp * memory.group_stride + lane] =
            sum_and_write<draw_group>(memory.unit_sums + units, memory.units_before + units);
      }
      __syncwarp();
    } else {
      unsigned long long* const group_sums = of.said_groups + std::size_t{step} * memory.groups * of.trials;
      for (unsigned group = blockIdx.x; group < memory.groups; group += gridDim.x) {
        if (warp >= trials) break;
        const unsigned unit = group * draw_group + lane;
        double* const of_units = memory.masses + warp * group_pitch;
        of_units[lane] = unit < of.units ? from_bits<double>(hear(sums + unit * trials + warp)) : 0.0;
        __syncwarp();
        if (lane == 0) say(group_sums + group * trials + warp, bits_of(sums_in_order<draw_group>(of_units, 0).all));
        __syncwarp();
      }
      hear_all<true>(group_sums, memory.groups * trials, [&](unsigned i, unsigned long long word) {
        memory.group_sums[i % trials * memory.group_stride + i / trials] = from_bits<double>(word);
      });
      __syncthreads();
    }
    if (warp < trials && lane == 0) {
      double total = 0;
      for (unsigned first = warp * memory.group_stride; first < (warp + 1) * memory.group_stride; first += 8) {
        double of_groups[8];
#pragma unroll
        for (unsigned g = 0; g < 8; ++g) of_groups[g] = memory.group_sums[first + g];
#pragma unroll
        for (unsigned g = 0; g < 8; ++g) {
          memory.groups_before[first + g] = total;
          total += of_groups[g];
        }
      }
      totals[warp] = total;
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

    // The masses of a unit with the winner, and their sums warp by warp.
    const auto place_mass = [&](Work least, double weight) {
      memory.masses[warp * group_pitch + lane] = weight > 0 ? weight * static_cast<double>(least) : 0.0;
    };
    const auto sum_warps = [&] {
      if (lane >= warps) return;
      row_sums[lane] =
          sum_and_write<draw_group>(memory.masses + lane * group_pitch, memory.rows_before + lane * group_pitch);
    };
    if constexpr (Hold == hold::one_unit) {
      Work least = least_of(first_unit);
#pragma unroll
      for (unsigned t = 0; t < Trials; ++t) {
        if (t == best && distances[t] < least) least = distances[t];
      }
      least_of(first_unit) = least;
      place_mass(least, own_weight);
      __syncthreads();
      if (warp == warps - 1) sum_warps();
    }
    if (warp < of.trials) {  // a warp for each draw finds the unit
      const double target = uniform * total;
      const double* const of_groups = memory.group_sums + best * memory.group_stride;
      const double* const before = memory.groups_before + best * memory.group_stride;
      int group = -1, first_group = -1;
      for (unsigned first = 0; first < memory.groups; first += 32) {
        const bool positive = first + lane < memory.groups && of_groups[first + lane] > 0;
        const unsigned any = __ballot_sync(~0u, positive);
        const unsigned reached = __ballot_sync(~0u, positive && before[first + lane] <= target);
        if (first_group < 0 && any != 0) first_group = static_cast<int>(first) + __ffs(static_cast<int>(any)) - 1;
        if (reached != 0) group = static_cast<int>(first) + 31 - __clz(static_cast<int>(reached));
      }
      const auto found = static_cast<unsigned>(group < 0 ? first_group : group);
      const unsigned first = found * draw_group;
      double of_unit, before_unit;
      if (heard_by_themselves) {
        of_unit = memory.unit_sums[memory.group_units(best, found) + lane];
        before_unit = memory.units_before[memory.group_units(best, found) + lane];
      } else {
        double* const heard = memory.masses + warp * group_pitch;
        of_unit = first + lane < of.units ? from_bits<double>(hear(sums + (first + lane) * trials + best)) : 0.0;
        heard[lane] = of_unit;
        __syncwarp();
        before_unit = sums_in_order<draw_group>(heard, 0).before;
      }
      double unit_begins = 0;
      const int unit = draw_lane(of_unit, before_unit, before[found], target, unit_begins);
      if (lane == 0) {
        units_drawn[warp] = first + static_cast<unsigned>(unit);
        unit_before[warp] = unit_begins;
        targets[warp] = target;
      }
    }
    __syncthreads();
    unsigned long long* const drawn_rows = of.said_rows + std::size_t{step} * of.trials * (1 + of.columns);
    for (unsigned t = 0; t < of.trials; ++t) {
      const unsigned unit = units_drawn[t];
      if (unit < first_unit || unit >= end_unit) continue;
      if constexpr (Hold != hold::one_unit) {
        Work to_winner = 0;
        for_each_column<Hold>(row_of(unit, threadIdx.x), of.columns, [&](unsigned j, Scalar value) {
          const Work difference = static_cast<Work>(value) - points[j].values[best];
          to_winner = fma(difference, difference, to_winner);
        });
        const Work least = least_of(unit);
        __syncthreads();  // the masses of another unit have been read
        place_mass(to_winner < least ? to_winner : least, weight_of(std::size_t{unit} * threads + threadIdx.x));
        __syncthreads();
        if (warp == t) sum_warps();
      }
      if (warp != t) continue;
      __syncwarp();
      double warp_before = 0, row_before = 0;
      const int drawn = draw_lane(lane < warps ? row_sums[lane] : 0.0,
                                  sums_in_order<warps>(row_sums, unit_before[t]).before, 0, targets[t], warp_before);
      int of_lane = -1;
      if (drawn >= 0) {
        const unsigned own = static_cast<unsigned>(drawn) * group_pitch + lane;
        of_lane = draw_lane(memory.masses[own], memory.rows_before[own], warp_before, targets[t], row_before);
      }
      const unsigned found = of_lane < 0 ? 0 : static_cast<unsigned>(drawn * 32 + of_lane);
      unsigned long long* const to = drawn_rows + t * (1 + of.columns);
      if (lane == 0) say(to, of_lane < 0 ? nowhere : std::size_t{unit} * threads + found);
      const Scalar* const row = row_of(unit, found);
      for (unsigned j = lane; j < of.columns; j += 32) {
        say(to + 1 + j, bits_of(static_cast<Work>(row[Hold == hold::in_memory ? j : j * threads])));
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
template <hold Hold, class Scalar, class Work, class Call>
auto with_kernel(const few_rows<Scalar, Work>& of, const Call& call) {
  const auto at_most = [&](auto trials) {
    constexpr unsigned Trials = decltype(trials)::value;
    return call(choose_kernel<Trials, Hold, Scalar, Work>, [&](unsigned own_units) {
      return block_memory<Trials, Hold, Scalar, Work>::bytes(of.units, own_units, of.columns, of.trials);
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
template <hold Hold, class Scalar, class Work>
few_rows_cut cut_with(const few_rows<Scalar, Work>& rows, std::size_t multiprocessors, std::size_t most_shared_bytes) {
  return with_kernel<Hold>(rows, [&](auto* kernel, const auto& bytes_of) {
    for (std::size_t resident = 2; resident > 0; --resident) {
      const auto most = static_cast<unsigned>(resident * multiprocessors);
      few_rows_cut cut;
      cut.units = (rows.units + most - 1) / most;
      cut.blocks = (rows.units + cut.units - 1) / cut.units;
      cut.how = Hold;
      const std::size_t bytes = bytes_of(cut.units);
      if (bytes > most_shared_bytes) continue;
      if (Hold == hold::one_unit && (cut.units > 1 || rows.units > most_heard_units)) continue;
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
  const few_rows_cut cut = cut_with<hold::one_unit>(rows, multiprocessors, most_shared_bytes);
  if (cut.blocks > 0 || rows.columns > most_columns_of_several) return cut;
  return cut_with<hold::in_memory>(rows, multiprocessors, most_shared_bytes);
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
  switch (cut.how) {
    case hold::one_unit:
      return with_kernel<hold::one_unit>(rows, launch);
    case hold::in_memory:
      return with_kernel<hold::in_memory>(rows, launch);
  }
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                                       \
  template few_rows_cut cut_at_once(const few_rows<Scalar, Work>&, std::size_t, std::size_t); \
  template void choose_at_once(const few_rows<Scalar, Work>&, const few_rows_cut&, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
