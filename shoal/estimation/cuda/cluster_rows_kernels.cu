// Each block of a cluster keeps its rows, their distances and their weights in its shared memory from the first step to
// the last, and blocks send each other what they find: a barrier of the receiver's counts the bytes, so that no block
// waits for more than it needs. Clusters tell each other through words of memory.
//
// In each step a warp measures 32 rows against some of the trials. The sums of a block's masses with each trial go to
// all blocks of the cluster, and those of a cluster to all clusters. From them every block concludes the same: which
// trial is kept, and in which block the draws for the next step fall. That block draws the rows, and tells all which
// they are; their values are read where they lie.
#include <shoal/estimation/cuda/cluster_rows_kernels.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/estimation/cuda/draw_lanes.cuh>
#include <shoal/estimation/cuda/row_distances.cuh>
#include <shoal/estimation/cuda/said_words.cuh>
#include <shoal/estimation/cuda/trial_masses.cuh>
#include <shoal/estimation/cuda/warp_sums.cuh>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/cluster.cuh>

namespace shoal {
namespace {

constexpr unsigned cluster_blocks = 16;
constexpr unsigned most_clusters = 7;  // that a GPU of 132 multiprocessors runs at once
constexpr unsigned most_cluster_trials = 8;
constexpr unsigned most_threads = 1024, least_threads = 512;  // of a block: a warp for each draw at least
constexpr unsigned most_block_rows = 1024;                    // a lane for each 32 of them
constexpr unsigned together = 4;                              // trials that a warp measures at a time
static_assert(cluster_blocks == most_shares && most_clusters <= most_shares);
static_assert(most_cluster_trials * 32 <= least_threads);

// What a block has in its dynamic shared memory.
template <unsigned Trials, class Scalar, class Work>
struct block_rows_memory {
  static constexpr bool roughly = sizeof(Work) > sizeof(Scalar);
  struct alignas(16) point_column {
    Scalar values[Trials];
  };

  point_column* points;  // [2][columns] the trials of even and of odd steps
  double* warp_masses;   // [trials][pitch] of 32 rows each
  double* before_warps;  // [trials][pitch] those before them
  double* least_masses;  // [row warps] before this step
  double* weights;       // [rows]
  Work* least;           // [rows] before this step
  Work* distances;       // [trials][rows] of this step, where a trial is nearer than all points before
  unsigned* nearer;      // [trials][pitch] a bit for each row where it is
  float* bounds;         // [rows] rough_bound() of what is least, where rows are narrower than distances
  Scalar* rows;          // [columns][rows]
  unsigned pitch;

