#include <cuda_runtime.h>

#include <type_traits>

#include <shoal/estimation/cuda/coarse_kernels.hpp>
#include <shoal/estimation/cuda/coarse_rows.cuh>
#include <shoal/estimation/cuda/draw_lanes.cuh>
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

// Distances that a warp's rows are in doubt about: few of them, each measured by a lane of its own, so that the warp
// waits for memory once.
template <class Work>
struct doubtful_pairs {
  static constexpr unsigned most = 64;
  unsigned short pairs[most];  // a point's number times 32, and the lane of the row
  Work distances[most];

  // `near` has a bit for each point that may matter to the lane's row, `any` those of all lanes, `count` bits in all.
  template <class Scalar>
  __device__ void measure(unsigned near, unsigned any, unsigned count, const Scalar* rows, const Work* points,
                          std::size_t columns) {
    const unsigned lane = threadIdx.x % 32;
    unsigned first = 0;
    for (unsigned left = any; left != 0; left &= left - 1) {
      const unsigned t = __ffs(static_cast<int>(left)) - 1;
      const unsigned of_point = __ballot_sync(~0u, near >> t & 1);
      if (near >> t & 1) pairs[place(first, of_point)] = static_cast<unsigned short>(t * 32 + lane);
      first += __popc(of_point);
    }
    __syncwarp();
    for (unsigned i = lane; i < count; i += 32) {
      const unsigned t = pairs[i] / 32, row = pairs[i] % 32;
      distances[i] = squared_distance<8>(rows + row * columns, points + t * columns, columns);
    }
    __syncwarp();
  }
  // Where a lane's row is among those of a point, the first of which is at `first`.
  static __device__ unsigned place(unsigned first, unsigned of_point) {
    return first + __popc(of_point & ((1u << threadIdx.x % 32) - 1));
  }
};

// Threads of a block that measures trials. Of many rows a block is few warps, none of which waits for another: most
// have no row that a trial is near, and would wait for the few that have. Of few rows a block is a unit.
enum class trial_block : unsigned { few_warps = 128, unit = threads };
constexpr unsigned resident_trial_threads = 1024;  // of a multiprocessor, for whose registers kernels are compiled

template <int step_columns, int Tiles, trial_block Block, class Scalar, class Work>
__global__ void __launch_bounds__(static_cast<unsigned>(Block), resident_trial_threads / static_cast<unsigned>(Block))
    trial_kernel(greedy_state<Scalar, Work> state, unsigned parity, unsigned trials) {
  constexpr unsigned block_threads = static_cast<unsigned>(Block), block_warps = block_threads / 32;
  __shared__ doubtful_pairs<Work> doubtful[block_warps];
  cuda::wait_for_predecessor();
  const unsigned ended = state.done[1];  // looked at below, when it is there
  const greedy_points<Work>& points = state.points[parity];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t row = std::size_t{blockIdx.x} * block_threads + threadIdx.x, first = row - lane;
  const bool inside = row < state.count;
  double& kept = state.warp_sums[first / 32];
  double sum = kept;
  const coarse_rows& coarse = state.coarse;
  unsigned near = points_within_reach<step_columns, Tiles>(coarse.values + first * coarse.pitch, coarse.bounds[row],
                                                           inside, points.coarse);
  if (ended != 0) return;
  near &= (2u << trials) - 1;
  const unsigned any = __reduce_or_sync(~0u, near);
  double of_trial = sum;  // of that with the lane's number
  if (any != 0) {
    const Scalar* const mine = state.rows + row * state.columns;
    Work least = inside ? state.least[row] : Work{0};
    const unsigned count = __reduce_add_sync(~0u, static_cast<unsigned>(__popc(near)));
    const bool together = count <= doubtful_pairs<Work>::most;
    if (together)
      doubtful[warp].measure(near, any, count, state.rows + first * state.columns, points.values, state.columns);
    unsigned measured = 0;
    // Of the points in order, each once.
    const auto distance_to = [&](unsigned t) {
      const bool wanted = near >> t & 1;
      Work distance = least;
      if (together) {
        const unsigned of_point = __ballot_sync(~0u, wanted);
        if (wanted) distance = doubtful[warp].distances[doubtful_pairs<Work>::place(measured, of_point)];
        measured += __popc(of_point);
      } else if (wanted) {
        distance = squared_distance(mine, points.values + t * state.columns, state.columns);
      }
      return distance;
    };
    if (any & 1) {
      const Work distance = distance_to(0);
      const bool nearer = distance < least;
      if (nearer) {
        least = distance;
        state.least[row] = distance;
        coarse.bounds[row].reach = reach_of(distance, coarse.errors[row], state.scale.unit, state.columns);
      }
      if (__any_sync(~0u, nearer)) {
        sum = cuda::warp_sum(inside ? mass_of(state.weights, row, static_cast<double>(least)) : 0.0);
        if (lane == 0) kept = sum;
        of_trial = sum;
      }
    }
    for (unsigned left = any & ~1u; left != 0; left &= left - 1) {
      const unsigned t = __ffs(static_cast<int>(left)) - 1;
      const Work distance = distance_to(t);
      const bool nearer = distance < least;
      if (!__any_sync(~0u, nearer)) continue;
      const Work smaller = nearer ? distance : least;
      const double with = cuda::warp_sum(inside ? mass_of(state.weights, row, static_cast<double>(smaller)) : 0.0);
      if (lane == t - 1) of_trial = with;
    }
  }
  if constexpr (Block == trial_block::unit) {
    __shared__ double sums[most_greedy_points][warps];
    if (lane < trials) sums[lane][warp] = of_trial;
    __syncthreads();
    if (threadIdx.x >= trials) return;
    double total = 0;
    for (unsigned w = 0; w < warps; ++w) total += sums[threadIdx.x][w];
    state.sums[std::size_t{blockIdx.x} * most_greedy_points + threadIdx.x] = total;
  } else {
    if (lane < trials) state.trial_sums[first / 32 * most_greedy_points + lane] = of_trial;
  }
}

