// Rounds of bids on a GPU: as many rows at once as wait, a block each, in one launch for all rounds of a phase.
#include <cooperative_groups.h>

#include <cfloat>

#include <shoal/assignment/cuda/kernels.hpp>
#include <shoal/execution/cuda/check.hpp>

namespace shoal::assignment::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr unsigned block_threads = 1024;
constexpr unsigned warps = block_threads / 32;
constexpr unsigned most_shared_bids = 256;  // one block each, and no GPU has as many multiprocessors
constexpr double infinity = INFINITY;

struct nearest {
  double least;
  double second;
  std::uint32_t column;
};

__device__ void take(nearest& best, double value, std::uint32_t column) {
  if (value < best.least) {
    best.second = best.least;
    best.least = value;
    best.column = column;
  } else {
    best.second = fmin(best.second, value);
  }
}

// The first column of least value wins, whatever the order.
__device__ nearest merge(const nearest& a, const nearest& b) {
  const bool first = a.least < b.least || (a.least == b.least && a.column < b.column);
  const nearest& win = first ? a : b;
  const nearest& lose = first ? b : a;
  return {win.least, fmin(win.second, lose.least), win.column};
}

__device__ nearest merge_lanes(nearest own) {
  for (unsigned step = 16; step > 0; step /= 2) {
    const nearest other{__shfl_xor_sync(~0u, own.least, step), __shfl_xor_sync(~0u, own.second, step),
                        __shfl_xor_sync(~0u, own.column, step)};
    own = merge(own, other);
  }
  return own;
}

// The bid of one row, made by a whole block and known to its first thread.
__device__ bid make_bid(const auction_state& state, std::uint32_t row, double step, double spread, nearest* parts) {
  const double* const costs = state.costs + static_cast<std::size_t>(row) * state.n;
  nearest own{infinity, infinity, nobody};
  std::uint32_t j = threadIdx.x;
  constexpr unsigned ahead = 8;
  for (; j + (ahead - 1) * block_threads < state.n; j += ahead * block_threads) {
    double reduced[ahead];
#pragma unroll
    for (unsigned k = 0; k < ahead; ++k) {
      reduced[k] = __ldcs(costs + j + k * block_threads) - __ldcg(state.potentials + j + k * block_threads);
    }
#pragma unroll
    for (unsigned k = 0; k < ahead; ++k) take(own, reduced[k], j + k * block_threads);
  }
  for (; j < state.n; j += block_threads) take(own, __ldcs(costs + j) - __ldcg(state.potentials + j), j);
  own = merge_lanes(own);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = own;
  __syncthreads();
  bid made{0, 0, row, nobody, nobody};
  if (threadIdx.x < 32) {
    own = merge_lanes(threadIdx.x < warps ? parts[threadIdx.x] : nearest{infinity, infinity, nobody});
    if (threadIdx.x == 0 && own.least < infinity) {
      made.column = own.column;
      made.fall = (own.second < infinity ? own.second - own.least : spread) + step;
      made.potential = __ldcg(state.potentials + own.column) - made.fall;
      made.owner = __ldcg(state.owners + own.column);
    }
  }
  __syncthreads();
  return made;
}

// The winner of a column takes it; whoever had it, and whoever lost, waits for the next round.
struct round_counts {
  std::uint32_t waiting;
  bool stuck;
};

