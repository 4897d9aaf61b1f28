// Greedy k-means++ among rows that clusters of blocks keep in their shared memory (cluster_rows_kernels.hpp).
//
// Each block of a cluster keeps its rows, their distances and their weights in its shared memory from the first step to
// the last, and blocks send each other what they find: a barrier of the receiver's counts the bytes, so that no block
// waits for more than it needs. Clusters tell each other through words of memory.
//
// In each step a warp measures 32 rows against trials. The sums of a block's masses with each trial go to all blocks of
// the cluster. Of several clusters, blocks of one rank hold rows that follow each other: they tell each other their
// sums through memory first, and what goes to the blocks of each cluster is the sum over all that have the rank. From
// these every block concludes the same: which trial is kept, and which rank the draws for the next step fall in; blocks
// of that rank know which of them. That block draws the rows, and tells all which they are; their values are read where
// they lie.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <shoal/estimation/cuda/array_places.cuh>
#include <shoal/estimation/cuda/cluster_exchange.cuh>
#include <shoal/estimation/cuda/cluster_kernel.hpp>
#include <shoal/estimation/cuda/coarse_rows.cuh>
#include <shoal/estimation/cuda/draw_lanes.cuh>
#include <shoal/estimation/cuda/row_distances.cuh>
#include <shoal/estimation/cuda/said_words.cuh>
#include <shoal/estimation/cuda/squared_distance.cuh>
#include <shoal/estimation/cuda/trial_masses.cuh>
#include <shoal/estimation/cuda/warp_sums.cuh>
#include <shoal/execution/cuda/cluster.cuh>

namespace shoal {

// What a block has in its dynamic shared memory.
template <unsigned Trials, cluster_measure How, class Scalar, class Work>
struct block_rows_memory {
  static constexpr bool roughly = How == cluster_measure::columns && sizeof(Work) > sizeof(Scalar);
  struct alignas(16) point_column {
    Scalar values[Trials];
  };

  double* warp_masses;   // [trials][pitch] of 32 rows each
  double* before_warps;  // [trials][pitch] those before them
  double* least_masses;  // [row warps] before this step
  double* weights;       // [rows]
  Work* least;           // [rows] before this step
  Work* distances;       // [trials][rows] of this step, where a trial is nearer than all points before
  unsigned* nearer;      // [trials][pitch] a bit for each row where it is
  unsigned pitch;
  // By columns.
  point_column* points;  // [2][columns] the trials of even and of odd steps
  float* bounds;         // [rows] rough_bound() of what is least, where rows are narrower than distances
  Scalar* rows;          // [columns][rows]
  // By bytes.
  coarse_rows coarse, coarse_points;
  Work* trial_rows;        // [trials][columns]
  unsigned short* doubts;  // [warps][trials · 32] pairs of a trial and a row that bytes leave open
  Scalar* whole_rows;      // [rows][stride], where they have room
  unsigned stride;

  __host__ __device__ block_rows_memory(array_places& places, const few_rows<Scalar, Work>& of,
                                        const cluster_rows_cut& cut) {
    // Each begins where the one before ends: what asks for more alignment comes first.
    const unsigned count = cut.block_rows;
    if constexpr (How == cluster_measure::columns) points = places.place<point_column>(2 * of.columns);
    if constexpr (How == cluster_measure::bytes) {
      const std::size_t bytes_of_row = of.coarse.pitch;
      coarse = {count,
                of.columns,
                bytes_of_row,
                places.place<std::int8_t>(count * bytes_of_row),
                places.place<coarse_bound>(count),
                places.place<float>(count)};
      coarse_points = {Trials,
                       of.columns,
                       bytes_of_row,
                       places.place<std::int8_t>(points_of_tile * bytes_of_row),
                       places.place<coarse_bound>(points_of_tile),
                       places.place<float>(points_of_tile)};
      trial_rows = places.place<Work>(Trials * of.columns);
      doubts = places.place<unsigned short>(cut.threads * Trials);
      // Rows that are made of whole neighbours begin where these do, and not all in one bank.
      constexpr unsigned together = neighbours<Scalar>::count;
      stride = of.columns % together == 0 ? of.columns + together : of.columns;
      whole_rows = places.place<Scalar>(cut.whole_rows ? stride * count : 0);
    }
    pitch = count / 32 + 1;
    warp_masses = places.place<double>(Trials * pitch);
    before_warps = places.place<double>(Trials * pitch);
    least_masses = places.place<double>(count / 32);
    weights = places.place<double>(count);
    least = places.place<Work>(count);
    distances = places.place<Work>(Trials * count);
    if constexpr (How == cluster_measure::columns) {
      rows = places.place<Scalar>(of.columns * count);
      bounds = places.place<float>(roughly ? count : 0);
    }
    nearer = places.place<unsigned>(Trials * pitch);
  }