// Those of a unit's warps, in order, and those of a group of units: a block for each group.
template <class Scalar, class Work>
__global__ void __launch_bounds__(threads) sum_units_kernel(greedy_state<Scalar, Work> state, unsigned trials) {
  static_assert(draw_group * most_greedy_points == threads);
  __shared__ double sums[draw_group][most_greedy_points];
  const unsigned t = threadIdx.x % most_greedy_points, unit_of_group = threadIdx.x / most_greedy_points;
  const std::size_t unit = std::size_t{blockIdx.x} * draw_group + unit_of_group;
  cuda::wait_for_predecessor();
  double total = 0;
  if (unit < state.units && t < trials) {
    const double* const of_warps = state.trial_sums + unit * warps * most_greedy_points + t;
    double of_warp[warps];
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) of_warp[w] = of_warps[w * most_greedy_points];
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) total += of_warp[w];
    state.sums[unit * most_greedy_points + t] = total;
  }
  sums[unit_of_group][t] = total;
  __syncthreads();
  if (threadIdx.x >= trials) return;
  double of_units[draw_group], of_group = 0;
#pragma unroll
  for (unsigned u = 0; u < draw_group; ++u) of_units[u] = sums[u][threadIdx.x];
#pragma unroll
  for (unsigned u = 0; u < draw_group; ++u) of_group += of_units[u];
  state.group_sums[std::size_t{blockIdx.x} * most_greedy_points + threadIdx.x] = of_group;
}

// What a draw needs of each trial's masses, group by group: in shared memory.
struct drawn_groups {
  unsigned trials, groups;
  double* through;     // [groups][trials] the mass of a group, and then that before it
  unsigned* positive;  // [words][trials] whether a group has any, a bit each

  __host__ __device__ unsigned words() const { return (groups + 31) / 32; }
  __host__ __device__ std::size_t bytes() const {
    return std::size_t{trials} * (groups * sizeof(double) + words() * sizeof(unsigned));
  }