// A round of few rows: every block makes the same decisions from the same bids, so that the grid waits once.
__device__ round_counts settle_few(const auction_state& state, const bid* bids, std::uint32_t count, bid* shared,
                                   std::uint32_t* list, std::uint32_t* sums) {
  const unsigned t = threadIdx.x;
  if (t < count) {
    const double* const words = reinterpret_cast<const double*>(bids + t);
    double* const into = reinterpret_cast<double*>(shared + t);
    for (unsigned k = 0; k < sizeof(bid) / sizeof(double); ++k) into[k] = __ldcg(words + k);
  }
  __syncthreads();
  std::uint32_t next = nobody;
  bool stuck = false;
  if (t < count) {
    const bid own = shared[t];
    stuck = own.column == nobody;
    bool wins = !stuck;
    for (unsigned k = 0; k < count; ++k) {
      const bid& other = shared[k];
      if (other.column == own.column && (other.fall > own.fall || (other.fall == own.fall && other.row < own.row))) {
        wins = false;
      }
    }
    if (wins) {
      __stcg(state.potentials + own.column, own.potential);
      __stcg(state.owners + own.column, own.row);
      next = own.owner;
    } else {
      next = own.row;
    }
  }
  const unsigned mask = __ballot_sync(~0u, next != nobody);
  if (t % 32 == 0) sums[t / 32] = __popc(mask);
  stuck = __syncthreads_or(stuck) != 0;
  unsigned before = 0;
  unsigned all = 0;
  for (unsigned w = 0; w < warps; ++w) {
    if (w < t / 32) before += sums[w];
    all += sums[w];
  }
  if (next != nobody) list[before + __popc(mask & ((1u << (t % 32)) - 1))] = next;
  __syncthreads();
  return {all, stuck};
}

__global__ void __launch_bounds__(block_threads)
    rounds_kernel(auction_state state, double step, double spread, std::uint32_t enough, unsigned long long most_bids,
                  std::uint32_t most_rounds) {
  __shared__ nearest parts[warps];
  __shared__ bid few[most_shared_bids];
  __shared__ std::uint32_t list[most_shared_bids];
  __shared__ std::uint32_t sums[warps];
  const cg::grid_group grid = cg::this_grid();
  const std::uint32_t grid_threads = gridDim.x * block_threads;
  const std::uint32_t thread = blockIdx.x * block_threads + threadIdx.x;
  std::uint32_t parity = 0;
  std::uint32_t rounds = 0;
  unsigned long long bids = 0;
  bool stuck = false;
  std::uint32_t count = __ldcg(state.waiting_count);
  // Many rows: bids, then the greatest fall of each column, then its first row, then who waits.
  while (count > enough && count > gridDim.x && bids < most_bids && rounds < most_rounds && !stuck) {
    std::uint32_t* const waiting = state.waiting + parity * state.n;
    std::uint32_t* const next = state.waiting + (1 - parity) * state.n;
    std::uint32_t* const next_count = state.waiting_count + (1 - parity);
    for (std::uint32_t n = blockIdx.x; n < count; n += gridDim.x) {
      const bid made = make_bid(state, __ldcg(waiting + n), step, spread, parts);
      if (threadIdx.x == 0) {
        state.bids[n] = made;
        if (made.column == nobody) {
          atomicExch(&state.progress->stuck, 1u);
        } else {
          atomicMax(state.best_fall + made.column, static_cast<unsigned long long>(__double_as_longlong(made.fall)));
        }
      }
    }
    if (thread == 0) __stcg(next_count, 0u);
    grid.sync();
    stuck = __ldcg(&state.progress->stuck) != 0;
    if (stuck) break;
    for (std::uint32_t n = thread; n < count; n += grid_threads) {
      const bid& own = state.bids[n];
      if (static_cast<unsigned long long>(__double_as_longlong(own.fall)) == __ldcg(state.best_fall + own.column)) {
        atomicMin(state.best_row + own.column, own.row);
      }
    }
    grid.sync();
    for (std::uint32_t n = thread; n < count; n += grid_threads) {
      const bid& own = state.bids[n];
      std::uint32_t waits = own.row;
      if (__ldcg(state.best_row + own.column) == own.row) {
        __stcg(state.potentials + own.column, own.potential);
        __stcg(state.owners + own.column, own.row);
        __stcg(state.best_fall + own.column, 0ull);
        waits = own.owner;
      }
      if (waits != nobody) __stcg(next + atomicAdd(next_count, 1u), waits);
    }
    grid.sync();
    // Losers have read who won; nobody reads it again before the next round's second wait.
    for (std::uint32_t n = thread; n < count; n += grid_threads) __stcg(state.best_row + state.bids[n].column, nobody);
    bids += count;
    ++rounds;
    parity = 1 - parity;
    count = __ldcg(next_count);
    grid.sync();
  }
  // Few rows: a block each.
  if (count > enough && count <= gridDim.x && count <= most_shared_bids && !stuck) {
    if (threadIdx.x < count) list[threadIdx.x] = __ldcg(state.waiting + parity * state.n + threadIdx.x);
    __syncthreads();
    std::uint32_t half = 0;
    while (count > enough && bids < most_bids && rounds < most_rounds && !stuck) {
      bid* const made = state.bids + half * state.n;
      if (blockIdx.x < count) {
        const bid own = make_bid(state, list[blockIdx.x], step, spread, parts);
        if (threadIdx.x == 0) {
          const double* const words = reinterpret_cast<const double*>(&own);
          for (unsigned k = 0; k < sizeof(bid) / sizeof(double); ++k) {
            __stcg(reinterpret_cast<double*>(made + blockIdx.x) + k, words[k]);
          }
        }
      }
      grid.sync();
      bids += count;
      ++rounds;
      const round_counts after = settle_few(state, made, count, few, list, sums);
      count = after.waiting;
      stuck = after.stuck;
      half = 1 - half;
    }
  }
  if (thread == 0) {
    state.progress->bids += bids;
    state.progress->rounds += rounds;
    state.progress->waiting = count;
    state.progress->stuck = stuck;
  }
}

