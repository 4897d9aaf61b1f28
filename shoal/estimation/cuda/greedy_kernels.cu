#include <cuda_runtime.h>

#include <shoal/estimation/cuda/coarse_kernels.hpp>
#include <shoal/estimation/cuda/coarse_rows.cuh>
#include <shoal/estimation/cuda/greedy_kernels.hpp>
#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/plan.hpp>

namespace shoal {
namespace {

// One thread for each row of a block of rows.
constexpr unsigned threads = block_rows, warps = threads / 32;

template <class Scalar>
__device__ double mass_of(const Scalar* weights, std::size_t row, double least) {
  const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[row]);
  return weight > 0 ? weight * least : 0.0;
}

// All threads of a block copy a row to where points are.
template <class Scalar, class Work>
__device__ void place_point(const greedy_state<Scalar, Work>& state, const greedy_points<Work>& to, unsigned slot,
                            std::size_t row) {
  for (std::size_t j = threadIdx.x; j < state.columns; j += blockDim.x) {
    to.values[slot * state.columns + j] = static_cast<Work>(state.rows[row * state.columns + j]);
  }
  const std::size_t pitch = state.coarse.pitch;
  for (std::size_t j = threadIdx.x; j < pitch / 16; j += blockDim.x) {
    reinterpret_cast<int4*>(to.coarse.values + slot * pitch)[j] =
        reinterpret_cast<const int4*>(state.coarse.values + row * pitch)[j];
  }
  if (threadIdx.x > 0) return;
  to.coarse.bounds[slot].norm = state.coarse.bounds[row].norm;
  to.coarse.errors[slot] = state.coarse.errors[row];
  to.indices[slot] = row;
}

template <class Scalar, class Work>
__global__ void __launch_bounds__(threads) first_kernel(greedy_state<Scalar, Work> state, std::size_t row) {
  place_point(state, state.points[0], 0, row);
  place_point(state, state.points[0], 1, row);
}

template <class Work>
__global__ void __launch_bounds__(threads) begin_kernel(Work* least, std::size_t count) {
  const std::size_t row = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (row < count) least[row] = static_cast<Work>(__builtin_huge_val());
}

template <int step_columns, int Tiles, class Scalar, class Work>
__global__ void __launch_bounds__(threads)
    trial_kernel(greedy_state<Scalar, Work> state, unsigned parity, unsigned trials) {
  __shared__ double sums[most_greedy_points][warps];
  cuda::wait_for_predecessor();
  if (state.done[1] != 0) return;
  const greedy_points<Work>& points = state.points[parity];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t row = std::size_t{blockIdx.x} * threads + threadIdx.x, first = row - lane;
  const bool inside = row < state.count;
  double& kept = state.warp_sums[std::size_t{blockIdx.x} * warps + warp];
  double sum = kept;
  const coarse_rows& coarse = state.coarse;
  unsigned near = points_within_reach<step_columns, Tiles>(coarse.values + first * coarse.pitch, coarse.bounds[row],
                                                           inside, points.coarse);
  near &= (2u << trials) - 1;
  const unsigned any = __reduce_or_sync(~0u, near);
  if (any == 0) {
    if (lane < trials) sums[lane][warp] = sum;
  } else {
    const Scalar* const mine = state.rows + row * state.columns;
    Work least = inside ? state.least[row] : Work{0};
    if (any & 1) {
      bool nearer = false;
      if (near & 1) {
        const Work distance = squared_distance(mine, points.values, state.columns);
        nearer = distance < least;
        if (nearer) {
          least = distance;
          state.least[row] = distance;
          coarse.bounds[row].reach = reach_of(distance, coarse.errors[row], state.scale.unit, state.columns);
        }
      }
      if (__any_sync(~0u, nearer)) {
        sum = cuda::warp_sum(inside ? mass_of(state.weights, row, static_cast<double>(least)) : 0.0);
        if (lane == 0) kept = sum;
      }
    }
    for (unsigned t = 1; t <= trials; ++t) {
      double with = sum;
      if (any >> t & 1) {
        Work distance = least;
        if (near >> t & 1) distance = squared_distance(mine, points.values + t * state.columns, state.columns);
        const bool nearer = distance < least;
        if (__any_sync(~0u, nearer)) {
          const Work smaller = nearer ? distance : least;
          with = cuda::warp_sum(inside ? mass_of(state.weights, row, static_cast<double>(smaller)) : 0.0);
        }
      }
      if (lane == 0) sums[t - 1][warp] = with;
    }
  }
  __syncthreads();
  if (threadIdx.x >= trials) return;
  double total = 0;
  for (unsigned w = 0; w < warps; ++w) total += sums[threadIdx.x][w];
  state.sums[threadIdx.x * state.units + blockIdx.x] = total;
}

// Where a draw falls among the 32 masses of a warp's lanes, of which `through` is the mass before the first: the last
// lane of positive mass that begins at most at the target. `before` is the mass before that lane.
__device__ int draw_lane(double mass, double through, double target, double& before) {
  const unsigned lane = threadIdx.x % 32;
  double sum = 0, mine = 0;
#pragma unroll
  for (unsigned other = 0; other < 32; ++other) {
    if (other == lane) mine = sum;
    sum += __shfl_sync(~0u, mass, other);
  }
  const unsigned positive = __ballot_sync(~0u, mass > 0);
  const unsigned reached = __ballot_sync(~0u, mass > 0 && through + mine <= target);
  if (positive == 0) return -1;
  const int found = reached != 0 ? 31 - __clz(static_cast<int>(reached)) : __ffs(static_cast<int>(positive)) - 1;
  before = through + __shfl_sync(~0u, mine, found);
  return found;
}

// The same among groups, by one thread. Sums of groups in order.
__device__ int draw_of_groups(const double* sums, unsigned groups, double through, double target, double& before) {
  int found = -1;
  for (unsigned g = 0; g < groups; ++g) {
    const double sum = sums[g];
    if (sum > 0 && (found < 0 || through <= target)) {
      found = static_cast<int>(g);
      before = through;
    }
    through += sum;
  }
  return found;
}

// Block 0 keeps the winner; block t draws trial t of the next step.
template <class Scalar, class Work>
__global__ void __launch_bounds__(threads)
    draw_kernel(greedy_state<Scalar, Work> state, std::size_t step, unsigned trials, unsigned next_trials) {
  static_assert(draw_group == 32 && warps <= 32);
  extern __shared__ double group_sums[];  // [trials][groups]
  __shared__ double totals[most_greedy_points];
  __shared__ double row_sums[warps];
  __shared__ double before, target;
  __shared__ int best, place, drawn;
  cuda::wait_for_predecessor();
  // Not what a block of this launch says: that would take threads of other blocks away as they go, or block 0's choice.
  if (state.done[1] != 0 && state.done[1] <= step) return;
  const std::size_t units = state.units;
  const auto groups = static_cast<unsigned>((units + draw_group - 1) / draw_group);
  for (unsigned i = threadIdx.x; i < trials * groups; i += threads) {
    const unsigned t = i / groups, g = i % groups;
    const double* const from = state.sums + t * units;
    double sum = 0;
    if ((g + 1) * draw_group <= units) {
#pragma unroll
      for (unsigned u = 0; u < draw_group; ++u) sum += from[g * draw_group + u];
    } else {
      for (std::size_t u = g * draw_group; u < units; ++u) sum += from[u];
    }
    group_sums[i] = sum;
  }
  __syncthreads();
  if (threadIdx.x < trials) {
    double total = 0;
#pragma unroll 8
    for (unsigned g = 0; g < groups; ++g) total += group_sums[threadIdx.x * groups + g];
    totals[threadIdx.x] = total;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    best = 0;
    double least = __builtin_huge_val();
    for (unsigned t = 0; t < trials; ++t) {
      if (totals[t] < least * share_of_better) {
        least = totals[t];
        best = static_cast<int>(t);
      }
    }
    const double total = totals[best];
    const bool there = total > 0 && total * 0 == 0;
    drawn = there && next_trials > 0 ? 0 : -1;
    if (blockIdx.x == 0) {
      state.chosen[step] = state.points[step % 2].indices[best + 1];
      state.done[0] = static_cast<unsigned>(step) + 1;
      if (!there) state.done[1] = static_cast<unsigned>(step) + 1;
    } else if (there) {
      target = state.uniforms[step * next_trials + blockIdx.x - 1] * total;
      place = draw_of_groups(group_sums + best * groups, groups, 0, target, before);
    }
  }
  __syncthreads();
  if (drawn < 0) return;
  const greedy_points<Work>& now = state.points[step % 2];
  const greedy_points<Work>& next = state.points[(step + 1) % 2];
  if (blockIdx.x == 0) {
    place_point(state, next, 0, now.indices[best + 1]);
    return;
  }
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const double goal = target;
  double reached = 0;
  int found = 0;
  if (warp == 0) {
    const std::size_t unit = static_cast<std::size_t>(place) * draw_group + lane;
    found = draw_lane(unit < units ? state.sums[best * units + unit] : 0.0, before, goal, reached);
  }
  __syncthreads();  // all have read what the first one changes: `target` comes with `before`, `best` with `place`
  if (threadIdx.x == 0) {
    place = place * static_cast<int>(draw_group) + found;
    before = reached;
  }
  __syncthreads();
  // The unit's rows, which do not know the winner yet.
  const std::size_t row = static_cast<std::size_t>(place) * threads + threadIdx.x;
  double mass = 0;
  if (row < state.count) {
    const Work least = state.least[row];
    const Work distance =
        squared_distance(state.rows + row * state.columns, now.values + (best + 1) * state.columns, state.columns);
    mass = mass_of(state.weights, row, static_cast<double>(distance < least ? distance : least));
  }
  double sum = 0;
#pragma unroll
  for (unsigned other = 0; other < 32; ++other) sum += __shfl_sync(~0u, mass, other);
  if (lane == 0) row_sums[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) drawn = draw_of_groups(row_sums, warps, before, goal, before);
  __syncthreads();
  if (drawn < 0) {  // rows of no mass
    if (threadIdx.x == 0) state.done[1] = static_cast<unsigned>(step) + 1;
    return;
  }
  const int chosen_warp = drawn;
  __syncthreads();
  if (static_cast<int>(warp) == chosen_warp) {
    const int of_warp = draw_lane(mass, before, goal, reached);
    if (lane == 0) drawn = of_warp;
  }
  __syncthreads();
  place_point(state, next, blockIdx.x,
              static_cast<std::size_t>(place) * threads + static_cast<std::size_t>(chosen_warp * 32 + drawn));
}

}  // namespace