  // `of_groups`: what sum_units_kernel() has found; null: units' masses are summed here.
  __device__ void sum_groups(const double* sums, const double* of_groups, std::size_t units) {
    for (unsigned i = threadIdx.x; i < groups * most_greedy_points; i += threads) {
      const unsigned t = i % most_greedy_points, g = i / most_greedy_points;
      if (t >= trials) continue;
      if (of_groups != nullptr) {
        through[g * trials + t] = of_groups[i];
        continue;
      }
      double masses[draw_group], sum = 0;
#pragma unroll
      for (unsigned u = 0; u < draw_group; ++u) {
        const std::size_t unit = std::size_t{g} * draw_group + u;
        masses[u] = unit < units ? sums[unit * most_greedy_points + t] : 0.0;
      }
#pragma unroll
      for (unsigned u = 0; u < draw_group; ++u) sum += masses[u];
      through[g * trials + t] = sum;
    }
  }

  // Of one trial, by one thread.
  __device__ double sum_all(unsigned t) {
    double total = 0;
    for (unsigned word = 0; word < words(); ++word) {
      // All are asked for before the first is written.
      double masses[32];
#pragma unroll
      for (unsigned i = 0; i < 32; ++i) {
        const unsigned g = word * 32 + i;
        masses[i] = g < groups ? through[g * trials + t] : 0.0;
      }
      unsigned bits = 0;
#pragma unroll
      for (unsigned i = 0; i < 32; ++i) {
        const unsigned g = word * 32 + i;
        if (g < groups) through[g * trials + t] = total;
        if (masses[i] > 0) bits |= 1u << i;
        total += masses[i];
      }
      positive[word * trials + t] = bits;
    }
    return total;
  }

  // As draw_lane(), by one warp.
  __device__ int draw(unsigned t, double target, double& before) const {
    int found = -1, first = -1;
    for (unsigned word = 0; word < words(); ++word) {
      const unsigned g = word * 32 + threadIdx.x % 32, there = positive[word * trials + t];
      const unsigned reached = __ballot_sync(~0u, g < groups && through[g * trials + t] <= target) & there;
      const int base = static_cast<int>(word * 32);
      if (first < 0 && there != 0) first = base + __ffs(static_cast<int>(there)) - 1;
      if (reached != 0) found = base + 31 - __clz(static_cast<int>(reached));
    }
    if (found < 0) found = first;
    if (found >= 0) before = through[static_cast<unsigned>(found) * trials + t];
    return found;
  }
};

drawn_groups groups_of(std::size_t units, unsigned trials) {
  return {trials, static_cast<unsigned>((units + draw_group - 1) / draw_group), nullptr, nullptr};
}