__global__ void begin_kernel(auction_state state) {
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < state.n) {
    state.owners[n] = nobody;
    state.waiting[n] = n;
    state.best_fall[n] = 0;
    state.best_row[n] = nobody;
  }
  if (n == 0) state.waiting_count[0] = state.n;
}

__global__ void range_kernel(const double* costs, std::size_t count, double limit, cost_range* out) {
  double least = infinity;
  double most = -infinity;
  bool whole = true;
  bool valid = true;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += stride) {
    const double cost = __ldcs(costs + k);
    if (cost == infinity) continue;
    valid = valid && fabs(cost) <= limit;
    least = fmin(least, cost);
    most = fmax(most, cost);
    whole = whole && cost == floor(cost);
  }
  for (unsigned step = 16; step > 0; step /= 2) {
    least = fmin(least, __shfl_xor_sync(~0u, least, step));
    most = fmax(most, __shfl_xor_sync(~0u, most, step));
  }
  __shared__ double leasts[32];
  __shared__ double mosts[32];
  if (threadIdx.x % 32 == 0) {
    leasts[threadIdx.x / 32] = least;
    mosts[threadIdx.x / 32] = most;
  }
  const bool all_whole = __syncthreads_and(whole) != 0;
  const bool all_valid = __syncthreads_and(valid) != 0;
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < blockDim.x / 32; ++w) {
      least = fmin(least, leasts[w]);
      most = fmax(most, mosts[w]);
    }
    out[blockIdx.x] = {least, most, all_whole ? 1u : 0u, all_valid ? 1u : 0u};
  }
}

}  // namespace

void run_rounds(const auction_state& state, double step, double spread, std::uint32_t enough,
                unsigned long long most_bids, std::uint32_t most_rounds, std::size_t multiprocessors,
                cudaStream_t stream) {
  static_assert(sizeof(bid) % sizeof(double) == 0);
  auction_state own = state;
  void* arguments[] = {&own, &step, &spread, &enough, &most_bids, &most_rounds};
  const auto blocks = static_cast<unsigned>(multiprocessors < most_shared_bids ? multiprocessors : most_shared_bids);
  shoal::cuda::check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&rounds_kernel), dim3(blocks),
                                                 dim3(block_threads), arguments, 0, stream),
                     "launch rounds of bids");
}

void begin_phase(const auction_state& state, cudaStream_t stream) {
  begin_kernel<<<(state.n + 255) / 256, 256, 0, stream>>>(state);
  shoal::cuda::check_launch("begin a phase of an auction");
}

void find_range(const double* costs, std::size_t count, double most, cost_range* parts, std::size_t blocks,
                cudaStream_t stream) {
  range_kernel<<<static_cast<unsigned>(blocks), 512, 0, stream>>>(costs, count, most, parts);
  shoal::cuda::check_launch("find the range of costs");
}

}  // namespace shoal::assignment::cuda
