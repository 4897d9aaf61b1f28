#include <shoal/estimation/cuda/ahead_draws.hpp>

#include <cuda_runtime.h>

#include <shoal/estimation/cuda/draw_lanes.cuh>
#include <shoal/estimation/cuda/trial_masses.cuh>
#include <shoal/estimation/cuda/warp_sums.cuh>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>

namespace shoal {
namespace {

constexpr unsigned draw_threads = 256, draw_warps = draw_threads / 32;
constexpr unsigned tile_warps = ahead_tile / 32;

template <class Scalar, class Work>
__device__ double mass_of(const ahead_rows<Scalar, Work>& of, std::size_t row) {
  if (row >= of.count) return 0;
  const double weight = ahead_weight(of, row);
  return weight > 0 ? weight * static_cast<double>(of.least[row]) : 0.0;
}

template <class Scalar, class Work>
__global__ void __launch_bounds__(ahead_tile) tile_masses_kernel(const __grid_constant__ ahead_rows<Scalar, Work> of) {
  cuda::wait_for_predecessor();
  if (of.state->ended != 0) return;
  const double sum = cuda::block_group().sum(mass_of(of, std::size_t{blockIdx.x} * ahead_tile + threadIdx.x));
  if (threadIdx.x == 0) of.tile_masses[blockIdx.x] = sum;
}

// Where a draw falls, by a warp: the last mass that is positive and begins at most at the target, or the first positive
// one; -1 where there is none. The first one begins at `through`, the one that is found at `begins`.
template <class Mass>
__device__ int draw_in_line(unsigned count, const Mass& mass, double through, double target, double& begins) {
  const unsigned lane = threadIdx.x % 32;
  int found = -1;
  for (unsigned first = 0; first < count; first += 32) {
    const double own = first + lane < count ? mass(first + lane) : 0.0;
    const double up_to = sums_up_to(own), before = through + sum_before(up_to);
    const unsigned positive = __ballot_sync(~0u, own > 0), reached = __ballot_sync(~0u, own > 0 && before <= target);
    const bool is_first = found < 0 && positive != 0;
    if (reached != 0 || is_first) {
      const int at = reached != 0 ? 31 - __clz(static_cast<int>(reached)) : __ffs(static_cast<int>(positive)) - 1;
      found = static_cast<int>(first) + at;
      begins = __shfl_sync(~0u, before, at);
    }
    through += __shfl_sync(~0u, up_to, 31);
    if (found >= 0 && through > target) break;
  }
  return found;
}

// A warp for each row that is drawn.
template <class Scalar, class Work>
__global__ void __launch_bounds__(draw_threads) draw_kernel(const __grid_constant__ ahead_rows<Scalar, Work> of) {
  __shared__ double run_masses[draw_threads], run_before[draw_threads];  // of runs of tiles, one for each thread
  __shared__ double warp_masses[draw_warps];
  cuda::wait_for_predecessor();
  const ahead_state state = *of.state;
  if (state.ended != 0) return;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned run = (of.tiles + draw_threads - 1) / draw_threads;
  double own = 0;
  for (unsigned t = threadIdx.x * run; t < min(of.tiles, (threadIdx.x + 1) * run); ++t) own += of.tile_masses[t];
  const double up_to_run = sums_up_to(own), before_run = sum_before(up_to_run);
  if (lane == 31) warp_masses[warp] = up_to_run;
  __syncthreads();
  double total = 0, before_warp = 0;
#pragma unroll
  for (unsigned w = 0; w < draw_warps; ++w) {
    if (w == warp) before_warp = total;
    total += warp_masses[w];
  }
  run_masses[threadIdx.x] = own;
  run_before[threadIdx.x] = before_warp + before_run;
  __syncthreads();
  const bool none = !(total > 0 && total * 0 == 0);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    of.state->total = total;
    if (none) of.state->ended = 1;
    if (state.exhausted != 0) {
      of.state->step = state.chosen;
      of.state->next = 0;
    }
  }
  if (none || state.exhausted == 0) return;
  const unsigned drawn = blockIdx.x * draw_warps + warp;
  if (drawn >= of.drawn) return;
  const double target = of.draws.ahead_uniform(state.chosen, drawn) * total;
  int at_run = -1, first_run = 0;
#pragma unroll
  for (unsigned i = draw_warps; i > 0; --i) {
    const unsigned r = (i - 1) * 32 + lane;
    const bool some = run_masses[r] > 0;
    const unsigned positive = __ballot_sync(~0u, some), reached = __ballot_sync(~0u, some && run_before[r] <= target);
    if (positive != 0) first_run = static_cast<int>((i - 1) * 32) + __ffs(static_cast<int>(positive)) - 1;
    if (at_run < 0 && reached != 0) at_run = static_cast<int>((i - 1) * 32) + 31 - __clz(static_cast<int>(reached));
  }
  if (at_run < 0) at_run = first_run;
  double begins = run_before[at_run];
  const unsigned first_tile = static_cast<unsigned>(at_run) * run;
  const int at_tile = draw_in_line(
      min(run, of.tiles - first_tile), [&](unsigned i) { return of.tile_masses[first_tile + i]; }, begins, target,
      begins);
  const std::size_t first = std::size_t{first_tile + static_cast<unsigned>(max(0, at_tile))} * ahead_tile;
  double masses[tile_warps];  // all are asked for at once
#pragma unroll
  for (unsigned i = 0; i < tile_warps; ++i) masses[i] = mass_of(of, first + i * 32 + lane);
  // Two lanes have the sum of 32 rows.
  static_assert(tile_warps == 16);
  const double of_rows = warp_sums<tile_warps>([&](unsigned i) { return masses[i]; });
  const double own_rows = lane % 2 == 0 ? of_rows : 0.0;
  const int at_lane = draw_lane(own_rows, sum_before(sums_up_to(own_rows)), begins, target, begins);
  const std::size_t first_of_lanes = first + static_cast<unsigned>(max(0, at_lane)) / 2 * 32;
  const double mass = mass_of(of, first_of_lanes + lane);
  const int at = draw_lane(mass, sum_before(sums_up_to(mass)), begins, target, begins);
  const std::size_t row = first_of_lanes + static_cast<unsigned>(max(0, at));