// Block 0 keeps the winner; block t draws trial t of the next step.
template <class Scalar, class Work>
__global__ void __launch_bounds__(threads)
    draw_kernel(greedy_state<Scalar, Work> state, std::size_t step, drawn_groups groups, unsigned next_trials) {
  static_assert(draw_group == 32 && warps <= 32);
  extern __shared__ double shared[];
  __shared__ double totals[most_greedy_points];
  __shared__ double row_sums[warps];
  __shared__ double unit_before;
  __shared__ int unit_drawn, row_drawn;
  groups.through = shared;
  groups.positive = reinterpret_cast<unsigned*>(shared + std::size_t{groups.trials} * groups.groups);
  double uniform = 0;
  if (blockIdx.x > 0) uniform = state.uniforms[step * next_trials + blockIdx.x - 1];
  cuda::wait_for_predecessor();
  // Not what a block of this launch says: that would take threads of other blocks away as they go, or block 0's choice.
  if (state.done[1] != 0 && state.done[1] <= step) return;
  groups.sum_groups(state.sums, state.group_sums, state.units);
  __syncthreads();
  if (threadIdx.x < groups.trials) totals[threadIdx.x] = groups.sum_all(threadIdx.x);
  __syncthreads();
  unsigned best = 0;
  double least = __builtin_huge_val();
  for (unsigned t = 0; t < groups.trials; ++t) {
    if (totals[t] < least * share_of_better) {
      least = totals[t];
      best = t;
    }
  }
  const double total = totals[best];
  const bool there = total > 0 && total * 0 == 0;
  const greedy_points<Work>& now = state.points[step % 2];
  const greedy_points<Work>& next = state.points[(step + 1) % 2];
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      state.chosen[step] = now.indices[best + 1];
      state.done[0] = static_cast<unsigned>(step) + 1;
      if (!there) state.done[1] = static_cast<unsigned>(step) + 1;
    }
    if (there && next_trials > 0) place_point(state, next, 0, now.indices[best + 1]);
    return;
  }
  if (!there) return;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const double target = uniform * total;
  if (warp == 0) {
    double group_before = 0, before = 0;
    const auto unit = static_cast<std::size_t>(groups.draw(best, target, group_before)) * draw_group;
    const bool within = unit + lane < state.units;
    const double mass = within ? state.sums[(unit + lane) * most_greedy_points + best] : 0.0;
    const int found = draw_lane(mass, lane_sums(mass, 0).before, group_before, target, before);
    if (lane == 0) {
      unit_drawn = static_cast<int>(unit) + found;
      unit_before = before;
    }
  }
  __syncthreads();
  // The unit's rows, which do not know the winner yet.
  const std::size_t row = static_cast<std::size_t>(unit_drawn) * threads + threadIdx.x;
  double mass = 0;
  if (row < state.count) {
    const Work least_before = state.least[row];
    const Work distance =
        squared_distance<8>(state.rows + row * state.columns, now.values + (best + 1) * state.columns, state.columns);
    mass = mass_of(state.weights, row, static_cast<double>(distance < least_before ? distance : least_before));
  }
  const lane_sums of_rows(mass, 0);
  if (lane == 0) row_sums[warp] = of_rows.all;
  __syncthreads();
  double warp_before = 0, row_before = 0;
  const double of_warp = lane < warps ? row_sums[lane] : 0.0;
  const int drawn = draw_lane(of_warp, lane_sums(of_warp, unit_before).before, 0, target, warp_before);
  if (drawn < 0) {  // rows of no mass
    if (threadIdx.x == 0) state.done[1] = static_cast<unsigned>(step) + 1;
    return;
  }
  if (static_cast<int>(warp) == drawn) {
    const int of_lane = draw_lane(mass, of_rows.before, warp_before, target, row_before);
    if (lane == 0) row_drawn = drawn * 32 + of_lane;
  }
  __syncthreads();
  place_point(state, next, blockIdx.x,
              static_cast<std::size_t>(unit_drawn) * threads + static_cast<std::size_t>(row_drawn));
}

}  // namespace

std::size_t greedy_shared_bytes(std::size_t units, unsigned trials) { return groups_of(units, trials).bytes(); }

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
  const drawn_groups groups = groups_of(state.units, trials);
  const auto measure = [&](auto block) {
    constexpr trial_block Block = decltype(block)::value;
    constexpr unsigned block_threads = static_cast<unsigned>(Block);
    const bool narrow = state.coarse.pitch % 32 != 0, few = trials < 8;
    const auto kernel =
        narrow ? (few ? trial_kernel<16, 1, Block, Scalar, Work> : trial_kernel<16, 2, Block, Scalar, Work>)
               : (few ? trial_kernel<32, 1, Block, Scalar, Work> : trial_kernel<32, 2, Block, Scalar, Work>);
    cuda::launch_in_turn(kernel, static_cast<unsigned>(state.units * (threads / block_threads)), block_threads, 0,
                         stream, state, static_cast<unsigned>(step % 2), trials);
  };
  if (sizeof(Work) != 4 || state.trial_sums == nullptr) {
    measure(std::integral_constant<trial_block, trial_block::unit>());
  } else if constexpr (sizeof(Work) == 4) {
    measure(std::integral_constant<trial_block, trial_block::few_warps>());
    cuda::launch_in_turn(sum_units_kernel<Scalar, Work>, groups.groups, threads, 0, stream, state, trials);
  }
  cuda::launch_in_turn(draw_kernel<Scalar, Work>, 1 + next_trials, threads, groups.bytes(), stream, state, step, groups,
                       next_trials);
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                                     \
  template void begin_greedy(const greedy_state<Scalar, Work>&, std::size_t, cudaStream_t); \
  template void greedy_step(const greedy_state<Scalar, Work>&, std::size_t, unsigned, unsigned, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