  static constexpr unsigned points_of_tile = 8;  // of points_within_reach()
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // what has clusters

template <unsigned Trials, cluster_measure How, bool Several, class Scalar, class Work>
__device__ void choose_in_cluster(const few_rows<Scalar, Work>& of, const cluster_rows_cut& cut, char* shared) {
  using memory_of_block = block_rows_memory<Trials, How, Scalar, Work>;
  constexpr bool roughly = memory_of_block::roughly, by_columns = How == cluster_measure::columns,
                 by_bytes = How == cluster_measure::bytes;
  __shared__ exchange_memory<Trials> exchanged;
  __shared__ unsigned long long indices[2][Trials];
  __shared__ alignas(8) unsigned long long rows_here[2];
  __shared__ unsigned kept;
  __shared__ bool none_left;
  array_places places(shared);
  const memory_of_block memory(places, of, cut);
  double* const warp_masses = memory.warp_masses;
  double* const before_warps = memory.before_warps;
  double* const least_masses = memory.least_masses;
  unsigned* const nearer = memory.nearer;
  const unsigned pitch = memory.pitch, block_rows = cut.block_rows;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const unsigned row_warps = block_rows / 32;
  const cluster_exchange<Trials, Several> exchange(exchanged, of.said_groups, of.trials);
  const std::size_t first_row = std::size_t{exchange.place()} * block_rows;

  // Rows beyond the last are as the last, without weight.
  for (unsigned i = threadIdx.x; i < block_rows; i += blockDim.x) {
    const std::size_t row = first_row + i, held = min(row, of.count - 1);
    double weight = 1;
    if (of.wide_weights != nullptr) {
      weight = of.wide_weights[held];
    } else if (of.weights != nullptr) {
      weight = static_cast<double>(of.weights[held]);
    }
    memory.weights[i] = row < of.count ? weight : 0.0;
    memory.least[i] = static_cast<Work>(__builtin_huge_val());
    if constexpr (roughly) memory.bounds[i] = static_cast<float>(__builtin_huge_val());
    if constexpr (by_columns) {
      for (unsigned j = 0; j < of.columns; ++j) memory.rows[j * block_rows + i] = of.rows[held * of.columns + j];
    }
    if constexpr (by_bytes) {
      const std::size_t bytes = of.coarse.pitch;
      for (std::size_t j = 0; j < bytes; j += sizeof(int4)) {
        *reinterpret_cast<int4*>(memory.coarse.values + i * bytes + j) =
            *reinterpret_cast<const int4*>(of.coarse.values + held * bytes + j);
      }
      memory.coarse.bounds[i] = of.coarse.bounds[held];
      memory.coarse.errors[i] = of.coarse.errors[held];
      if (cut.whole_rows) {
        for (unsigned j = 0; j < of.columns; ++j) {
          memory.whole_rows[i * memory.stride + j] = of.rows[held * of.columns + j];
        }
      }
    }
  }
  // The `trials` rows whose indices are there, for the next measuring: item i of what they consist of.
  const auto items_of_point = [&] {
    return by_columns ? of.columns : by_bytes ? of.columns + static_cast<unsigned>(of.coarse.pitch / 16) + 1 : 0;
  };
  const auto place_points = [&](unsigned parity, unsigned trials) {
    if constexpr (by_columns) {
      auto* const points = memory.points + parity * of.columns;
      for (unsigned i = threadIdx.x; i < trials * of.columns; i += blockDim.x) {
        const unsigned t = i / of.columns, j = i % of.columns;
        const unsigned long long row = indices[parity][t];
        if (row != nowhere) points[j].values[t] = of.rows[row * of.columns + j];
      }
    }
    if constexpr (by_bytes) {
      const unsigned of_point = items_of_point(), vectors = static_cast<unsigned>(of.coarse.pitch / 16);
      for (unsigned i = threadIdx.x; i < trials * of_point; i += blockDim.x) {
        const unsigned t = i / of_point, item = i % of_point;
        const unsigned long long row = indices[parity][t];
        if (row == nowhere) continue;
        if (item < of.columns) {
          memory.trial_rows[t * of.columns + item] = static_cast<Work>(of.rows[row * of.columns + item]);
        } else if (item < of.columns + vectors) {
          const unsigned j = item - of.columns;
          reinterpret_cast<int4*>(memory.coarse_points.values + t * of.coarse.pitch)[j] =
              reinterpret_cast<const int4*>(of.coarse.values + row * of.coarse.pitch)[j];
        } else {
          memory.coarse_points.bounds[t] = of.coarse.bounds[row];
          memory.coarse_points.errors[t] = of.coarse.errors[row];
        }
      }
    }
  };
  if constexpr (by_columns) {
    for (unsigned i = threadIdx.x; i < 2 * of.columns * Trials; i += blockDim.x) {
      memory.points[i / Trials].values[i % Trials] = Scalar{0};
    }
  }
  if constexpr (by_bytes) {
    for (unsigned i = threadIdx.x; i < memory.points_of_tile * of.coarse.pitch / sizeof(int); i += blockDim.x) {
      reinterpret_cast<int*>(memory.coarse_points.values)[i] = 0;
    }
    if (threadIdx.x < memory.points_of_tile) {
      memory.coarse_points.bounds[threadIdx.x] = {};
      memory.coarse_points.errors[threadIdx.x] = 0;
    }
  }
  // Those without rows have no mass from the start.
  for (unsigned i = threadIdx.x; i < row_warps; i += blockDim.x) {
    least_masses[i] = first_row + i * 32 < of.count ? __builtin_huge_val() : 0.0;
  }
  if (threadIdx.x == 0) {
    indices[0][0] = of.first;
    exchange.make_barriers();
    for (unsigned long long& barrier : rows_here) cuda::make_barrier(&barrier, 1);
    cuda::publish_barriers();
  }
  __syncthreads();
  place_points(0, 1);
  __syncthreads();
  cuda::come_with_writes();
  cuda::wait_together();

  // What a warp has found of 32 rows and some trials, from the first one on.
  const auto take = [&](unsigned of_rows, unsigned first, Work least, const auto& found) {
    constexpr unsigned sum_lanes = 32 / trials_together;
    const unsigned row = of_rows * 32 + lane;
    if (found.any_nearer()) {
      const double weight = memory.weights[row];
      const double of_warp = warp_sums<trials_together>([&](unsigned t) {
        const Work distance = found.distances[t];
        return weight > 0 ? weight * static_cast<double>(found.is_nearer(t) ? distance : least) : 0.0;
      });
      if (lane % sum_lanes == 0) warp_masses[(first + lane / sum_lanes) * pitch + of_rows] = of_warp;
#pragma unroll
      for (unsigned t = 0; t < trials_together; ++t) {
        if (found.is_nearer(t)) memory.distances[(first + t) * block_rows + row] = found.distances[t];
      }
    } else if (lane % sum_lanes == 0) {
      warp_masses[(first + lane / sum_lanes) * pitch + of_rows] = least_masses[of_rows];
    }
    if (lane == 0) {
#pragma unroll
      for (unsigned t = 0; t < trials_together; ++t) nearer[(first + t) * pitch + of_rows] = found.nearer[t];
    }
  };

  unsigned step = 0, trials = 1;
  for (;; ++step) {
    const unsigned parity = step % 2, next = (step + 1) % 2, phase = step / 2 % 2;
    if (threadIdx.x == 0) {
      exchange.expect(step, trials);
      if (!Several && step + 1 < of.clusters) {
        cuda::expect(&rows_here[next], of.trials * sizeof(unsigned long long));
      }
    }

    if constexpr (by_bytes) {
      const Scalar* const whole = cut.whole_rows ? memory.whole_rows : of.rows + first_row * of.columns;
      const unsigned stride = cut.whole_rows ? memory.stride : of.columns;
      unsigned short* const doubts = memory.doubts + warp * 32 * Trials;
      for (unsigned of_rows = warp; of_rows < row_warps; of_rows += warps) {
        const unsigned row = of_rows * 32 + lane;
        const bool inside = first_row + row < of.count;
        const std::int8_t* const values = memory.coarse.values + of_rows * 32 * of.coarse.pitch;
        unsigned near =
            of.coarse.pitch == 16
                ? points_within_reach<16, 1>(values, memory.coarse.bounds[row], inside, memory.coarse_points)
                : points_within_reach<32, 1>(values, memory.coarse.bounds[row], inside, memory.coarse_points);
        near &= (1u << trials) - 1;
        // Pairs are measured by a lane each, whosever row it is.
        unsigned pairs = 0;
        for (unsigned left = __reduce_or_sync(~0u, near); left != 0; left &= left - 1) {
          const unsigned t = __ffs(static_cast<int>(left)) - 1, of_trial = __ballot_sync(~0u, near >> t & 1);
          if (near >> t & 1) {
            doubts[pairs + __popc(of_trial & ((1u << lane) - 1))] = static_cast<unsigned short>(t * 32 + lane);
          }
          pairs += __popc(of_trial);
        }
        __syncwarp();
        for (unsigned i = lane; i < pairs; i += 32) {
          const unsigned t = doubts[i] / 32, other = of_rows * 32 + doubts[i] % 32;
          memory.distances[t * block_rows + other] =
              squared_distance<8>(whole + std::size_t{other} * stride, memory.trial_rows + t * of.columns, of.columns);
        }
        __syncwarp();
        const Work least = memory.least[row];
#pragma unroll 1
        for (unsigned first = 0; first < trials; first += trials_together) {
          nearer_rows<trials_together, Work> found;
#pragma unroll
          for (unsigned t = 0; t < trials_together; ++t) {
            found.distances[t] = least;
            if (near >> (first + t) & 1) found.distances[t] = memory.distances[(first + t) * block_rows + row];
            found.nearer[t] = __ballot_sync(~0u, found.distances[t] < least);
          }
          take(of_rows, first, least, found);
        }
        __syncwarp();
      }
    } else {
      constexpr unsigned parts = Trials / trials_together;
      for (unsigned item = warp; item < row_warps * parts; item += warps) {
        const unsigned of_rows = item / parts, first = item % parts * trials_together, row = of_rows * 32 + lane;
        if (first >= trials) continue;
        const Work least = memory.least[row];
        if constexpr (by_columns) {
          const distances_of<trials_together, Scalar, Work> found({memory.rows + row, block_rows, of.columns},
                                                                  memory.points + parity * of.columns, first, least,
                                                                  roughly ? memory.bounds[row] : 0.0f);
          take(of_rows, first, least, found);
        } else {
          const known_distances<trials_together, Work> found(of.pairs, of.count, min(first_row + row, of.count - 1),
                                                             indices[parity] + first, trials - first, least);
          take(of_rows, first, least, found);
        }
      }
    }
    __syncthreads();
    double uniform = 0;
    if (warp < trials) {
      const double up_to = sums_up_to(lane < row_warps ? warp_masses[warp * pitch + lane] : 0.0, row_warps);
      exchange.tell(step, warp, __shfl_sync(~0u, up_to, row_warps - 1), [&] {
        const double before = sum_before(up_to);
        if (lane < row_warps) before_warps[warp * pitch + lane] = before;
        if constexpr (Several) uniform = of.draws.uniform(step + 1, warp);
      });
    }
    __syncthreads();

    if (warp < of.trials) {                                                        // a warp for each draw
      if (!Several || warp >= trials) uniform = of.draws.uniform(step + 1, warp);  // on the way of the sums
      const drawn_block draw = exchange.conclude(step, trials, uniform, step + 1 < of.clusters);
      const unsigned best = draw.best;
      if (warp == 0 && lane == 0) {
        kept = best;
        none_left = draw.none();
      }
      if (draw.here) {
        double warp_begins = 0, row_begins = 0;
        const bool some = lane < row_warps;
        const int of_rows =
            draw_lane(some ? warp_masses[best * pitch + lane] : 0.0, some ? before_warps[best * pitch + lane] : 0.0,
                      draw.begins, draw.target, warp_begins);
        int of_lane = -1;
        if (of_rows >= 0) {
          const unsigned row = static_cast<unsigned>(of_rows) * 32 + lane;
          const bool is_nearer = nearer[best * pitch + static_cast<unsigned>(of_rows)] >> lane & 1;
          const Work least = is_nearer ? memory.distances[best * block_rows + row] : memory.least[row];
          const double weight = memory.weights[row];
          const double mass = weight > 0 ? weight * static_cast<double>(least) : 0.0;
          of_lane = draw_lane(mass, sum_before(sums_up_to(mass)), warp_begins, draw.target, row_begins);
        }
        const unsigned drawn = of_lane < 0 ? 0 : static_cast<unsigned>(of_rows * 32 + of_lane);
        const unsigned long long index = of_lane < 0 ? nowhere : first_row + drawn;
        if constexpr (Several) {
          if (lane == 0) say(of.said_rows + std::size_t{step} * of.trials + warp, index);
        } else {
          if (lane < cluster_blocks) cuda::send(&indices[next][warp], index, &rows_here[next], lane);
        }
      }
    }
    __syncthreads();
    const unsigned best = kept;
    if (blockIdx.x == 0 && warp == warps - 1) {
      if (lane == 0) of.chosen[1 + step] = indices[parity][best];
      if constexpr (by_columns) {
        for (unsigned j = lane; j < of.columns; j += 32) {
          of.points[std::size_t{step} * of.columns + j] =
              static_cast<double>(memory.points[parity * of.columns + j].values[best]);
        }
      }
    }
    if (none_left || step + 1 == of.clusters) break;
    for (unsigned i = threadIdx.x; i < block_rows; i += blockDim.x) {
      if (!(nearer[best * pitch + i / 32] >> i % 32 & 1)) continue;
      const Work least = memory.distances[best * block_rows + i];
      memory.least[i] = least;
      if constexpr (roughly) memory.bounds[i] = rough_bound(least, of.columns);
      if constexpr (by_bytes) {
        memory.coarse.bounds[i].reach = reach_of(least, memory.coarse.errors[i], of.unit, of.columns);
      }
    }
    for (unsigned i = threadIdx.x; i < row_warps; i += blockDim.x) least_masses[i] = warp_masses[best * pitch + i];
    trials = of.trials;
    if constexpr (Several) {
      // One warp of each block asks: the more ask for a line, the longer all wait.
      if (warp == 0 && lane < trials) {
        indices[next][lane] = hear(of.said_rows + std::size_t{step} * trials + lane);
      }
      __syncthreads();
    } else if (threadIdx.x < max(32u, trials * items_of_point())) {
      cuda::wait(&rows_here[next], phase);
    }
    place_points(next, trials);
    __syncthreads();
    if (__any_sync(~0u, lane < trials && indices[next][lane % Trials] == nowhere)) break;
  }
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) of.chosen[0] = step + 1;
    if constexpr (!by_columns) {
      __syncthreads();  // the block's own words
      for (std::size_t i = threadIdx.x; i < (step + 1) * of.columns; i += blockDim.x) {
        of.points[i] = static_cast<double>(of.rows[of.chosen[1 + i / of.columns] * of.columns + i % of.columns]);
      }
    }
  }
  cuda::come_together();  // nobody leaves while others may still send to it
  cuda::wait_together();
}