  static __host__ __device__ unsigned pitch_of(unsigned rows) { return rows / 32 + 1; }
  static std::size_t bytes(unsigned rows, unsigned columns) {
    return 2 * columns * sizeof(point_column) + Trials * pitch_of(rows) * (2 * sizeof(double) + sizeof(unsigned)) +
           (rows / 32 + 1) * sizeof(double) +
           rows * (sizeof(Work) + (roughly ? sizeof(float) : 0) + sizeof(double) + Trials * sizeof(Work) +
                   columns * sizeof(Scalar));
  }
  __device__ block_rows_memory(double* shared, unsigned count, unsigned columns) : pitch(pitch_of(count)) {
    points = reinterpret_cast<point_column*>(shared);
    warp_masses = reinterpret_cast<double*>(points + 2 * columns);
    before_warps = warp_masses + Trials * pitch;
    least_masses = before_warps + Trials * pitch;
    weights = least_masses + count / 32;
    least = reinterpret_cast<Work*>(weights + count);
    distances = least + count;
    nearer = reinterpret_cast<unsigned*>(distances + Trials * count);
    bounds = reinterpret_cast<float*>(nearer + (Trials * pitch + 1) / 2 * 2);
    rows = reinterpret_cast<Scalar*>(bounds + (roughly ? count : 0));
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // what has clusters

template <unsigned Trials, bool Several, class Scalar, class Work>
__device__ void choose_in_cluster(const few_rows<Scalar, Work>& of, unsigned block_rows, double* shared) {
  constexpr bool roughly = sizeof(Work) > sizeof(Scalar);
  __shared__ double received[2][cluster_blocks][Trials];
  __shared__ double share_masses[most_shares], share_before[most_shares];
  __shared__ unsigned long long choice[2],
      verdict_here[2];  // the trial that is kept, and which draws fall in the cluster
  __shared__ double choice_total[2], choice_before[2];
  __shared__ unsigned long long indices[2][Trials];
  __shared__ alignas(8) unsigned long long sums_here[2], rows_here[2];
  __shared__ unsigned kept;
  __shared__ double kept_total;
  const block_rows_memory<Trials, Scalar, Work> memory(shared, block_rows, of.columns);
  double* const warp_masses = memory.warp_masses;
  double* const before_warps = memory.before_warps;
  double* const least_masses = memory.least_masses;
  unsigned* const nearer = memory.nearer;
  const unsigned pitch = memory.pitch;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const unsigned rank = cuda::rank_in_cluster(), cluster = blockIdx.x / cluster_blocks;
  const unsigned clusters = gridDim.x / cluster_blocks, row_warps = block_rows / 32;
  const std::size_t first_row = std::size_t{blockIdx.x} * block_rows;

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
    for (unsigned j = 0; j < of.columns; ++j) memory.rows[j * block_rows + i] = of.rows[held * of.columns + j];
  }
  for (unsigned i = threadIdx.x; i < 2 * of.columns * Trials; i += blockDim.x) {
    const unsigned j = i / Trials;
    memory.points[j].values[i % Trials] =
        i % Trials == 0 && j < of.columns ? of.rows[of.first * of.columns + j] : Scalar{0};
  }
  for (unsigned i = threadIdx.x; i < row_warps; i += blockDim.x) least_masses[i] = __builtin_huge_val();
  if (threadIdx.x == 0) {
    indices[0][0] = of.first;
    for (unsigned parity = 0; parity < 2; ++parity) {
      cuda::make_barrier(&sums_here[parity], 1);
      cuda::make_barrier(&rows_here[parity], 1);
      cuda::make_barrier(&verdict_here[parity], 1);
    }
    cuda::publish_barriers();
  }
  __syncthreads();
  cuda::come_with_writes();
  cuda::wait_together();

  unsigned step = 0, trials = 1;
  for (;; ++step) {
    const unsigned parity = step % 2, next = (step + 1) % 2, phase = step / 2 % 2;
    const auto* const points = memory.points + parity * of.columns;
    // Nobody sends anything of the step after the next before this block has sent all of the next one.
    if (threadIdx.x == 0) {
      cuda::expect(&sums_here[parity], trials * cluster_blocks * sizeof(double));
      if (Several) cuda::expect(&verdict_here[parity], 3 * sizeof(double));
      if (step + 1 < of.clusters) cuda::expect(&rows_here[next], of.trials * sizeof(unsigned long long));
    }

    constexpr unsigned parts = Trials / together, sum_lanes = 32 / together;
    for (unsigned item = warp; item < row_warps * parts; item += warps) {
      const unsigned of_rows = item / parts, first = item % parts * together, row = of_rows * 32 + lane;
      if (first >= trials) continue;
      const Work least = memory.least[row];
      const distances_of<together, Scalar, Work> found({memory.rows + row, block_rows, of.columns}, points, first,
                                                       least, roughly ? memory.bounds[row] : 0.0f);
      if (found.any_nearer()) {
        const double weight = memory.weights[row];
        const double of_warp = warp_sums<together>([&](unsigned t) {
          const Work distance = found.distances[t];
          return weight > 0 ? weight * static_cast<double>(found.is_nearer(t) ? distance : least) : 0.0;
        });
        if (lane % sum_lanes == 0) warp_masses[(first + lane / sum_lanes) * pitch + of_rows] = of_warp;
#pragma unroll
        for (unsigned t = 0; t < together; ++t) {
          if (found.is_nearer(t)) memory.distances[(first + t) * block_rows + row] = found.distances[t];
        }
      } else if (lane % sum_lanes == 0) {
        warp_masses[(first + lane / sum_lanes) * pitch + of_rows] = least_masses[of_rows];
      }
      if (lane == 0) {
#pragma unroll
        for (unsigned t = 0; t < together; ++t) nearer[(first + t) * pitch + of_rows] = found.nearer[t];
      }
    }
    __syncthreads();
    if (warp < trials) {
      const double up_to = sums_up_to(lane < row_warps ? warp_masses[warp * pitch + lane] : 0.0, row_warps);
      const double of_block = __shfl_sync(~0u, up_to, row_warps - 1), before = sum_before(up_to);
      if (lane < cluster_blocks) cuda::send(&received[parity][rank][warp], of_block, &sums_here[parity], lane);
      if (lane < row_warps) before_warps[warp * pitch + lane] = before;
    }
    __syncthreads();

    if (warp < of.trials) {                                     // a warp for each draw
      const double uniform = of.draws.uniform(step + 1, warp);  // on the way of the sums
      cuda::wait(&sums_here[parity], phase);
      const trial_masses<Trials> blocks(trials, [&](unsigned trial, unsigned first, double* masses) {
#pragma unroll
        for (unsigned i = 0; i < trial_masses<Trials>::each; ++i) masses[i] = received[parity][first + i][trial];
      });
      unsigned best = 0;
      double total = 0, begins = 0, target = 0;
      bool here = true, there = false;
      if constexpr (Several) {
        if (rank == 0 && warp == 0) {  // hears those of all clusters, and tells the blocks of its own what they need
          constexpr unsigned each = trial_masses<Trials>::each;
          unsigned long long* const sums = of.said_groups + std::size_t{step} * of.trials * most_shares;
          if (blocks.part() == 0 && blocks.trial() < trials) {
            say(sums + blocks.trial() * most_shares + cluster, bits_of(blocks.total()));
          }
          const double own_uniform = of.draws.uniform(step + 1, lane);
          const trial_masses<Trials> all(trials, [&](unsigned trial, unsigned first, double* masses) {
            unsigned long long words[each];
            bool heard;
            do {
              heard = true;
#pragma unroll
              for (unsigned i = 0; i < each; ++i) {
                words[i] = first + i < clusters ? said(sums + trial * most_shares + first + i) : 0;
              }
#pragma unroll
              for (unsigned i = 0; i < each; ++i) heard = heard && words[i] != unsaid;
            } while (!heard);
#pragma unroll
            for (unsigned i = 0; i < each; ++i) masses[i] = from_bits<double>(words[i]);
          });
          __syncwarp();
          best = all.best(trials);
          total = all.total_of(best);
          all.write(best, share_masses, share_before);
          __syncwarp();
          unsigned found = most_shares;  // where the lane's draw falls
          for (unsigned i = 0; i < clusters; ++i) {
            if (share_masses[i] > 0 && (found == most_shares || share_before[i] <= own_uniform * total)) found = i;
          }
          const unsigned own = __ballot_sync(~0u, lane < of.trials && found == cluster);
          if (lane < cluster_blocks) {
            cuda::send(&choice[parity], static_cast<unsigned long long>(own) << 32 | best, &verdict_here[parity], lane);
            cuda::send(&choice_total[parity], total, &verdict_here[parity], lane);
            cuda::send(&choice_before[parity], share_before[cluster], &verdict_here[parity], lane);
          }
        }
        cuda::wait(&verdict_here[parity], phase);
        best = static_cast<unsigned>(choice[parity]);
        here = choice[parity] >> (32 + warp) & 1;
        total = choice_total[parity];
        begins = choice_before[parity];
      } else {
        best = blocks.best(trials);
        total = blocks.total_of(best);
      }
      there = total > 0 && total * 0 == 0;
      target = uniform * total;
      if (warp == 0 && lane == 0) {
        kept = best;
        kept_total = total;
      }
      if (here && there && step + 1 < of.clusters) {
        double block_begins = 0;
        here = blocks.draw(best, begins, target, block_begins) == rank;
        begins = block_begins;
      }
      if (here && there && step + 1 < of.clusters) {
        double warp_begins = 0, row_begins = 0;
        const bool some = lane < row_warps;
        const int of_rows = draw_lane(some ? warp_masses[best * pitch + lane] : 0.0,
                                      some ? before_warps[best * pitch + lane] : 0.0, begins, target, warp_begins);
        int of_lane = -1;
        if (of_rows >= 0) {
          const unsigned row = static_cast<unsigned>(of_rows) * 32 + lane;
          const bool is_nearer = nearer[best * pitch + static_cast<unsigned>(of_rows)] >> lane & 1;
          const Work least = is_nearer ? memory.distances[best * block_rows + row] : memory.least[row];
          const double weight = memory.weights[row];
          const double mass = weight > 0 ? weight * static_cast<double>(least) : 0.0;
          of_lane = draw_lane(mass, sum_before(sums_up_to(mass)), warp_begins, target, row_begins);
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
    const double total = kept_total;
    if (blockIdx.x == 0 && warp == warps - 1) {
      if (lane == 0) of.chosen[1 + step] = indices[parity][best];
      for (unsigned j = lane; j < of.columns; j += 32) {
        of.points[std::size_t{step} * of.columns + j] = static_cast<double>(points[j].values[best]);
      }
    }
    if (!(total > 0 && total * 0 == 0) || step + 1 == of.clusters) break;
    for (unsigned i = threadIdx.x; i < block_rows; i += blockDim.x) {
      if (!(nearer[best * pitch + i / 32] >> i % 32 & 1)) continue;
      const Work least = memory.distances[best * block_rows + i];
      memory.least[i] = least;
      if constexpr (roughly) memory.bounds[i] = rough_bound(least, of.columns);
    }
    for (unsigned i = threadIdx.x; i < row_warps; i += blockDim.x) least_masses[i] = warp_masses[best * pitch + i];
    trials = of.trials;
    if (Several && rank == 0 && warp < trials) {
      const unsigned long long index = hear(of.said_rows + std::size_t{step} * trials + warp);
      if (lane < cluster_blocks) cuda::send(&indices[next][warp], index, &rows_here[next], lane);
    }
    auto* const drawn = memory.points + next * of.columns;
    if (threadIdx.x < trials * of.columns) cuda::wait(&rows_here[next], phase);
    for (unsigned i = threadIdx.x; i < trials * of.columns; i += blockDim.x) {
      const unsigned t = i / of.columns, j = i % of.columns;
      const unsigned long long row = indices[next][t];
      if (row != nowhere) drawn[j].values[t] = of.rows[row * of.columns + j];
    }
    __syncthreads();
    if (__any_sync(~0u, lane < trials && indices[next][lane % Trials] == nowhere)) break;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) of.chosen[0] = step + 1;
  cuda::come_together();  // nobody leaves while others may still send to it
  cuda::wait_together();
}

#endif

template <unsigned Trials, bool Several, class Scalar, class Work>
__global__ void __launch_bounds__(most_threads, 1)
    choose_in_clusters_kernel(const __grid_constant__ few_rows<Scalar, Work> of, unsigned block_rows) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) double shared[];
  choose_in_cluster<Trials, Several>(of, block_rows, shared);
#endif
}

// Calls with the kernel for so many trials, and the bytes of shared memory that it needs.
template <bool Several, class Scalar, class Work, class Call>
auto with_kernel(const few_rows<Scalar, Work>& of, unsigned block_rows, const Call& call) {
  const auto at_most = [&](auto trials) {
    constexpr unsigned Trials = decltype(trials)::value;
    return call(choose_in_clusters_kernel<Trials, Several, Scalar, Work>,
                block_rows_memory<Trials, Scalar, Work>::bytes(block_rows, of.columns));
  };
  if (of.trials <= 4) return at_most(std::integral_constant<unsigned, 4>());
  return at_most(std::integral_constant<unsigned, most_cluster_trials>());
}

template <class Scalar, class Work, class Call>
auto with_kernel_of(const few_rows<Scalar, Work>& of, const cluster_rows_cut& cut, const Call& call) {
  return cut.clusters > 1 ? with_kernel<true>(of, cut.block_rows, call) : with_kernel<false>(of, cut.block_rows, call);
}

// A launch by clusters; it keeps pointers to itself.
struct clusters_launch {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t configuration{};

  clusters_launch(const cluster_rows_cut& cut, std::size_t bytes, cudaStream_t stream) {
    configuration.gridDim = dim3(cut.clusters * cluster_blocks);
    configuration.blockDim = dim3(cut.threads);
    configuration.dynamicSmemBytes = bytes;
    configuration.stream = stream;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {cluster_blocks, 1, 1};
    // Clusters that wait for each other begin all at once, or none.
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    configuration.attrs = attributes;
    configuration.numAttrs = cut.clusters > 1 ? 2 : 1;
  }
  clusters_launch(const clusters_launch&) = delete;
};

template <class Kernel>
void prepare(Kernel* kernel, std::size_t bytes) {
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "allow large clusters");
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "give a kernel shared memory");
}

template <class Scalar, class Work>
bool can_run(const few_rows<Scalar, Work>& rows, const cluster_rows_cut& cut, std::size_t most_shared_bytes) {
  const auto asked = [&](auto* kernel, std::size_t bytes) {
    if (bytes > most_shared_bytes) return false;
    prepare(kernel, bytes);
    const clusters_launch launch(cut, bytes, nullptr);
    int running = 0;
    if (cudaOccupancyMaxActiveClusters(&running, kernel, &launch.configuration) != cudaSuccess) {
      cudaGetLastError();
      return false;
    }
    return static_cast<unsigned>(running) >= cut.clusters;
  };
  return with_kernel_of(rows, cut, asked);
}

template <class Scalar, class Work>
cluster_rows_cut cut_into(const few_rows<Scalar, Work>& rows, unsigned clusters) {
  const std::size_t blocks = std::size_t{clusters} * cluster_blocks, each = (rows.count + blocks - 1) / blocks;
  cluster_rows_cut cut;
  cut.clusters = clusters;
  cut.block_rows = static_cast<unsigned>((each + 31) / 32 * 32);
  // As many warps as go through their parts in the fewest rounds.
  const unsigned items = cut.block_rows / 32 * ((rows.trials + together - 1) / together);
  const unsigned rounds = (items + most_threads / 32 - 1) / (most_threads / 32);
  cut.threads = std::max(least_threads, (items + rounds - 1) / rounds * 32);
  return cut;
}

// Cycles of a step as far as they differ, on an H200: what a block reads of its shared memory to measure, and that
// clusters tell each other through memory.
template <class Scalar, class Work>
double cost_of(const few_rows<Scalar, Work>& rows, const cluster_rows_cut& cut) {
  const double items = cut.block_rows / 32 * ((rows.trials + together - 1) / together);
  return items * (rows.columns * (sizeof(Scalar) == 4 ? 5.5 : 10) + 30) + (cut.clusters > 1 ? 3300 : 0);
}

}  // namespace

template <class Scalar, class Work>
cluster_rows_cut cut_into_clusters(const few_rows<Scalar, Work>& rows, std::size_t most_shared_bytes) {
  int device = 0, has_clusters = 0;
  cuda::check(cudaGetDevice(&device), "name the current device");
  cuda::check(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device), "say whether it has clusters");
  if (has_clusters == 0) return {};
  if (rows.trials > most_cluster_trials) return {};
  std::vector<std::pair<double, cluster_rows_cut>> cuts;
  for (unsigned clusters = 1; clusters <= most_clusters; ++clusters) {
    const cluster_rows_cut cut = cut_into(rows, clusters);
    if (cut.block_rows <= most_block_rows) cuts.emplace_back(cost_of(rows, cut), cut);
  }
  // It takes a while to ask, so the best is asked for first.
  std::stable_sort(cuts.begin(), cuts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [cost, cut] : cuts) {
    if (can_run(rows, cut, most_shared_bytes)) return cut;
  }
  return {};
}

std::size_t cluster_sum_words(const cluster_rows_cut& cut, std::size_t clusters, std::size_t trials) {
  return cut.clusters > 1 ? clusters * trials * most_shares : 0;
}

template <class Scalar, class Work>
void choose_in_clusters(const few_rows<Scalar, Work>& rows, const cluster_rows_cut& cut, cudaStream_t stream) {
  const auto launch = [&](auto* kernel, std::size_t bytes) {
    prepare(kernel, bytes);
    const clusters_launch how(cut, bytes, stream);
    cuda::check(cudaLaunchKernelEx(&how.configuration, kernel, rows, cut.block_rows), "choose in clusters");
  };
  with_kernel_of(rows, cut, launch);
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                                    \
  template cluster_rows_cut cut_into_clusters(const few_rows<Scalar, Work>&, std::size_t); \
  template void choose_in_clusters(const few_rows<Scalar, Work>&, const cluster_rows_cut&, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