  for (unsigned j = lane; j < of.columns; j += 32) {
    of.points[std::size_t{drawn} * of.columns + j] = static_cast<Work>(of.rows[row * of.columns + j]);
  }
  if (of.coarse.values != nullptr) {
    const std::size_t pitch = of.coarse.pitch;
    for (unsigned j = lane; j < pitch / 16; j += 32) {
      reinterpret_cast<int4*>(of.coarse_points.values + drawn * pitch)[j] =
          reinterpret_cast<const int4*>(of.coarse.values + row * pitch)[j];
    }
    if (lane == 0) {
      of.coarse_points.bounds[drawn].norm = of.coarse.bounds[row].norm;
      of.coarse_points.errors[drawn] = of.coarse.errors[row];
    }
  }
  if (lane < of.shares) of.hit_counts[drawn * of.shares + lane] = 0;
  if (lane == 0) {
    const auto least = static_cast<double>(of.least[row]);
    of.drawn_rows[drawn] = row;
    of.thresholds[drawn] = of.draws.thinning_uniform(state.chosen, drawn) * least;
    of.now[drawn] = least;
  }
}

}  // namespace

template <class Scalar, class Work>
void draw_ahead(const ahead_rows<Scalar, Work>& of, cudaStream_t stream) {
  cuda::launch_in_turn(tile_masses_kernel<Scalar, Work>, of.tiles, ahead_tile, 0, stream, of);
  cuda::launch_in_turn(draw_kernel<Scalar, Work>, (of.drawn + draw_warps - 1) / draw_warps, draw_threads, 0, stream,
                       of);
}

template void draw_ahead(const ahead_rows<float, float>&, cudaStream_t);
template void draw_ahead(const ahead_rows<float, double>&, cudaStream_t);
template void draw_ahead(const ahead_rows<double, double>&, cudaStream_t);

}  // namespace shoal