#endif

template <unsigned Trials, cluster_measure How, bool Several, class Scalar, class Work>
__global__ void __launch_bounds__(most_cluster_threads, 1)
    choose_in_clusters_kernel(const __grid_constant__ few_rows<Scalar, Work> of,
                              const __grid_constant__ cluster_rows_cut cut) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) char shared[];
  choose_in_cluster<Trials, How, Several>(of, cut, shared);
#endif
}

template <cluster_measure How, class Scalar, class Work>
cluster_kernel<Scalar, Work> cluster_kernel_of(const few_rows<Scalar, Work>& of, const cluster_rows_cut& cut) {
  const auto at_most = [&](auto trials) -> cluster_kernel<Scalar, Work> {
    constexpr unsigned Trials = decltype(trials)::value;
    array_places places = array_places::anywhere();
    block_rows_memory<Trials, How, Scalar, Work>(places, of, cut);
    const std::size_t bytes = places.bytes();
    if constexpr (How != cluster_measure::pairs) {
      if (cut.clusters > 1) return {choose_in_clusters_kernel<Trials, How, true, Scalar, Work>, bytes};
    }
    return {choose_in_clusters_kernel<Trials, How, false, Scalar, Work>, bytes};
  };
  if (of.trials <= 4) return at_most(std::integral_constant<unsigned, 4>());
  return at_most(std::integral_constant<unsigned, most_cluster_trials>());
}

#define SHOAL_INSTANTIATE(How)                                                                    \
  template cluster_kernel<float, float> cluster_kernel_of<How>(const few_rows<float, float>&,     \
                                                               const cluster_rows_cut&);          \
  template cluster_kernel<float, double> cluster_kernel_of<How>(const few_rows<float, double>&,   \
                                                                const cluster_rows_cut&);         \
  template cluster_kernel<double, double> cluster_kernel_of<How>(const few_rows<double, double>&, \
                                                                 const cluster_rows_cut&);

}  // namespace shoal
