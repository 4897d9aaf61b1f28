// A thread has a drawn row: it knows how near the nearest point is by now, and so whether the row is still a trial.
// Warps share the lists of a step's trials. What each trial takes from the sum of masses is summed in whole numbers, so
// that the order in which rows came into the lists does not show. Of many rows the blocks of a cluster have a share
// each, and send each other their sums.
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

constexpr unsigned threads = 1024, warps = threads / 32;
constexpr std::size_t most_rows_of_block = std::size_t{1} << 15;  // of more rows a cluster has shares
// Sums of differences are good until the sum of masses has fallen to such a part of what they began at.
constexpr double least_part = 0x1p-8;
static_assert(most_ahead <= threads && most_ahead_trials <= warps);

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

template <bool Several, class Scalar, class Work>
__device__ void go_through_steps(const ahead_rows<Scalar, Work>& of) {
  constexpr unsigned shares = Several ? most_ahead_shares : 1;
  __shared__ unsigned kept[warps];  // a bit for each drawn row that is still a trial
  __shared__ unsigned hit_counts[most_ahead];
  __shared__ unsigned long long drawn_rows[most_ahead];
  __shared__ unsigned long long sums_of_warps[warps];
  __shared__ unsigned long long received[2][shares][most_ahead_trials];  // of even and of odd steps
  __shared__ unsigned long long sums_here[2];
  __shared__ unsigned first_hits[most_ahead], hits_of_warps[warps];
  extern __shared__ __align__(16) unsigned char room[];
  cuda::wait_for_predecessor();
  const ahead_state state = *of.state;
  if (state.ended != 0) return;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, share = Several ? cuda::rank_in_cluster() : 0;
  const unsigned trials = of.trials, parts = warps / trials, part = warp / trials, own = warp % trials;
  const std::size_t first_row = std::size_t{share} * of.share_rows;
  const unsigned share_rows =
      first_row < of.count ? static_cast<unsigned>(min(std::size_t{of.share_rows}, of.count - first_row)) : 0;
  Work* const least_of_rows = of.least + first_row;
  // Distances and lists lie in shared memory, where they have room.
  const std::size_t least_bytes = (share_rows * sizeof(Work) + 15) / 16 * 16;
  const bool has_least = least_bytes <= of.step_room;
  Work* const least = has_least ? reinterpret_cast<Work*>(room) : least_of_rows;
  auto* const held_hits = reinterpret_cast<ahead_hit<Work>*>(room + (has_least ? least_bytes : 0));
  const std::size_t most_held = (of.step_room - (has_least ? least_bytes : 0)) / sizeof(ahead_hit<Work>);
  if (has_least) {
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < share_rows; i += threads) least[i] = least_of_rows[i];
  }
  double threshold = 0, now = 0;
  if (threadIdx.x < of.drawn) {
    threshold = of.thresholds[threadIdx.x];
    now = of.now[threadIdx.x];
    hit_counts[threadIdx.x] = of.hit_counts[threadIdx.x * shares + share];
    drawn_rows[threadIdx.x] = of.drawn_rows[threadIdx.x];
  }
  const auto list_of = [&](unsigned drawn) { return of.hits + std::size_t{drawn * shares + share} * of.capacity; };
  unsigned own_hits = threadIdx.x < of.drawn ? min(hit_counts[threadIdx.x], of.capacity) : 0, before_hits = own_hits;
