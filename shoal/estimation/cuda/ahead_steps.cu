// One warp leads: its lanes know of all drawn rows how near the nearest point is by now, and so which are still trials.
// The others go through the lists of a step's trials, some warps for each. What each trial takes from the sum of masses
// is summed in whole numbers, so that the order in which rows came into the lists does not show. Of many rows the
// blocks of a cluster have a share each, and send each other their sums.
#include <shoal/estimation/cuda/ahead_steps.hpp>

#include <cuda_runtime.h>

#include <shoal/estimation/cuda/squared_distance.cuh>
#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/cluster.cuh>
#include <shoal/execution/cuda/early_start.hpp>
#include <shoal/execution/cuda/launch.cuh>

namespace shoal {
namespace {

constexpr unsigned most_threads = 800, most_workers = most_threads / 32 - 1;  // warps that go through lists
constexpr unsigned most_of_lane = most_ahead / 32;                            // drawn rows that a lane knows of
constexpr std::size_t most_rows_of_block = std::size_t{1} << 15;              // of more rows a cluster has shares
// Sums of differences are good until the sum of masses has fallen to such a part of what they began at.
constexpr double least_part = 0x1p-8;
static_assert(most_ahead_trials <= most_workers && most_of_lane <= 32);

// Warps that go through the list of a trial.
__host__ __device__ unsigned warps_of_trial(unsigned trials) { return most_workers / trials; }

// The place of the n-th bit that is set, from 0 on.
__device__ unsigned place_of_bit(unsigned word, unsigned n) {
  unsigned place = 0;
#pragma unroll
  for (unsigned half = 16; half > 0; half /= 2) {
    const unsigned below = __popc(word >> place & ((1u << half) - 1));
    if (n >= below) {
      n -= below;
      place += half;
    }
  }
  return place;
}

// The trial that share_of_better says is best, of which a lane each has the sum of masses.
__device__ unsigned best_of_lanes(double total, unsigned trials) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned high = lane < trials ? static_cast<unsigned>(__double2hiint(total)) : ~0u;
  const unsigned least = __reduce_min_sync(~0u, high);
  const unsigned near = __ballot_sync(~0u, high <= least + 1);
  if (__popc(near) == 1) return __ffs(static_cast<int>(near)) - 1;
  unsigned found = 0;
  double least_total = __builtin_huge_val();
#pragma unroll 1
  for (unsigned t = 0; t < trials; ++t) {
    const double of_trial = __shfl_sync(~0u, total, static_cast<int>(t));
    if (of_trial < least_total * share_of_better) {
      least_total = of_trial;
      found = t;
    }
  }
  return found;
}

// The sum of the lanes' numbers, none of which is negative, below 2^63: in three parts, which stay below 2^32.
__device__ unsigned long long sum_of_warp(unsigned long long value) {
  constexpr unsigned bits = 27, all = (1u << bits) - 1;
  const unsigned low = __reduce_add_sync(~0u, static_cast<unsigned>(value) & all);
  const unsigned middle = __reduce_add_sync(~0u, static_cast<unsigned>(value >> bits) & all);
  const unsigned high = __reduce_add_sync(~0u, static_cast<unsigned>(value >> 2 * bits));
  return low + (static_cast<unsigned long long>(middle) << bits) + (static_cast<unsigned long long>(high) << 2 * bits);
}

// Has a line of memory fetched that will be asked for soon.
__device__ void ask_for(const void* where) { asm volatile("prefetch.global.L1 [%0];" ::"l"(where)); }

// What the warp that leads tells the others.
struct ahead_orders {
  unsigned trials[most_ahead_trials];
  unsigned next;   // the first drawn row after them
  bool exhausted;  // too few are left for them
  unsigned chosen;
  bool ended;  // with the row that is chosen
};

template <bool Several, class Scalar, class Work>
__device__ void go_through_steps(const ahead_rows<Scalar, Work>& of) {
  constexpr unsigned shares = Several ? most_ahead_shares : 1;
  __shared__ ahead_orders orders;
  __shared__ unsigned hit_counts[most_ahead];
  __shared__ unsigned long long taken_by_warps[most_workers];
  __shared__ unsigned long long received[2][shares][most_ahead_trials];  // of even and of odd steps
  __shared__ unsigned long long sums_here[2];
  cuda::wait_for_predecessor();
  const ahead_state state = *of.state;
  if (state.ended != 0) return;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, share = Several ? cuda::rank_in_cluster() : 0;
  const unsigned trials = of.trials, parts = warps_of_trial(trials);
  const std::size_t first_row = std::size_t{share} * of.share_rows;
  const unsigned share_rows =
      first_row < of.count ? static_cast<unsigned>(min(std::size_t{of.share_rows}, of.count - first_row)) : 0;
  for (unsigned i = threadIdx.x; i < of.drawn; i += blockDim.x) hit_counts[i] = of.hit_counts[i * shares + share];
  if constexpr (Several) {
    if (threadIdx.x == 0) {
      for (unsigned long long& barrier : sums_here) cuda::make_barrier(&barrier, 1);
      cuda::publish_barriers();
    }
    __syncthreads();
    cuda::come_with_writes();
    cuda::wait_together();
  }
  // The sum of masses is below 2^(exponent + 1), and no sum of what trials take passes 2^61.
  const double scale = scalbn(1.0, min(60 - ilogb(state.total), 1000)), unit = 1 / scale;

  if (warp == 0) {
    double thresholds[most_of_lane], now[most_of_lane];
#pragma unroll
    for (unsigned i = 0; i < most_of_lane; ++i) {
      thresholds[i] = now[i] = 0;
      if (i * 32 < of.drawn) {
        thresholds[i] = of.thresholds[i * 32 + lane];
        now[i] = of.now[i * 32 + lane];
      }
    }
    double total = state.total;
    unsigned step = state.chosen, next = state.next;
    bool exhausted = false;
    for (unsigned turn = 0;; ++turn) {
      unsigned word = 0;  // a bit for each of 32 drawn rows, those that are still trials
#pragma unroll
      for (unsigned i = 0; i < most_of_lane; ++i) {
        if (i * 32 >= of.drawn) break;
        const unsigned kept = __ballot_sync(~0u, i * 32 + lane >= next && thresholds[i] < now[i]);
        if (lane == i) word = kept;
      }
      unsigned up_to = __popc(word);
#pragma unroll
      for (unsigned apart = 1; apart < most_of_lane; apart *= 2) {
        const unsigned before = __shfl_up_sync(~0u, up_to, apart);
        if (lane >= apart) up_to += before;
      }
      exhausted = __shfl_sync(~0u, up_to, most_of_lane - 1) < trials;
      // Lane t finds trial t.
      unsigned at = 0;
#pragma unroll
      for (unsigned half = most_of_lane / 2; half > 0; half /= 2) {
        const unsigned before = __shfl_sync(~0u, up_to, static_cast<int>(at + half - 1));
        if (lane >= before) at += half;
      }
      const unsigned of_word = __shfl_sync(~0u, word, static_cast<int>(at));
      const unsigned before = __shfl_sync(~0u, up_to, static_cast<int>(at)) - __popc(of_word);
      const unsigned trial = min(at * 32 + place_of_bit(of_word, lane - before), of.drawn - 1);
      if (lane < trials) orders.trials[lane] = trial;
      if (lane == 0) {
        orders.exhausted = exhausted;
        if (Several && !exhausted) {
          cuda::expect(&sums_here[turn % 2], trials * shares * sizeof(unsigned long long));
        }
      }
      if (!exhausted) next = __shfl_sync(~0u, trial, static_cast<int>(trials - 1)) + 1;
      if (lane == 0) orders.next = next;
      __syncthreads();  // orders
      if (exhausted) break;
      __syncthreads();  // sums of warps
      unsigned long long taken = 0;
      if (lane < trials) {
        for (unsigned part = 0; part < parts; ++part) taken += taken_by_warps[part * trials + lane];
      }
      if constexpr (Several) {
        for (unsigned i = lane; i < trials * shares; i += 32) {
          const unsigned t = i / shares, to = i % shares;
          unsigned long long of_trial = 0;
          for (unsigned part = 0; part < parts; ++part) of_trial += taken_by_warps[part * trials + t];
          cuda::send(&received[turn % 2][share][t], of_trial, &sums_here[turn % 2], to);
        }
        cuda::wait(&sums_here[turn % 2], turn / 2 % 2);
        taken = 0;
        if (lane < trials) {
#pragma unroll
          for (unsigned s = 0; s < shares; ++s) taken += received[turn % 2][s][lane];
        }
      }
      const double with = total - static_cast<double>(taken) * unit;
      const unsigned best = best_of_lanes(with, trials);
      total = __shfl_sync(~0u, with, static_cast<int>(best));
      const unsigned chosen = __shfl_sync(~0u, trial, static_cast<int>(best));
      const bool ended = ++step == of.clusters || !(total >= state.total * least_part);
      if (lane == 0) {
        orders.chosen = chosen;
        orders.ended = ended;
        if (share == 0) of.chosen[step - 1] = of.drawn_rows[chosen];
      }
      __syncthreads();  // the row that is chosen
#pragma unroll
      for (unsigned i = 0; i < most_of_lane; ++i) {
        if (i * 32 >= of.drawn) break;
        now[i] = fmin(now[i], static_cast<double>(of.pairs[chosen * of.drawn + i * 32 + lane]));
      }
      if (ended) break;
    }
    if (share == 0) {
#pragma unroll
      for (unsigned i = 0; i < most_of_lane; ++i) {
        if (i * 32 < of.drawn) of.now[i * 32 + lane] = now[i];
      }
      if (lane == 0) {
        of.state->chosen = step;
        of.state->next = next;
        of.state->exhausted = exhausted;
        if (step == of.clusters) of.state->ended = 1;
      }
    }
  } else {
    const unsigned worker = warp - 1, workers = blockDim.x / 32 - 1;
    const bool weighted = of.weights != nullptr || of.wide_weights != nullptr;
    Work* const least = of.least + first_row;
    const auto list_of = [&](unsigned drawn) { return of.hits + std::size_t{drawn * shares + share} * of.capacity; };
    // visit(row of the share, distance) for rows that are nearer to a drawn one than to all points before it was drawn,
    // by some threads.
    const auto for_hits = [&](unsigned drawn, unsigned thread, unsigned together, const auto& visit) {
      const unsigned count = hit_counts[drawn];
      if (count <= of.capacity) {
        const auto* const hits = list_of(drawn);
#pragma unroll 4
        for (unsigned i = thread; i < count; i += together) {
          const ahead_hit<Work> hit = hits[i];
          visit(hit.row, hit.distance);
        }
        return;
      }
      for (unsigned row = thread; row < share_rows; row += together) {
        const Work distance =
            squared_distance<2>(of.rows + (first_row + row) * of.columns,
                                static_cast<const Work*>(of.points + std::size_t{drawn} * of.columns), of.columns);
        visit(row, distance);
      }
    };
    const unsigned part = worker / trials, own = worker % trials;
    for (;;) {
      __syncthreads();  // orders
      if (orders.exhausted) break;
      const unsigned trial = orders.trials[own];
      unsigned long long taken = 0;
      for_hits(trial, part * 32 + lane, parts * 32, [&](unsigned row, Work distance) {
        const Work before = least[row];
        if (!(distance < before)) return;
        double less = static_cast<double>(before) - static_cast<double>(distance);
        if (weighted) {
          const double weight = ahead_weight(of, first_row + row);
          less = weight > 0 ? weight * less : 0.0;
        }
        taken += __double2ull_rn(less * scale);
      });
      taken = sum_of_warp(taken);
      if (lane == 0) taken_by_warps[worker] = taken;
      __syncthreads();  // sums of warps
      // What the leader asks for if this trial is chosen, and what probably comes next.
      constexpr unsigned line = 128;
      if (part == 0) {
        if (lane * line < of.drawn * sizeof(Work)) {
          ask_for(reinterpret_cast<const char*>(of.pairs + trial * of.drawn) + lane * line);
        }
        const unsigned coming = orders.next + own;
        if (coming < of.drawn && lane * line < hit_counts[coming] * sizeof(ahead_hit<Work>)) {
          ask_for(reinterpret_cast<const char*>(list_of(coming)) + lane * line);
        }
      }
      __syncthreads();  // the row that is chosen
      for_hits(orders.chosen, worker * 32 + lane, workers * 32, [&](unsigned row, Work distance) {
        if (distance < least[row]) least[row] = distance;
      });
      if (orders.ended) break;
    }
  }
  if constexpr (Several) {  // nobody leaves while others may still send to it
    __syncthreads();
    cuda::come_together();
    cuda::wait_together();
  }
}

template <bool Several, class Scalar, class Work>
__global__ void __launch_bounds__(most_threads, 1) steps_kernel(const __grid_constant__ ahead_rows<Scalar, Work> of) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // what has clusters
  go_through_steps<Several>(of);
#else
  if constexpr (!Several) go_through_steps<false>(of);
#endif
}