std::size_t greedy_shared_bytes(std::size_t units, unsigned trials) {
  return (units + draw_group - 1) / draw_group * trials * sizeof(double);
}

template <class Scalar, class Work>
void begin_greedy(const greedy_state<Scalar, Work>& state, std::size_t first, cudaStream_t stream) {
  coarsen(state.rows, state.scale, state.coarse, state.units * block_rows, stream);
  begin_kernel<<<static_cast<unsigned>(state.units), threads, 0, stream>>>(state.least, state.count);
  cuda::check_launch("begin greedy k-means++");
  first_kernel<<<1, threads, 0, stream>>>(state, first);
  cuda::check_launch("place the first point");
}

template <class Scalar, class Work>
void greedy_step(const greedy_state<Scalar, Work>& state, std::size_t step, unsigned trials, unsigned next_trials,
                 cudaStream_t stream) {
  const bool narrow = state.coarse.pitch % 32 != 0, few = trials < 8;
  const auto measure = narrow ? (few ? trial_kernel<16, 1, Scalar, Work> : trial_kernel<16, 2, Scalar, Work>)
                              : (few ? trial_kernel<32, 1, Scalar, Work> : trial_kernel<32, 2, Scalar, Work>);
  cuda::launch_in_turn(measure, static_cast<unsigned>(state.units), threads, 0, stream, state,
                       static_cast<unsigned>(step % 2), trials);
  cuda::launch_in_turn(draw_kernel<Scalar, Work>, 1 + next_trials, threads, greedy_shared_bytes(state.units, trials),
                       stream, state, step, trials, next_trials);
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                                     \
  template void begin_greedy(const greedy_state<Scalar, Work>&, std::size_t, cudaStream_t); \
  template void greedy_step(const greedy_state<Scalar, Work>&, std::size_t, unsigned, unsigned, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