#pragma unroll
  for (unsigned apart = 1; apart < 32; apart *= 2) {
    const unsigned before = __shfl_up_sync(~0u, before_hits, apart);
    if (lane >= apart) before_hits += before;
  }
  if (lane == 31) hits_of_warps[warp] = before_hits;
  __syncthreads();
  unsigned all_hits = 0;
  for (unsigned w = 0; w < warps; ++w) {
    if (w == warp) before_hits += all_hits;
    all_hits += hits_of_warps[w];
  }
  const bool has_hits = all_hits <= most_held;
  if (threadIdx.x < most_ahead) first_hits[threadIdx.x] = before_hits - own_hits;
  __syncthreads();
  if (has_hits) {
    for (unsigned drawn = warp; drawn < of.drawn; drawn += warps) {
      const auto* const from = list_of(drawn);
      const unsigned count = min(hit_counts[drawn], of.capacity), first = first_hits[drawn];
      for (unsigned i = lane; i < count; i += 32) held_hits[first + i] = from[i];
    }
  }
  if constexpr (Several) {
    if (threadIdx.x == 0) {
      for (unsigned long long& barrier : sums_here) cuda::make_barrier(&barrier, 1);
      cuda::publish_barriers();
    }
    __syncthreads();
    cuda::come_with_writes();
    cuda::wait_together();
  }
  // visit(row of the share, distance) for rows that are nearer to a drawn one than to all points before it was drawn,
  // by some threads.
  const auto for_hits = [&](unsigned drawn, unsigned thread, unsigned together, const auto& visit) {
    const unsigned count = hit_counts[drawn];
    if (count <= of.capacity) {
      const auto* const hits = has_hits ? held_hits + first_hits[drawn] : list_of(drawn);
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
  // The sum of masses is below 2^(exponent + 1), and no sum of what trials take passes 2^61.
  const double scale = scalbn(1.0, min(60 - ilogb(state.total), 1000)), unit = 1 / scale;
  const bool weighted = of.weights != nullptr || of.wide_weights != nullptr;

  double total = state.total;
  unsigned step = state.chosen, next = state.next, exhausted = 0;
  for (unsigned turn = 0;; ++turn) {
    const bool is_kept = threadIdx.x >= next && threadIdx.x < of.drawn && threshold < now;
    const unsigned of_warp = __ballot_sync(~0u, is_kept);
    if (lane == 0) kept[warp] = of_warp;
    if (Several && threadIdx.x == 0) cuda::expect(&sums_here[turn % 2], trials * shares * sizeof(unsigned long long));
    __syncthreads();
    // Lane t finds trial t.
    const unsigned word = kept[lane];
    unsigned up_to = __popc(word);
#pragma unroll
    for (unsigned apart = 1; apart < most_ahead / 32; apart *= 2) {
      const unsigned before = __shfl_up_sync(~0u, up_to, apart);
      if (lane >= apart) up_to += before;
    }
    if (__shfl_sync(~0u, up_to, most_ahead / 32 - 1) < trials) {
      exhausted = 1;
      break;
    }
    unsigned at = 0;
#pragma unroll
    for (unsigned half = most_ahead / 64; half > 0; half /= 2) {
      const unsigned before = __shfl_sync(~0u, up_to, static_cast<int>(at + half - 1));
      if (lane >= before) at += half;
    }
    const unsigned of_word = __shfl_sync(~0u, word, static_cast<int>(at));
    const unsigned before = __shfl_sync(~0u, up_to, static_cast<int>(at)) - __popc(of_word);
    const unsigned trial = min(at * 32 + place_of_bit(of_word, lane - before), of.drawn - 1);
    next = __shfl_sync(~0u, trial, static_cast<int>(trials - 1)) + 1;

    unsigned long long taken = 0;
    if (part < parts) {
      const unsigned of_warp_trial = __shfl_sync(~0u, trial, static_cast<int>(own));
      constexpr unsigned line = 128;
      if (part == 0 && lane * line < of.drawn * sizeof(Work)) {
        ask_for(reinterpret_cast<const char*>(of.pairs + of_warp_trial * of.drawn) + lane * line);
      }
      for_hits(of_warp_trial, part * 32 + lane, parts * 32, [&](unsigned row, Work distance) {
        const Work before_it = least[row];
        if (!(distance < before_it)) return;
        double less = static_cast<double>(before_it) - static_cast<double>(distance);
        if (weighted) {
          const double weight = ahead_weight(of, first_row + row);
          less = weight > 0 ? weight * less : 0.0;
        }
        taken += __double2ull_rn(less * scale);
      });
      taken = sum_of_warp(taken);
    }
    if (lane == 0) sums_of_warps[warp] = taken;
    __syncthreads();
    unsigned long long sum = 0;
    if (lane < trials) {
      for (unsigned p = 0; p < parts; ++p) sum += sums_of_warps[p * trials + lane];
    }
    if constexpr (Several) {
      if (warp < trials) {
        const unsigned long long of_trial = __shfl_sync(~0u, sum, static_cast<int>(warp));
        if (lane < shares) cuda::send(&received[turn % 2][share][warp], of_trial, &sums_here[turn % 2], lane);
      }
      cuda::wait(&sums_here[turn % 2], turn / 2 % 2);
      sum = 0;
      if (lane < trials) {
#pragma unroll
        for (unsigned s = 0; s < shares; ++s) sum += received[turn % 2][s][lane];
      }
    }
    const double with = total - static_cast<double>(sum) * unit;
    const unsigned best = best_of_lanes(with, trials);
    total = __shfl_sync(~0u, with, static_cast<int>(best));
    const unsigned chosen = __shfl_sync(~0u, trial, static_cast<int>(best));
    if (share == 0 && threadIdx.x == 0) of.chosen[step] = drawn_rows[chosen];
    for_hits(chosen, threadIdx.x, threads, [&](unsigned row, Work distance) {
      if (!(distance < least[row])) return;
      least[row] = distance;
      if (has_least) least_of_rows[row] = distance;
    });
    if (threadIdx.x < of.drawn) now = fmin(now, static_cast<double>(of.pairs[chosen * of.drawn + threadIdx.x]));
    if (++step == of.clusters || !(total >= state.total * least_part)) break;
  }
  if (share == 0) {
    if (threadIdx.x < of.drawn) of.now[threadIdx.x] = now;
    if (threadIdx.x == 0) {
      of.state->chosen = step;
      of.state->next = next;
      of.state->exhausted = exhausted;
      if (step == of.clusters) of.state->ended = 1;
    }
  }
  if constexpr (Several) {  // nobody leaves while others may still send to it
    cuda::come_together();
    cuda::wait_together();
  }
}

template <bool Several, class Scalar, class Work>
__global__ void __launch_bounds__(threads, 1) steps_kernel(const __grid_constant__ ahead_rows<Scalar, Work> of) {
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

  steps_launch(unsigned shares, std::size_t bytes, cudaStream_t stream) {
    configuration.gridDim = dim3(shares);
    configuration.blockDim = dim3(threads);
    configuration.dynamicSmemBytes = bytes;
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

void let_have_shared(auto* kernel, std::size_t bytes) {
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "give a kernel shared memory");
}

}  // namespace

template <class Scalar, class Work>
unsigned ahead_shares(std::size_t rows, std::size_t bytes) {
  if (rows <= most_rows_of_block) return 1;
  const auto kernel = steps_kernel<true, Scalar, Work>;
  let_have_shared(kernel, bytes);
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "allow large clusters");
  const steps_launch launch(most_ahead_shares, bytes, nullptr);
  int running = 0;
  if (cudaOccupancyMaxActiveClusters(&running, kernel, &launch.configuration) != cudaSuccess) {
    cudaGetLastError();
    return 1;
  }
  return running > 0 ? most_ahead_shares : 1;
}

template <class Scalar, class Work>
void step_ahead(const ahead_rows<Scalar, Work>& of, cudaStream_t stream) {
  const steps_launch launch(of.shares, of.step_room, stream);
  const auto kernel = of.shares > 1 ? steps_kernel<true, Scalar, Work> : steps_kernel<false, Scalar, Work>;
  let_have_shared(kernel, of.step_room);
  cuda::check(cudaLaunchKernelEx(&launch.configuration, kernel, of), "choose among rows that were drawn ahead");
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                   \
  template unsigned ahead_shares<Scalar, Work>(std::size_t, std::size_t); \
  template void step_ahead(const ahead_rows<Scalar, Work>&, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