// A launch by a cluster, or of one block; it keeps pointers to itself.
struct steps_launch {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t configuration{};

  steps_launch(unsigned shares, unsigned trials, cudaStream_t stream) {
    configuration.gridDim = dim3(shares);
    configuration.blockDim = dim3((1 + warps_of_trial(trials) * trials) * 32);
    configuration.stream = stream;
    cuda::start_early(configuration, attributes[0]);
    if (shares == 1) return;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {shares, 1, 1};
    configuration.attrs = attributes;
    configuration.numAttrs = 2;
  }
  steps_launch(const steps_launch&) = delete;
};

}  // namespace

template <class Scalar, class Work>
unsigned ahead_shares(std::size_t rows) {
  if (rows <= most_rows_of_block) return 1;
  const auto kernel = steps_kernel<true, Scalar, Work>;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "allow large clusters");
  const steps_launch launch(most_ahead_shares, 1, nullptr);
  int running = 0;
  if (cudaOccupancyMaxActiveClusters(&running, kernel, &launch.configuration) != cudaSuccess) {
    cudaGetLastError();
    return 1;
  }
  return running > 0 ? most_ahead_shares : 1;
}

template <class Scalar, class Work>
void step_ahead(const ahead_rows<Scalar, Work>& of, cudaStream_t stream) {
  const steps_launch launch(of.shares, of.trials, stream);
  const auto kernel = of.shares > 1 ? steps_kernel<true, Scalar, Work> : steps_kernel<false, Scalar, Work>;
  cuda::check(cudaLaunchKernelEx(&launch.configuration, kernel, of), "choose among rows that were drawn ahead");
}

#define SHOAL_INSTANTIATE(Scalar, Work)                      \
  template unsigned ahead_shares<Scalar, Work>(std::size_t); \
  template void step_ahead(const ahead_rows<Scalar, Work>&, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
